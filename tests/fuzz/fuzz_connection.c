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

#define IP      0x0A4D0002u
#define PORT    7174
#define BOUND   6u
#define TIMEOUT 1000u

struct bench {
	struct qp_table table;
	struct cm *cm;
	uint32_t newest;     // connection
	uint32_t newest_qpn; // of its queue pair
	uint64_t now;
	unsigned told, ended; // connections
};

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
					     .port = PORT,
					     .n_ports = 1,
					     .open_timeout = TIMEOUT,
					     .retries = 1,
					     .max_reads = 2 };

	FUZZ_CHECK(qp_table_create(&bench->table, 16));
	bench->cm = cm_create(&of_cm);
	FUZZ_CHECK(bench->cm);
	bench->now = 1;
}

static void close_bench(struct bench *bench)
{
	cm_destroy(bench->cm);
	qp_table_destroy(&bench->table);
	fuzz_free(bench);
}

static void answer_events(struct bench *bench, uint8_t what)
{
	const struct cm_acceptance acceptance = { .access = QP_MAY_WRITE };
	struct cm_event event;

	while (cm_next_event(bench->cm, &event)) {
		if (event.kind == CM_REQUESTED) {
			bench->newest = event.id;
			if (what & 8)
				bench->told +=
				    cm_accept(bench->cm, event.id, &acceptance, bench->now);
			else
				cm_refuse(bench->cm, event.id, ROCE_CM_CONSUMER_DEFINED);
		} else if (event.kind >= CM_REFUSED) {
			bench->ended += event.qp != NULL;
			FUZZ_CHECK(event.qp == NULL || event.qp->state == QP_ERROR);
			cm_release(bench->cm, event.id);
		}
	}
}

static void collect(struct bench *bench)
{
	struct cm_datagram datagram;
	struct feroce_cm told;
	struct roce_cm message;

	while (cm_poll(bench->cm, bench->now, &datagram)) {
		if (datagram.port == 0) {
			FUZZ_CHECK(roce_cm_decode(datagram.mad, sizeof(datagram.mad), &message) ==
				   WIRE_OK);
			continue;
		}
		FUZZ_CHECK(feroce_cm_decode(datagram.board, sizeof(datagram.board), &told) ==
			   WIRE_OK);
		bench->newest_qpn = told.local.qpn;
	}
}

static void give(struct bench *bench, uint8_t what, uint8_t *bytes, size_t size)
{
	const uint32_t ip = 0x0A4D0001u + (what & 3u) * 0x10u;
	const struct cm_peer source = { .address = qp_address_ipv4(ip) };
	const struct roce_packet packet = {
		.opcode = ROCE_UD_SEND_ONLY,
		.payload_size = (uint32_t)size,
		.deth = { .qkey = ROCE_CM_QKEY, .source_qpn = ROCE_CM_QPN },
	};

	if (what & 0x80) {
		if (what & 4 && size >= 29)
			store_be32(bytes + 25, bench->newest_qpn);
		cm_receive_board(bench->cm, bytes, size, &source, bench->now);
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
		fuzz_free(bytes);
		data += n;
		size -= n;
		if (what & 0x10)
			bench->now += TIMEOUT;
		collect(bench);
		answer_events(bench, what);
		if (what & 0x20)
			leave(bench);
		FUZZ_CHECK(cm_open_connections(bench->cm) <= BOUND);
		FUZZ_CHECK(bench->table.n_open <= BOUND);
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
