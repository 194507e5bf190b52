// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A million packets, most of which begin right and then have bytes changed, for queue pairs of
// every service and both of their halves: nothing is written or read outside of the regions that
// were granted, each packet is counted once, and every answer is well-formed.
#include "pair.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define PACKETS 200000u
#else
#define PACKETS 1000000u
#endif

#define MTU     256u
#define MEMORY  8192u
#define GUARD   4096u
#define CANARY  0xA7u
#define QPS     8u
#define LONGEST 4096u // bytes of a message
#define ADDRESS 0x7FFFF0000ull

// The second region lies between guards too, and may only be read.
struct bench {
	struct qp_table table;
	struct region region[2];
	struct region_table regions;
	struct responder *responder;
	struct requester *requester;
	struct queue_pair *qps[QPS];
	struct qp_address peer;
	uint8_t memory[GUARD + MEMORY + GUARD + MEMORY + GUARD];
	uint32_t rkeys[2];
	struct random random;
	uint64_t now;
	uint64_t given[QPS], restarts, parsed, found, delivered, answers, data, sent;
};

static struct bench bench;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_next(&bench.random) % n);
}

static bool one_in(uint32_t n)
{
	return below(n) == 0;
}

static void connect_qp(unsigned i)
{
	const struct qp_connection connection = {
		.peer = bench.peer,
		.peer_qpn = 0x500 + i,
		.local_psn = below(1u << 24),
		.peer_psn = below(1u << 24),
		.path_mtu = MTU,
		.qkey = 7,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.access = QP_MAY_READ | QP_MAY_WRITE,
		.timeout_code = 4,
		.retry_count = 7,
		.rnr_retry = 7,
		.max_reads = 4,
	};

	assert_true(qp_connect(bench.qps[i], &connection));
}

static void open_bench(void)
{
	static const enum roce_service services[QPS] = { ROCE_RC, ROCE_RC, ROCE_RC, ROCE_RC,
							 ROCE_RC, ROCE_UC, ROCE_UC, ROCE_UD };
	const struct responder_parameters responding = {
		.table = &bench.table,
		.regions = &bench.regions,
		.cnp_interval = 100,
		.largest_message = LONGEST,
		.ack_every = 3,
		.max_reads = 4,
	};
	const struct requester_parameters requesting = {
		.table = &bench.table,
		.depth = 8,
		.window = 32,
		.ack_interval = 8,
		.burst = 2,
	};

	memset(&bench, 0, sizeof(bench));
	memset(bench.memory, CANARY, sizeof(bench.memory));
	bench.random = random_fork(2026, 11);
	bench.peer = qp_address_ipv4(0x0A000001);
	assert_true(qp_table_create(&bench.table, QPS));
	bench.rkeys[0] = 2 << 8 | 1;
	bench.rkeys[1] = 1 << 8 | 1;
	bench.region[0] = (struct region){ .memory = bench.memory + GUARD,
					   .address = ADDRESS,
					   .length = MEMORY,
					   .rkey = bench.rkeys[0],
					   .access = REGION_READ | REGION_WRITE };
	bench.region[1] = (struct region){ .memory = bench.memory + GUARD + MEMORY + GUARD,
					   .address = ADDRESS + MEMORY,
					   .length = MEMORY,
					   .rkey = bench.rkeys[1],
					   .access = REGION_READ };
	bench.regions = (struct region_table){ .regions = bench.region, .n = 2 };
	bench.responder = responder_create(&responding);
	bench.requester = requester_create(&requesting);
	assert_non_null(bench.responder);
	assert_non_null(bench.requester);
	for (unsigned i = 0; i < QPS; i++) {
		bench.qps[i] = qp_open(&bench.table, services[i], QP_NUMBER_AUTO, 0);
		connect_qp(i);
	}
}

static void expect_canaries(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(bytes[i], CANARY);
}

static uint64_t count_all(const struct queue_pair *qp)
{
	uint64_t n = qp->counters.packets + qp->counters.responses;

	for (unsigned i = 0; i < QP_N_DROPS; i++)
		n += qp->counters.drops[i];
	return n;
}

static void close_bench(void)
{
	expect_canaries(bench.memory, GUARD);
	// All behind the writable region: the one that may only be read, too.
	expect_canaries(bench.memory + GUARD + MEMORY, GUARD + MEMORY + GUARD);
	for (unsigned i = 0; i < QPS; i++)
		assert_int_equal(count_all(bench.qps[i]), bench.given[bench.qps[i]->index]);
	responder_destroy(bench.responder);
	requester_destroy(bench.requester);
	qp_table_destroy(&bench.table);
}

// A request or response that the queue pair may well take now.
static struct roce_packet make_packet(const struct queue_pair *qp)
{
	static const uint8_t operations[] = {
		ROCE_RC_SEND_FIRST,    ROCE_RC_SEND_MIDDLE,          ROCE_RC_SEND_LAST,
		ROCE_RC_SEND_ONLY,     ROCE_RC_WRITE_FIRST,          ROCE_RC_WRITE_MIDDLE,
		ROCE_RC_WRITE_LAST,    ROCE_RC_WRITE_ONLY_IMM,       ROCE_RC_READ_REQUEST,
		ROCE_RC_ACKNOWLEDGE,   ROCE_RC_READ_RESPONSE_FIRST,  ROCE_RC_READ_RESPONSE_MIDDLE,
		ROCE_RC_ACKNOWLEDGE,   ROCE_RC_READ_RESPONSE_LAST,   ROCE_RC_READ_RESPONSE_ONLY,
		ROCE_RC_SEND_LAST_IMM, ROCE_RC_SEND_ONLY_INVALIDATE, ROCE_RC_FETCH_ADD,
	};
	struct roce_packet packet = {
		.opcode = operations[below(one_in(30) ? 18 : 16)],
		.destination_qpn = qp->qpn,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.ack_request = one_in(2),
		.immediate = below(100),
		.deth = { .qkey = 7, .source_qpn = 9 },
		.aeth = { .syndrome = one_in(40)   ? 0x61
				      : one_in(10) ? 0x60
				      : one_in(5)  ? 0x21
						   : 0x1F },
	};
	uint32_t flags = roce_opcodes[packet.opcode].flags;

	packet.psn = flags & ROCE_RESPONSE ? roce_psn_add(qp->first_psn, one_in(2) ? 0 : below(16))
					   : qp->expected_psn;
	if (one_in(12))
		packet.psn = roce_psn_add(packet.psn, below(40) - 20u);
	if (one_in(3) && qp->receiving != 0 && !(flags & ROCE_RESPONSE))
		packet.opcode =
		    qp->receiving == QP_RECEIVING_SEND ? ROCE_RC_SEND_MIDDLE : ROCE_RC_WRITE_MIDDLE;
	if (qp->service == ROCE_UC && packet.opcode <= ROCE_RC_WRITE_ONLY_IMM)
		packet.opcode += ROCE_UC_BASE;
	if (qp->service == ROCE_UD)
		packet.opcode = ROCE_UD_SEND_ONLY;
	flags = roce_opcodes[packet.opcode].flags;
	if (flags & ROCE_HAS_PAYLOAD)
		packet.payload_size = flags & ROCE_END ? below(MTU + 1) : MTU;
	if (flags & ROCE_END && qp->receiving == QP_RECEIVING_WRITE && qp->left <= MTU)
		packet.payload_size = qp->left;
	packet.pad = (uint8_t)(-packet.payload_size & 3u);
	packet.reth.rkey = bench.rkeys[one_in(20)];
	packet.reth.length = flags & ROCE_END ? packet.payload_size : MTU + below(1000);
	if (packet.opcode == ROCE_RC_READ_REQUEST)
		packet.reth.length = below(2000);
	packet.reth.address = ADDRESS + below(one_in(10) ? 3 * MEMORY : MEMORY - 2000);
	return packet;
}

static size_t encode(const struct roce_packet *packet, uint8_t *bytes)
{
	size_t size = roce_headers_encode(bytes, packet);

	memset(bytes + size, 0x55, packet->payload_size + packet->pad + ROCE_ICRC_SIZE);
	return size + packet->payload_size + packet->pad + ROCE_ICRC_SIZE;
}

static size_t mutate(uint8_t *bytes, size_t size)
{
	unsigned n = one_in(2) ? 0 : 1 + below(3);

	for (; n > 0; n--) {
		size_t at = below((uint32_t)(size < 40 ? size : 40));

		switch (below(3)) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << below(8));
			break;
		case 1:
			bytes[at] = (uint8_t)below(256);
			break;
		default:
			bytes[at] = one_in(2) ? 0 : 0xFF;
		}
	}
	return one_in(50) ? below((uint32_t)size + 1) : size;
}

static void check_reply(const struct responder_reply *reply)
{
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE + MTU + 8];
	struct roce_packet parsed;
	size_t size;

	if (!reply->send)
		return;
	bench.answers++;
	size = responder_reply_encode(reply, bytes);
	assert_true(reply->payload_size <= MTU);
	if (reply->payload_size > 0) {
		size_t at = (size_t)(reply->payload - bench.memory);
		bool first = at >= GUARD && at + reply->payload_size <= GUARD + MEMORY;
		bool second =
		    at >= 2 * GUARD + MEMORY && at + reply->payload_size <= 2 * GUARD + 2 * MEMORY;

		assert_true(first || second);
		memcpy(bytes + size, reply->payload, reply->payload_size);
	}
	size += reply->payload_size + (-reply->payload_size & 3u) + ROCE_ICRC_SIZE;
	assert_int_equal(roce_parse(bytes, size, size, &parsed), WIRE_OK);
	assert_true(parsed.flags & ROCE_RESPONSE);
	assert_true(reply->qp->service == ROCE_RC);
}

static void deliver(struct queue_pair *qp, const struct responder_delivery *delivery,
		    const uint8_t *payload, struct responder_reply *reply)
{
	static uint8_t buffer[LONGEST];

	bench.delivered++;
	assert_true(delivery->size <= MTU && delivery->offset <= LONGEST - delivery->size);
	if (one_in(20)) {
		enum responder_refusal reason =
		    one_in(4) ? (enum responder_refusal)below(4) : RESPONDER_NO_RESOURCE;

		responder_refuse(bench.responder, qp, delivery, reason, reply);
		return;
	}
	if (delivery->size > 0)
		memcpy(delivery->is_write ? delivery->to : buffer + delivery->offset, payload,
		       delivery->size);
	responder_accept(bench.responder, qp, delivery, reply);
}

// Gives bytes as they come from the network.
static void give(const uint8_t *bytes, size_t size)
{
	const struct responder_arrival arrival = {
		.source = one_in(500) ? qp_address_ipv4(0x0A000003) : bench.peer,
		.congested = one_in(9),
	};
	struct responder_delivery delivery;
	struct requester_data data;
	struct responder_reply reply;
	struct roce_packet packet;
	struct queue_pair *qp;

	if (roce_parse(bytes, size, size, &packet) != WIRE_OK)
		return;
	bench.parsed++;
	qp = qp_find(&bench.table, packet.destination_qpn);
	if (qp == NULL)
		return;
	bench.found++;
	bench.given[qp->index]++;
	if (packet.flags & ROCE_RESPONSE) {
		if (requester_receive(bench.requester, qp, &packet, &arrival.source, bench.now,
				      &data) == REQUESTER_DATA) {
			assert_true(data.offset <= LONGEST && data.size <= LONGEST - data.offset);
			bench.data++;
		}
		return;
	}
	if (responder_check(bench.responder, qp, &packet, &arrival, bench.now, &delivery, &reply) ==
	    RESPONDER_DELIVER)
		deliver(qp, &delivery, bytes + packet.payload_offset, &reply);
	check_reply(&reply);
}

// Has each queue pair something to be acknowledged or read.
static void request(struct queue_pair *qp)
{
	struct requester_message message = {
		.length = below(qp->service == ROCE_UD ? MTU : LONGEST),
		.operation = (uint8_t)below(qp->service == ROCE_RC   ? 3
					    : qp->service == ROCE_UC ? 2
								     : 1),
	};
	struct requester_completion completion;
	struct requester_packet packet;

	if (one_in(4))
		requester_post(bench.requester, qp, &message);
	for (unsigned i = 0; i < 4; i++)
		bench.sent += requester_poll(bench.requester, bench.now, &packet);
	while (requester_completion(bench.requester, &completion))
		assert_true(completion.cause < QP_N_CAUSES);
}

static void mutations__do_no_harm(void **state)
{
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE + 4 * MTU];

	(void)state;
	open_bench();
	for (uint32_t i = 0; i < PACKETS; i++) {
		unsigned which = below(QPS);
		struct queue_pair *qp = bench.qps[which];
		struct responder_reply reply;
		struct roce_packet packet = make_packet(qp);
		uint8_t *exact;
		size_t size;

		size = mutate(bytes, encode(&packet, bytes));
		exact = malloc(size ? size : 1);
		assert_non_null(exact);
		memcpy(exact, bytes, size);
		give(exact, size);
		free(exact);
		request(qp);
		while (one_in(2) && responder_poll(bench.responder, &reply))
			check_reply(&reply);
		bench.now += below(20000);
		if (qp->state == QP_ERROR && one_in(3)) {
			requester_flush(bench.requester, qp);
			request(qp);
			connect_qp(which);
			bench.restarts++;
		}
		if (one_in(5000)) { // the region gets another key
			bench.rkeys[0] = (bench.rkeys[0] & ~0xFFu) | ((bench.rkeys[0] + 1) & 0xFF);
			bench.region[0].rkey = bench.rkeys[0];
		}
	}
	print_message("%u packets: %lu parsed, %lu for a queue pair, %lu delivered, %lu answers, "
		      "%lu with data, %lu sent, %lu connections ended\n",
		      PACKETS, (unsigned long)bench.parsed, (unsigned long)bench.found,
		      (unsigned long)bench.delivered, (unsigned long)bench.answers,
		      (unsigned long)bench.data, (unsigned long)bench.sent,
		      (unsigned long)bench.restarts);
	// The mutations are worth something only if much of what they are made of is taken.
	assert_true(bench.delivered > PACKETS / 10);
	assert_true(bench.answers > PACKETS / 50 && bench.data > PACKETS / 1000);
	assert_true(bench.restarts > PACKETS / 1000);
	for (unsigned i = 0; i < QP_N_DROPS; i++) {
		uint64_t n = 0;

		for (unsigned j = 0; j < QPS; j++)
			n += bench.qps[j]->counters.drops[i];
		assert_true(n > 0);
	}
	close_bench();
}

// Whole conversations of two of ours, with bytes changed on the way: whatever was not changed
// afterwards is still right.
static void tap(struct pair *pair, struct pair_packet *packet)
{
	if (random_next(&pair->random) % 4 != 0)
		return;
	for (unsigned n = 1 + random_next(&pair->random) % 3; n > 0; n--)
		packet
		    ->bytes[random_next(&pair->random) % (packet->size < 40 ? packet->size : 40)] ^=
		    (uint8_t)(1u << random_next(&pair->random) % 8);
	if (random_next(&pair->random) % 16 == 0)
		packet->size = (uint16_t)(random_next(&pair->random) % (packet->size + 1));
}

static void mutations__of_conversations(void **state)
{
	static struct pair pair;
	static struct pair_flow flows[4];
	const struct pair_options options = {
		.loss = 0.01,
		.ack_every = 2,
		.window = 64,
		.ack_interval = 16,
		.retry_count = 7,
		.congestion = 0.1,
	};

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct pair_options seeded = options;

		seeded.seed = seed;
		memset(flows, 0, sizeof(flows));
		for (unsigned i = 0; i < 4; i++) {
			flows[i].service = i == 3 ? ROCE_UC : ROCE_RC;
			flows[i].operation = (uint8_t)(i % 3);
			flows[i].with_immediate = i != 2;
			flows[i].from = i % 2;
			flows[i].n = 1000;
		}
		pair_open(&pair, &seeded, flows, 4);
		pair.tap = tap;
		pair.unchecked = true;
		for (unsigned i = 0; i < 300; i++)
			pair_step(&pair);
		pair_close(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutations__do_no_harm),
		cmocka_unit_test(mutations__of_conversations),
	};

	return cmocka_run_group_tests_name("mutations", tests, NULL, NULL);
}
