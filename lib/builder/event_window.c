// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event window of a guarded assembly: which events may be opened by one source alone.
//
// An event is confirmed when a quorum of sources, half of them and at least two, have started it.
// The newest confirmed event is the front: half of the sources are there, whatever single sources
// send. The window reaches beyond the front by as many events as half of the slots, at the mean
// distance of recently confirmed events. It begins where the front was two deadlines ago: older
// events are late. Where a source that is ahead is held back when no slot is free, it can be ahead
// by all slots, and so does the window reach.
//
// A source may open events in the window, up to its share of slots. An event outside the window is
// on probation: each source may have some, so that all sources together may move to other ids at
// any time, for example when a counter wraps. If a quorum starts such an event, the window moves
// there. Otherwise the event is discarded at its deadline, and never published. An event in front
// of the others stays open at its deadline, because its other blocks have not been sent yet.
//
// If no event has been confirmed for longer than a deadline, sources of a quorum are silent. Then
// every event is in the window, a source may open events in half of the slots (or in all), and
// events are published at their deadlines: those of one source alone only after ten deadlines.
//
// Nothing here runs per segment.
#include "builder/assembly_internal.h"

#define GAP_ONE     (UINT64_C(1) << 16) // fixed point of the mean gap
#define GAP_MOST    (UINT64_C(1) << 40) // events
#define MEMORY      64u                 // confirmed events in the mean gap and the longest interval
#define QUIET_ALONE 10u                 // deadlines
#define QUIET_MOST  20u                 // deadlines
#define REMEMBERED  (CLOSED_SIZE / 2)   // events behind the front whose closing is remembered

void window_make(struct assembly *assembly)
{
	struct event_window *window = &assembly->window;
	uint32_t slots = assembly->n_slots;

	window->quorum = UINT32_MAX;
	if (!assembly->parameters.guarded || assembly->parameters.granted ||
	    assembly->n_sources == 1)
		return;
	window->quorum = assembly->n_sources < 4 ? 2 : (assembly->n_sources + 1) / 2;
	window->reach = assembly->parameters.held_back ? slots : (slots + 1) / 2;
	window->share = assembly->parameters.held_back ? slots : (slots + 1) / 2 + slots / 8;
	window->probation_share = slots < 16 ? 1 : slots / 16;
	window->gap = GAP_ONE;
	for (uint32_t i = 0; i < assembly->n_sources; i++)
		assembly->shares[i].patience = PATIENCE_MOST;
}

static uint64_t own_time(const struct assembly *assembly, uint64_t now)
{
	return now - assembly->waited;
}

// Ticks without a confirmed event after which sources of a quorum count as silent, if n sources go
// on. One source alone is believed only after a longer time: all others may have paused.
static uint64_t quiet_time(const struct assembly *assembly, uint32_t n)
{
	const uint64_t deadline = assembly->parameters.deadline;
	const uint64_t least = n == 1 && assembly->n_sources > 2 ? QUIET_ALONE : 1;
	const uint64_t quiet = least * deadline + 4 * assembly->window.interval;

	return quiet < QUIET_MOST * deadline ? quiet : QUIET_MOST * deadline;
}

static bool quorum_is_silent(const struct assembly *assembly, uint32_t n, uint64_t now)
{
	const struct event_window *window = &assembly->window;

	return !window->known || (int64_t)(own_time(assembly, now) - window->moved) >=
				     (int64_t)quiet_time(assembly, n);
}

// Events (indices) between the front and the end of the window.
static uint64_t width(const struct assembly *assembly)
{
	const uint64_t gap = assembly->window.gap, reach = assembly->window.reach;

	return gap < GAP_ONE << 16 ? gap * reach / GAP_ONE : gap / GAP_ONE * reach;
}

// The ids of a run's events differ by multiples of the packing.
static uint64_t remainder_of(const struct assembly *assembly, uint64_t id, uint64_t index)
{
	return id - index * assembly->parameters.packing;
}

enum place {
	IN_FRONT, // of the window
	INSIDE,
	BEHIND,
};

// Indices are compared as numbers on a circle, so that their wrap is nothing special.
static enum place place_of(const struct assembly *assembly, uint64_t id, uint64_t index)
{
	const struct event_window *window = &assembly->window;
	int64_t ahead = (int64_t)(index - window->front);

	if (remainder_of(assembly, id, index) != window->remainder ||
	    ahead > (int64_t)width(assembly))
		return IN_FRONT;
	if ((int64_t)(index - window->begin) <= 0 ||
	    (ahead < -(int64_t)REMEMBERED && width(assembly) < REMEMBERED))
		return BEHIND;
	return INSIDE;
}

bool window_admits(const struct assembly *assembly, const struct segment *segment, uint64_t now,
		   bool *on_probation, enum segment_cause *cause)
{
	const struct event_window *window = &assembly->window;
	const struct share *share = &assembly->shares[segment->source];
	enum place place;

	*on_probation = false;
	if (!assembly_is_guarded(assembly) || segment->event_id == MFP_END_OF_RUN)
		return true;
	*cause = SEGMENT_EARLY;
	if (quorum_is_silent(assembly, 2, now))
		return share->opened < window->reach;
	place = place_of(assembly, segment->event_id, segment->event_index);
	if (place == INSIDE)
		return share->opened < window->share;
	if (place == BEHIND)
		*cause = SEGMENT_LATE;
	*on_probation = true;
	return share->probation < window->probation_share;
}

void window_opened(struct assembly *assembly, const struct event *event)
{
	struct share *share = &assembly->shares[event->opener];

	if (!event->confirmed)
		*(event->on_probation ? &share->probation : &share->opened) += 1;
}

void window_removed(struct assembly *assembly, const struct event *event)
{
	struct share *share = &assembly->shares[event->opener];

	if (!event->confirmed)
		*(event->on_probation ? &share->probation : &share->opened) -= 1;
}

// Moves the window to another place. Nothing there is late yet.
static void jump(struct assembly *assembly, const struct event *event)
{
	struct event_window *window = &assembly->window;

	window->known = true;
	window->front = event->index;
	window->remainder = remainder_of(assembly, event->id, event->index);
	window->begin = window->sample = event->index - width(assembly) - 1;
}

// A pause counts up to the present quiet time: one long pause does not make the next one as long.
static void learn_interval(struct assembly *assembly, uint64_t now)
{
	struct event_window *window = &assembly->window;
	uint64_t most = quiet_time(assembly, 2),
		 faded = window->interval - window->interval / MEMORY;
	int64_t interval = (int64_t)(own_time(assembly, now) - window->moved);

	if (interval > (int64_t)most)
		interval = (int64_t)most;
	window->interval = interval > (int64_t)faded ? (uint64_t)interval : faded;
	window->moved = own_time(assembly, now);
}

static void learn_gap(struct event_window *window, uint64_t step)
{
	if (step > GAP_MOST)
		step = GAP_MOST;
	window->gap += step * (GAP_ONE / MEMORY);
	window->gap -= window->gap / MEMORY;
	if (window->gap < GAP_ONE)
		window->gap = GAP_ONE;
}

void window_confirm(struct assembly *assembly, struct event *event, uint64_t now)
{
	struct event_window *window = &assembly->window;
	int64_t step = (int64_t)(event->index - window->front);
	int64_t age = (int64_t)(own_time(assembly, now) - event->since);
	bool moves;

	if (event->confirmed)
		return;
	moves = !window->known || place_of(assembly, event->id, event->index) != INSIDE;
	window_removed(assembly, event);
	event->confirmed = true;
	// A source may have opened the event long before the others: they have a deadline, too.
	if (age > (int64_t)assembly->parameters.deadline / 2)
		event_postpone(assembly, event, now);
	if (window->known) {
		learn_interval(assembly, now);
		learn_gap(window, step > 0 ? (uint64_t)step : 0);
	}
	window->moved = own_time(assembly, now);
	if (moves)
		jump(assembly, event);
	else if (step > 0)
		window->front = event->index;
}

enum verdict window_judge(const struct assembly *assembly, const struct event *event, uint64_t now)
{
	bool inside =
	    assembly->window.known && place_of(assembly, event->id, event->index) == INSIDE;

	if (event->confirmed)
		return VERDICT_CLOSE;
	if (event->on_probation && !inside)
		return VERDICT_DISCARD;
	if (quorum_is_silent(assembly, event->n_started, now))
		return VERDICT_CLOSE;
	if (!inside)
		return VERDICT_DISCARD;
	return (int64_t)(event->index - assembly->window.front) > 0 ? VERDICT_WAIT : VERDICT_CLOSE;
}

void window_renew(struct assembly *assembly, uint64_t now)
{
	struct event_window *window = &assembly->window;
	uint64_t time = own_time(assembly, now);

	if (!window->known || time - window->sampled < 2 * assembly->parameters.deadline)
		return;
	window->sampled = time;
	window->begin = window->sample;
	window->sample = window->front;
	for (uint32_t i = 0; i < assembly->n_sources; i++) {
		struct share *share = &assembly->shares[i];

		share->usual -= share->usual / MEMORY;
		share->patience += share->patience < PATIENCE_MOST;
	}
}
