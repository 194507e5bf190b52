// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_system/builder_internal.h"

#include <stdlib.h>
#include <string.h>

#define NO_SLOT        UINT32_MAX
#define ROOM_UNIT      8u  // a block's room is a multiple of so many bytes (assembly.h)
#define PATIENCE       10u // deadlines that a granted event waits for a segment, at least 1 s
#define PATIENCE_LEAST UINT64_C(1000000000)

// --- slots ---

static bool is_of(const struct sim_slot *slot, uint64_t event)
{
	return slot->event == event &&
	       (slot->state == SIM_SLOT_OPEN || slot->state == SIM_SLOT_HELD);
}

struct sim_slot *sim_builder_find(const struct sim_builder *builder, uint64_t event)
{
	struct sim_slot *hinted = &builder->slots[builder->hints[event & builder->hint_mask]];

	if (is_of(hinted, event))
		return hinted;
	for (uint32_t i = 0; i < builder->n_slots; i++)
		if (is_of(&builder->slots[i], event))
			return &builder->slots[i];
	return NULL;
}

static uint64_t patience_of(const struct sim_builder *builder)
{
	const uint64_t patience = PATIENCE * builder->rules->deadline;

	return patience > PATIENCE_LEAST ? patience : PATIENCE_LEAST;
}

void sim_builder_set_time(struct sim_builder *builder, struct sim_slot *slot, uint64_t at)
{
	slot->at = at;
	if (at < builder->due)
		builder->due = at;
}

// --- expected events, in the order of their grants ---

static void expect_last(struct sim_builder *builder, struct sim_slot *slot)
{
	slot->expected = true;
	slot->older = builder->newest;
	slot->newer = NO_SLOT;
	if (builder->newest != NO_SLOT)
		builder->slots[builder->newest].newer = sim_builder_index(builder, slot);
	else
		builder->oldest = sim_builder_index(builder, slot);
	builder->newest = sim_builder_index(builder, slot);
}

static void end_expectation(struct sim_builder *builder, struct sim_slot *slot)
{
	if (!slot->expected)
		return;
	slot->expected = false;
	if (slot->older != NO_SLOT)
		builder->slots[slot->older].newer = slot->newer;
	else
		builder->oldest = slot->newer;
	if (slot->newer != NO_SLOT)
		builder->slots[slot->newer].older = slot->older;
	else
		builder->newest = slot->older;
}

// All sources that take part have sent a later event: the deadline of the earlier ones begins.
static void overtake(struct sim_builder *builder, const struct sim_slot *complete, uint64_t now)
{
	if (complete->serial > builder->newest_granted)
		builder->newest_granted = complete->serial;
	while (builder->oldest != NO_SLOT) {
		struct sim_slot *slot = &builder->slots[builder->oldest];

		if (slot->serial >= builder->newest_granted)
			return;
		end_expectation(builder, slot);
		sim_builder_set_time(builder, slot, now + builder->rules->deadline);
	}
}

// --- begin and end of slots ---

struct sim_slot *sim_builder_open(struct sim_builder *builder, uint64_t event, bool granted,
				  uint64_t now)
{
	struct sim_slot *slot = builder->slots;

	if (builder->n_used == builder->n_slots)
		return NULL;
	while (slot->state != SIM_SLOT_FREE)
		slot++;
	*slot = (struct sim_slot){
		.event = event,
		.bytes = builder->rules->header_size,
		.row = POOL_NONE,
		.state = SIM_SLOT_OPEN,
		.granted = granted,
		.serial = builder->n_opened++,
	};
	if (granted)
		expect_last(builder, slot);
	sim_builder_set_time(builder, slot, now + patience_of(builder));
	builder->hints[event & builder->hint_mask] = sim_builder_index(builder, slot);
	builder->n_used++;
	builder->n_ungranted += !granted;
	return slot;
}

static void drop_row(struct sim_builder *builder, struct sim_slot *slot)
{
	if (slot->row != POOL_NONE)
		pool_give_back(builder->rules->rows, slot->row);
	slot->row = POOL_NONE;
}

// `released`: by consumers; 0: they never had it.
void sim_builder_release(struct sim_builder *builder, struct sim_slot *slot, uint64_t released)
{
	const struct message message = {
		.kind = MESSAGE_FREED,
		.event = slot->event,
		.slot = sim_builder_index(builder, slot),
		.time = released,
	};

	drop_row(builder, slot);
	end_expectation(builder, slot);
	slot->state = SIM_SLOT_FREE;
	builder->n_used--;
	builder->n_ungranted -= !slot->granted;
	slot->granted = true;
	builder->rules->tell(builder->context, &message);
}

// --- the end of an event ---

static void discard_incomplete(struct sim_builder *builder, struct sim_slot *slot,
			       struct message *built)
{
	builder->counters.discarded++;
	built->flags |= MESSAGE_DISCARDED;
	built->slot = NO_SLOT;
	builder->rules->tell(builder->context, built);
	sim_builder_release(builder, slot, 0);
}

// Whether an event lacks no other blocks than those of sources that take no part in it.
static bool lacks_none(const struct sim_builder *builder, const struct sim_slot *slot)
{
	const struct sim_builder_rules *rules = builder->rules;
	const uint32_t *received;

	if (slot->state != SIM_SLOT_OPEN || slot->n_whole == 0)
		return false;
	if (slot->n_whole == rules->n_sources)
		return true;
	if (builder->from == NULL || !slot->granted)
		return false;
	received = pool_at(rules->rows, slot->row);
	for (unsigned i = 0; i < rules->n_sources; i++)
		if (received[i] != UINT32_MAX &&
		    slot->event >= builder->from[rules->node_of_source[i]])
			return false;
	return true;
}

static void close_event(struct sim_builder *builder, struct sim_slot *slot, uint64_t now)
{
	const struct sim_builder_rules *rules = builder->rules;
	const uint32_t n_missing = rules->n_sources - slot->n_whole;
	struct message built = {
		.kind = MESSAGE_BUILT,
		.event = slot->event,
		.bytes =
		    slot->bytes + (uint64_t)(rules->n_sources - slot->n_begun) * rules->error_size,
		.slot = sim_builder_index(builder, slot),
		.n_missing = (uint16_t)n_missing,
		.flags = slot->granted ? 0 : MESSAGE_UNGRANTED,
	};

	if (slot->granted && lacks_none(builder, slot))
		overtake(builder, slot, now);
	end_expectation(builder, slot);
	drop_row(builder, slot);
	builder->closed[slot->event & builder->closed_mask] = slot->event + 1;
	slot->incomplete = n_missing > 0;
	if (n_missing == 0)
		histogram_add(rules->built, now - slot->first);
	if (slot->incomplete && rules->discards) {
		discard_incomplete(builder, slot, &built);
		return;
	}
	slot->state = SIM_SLOT_HELD;
	rules->tell(builder->context, &built);
}

void sim_builder_judge(struct sim_builder *builder, struct sim_slot *slot, uint64_t now)
{
	if (lacks_none(builder, slot))
		close_event(builder, slot, now);
}

// --- segments ---

static void refuse(struct sim_builder *builder, enum segment_cause cause)
{
	builder->counters.refused[cause]++;
}

static bool make_row(struct sim_builder *builder, struct sim_slot *slot, uint64_t now)
{
	const struct sim_builder_rules *rules = builder->rules;

	slot->row = pool_take(rules->rows);
	if (slot->row == POOL_NONE)
		return false;
	memset(pool_at(rules->rows, slot->row), 0, rules->n_sources * sizeof(uint32_t));
	slot->first = now;
	end_expectation(builder, slot);
	sim_builder_set_time(builder, slot, now + rules->deadline);
	return true;
}

// A block takes its room with its first segment (builder/block_room.c), also if it never becomes
// whole: the manager learns the size of incomplete events, too.
static void begin_block(struct sim_slot *slot, const struct sim_segment *segment, uint32_t received)
{
	if (received > 0)
		return;
	slot->n_begun++;
	slot->bytes += (segment->length + ROOM_UNIT - 1) / ROOM_UNIT * ROOM_UNIT;
}

// A block that is whole has UINT32_MAX received bytes.
static void count_bytes(struct sim_builder *builder, struct sim_slot *slot,
			const struct sim_segment *segment, uint64_t now)
{
	uint32_t *received;

	if (slot->row == POOL_NONE && !make_row(builder, slot, now)) {
		refuse(builder, SEGMENT_NO_SLOT);
		return;
	}
	received = (uint32_t *)pool_at(builder->rules->rows, slot->row) + segment->source;
	if (*received == UINT32_MAX) {
		refuse(builder, SEGMENT_DUPLICATE);
		return;
	}
	builder->counters.placed++;
	begin_block(slot, segment, *received);
	*received += segment->size;
	slot->wire += segment->wire;
	if (*received < segment->length)
		return;
	*received = UINT32_MAX;
	slot->n_whole++;
	slot->payload += segment->length;
	sim_builder_judge(builder, slot, now);
}

// False if the segment must wait for a slot.
static bool place(struct sim_builder *builder, const struct sim_segment *segment, uint64_t now)
{
	struct sim_slot *slot = sim_builder_find(builder, segment->event);

	if (slot == NULL &&
	    builder->closed[segment->event & builder->closed_mask] == segment->event + 1) {
		refuse(builder, SEGMENT_LATE);
		return true;
	}
	if (slot == NULL && builder->n_ungranted < builder->spare)
		slot = sim_builder_open(builder, segment->event, false, now);
	if (slot == NULL)
		return false;
	if (slot->state == SIM_SLOT_HELD)
		refuse(builder, SEGMENT_LATE);
	else
		count_bytes(builder, slot, segment, now);
	return true;
}

// As in builder_role.c: the wait is limited, as the grant never comes where a builder is dead.
static bool should_wait_for_grant(struct sim_builder *builder, uint64_t now)
{
	if (builder->ungranted_since == 0)
		builder->ungranted_since = now;
	if (now - builder->ungranted_since >= builder->rules->grant_wait)
		return false;
	if (builder->ungranted_since + builder->rules->grant_wait < builder->due)
		builder->due = builder->ungranted_since + builder->rules->grant_wait;
	return true;
}

// False if the segment must wait; otherwise it is placed or refused, and free.
static bool take_segment(struct sim_builder *builder, uint32_t number, uint64_t now)
{
	if (!place(builder, pool_at(builder->rules->segments, number), now)) {
		if (should_wait_for_grant(builder, now))
			return false;
		refuse(builder, SEGMENT_NO_SLOT);
	}
	pool_give_back(builder->rules->segments, number);
	return true;
}

static void serve_input(struct sim_builder *builder, struct sim_input *input, uint64_t now)
{
	while (input->first != POOL_NONE) {
		const struct sim_segment *segment = pool_at(builder->rules->segments, input->first);
		const uint32_t next = segment->next;

		if (!take_segment(builder, input->first, now))
			return;
		input->first = next;
		builder->n_waiting--;
	}
}

void sim_builder_serve(struct sim_builder *builder, uint64_t now)
{
	for (unsigned i = 0; builder->n_waiting > 0 && i < SIM_INPUTS; i++)
		serve_input(builder, &builder->inputs[i], now);
}

void sim_builder_segment(struct sim_builder *builder, unsigned index, uint32_t number, uint64_t now)
{
	struct sim_input *input = &builder->inputs[index];

	if (input->first == POOL_NONE && !builder->is_paused && take_segment(builder, number, now))
		return;
	((struct sim_segment *)pool_at(builder->rules->segments, number))->next = POOL_NONE;
	if (input->first == POOL_NONE)
		input->first = number;
	else
		((struct sim_segment *)pool_at(builder->rules->segments, input->last))->next =
		    number;
	input->last = number;
	builder->n_waiting++;
}

// --- polls ---

static void serve_slot(struct sim_builder *builder, struct sim_slot *slot, uint64_t now)
{
	if (slot->at <= now && slot->state == SIM_SLOT_PUBLISHED)
		sim_builder_release(builder, slot, slot->at);
	else if (slot->at <= now && slot->state == SIM_SLOT_OPEN && !builder->awaits)
		close_event(builder, slot, now);
	if ((slot->state == SIM_SLOT_OPEN && !builder->awaits) || slot->state == SIM_SLOT_PUBLISHED)
		sim_builder_set_time(builder, slot, slot->at);
}

void sim_builder_poll(struct sim_builder *builder, uint64_t now)
{
	if (now < builder->due || builder->is_paused)
		return;
	builder->due = UINT64_MAX;
	for (uint32_t i = 0; i < builder->n_slots; i++)
		serve_slot(builder, &builder->slots[i], now);
	sim_builder_serve(builder, now);
}

// --- creation ---

bool sim_builder_make(struct sim_builder *builder, const struct sim_builder_rules *rules,
		      void *context, uint32_t n_slots, uint32_t n_closed, struct random random)
{
	uint32_t n_hints = 1;

	while (n_hints < 2 * n_slots)
		n_hints *= 2;
	*builder = (struct sim_builder){
		.rules = rules,
		.context = context,
		.slots = calloc(n_slots, sizeof(*builder->slots)),
		.n_slots = n_slots,
		.spare = cluster_spare(n_slots),
		.hints = calloc(n_hints, sizeof(*builder->hints)),
		.hint_mask = n_hints - 1,
		.closed = calloc(n_closed, sizeof(*builder->closed)),
		.closed_mask = n_closed - 1,
		.workers_free = calloc(rules->consumer.n_workers, sizeof(*builder->workers_free)),
		.oldest = NO_SLOT,
		.newest = NO_SLOT,
		.due = UINT64_MAX,
		.consumer = rules->consumer.law,
		.random = random,
	};
	for (unsigned i = 0; i < SIM_INPUTS; i++)
		builder->inputs[i].first = POOL_NONE;
	return builder->slots != NULL && builder->hints != NULL && builder->closed != NULL &&
	       builder->workers_free != NULL;
}

void sim_builder_free(struct sim_builder *builder)
{
	free(builder->slots);
	free(builder->hints);
	free(builder->closed);
	free(builder->from);
	free(builder->messages);
	free(builder->workers_free);
}
