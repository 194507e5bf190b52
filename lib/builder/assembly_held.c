// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events that an event manager grants. The grant reserves the slot of an event. The built event is
// held until the control role says that it may be published. The manager may grant an event again
// because it took this node for dead; thanks to the hold the event is still published once.
//
// No function of this file runs per segment.
#include "builder/assembly_internal.h"

#include <stdlib.h>
#include <string.h>

#include "evring/evb_reader.h"

bool held_make(struct assembly *assembly)
{
	struct held *held = &assembly->held;
	size_t n = assembly->n_slots, n_buckets = (size_t)assembly->bucket_mask + 1;

	// Two reports per event: built, and freed. Twice as many as the slots need, because a slot
	// can be used again before its reports are taken, and discarded events hold no slot.
	held->reports_size = (uint32_t)(4 * n);
	held->descriptions = calloc(n, sizeof(*held->descriptions));
	held->is_held = calloc(n, sizeof(*held->is_held));
	held->reports = calloc(held->reports_size, sizeof(*held->reports));
	held->buckets = malloc(n_buckets * sizeof(*held->buckets));
	held->refused = calloc(n_buckets, sizeof(*held->refused));
	if (held->descriptions == NULL || held->is_held == NULL || held->reports == NULL ||
	    held->buckets == NULL || held->refused == NULL)
		return false;
	memset(held->buckets, 0xFF, n_buckets * sizeof(*held->buckets)); // NO_EVENT
	return true;
}

void held_free(struct assembly *assembly)
{
	free(assembly->held.descriptions);
	free(assembly->held.is_held);
	free(assembly->held.reports);
	free(assembly->held.buckets);
	free(assembly->held.refused);
}

bool held_may_open(const struct assembly *assembly)
{
	return assembly->held.n_ungranted < assembly->parameters.spare;
}

// The place of the report that is n behind the first one.
static struct assembly_report *report_at(const struct held *held, uint32_t n)
{
	uint32_t at = held->reports_head + n;

	return &held->reports[at < held->reports_size ? at : at - held->reports_size];
}

// Drops the report if the queue is full: this happens only where nobody takes reports.
static void add_report(struct held *held, const struct assembly_report *report)
{
	if (held->n_reports < held->reports_size)
		*report_at(held, held->n_reports++) = *report;
}

static size_t bucket_number(const struct assembly *assembly, uint64_t index)
{
	return hash_number(&assembly->hash_key, index) & assembly->bucket_mask;
}

static uint32_t *held_bucket(const struct assembly *assembly, uint64_t index)
{
	return &assembly->held.buckets[bucket_number(assembly, index)];
}

// An event that is held is not open, so its chain is that of the held ones.
static void begin_hold(struct assembly *assembly, uint32_t slot)
{
	struct event *event = &assembly->events[slot];
	uint32_t *bucket = held_bucket(assembly, event->index);

	event->chain = *bucket;
	*bucket = slot;
	assembly->held.is_held[slot] = true;
}

void held_add(struct assembly *assembly, const struct event *event, uint32_t slot,
	      uint32_t n_missing, const struct evring_event *description)
{
	struct held *held = &assembly->held;
	const struct assembly_report report = {
		.index = event->index,
		.bytes = event->used,
		.slot = slot,
		.n_missing = (uint16_t)n_missing,
		.ungranted = !event->granted,
	};

	if (slot != ASSEMBLY_NO_SLOT) {
		held->descriptions[slot] = *description;
		begin_hold(assembly, slot);
	}
	add_report(held, &report);
}

void held_report_freed(struct assembly *assembly, uint64_t index, uint32_t slot, uint64_t released)
{
	const struct assembly_report report = {
		.index = index,
		.slot = slot,
		.freed = true,
		.released = released,
	};

	add_report(&assembly->held, &report);
}

// Returns the held event with this index, or NULL.
static struct event *find_held(const struct assembly *assembly, uint64_t index)
{
	uint32_t slot = *held_bucket(assembly, index);

	while (slot != NO_EVENT && assembly->events[slot].index != index)
		slot = assembly->events[slot].chain;
	return slot != NO_EVENT ? &assembly->events[slot] : NULL;
}

static struct refused *refused_bucket(const struct assembly *assembly, uint64_t index)
{
	return &assembly->held.refused[bucket_number(assembly, index)];
}

void held_refused(struct assembly *assembly, uint64_t index)
{
	struct refused *bucket = refused_bucket(assembly, index);
	unsigned i = 0;

	while (i < REFUSED_MOST - 1 && bucket->next[i] != 0 && bucket->next[i] != index + 1)
		i++;
	assembly->held.n_refused += bucket->next[i] == 0;
	// The newest stands first. Without an empty place the oldest one is forgotten.
	memmove(bucket->next + 1, bucket->next, i * sizeof(bucket->next[0]));
	bucket->next[0] = index + 1;
}

// Whether data of the event was refused since the last call.
static bool take_refused(struct assembly *assembly, uint64_t index)
{
	struct refused *bucket = refused_bucket(assembly, index);

	if (assembly->held.n_refused == 0)
		return false; // without a look at memory that is in no near cache
	for (unsigned i = 0; i < REFUSED_MOST; i++)
		if (bucket->next[i] == index + 1) {
			bucket->next[i] = 0;
			assembly->held.n_refused--;
			return true;
		}
	return false;
}

bool assembly_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now)
{
	struct event *open = event_find(assembly, id), *event = open;
	const bool was_refused = take_refused(assembly, index);

	if (event == NULL)
		event = find_held(assembly, index);
	// What is open of the event stays: with the next grant all of its data is sent again.
	if (was_refused && event == open)
		return false;
	if (event == NULL) {
		if (assembly->n_free == 0)
			(void)assembly_reclaim(assembly, now);
		event = open = event_expect(assembly, id, index, now);
		if (event == NULL)
			return false;
	}
	if (!event->granted) {
		assembly->held.n_ungranted--;
		event->granted = true;
		event->granted_at = now;
		// What it lacks may be requested only now.
		if (open != NULL)
			event_postpone(assembly, open, now);
	}
	if (open != NULL && assembly->absence.n > 0) {
		event_count_absent(assembly, open);
		if (event_lacks_none(assembly, open))
			event_close(assembly, open, now);
	}
	return true;
}

const struct assembly_report *assembly_take_report(struct assembly *assembly)
{
	struct held *held = &assembly->held;
	const struct assembly_report *report = report_at(held, 0);

	if (held->n_reports == 0) {
		held->reports_head = 0; // the queue goes on in memory that is in a near cache
		return NULL;
	}
	held->n_reports--;
	if (++held->reports_head == held->reports_size)
		held->reports_head = 0;
	return report;
}

// Ends the hold of an event. Returns false if the slot does not hold this event.
static bool end_hold(struct assembly *assembly, uint32_t slot, uint64_t index)
{
	struct held *held = &assembly->held;
	uint32_t *link = held_bucket(assembly, index);

	if (slot >= assembly->n_slots || !held->is_held[slot] ||
	    assembly->events[slot].index != index)
		return false;
	while (*link != slot)
		link = &assembly->events[*link].chain;
	*link = assembly->events[slot].chain;
	held->is_held[slot] = false;
	return true;
}

static void measure_steps(struct assembly *assembly, const struct event *event, uint64_t now)
{
	const uint64_t granted = event->granted ? event->granted_at : event->since;
	const uint64_t first = event->expected ? event->since : event->first;

	latency_add(assembly, &assembly->latency->first_segment, granted, first);
	latency_add(assembly, &assembly->latency->published,
		    granted > event->since ? granted : event->since, now);
}

bool assembly_publish(struct assembly *assembly, uint32_t slot, uint64_t index, bool repeated,
		      uint64_t now)
{
	struct evring_event *description;

	if (!end_hold(assembly, slot, index))
		return false;
	description = &assembly->held.descriptions[slot];
	if (repeated)
		description->flags |= EVB_EVENT_REPEATED;
	measure_steps(assembly, &assembly->events[slot], now);
	event_publish(assembly, &assembly->events[slot], description, now);
	return true;
}

bool assembly_withdraw(struct assembly *assembly, uint32_t slot, uint64_t index)
{
	if (!end_hold(assembly, slot, index))
		return false;
	count(&assembly->counters.events_withdrawn, 1);
	slot_free(assembly, slot, 0);
	return true;
}

// Removes the waiting report that the event of this slot is built.
static void remove_report(struct assembly *assembly, uint32_t slot)
{
	struct held *held = &assembly->held;
	uint32_t n = 0;

	for (uint32_t i = 0; i < held->n_reports; i++) {
		struct assembly_report report = *report_at(held, i);

		if (report.freed || report.slot != slot)
			*report_at(held, n++) = report;
	}
	held->n_reports = n;
}

bool assembly_forget(struct assembly *assembly, uint64_t id, uint64_t index)
{
	struct event *event = event_find(assembly, id);

	if (event != NULL) {
		event_remove(assembly, event);
		(void)event_settle_missing(assembly, event);
		count(&assembly->counters.events_discarded, 1);
		slot_free(assembly, event_slot(assembly, event), 0);
		return true;
	}
	event = find_held(assembly, index);
	if (event == NULL)
		return false;
	remove_report(assembly, event_slot(assembly, event));
	return assembly_withdraw(assembly, event_slot(assembly, event), index);
}
