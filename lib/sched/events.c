// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The events are stored in a ring of places, from the oldest unfinished event on. Events below
// `next` are granted, wait again or are finished. Events from `next` on are new, except for adopted
// events.
#include "sched/sched_internal.h"

// Number of waiting events at each level, in eighths of `queue`.
static const uint32_t levels[] = { 2, 4, 6, 7 };

// Whether the number of waiting events is at least sixteenths/16 of `queue`, or at least `queue`.
static bool reached(const struct sched *sched, uint32_t sixteenths)
{
	uint64_t waiting = events_waiting(sched), queue = sched->parameters.queue;

	return waiting >= queue || waiting * 16 >= queue * sixteenths;
}

static void waiting_grew(struct sched *sched)
{
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!reached(sched, 2 * levels[i]))
			return;
		sched->events.level |= 1u << i;
		if (sched->parameters.throttle_level == i + 1)
			sched->events.throttled = true;
	}
}

static void waiting_fell(struct sched *sched)
{
	if (sched->events.throttled &&
	    !reached(sched, levels[sched->parameters.throttle_level - 1]))
		sched->events.throttled = false;
}

void events_announced(struct sched *sched, uint64_t frontier)
{
	if (frontier <= sched->events.frontier)
		return;
	sched->events.frontier = frontier;
	waiting_grew(sched);
}

uint64_t events_at(const struct sched *sched, uint32_t place)
{
	const struct sched_events *events = &sched->events;

	return events->released + ((place - (uint32_t)events->released) & events->mask);
}

uint64_t events_next(struct sched *sched)
{
	struct sched_events *events = &sched->events;
	uint64_t again = SCHED_NEVER;

	if (events->again > 0) {
		while (events_place(sched, events->first_again)->state != SCHED_EVENT_AGAIN)
			events->first_again++;
		again = events->first_again;
		if (again < events->next)
			return again;
	}
	while (events->ahead > 0 && events_place(sched, events->next)->state != SCHED_EVENT_NEW) {
		events->next++;
		events->ahead--;
	}
	// An adopted event that waits again may be behind the next new event.
	if (events->next == events->frontier || events->next > again ||
	    events->next - events->released > events->mask)
		return again;
	return events->next;
}

void events_take(struct sched *sched, uint64_t event)
{
	struct sched_event *place = events_place(sched, event);

	if (place->state == SCHED_EVENT_AGAIN)
		sched->events.again--;
	else
		sched->events.next++;
	place->state = SCHED_EVENT_GRANTED;
	place->attempt++;
	sched->events.outstanding++;
	waiting_fell(sched);
}

// Updates the counters for an event that is new or waits again, and that gets its next state
// without a grant.
static void pass_over(struct sched *sched, uint64_t event)
{
	if (events_place(sched, event)->state == SCHED_EVENT_AGAIN) {
		sched->events.again--;
		return;
	}
	events_announced(sched, event + 1);
	sched->events.ahead++;
}

void events_adopt(struct sched *sched, uint64_t event)
{
	pass_over(sched, event);
	events_place(sched, event)->state = SCHED_EVENT_GRANTED;
	sched->events.outstanding++;
	waiting_fell(sched);
}

void events_again(struct sched *sched, uint64_t event)
{
	struct sched_events *events = &sched->events;

	events_place(sched, event)->state = SCHED_EVENT_AGAIN;
	if (events->again == 0 || event < events->first_again)
		events->first_again = event;
	events->again++;
	events->outstanding--;
	waiting_grew(sched);
}

void events_finish(struct sched *sched, uint64_t event)
{
	struct sched_events *events = &sched->events;
	struct sched_event *place = events_place(sched, event);

	if (place->state == SCHED_EVENT_GRANTED)
		events->outstanding--;
	else
		pass_over(sched, event);
	place->state = SCHED_EVENT_FINISHED;
	for (place = events_place(sched, events->released); place->state == SCHED_EVENT_FINISHED;
	     place = events_place(sched, events->released)) {
		place->state = SCHED_EVENT_NEW;
		place->attempt = 0;
		if (events->next == events->released) {
			events->next++;
			events->ahead--;
		}
		events->released++;
	}
	waiting_fell(sched);
}
