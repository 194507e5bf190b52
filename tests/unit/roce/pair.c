// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pair.h"

#include <stdlib.h>
#include <string.h>

#define STEP_NS     1000u
#define LATENCY_NS  3000u
#define DELAY_NS    20000u // at most more, of a delayed packet
#define PER_STEP    8u     // packets that each side sends in a step
#define LONGEST_RUN 10000000u

static bool chance(struct pair *pair, double probability)
{
	return probability > 0 && random_uniform(&pair->random) < probability;
}

uint32_t pair_length(const struct pair_flow *flow, uint32_t number)
{
	static const uint32_t edges[] = {
		0, 1, PAIR_MTU - 1, PAIR_MTU, PAIR_MTU + 1, 2 * PAIR_MTU, 3 * PAIR_MTU + 2
	};
	uint64_t mixed = random_mix(number * 31u + flow->operation + 7u * flow->service);
	uint32_t length = (uint32_t)(mixed >> 8) % PAIR_LONGEST;

	if (mixed % 4 != 0)
		length = edges[(mixed >> 40) % (sizeof(edges) / sizeof(edges[0]))];
	return flow->service == ROCE_UD && length > PAIR_MTU ? length % PAIR_MTU : length;
}

// WRITEs and READs of a flow go round in a part of the memory that is its own; READs read what was
// there from the beginning.
static uint64_t place_of(const struct pair *pair, const struct pair_flow *flow, uint32_t number)
{
	uint32_t part = PAIR_MEMORY / pair->n_flows;

	return (uint64_t)(flow - pair->flows) * part + number * 37 % (part - PAIR_LONGEST);
}

static uint8_t initial_byte(uint64_t place)
{
	return (uint8_t)random_mix(place);
}

uint8_t pair_byte(const struct pair_flow *flow, uint32_t number, uint32_t i)
{
	return (uint8_t)((number * 0x9E3779B1u + flow->operation) >> 13) +
	       (uint8_t)(i * 7 + i / 251);
}

static void open_side(struct pair *pair, unsigned which)
{
	struct pair_side *side = &pair->sides[which];
	struct responder_parameters responding = {
		.table = &side->table,
		.regions = &side->regions,
		.cnp_interval = 4000,
		.largest_message = PAIR_LONGEST,
		.ack_every = pair->options.ack_every,
		.rnr_timer = 1,
		.max_reads = 4,
		.like_rxe = pair->options.like_rxe,
	};
	struct requester_parameters requesting = {
		.table = &side->table,
		.depth = PAIR_DEPTH,
		.window = pair->options.window,
		.ack_interval = pair->options.ack_interval,
		.burst = 3,
	};

	memset(side->guarded, PAIR_CANARY, sizeof(side->guarded));
	side->memory = side->guarded + PAIR_GUARD;
	for (uint32_t i = 0; i < PAIR_MEMORY; i++)
		side->memory[i] = initial_byte(i);
	side->address = qp_address_ipv4(0x0A000001 + which);
	assert_true(qp_table_create(&side->table, PAIR_QPS));
	side->rkey = 3 << 8 | 0x80;
	side->region = (struct region){ .memory = side->memory,
					.address = PAIR_ADDRESS,
					.length = PAIR_MEMORY,
					.rkey = side->rkey,
					.access = REGION_READ | REGION_WRITE };
	side->regions = (struct region_table){ .regions = &side->region, .n = 1 };
	side->responder = responder_create(&responding);
	side->requester = requester_create(&requesting);
	assert_non_null(side->responder);
	assert_non_null(side->requester);
}

static void connect_flow(struct pair *pair, struct pair_flow *flow)
{
	struct pair_side *from = &pair->sides[flow->from], *to = &pair->sides[!flow->from];
	uint32_t psns[2] = { (uint32_t)random_next(&pair->random) & ROCE_24_BITS,
			     ROCE_24_BITS - 100 };
	struct qp_connection connection = {
		.path_mtu = PAIR_MTU,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.access = QP_MAY_READ | QP_MAY_WRITE,
		.timeout_code = 5, // 131 us
		.retry_count = pair->options.retry_count,
		.rnr_retry = 7,
		.max_reads = 4,
		.user = flow,
		.qkey = 42,
	};

	flow->qp = qp_open(&from->table, flow->service, QP_NUMBER_AUTO, 0);
	flow->peer = qp_open(&to->table, flow->service, QP_NUMBER_AUTO, 0);
	assert_non_null(flow->qp);
	assert_non_null(flow->peer);
	connection.peer = to->address;
	connection.peer_qpn = flow->peer->qpn;
	connection.local_psn = psns[0];
	connection.peer_psn = psns[1];
	assert_true(qp_connect(flow->qp, &connection));
	connection.peer = from->address;
	connection.peer_qpn = flow->qp->qpn;
	connection.local_psn = psns[1];
	connection.peer_psn = psns[0];
	assert_true(qp_connect(flow->peer, &connection));
}

void pair_open(struct pair *pair, const struct pair_options *options, struct pair_flow *flows,
	       unsigned n_flows)
{
	memset(pair, 0, sizeof(*pair));
	pair->options = *options;
	pair->random = random_fork(options->seed, 1);
	pair->flows = flows;
	pair->n_flows = n_flows;
	pair->now = 1000000;
	pair->flying = malloc(PAIR_FLYING * sizeof(*pair->flying));
	assert_non_null(pair->flying);
	for (unsigned i = 0; i < 2; i++)
		open_side(pair, i);
	for (unsigned i = 0; i < n_flows; i++)
		connect_flow(pair, &flows[i]);
}

// Each packet that a queue pair was given has been counted once.
static void check_account(const struct pair_side *side)
{
	for (uint32_t i = 0; i < PAIR_QPS; i++) {
		const struct qp_counters *counters = &side->table.qps[i].counters;
		uint64_t n = counters->packets + counters->responses + counters->cnp_received;

		for (unsigned j = 0; j < QP_N_DROPS; j++)
			n += counters->drops[j];
		assert_int_equal(n, side->given[i]);
	}
}

void pair_close(struct pair *pair)
{
	for (unsigned i = 0; i < 2; i++) {
		struct pair_side *side = &pair->sides[i];

		for (size_t j = 0; j < PAIR_GUARD; j++) {
			assert_int_equal(side->guarded[j], PAIR_CANARY);
			assert_int_equal(side->guarded[PAIR_GUARD + PAIR_MEMORY + j], PAIR_CANARY);
		}
		check_account(side);
		responder_destroy(side->responder);
		requester_destroy(side->requester);
		qp_table_destroy(&side->table);
	}
	free(pair->flying);
}

static void post(struct pair *pair, struct pair_flow *flow)
{
	struct pair_side *from = &pair->sides[flow->from], *to = &pair->sides[!flow->from];

	while (flow->posted < flow->n) {
		const struct requester_message message = {
			.user = flow->posted,
			.address = PAIR_ADDRESS + place_of(pair, flow, flow->posted),
			.rkey = to->rkey,
			.length = pair_length(flow, flow->posted),
			.immediate = flow->posted,
			.peer_qpn = flow->peer->qpn,
			.qkey = 42,
			.operation = flow->operation,
			.has_immediate = flow->with_immediate,
		};

		if (!requester_post(from->requester, flow->qp, &message)) {
			assert_int_equal(requester_room(from->requester, flow->qp), 0);
			return;
		}
		flow->posted++;
	}
}

static struct pair_packet *put_on_wire(struct pair *pair, unsigned to)
{
	struct pair_packet *packet;

	assert_true(pair->n_flying < PAIR_FLYING - 1);
	packet = &pair->flying[pair->n_flying++];
	packet->arrival = pair->now + LATENCY_NS;
	packet->order = pair->order++;
	packet->to = to;
	packet->congested = chance(pair, pair->options.congestion);
	pair->sent++;
	return packet;
}

// What the wire does to the packet that was put on it last.
static void fly(struct pair *pair)
{
	struct pair_packet *packet = &pair->flying[pair->n_flying - 1];

	if (pair->tap)
		pair->tap(pair, packet);
	if (chance(pair, pair->options.delay))
		packet->arrival += random_next(&pair->random) % DELAY_NS;
	if (chance(pair, pair->options.repetition)) {
		struct pair_packet *again = put_on_wire(pair, packet->to);
		uint64_t order = again->order;

		*again = *packet;
		again->order = order;
		again->arrival += random_next(&pair->random) % DELAY_NS;
	} else if (chance(pair, pair->options.loss)) {
		pair->n_flying--;
		pair->lost++;
	}
}

// Appends padding and the ICRC's place.
static void finish_packet(struct pair_packet *packet, size_t size, uint32_t payload)
{
	uint32_t tail = (-payload & 3u) + ROCE_ICRC_SIZE;

	memset(packet->bytes + size, 0, tail);
	packet->size = (uint16_t)(size + tail);
}

static void send_reply(struct pair *pair, unsigned from, const struct responder_reply *reply)
{
	struct pair_packet *packet = put_on_wire(pair, !from);
	size_t size = responder_reply_encode(reply, packet->bytes);

	if (reply->payload_size > 0)
		memcpy(packet->bytes + size, reply->payload, reply->payload_size);
	finish_packet(packet, size + reply->payload_size, reply->payload_size);
	fly(pair);
}

static void send_cnp(struct pair *pair, unsigned from, const struct queue_pair *qp)
{
	struct pair_packet *packet = put_on_wire(pair, !from);

	roce_cnp_encode(packet->bytes, qp->peer_qpn);
	finish_packet(packet, ROCE_CNP_SIZE, 0);
	fly(pair);
}

static void send_request(struct pair *pair, unsigned from, const struct requester_packet *request)
{
	const struct pair_flow *flow = request->qp->user;
	struct pair_packet *packet = put_on_wire(pair, !from);
	size_t size = roce_headers_encode(packet->bytes, &request->header);

	assert_int_equal(size, request->header.payload_offset);
	for (uint32_t i = 0; i < request->size; i++)
		packet->bytes[size + i] =
		    pair_byte(flow, (uint32_t)request->user, request->offset + i);
	finish_packet(packet, size + request->size, request->size);
	fly(pair);
}

static void check_message(struct pair *pair, struct pair_flow *flow,
			  const struct responder_delivery *delivery)
{
	uint32_t number = flow->arrived;
	const uint8_t *bytes = flow->buffer;

	if (flow->service != ROCE_RC && !pair->unchecked) {
		// Some are missing, some are late: the immediate says which it is.
		assert_true(delivery->has_immediate);
		assert_in_range(delivery->immediate, 0, flow->n - 1);
		number = delivery->immediate;
	}
	flow->arrived = number + 1;
	if (pair->unchecked)
		return;
	assert_int_equal(flow->received, pair_length(flow, number));
	assert_int_equal(delivery->has_immediate, flow->with_immediate);
	if (flow->with_immediate)
		assert_int_equal(delivery->immediate, number);
	if (delivery->is_write) {
		assert_true(delivery->size == 0 || delivery->to != NULL);
		bytes = pair->sides[!flow->from].memory + place_of(pair, flow, number);
	}
	for (uint32_t i = 0; i < flow->received; i++)
		assert_int_equal(bytes[i], pair_byte(flow, number, i));
}

static void place(struct pair *pair, struct pair_flow *flow,
		  const struct responder_delivery *delivery, const uint8_t *payload)
{
	uint8_t *to = delivery->to;

	if (delivery->begins)
		flow->received = 0;
	if (!pair->unchecked) {
		assert_int_equal(delivery->is_write, flow->operation == REQUESTER_WRITE);
		assert_int_equal(delivery->offset, flow->received);
	}
	if (!delivery->is_write) {
		assert_true(delivery->offset <= PAIR_LONGEST);
		assert_true(delivery->size <= PAIR_LONGEST - delivery->offset);
		to = flow->buffer + delivery->offset;
	}
	if (delivery->size > 0)
		memcpy(to, payload, delivery->size);
	flow->received = delivery->offset + delivery->size;
	if (delivery->ends)
		check_message(pair, flow, delivery);
}

static void take_request(struct pair *pair, unsigned which, struct queue_pair *qp,
			 const struct pair_packet *packet, const struct roce_packet *header)
{
	struct pair_side *side = &pair->sides[which];
	const struct responder_arrival arrival = { pair->sides[!which].address, packet->congested };
	struct responder_delivery delivery;
	struct responder_reply reply;

	if (responder_check(side->responder, qp, header, &arrival, pair->now, &delivery, &reply) ==
	    RESPONDER_DELIVER) {
		if (delivery.begins && chance(pair, pair->options.not_ready)) {
			responder_refuse(side->responder, qp, &delivery, RESPONDER_NO_RESOURCE,
					 &reply);
		} else {
			place(pair, qp->user, &delivery, packet->bytes + header->payload_offset);
			responder_accept(side->responder, qp, &delivery, &reply);
		}
	}
	if (reply.send)
		send_reply(pair, which, &reply);
	if (reply.cnp)
		send_cnp(pair, which, qp);
}

static void take_response(struct pair *pair, unsigned which, struct queue_pair *qp,
			  const struct pair_packet *packet, const struct roce_packet *header)
{
	struct pair_flow *flow = qp->user;
	struct requester_data data;

	if (requester_receive(pair->sides[which].requester, qp, header,
			      &pair->sides[!which].address, pair->now, &data) != REQUESTER_DATA)
		return;
	assert_true(data.offset <= PAIR_LONGEST && data.size <= PAIR_LONGEST - data.offset);
	memcpy(flow->reads[data.user % PAIR_DEPTH] + data.offset,
	       packet->bytes + header->payload_offset, data.size);
}

static void take_cnp(const struct pair *pair, struct queue_pair *qp)
{
	qp_count(&qp->counters.cnp_received, 1);
	if (pair->options.slows_down) // to between 1/2 and 10 MB/s
		requester_set_rate(qp, 10000000 / (1 + qp->counters.cnp_received % 20));
}

static void take(struct pair *pair, const struct pair_packet *packet)
{
	struct pair_side *side = &pair->sides[packet->to];
	struct roce_packet header;
	struct queue_pair *qp;

	if (roce_parse(packet->bytes, packet->size, packet->size, &header) != WIRE_OK) {
		assert_true(pair->unchecked);
		return;
	}
	qp = qp_find(&side->table, header.destination_qpn);
	if (qp == NULL) {
		assert_true(pair->unchecked);
		return;
	}
	side->given[qp->index]++;
	if (header.opcode == ROCE_CNP)
		take_cnp(pair, qp);
	else if (header.flags & ROCE_RESPONSE)
		take_response(pair, packet->to, qp, packet, &header);
	else
		take_request(pair, packet->to, qp, packet, &header);
}

static void deliver(struct pair *pair)
{
	for (;;) {
		struct pair_packet packet;
		unsigned first = pair->n_flying;

		for (unsigned i = 0; i < pair->n_flying; i++) {
			const struct pair_packet *other = &pair->flying[i];

			if (other->arrival > pair->now)
				continue;
			if (first == pair->n_flying ||
			    other->arrival < pair->flying[first].arrival ||
			    (other->arrival == pair->flying[first].arrival &&
			     other->order < pair->flying[first].order))
				first = i;
		}
		if (first == pair->n_flying)
			return;
		packet = pair->flying[first];
		pair->flying[first] = pair->flying[--pair->n_flying];
		take(pair, &packet);
	}
}

static void complete(struct pair *pair, const struct requester_completion *completion)
{
	struct pair_flow *flow = completion->qp->user;
	uint32_t number = flow->completed++;
	const struct pair_side *to = &pair->sides[!flow->from];

	assert_int_equal(completion->user, number);
	assert_int_equal(completion->length, pair_length(flow, number));
	pair->failures += completion->cause != QP_NO_CAUSE;
	if (completion->cause != QP_NO_CAUSE || pair->unchecked)
		return;
	if (flow->operation == REQUESTER_READ) {
		assert_memory_equal(flow->reads[number % PAIR_DEPTH],
				    to->memory + place_of(pair, flow, number), completion->length);
	} else if (flow->service == ROCE_RC) {
		assert_true(flow->arrived > number);
	}
}

static void serve(struct pair *pair, unsigned which)
{
	struct pair_side *side = &pair->sides[which];
	struct requester_completion completion;
	struct requester_packet request;
	struct responder_reply reply;

	for (unsigned i = 0; i < PER_STEP && responder_poll(side->responder, &reply); i++)
		send_reply(pair, which, &reply);
	for (unsigned i = 0; i < PER_STEP && requester_poll(side->requester, pair->now, &request);
	     i++)
		send_request(pair, which, &request);
	while (requester_completion(side->requester, &completion))
		complete(pair, &completion);
}

bool pair_step(struct pair *pair)
{
	bool unfinished = pair->n_flying > 0;

	for (unsigned i = 0; i < pair->n_flows; i++)
		post(pair, &pair->flows[i]);
	for (unsigned i = 0; i < 2; i++)
		serve(pair, i);
	deliver(pair);
	pair->now += STEP_NS;
	for (unsigned i = 0; i < pair->n_flows; i++)
		unfinished |= pair->flows[i].completed < pair->flows[i].n;
	return unfinished;
}

void pair_run(struct pair *pair)
{
	for (unsigned i = 0; i < LONGEST_RUN; i++) {
		if (!pair_step(pair))
			return;
	}
	fail_msg("not done after %u steps", LONGEST_RUN);
}
