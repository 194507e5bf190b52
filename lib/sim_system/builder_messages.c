// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The messages of a node to a builder: grants, and the orders to publish and to discard.
#include "sim_system/builder_internal.h"

#include <stdlib.h>

#include "base/array.h"

static void tell_of(struct sim_builder *builder, enum message_kind kind, uint64_t event)
{
	const struct message message = { .kind = (uint16_t)kind, .event = event };

	builder->rules->tell(builder->context, &message);
}

static void expect(struct sim_builder *builder, uint64_t event, uint64_t now)
{
	struct sim_slot *slot = sim_builder_find(builder, event);

	builder->ungranted_since = 0;
	if (slot == NULL)
		slot = sim_builder_open(builder, event, true, now);
	if (slot == NULL) {
		tell_of(builder, MESSAGE_REFUSED, event);
		return;
	}
	if (!slot->granted && slot->state == SIM_SLOT_OPEN)
		sim_builder_set_time(builder, slot, now + builder->rules->deadline);
	builder->n_ungranted -= !slot->granted;
	slot->granted = true;
	sim_builder_judge(builder, slot, now);
}

// The time at which a consumer returns an event that is published now.
static uint64_t release_time(struct sim_builder *builder, uint64_t now)
{
	uint64_t *worker = builder->workers_free;

	for (unsigned i = 1; i < builder->rules->consumer.n_workers; i++)
		if (builder->workers_free[i] < *worker)
			worker = &builder->workers_free[i];
	*worker =
	    (*worker > now ? *worker : now) + sim_law_draw(&builder->consumer, &builder->random);
	return *worker;
}

static void publish(struct sim_builder *builder, const struct message *message, uint64_t now)
{
	struct sim_slot *slot = sim_builder_find(builder, message->event);

	if (slot == NULL || slot->state != SIM_SLOT_HELD ||
	    sim_builder_index(builder, slot) != message->slot) {
		tell_of(builder, MESSAGE_REFUSED, message->event);
		return;
	}
	slot->state = SIM_SLOT_PUBLISHED;
	if (slot->incomplete) {
		builder->counters.incomplete++;
	} else {
		builder->counters.complete++;
		builder->counters.payload += slot->payload;
		builder->counters.event_wire += slot->wire;
	}
	builder->rules->published(builder->context, slot->event, now);
	tell_of(builder, MESSAGE_PUBLISHED, slot->event);
	sim_builder_set_time(builder, slot, release_time(builder, now));
}

// What is held without a grant is dropped in its slot; the end of a grant is confirmed.
static void discard(struct sim_builder *builder, const struct message *message)
{
	const bool ends_grant = (message->flags & MESSAGE_GRANTED) != 0;
	struct sim_slot *slot = sim_builder_find(builder, message->event);
	const bool is_held = slot != NULL && slot->state == SIM_SLOT_HELD;

	if (ends_grant)
		tell_of(builder, MESSAGE_DROPPED, message->event);
	if (slot != NULL &&
	    (ends_grant || (is_held && sim_builder_index(builder, slot) == message->slot))) {
		builder->counters.discarded += !is_held;
		sim_builder_release(builder, slot, 0);
	}
}

// When a source is back, all open events have one more deadline.
static void await(struct sim_builder *builder, bool awaits, uint64_t now)
{
	builder->awaits = awaits;
	for (uint32_t i = 0; !awaits && i < builder->n_slots; i++)
		if (builder->slots[i].state == SIM_SLOT_OPEN)
			sim_builder_set_time(builder, &builder->slots[i],
					     now + builder->rules->deadline);
}

static void set_sources(struct sim_builder *builder, const struct message *message, uint64_t now)
{
	if (builder->from == NULL)
		builder->from = calloc(builder->rules->n_nodes, sizeof(*builder->from));
	if (builder->from == NULL)
		return; // then events wait for their deadline
	builder->from[message->node] = message->event;
	for (uint32_t i = 0; i < builder->n_slots; i++)
		sim_builder_judge(builder, &builder->slots[i], now);
}

static void handle(struct sim_builder *builder, const struct message *message, uint64_t now)
{
	switch (message->kind) {
	case MESSAGE_EXPECT:
		expect(builder, message->event, now);
		break;
	case MESSAGE_PUBLISH:
		publish(builder, message, now);
		break;
	case MESSAGE_DISCARD:
		discard(builder, message);
		break;
	case MESSAGE_AWAIT:
		await(builder, message->state != 0, now);
		break;
	case MESSAGE_SOURCES:
		set_sources(builder, message, now);
		break;
	default:
		break;
	}
}

// False: memory ran out.
static bool keep(struct sim_builder *builder, const struct message *message)
{
	if (!array_reserve(&builder->messages, &builder->messages_size, builder->n_messages + 1,
			   sizeof(*message)))
		return false;
	builder->messages[builder->n_messages++] = *message;
	return true;
}

bool sim_builder_message(struct sim_builder *builder, const struct message *message, uint64_t now)
{
	if (builder->is_paused)
		return keep(builder, message);
	handle(builder, message, now);
	sim_builder_serve(builder, now);
	return true;
}

void sim_builder_pause(struct sim_builder *builder, bool is_paused, uint64_t now)
{
	builder->is_paused = is_paused;
	if (is_paused)
		return;
	for (size_t i = 0; i < builder->n_messages; i++)
		handle(builder, &builder->messages[i], now);
	builder->n_messages = 0;
	sim_builder_serve(builder, now);
	sim_builder_poll(builder, now);
}
