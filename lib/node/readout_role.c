// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "pacing/readout_pace.h"
#include "pacing/send_queue.h"
#include "packet/segment_mbuf.h"
#include "tx/block_packets.h"
#include "wire/ctrl.h"
#include "wire/net.h"

#define NOTES_MOST 32u
#define QUEUE_MOST 65536u
#define UP_SECONDS 2u // that connections to builders are waited for when a run begins
#define SEEK_PART  5u // of a second, for a builder whose address is not known

struct readout {
	struct role role;
	struct readout_parameters parameters;
	struct block_packets packets;
	struct sender sender;
	struct send_queue queue;
	struct readout_pace pace;
	struct readout_roce *roce; // NULL: not by RoCE
	unsigned n_builders, self; // of the system; number of this node
	uint16_t *indices;         // by source of the set: index among the run's expected sources

	// The run
	enum ctrl_run_state state;
	uint32_t run;
	uint64_t first; // event with which this node began
	uint64_t end;   // of a run that drains; UINT64_MAX before
	uint64_t last;  // event behind the generator's last
	uint64_t released, announced;
	uint64_t static_next; // static mode: first event that is not queued
	bool ended, throttled, was_full, up, draining;
	uint64_t start; // TSC
	double cycles_per_event;

	// The event under way
	bool sending;
	struct message grant;
	struct packet_segment cursor;
	struct packet_destination to;
	struct link *local; // of its builder; NULL: on another node
	bool found;         // `to` and `local` are its
	bool posted;        // RoCE has it
	uint64_t sought_since;

	struct rte_mbuf *staged[ROLE_BURST]; // for the local builder
	unsigned n_staged;
	struct readout_counters counters __rte_cache_aligned;
};

static struct readout *readout_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct readout, role));
}

static bool is_static(const struct readout *readout)
{
	return readout->parameters.config->event_manager.mode == CONFIG_MODE_STATIC;
}

// --- what the control role says ---

static void forget_grants(struct readout *readout)
{
	send_queue_clear(&readout->queue);
	readout_pace_clear(&readout->pace);
	if (readout->roce != NULL)
		readout_roce_forget(readout->roce);
}

static void take_run(struct readout *readout, const struct message *message, uint64_t now)
{
	if (message->run != readout->run) {
		if (readout->roce != NULL)
			readout_roce_forget(readout->roce);
		readout->run = message->run;
		readout->first = readout->released = readout->announced = message->event;
		readout->static_next = message->event;
		readout->end = UINT64_MAX;
		readout->ended = readout->up = false;
		readout->start = now;
	}
	readout->state = (enum ctrl_run_state)message->state;
	if (readout->state == CTRL_DRAINING)
		readout->end = message->event;
	if (readout->state == CTRL_STOPPED)
		forget_grants(readout);
}

// Builders are served in turn by those whom they ask, each of which begins with another one.
static void take_grant(struct readout *readout, struct message grant)
{
	if ((grant.flags & MESSAGE_REQUESTED) != 0) {
		grant.round = 0;
		grant.position = grant.builder;
		grant.n_positions = (uint16_t)readout->n_builders;
	}
	if (readout->roce != NULL)
		readout_roce_granted(readout->roce, &grant);
	if (send_queue_put(&readout->queue, &grant))
		readout_pace_add(&readout->pace, grant.builder);
	else
		counter_add(&readout->counters.gone, 1);
}

static void take_message(struct readout *readout, const struct message *message, uint64_t now)
{
	switch (message->kind) {
	case MESSAGE_RUN:
		take_run(readout, message, now);
		break;
	case MESSAGE_RELEASE:
		readout->released = RTE_MAX(readout->released, message->event);
		if (readout->roce != NULL)
			readout_roce_released(readout->roce, readout->released);
		break;
	case MESSAGE_THROTTLE:
		readout->throttled = message->state != 0;
		break;
	case MESSAGE_SEND:
		take_grant(readout, *message);
		break;
	default:
		break;
	}
}

// --- what it says ---

// How many events there are by now.
static uint64_t produced(const struct readout *readout, uint64_t now)
{
	const uint32_t buffer = readout->parameters.config->event_manager.source_buffer;
	uint64_t most = RTE_MIN(readout->released + buffer, RTE_MIN(readout->last, readout->end));

	if (readout->cycles_per_event > 0) {
		uint64_t made = readout->first + (uint64_t)((double)(now - readout->start) /
							    readout->cycles_per_event);

		most = RTE_MIN(most, made);
	}
	return RTE_MAX(most, readout->announced);
}

// What is announced is waited for: not before RoCE can bring it to all builders, those that are not
// there set aside.
static bool is_up(struct readout *readout, uint64_t now)
{
	if (!readout->up)
		readout->up = readout->roce == NULL || readout_roce_is_connected(readout->roce) ||
			      now - readout->start > UP_SECONDS * rte_get_tsc_hz();
	return readout->up;
}

static void announce(struct readout *readout, uint64_t now)
{
	uint64_t stop = RTE_MIN(readout->last, readout->end);
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = readout->run };
	bool full;

	if (readout->state != CTRL_RUNNING && readout->state != CTRL_DRAINING)
		return;
	if (!is_up(readout, now))
		return;
	if (readout->throttled && readout->state == CTRL_RUNNING) {
		counter_add(&readout->counters.throttled, 1);
		return;
	}
	message.event = produced(readout, now);
	full = message.event ==
	       readout->released + readout->parameters.config->event_manager.source_buffer;
	counter_add(&readout->counters.full, full && !readout->was_full);
	readout->was_full = full;
	// What has been announced when the end is told may lie behind it.
	if (message.event >= stop)
		message.flags = MESSAGE_LAST;
	if (message.event == readout->announced && (message.flags != 0) == readout->ended)
		return;
	if (!mailbox_put(readout->parameters.to_control, &message))
		return;
	readout->announced = message.event;
	readout->ended = message.flags != 0;
}

static bool say_sent(struct readout *readout)
{
	struct message message = readout->grant;

	if ((message.flags & MESSAGE_REQUESTED) == 0)
		return true;
	message.kind = MESSAGE_SENT;
	return mailbox_put(readout->parameters.to_control, &message);
}

// --- what it sends ---

// Static mode: the next round of events grants itself.
static void grant_statically(struct readout *readout)
{
	uint64_t n = readout->n_builders, round = readout->static_next / n;
	uint64_t end = RTE_MIN((round + 1) * n, RTE_MIN(readout->last, readout->end));

	if (send_queue_length(&readout->queue) > 0 || end > readout->announced ||
	    end == readout->static_next)
		return;
	for (uint64_t event = readout->static_next; event < end; event++) {
		const struct message message = {
			.kind = MESSAGE_SEND,
			.event = event,
			.round = round + 1,
			.builder = (uint16_t)(event % n),
			.position = (uint16_t)(event % n),
			.n_positions = (uint16_t)RTE_MAX(
			    n, (uint64_t)readout->parameters.config->cluster.n_nodes),
		};

		if (readout->roce != NULL)
			readout_roce_granted(readout->roce, &message);
		(void)send_queue_put(&readout->queue, &message); // it was empty
		readout_pace_add(&readout->pace, message.builder);
	}
	readout->static_next = end;
	readout->released = end; // nobody confirms
}

// Where the event's builder is. False if its address is not known yet.
static bool find_builder(struct readout *readout)
{
	const struct config *config = readout->parameters.config;
	const struct config_cluster_builder *builder =
	    &config->cluster.builders[readout->grant.builder];

	readout->local = NULL;
	if (builder->node == readout->self) {
		readout->local = readout->parameters.links[builder->index];
		return true;
	}
	if (readout->roce != NULL)
		return true; // it knows
	readout->to.address = config->cluster.nodes[builder->node].address;
	readout->to.udp_port = (uint16_t)(config->transport.udp_port + builder->index);
	return neighbours_get(readout->parameters.neighbours, builder->node, readout->to.mac);
}

// Begins with the next event; false if there is none.
static bool next_event(struct readout *readout, uint64_t now)
{
	while (!readout->sending) {
		if (is_static(readout))
			grant_statically(readout);
		if (!send_queue_next(&readout->queue, now, &readout->grant))
			return false;
		readout_pace_begin(&readout->pace, readout->grant.builder, readout->grant.bytes,
				   now);
		readout->cursor = (struct packet_segment){ .event = readout->grant.event };
		readout->sending = true;
		if ((!is_static(readout) && readout->grant.event < readout->released) ||
		    readout->grant.event >= readout->announced) {
			counter_add(&readout->counters.gone, 1);
			readout->cursor.source = readout->parameters.set->n_sources;
			return true;
		}
		readout->sought_since = now;
		readout->found = readout->posted = false;
	}
	return true;
}

// Whether it is known where the event goes. A builder that was granted it has been there a moment
// ago, so its address is soon found.
static bool find_destination(struct readout *readout, uint64_t now)
{
	if (readout->found)
		return true;
	if (find_builder(readout)) {
		readout->found = true;
		return true;
	}
	if (now - readout->sought_since < readout->pace.pacer.ticks_per_second / SEEK_PART)
		return false;
	counter_add(&readout->counters.unreachable, 1);
	readout->cursor.source = readout->parameters.set->n_sources;
	return true;
}

static void give_to_link(struct readout *readout, struct rte_mbuf *mbuf, uint32_t size,
			 uint32_t length, uint64_t now)
{
	uint64_t id = block_packets_event_id(&readout->packets, readout->cursor.event);

	*mbuf_segment(mbuf) = (struct segment){
		.event_id = id,
		.event_index = readout->cursor.event,
		.arrival = now,
		.offset = readout->cursor.offset,
		.size = size,
		.length = length,
		.payload = (uint16_t)readout->packets.headers_size,
		.source = readout->indices[readout->cursor.source],
	};
	readout->staged[readout->n_staged++] = mbuf;
	counter_add(&readout->counters.local_segments, 1);
}

static bool flush_staged(struct readout *readout)
{
	unsigned done;

	if (readout->n_staged == 0)
		return true;
	done = link_enqueue(readout->local, readout->staged, readout->n_staged);
	readout->n_staged -= done;
	memmove(readout->staged, readout->staged + done,
		readout->n_staged * sizeof(*readout->staged));
	return readout->n_staged == 0;
}

// Whether one more packet may leave the port now.
static bool may_leave(struct readout *readout, uint64_t now)
{
	const struct readout_parameters *p = &readout->parameters;

	if (!sender_room(&readout->sender, 2))
		return false;
	if (p->flow_control != NULL &&
	    flow_control_paused(p->flow_control, p->config->event_manager.data_priority, now)) {
		counter_add(&readout->counters.held_pause, 1);
		return false;
	}
	if (!readout_pace_ready(&readout->pace, now)) {
		counter_add(&readout->counters.held_pace, 1);
		return false;
	}
	return true;
}

// Whether one more segment may go to where the event under way goes.
static bool may_send(struct readout *readout, uint64_t now)
{
	if (readout->local == NULL)
		return may_leave(readout, now);
	if (readout->n_staged < ROLE_BURST)
		return true;
	counter_add(&readout->counters.link_full, 1);
	return false;
}

static bool send_segment(struct readout *readout, uint64_t now)
{
	struct packet_segment *cursor = &readout->cursor;
	struct source_block block = block_packets_find(&readout->packets, cursor);
	uint32_t size = RTE_MIN(block.size - cursor->offset, readout->packets.segment_size);
	struct rte_mbuf *mbuf =
	    block_packets_make(&readout->packets, cursor, &block, size, &readout->to);

	if (mbuf == NULL) {
		counter_add(&readout->counters.no_buffer, 1);
		return false;
	}
	if (readout->local != NULL) {
		give_to_link(readout, mbuf, size, block.size, now);
	} else {
		readout_pace_take(&readout->pace, rte_pktmbuf_pkt_len(mbuf) + NET_ETH_BESIDE, now);
		sender_put(&readout->sender, mbuf, readout->packets.headers_size, false);
	}
	counter_add(&readout->counters.segments, 1);
	counter_add(&readout->counters.payload_bytes, size);
	cursor->offset += size;
	if (cursor->offset == block.size) {
		counter_add(&readout->counters.blocks, 1);
		cursor->offset = 0;
		cursor->source++;
	}
	return true;
}

// One packet of what RoCE has been given, of whichever event; false if none may leave.
static bool send_packet(struct readout *readout, uint64_t now)
{
	struct rte_mbuf *mbuf;
	uint32_t size;

	if (!may_leave(readout, now))
		return false;
	mbuf = readout_roce_next(readout->roce, now, &size);
	if (mbuf == NULL)
		return false;
	readout_pace_take(&readout->pace, rte_pktmbuf_pkt_len(mbuf) + NET_ETH_BESIDE, now);
	sender_put(&readout->sender, mbuf, 0, false);
	counter_add(&readout->counters.segments, 1);
	counter_add(&readout->counters.payload_bytes, size);
	return true;
}

// A builder that asked for the event is told where its blocks lie.
static bool offer(struct readout *readout)
{
	const struct source_set *set = readout->parameters.set;

	for (; readout->cursor.source < set->n_sources; readout->cursor.source++) {
		struct message message = {
			.kind = MESSAGE_OFFER,
			.event = readout->grant.event,
			.builder = readout->grant.builder,
			.attempt = readout->grant.attempt,
			.source = set->ids[readout->cursor.source],
		};

		readout_roce_place(readout->roce, message.event, readout->cursor.source, &message);
		if (!mailbox_put(readout->parameters.to_control, &message))
			return false;
	}
	counter_add(&readout->counters.blocks, set->n_sources);
	return true;
}

// An event goes to RoCE as a whole; it is the event under way until its packets have left.
static bool step_roce(struct readout *readout, uint64_t now)
{
	unsigned n_sources = readout->parameters.set->n_sources;

	if (readout_roce_is_read(readout->roce))
		return offer(readout);
	if (!readout->posted) {
		readout->posted = readout_roce_post(readout->roce, &readout->grant);
		return readout->posted;
	}
	if (send_packet(readout, now))
		return true;
	if (!readout_roce_is_sent(readout->roce, readout->grant.builder, now))
		return false;
	counter_add(&readout->counters.blocks, n_sources);
	readout->cursor.source = n_sources;
	return true;
}

// One step; false if nothing can be done now.
static bool step(struct readout *readout, uint64_t now)
{
	if (!next_event(readout, now))
		return false;
	if (readout->cursor.source < readout->parameters.set->n_sources &&
	    !find_destination(readout, now))
		return false;
	if (readout->cursor.source < readout->parameters.set->n_sources && readout->roce != NULL &&
	    readout->local == NULL)
		return step_roce(readout, now);
	if (readout->cursor.source < readout->parameters.set->n_sources)
		return may_send(readout, now) && send_segment(readout, now);
	if (!flush_staged(readout) || !say_sent(readout))
		return false;
	readout->sending = false;
	counter_add(&readout->counters.events, 1);
	return true;
}

static unsigned readout_poll(struct role *role, uint64_t now)
{
	struct readout *readout = readout_of(role);
	struct message messages[NOTES_MOST];
	unsigned n = mailbox_take(readout->parameters.from_control, messages, NOTES_MOST);
	unsigned made = 0, sent;

	for (unsigned i = 0; i < n; i++)
		take_message(readout, &messages[i], now);
	if (n > 0 && readout->sending)
		readout_pace_adapt(&readout->pace, now);
	announce(readout, now);
	if (readout->roce != NULL)
		n += readout_roce_poll(readout->roce, now);
	// What has to be sent again does not wait for the next event.
	while (readout->roce != NULL && made < ROLE_BURST && send_packet(readout, now))
		made++;
	while (made < ROLE_BURST && step(readout, now))
		made++;
	if (readout->n_staged > 0)
		(void)flush_staged(readout);
	sent = sender_flush(&readout->sender);
	role->backpressured = made == 0 && sent == 0 && readout->sending;
	return role->backpressured ? 0 : n + made + sent;
}

// The run is over, or this node leaves: what is granted is not sent any more, others build it.
static bool readout_drain(struct role *role, uint64_t now)
{
	struct readout *readout = readout_of(role);

	if (!readout->draining)
		forget_grants(readout);
	readout->draining = true;
	readout->state = CTRL_STOPPED;
	readout->last = readout->static_next;
	(void)readout_poll(role, now);
	if (readout->roce != NULL && !readout_roce_leave(readout->roce, now))
		return false;
	return !readout->sending || readout->local == NULL
		   ? sender_settle(&readout->sender) && readout->sender.n_out == 0
		   : false;
}

static void readout_fini(struct role *role)
{
	struct readout *readout = readout_of(role);

	rte_pktmbuf_free_bulk(readout->staged, readout->n_staged);
	sender_fini(&readout->sender);
	readout_roce_destroy(readout->roce);
	send_queue_free(&readout->queue);
	readout_pace_free(&readout->pace);
	block_packets_fini(&readout->packets);
	rte_free(readout->indices);
	rte_free(readout);
}

static const struct role_operations readout_operations = {
	.kind = "readout",
	.poll = readout_poll,
	.drain = readout_drain,
	.fini = readout_fini,
};

static uint64_t phase_ticks(const struct config *config)
{
	const struct config_event_manager *manager = &config->event_manager;

	if (manager->shaping != CONFIG_SHAPING_TIMED_SHIFT)
		return 0;
	return (uint64_t)((double)(manager->send_window_ns + manager->idle_window_ns) * 1e-9 *
			  (double)rte_get_tsc_hz());
}

// The place of this node among those that have generators.
static uint32_t rank_of(const struct config_cluster *cluster)
{
	uint32_t rank = 0;

	for (unsigned i = 0; i < cluster->self; i++)
		rank += cluster->nodes[i].n_sources > 0;
	return rank;
}

static bool make_roce(struct readout *readout, const struct readout_parameters *p)
{
	const struct readout_roce_parameters parameters = {
		.name = p->name,
		.config = p->config,
		.port = p->port,
		.packets = &readout->packets,
		.sender = &readout->sender,
		.neighbours = p->neighbours,
		.responses = p->roce_responses,
	};
	char error[READOUT_ROCE_ERROR_SIZE];

	if (p->roce_responses == NULL)
		return true;
	readout->roce = readout_roce_create(&parameters, error);
	return readout->roce != NULL;
}

static bool make_parts(struct readout *readout, const struct readout_parameters *p)
{
	const struct block_packets_parameters packets = {
		.config = p->config,
		.generator = p->generator,
		.set = p->set,
		.mac = p->mac,
		.address = p->config->cluster.nodes[p->config->cluster.self].address,
		.mtu = p->mtu,
		.udp_ports = 1, // each builder has one
		.dscp = p->config->event_manager.data_dscp,
		.headers = p->headers,
		.payloads = p->payloads,
	};

	sender_init(&readout->sender, p->port_id, p->queue, p->headers, &p->generator->faults,
		    p->generator->seed);
	readout->indices = rte_zmalloc("readout", p->set->n_sources * sizeof(*readout->indices), 0);
	if (!send_queue_make(&readout->queue, QUEUE_MOST, rank_of(&p->config->cluster),
			     phase_ticks(p->config)) ||
	    !block_packets_init(&readout->packets, &packets) || readout->indices == NULL ||
	    !readout_pace_make(&readout->pace, p->config, p->set->n_sources, p->mtu,
			       rte_get_tsc_hz(), rte_rdtsc()) ||
	    !make_roce(readout, p))
		return false;
	for (unsigned i = 0; i < p->set->n_sources; i++)
		readout->indices[i] = p->sources->index[p->set->ids[i]];
	return true;
}

struct role *readout_role_create(const struct readout_parameters *parameters)
{
	const struct config_generator *generator = parameters->generator;
	uint64_t hz = rte_get_tsc_hz();
	struct readout *readout = rte_zmalloc_socket("readout", sizeof(*readout),
						     RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (readout == NULL)
		return NULL;
	readout->role.operations = &readout_operations;
	snprintf(readout->role.name, sizeof(readout->role.name), "%s", parameters->name);
	readout->parameters = *parameters;
	readout->n_builders = parameters->config->cluster.n_builders;
	readout->self = parameters->config->cluster.self;
	readout->last = generator->events > 0 ? generator->events : UINT64_MAX;
	readout->end = UINT64_MAX;
	readout->cycles_per_event = generator->rate > 0 ? (double)hz / generator->rate : 0;
	if (!make_parts(readout, parameters)) {
		readout_fini(&readout->role);
		return NULL;
	}
	return &readout->role;
}

const struct readout_counters *readout_role_counters(const struct role *role)
{
	return &readout_of(role)->counters;
}

const struct readout_roce *readout_role_roce(const struct role *role)
{
	return readout_of(role)->roce;
}

const struct sender_counters *readout_role_sender_counters(const struct role *role)
{
	return &readout_of(role)->sender.counters;
}
