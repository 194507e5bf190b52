// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A million damaged RoCE packets to a port with builders behind it. They come from conversations
// that would be right: SEND and WRITE of MFPs over RC, UC and UD, READs, atomics, ACKs, CNPs, RDMA
// CM's and FERoCE's messages; by IPv4 and IPv6, with VLAN tags and without. Most have a right ICRC.
// Nothing is written outside of what is built, every packet is counted once under one cause, and
// whoever behaves afterwards is served as if nothing had been.
#include "flood.h"

#include <stdio.h>
#include <string.h>

#include <rte_random.h>

#ifdef __SANITIZE_ADDRESS__
#define MUTATIONS 200000u
#else
#define MUTATIONS 1000000u
#endif
#define ROUNDS      20u   // each with an endpoint of its own
#define CHECK_EVERY 4096u // mutations
#define CALM_EVENTS 20u

// Over all rounds.
static struct {
	struct qp_counters qps;
	struct roce_port_counters port;
	struct cm_counters cm;
	uint64_t events, complete, malformed_frames;
} sums;

static void begin_round(enum kind kind, unsigned round)
{
	static const char *const icrc[] = { "verify", "verify", "sample", "ignore" };
	static const char *const connections[] = {
		[BY_CM] = ", \"connection\": \"cm\", \"cm_service\": 7174",
		[BY_FILE] = "",
		[BY_BOARD] = ", \"connection\": \"feroce\"",
	};
	char roce[256], more[128];

	flood.kind = kind;
	flood.is_calm = false;
	flood.newest = FLOOD_PACKING * 1000;
	snprintf(roce, sizeof(roce),
		 ", \"path_mtu\": 256, \"ack_every\": %u, \"sample_one_in\": 3, \"icrc\": \"%s\"%s",
		 1 + round % 5, icrc[round % 4], connections[kind]);
	snprintf(more, sizeof(more),
		 ", \"events\": {\"deadline\": \"200ms\", \"on_no_slot\": \"%s\"}",
		 round % 2 == 0 ? "wait" : "drop");
	roce_bench_open_with(&flood.bench, roce, more);
	built_open(&flood.built, &flood.bench);
	flood.built.holds = true;
	if (kind == BY_CM)
		flood_make_cm();
	flood_make_lanes();
}

// What the sources sent since all was calm, byte by byte.
static void look(void *context, const struct evb_event *event, const struct mep *mep)
{
	static struct lane sent;
	size_t room;

	(void)context;
	if (!flood.is_calm || event->event_id < flood.calm_from || event->n_missing > 0)
		return;
	for (unsigned i = 0; i < mep->n_mfps; i++) {
		const uint8_t *bytes = mep_mfp_bytes(mep, i, &room);

		sent.event = event->event_id;
		sent.source = mep_source_id(mep, i);
		flood_make_mfp(&sent);
		assert_true(room >= sent.size);
		assert_memory_equal(bytes, sent.bytes, sent.size);
	}
	flood.calm_exact++;
}

// Lets all half-open connections time out.
static void wait_for_timeouts(void)
{
	for (unsigned i = 0; i < 200; i++) {
		flood_pass_time(50000);
		(void)role_poll(flood.bench.role, flood.bench.now);
		built_poll(&flood.built);
		flood_take_answers();
	}
}

// A peer that has restarted connects and sends: all is as it would be without what was before.
static void expect_calm(void)
{
	unsigned steps = 0, behind;

	flood.is_calm = true;
	wait_for_timeouts();
	built_settle(&flood.built);
	if (flood.kind == BY_CM) {
		flood_forget_peer();
		flood_make_cm();
	}
	flood.newest += 100 * FLOOD_PACKING;
	flood.calm_from = flood.newest + FLOOD_PACKING;
	flood.calm_exact = 0;
	flood.built.look = look;
	flood_make_lanes();
	do {
		behind = 0;
		for (unsigned i = 0; i < FLOOD_SOURCES; i++) {
			struct lane *lane = &flood.lanes[i];
			struct queue_pair qp;
			bool done =
			    flood_find_qp(lane, &qp) && lane->size > 0 &&
			    lane->event >= flood.calm_from + (CALM_EVENTS + 2) * FLOOD_PACKING;

			behind += !done;
			if (!done)
				flood_step(i);
		}
		assert_true(steps++ < FLOOD_PATIENCE);
	} while (behind > 0);
	built_settle(&flood.built);
	assert_true(flood.calm_exact >= CALM_EVENTS);
}

static void add(uint64_t *to, const void *from, size_t size)
{
	const uint64_t *numbers = from;

	for (size_t i = 0; i < size / sizeof(*to); i++)
		to[i] += numbers[i];
}

// All that was given to the endpoint was counted once, by itself or by a queue pair.
static void check_account(void)
{
	const struct roce_port_counters *port = roce_of(&flood.bench);
	const struct cm_counters *cm = roce_port_cm_counters(flood.bench.roce);
	struct qp_counters qps;
	uint64_t n;

	roce_port_totals(flood.bench.roce, &qps);
	n = qps.packets + qps.responses + qps.reads;
	for (unsigned i = 0; i < QP_N_DROPS; i++)
		n += qps.drops[i];
	assert_int_equal(rx_of_bench(&flood.bench)->packets, flood.fed);
	assert_int_equal(port->packets, port->malformed + port->icrc_errors + port->unknown_qp +
					    port->taken + port->data);
	if (cm != NULL)
		add((uint64_t *)&sums.cm, cm, sizeof(*cm));
	if (flood.kind == BY_BOARD) // whose messages are taken without a count of their own
		assert_true(port->taken + port->data > n);
	else
		assert_int_equal(port->taken + port->data, n + (cm != NULL ? cm->received : 0));
	add((uint64_t *)&sums.qps, &qps, sizeof(qps));
	add((uint64_t *)&sums.port, port, sizeof(*port));
	sums.malformed_frames += rx_of_bench(&flood.bench)->packet_drops[PACKET_MALFORMED_FRAME];
}

static void end_round(void)
{
	flood_take_answers();
	built_close(&flood.built);
	flood_take_answers();
	check_account();
	sums.events += flood.built.events;
	sums.complete += flood.built.complete;
	flood_forget_peer();
	roce_bench_close(&flood.bench);
}

static void run_round(enum kind kind, unsigned round, uint64_t mutations)
{
	unsigned lanes = kind == BY_FILE ? 4 : FLOOD_LANES;

	flood.mutations = 0;
	flood.fed = 0;
	begin_round(kind, round);
	for (uint64_t next = CHECK_EVERY; flood.mutations < mutations;) {
		flood_step(flood_below(lanes));
		if (flood.mutations >= next) {
			built_settle(&flood.built);
			next += CHECK_EVERY;
		}
	}
	if (kind != BY_FILE)
		expect_calm();
	end_round();
}

static void flood_of(enum kind kind, unsigned rounds, uint64_t mutations)
{
	memset(&sums, 0, sizeof(sums));
	flood.random = random_fork(2026, 100 + kind);
	rte_srand(2026 + kind); // what the endpoint draws
	for (unsigned round = 0; round < rounds; round++)
		run_round(kind, round, mutations / rounds);
	print_message("%lu packets, %lu malformed, %lu with a wrong ICRC, %lu unknown queue pairs, "
		      "%lu data, %lu taken; %lu events, %lu complete; %lu connections\n",
		      (unsigned long)sums.port.packets, (unsigned long)sums.port.malformed,
		      (unsigned long)sums.port.icrc_errors, (unsigned long)sums.port.unknown_qp,
		      (unsigned long)sums.port.data, (unsigned long)sums.port.taken,
		      (unsigned long)sums.events, (unsigned long)sums.complete,
		      (unsigned long)sums.cm.established);
	// Damage is worth something only if much of what surrounds it is taken.
	assert_true(sums.port.data > mutations / 10);
	assert_true(sums.port.icrc_errors > 0 && sums.port.unknown_qp > 0);
	assert_true(sums.port.malformed > 0 && sums.malformed_frames > 0);
}

static void mutations__by_rdma_cm(void **state)
{
	static const enum qp_drop causes[] = {
		QP_DROP_STATE,  QP_DROP_SERVICE,     QP_DROP_PEER,        QP_DROP_P_KEY,
		QP_DROP_AHEAD,  QP_DROP_DUPLICATE,   QP_DROP_SEQUENCE,    QP_DROP_LENGTH,
		QP_DROP_ACCESS, QP_DROP_UNSUPPORTED, QP_DROP_NO_RESOURCE,
	};

	(void)state;
	flood_of(BY_CM, ROUNDS, MUTATIONS / 10 * 8);
	for (unsigned i = 0; i < RTE_DIM(causes); i++)
		assert_true(sums.qps.drops[causes[i]] > 0);
	assert_true(sums.cm.established > MUTATIONS / 1000 && sums.cm.malformed > 0);
	assert_true(sums.complete > 100 && sums.port.rnr > 0);
}

static void mutations__of_static_queue_pairs(void **state)
{
	(void)state;
	flood_of(BY_FILE, ROUNDS, MUTATIONS / 10);
	assert_true(sums.qps.drops[QP_DROP_Q_KEY] > 0 && sums.qps.drops[QP_DROP_GAP] > 0);
}

static void mutations__of_boards(void **state)
{
	(void)state;
	flood_of(BY_BOARD, ROUNDS / 4, MUTATIONS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutations__by_rdma_cm),
		cmocka_unit_test(mutations__of_static_queue_pairs),
		cmocka_unit_test(mutations__of_boards),
	};

	return cmocka_run_group_tests_name("rdma-mutations", tests, testbed_start, testbed_stop);
}
