// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_source_role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/counter.h"
#include "rdma/roce_port.h"
#include "rdma/roce_source_internal.h"

#define LEAVE_NS 1000000000u // ns to disconnect

static struct roce_source *source_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct roce_source, role));
}

static unsigned index_of(const struct roce_source *source, const struct roce_flow *flow)
{
	return (unsigned)(flow - source->roce.flows);
}

// --- callbacks of the sender ---

static struct roce_block find_block(void *context, const struct roce_flow *flow, uint64_t message)
{
	struct roce_source *source = context;
	unsigned index = index_of(source, flow);
	const struct packet_segment at = { .event = message, .source = index };
	struct roce_block found = { .event_id = MFP_END_OF_RUN };

	if (source->script != NULL) {
		found.block = roce_source_script_block(source, message);
		found.event_id =
		    found.block.size >= MFP_HEADER_SIZE
			? load_le64(found.block.bytes + 8) // its event id does not change
			: 0;
	} else if (message == END_MESSAGE) {
		found.block = (struct store_block){ .bytes = source->sources[index].end,
						    .size = MFP_HEADER_SIZE };
	} else {
		found.block = block_packets_find(&source->packets, &at);
		found.event_id = block_packets_event_id(&source->packets, message);
	}
	return found;
}

static void connected(void *context, struct roce_flow *flow)
{
	(void)context;
	(void)flow;
}

static void ended(void *context, struct roce_flow *flow, bool was_connected)
{
	struct roce_source *source = context;
	struct source_flow *its = &source->sources[index_of(source, flow)];

	if (source->state == STATE_END_OF_RUN && index_of(source, flow) < source->source)
		flow->wanted = false; // it has nothing more to send
	if (was_connected || source->script == NULL || ++its->refusals < REFUSALS_MOST)
		return;
	its->is_given_up = true;
	flow->wanted = false;
	source->n_given_up++;
}

static void completed(void *context, struct roce_flow *flow, uint64_t message, bool failed)
{
	struct roce_source *source = context;

	(void)flow;
	source->outstanding--;
	if (!failed && message != END_MESSAGE)
		counter_add(&source->counters.blocks, 1);
}

static const struct roce_sender_operations operations = {
	.find_block = find_block,
	.connected = connected,
	.ended = ended,
	.completed = completed,
};

// --- sending ---

bool roce_source_post(struct roce_source *source, unsigned index, struct requester_message *message)
{
	if (!roce_sender_post(&source->roce, &source->roce.flows[index], message))
		return false;
	source->outstanding++;
	return true;
}

static bool post(struct roce_source *source, unsigned index, uint64_t message)
{
	const struct roce_flow *flow = &source->roce.flows[index];
	struct requester_message posted;

	if (flow->qp == NULL)
		return false;
	posted = roce_sender_message(&source->roce, flow, message,
				     find_block(source, flow, message).block.size);
	return roce_source_post(source, index, &posted);
}

static bool is_due(const struct roce_source *source, uint64_t tsc)
{
	return source->cycles_per_event == 0 ||
	       (double)(tsc - source->start) >= (double)source->event * source->cycles_per_event;
}

// Posts the messages that are due, event by event; returns how many.
static unsigned post_events(struct roce_source *source, uint64_t tsc)
{
	unsigned n = 0;

	while (n < ROLE_BURST && source->event < source->last_event) {
		if (source->source == 0 && (source->stopping || !is_due(source, tsc)))
			break;
		if (!post(source, source->source, source->event))
			break;
		n++;
		if (++source->source == source->n_sources) {
			source->source = 0;
			source->event++;
			counter_add(&source->counters.events, 1);
		}
	}
	return n;
}

// Posts the ends of the run. While the role drains, sources that are not connected are left out.
static unsigned post_ends(struct roce_source *source)
{
	unsigned n = 0;

	while (n < ROLE_BURST && source->source < source->n_sources) {
		if (source->stopping && source->roce.flows[source->source].qp == NULL)
			counter_add(&source->roce_counters.failed, 1);
		else if (!post(source, source->source, END_MESSAGE))
			break;
		source->source++;
		n++;
	}
	return n;
}

static bool is_paused(const struct roce_source *source, uint64_t tsc)
{
	const struct roce_source_parameters *p = &source->parameters;

	return p->flow_control != NULL &&
	       flow_control_paused(p->flow_control, p->data_priority, tsc);
}

static unsigned send_packets(struct roce_source *source, uint64_t tsc)
{
	struct roce_outgoing packet;
	unsigned n = 0;

	if (is_paused(source, tsc))
		return 0;
	while (n < ROLE_BURST && sender_room(&source->sender, 2) &&
	       roce_sender_next(&source->roce, tsc, &packet)) {
		if (packet.mbuf == NULL) {
			counter_add(&source->counters.no_buffer, 1);
			break;
		}
		sender_put(&source->sender, packet.mbuf, 0, packet.message == END_MESSAGE);
		counter_add(&source->counters.segments, 1);
		counter_add(&source->counters.payload_bytes, packet.size);
		n++;
	}
	return n;
}

static void finish(struct roce_source *source)
{
	source->state = STATE_FINISHED;
	atomic_store_explicit(&source->finished, true, memory_order_release);
}

// When the last messages are posted, or the role drains, ended flows are not connected again.
static void set_state(struct roce_source *source, enum roce_source_state state)
{
	source->state = state;
	source->roce.connects = state < STATE_SETTLE && !source->stopping;
}

static void leave(struct roce_source *source, uint64_t now)
{
	set_state(source, STATE_LEAVE);
	source->left_at = now;
	roce_sender_leave(&source->roce, now);
}

static bool all_are_connected(const struct roce_source *source)
{
	return source->roce_counters.connected + source->n_given_up == source->n_sources;
}

// The number of messages that are not posted when the drain begins, because the peer accepts no
// connection: those of the script, or of the events to be sent. Without a number of events, one per
// source without a connection.
static uint64_t count_unsent(const struct roce_source *source)
{
	if (source->script != NULL)
		return source->script->n_messages - source->event;
	if (all_are_connected(source) || source->state >= STATE_END_OF_RUN)
		return 0;
	if (source->last_event == UINT64_MAX)
		return source->n_sources - source->roce_counters.connected;
	return (source->last_event - source->event) * source->n_sources - source->source;
}

static void stop(struct roce_source *source)
{
	source->stopping = true;
	source->roce.connects = false;
	counter_add(&source->roce_counters.unsent, count_unsent(source));
}

// Whether the events of the set are posted, or the drain ends them: between two events, or within
// one whose next source is not connected.
static bool events_are_over(const struct roce_source *source)
{
	if (source->event >= source->last_event)
		return true;
	return source->stopping &&
	       (source->source == 0 || source->roce.flows[source->source].qp == NULL);
}

static void next_state(struct roce_source *source, uint64_t tsc)
{
	uint64_t now = roce_sender_ns(&source->roce, tsc);

	switch (source->state) {
	case STATE_CONNECT:
		if (all_are_connected(source)) {
			set_state(source, STATE_EVENTS);
			source->start = tsc;
		} else if (source->stopping) {
			leave(source, now);
		}
		break;
	case STATE_EVENTS:
		if (source->script != NULL) {
			if (source->stopping || roce_source_script_is_sent(source))
				set_state(source, STATE_SETTLE);
		} else if (events_are_over(source)) {
			source->source = 0;
			set_state(source, STATE_END_OF_RUN);
		}
		break;
	case STATE_END_OF_RUN:
		if (source->source == source->n_sources)
			set_state(source, STATE_SETTLE);
		break;
	case STATE_SETTLE:
		if (source->outstanding == 0 && sender_settle(&source->sender) &&
		    source->sender.n_out == 0)
			leave(source, now);
		break;
	case STATE_LEAVE:
		if (source->roce.cm == NULL || source->roce_counters.connected == 0 ||
		    now - source->left_at > LEAVE_NS)
			finish(source);
		break;
	case STATE_FINISHED:
		break;
	}
}

static void show_waiting(struct roce_source *source)
{
	bool waits = source->state < STATE_SETTLE && !all_are_connected(source);

	if (waits != source->waits)
		atomic_store_explicit(&source->waiting, waits, memory_order_relaxed);
	source->waits = waits;
}

static unsigned roce_source_poll(struct role *role, uint64_t tsc)
{
	struct roce_source *source = source_of(role);
	unsigned done = roce_sender_poll(&source->roce, tsc), sent;

	if (source->state == STATE_EVENTS)
		done += source->script != NULL ? roce_source_post_script(source, tsc)
					       : post_events(source, tsc);
	if (source->state == STATE_END_OF_RUN)
		done += post_ends(source);
	done += send_packets(source, tsc);
	roce_sender_complete(&source->roce);
	sent = sender_flush(&source->sender);
	next_state(source, tsc);
	show_waiting(source);
	role->backpressured = done == 0 && sent == 0 && source->sender.n_out > 0;
	return role->backpressured ? 0 : done + sent;
}

static bool roce_source_drain(struct role *role, uint64_t now)
{
	struct roce_source *source = source_of(role);

	if (!source->stopping)
		stop(source);
	(void)roce_source_poll(role, now);
	return source->state == STATE_FINISHED;
}

static void roce_source_fini(struct role *role)
{
	struct roce_source *source = source_of(role);

	sender_fini(&source->sender);
	roce_sender_fini(&source->roce);
	free(source->sources);
	rte_free(source);
}

static const struct role_operations roce_source_operations = {
	.kind = "source",
	.poll = roce_source_poll,
	.drain = roce_source_drain,
	.fini = roce_source_fini,
};

// --- creation ---

// The service of a flow. The connections of a script use the captured service if RDMA CM supports
// it.
static uint8_t service_of(const struct roce_source *source, unsigned index)
{
	if (source->script == NULL)
		return (uint8_t)source->parameters.settings->service;
	return source->script->streams[index].service == ROCE_UC ? ROCE_UC : ROCE_RC;
}

static void make_flow(struct roce_source *source, unsigned index)
{
	const struct roce_source_parameters *p = &source->parameters;
	struct mfp_header end = { .event_id = MFP_END_OF_RUN,
				  .source_id = p->packets.store->ids[index] };
	struct roce_flow *flow = &source->roce.flows[index];

	flow->wanted = true;
	flow->service = service_of(source, index);
	flow->cm_port = p->settings->cm_service;
	flow->handle = (struct roce_address_handle){
		.own = qp_address_ipv4(p->packets.address),
		.peer = qp_address_ipv4(p->destination),
		.source_port = roce_source_port(index),
	};
	memcpy(flow->handle.own_mac, p->packets.mac, sizeof(flow->handle.own_mac));
	memcpy(flow->handle.peer_mac, p->destination_mac, sizeof(flow->handle.peer_mac));
	(void)mfp_encode_header(source->sources[index].end, MFP_HEADER_SIZE, &end, NULL, NULL);
}

static bool make_parts(struct roce_source *source)
{
	const struct roce_source_parameters *p = &source->parameters;
	const struct roce_sender_parameters sender = {
		.settings = p->settings,
		.operations = &operations,
		.context = source,
		.sender = &source->sender,
		.responses = p->responses,
		.counters = &source->roce_counters,
		.pools = { .headers = p->packets.headers, .payloads = p->packets.payloads },
		.n_flows = source->n_sources,
		.depth = ROCE_DEPTH,
		.address = p->packets.address,
		.mtu = p->packets.mtu,
		.link_rate = p->link_rate,
	};

	sender_init(&source->sender, p->port_id, p->queue, p->packets.headers, p->faults, p->seed);
	source->sources = calloc(source->n_sources, sizeof(*source->sources));
	block_packets_init(&source->packets, &p->packets);
	if (source->sources == NULL || !roce_sender_init(&source->roce, &sender))
		return false;
	for (unsigned i = 0; i < source->n_sources; i++)
		make_flow(source, i);
	return true;
}

static const struct roce_static_pair *find_pair(const struct roce_settings *settings, uint16_t id)
{
	for (unsigned i = 0; i < settings->n_queue_pairs; i++)
		if (settings->queue_pairs[i].has_source && settings->queue_pairs[i].source == id)
			return &settings->queue_pairs[i];
	return NULL;
}

// Connects all flows with the numbers of `roce.queue_pairs`. False with one line in error.
static bool connect_statically(struct roce_source *source, char *error)
{
	const struct roce_source_parameters *p = &source->parameters;

	if (!roce_source_script_check(source, error))
		return false;
	for (unsigned i = 0; i < source->n_sources; i++) {
		uint16_t id = p->packets.store->ids[i];
		const struct roce_static_pair *pair = find_pair(p->settings, id);

		if (pair == NULL ||
		    !roce_sender_connect_statically(&source->roce, &source->roce.flows[i], pair)) {
			snprintf(error, ROCE_SOURCE_ERROR_SIZE,
				 "roce.queue_pairs: source %u has no queue pair, or one whose "
				 "number's place is taken: give it one, or set roce.connection to "
				 "\"cm\"",
				 id);
			return false;
		}
	}
	return true;
}

struct role *roce_source_role_create(const struct roce_source_parameters *p, char *error)
{
	double hz = (double)rte_get_tsc_hz();
	struct roce_source *source =
	    rte_zmalloc_socket("source", sizeof(*source), RTE_CACHE_LINE_SIZE, p->numa_node);

	snprintf(error, ROCE_SOURCE_ERROR_SIZE, "role %s: out of memory", p->name);
	if (source == NULL)
		return NULL;
	source->role.operations = &roce_source_operations;
	snprintf(source->role.name, sizeof(source->role.name), "%s", p->name);
	source->parameters = *p;
	source->n_sources = p->packets.store->n_sources;
	source->script = p->set->script;
	source->last_event = p->events > 0 ? p->events : UINT64_MAX;
	source->cycles_per_event = p->rate > 0 ? hz / p->rate : 0;
	if (!make_parts(source) ||
	    (source->roce.cm == NULL && !connect_statically(source, error))) {
		roce_source_fini(&source->role);
		return NULL;
	}
	return &source->role;
}

bool roce_source_role_is(const struct role *role)
{
	return role->operations == &roce_source_operations;
}

const struct source_counters *roce_source_role_source_counters(const struct role *role)
{
	return &source_of(role)->counters;
}

const struct sender_counters *roce_source_role_sender_counters(const struct role *role)
{
	return &source_of(role)->sender.counters;
}

const struct roce_sender_counters *roce_source_role_counters(const struct role *role)
{
	return &source_of(role)->roce_counters;
}

bool roce_source_role_finished(const struct role *role)
{
	return atomic_load_explicit(&source_of(role)->finished, memory_order_acquire);
}

bool roce_source_role_waits(const struct role *role)
{
	return atomic_load_explicit(&source_of(role)->waiting, memory_order_relaxed);
}

const struct queue_pair *roce_source_role_qp(const struct role *role, unsigned index)
{
	return source_of(role)->roce.flows[index].qp;
}
