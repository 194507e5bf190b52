// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A stranger beside boards: it claims any address, also theirs, sends connection messages and data
// at random, and sees only what is sent to itself. Each message of each board arrives, no board
// loses its connection, and who comes late is let in.
#include "roce_bench.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_random.h>

#include "base/random.h"
#include "wire/feroce_cm.h"
#include "wire/icrc.h"
#include "wire/net.h"
#include "wire/roce_cm.h"

#define SERVICE    7174
#define BOARDS     7u // connected from the beginning; the last one comes late
#define MFP_SIZE   600u
#define STEPS      30000u
#define BOARD_QPN  0x800u // of the boards: a stranger may know it
#define BOARD_ID   0x7000u
#define OF_BOARDS  0x0A4D0101u // first address, 10.77.1.1
#define PATIENCE   200u        // ms until a board repeats its message
#define RETRIES    3u          // repetitions without an ACK after which a board connects again
#define BETWEEN_US 200u

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 1u
#else
#define SEEDS 4u
#endif

enum mode { CM, FEROCE };

struct board {
	uint32_t ip, qpn, id;
	uint32_t evb_qpn, evb_id, psn; // 0: not connected
	uint64_t event, asked_at;      // ms
	unsigned answered, lost, requests, repeated;
	bool waits; // for the ACK of its message
};

static struct roce_bench bench;
static struct board boards[BOARDS + 1];
static struct random random_of_test;
static uint8_t mfp[MFP_SIZE];
static enum mode mode;
static uint32_t seen_qpn, seen_id, seen_psn; // in the last response to the stranger
static unsigned most;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_next(&random_of_test) % n);
}

static uint64_t now_ms(void)
{
	return bench.now / (rte_get_tsc_hz() / 1000);
}

static void set_mac(struct frame *frame, bool is_stranger)
{
	frame->bytes[6 + 5] = is_stranger ? 0x66 : 1;
}

// --- sending ---

static void feed(uint32_t ip, const struct roce_packet *packet, const uint8_t *payload,
		 uint32_t size, bool is_stranger)
{
	struct frame frame;

	bench.peer_ip = ip;
	roce_bench_frame(&bench, &frame, packet, payload, size);
	set_mac(&frame, is_stranger);
	roce_bench_feed_frame(&bench, &frame);
}

static void feed_cm(uint32_t ip, const struct roce_cm *message, bool is_stranger)
{
	const struct roce_packet header = {
		.opcode = ROCE_UD_SEND_ONLY,
		.destination_qpn = ROCE_CM_QPN,
		.deth = { .qkey = ROCE_CM_QKEY, .source_qpn = ROCE_CM_QPN },
	};
	uint8_t mad[ROCE_CM_MAD_SIZE];

	assert_int_equal(roce_cm_encode(mad, message), WIRE_OK);
	feed(ip, &header, mad, sizeof(mad), is_stranger);
}

static void feed_req(uint32_t ip, uint32_t id, uint32_t qpn, uint32_t psn, bool is_stranger)
{
	const struct qp_address peer = qp_address_ipv4(ip), own = qp_address_ipv4(BENCH_OWN_IP);
	struct roce_cm_ip addresses = { .source_port = 40000, .version = 4 };
	uint8_t private_data[ROCE_CM_IP_SIZE];
	struct roce_cm req = {
		.transaction = id,
		.attribute = ROCE_CM_REQ,
		.local_id = id,
		.private_data = private_data,
		.private_size = sizeof(private_data),
		.req = { .service_id = ROCE_CM_SERVICE_TCP | SERVICE,
			 .ca_guid = ip,
			 .qpn = qpn,
			 .starting_psn = psn,
			 .partition_key = ROCE_DEFAULT_P_KEY,
			 .transport = is_stranger && below(3) == 0 ? ROCE_CM_UC : ROCE_CM_RC,
			 .path_mtu = 3 },
	};

	memcpy(req.req.primary.local_gid, peer.bytes, 16);
	memcpy(req.req.primary.remote_gid, own.bytes, 16);
	memcpy(addresses.source + 12, peer.bytes + 12, 4);
	memcpy(addresses.destination + 12, own.bytes + 12, 4);
	roce_cm_ip_encode(private_data, &addresses);
	feed_cm(ip, &req, is_stranger);
}

static void feed_board(uint32_t ip, enum feroce_request request, uint32_t qpn, uint32_t evb_qpn,
		       uint32_t psn, bool is_stranger)
{
	const struct feroce_cm message = {
		.info_valid = true,
		.request = (uint8_t)request,
		.local = { .qpn = qpn, .psn = psn, .ip = ip },
		.remote = { .qpn = evb_qpn },
		.port = FEROCE_CM_UDP_PORT,
	};
	const struct net_udp4 udp = {
		.source_mac = { { 2, 0, 0, 0, 0, 1 } },
		.destination_mac = { { 2, 0, 0, 0, 0, 2 } },
		.source_ip = ip,
		.destination_ip = BENCH_OWN_IP,
		.source_port = FEROCE_CM_UDP_PORT,
		.destination_port = FEROCE_CM_UDP_PORT,
	};
	struct frame frame;

	frame.length = (uint32_t)net_udp4_encode(frame.bytes, &udp, FEROCE_CM_SIZE);
	feroce_cm_encode(frame.bytes + frame.length, &message);
	frame.length += FEROCE_CM_SIZE;
	set_mac(&frame, is_stranger);
	roce_bench_feed_frame(&bench, &frame);
}

static void feed_mfp(uint32_t ip, uint32_t qpn, uint32_t psn, uint8_t opcode, bool is_stranger)
{
	const struct roce_packet packet = {
		.opcode = opcode,
		.destination_qpn = qpn,
		.psn = psn,
		.ack_request = true,
	};

	feed(ip, &packet, mfp, MFP_SIZE, is_stranger);
}

// --- the boards ---

static void connect_board(struct board *board)
{
	if (board->requests > 0 && now_ms() - board->asked_at < PATIENCE)
		return;
	board->requests++;
	board->asked_at = now_ms();
	if (mode == FEROCE)
		feed_board(board->ip, FEROCE_OPEN_QP, board->qpn, 0, 0x123, false);
	else
		feed_req(board->ip, board->id, board->qpn, 0x456, false);
}

static void lose(struct board *board)
{
	board->evb_qpn = 0;
	board->id += 0x100;
	board->lost++;
}

// One message at a time, repeated until it is acknowledged. The connection may be gone: a half-open
// one that makes room for another is dropped without a message.
static void step_board(struct board *board)
{
	if (board->evb_qpn == 0) {
		connect_board(board);
		return;
	}
	if (board->waits && now_ms() - board->asked_at < PATIENCE)
		return;
	if (board->waits && board->repeated++ == RETRIES) {
		lose(board);
		return;
	}
	board->waits = true;
	board->asked_at = now_ms();
	roce_bench_mfp(mfp, MFP_SIZE, 4 * board->event, (uint16_t)(1 + (board - boards) % 7));
	feed_mfp(board->ip, board->evb_qpn, board->psn, ROCE_RC_SEND_ONLY, false);
}

static struct board *board_of(uint32_t ip)
{
	return ip - OF_BOARDS <= BOARDS ? &boards[ip - OF_BOARDS] : NULL;
}

static void set_connected(struct board *board, uint32_t qpn, uint32_t id, uint32_t psn)
{
	if (board->evb_qpn != 0)
		return;
	*board = (struct board){ .ip = board->ip,
				 .qpn = board->qpn,
				 .id = board->id,
				 .event = board->event,
				 .answered = board->answered,
				 .lost = board->lost,
				 .requests = board->requests,
				 .evb_qpn = qpn,
				 .evb_id = id,
				 .psn = psn };
}

static void take_mad_of_board(struct board *board, const struct roce_cm *message)
{
	struct roce_cm answer = { .local_id = board->id, .remote_id = message->local_id };

	if (message->attribute == ROCE_CM_REP && message->remote_id == board->id) {
		set_connected(board, message->rep.qpn, message->local_id,
			      message->rep.starting_psn);
		answer.attribute = message->rep.qpn == board->evb_qpn ? ROCE_CM_RTU : ROCE_CM_REJ;
		answer.rej.reason = ROCE_CM_INVALID_COMM_ID;
		feed_cm(board->ip, &answer, false);
	} else if ((message->attribute == ROCE_CM_DREQ || message->attribute == ROCE_CM_REJ) &&
		   message->local_id == board->evb_id && board->evb_qpn != 0) {
		lose(board);
	}
}

// --- what evb sends ---

static void take_mad(struct board *board, const uint8_t *mad)
{
	struct roce_cm message;

	assert_int_equal(roce_cm_decode(mad, ROCE_CM_MAD_SIZE, &message), WIRE_OK);
	if (board != NULL) {
		take_mad_of_board(board, &message);
	} else if (message.attribute == ROCE_CM_REP) {
		seen_qpn = message.rep.qpn;
		seen_id = message.local_id;
		seen_psn = message.rep.starting_psn;
	}
}

static void take_board_message(struct board *board, const uint8_t *bytes)
{
	struct feroce_cm message;

	assert_int_equal(feroce_cm_decode(bytes, FEROCE_CM_SIZE, &message), WIRE_OK);
	if (board != NULL && message.ack_valid && message.request == FEROCE_OPEN_QP &&
	    message.ack == FEROCE_ACK && message.remote.qpn == board->qpn) {
		set_connected(board, message.local.qpn, 0, 0x123);
	} else if (board != NULL && !message.ack_valid && message.request == FEROCE_CLOSE_QP &&
		   message.local.qpn == board->evb_qpn) {
		board->evb_qpn = 0;
		board->lost++;
	} else if (board == NULL && message.ack == FEROCE_ACK) {
		seen_qpn = message.local.qpn;
	}
}

static void take_ack(struct board *board, const struct roce_packet *packet)
{
	if (board == NULL || board->evb_qpn == 0 || packet->destination_qpn != board->qpn ||
	    packet->aeth.syndrome != ROCE_ACK_NO_CREDITS || packet->psn != board->psn)
		return;
	board->psn = roce_psn_add(board->psn, 1);
	board->waits = false;
	board->repeated = 0;
	board->event++;
	board->answered++;
}

// Who has the MAC address gets it: the boards only what is sent to theirs.
static void take(const struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct roce_packet packet;
	struct net_frame frame;
	struct board *board;

	assert_int_equal(net_parse(bytes, mbuf->data_len, mbuf->data_len, 0, &frame), WIRE_OK);
	board = bytes[5] == 1 ? board_of(load_be32(bytes + frame.l3_offset + 16)) : NULL;
	if (frame.destination_port != ROCE_UDP_PORT) {
		take_board_message(board, bytes + frame.payload_offset);
		return;
	}
	assert_true(icrc_verify(bytes, &frame));
	assert_int_equal(roce_parse(bytes + frame.payload_offset, frame.payload_size,
				    frame.payload_size, &packet),
			 WIRE_OK);
	if (packet.destination_qpn == ROCE_CM_QPN)
		take_mad(board, bytes + frame.payload_offset + packet.payload_offset);
	else
		take_ack(board, &packet);
}

static void poll_all(void)
{
	struct rte_mbuf *mbufs[64];
	unsigned n;

	bench.now += rte_get_tsc_hz() / 1000000 * BETWEEN_US;
	(void)role_poll(bench.role, bench.now);
	while ((n = rte_eth_rx_burst(bench.wire.port.id, 1, mbufs, 64)) > 0) {
		for (unsigned i = 0; i < n; i++)
			take(mbufs[i]);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		n = link_dequeue(bench.links[i], mbufs, 64);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	most = RTE_MAX(most, roce_port_open_qps(bench.roce));
}

// --- the stranger ---

static uint32_t any_ip(void)
{
	switch (below(3)) {
	case 0:
		return OF_BOARDS + below(BOARDS + 1);
	case 1:
		return 0x0A4D0201u + below(4); // four of its own
	default:
		return 0x0A4E0001u + below(60000);
	}
}

// A queue pair number that it guesses, or that evb sent to it.
static uint32_t any_qpn(void)
{
	if (below(4) == 0)
		return seen_qpn;
	return below(2) ? below(64 * 64) : below(1 << 24);
}

static void send_data_of_stranger(uint32_t ip)
{
	static const uint8_t opcodes[] = { ROCE_RC_SEND_ONLY, ROCE_RC_SEND_FIRST,
					   ROCE_RC_SEND_ONLY + ROCE_UC_BASE,
					   ROCE_RC_SEND_FIRST + ROCE_UC_BASE, ROCE_RC_ACKNOWLEDGE };
	uint8_t opcode = opcodes[below(RTE_DIM(opcodes))];
	struct roce_packet packet = {
		.opcode = opcode,
		.destination_qpn = any_qpn(),
		.psn = below(3)   ? below(1 << 24)
		       : below(2) ? 0x123
				  : seen_psn,
		.ack_request = true,
		.aeth = { .syndrome = ROCE_NAK_REMOTE_ACCESS },
	};

	if (opcode == ROCE_RC_ACKNOWLEDGE)
		feed(ip, &packet, NULL, 0, true);
	else
		feed(ip, &packet, mfp, MFP_SIZE, true);
}

static void send_message_of_stranger(uint32_t ip)
{
	static const enum roce_cm_attribute attributes[] = {
		ROCE_CM_RTU, ROCE_CM_DREQ, ROCE_CM_REJ, ROCE_CM_MRA, ROCE_CM_DREP, ROCE_CM_REP
	};
	const struct board *board = board_of(ip);
	struct roce_cm message = {
		.transaction = random_next(&random_of_test),
		.attribute = attributes[below(RTE_DIM(attributes))],
		.local_id = board != NULL && below(2) ? board->id
			    : below(3)                ? below(1000)
						      : 77,
		.remote_id = below(2) ? seen_id + (below(5) << 16) : below(64) | below(9) << 16,
	};

	if (message.attribute == ROCE_CM_MRA)
		message.mra.service_timeout = 31;
	else if (message.attribute == ROCE_CM_DREQ)
		message.dreq.remote_qpn = any_qpn();
	else if (message.attribute == ROCE_CM_REJ)
		message.rej.reason = ROCE_CM_CONSUMER_DEFINED;
	feed_cm(ip, &message, true);
}

static void request_of_stranger(uint32_t ip)
{
	const struct board *board = board_of(ip);
	uint32_t qpn = board != NULL ? board->qpn : 2 + below(100);

	if (mode == FEROCE)
		feed_board(ip, FEROCE_OPEN_QP + below(4), qpn, any_qpn(),
			   below(2) ? 0x123 : below(1 << 24), true);
	else
		feed_req(ip, below(2) ? below(1000) : 77, qpn, below(1 << 24), true);
}

// One that completes the handshake, and then is silent.
static void connect_stranger(void)
{
	uint32_t ip = 0x0A4D0201u + below(200), id = below(1 << 30);
	struct roce_cm rtu = { .attribute = ROCE_CM_RTU, .local_id = id };

	seen_id = seen_qpn = 0;
	if (mode == FEROCE)
		feed_board(ip, FEROCE_OPEN_QP, 2 + below(1000), 0, 0x123, true);
	else
		feed_req(ip, id, 2 + below(1000), 0, true);
	poll_all();
	rtu.remote_id = seen_id;
	if (mode == FEROCE && seen_qpn != 0 && below(2))
		feed_board(ip, FEROCE_READY_TO_SEND, 2, seen_qpn, 0x123, true);
	else if (mode == FEROCE && seen_qpn != 0)
		feed_mfp(ip, seen_qpn, 0x123, ROCE_RC_SEND_ONLY, true);
	else if (seen_id != 0)
		feed_cm(ip, &rtu, true);
}

static void step_stranger(void)
{
	uint32_t ip = any_ip();

	switch (below(mode == CM ? 8 : 4)) {
	case 0:
	case 1:
		send_data_of_stranger(ip);
		break;
	case 2:
		request_of_stranger(ip);
		break;
	case 3:
		if (below(mode == CM ? 4 : 8) == 0)
			connect_stranger();
		break;
	default:
		send_message_of_stranger(ip);
		break;
	}
}

// --- tests ---

static void open_boards(enum mode of, uint64_t seed, const char *roce)
{
	mode = of;
	most = 0;
	seen_qpn = seen_id = seen_psn = 0;
	random_of_test = random_fork(seed, (uint64_t)of);
	rte_srand(seed); // what the endpoint draws
	roce_bench_open(&bench, roce);
	for (unsigned i = 0; i <= BOARDS; i++)
		boards[i] =
		    (struct board){ .ip = OF_BOARDS + i, .qpn = BOARD_QPN + i, .id = BOARD_ID + i };
	for (unsigned i = 0; i < BOARDS; i++) {
		connect_board(&boards[i]);
		poll_all();
		poll_all();
	}
}

// Returns how many requests the late board needed. Each succeeds with a chance of about 0.6: beyond
// the bound on backlogged requests, one at random makes room for the next.
static unsigned run(void)
{
	unsigned connected_at = 0, lost = 0, least = UINT32_MAX;

	for (unsigned i = 0; i < STEPS; i++) {
		step_stranger();
		for (unsigned j = 0; j < BOARDS + (i > STEPS / 2); j++)
			step_board(&boards[j]);
		poll_all();
		if (connected_at == 0 && boards[BOARDS].answered > 0)
			connected_at = i;
	}
	for (unsigned i = 0; i < BOARDS; i++) {
		lost += boards[i].lost;
		least = RTE_MIN(least, boards[i].answered);
	}
	printf("boards: %u connections lost, at least %u messages each; late one connected after "
	       "%u steps, %u requests; %u queue pairs at most\n",
	       lost, least, connected_at > 0 ? connected_at - STEPS / 2 : 0,
	       boards[BOARDS].requests, most);
	assert_int_equal(lost, 0);
	assert_true(least > STEPS * 9 / 10);
	assert_true(boards[BOARDS].answered > STEPS * 2 / 10); // after few requests
	assert_in_range(most, BOARDS, 64);
	return boards[BOARDS].requests;
}

static void strangers__of_rdma_cm(void **state)
{
	unsigned requests = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		open_boards(CM, seed,
			    ", \"connection\": \"cm\", \"cm_service\": 7174, "
			    "\"idle_timeout\": \"500ms\"");
		requests += run();
		roce_bench_close(&bench);
	}
	assert_in_range(requests, SEEDS, 4 * SEEDS);
}

static void strangers__of_boards(void **state)
{
	unsigned requests = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		open_boards(FEROCE, seed,
			    ", \"connection\": \"feroce\", \"idle_timeout\": \"500ms\"");
		requests += run();
		roce_bench_close(&bench);
	}
	assert_in_range(requests, SEEDS, 4 * SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers__of_rdma_cm),
		cmocka_unit_test(strangers__of_boards),
	};

	return cmocka_run_group_tests_name("rdma-strangers", tests, testbed_start, testbed_stop);
}
