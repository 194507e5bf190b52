// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes that send rounds of grants with a barrier between the phases, the manager that tells them
// the least of what they have reached, and messages that take time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "pacing/phase_gate.h"
#include "pacing/send_queue.h"
#include "sched/phases.h"

#define NODES     6u
#define ROUNDS    120u
#define MESSAGES  64u // under way
#define WAIT      5000u
#define MOST_TIME 2000000u

struct under_way {
	uint64_t at;
	uint32_t phase;
};

// First in, first out.
struct line {
	struct under_way messages[MESSAGES];
	unsigned n;
};

struct node {
	struct send_queue queue;
	struct phase_gate gate;
	struct message grant;
	uint32_t phase;
	bool is_held, is_sending, is_dead;
	uint64_t until;    // end of sending
	uint32_t finished; // phases
	uint32_t sent, late;
	uint64_t late_at; // time of the last phase that began late
	struct line out, in;
};

struct farm {
	struct random random;
	uint64_t now;
	uint32_t distance; // 0: nobody asks the gate
	struct node nodes[NODES];
	struct sched_phases phases;
	uint32_t
	    conflicts; // times that a node began to send to a builder to which another one sent
	uint32_t most_ahead; // phases between two nodes
};

static struct farm farm;

static uint64_t below(uint64_t n)
{
	return random_next(&farm.random) % n;
}

static void put(struct line *line, uint32_t phase)
{
	struct under_way message = { farm.now + below(40), phase };

	assert_true(line->n < MESSAGES);
	if (line->n > 0 && line->messages[line->n - 1].at > message.at)
		message.at = line->messages[line->n - 1].at;
	line->messages[line->n++] = message;
}

static bool take(struct line *line, uint32_t *phase)
{
	if (line->n == 0 || line->messages[0].at > farm.now)
		return false;
	*phase = line->messages[0].phase;
	memmove(line->messages, line->messages + 1, --line->n * sizeof(line->messages[0]));
	return true;
}

// `first` is the number of the first round.
static void farm_open(uint64_t seed, uint32_t distance, uint32_t first)
{
	const struct phase_gate_parameters gate = { .distance = distance,
						    .longest_wait_ns = WAIT,
						    .ticks_per_second = 1000000000 };

	memset(&farm, 0, sizeof(farm));
	farm.random = random_fork(seed, 0);
	farm.distance = distance;
	assert_true(sched_phases_make(&farm.phases, NODES));
	for (uint32_t i = 0; i < NODES; i++) {
		const struct send_queue_parameters queue = { .size = NODES * ROUNDS,
							     .rank = i,
							     .n_senders = NODES };
		struct node *node = &farm.nodes[i];

		assert_true(send_queue_make(&node->queue, &queue));
		node->gate = phase_gate_make(&gate);
		node->finished = first * NODES;
		for (uint32_t n = 0; n < ROUNDS * NODES; n++) {
			const struct message grant = { .event = n,
						       .round = (uint32_t)(first + n / NODES),
						       .position = (uint16_t)(n % NODES),
						       .n_positions = NODES };

			assert_true(send_queue_put(&node->queue, &grant));
		}
	}
}

static void farm_close(void)
{
	for (uint32_t i = 0; i < NODES; i++)
		send_queue_free(&farm.nodes[i].queue);
	sched_phases_free(&farm.phases);
}

static bool may_begin(struct node *node)
{
	enum phase_gate_verdict verdict;

	if (farm.distance == 0)
		return true;
	phase_gate_reach(&node->gate, node->phase);
	verdict = phase_gate_ask(&node->gate, node->phase, farm.now);
	if (verdict == PHASE_GATE_LATE) {
		node->late++;
		node->late_at = farm.now;
	}
	return verdict != PHASE_GATE_WAITS;
}

static void note_begin(const struct node *node)
{
	for (uint32_t i = 0; i < NODES; i++) {
		const struct node *other = &farm.nodes[i];
		const uint32_t ahead = node->phase - other->finished;

		if (other == node || other->is_dead)
			continue;
		farm.conflicts +=
		    other->is_sending && other->grant.position == node->grant.position;
		if ((int32_t)ahead > (int32_t)farm.most_ahead)
			farm.most_ahead = ahead;
	}
}

// Each node has times of its own for an event, as nodes with other data have.
static void step(struct node *node)
{
	if (node->is_dead || (node->is_sending && node->until > farm.now))
		return;
	if (node->is_sending) {
		node->is_sending = false;
		node->sent++;
		node->finished = node->phase + 1;
		phase_gate_reach(&node->gate, node->phase + 1);
	}
	if (!node->is_held) {
		if (!send_queue_next(&node->queue, &node->grant))
			return;
		node->phase = send_queue_phase(&node->queue);
	}
	node->is_held = !may_begin(node);
	if (node->is_held)
		return;
	note_begin(node);
	node->is_sending = true;
	node->until = farm.now + 20 + below(60) + (below(20) == 0 ? 300 : 0);
}

static void manage(void)
{
	uint32_t phase;

	for (uint32_t i = 0; i < NODES; i++)
		while (take(&farm.nodes[i].out, &phase))
			sched_phases_reach(&farm.phases, i, phase);
	if (!farm.phases.is_due || !sched_phases_least(&farm.phases, &phase))
		return;
	for (uint32_t i = 0; i < NODES; i++)
		put(&farm.nodes[i].in, phase);
}

// One tick; returns whether a node has still something to send.
static bool tick(void)
{
	bool is_busy = false;
	uint32_t phase;

	farm.now++;
	manage();
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *node = &farm.nodes[i];

		while (take(&node->in, &phase))
			phase_gate_set_limit(&node->gate, phase);
		step(node);
		if (node->gate.is_due && !node->is_dead)
			put(&node->out, node->gate.reached);
		node->gate.is_due = false;
		is_busy |= !node->is_dead && node->sent < ROUNDS * NODES;
	}
	return is_busy;
}

static void run(void)
{
	while (tick())
		assert_true(farm.now < MOST_TIME);
}

static uint32_t all_late(void)
{
	uint32_t late = 0;

	for (uint32_t i = 0; i < NODES; i++)
		late += farm.nodes[i].late;
	return late;
}

// --- the tests ---

static void no_barrier__nodes_drift_apart(void **state)
{
	(void)state;
	farm_open(1, 0, 0);
	run();
	assert_true(farm.most_ahead > 2 * NODES);
	assert_true(farm.conflicts > ROUNDS);
	farm_close();
}

static void full_barrier__no_two_nodes_at_one_builder(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		farm_open(seed, 1, 0);
		run();
		assert_int_equal(farm.conflicts, 0);
		assert_int_equal(farm.most_ahead, 0);
		assert_int_equal(all_late(), 0);
		farm_close();
	}
}

// A node is fewer phases ahead than the distance, and uses all of them.
static void partial_barrier__limits_the_drift(void **state)
{
	uint64_t full, partial;

	(void)state;
	farm_open(1, 1, 0);
	run();
	full = farm.now;
	farm_close();
	for (uint32_t distance = 2; distance <= 2 * NODES; distance += 3) {
		farm_open(1, distance, 0);
		run();
		assert_int_equal(farm.most_ahead, distance - 1);
		assert_int_equal(all_late(), 0);
		partial = farm.now;
		farm_close();
		assert_true(partial < full);
	}
}

static void numbers__go_round(void **state)
{
	(void)state;
	farm_open(3, 1, UINT32_MAX / NODES - ROUNDS / 3);
	run();
	assert_int_equal(farm.conflicts, 0);
	assert_int_equal(all_late(), 0);
	farm_close();
	farm_open(3, 1, UINT32_MAX - ROUNDS / 3);
	run();
	assert_int_equal(farm.conflicts, 0);
	assert_int_equal(all_late(), 0);
	farm_close();
}

// The others wait once, and then go on without barrier until the manager leaves the node out.
static void dead_node__costs_one_wait(void **state)
{
	uint64_t died;

	(void)state;
	farm_open(4, 1, 0);
	for (unsigned i = 0; i < 10000; i++)
		(void)tick();
	farm.nodes[2].is_dead = true;
	died = farm.now;
	while (farm.now < died + WAIT + 1000)
		(void)tick();
	for (uint32_t i = 0; i < NODES; i++) {
		assert_int_equal(farm.nodes[i].late, i == 2 ? 0 : 1);
		assert_in_range(farm.nodes[i].late_at, i == 2 ? 0 : died + WAIT / 2,
				died + WAIT + 1000);
	}
	sched_phases_set_part(&farm.phases, 2, false);
	for (unsigned i = 0; i < 3000; i++)
		(void)tick(); // those that were behind catch up
	farm.conflicts = farm.most_ahead = 0;
	run();
	assert_int_equal(farm.conflicts, 0);
	assert_int_equal(farm.most_ahead, 0);
	assert_int_equal(all_late(), NODES - 1);
	farm_close();
}

// What a manager has said, and what it was told, does not count for the next one.
static void session__begins_anew(void **state)
{
	const struct phase_gate_parameters parameters = { .distance = 1,
							  .longest_wait_ns = 100,
							  .ticks_per_second = 1000000000 };
	struct phase_gate gate = phase_gate_make(&parameters);

	(void)state;
	phase_gate_set_session(&gate, 1);
	phase_gate_reach(&gate, 1000);
	phase_gate_set_limit(&gate, 1000);
	assert_int_equal(phase_gate_ask(&gate, 1000, 0), PHASE_GATE_OPEN);
	phase_gate_set_session(&gate, 1);
	assert_int_equal(phase_gate_ask(&gate, 1000, 0), PHASE_GATE_OPEN);
	phase_gate_set_session(&gate, 2);
	assert_false(gate.is_due);
	phase_gate_reach(&gate, 5);
	assert_true(gate.is_due);
	assert_int_equal(gate.reached, 5);
	assert_int_equal(phase_gate_ask(&gate, 5, 0), PHASE_GATE_WAITS);
	phase_gate_set_limit(&gate, 5);
	assert_int_equal(phase_gate_ask(&gate, 5, 0), PHASE_GATE_OPEN);
}

// A grant of an earlier round that arrives late neither waits nor sets the node back.
static void late_grant__does_not_count(void **state)
{
	const struct phase_gate_parameters parameters = { .distance = 1,
							  .longest_wait_ns = 100,
							  .ticks_per_second = 1000000000 };
	struct phase_gate gate = phase_gate_make(&parameters);

	(void)state;
	phase_gate_reach(&gate, 12);
	phase_gate_set_limit(&gate, 11);
	gate.is_due = false;
	assert_int_equal(phase_gate_ask(&gate, 12, 0), PHASE_GATE_WAITS);
	phase_gate_reach(&gate, 7);
	assert_int_equal(phase_gate_ask(&gate, 7, 50), PHASE_GATE_OPEN);
	assert_int_equal(gate.reached, 12);
	assert_false(gate.is_due);
	assert_int_equal(phase_gate_ask(&gate, 12, 120), PHASE_GATE_WAITS);
	assert_int_equal(phase_gate_ask(&gate, 12, 220), PHASE_GATE_LATE);
	assert_int_equal(phase_gate_ask(&gate, 13, 221), PHASE_GATE_OPEN);
}

// A node that has just come does not hold the others up before it has reported.
static void new_node__counts_from_its_first_report(void **state)
{
	struct sched_phases phases;
	uint32_t least;

	(void)state;
	assert_true(sched_phases_make(&phases, 3));
	sched_phases_set_part(&phases, 2, false);
	sched_phases_reach(&phases, 0, 8);
	assert_false(sched_phases_least(&phases, &least));
	sched_phases_reach(&phases, 1, 9);
	assert_true(sched_phases_least(&phases, &least));
	assert_int_equal(least, 8);
	assert_false(phases.is_due);
	sched_phases_set_part(&phases, 2, true);
	assert_true(phases.is_due);
	assert_true(sched_phases_least(&phases, &least));
	assert_int_equal(least, 8);
	sched_phases_reach(&phases, 2, 3);
	assert_true(sched_phases_least(&phases, &least));
	assert_int_equal(least, 3);
	for (uint32_t i = 0; i < 3; i++)
		sched_phases_set_part(&phases, i, false);
	assert_false(sched_phases_least(&phases, &least));
	sched_phases_free(&phases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_barrier__nodes_drift_apart),
		cmocka_unit_test(full_barrier__no_two_nodes_at_one_builder),
		cmocka_unit_test(partial_barrier__limits_the_drift),
		cmocka_unit_test(numbers__go_round),
		cmocka_unit_test(dead_node__costs_one_wait),
		cmocka_unit_test(session__begins_anew),
		cmocka_unit_test(late_grant__does_not_count),
		cmocka_unit_test(new_node__counts_from_its_first_report),
	};

	return cmocka_run_group_tests_name("phase_gate", tests, NULL, NULL);
}
