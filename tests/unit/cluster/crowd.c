// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "crowd.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_NS     20000u // between two polls
#define EVENT_BYTES 1000u
#define HASH        0x1234u

struct head { // of a record on its way
	uint16_t from, to;
	uint32_t size;
};

static void fail(struct crowd *crowd, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void fail(struct crowd *crowd, const char *format, ...)
{
	va_list arguments;

	if (crowd->broken[0] != '\0')
		return;
	va_start(arguments, format);
	vsnprintf(crowd->broken, sizeof(crowd->broken), format, arguments);
	va_end(arguments);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void *grow(void *array, size_t *size, size_t least)
{
	void *larger;

	if (least <= *size)
		return array;
	*size = 2 * least;
	larger = realloc(array, *size);
	if (larger == NULL)
		abort();
	return larger;
}

// --- the network ---

static void send_record(void *context, unsigned to, const void *record, size_t size)
{
	const struct crowd_node *node = context;
	struct crowd *crowd = node->crowd;
	struct crowd_wire *wire =
	    to == crowd->system.manager ? &crowd->to_manager : &crowd->to_nodes;
	const struct head head = { (uint16_t)(node - crowd->nodes), (uint16_t)to,
				   (uint32_t)((size + 7) & ~(size_t)7) };
	const size_t all = sizeof(head) + head.size;

	wire->bytes = grow(wire->bytes, &wire->size, wire->used + all);
	memcpy(wire->bytes + wire->used, &head, sizeof(head));
	memcpy(wire->bytes + wire->used + sizeof(head), record, size);
	wire->used += all;
	crowd->n_records++;
	crowd->n_bytes += size;
}

static size_t room_for(void *context, unsigned node, size_t largest)
{
	(void)context;
	(void)node;
	return 64 * largest;
}

// Delivers what a wire holds, but not what is sent meanwhile.
static void deliver(struct crowd *crowd, struct crowd_wire *wire, bool to_manager)
{
	const struct crowd_wire now = *wire;

	*wire = crowd->delivered;
	wire->used = 0;
	for (size_t at = 0; at < now.used;) {
		struct ctrl_record record;
		struct head head;

		memcpy(&head, now.bytes + at, sizeof(head));
		if (ctrl_record_at(now.bytes + at + sizeof(head), head.size, &record) != WIRE_OK)
			fail(crowd, "a record of node %u is malformed", head.from);
		else if (to_manager)
			cluster_manager_record(crowd->manager, head.from, &record, crowd->now);
		else
			cluster_node_record(crowd->nodes[head.to].node, head.from, &record,
					    crowd->now);
		at += sizeof(head) + head.size;
	}
	crowd->delivered = now;
}

// The manager's node gets what the manager gets.
static void deliver_to_manager(struct crowd *crowd)
{
	const size_t n = crowd->to_manager.used;
	struct crowd_wire *wire = &crowd->to_nodes;
	uint64_t begin;

	wire->bytes = grow(wire->bytes, &wire->size, wire->used + n);
	if (n > 0)
		memcpy(wire->bytes + wire->used, crowd->to_manager.bytes, n);
	wire->used += n;
	begin = cpu_ns();
	deliver(crowd, &crowd->to_manager, true);
	cluster_manager_poll(crowd->manager, crowd->now);
	crowd->manager_ns += cpu_ns() - begin;
}

// --- builders and readouts ---

static void say(struct crowd *crowd, unsigned node, const struct message *message)
{
	size_t size = crowd->messages_size * sizeof(*crowd->messages);

	crowd->messages =
	    grow(crowd->messages, &size, (crowd->n_messages + 1) * sizeof(*crowd->messages));
	crowd->messages_size = size / sizeof(*crowd->messages);
	crowd->messages[crowd->n_messages++] =
	    (struct crowd_message){ .node = (uint16_t)node, .message = *message };
}

static void say_of(struct crowd_node *node, enum message_kind kind, uint64_t event, uint32_t slot)
{
	const struct message message = {
		.kind = (uint16_t)kind, .event = event, .bytes = EVENT_BYTES, .slot = slot
	};

	say(node->crowd, (unsigned)(node - node->crowd->nodes), &message);
}

static struct crowd_event *open_event(struct crowd *crowd, uint64_t event)
{
	struct crowd_event *open = &crowd->open[event & crowd->open_mask];

	if (open->event != event + 1)
		*open = (struct crowd_event){ .event = event + 1 };
	return open;
}

// An event is built once its builder expects it and all readouts have sent it.
static void judge(struct crowd *crowd, struct crowd_event *open)
{
	struct crowd_node *node = &crowd->nodes[open->node];

	if (crowd->options.restart > 0 && !crowd->restarted && open->event > crowd->options.restart)
		return;
	if (!open->expected || open->built || open->arrived < crowd->options.n_nodes - 1)
		return;
	open->built = true;
	if (node->n_free == 0) {
		fail(crowd, "a token without a slot");
		return;
	}
	open->slot = node->free[--node->n_free];
	say_of(node, MESSAGE_BUILT, open->event - 1, open->slot);
}

static void publish(struct crowd_node *node, const struct message *message)
{
	struct crowd *crowd = node->crowd;

	if (message->event >= crowd->options.events || crowd->published[message->event]++ > 0)
		fail(crowd, "event %ju is published a second time, or beyond the end",
		     (uintmax_t)message->event);
	node->n_published++;
	node->free[node->n_free++] = message->slot;
	say_of(node, MESSAGE_PUBLISHED, message->event, message->slot);
	say_of(node, MESSAGE_FREED, message->event, message->slot);
}

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	struct crowd_node *node = context;
	struct crowd_event *open;

	(void)builder;
	switch (message->kind) {
	case MESSAGE_EXPECT:
		open = open_event(node->crowd, message->event);
		open->expected = true;
		open->node = (unsigned)(node - node->crowd->nodes);
		judge(node->crowd, open);
		break;
	case MESSAGE_PUBLISH:
		publish(node, message);
		break;
	case MESSAGE_AWAIT:
	case MESSAGE_SOURCES:
		break;
	default:
		fail(node->crowd, "message %u to a builder", message->kind);
	}
	return true;
}

static void announce(struct crowd_node *node)
{
	const struct crowd_options *options = &node->crowd->options;
	uint64_t end = node->released + options->source_buffer;
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = node->run };

	if (end > options->events)
		end = options->events;
	if (node->run == 0 || (end == node->announced && node->ended == (end == options->events)))
		return;
	node->announced = message.event = end;
	node->ended = end == options->events;
	message.flags = node->ended ? MESSAGE_LAST : 0;
	say(node->crowd, (unsigned)(node - node->crowd->nodes), &message);
}

static void send_data(struct crowd_node *node, const struct message *message)
{
	struct crowd *crowd = node->crowd;
	struct crowd_event *open = open_event(crowd, message->event);
	struct message sent = *message;

	node->n_sent++;
	open->arrived++;
	judge(crowd, open);
	sent.kind = MESSAGE_SENT;
	if ((message->flags & MESSAGE_REQUESTED) != 0)
		say(crowd, (unsigned)(node - crowd->nodes), &sent);
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	struct crowd_node *node = context;

	(void)readout;
	if (message->kind == MESSAGE_SEND)
		send_data(node, message);
	if (message->kind == MESSAGE_RUN)
		node->run = message->run;
	if (message->kind == MESSAGE_RELEASE)
		node->released = message->event;
	announce(node);
	return true;
}

static void take_messages(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->n_messages; i++) {
		const struct crowd_message at = crowd->messages[i];
		struct cluster_node *node = crowd->nodes[at.node].node;

		if (at.message.kind == MESSAGE_SENT || at.message.kind == MESSAGE_ANNOUNCE)
			cluster_node_readout_message(node, 0, &at.message, crowd->now);
		else
			cluster_node_builder_message(node, 0, &at.message, crowd->now);
	}
	crowd->n_messages = 0;
}

// --- the system ---

static bool make_system(struct crowd *crowd)
{
	const struct crowd_options *options = &crowd->options;
	struct cluster_system *system = &crowd->system;
	const unsigned n = options->n_nodes, each = options->n_sources / (n - 1);

	*system = (struct cluster_system){
		.n_nodes = n,
		.hash = HASH,
		.nodes = calloc(n, sizeof(*system->nodes)),
		.builders = calloc(n, sizeof(*system->builders)),
		.n_builders = n - 1,
		.source_ids = calloc(options->n_sources, sizeof(*system->source_ids)),
		.n_sources = options->n_sources,
	};
	if (system->nodes == NULL || system->builders == NULL || system->source_ids == NULL)
		return false;
	system->nodes[0] =
	    (struct cluster_system_node){ .manager = true, .address = 1, .mtu = 9000 };
	for (unsigned i = 1; i < n; i++) {
		system->nodes[i] = (struct cluster_system_node){
			.address = 1 + i,
			.mtu = 9000,
			.first_builder = i - 1,
			.n_builders = 1,
			.first_source = (i - 1) * each,
			.n_sources = i < n - 1 ? each : options->n_sources - (n - 2) * each,
		};
		system->builders[i - 1] = (struct cluster_system_builder){
			.node = i, .slots = CROWD_SLOTS, .slot_size = 4096, .group = i, .weight = 1
		};
	}
	for (unsigned i = 0; i < system->n_sources; i++)
		system->source_ids[i] = (uint16_t)(1 + i);
	return true;
}

static struct cluster_parameters shared_parameters(const struct crowd *crowd,
						   const struct cluster_system *system)
{
	return (struct cluster_parameters){
		.system = system,
		.mode = crowd->options.mode,
		.shaping = SCHED_LINEAR_SHIFT,
		.source_buffer = crowd->options.source_buffer,
		.parallel_sends = EVB_MAX_NODES,
	};
}

static bool make_manager(struct crowd *crowd)
{
	const uint64_t before = allocated();
	struct cluster_manager_parameters parameters = {
		.cluster = shared_parameters(crowd, &crowd->system),
		.wire = { .system = &crowd->system,
			  .transport = ON_WIRE_UDP,
			  .mode = crowd->options.mode },
		.sched = sched_defaults(),
		.deadline_ns = 1000000000,
		.in_doubt_ns = 1000000000,
		.autostart = true,
		.transport = { .context = &crowd->nodes[0], .send = send_record, .room = room_for },
		.now = crowd->now,
	};
	char error[SCHED_ERROR_SIZE];

	if (cluster_manager_check(&parameters, error) != 0) {
		fail(crowd, "%.150s", error);
		return false;
	}
	crowd->manager = cluster_manager_create(&parameters);
	crowd->manager_bytes = allocated() - before + cluster_manager_sched_memory(&parameters);
	return crowd->manager != NULL;
}

static bool make_node(struct crowd *crowd, unsigned index)
{
	const uint64_t before = allocated();
	struct crowd_node *node = &crowd->nodes[index];
	struct cluster_node_parameters parameters = {
		.cluster = shared_parameters(crowd, &node->system),
		.n_readouts = index > 0,
		.transport = { .context = node, .send = send_record, .room = room_for },
		.context = node,
		.to_builder = to_builder,
		.to_readout = to_readout,
	};

	node->crowd = crowd;
	node->system = crowd->system;
	node->system.self = index;
	for (unsigned i = 0; i < CROWD_SLOTS; i++)
		node->free[node->n_free++] = i;
	node->node = cluster_node_create(&parameters);
	if (index > 0)
		crowd->node_bytes = allocated() - before;
	return node->node != NULL;
}

// Drops the records from and to node 0.
static void drop(struct crowd_wire *wire)
{
	size_t used = 0, size;

	for (size_t at = 0; at < wire->used; at += size) {
		struct head head;

		memcpy(&head, wire->bytes + at, sizeof(head));
		size = sizeof(head) + head.size;
		if (head.from == 0 || head.to == 0)
			continue;
		memmove(wire->bytes + used, wire->bytes + at, size);
		used += size;
	}
	wire->used = used;
}

// The process of node 0 is gone, and another one begins.
static void restart_manager(struct crowd *crowd)
{
	cluster_manager_destroy(crowd->manager);
	cluster_node_destroy(crowd->nodes[0].node);
	crowd->manager = NULL;
	crowd->nodes[0] = (struct crowd_node){ .crowd = crowd };
	crowd->to_manager.used = 0;
	drop(&crowd->to_nodes);
	if (!make_manager(crowd) || !make_node(crowd, 0))
		abort();
	cluster_node_event(crowd->nodes[0].node, 0, CONTROL_CONNECTED);
	for (unsigned i = 1; i < crowd->options.n_nodes; i++) {
		cluster_node_event(crowd->nodes[0].node, i, CONTROL_CONNECTED);
		cluster_node_event(crowd->nodes[i].node, 0, CONTROL_RESTARTED);
	}
	crowd->restarted = true;
	for (uint64_t i = 0; i <= crowd->open_mask; i++)
		judge(crowd, &crowd->open[i]);
	crowd->before_restart_ns = crowd->manager_ns;
}

static void connect_all(struct crowd *crowd)
{
	for (unsigned i = 0; i < crowd->options.n_nodes; i++)
		for (unsigned j = 0; j < crowd->options.n_nodes; j++)
			if (i != j || i == crowd->system.manager)
				cluster_node_event(crowd->nodes[i].node, j, CONTROL_CONNECTED);
}

bool crowd_open(struct crowd *crowd, const struct crowd_options *options)
{
	const uint64_t n_open = cluster_unfinished(options->source_buffer);

	*crowd = (struct crowd){ .options = *options, .now = 1000000000, .open_mask = n_open - 1 };
	crowd->nodes = calloc(options->n_nodes, sizeof(*crowd->nodes));
	crowd->open = calloc(n_open, sizeof(*crowd->open));
	crowd->published = calloc(options->events + 1, 1);
	if (crowd->nodes == NULL || crowd->open == NULL || crowd->published == NULL ||
	    !make_system(crowd) || !make_manager(crowd))
		return false;
	for (unsigned i = 0; i < options->n_nodes; i++)
		if (!make_node(crowd, i))
			return false;
	return true;
}

void crowd_close(struct crowd *crowd)
{
	for (unsigned i = 0; crowd->nodes != NULL && i < crowd->options.n_nodes; i++)
		cluster_node_destroy(crowd->nodes[i].node);
	cluster_manager_destroy(crowd->manager);
	free(crowd->nodes);
	free(crowd->open);
	free(crowd->published);
	free(crowd->system.nodes);
	free(crowd->system.builders);
	free(crowd->system.source_ids);
	free(crowd->to_manager.bytes);
	free(crowd->to_nodes.bytes);
	free(crowd->delivered.bytes);
	free(crowd->messages);
}

// --- what must hold at the end ---

static void check_manager(struct crowd *crowd)
{
	const uint64_t events = crowd->options.events;
	const uint64_t first = cluster_manager_first(crowd->manager); // 0 unless it was restarted
	struct cluster_manager_view view;

	cluster_manager_view(crowd->manager, &view);
	if (view.state != CTRL_STOPPED || first + view.complete != events || view.incomplete != 0 ||
	    view.discarded != 0 || view.repeated != 0 || (view.stale != 0 && !crowd->restarted))
		fail(crowd, "state %d: %ju events complete, %ju incomplete, %ju stale records",
		     (int)view.state, (uintmax_t)view.complete, (uintmax_t)view.incomplete,
		     (uintmax_t)view.stale);
	if (view.released != events || view.announced != events || view.outstanding != 0 ||
	    view.waiting != 0)
		fail(crowd, "%ju events are released, %ju announced, %ju outstanding, %ju wait",
		     (uintmax_t)view.released, (uintmax_t)view.announced,
		     (uintmax_t)view.outstanding, (uintmax_t)view.waiting);
	for (uint64_t i = 0; i < events; i++)
		if (crowd->published[i] != 1)
			fail(crowd, "event %ju is published %u times", (uintmax_t)i,
			     crowd->published[i]);
}

static void check_nodes(struct crowd *crowd)
{
	const uint64_t events = crowd->options.events;
	uint64_t n_grants = 0, n_published = 0, n_requests = 0;

	for (unsigned i = 1; i < crowd->options.n_nodes; i++) {
		const struct crowd_node *node = &crowd->nodes[i];
		struct cluster_node_view view;

		cluster_node_view(node->node, &view);
		n_grants += view.grants;
		n_published += view.published;
		n_requests += view.requests;
		if (view.tokens_used != 0 || node->n_free != CROWD_SLOTS ||
		    view.published != node->n_published || node->n_sent != view.sends)
			fail(crowd, "node %u has %u tokens and %u free slots, sent %ju of %ju", i,
			     view.tokens_used, node->n_free, (uintmax_t)node->n_sent,
			     (uintmax_t)view.sends);
		// A new manager repeats the grants of events that are not built.
		if (view.sends < events ||
		    (!crowd->restarted && view.sends + view.unknown != events))
			fail(crowd, "node %u sent %ju events, %ju unknown", i,
			     (uintmax_t)view.sends, (uintmax_t)view.unknown);
	}
	if (n_grants != events || n_published != events ||
	    n_requests !=
		(crowd->options.mode == SCHED_PULL ? events * (crowd->options.n_nodes - 1) : 0))
		fail(crowd, "%ju grants, %ju published, %ju requests", (uintmax_t)n_grants,
		     (uintmax_t)n_published, (uintmax_t)n_requests);
}

static void step(struct crowd *crowd)
{
	uint64_t begin;

	crowd->now += STEP_NS;
	deliver_to_manager(crowd);
	begin = cpu_ns();
	deliver(crowd, &crowd->to_nodes, false);
	take_messages(crowd);
	for (unsigned i = 0; i < crowd->options.n_nodes; i++)
		cluster_node_poll(crowd->nodes[i].node, crowd->now);
	crowd->nodes_ns += cpu_ns() - begin;
}

static bool may_restart(struct crowd *crowd, const struct cluster_manager_view *view)
{
	const uint64_t before = crowd->outstanding;

	crowd->outstanding = view->outstanding;
	return crowd->options.restart > 0 && !crowd->restarted &&
	       view->released >= crowd->options.restart && view->outstanding == before;
}

void crowd_run(struct crowd *crowd, uint64_t polls)
{
	const uint64_t begin = cpu_ns();
	struct cluster_manager_view view = { 0 };
	bool all_ended = false;

	connect_all(crowd);
	while (polls-- > 0 && !all_ended) {
		step(crowd);
		cluster_manager_view(crowd->manager, &view);
		if (crowd->restarted && crowd->restart_ns == 0 && view.outstanding > 0)
			crowd->restart_ns = crowd->manager_ns - crowd->before_restart_ns;
		if (may_restart(crowd, &view)) {
			restart_manager(crowd);
			continue;
		}
		if (view.run == 0 && !crowd->restarted) {
			crowd->start_ns = cpu_ns() - begin;
			crowd->manager_ns = crowd->nodes_ns = 0;
			crowd->n_records = crowd->n_bytes = 0;
		}
		all_ended = view.state == CTRL_STOPPED;
		for (unsigned i = 0; all_ended && i < crowd->options.n_nodes; i++)
			all_ended = cluster_node_ended(crowd->nodes[i].node, NULL);
	}
	for (unsigned i = 0; i < 4; i++)
		step(crowd);
	check_manager(crowd);
	check_nodes(crowd);
}
