// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What stands for a builder: it opens an event when it is told to expect it or when its first data
// comes, is ready a while after the last source's data or at the deadline, holds it until it is
// told to publish it, and frees the slot when its consumers have had their time.
#include "farm.h"

#include <string.h>

bool sim_looks(struct farm *farm)
{
	return !farm_chance(farm, farm->options.lazy > 0 ? farm->options.lazy : 0.3);
}

bool sim_messages_put(struct sim_messages *messages, unsigned room, const struct message *message)
{
	if (messages->n >= room)
		return false;
	messages->messages[messages->n++] = *message;
	return true;
}

struct message sim_messages_take(struct sim_messages *messages)
{
	struct message message = messages->messages[0];

	messages->n--;
	memmove(messages->messages, messages->messages + 1,
		messages->n * sizeof(messages->messages[0]));
	return message;
}

void sim_builder_open(struct farm_node *node, unsigned index)
{
	const struct config *config = node->farm->configs[node->number];

	node->builders[index] = (struct sim_builder){ .n_slots = config->builders[index].slots };
}

// A builder's mailbox has room for 4 messages a slot and one a node.
bool sim_builder_message(struct farm_node *node, unsigned index, const struct message *message)
{
	struct sim_builder *builder = &node->builders[index];

	if (sim_messages_put(&builder->in, 4 * builder->n_slots + node->farm->n_nodes, message))
		return true;
	if (message->kind != MESSAGE_AWAIT && message->kind != MESSAGE_SOURCES)
		farm_broken(node->farm, "a builder's mailbox is full");
	return false;
}

// Nothing is told twice, so there is room.
static void tell(struct sim_builder *builder, const struct message *message)
{
	(void)sim_messages_put(&builder->out, sizeof(builder->out.messages) / sizeof(*message),
			       message);
}

static void tell_of(struct sim_builder *builder, enum message_kind kind, uint64_t event)
{
	const struct message message = { .kind = (uint16_t)kind, .event = event };

	tell(builder, &message);
}

static void tell_freed(struct sim_builder *builder, const struct sim_slot *slot)
{
	const struct message message = {
		.kind = MESSAGE_FREED,
		.event = slot->event,
		.slot = (uint32_t)(slot - builder->slots),
		.time = slot->state == SIM_PUBLISHED ? slot->at : 0,
	};

	tell(builder, &message);
}

static struct sim_slot *find(struct sim_builder *builder, uint64_t event)
{
	for (unsigned i = 0; i < builder->n_slots; i++)
		if (builder->slots[i].state != SIM_NONE &&
		    builder->slots[i].state != SIM_PUBLISHED && builder->slots[i].event == event)
			return &builder->slots[i];
	return NULL;
}

static struct sim_slot *open_slot(struct farm_node *node, struct sim_builder *builder,
				  uint64_t event, bool granted)
{
	for (unsigned i = 0; i < builder->n_slots; i++) {
		struct sim_slot *slot = &builder->slots[i];

		if (slot->state != SIM_NONE)
			continue;
		*slot = (struct sim_slot){
			.state = SIM_OPEN,
			.event = event,
			.granted = granted,
			.at = node->farm->now + node->farm->options.deadline,
		};
		builder->n_ungranted += !granted;
		return slot;
	}
	return NULL;
}

static void clear(struct sim_builder *builder, struct sim_slot *slot)
{
	builder->n_ungranted -= !slot->granted;
	slot->state = SIM_NONE;
}

static uint64_t building_time(struct farm_node *node)
{
	struct farm *farm = node->farm;
	bool last = node->number == farm->n_nodes - 1;

	return (uint64_t)((double)(100 * US + farm_below(farm, 2 * MS)) *
			  (last && farm->options.slow > 0 ? farm->options.slow : 1));
}

// The sources that take no part in an event.
static uint64_t absent_from(const struct farm_node *node, const struct sim_builder *builder,
			    uint64_t event)
{
	const struct cluster_system *cluster = &node->farm->configs[0]->cluster;
	uint64_t absent = 0;

	for (unsigned i = 0; i < cluster->n_nodes; i++)
		for (unsigned j = 0; j < cluster->nodes[i].n_sources && event < builder->from[i];
		     j++)
			absent |= UINT64_C(1) << (cluster->nodes[i].first_source + j);
	return absent;
}

// An event is ready once it lacks only the data of sources that take no part in it.
static void judge(struct farm_node *node, const struct sim_builder *builder, struct sim_slot *slot)
{
	const uint64_t all = (UINT64_C(1) << node->farm->n_sources) - 1;
	uint64_t absent = slot->granted ? absent_from(node, builder, slot->event) : 0;

	if (slot->state != SIM_OPEN || slot->arrived == 0 || (slot->arrived | absent) != all)
		return;
	slot->state = SIM_READY;
	slot->incomplete = slot->arrived != all;
	slot->at = node->farm->now + building_time(node);
}

// False if there is no slot for it now.
static bool place(struct farm_node *node, struct sim_builder *builder, const struct sim_data *data)
{
	const struct farm *farm = node->farm;
	struct sim_slot *slot = find(builder, data->event);

	if (slot == NULL &&
	    (builder->n_ungranted < cluster_spare(builder->n_slots) || farm_is_static(farm)))
		slot = open_slot(node, builder, data->event, false);
	if (slot == NULL)
		return false;
	slot->arrived |= UINT64_C(1) << data->source;
	judge(node, builder, slot);
	return true;
}

static void count_again(struct farm_node *node, unsigned index, const struct sim_data *data)
{
	struct truth *truth = &node->farm->truth[data->event];
	uint8_t at = (uint8_t)(node->number * FARM_LOCAL + index);

	if (truth->arrived_at != at)
		truth->arrived = 0;
	truth->arrived_at = at;
	node->farm->n_again += truth->arrived >> data->source & 1;
	truth->arrived |= UINT32_C(1) << data->source;
}

void sim_builder_data(struct farm_node *node, unsigned index, unsigned source, uint64_t event)
{
	struct sim_builder *builder = &node->builders[index];
	const struct sim_data data = { .event = event, .since = node->farm->now, .source = source };

	count_again(node, index, &data);
	if (!place(node, builder, &data) &&
	    builder->n_waiting < sizeof(builder->waiting) / sizeof(builder->waiting[0]))
		builder->waiting[builder->n_waiting++] = data;
}

static void place_waiting(struct farm_node *node, struct sim_builder *builder)
{
	unsigned n = 0;

	for (unsigned i = 0; i < builder->n_waiting; i++) {
		const struct sim_data data = builder->waiting[i];

		if (node->farm->now - data.since < SECOND && !place(node, builder, &data))
			builder->waiting[n++] = data;
	}
	builder->n_waiting = n;
}

static void expect(struct farm_node *node, struct sim_builder *builder,
		   const struct message *message)
{
	struct sim_slot *slot = find(builder, message->event);
	bool refused = farm_chance(node->farm, node->farm->options.refusal);

	if (slot != NULL && slot->granted)
		farm_broken(node->farm, "event %ju is expected twice", (uintmax_t)message->event);
	if (slot == NULL && !refused) {
		slot = open_slot(node, builder, message->event, true);
		if (slot == NULL)
			farm_broken(node->farm, "a token without a slot");
	}
	if (slot == NULL) {
		tell_of(builder, MESSAGE_REFUSED, message->event);
		return;
	}
	if (!slot->granted && slot->state == SIM_OPEN)
		slot->at = node->farm->now + node->farm->options.deadline;
	builder->n_ungranted -= !slot->granted;
	slot->granted = true;
	slot->attempt = message->attempt;
	judge(node, builder, slot);
}

static void publish(struct farm_node *node, unsigned index, const struct message *message)
{
	struct sim_builder *builder = &node->builders[index];
	struct sim_slot *slot = &builder->slots[message->slot % FARM_SLOTS];

	if (message->slot >= builder->n_slots || slot->state != SIM_HELD ||
	    slot->event != message->event || !slot->granted) {
		farm_broken(node->farm, "event %ju is to be published, and not held",
			    (uintmax_t)message->event);
		return;
	}
	slot->repeated = (message->flags & MESSAGE_REPEATED) != 0;
	truth_published(node, index, slot);
	slot->state = SIM_PUBLISHED;
	slot->at = node->farm->now + 4 * building_time(node); // until consumers are done
	tell_of(builder, MESSAGE_PUBLISHED, slot->event);
}

static void discard(struct sim_builder *builder, const struct message *message)
{
	bool is_granted = (message->flags & MESSAGE_GRANTED) != 0;
	struct sim_slot *slot = find(builder, message->event);

	if (slot != NULL && (is_granted || slot == &builder->slots[message->slot])) {
		tell_freed(builder, slot);
		clear(builder, slot);
	}
	if (is_granted)
		tell_of(builder, MESSAGE_DROPPED, message->event);
}

// When a source is back, all open events have one more deadline.
static void await(struct farm_node *node, struct sim_builder *builder, bool awaits)
{
	builder->awaits = awaits;
	for (unsigned i = 0; !awaits && i < builder->n_slots; i++)
		if (builder->slots[i].state == SIM_OPEN)
			builder->slots[i].at = node->farm->now + node->farm->options.deadline;
}

static void take_message(struct farm_node *node, unsigned index)
{
	struct sim_builder *builder = &node->builders[index];
	struct message message = sim_messages_take(&builder->in);

	switch (message.kind) {
	case MESSAGE_EXPECT:
		expect(node, builder, &message);
		break;
	case MESSAGE_PUBLISH:
		publish(node, index, &message);
		break;
	case MESSAGE_DISCARD:
		discard(builder, &message);
		break;
	case MESSAGE_AWAIT:
		await(node, builder, message.state != 0);
		break;
	case MESSAGE_SOURCES:
		builder->from[message.node] = message.event;
		for (unsigned i = 0; i < builder->n_slots; i++)
			judge(node, builder, &builder->slots[i]);
		break;
	default:
		farm_broken(node->farm, "message %u to a builder", message.kind);
	}
}

static bool discards(const struct farm *farm)
{
	return farm->options.on_incomplete != NULL;
}

static void tell_built(struct farm_node *node, unsigned index, struct sim_slot *slot)
{
	struct sim_builder *builder = &node->builders[index];
	struct message message = {
		.kind = MESSAGE_BUILT,
		.event = slot->event,
		.bytes = 1000,
		.slot = (uint32_t)(slot - builder->slots),
		.n_missing = slot->incomplete,
		.flags = slot->granted ? 0 : MESSAGE_UNGRANTED,
	};

	if (farm_is_static(node->farm)) {
		truth_published_statically(node, index, slot);
		slot->state = SIM_PUBLISHED;
		slot->at = node->farm->now + 4 * building_time(node);
		return;
	}
	slot->state = SIM_HELD;
	if (!slot->incomplete || !discards(node->farm)) {
		tell(builder, &message);
		return;
	}
	message.flags |= MESSAGE_DISCARDED;
	message.slot = UINT32_MAX;
	if (slot->granted) { // else nobody waits for it
		tell(builder, &message);
		tell_freed(builder, slot);
	}
	clear(builder, slot);
}

static void go_on(struct farm_node *node, unsigned index, struct sim_slot *slot)
{
	struct sim_builder *builder = &node->builders[index];

	switch (slot->state) {
	case SIM_OPEN:
		if (builder->awaits)
			break;
		slot->incomplete = true;
		tell_built(node, index, slot);
		break;
	case SIM_READY:
		tell_built(node, index, slot);
		break;
	case SIM_PUBLISHED:
		if (!farm_is_static(node->farm))
			tell_freed(builder, slot);
		clear(builder, slot);
		break;
	default:
		break;
	}
}

static void tell_open(struct sim_builder *builder)
{
	struct message message = { .kind = MESSAGE_OPEN, .state = builder->n_waiting > 0 };

	for (unsigned i = 0; i < builder->n_slots; i++)
		message.state |=
		    builder->slots[i].state == SIM_OPEN || builder->slots[i].state == SIM_READY;
	if (message.state == builder->told_open)
		return;
	builder->told_open = message.state != 0;
	tell(builder, &message);
}

void sim_builder_poll(struct farm_node *node, unsigned index)
{
	struct sim_builder *builder = &node->builders[index];

	// Either side of a mailbox may be late.
	while (builder->in.n > 0 && sim_looks(node->farm))
		take_message(node, index);
	place_waiting(node, builder);
	for (unsigned i = 0; i < builder->n_slots; i++)
		if (builder->slots[i].state != SIM_NONE && builder->slots[i].at <= node->farm->now)
			go_on(node, index, &builder->slots[i]);
	if (farm_is_static(node->farm))
		tell_open(builder);
	while (builder->out.n > 0 && sim_looks(node->farm)) {
		struct message message = sim_messages_take(&builder->out);

		cluster_node_builder_message(node->node, index, &message, node->farm->now);
	}
}
