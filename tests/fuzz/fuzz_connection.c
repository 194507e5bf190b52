// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a series of connection management messages, of InfiniBand and of FERoCE boards, with
// time and a caller between them. Whatever comes: connections stay within their bounds, each that
// is told of ends, and what is answered is well-formed.
//
// Input, for each message: u8 what is done, then 256 bytes of a MAD, or 64 of a board's message
//   bits 0-1: the peer; bit 2: it names our newest connection; bit 3: the caller accepts, else
//   refuses; bit 4: time passes; bit 5: the caller ends a connection; bit 7: of a board
#include "fuzz.h"

#include "roce/connection.h"
#include "roce/feroce.h"

#define IP      0x0A4D0002u
#define PORT    7174
#define BOUND   6u
#define TIMEOUT 1000u

struct bench {
	struct qp_table table;
	struct cm *cm;
	struct feroce *feroce;
	uint32_t newest;       // connection
	struct queue_pair *qp; // of a board
	uint64_t now;
	unsigned told, ended; // connections
};

static bool judge(void *context, uint32_t source_ip, const struct feroce_qp *board,
		  struct feroce_offer *offer)
{
	(void)context;
	(void)board;
	*offer = (struct feroce_offer){ .rkey = 1, .access = QP_MAY_WRITE };
	return source_ip % 4 != 3;
}

static void open_bench(struct bench *bench)
{
	const struct cm_parameters of_cm = { .table = &bench->table,
					     .address = qp_address_ipv4(IP),
					     .seed = 1,
					     .response_timeout = TIMEOUT,
					     .accept_timeout = TIMEOUT,
					     .connections = BOUND,
					     .half_open = 4,
					     .half_open_of_peer = 2,
					     .of_peer = 3,
					     .path_mtu = 4096,
					     .retries = 1,
					     .max_reads = 2 };
	const struct feroce_parameters of_feroce = { .table = &bench->table,
						     .judge = judge,
						     .ip = IP,
						     .path_mtu = 1024,
						     .boards = BOUND,
						     .boards_of_peer = 3,
						     .open_timeout = TIMEOUT,
						     .response_timeout = TIMEOUT,
						     .retries = 1 };

	FUZZ_CHECK(qp_table_create(&bench->table, 16));
	bench->cm = cm_create(&of_cm);
	bench->feroce = feroce_create(&of_feroce);
	FUZZ_CHECK(bench->cm && bench->feroce && cm_listen(bench->cm, PORT));
	bench->now = 1;
}

static void close_bench(struct bench *bench)
{
	cm_destroy(bench->cm);
	feroce_destroy(bench->feroce);
	qp_table_destroy(&bench->table);
	free(bench);
}

static void answer_events(struct bench *bench, uint8_t what)
{
	const struct cm_acceptance acceptance = { .access = QP_MAY_WRITE };
	struct feroce_event board;
	struct cm_event event;

	while (cm_next_event(bench->cm, &event)) {
		if (event.kind == CM_REQUESTED) {
			bench->newest = event.id;
			if (what & 8)
				bench->told +=
				    cm_accept(bench->cm, event.id, &acceptance, bench->now);
			else
				cm_refuse(bench->cm, event.id, ROCE_CM_CONSUMER_DEFINED, NULL, 0);
		} else if (event.kind >= CM_REFUSED) {
			bench->ended += event.qp != NULL;
			FUZZ_CHECK(event.qp == NULL || event.qp->state == QP_ERROR);
			cm_release(bench->cm, event.id);
		}
	}
	while (feroce_next_event(bench->feroce, &board)) {
		bench->qp = board.qp;
		if (board.kind == FEROCE_CLOSED) {
			feroce_release(bench->feroce, board.qp);
			bench->qp = NULL;
		}
	}
}

static void collect(struct bench *bench)
{
	struct feroce_datagram board;
	struct cm_datagram datagram;
	struct feroce_cm told;
	struct roce_cm message;

	while (cm_poll(bench->cm, bench->now, &datagram))
		FUZZ_CHECK(roce_cm_decode(datagram.mad, sizeof(datagram.mad), &message) == WIRE_OK);
	while (feroce_poll(bench->feroce, bench->now, &board))
		FUZZ_CHECK(feroce_cm_decode(board.bytes, sizeof(board.bytes), &told) == WIRE_OK);
}

static void give(struct bench *bench, uint8_t what, uint8_t *bytes, size_t size)
{
	const uint32_t ip = 0x0A4D0001u + (what & 3u) * 0x10u;
	const struct qp_address source = qp_address_ipv4(ip);
	const struct roce_packet packet = {
		.opcode = ROCE_UD_SEND_ONLY,
		.payload_size = (uint32_t)size,
		.deth = { .qkey = ROCE_CM_QKEY, .source_qpn = ROCE_CM_QPN },
	};

	if (what & 0x80) {
		if (what & 4 && bench->qp != NULL && size >= 29)
			store_be32(bytes + 25, bench->qp->qpn);
		feroce_receive(bench->feroce, bytes, size, ip, bench->now);
		return;
	}
	if (what & 4 && size >= 32)
		store_be32(bytes + 28, bench->newest);
	cm_receive(bench->cm, &packet, bytes, &source, bench->now);
}

static void leave(struct bench *bench)
{
	const struct cm_destination destination = { .peer = qp_address_ipv4(0x0A4D0001),
						    .port = PORT,
						    .service = ROCE_RC,
						    .path_mtu = 1024 };
	uint32_t id = cm_connect(bench->cm, &destination, bench->now);

	cm_disconnect(bench->cm, bench->newest, bench->now);
	bench->told += id != 0;
	if (id != 0)
		bench->newest = id;
	if (bench->qp != NULL)
		feroce_hang_up(bench->feroce, bench->qp, bench->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench *bench = fuzz_allocate(1, sizeof(*bench));

	open_bench(bench);
	while (size > 0) {
		uint8_t what = data[0];
		size_t n = what & 0x80 ? FEROCE_CM_SIZE : ROCE_CM_MAD_SIZE;
		uint8_t *bytes;

		data++;
		size--;
		if (n > size)
			n = size;
		bytes = fuzz_copy(data, n);
		give(bench, what, bytes, n);
		free(bytes);
		data += n;
		size -= n;
		if (what & 0x10)
			bench->now += TIMEOUT;
		collect(bench);
		answer_events(bench, what);
		if (what & 0x20)
			leave(bench);
		FUZZ_CHECK(cm_open_connections(bench->cm) <= BOUND);
		FUZZ_CHECK(bench->table.n_open <= 2 * BOUND);
		FUZZ_CHECK(bench->told >= bench->ended);
	}
	// Nothing that is not established stays for ever.
	for (unsigned i = 0; i < 8; i++) {
		bench->now += TIMEOUT;
		collect(bench);
		answer_events(bench, 0);
	}
	FUZZ_CHECK(bench->told - bench->ended == cm_open_connections(bench->cm));
	close_bench(bench);
	return 0;
}
