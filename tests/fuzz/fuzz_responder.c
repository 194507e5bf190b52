// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a series of RoCE packets for queue pairs of each service, which have requests of
// their own outstanding. Whatever comes: every packet is counted once, nothing is placed outside
// the region, and every answer is well-formed.
//
// Input, for each packet: u8 what is done, u16 size (little endian), so many bytes from the BTH on.
//   bits 0-1: the queue pair whose number it gets (RC, RC, UC, UD); bit 7: it keeps its own number
//   bit 2: it gets the PSN that is expected; bit 3: the PSN of the oldest request of ours
//   bit 4: what it delivers is refused; bit 5: answers are collected; bit 6: we post a request
#include "fuzz.h"

#include "roce/requester.h"
#include "roce/responder.h"

#define QPS     4u
#define MTU     256u
#define MEMORY  4096u
#define MARGIN  512u // bytes of canary on each side of the region
#define CANARY  0xC5
#define ADDRESS 0x10000u
#define LONGEST 8192u // bytes of a SEND

struct bench {
	struct qp_table table;
	struct region region;
	struct region_table regions;
	struct responder *responder;
	struct requester *requester;
	struct queue_pair *qps[QPS];
	uint64_t given[QPS];
	struct qp_address peer;
	uint8_t guarded[MARGIN + MEMORY + MARGIN];
	uint8_t message[LONGEST];
	uint32_t rkey;
	uint64_t now;
};

static void open_bench(struct bench *bench)
{
	static const enum roce_service services[QPS] = { ROCE_RC, ROCE_RC, ROCE_UC, ROCE_UD };
	const struct responder_parameters responding = { .table = &bench->table,
							 .regions = &bench->regions,
							 .largest_message = LONGEST,
							 .cnp_interval = 10,
							 .ack_every = 2,
							 .max_reads = 2 };
	const struct requester_parameters requesting = {
		.table = &bench->table, .depth = 4, .window = 8, .ack_interval = 2, .burst = 1
	};
	const struct qp_connection connection = { .peer = qp_address_ipv4(1),
						  .path_mtu = MTU,
						  .qkey = 1,
						  .partition_key = ROCE_DEFAULT_P_KEY,
						  .access = QP_MAY_READ | QP_MAY_WRITE,
						  .timeout_code = 1,
						  .retry_count = 7,
						  .rnr_retry = 7,
						  .max_reads = 2 };

	memset(bench->guarded, CANARY, sizeof(bench->guarded));
	bench->peer = connection.peer;
	FUZZ_CHECK(qp_table_create(&bench->table, QPS));
	bench->rkey = 1;
	bench->region = (struct region){ .memory = bench->guarded + MARGIN,
					 .address = ADDRESS,
					 .length = MEMORY,
					 .rkey = bench->rkey,
					 .access = REGION_READ | REGION_WRITE };
	bench->regions = (struct region_table){ .regions = &bench->region, .n = 1 };
	bench->responder = responder_create(&responding);
	bench->requester = requester_create(&requesting);
	FUZZ_CHECK(bench->responder && bench->requester);
	for (unsigned i = 0; i < QPS; i++) {
		bench->qps[i] = qp_open(&bench->table, services[i], 0x100 + i, 0);
		FUZZ_CHECK(bench->qps[i] && qp_connect(bench->qps[i], &connection));
	}
}

static void close_bench(struct bench *bench)
{
	for (unsigned i = 0; i < MARGIN; i++) {
		FUZZ_CHECK(bench->guarded[i] == CANARY);
		FUZZ_CHECK(bench->guarded[MARGIN + MEMORY + i] == CANARY);
	}
	responder_destroy(bench->responder);
	requester_destroy(bench->requester);
	qp_table_destroy(&bench->table);
	fuzz_free(bench);
}

static void check_account(const struct bench *bench)
{
	for (unsigned i = 0; i < QPS; i++) {
		const struct qp_counters *counters = &bench->qps[i]->counters;
		uint64_t n = counters->packets + counters->responses;

		for (unsigned j = 0; j < QP_N_DROPS; j++)
			n += counters->drops[j];
		FUZZ_CHECK(n == bench->given[bench->qps[i]->index]);
	}
}

static void check_reply(const struct bench *bench, const struct responder_reply *reply)
{
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE + MTU + 8] = { 0 };
	const uint8_t *memory = bench->guarded + MARGIN;
	struct roce_packet parsed;
	size_t size;

	if (!reply->send)
		return;
	size = responder_reply_encode(reply, bytes);
	FUZZ_CHECK(reply->payload_size <= MTU);
	if (reply->payload_size > 0)
		FUZZ_CHECK(reply->payload >= memory &&
			   reply->payload + reply->payload_size <= memory + MEMORY);
	size += reply->payload_size + (-reply->payload_size & 3u) + ROCE_ICRC_SIZE;
	FUZZ_CHECK(roce_parse(bytes, size, size, &parsed) == WIRE_OK);
	FUZZ_CHECK(parsed.flags & ROCE_RESPONSE && reply->qp->service == ROCE_RC);
}

static void place(struct bench *bench, struct queue_pair *qp,
		  const struct responder_delivery *delivery, const uint8_t *payload, bool refuse,
		  struct responder_reply *reply)
{
	if (refuse) {
		responder_refuse(bench->responder, qp, delivery,
				 (enum responder_refusal)(delivery->psn % 4), reply);
		return;
	}
	FUZZ_CHECK(delivery->is_write ||
		   (delivery->offset <= LONGEST && delivery->size <= LONGEST - delivery->offset));
	if (delivery->size > 0)
		memcpy(delivery->is_write ? delivery->to : bench->message + delivery->offset,
		       payload, delivery->size);
	responder_accept(bench->responder, qp, delivery, reply);
}

static void give(struct bench *bench, const uint8_t *bytes, size_t size, bool refuse)
{
	const struct responder_arrival arrival = { .source = bench->peer, .congested = size & 4 };
	struct responder_delivery delivery;
	struct requester_data data;
	struct responder_reply reply;
	struct roce_packet packet;
	struct queue_pair *qp;

	if (roce_parse(bytes, size, size, &packet) != WIRE_OK)
		return;
	qp = qp_find(&bench->table, packet.destination_qpn);
	if (qp == NULL)
		return;
	bench->given[qp->index]++;
	if (packet.flags & ROCE_RESPONSE) {
		if (requester_receive(bench->requester, qp, &packet, &bench->peer, bench->now,
				      &data) == REQUESTER_DATA)
			FUZZ_CHECK(data.offset + data.size <= LONGEST);
		return;
	}
	if (responder_check(bench->responder, qp, &packet, &arrival, bench->now, &delivery,
			    &reply) == RESPONDER_DELIVER)
		place(bench, qp, &delivery, bytes + packet.payload_offset, refuse, &reply);
	check_reply(bench, &reply);
}

static void request(struct bench *bench, struct queue_pair *qp, size_t size)
{
	const struct requester_message message = {
		.length = (uint32_t)(size * 7 % (qp->service == ROCE_UD ? MTU : 1024)),
		.operation = (uint8_t)(qp->service == ROCE_RC ? size % 3 : 0),
	};
	struct requester_completion completion;
	struct requester_packet packet;

	requester_post(bench->requester, qp, &message);
	while (requester_poll(bench->requester, bench->now, &packet))
		FUZZ_CHECK(packet.size <= MTU && packet.offset + packet.size <= 1024);
	while (requester_completion(bench->requester, &completion))
		FUZZ_CHECK(completion.cause < QP_N_CAUSES);
}

static void step(struct bench *bench, uint8_t what, uint8_t *bytes, size_t size)
{
	struct queue_pair *qp = bench->qps[what & 3];
	struct responder_reply reply;

	if (size >= ROCE_BTH_SIZE) {
		uint32_t psn = what & 8 ? qp->first_psn : qp->expected_psn;

		if (!(what & 0x80))
			store_be32(bytes + 4, qp->qpn);
		if (what & 12)
			store_be32(bytes + 8, (load_be32(bytes + 8) & 0xFF000000u) | psn);
	}
	give(bench, bytes, size, what & 0x10);
	if (what & 0x20) {
		for (unsigned i = 0; i < 20 && responder_poll(bench->responder, &reply); i++)
			check_reply(bench, &reply);
	}
	if (what & 0x40)
		request(bench, qp, size);
	bench->now += size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench *bench = fuzz_allocate(1, sizeof(*bench));
	size_t at = 0;

	open_bench(bench);
	while (size - at >= 3) {
		uint8_t what = data[at];
		size_t n = load_le16(data + at + 1);
		uint8_t *bytes;

		at += 3;
		if (n > size - at)
			n = size - at;
		bytes = fuzz_copy(data + at, n);
		step(bench, what, bytes, n);
		fuzz_free(bytes);
		at += n;
		check_account(bench);
	}
	close_bench(bench);
	return 0;
}
