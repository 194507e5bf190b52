// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Slots that consumers hold, and whether it is worth waiting for them.
//
// While a builder waits for consumers, the data of its open events waits in front of it, so the
// deadlines of these events stand still. They must not stand still for a consumer that will never
// release its slots: a slot that is held much longer than slots were held recently is given up for
// the decision (not for the consumer, which may still release it).
#include "builder/assembly_internal.h"

#define FADING 64u // releases after which a longest hold has lost two thirds of its weight

static uint64_t patience_for_consumers(const struct assembly *assembly)
{
	return assembly->parameters.deadline + 2 * assembly->longest_hold;
}

void consumer_slot_published(struct assembly *assembly, struct event *event, uint64_t now)
{
	event->since = now;
	event_append(assembly, &assembly->with_consumers, event);
}

// A hold counts up to the present patience: so one consumer that was stopped for an hour does not
// make the builder wait for the next one as long.
static void learn_hold(struct assembly *assembly, uint64_t hold)
{
	const uint64_t most = patience_for_consumers(assembly);
	const uint64_t faded = assembly->longest_hold - assembly->longest_hold / FADING;

	if (hold > most)
		hold = most;
	assembly->longest_hold = hold > faded ? hold : faded;
}

void consumer_slot_released(struct assembly *assembly, struct event *event, uint64_t now)
{
	if (!event->given_up)
		event_unlink(assembly, &assembly->with_consumers, event);
	learn_hold(assembly, now > event->since ? now - event->since : 0);
}

bool assembly_consumers_are_busy(struct assembly *assembly, uint64_t now)
{
	const uint64_t patience = patience_for_consumers(assembly);
	struct event_order *order = &assembly->with_consumers;

	while (order->oldest != NO_EVENT) {
		struct event *event = &assembly->events[order->oldest];

		if ((int64_t)(now - event->since) < (int64_t)patience)
			return true;
		event_unlink(assembly, order, event);
		event->given_up = true;
	}
	return false;
}
