// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sources that do not take part in granted events: their node is excluded, or was not in the run
// yet. An event that lacks only their blocks is closed at once, and not at its deadline.
//
// No function of this file runs per segment, except event_lacks_none() for the last segments of
// events in which a source does not take part.
#include "builder/assembly_internal.h"

static bool is_absent(const struct assembly *assembly, const struct event *event, uint32_t source)
{
	return event->index < assembly->absence.from[source];
}

void event_count_absent(const struct assembly *assembly, struct event *event)
{
	event->n_absent = 0;
	for (uint32_t i = 0; i < assembly->n_sources; i++)
		event->n_absent += is_absent(assembly, event, i);
}

// n_absent is an estimate: a source may have sent its block all the same, or take part again.
bool event_lacks_none(const struct assembly *assembly, const struct event *event)
{
	const struct part *parts = event_parts(assembly, event);

	if (event->n_whole == 0 || event->n_whole + event->n_absent < assembly->n_sources)
		return false;
	for (uint32_t i = 0; i < assembly->n_sources; i++)
		if (!part_is_whole(&parts[i]) && !is_absent(assembly, event, i))
			return false;
	return true;
}

void assembly_set_source(struct assembly *assembly, uint32_t source, uint64_t from, uint64_t now)
{
	struct absence *absence = &assembly->absence;

	absence->n -= absence->from[source] > 0;
	absence->n += from > 0;
	absence->from[source] = from;
	absence->changed = now - assembly->waited;
	absence->is_new = true;
}

// Closes the events of a list that lack nothing any more.
static void close_all(struct assembly *assembly, const struct event_order *order, uint64_t now)
{
	uint32_t next;

	for (uint32_t at = order->oldest; at != NO_EVENT; at = next) {
		struct event *event = &assembly->events[at];

		next = event->newer;
		if (!event->granted)
			continue;
		event_count_absent(assembly, event);
		if (event_lacks_none(assembly, event))
			event_close(assembly, event, now);
	}
}

void absence_housekeep(struct assembly *assembly, uint64_t now)
{
	struct absence *absence = &assembly->absence;

	if (!absence->is_new ||
	    !is_over(assembly, absence->changed, assembly->parameters.grace, now))
		return;
	absence->is_new = false;
	close_all(assembly, &assembly->order, now);
	close_all(assembly, &assembly->expected, now);
}
