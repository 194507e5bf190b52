// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connections with FERoCE boards, message by message. The board is played by the tests.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "roce/connection.h"

#define OUR_IP   0x0A4D0002u
#define BOARD_IP 0x0A4D0010u
#define PORT     0x4322u
#define PATIENCE 1000000u // ns, open_timeout
#define TIMEOUT  1000u    // ns, response_timeout
#define RETRIES  2u
#define SILENCE  3000000u // ns

static struct qp_table table;
static struct cm *cm;
static struct cm_event event;
static uint64_t now;
static bool wanted;

static const struct cm_parameters parameters = {
	.table = &table,
	.address = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0x0A, 0x4D, 0, 2 } },
	.path_mtu = 4096,
	.connections = 8,
	.of_peer = 4,
	.half_open = 8,
	.half_open_of_peer = 4,
	.open_timeout = PATIENCE,
	.silence = SILENCE,
	.accept_timeout = TIMEOUT,
	.response_timeout = TIMEOUT,
	.seed = 3,
	.retries = RETRIES,
	.timeout_code = 14,
	.retry_count = 7,
	.rnr_retry = 7,
};

static int open_manager(void **state)
{
	(void)state;
	now = 1000000000;
	wanted = true;
	assert_true(qp_table_create(&table, 16));
	cm = cm_create(&parameters);
	assert_non_null(cm);
	return 0;
}

static int close_manager(void **state)
{
	(void)state;
	cm_destroy(cm);
	qp_table_destroy(&table);
	return 0;
}

static const struct feroce_qp board = {
	.base_address = 0x9000, .rkey = 0x55, .ip = BOARD_IP, .qpn = 0x100, .psn = 0
};

static void receive(const uint8_t *bytes, size_t size, uint32_t ip)
{
	const struct cm_peer source = { .address = qp_address_ipv4(ip) };

	cm_receive_board(cm, bytes, size, &source, now);
}

static void give(uint8_t request, const struct feroce_qp *local, const struct feroce_qp *remote,
		 uint32_t ip)
{
	const struct feroce_cm message = {
		.local = *local,
		.remote = remote ? *remote : (struct feroce_qp){ 0 },
		.port = PORT,
		.request = request,
		.info_valid = true,
	};
	uint8_t bytes[FEROCE_CM_SIZE];

	feroce_cm_encode(bytes, &message);
	receive(bytes, sizeof(bytes), ip);
}

static struct feroce_cm expect_message(uint8_t request, uint8_t ack, uint32_t ip, uint16_t port)
{
	const struct qp_address peer = qp_address_ipv4(ip);
	struct cm_datagram datagram;
	struct feroce_cm message;

	assert_true(cm_poll(cm, now, &datagram));
	assert_true(qp_address_is(&datagram.peer.address, &peer));
	assert_int_equal(datagram.port, port);
	assert_int_equal(feroce_cm_decode(datagram.board, sizeof(datagram.board), &message),
			 WIRE_OK);
	assert_int_equal(message.request, request);
	assert_int_equal(message.ack_valid, ack != FEROCE_NO_ACK);
	assert_int_equal(message.ack, ack);
	assert_int_equal(message.port, FEROCE_CM_UDP_PORT);
	return message;
}

static struct feroce_cm expect_answer(uint8_t request, uint8_t ack)
{
	return expect_message(request, ack, BOARD_IP, PORT);
}

static void expect_silence(void)
{
	struct cm_datagram datagram;

	assert_false(cm_poll(cm, now, &datagram));
}

static void expect_event(enum cm_event_kind kind)
{
	assert_true(cm_next_event(cm, &event));
	assert_int_equal(event.kind, kind);
}

static void expect_no_event(void)
{
	assert_false(cm_next_event(cm, &event));
}

// The caller responds to the request that an event reports.
static void respond(void)
{
	struct cm_acceptance acceptance = {
		.rkey = 0xABCD,
		.access = QP_MAY_WRITE,
		.user = &wanted,
	};

	expect_event(CM_REQUESTED);
	acceptance.address = 0x1000 + event.peer_qpn;
	if (wanted)
		assert_true(cm_accept(cm, event.id, &acceptance, now));
	else
		assert_true(cm_refuse(cm, event.id, ROCE_CM_CONSUMER_DEFINED));
}

// The queue pair that ours is, by the number in a response.
static struct queue_pair *qp_of(const struct feroce_qp *ours)
{
	struct queue_pair *qp = qp_find(&table, ours->qpn);

	assert_non_null(qp);
	return qp;
}

// Opens the board's queue pair; returns ours as the answer has it.
static struct feroce_qp open_board(const struct feroce_qp *its)
{
	give(FEROCE_OPEN_QP, its, NULL, BOARD_IP);
	respond();
	return expect_answer(FEROCE_OPEN_QP, FEROCE_ACK).local;
}

static void board_calls__open_info_ready_close(void **state)
{
	struct feroce_qp ours;
	struct feroce_cm answer;
	struct feroce_qp other = board;
	const struct queue_pair *qp;

	(void)state;
	give(FEROCE_OPEN_QP, &board, NULL, BOARD_IP);
	give(FEROCE_OPEN_QP, &board, NULL, BOARD_IP); // repeated before the caller responds
	expect_silence();
	respond();
	assert_int_equal(event.peer_qpn, board.qpn);
	answer = expect_answer(FEROCE_OPEN_QP, FEROCE_ACK);
	ours = answer.local;
	qp = qp_of(&ours);
	assert_int_equal(ours.ip, OUR_IP);
	assert_int_equal(ours.rkey, 0xABCD);
	assert_int_equal(ours.base_address, 0x1100);
	assert_memory_equal(&answer.remote, &board, sizeof(board));
	expect_no_event();
	assert_int_equal(qp->state, QP_READY);
	assert_int_equal(qp->first_psn, ours.psn);
	assert_int_equal(qp->expected_psn, 0);
	assert_int_equal(qp->peer_qpn, 0x100);
	assert_ptr_equal(qp->user, &wanted);
	other.psn = 0x777; // told later
	give(FEROCE_SEND_QP_INFO, &other, &ours, BOARD_IP);
	expect_answer(FEROCE_SEND_QP_INFO, FEROCE_ACK);
	assert_int_equal(qp->expected_psn, 0x777);
	give(FEROCE_READY_TO_SEND, &other, &ours, BOARD_IP);
	expect_answer(FEROCE_READY_TO_SEND, FEROCE_ACK);
	expect_event(CM_ESTABLISHED);
	give(FEROCE_READY_TO_SEND, &other, &ours, BOARD_IP);
	expect_answer(FEROCE_READY_TO_SEND, FEROCE_ACK);
	expect_no_event();
	give(FEROCE_CLOSE_QP, &other, &ours, BOARD_IP);
	expect_answer(FEROCE_CLOSE_QP, FEROCE_ACK);
	expect_event(CM_DISCONNECTED);
	assert_int_equal(event.qp->state, QP_ERROR);
	give(FEROCE_CLOSE_QP, &other, &ours, BOARD_IP); // the answer was lost
	expect_answer(FEROCE_CLOSE_QP, FEROCE_ACK);
	expect_no_event();
	cm_release(cm, event.id);
	assert_int_equal(table.n_open, 0);
	give(FEROCE_CLOSE_QP, &other, &ours, BOARD_IP);
	expect_answer(FEROCE_CLOSE_QP, FEROCE_NO_QP);
	expect_silence();
}

static void board_calls__repeated_open_gets_the_same_answer(void **state)
{
	struct feroce_qp ours = open_board(&board);
	struct feroce_cm answer;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		give(FEROCE_OPEN_QP, &board, NULL, BOARD_IP);
		answer = expect_answer(FEROCE_OPEN_QP, FEROCE_ACK);
		assert_memory_equal(&answer.local, &ours, sizeof(ours));
	}
	expect_no_event();
	assert_int_equal(table.n_open, 1);
	assert_int_equal(cm_counters(cm)->duplicates, 3);
}

static void board_calls__first_packet_says_that_it_is_ready(void **state)
{
	struct feroce_qp ours = open_board(&board);

	(void)state;
	qp_of(&ours)->expected_psn = 1;
	expect_silence();
	expect_event(CM_ESTABLISHED);
	now += 10 * PATIENCE;
	expect_silence();
	expect_no_event();
}

static void board_calls__silence_after_open_times_out(void **state)
{
	(void)state;
	open_board(&board);
	now += PATIENCE - 1;
	expect_silence();
	expect_no_event();
	now += 1;
	expect_silence();
	expect_event(CM_FAILED);
	cm_release(cm, event.id);
	assert_int_equal(table.n_open, 0);
	assert_int_equal(cm_counters(cm)->timed_out, 1);
}

static void board_calls__after_its_restart(void **state)
{
	struct feroce_qp ours = open_board(&board);
	struct feroce_cm answer;

	(void)state;
	qp_of(&ours)->expected_psn = 1000; // it has been used
	expect_silence();
	expect_event(CM_ESTABLISHED);
	now += PATIENCE;
	give(FEROCE_OPEN_QP, &board, NULL,
	     BOARD_IP); // anybody may say this: the board is not silent
	expect_silence();
	expect_no_event();
	assert_int_equal(cm_counters(cm)->kept, 1);
	now += SILENCE;
	give(FEROCE_OPEN_QP, &board, NULL, BOARD_IP);
	respond();
	expect_no_event();
	answer = expect_answer(FEROCE_OPEN_QP, FEROCE_ACK);
	assert_int_not_equal(answer.local.qpn, ours.qpn);
	assert_int_equal(qp_of(&ours)->state, QP_READY);
	give(FEROCE_READY_TO_SEND, &board, &answer.local, BOARD_IP); // it has our number
	expect_answer(FEROCE_READY_TO_SEND, FEROCE_ACK);
	expect_event(CM_DISCONNECTED);
	assert_int_equal(event.qp->qpn, ours.qpn);
	cm_release(cm, event.id);
	expect_event(CM_ESTABLISHED);
	assert_int_equal(qp_of(&answer.local)->expected_psn, 0);
	assert_int_equal(cm_counters(cm)->restarted, 1);
	assert_int_equal(table.n_open, 1);
}

static void board_calls__refused(void **state)
{
	struct feroce_qp wrong = board;

	(void)state;
	wanted = false;
	give(FEROCE_OPEN_QP, &board, NULL, BOARD_IP);
	respond();
	expect_answer(FEROCE_OPEN_QP, FEROCE_NAK);
	wanted = true;
	wrong.ip++; // not whom it comes from
	give(FEROCE_OPEN_QP, &wrong, NULL, BOARD_IP);
	expect_answer(FEROCE_OPEN_QP, FEROCE_NAK);
	assert_int_equal(table.n_open, 0);
	expect_no_event();
	assert_int_equal(cm_counters(cm)->refused, 2);
}

static void make_ready(const struct feroce_qp *its, const struct feroce_qp *ours)
{
	give(FEROCE_READY_TO_SEND, its, ours, its->ip);
	expect_message(FEROCE_READY_TO_SEND, FEROCE_ACK, its->ip, PORT);
	expect_event(CM_ESTABLISHED);
}

static void board_calls__bounds(void **state)
{
	struct feroce_qp its = board, ours;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		its.qpn = 0x100 + i;
		give(FEROCE_OPEN_QP, &its, NULL, BOARD_IP);
		if (i < 4)
			respond();
		ours = expect_answer(FEROCE_OPEN_QP, i < 4 ? FEROCE_ACK : FEROCE_NO_QP).local;
		if (i < 4)
			make_ready(&its, &ours);
	}
	for (uint32_t i = 1; i < 10; i++) {
		its.ip = BOARD_IP + i;
		give(FEROCE_OPEN_QP, &its, NULL, BOARD_IP + i);
		if (i <= 4)
			respond();
		ours = expect_message(FEROCE_OPEN_QP, i <= 4 ? FEROCE_ACK : FEROCE_NO_QP,
				      BOARD_IP + i, PORT)
			   .local;
		if (i <= 4)
			make_ready(&its, &ours);
	}
	assert_int_equal(table.n_open, 8);
	assert_int_equal(cm_counters(cm)->no_resources, 6 + 5);
}

static void strangers__change_nothing(void **state)
{
	struct feroce_qp ours = open_board(&board), wrong = ours, its = board;
	uint8_t bytes[FEROCE_CM_SIZE + 1] = { 0 };

	(void)state;
	wrong.qpn ^= 0x800000;
	give(FEROCE_READY_TO_SEND, &board, &wrong, BOARD_IP);
	expect_answer(FEROCE_READY_TO_SEND, FEROCE_NO_QP);
	give(FEROCE_READY_TO_SEND, &board, &ours, BOARD_IP + 1);
	expect_message(FEROCE_READY_TO_SEND, FEROCE_NO_QP, BOARD_IP + 1, PORT);
	give(FEROCE_CLOSE_QP, &board, &ours, BOARD_IP + 1);
	expect_message(FEROCE_CLOSE_QP, FEROCE_NO_QP, BOARD_IP + 1, PORT);
	its.qpn++;
	give(FEROCE_CLOSE_QP, &its, &ours, BOARD_IP);
	expect_answer(FEROCE_CLOSE_QP, FEROCE_NAK);
	qp_of(&ours)->expected_psn = 5; // used: its numbers stand
	give(FEROCE_SEND_QP_INFO, &its, &ours, BOARD_IP);
	expect_answer(FEROCE_SEND_QP_INFO, FEROCE_NAK);
	assert_int_equal(cm_counters(cm)->strangers, 5);
	give(FEROCE_NO_REQUEST, &board, &ours, BOARD_IP);
	give(5, &board, &ours, BOARD_IP);
	receive(bytes, FEROCE_CM_SIZE - 1, BOARD_IP);
	receive(bytes, FEROCE_CM_SIZE + 1, BOARD_IP);
	receive(bytes, 0, BOARD_IP);
	assert_int_equal(cm_counters(cm)->malformed, 5);
	assert_int_equal(qp_of(&ours)->state, QP_READY);
}

// The board's answer to a request of ours.
static void answer_as_board(uint8_t request, uint8_t ack, uint32_t our_qpn)
{
	struct feroce_cm message = {
		.local = board,
		.remote = { .qpn = our_qpn },
		.port = PORT,
		.request = request,
		.ack_valid = true,
		.ack = ack,
		.info_valid = true,
	};
	uint8_t bytes[FEROCE_CM_SIZE];

	feroce_cm_encode(bytes, &message);
	receive(bytes, sizeof(bytes), BOARD_IP);
}

static void we_close__request_is_repeated_until_the_board_acknowledges(void **state)
{
	struct feroce_qp ours = open_board(&board);

	(void)state;
	assert_true(cm_disconnect(cm, event.id, now));
	assert_false(cm_disconnect(cm, event.id, now));
	expect_message(FEROCE_CLOSE_QP, FEROCE_NO_ACK, BOARD_IP, PORT);
	expect_silence();
	now += TIMEOUT;
	expect_message(FEROCE_CLOSE_QP, FEROCE_NO_ACK, BOARD_IP, PORT);
	answer_as_board(FEROCE_OPEN_QP, FEROCE_ACK, ours.qpn); // not a response to this request
	assert_int_equal(cm_counters(cm)->strangers, 1);
	expect_no_event();
	answer_as_board(FEROCE_CLOSE_QP, FEROCE_ACK, ours.qpn);
	expect_event(CM_DISCONNECTED);
	cm_release(cm, event.id);
	assert_int_equal(table.n_open, 0);
}

static void we_close__silent_board_times_out(void **state)
{
	(void)state;
	open_board(&board);
	assert_true(cm_disconnect(cm, event.id, now));
	for (unsigned i = 0; i <= RETRIES; i++) {
		expect_message(FEROCE_CLOSE_QP, FEROCE_NO_ACK, BOARD_IP, PORT);
		expect_silence();
		now += TIMEOUT;
	}
	expect_silence();
	expect_event(CM_DISCONNECTED);
	cm_release(cm, event.id);
	assert_int_equal(table.n_open, 0);
}

static void error__of_the_queue_pair_ends_the_connection(void **state)
{
	struct feroce_qp ours = open_board(&board);
	struct feroce_cm message;

	(void)state;
	qp_of(&ours)->state = QP_ERROR;
	message = expect_message(FEROCE_CLOSE_QP, FEROCE_NO_ACK, BOARD_IP, PORT);
	assert_int_equal(message.local.qpn, ours.qpn);
	answer_as_board(FEROCE_CLOSE_QP, FEROCE_ACK, ours.qpn);
	expect_event(CM_DISCONNECTED);
}

static void garbage__does_no_harm(void **state)
{
	struct random random = random_fork(5, 5);
	uint8_t bytes[FEROCE_CM_SIZE];
	struct cm_datagram datagram;
	uint32_t newest = 0, ended = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		struct feroce_cm message = {
			.local = board,
			.remote = { .qpn = (uint32_t)random_next(&random) % 64 },
			.port = PORT,
			.request = (uint8_t)(random_next(&random) % 8),
			.info_valid = random_next(&random) % 8 != 0,
			.ack_valid = random_next(&random) % 4 == 0,
			.ack = (uint8_t)(random_next(&random) % 8),
		};

		message.local.qpn += random_next(&random) % 16;
		feroce_cm_encode(bytes, &message);
		for (unsigned j = random_next(&random) % 4; j > 0; j--)
			bytes[random_next(&random) % FEROCE_CM_SIZE] ^=
			    (uint8_t)(1u << random_next(&random) % 8);
		receive(bytes, sizeof(bytes), BOARD_IP);
		while (cm_poll(cm, now, &datagram))
			;
		while (cm_next_event(cm, &event)) {
			if (event.kind == CM_REQUESTED) {
				newest = event.id;
				cm_accept(cm, newest, &(struct cm_acceptance){ 0 }, now);
			} else if (event.kind >= CM_REFUSED) {
				cm_release(cm, event.id);
				ended++;
			}
		}
		if (i % 100 == 0)
			cm_disconnect(cm, newest, now);
		assert_true(table.n_open <= 4);
		now += 100;
	}
	assert_true(cm_counters(cm)->requests > 100);
	assert_true(ended > 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_manager, close_manager)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(board_calls__open_info_ready_close),
		TEST(board_calls__repeated_open_gets_the_same_answer),
		TEST(board_calls__first_packet_says_that_it_is_ready),
		TEST(board_calls__silence_after_open_times_out),
		TEST(board_calls__after_its_restart),
		TEST(board_calls__refused),
		TEST(board_calls__bounds),
		TEST(strangers__change_nothing),
		TEST(we_close__request_is_repeated_until_the_board_acknowledges),
		TEST(we_close__silent_board_times_out),
		TEST(error__of_the_queue_pair_ends_the_connection),
		TEST(garbage__does_no_harm),
	};

	return cmocka_run_group_tests_name("connection_board", tests, NULL, NULL);
}
