// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Our requester against our responder over a wire that loses, repeats and delays: what is reliable
// arrives, all of it, once, in order, byte by byte; of what is not, whatever arrives is right.
#include "pair.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES 10000u
#define MOST     8u

static struct pair pair;
static struct pair_flow flows[MOST];

static const struct pair_options lossless = {
	.ack_every = 1,
	.window = 128,
	.ack_interval = 64,
	.retry_count = 7,
	.seed = 1,
};

static const struct pair_options lossy = {
	.loss = 0.01,
	.repetition = 0.005,
	.delay = 0.01,
	.not_ready = 0.01,
	.ack_every = 4,
	.window = 128,
	.ack_interval = 64,
	.retry_count = 7,
	.seed = 2,
};

static void add(unsigned i, enum roce_service service, uint8_t operation, bool immediate,
		unsigned from)
{
	flows[i].service = service;
	flows[i].operation = operation;
	flows[i].with_immediate = immediate;
	flows[i].from = from;
	flows[i].n = MESSAGES;
}

static void run(const struct pair_options *options, unsigned n_flows)
{
	pair_open(&pair, options, flows, n_flows);
	pair_run(&pair);
	for (unsigned i = 0; i < n_flows; i++) {
		const struct pair_flow *flow = &flows[i];

		assert_int_equal(flow->qp->state, QP_READY);
		assert_int_equal(flow->peer->state, QP_READY);
		assert_int_equal(flow->completed, MESSAGES);
		assert_int_equal(flow->qp->counters.sent_messages, MESSAGES);
		if (flow->service == ROCE_RC)
			assert_int_equal(flow->peer->counters.messages, MESSAGES);
		if (flow->service == ROCE_RC && flow->operation != REQUESTER_READ)
			assert_int_equal(flow->arrived, MESSAGES);
	}
	assert_int_equal(pair.failures, 0);
}

static void all_kinds(void)
{
	memset(flows, 0, sizeof(flows));
	add(0, ROCE_RC, REQUESTER_SEND, false, 0);
	add(1, ROCE_RC, REQUESTER_SEND, true, 1);
	add(2, ROCE_RC, REQUESTER_WRITE, false, 0);
	add(3, ROCE_RC, REQUESTER_WRITE, true, 1);
	add(4, ROCE_RC, REQUESTER_READ, false, 0);
	add(5, ROCE_UC, REQUESTER_SEND, true, 1);
	add(6, ROCE_UC, REQUESTER_WRITE, true, 0);
	add(7, ROCE_UD, REQUESTER_SEND, true, 0);
}

static uint64_t retransmissions(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < MOST; i++)
		n += flows[i].qp->counters.retransmissions;
	return n;
}

static void transfer__without_loss_sends_nothing_twice(void **state)
{
	(void)state;
	all_kinds();
	run(&lossless, MOST);
	assert_int_equal(retransmissions(), 0);
	for (unsigned i = 5; i < MOST; i++) {
		assert_int_equal(flows[i].peer->counters.messages, MESSAGES);
		assert_int_equal(flows[i].peer->counters.lost, 0);
	}
	pair_close(&pair);
}

static void report(void)
{
	for (unsigned i = 0; i < MOST; i++) {
		const struct qp_counters *c = &flows[i].qp->counters;

		print_message("flow %u: %lu packets, %lu again, %lu timeouts, %lu sequence NAKs, "
			      "%lu RNR, %lu implied, %lu ghosts; %u of %u arrived\n",
			      i, (unsigned long)c->sent_packets, (unsigned long)c->retransmissions,
			      (unsigned long)c->timeouts,
			      (unsigned long)c->naks_received[QP_NAK_SEQUENCE],
			      (unsigned long)c->rnr_received, (unsigned long)c->implied_naks,
			      (unsigned long)c->drops[QP_DROP_GHOST],
			      (unsigned)flows[i].peer->counters.messages, MESSAGES);
	}
}

static void transfer__with_loss(void **state)
{
	(void)state;
	all_kinds();
	run(&lossy, MOST);
	report();
	assert_true(retransmissions() > 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(flows[i].qp->counters.naks_received[QP_NAK_SEQUENCE] > 0);
		assert_true(flows[i].qp->counters.drops[QP_DROP_GHOST] > 0);
		if (flows[i].operation != REQUESTER_READ)
			assert_true(flows[i].qp->counters.rnr_received > 0);
	}
	assert_true(flows[4].qp->counters.implied_naks > 0);
	for (unsigned i = 5; i < MOST; i++) {
		assert_true(flows[i].peer->counters.messages > MESSAGES / 2);
		assert_true(flows[i].peer->counters.messages < MESSAGES + MESSAGES / 50);
	}
	assert_true(flows[5].peer->counters.lost > 0 && flows[6].peer->counters.lost > 0);
	assert_true(flows[5].peer->counters.aborted > 0 && flows[6].peer->counters.aborted > 0);
	pair_close(&pair);
}

// The smallest windows and rarest ACKs that there may be, peers of rxe's manner, much loss.
static void transfer__under_all_conditions(void **state)
{
	static const struct {
		uint32_t window, ack_interval;
		uint16_t ack_every;
		double loss;
		bool like_rxe;
	} cases[] = {
		{ 2, 1, 1, 0.02, false },    { 3, 64, 1, 0.02, true },
		{ 8, 64, 16, 0.05, false },  { 128, 1, 1000, 0.02, true },
		{ 1024, 64, 64, 0.1, true }, { 128, 128, 2, 0.05, false },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair_options options = lossy;

		options.window = cases[i].window;
		options.ack_interval = cases[i].ack_interval;
		options.ack_every = cases[i].ack_every;
		options.loss = cases[i].loss;
		options.like_rxe = cases[i].like_rxe;
		options.seed = 100 + i;
		all_kinds();
		for (unsigned j = 0; j < MOST; j++)
			flows[j].n = 1000;
		pair_open(&pair, &options, flows, MOST);
		pair_run(&pair);
		for (unsigned j = 0; j < MOST; j++)
			assert_int_equal(flows[j].completed, 1000);
		assert_int_equal(pair.failures, 0);
		pair_close(&pair);
	}
}

static void transfer__at_changing_rates(void **state)
{
	struct pair_options options = lossless;

	(void)state;
	options.congestion = 0.05;
	options.slows_down = true;
	all_kinds();
	for (unsigned j = 0; j < MOST; j++)
		flows[j].n = 500;
	pair_open(&pair, &options, flows, MOST);
	pair_run(&pair);
	for (unsigned j = 0; j < 4; j++) {
		assert_true(flows[j].qp->counters.cnp_received > 0);
		assert_true(flows[j].peer->counters.cnp_sent > 0);
		assert_true(flows[j].qp->ns_per_byte > 0);
	}
	assert_int_equal(retransmissions(), 0);
	pair_close(&pair);
}

// A receiver that is rarely ready must not have the sender repeat all that it may have outstanding
// each time.
static void transfer__to_a_receiver_that_is_rarely_ready(void **state)
{
	struct pair_options options = lossless;

	(void)state;
	options.not_ready = 0.9;
	all_kinds();
	for (unsigned j = 0; j < MOST; j++)
		flows[j].n = 500;
	pair_open(&pair, &options, flows, MOST);
	pair_run(&pair);
	for (unsigned j = 0; j < 4; j++) {
		const struct qp_counters *sent = &flows[j].qp->counters;
		uint64_t first_time = sent->sent_packets - sent->retransmissions;

		print_message("flow %u: %lu packets, %lu of them repeated, %lu RNR NAKs\n", j,
			      (unsigned long)sent->sent_packets,
			      (unsigned long)sent->retransmissions,
			      (unsigned long)sent->rnr_received);
		assert_true(sent->rnr_received > 8 * 500);
		assert_true(sent->retransmissions <= sent->rnr_received + 2 * first_time);
	}
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfer__without_loss_sends_nothing_twice),
		cmocka_unit_test(transfer__with_loss),
		cmocka_unit_test(transfer__under_all_conditions),
		cmocka_unit_test(transfer__at_changing_rates),
		cmocka_unit_test(transfer__to_a_receiver_that_is_rarely_ready),
	};

	return cmocka_run_group_tests_name("transfer", tests, NULL, NULL);
}
