// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Endpoints over bad networks: whatever is lost, doubled, overtaken or restarted, each record
// arrives once and in order in its session, and in the end nothing is left over. What must hold of
// each record is checked where it is delivered (network.c).
#include "network.h"

#include <string.h>

#define DRAIN_LIMIT (20 * SECOND)
#ifdef __SANITIZE_ADDRESS__
#define SEED_STEP 4u
#else
#define SEED_STEP 1u
#endif

struct plan {
	unsigned n_stations;
	double loss;
	unsigned rounds;        // of `round` each
	double restart, forget; // probability in a round
	double partition;       // likewise, of 2 s
	unsigned records;       // most that are sent in a round
	double shared;          // probability that a record is for several stations
	double wills;           // likewise, that the last will of a process is sent
};

static const uint64_t round_time = 10 * MS;

static unsigned below(struct network *network, unsigned n)
{
	return (unsigned)(random_next(&network->random) % n);
}

static unsigned another(struct network *network, unsigned station)
{
	return (station + 1 + below(network, network->options.n_stations - 1)) %
	       network->options.n_stations;
}

static bool with(struct network *network, double probability)
{
	return random_uniform(&network->random) < probability;
}

static const struct control_keys keys = { .n = 1, .keys = { { 1, 2, 3 } } };

static void open_network(struct network *network, const struct plan *plan, uint64_t seed)
{
	struct network_options options = {
		.n_stations = plan->n_stations,
		.seed = seed,
		.loss = plan->loss,
		.duplicate = 0.05,
		.shares = plan->shared > 0,
		.wills = plan->wills,
		.refusal = 0.05,
		.delay_min = 20 * US,
		.delay_max = 2 * MS,
		.parameters = control_defaults(),
	};
	static const uint16_t windows[] = { 1, 2, 5, 16, 64 };

	options.parameters.window = windows[seed % 5];
	options.parameters.epoch = 1;
	options.parameters.keys = seed / 5 % 2 ? &keys : NULL;
	options.parameters.heartbeat_interval = 10 * MS;
	options.parameters.heartbeat_timeout = 100 * MS;
	network_open(network, &options);
}

// Windows of different sizes talk to each other after restarts.
static void restart(struct network *network, unsigned number)
{
	network->stations[number].parameters.window = (uint16_t)(1 + below(network, 64));
	network_restart(network, number);
}

// Often all of them.
static unsigned some_stations(struct network *network)
{
	return with(network, 0.7) ? ~0u : (unsigned)random_next(&network->random);
}

static uint64_t send_some(struct network *network, const struct plan *plan)
{
	uint64_t n = 0;

	for (unsigned i = below(network, plan->records + 1); i > 0; i--) {
		const unsigned from = below(network, plan->n_stations);
		const size_t size = NETWORK_HEAD + 8 * (size_t)below(network, 101);

		if (with(network, plan->shared))
			n += network_send_all(network, from, some_stations(network),
					      NETWORK_ALL_HEAD + 8 * (size_t)below(network, 101));
		else
			n += network_send(network, from, another(network, from), size);
	}
	return n;
}

static void set_heartbeats(struct network *network, unsigned number)
{
	const struct ctrl_heartbeat heartbeat = { .run = number };

	for (unsigned i = 0; i < network->options.n_stations; i++)
		assert_true(control_set_heartbeat(network->stations[i].endpoint, &heartbeat));
}

static void heal(struct network *network)
{
	memset(network->cut, 0, sizeof(network->cut));
}

static void cut_off(struct network *network, unsigned number)
{
	for (unsigned i = 0; i < network->options.n_stations; i++) {
		network->cut[number][i] = true;
		network->cut[i][number] = with(network, 0.7); // else one direction only
	}
}

static void run_round(struct network *network, const struct plan *plan, uint64_t *healed_at)
{
	const unsigned station = below(network, plan->n_stations);

	if (with(network, plan->restart))
		restart(network, station);
	if (with(network, plan->forget))
		network_forget(network, station, another(network, station));
	if (*healed_at <= network->now) {
		heal(network);
		if (with(network, plan->partition)) {
			cut_off(network, station);
			*healed_at = network->now + 2 * SECOND;
		}
	}
	network_run(network, round_time);
}

// What happened in all simulations of a plan.
struct trouble {
	uint64_t sent; // records
	uint64_t lost, doubled, shared;
	uint64_t repeated; // shared frames, to a station alone
	uint64_t events[CONTROL_PROCESS_ENDED + 1];
};

static void add_trouble(const struct network *network, struct trouble *trouble)
{
	trouble->lost += network->n_lost;
	trouble->doubled += network->n_doubled;
	trouble->shared += network->n_shared;
	for (unsigned i = 0; i < network->options.n_stations; i++)
		for (unsigned j = 0; j < network->options.n_stations; j++) {
			if (i != j && !network->stations[i].dead)
				trouble->repeated +=
				    network_counters(network, i, j)->shared_repeated;
			for (unsigned event = 0; event <= CONTROL_PROCESS_ENDED; event++)
				trouble->events[event] +=
				    network->stations[i].links[j].events[event];
		}
}

// What the plan was to put to the test has happened.
static void expect_trouble(const struct trouble *trouble, const struct plan *plan)
{
	assert_true(trouble->sent > 1000);
	assert_true(trouble->doubled > 0);
	assert_int_equal(plan->shared > 0, trouble->shared > 100);
	if (plan->shared > 0 && plan->loss > 0)
		assert_true(trouble->repeated > 100);
	assert_true(trouble->events[CONTROL_CONNECTED] > 0);
	assert_int_equal(plan->loss > 0, trouble->lost > 0);
	assert_int_equal(plan->partition > 0 || plan->restart > 0,
			 trouble->events[CONTROL_LOST] > 0);
	// A process that has just started and is refused falls silent for others, too.
	if (plan->partition > 0 || plan->restart == 0)
		assert_int_equal(plan->partition > 0, trouble->events[CONTROL_BACK] > 0);
	assert_int_equal(plan->restart > 0, trouble->events[CONTROL_RESTARTED] > 0);
	assert_int_equal(plan->wills > 0, trouble->events[CONTROL_PROCESS_ENDED] > 0);
}

static void simulate(const struct plan *plan, uint64_t seed, struct trouble *trouble)
{
	struct network network;
	uint64_t n_sent = 0, healed_at = 0;

	open_network(&network, plan, seed);
	for (unsigned i = 0; i < plan->rounds; i++) {
		set_heartbeats(&network, i + 1);
		n_sent += send_some(&network, plan);
		run_round(&network, plan, &healed_at);
	}
	heal(&network);
	network_run(&network, SECOND); // the last restart is noticed by all
	assert_true(network_drain(&network, DRAIN_LIMIT));
	network_expect_all_delivered(&network);
	network_expect_sums(&network);
	trouble->sent += n_sent;
	add_trouble(&network, trouble);
	network_close(&network);
}

static void simulate_all(const struct plan *plan, unsigned seeds)
{
	struct trouble trouble = { 0 };

	for (uint64_t seed = 0; seed < seeds; seed += SEED_STEP)
		simulate(plan, seed, &trouble);
	expect_trouble(&trouble, plan);
}

static void two_endpoints__without_faults(void **state)
{
	const struct plan plan = { .n_stations = 2, .rounds = 200, .records = 100 };

	(void)state;
	simulate_all(&plan, 5);
}

static void two_endpoints__5_percent_lost(void **state)
{
	const struct plan plan = { .n_stations = 2, .loss = 0.05, .rounds = 300, .records = 60 };

	(void)state;
	simulate_all(&plan, 10);
}

static void two_endpoints__30_percent_lost(void **state)
{
	const struct plan plan = { .n_stations = 2, .loss = 0.3, .rounds = 300, .records = 20 };

	(void)state;
	simulate_all(&plan, 10);
}

static void two_endpoints__partitions(void **state)
{
	const struct plan plan = {
		.n_stations = 2, .loss = 0.05, .rounds = 1000, .partition = 0.02, .records = 20
	};

	(void)state;
	simulate_all(&plan, 5);
}

static void two_endpoints__restarts(void **state)
{
	const struct plan plan = {
		.n_stations = 2, .loss = 0.05, .rounds = 600, .restart = 0.02, .records = 20
	};

	(void)state;
	simulate_all(&plan, 15);
}

static void two_endpoints__forget_each_other(void **state)
{
	const struct plan plan = { .n_stations = 2,
				   .loss = 0.05,
				   .rounds = 600,
				   .restart = 0.01,
				   .forget = 0.05,
				   .records = 20 };

	(void)state;
	simulate_all(&plan, 15);
}

static void two_endpoints__last_wills(void **state)
{
	const struct plan plan = { .n_stations = 2,
				   .loss = 0.05,
				   .rounds = 600,
				   .restart = 0.05,
				   .records = 20,
				   .wills = 0.8 };

	(void)state;
	simulate_all(&plan, 15);
}

static void five_endpoints__5_percent_lost(void **state)
{
	const struct plan plan = { .n_stations = 5, .loss = 0.05, .rounds = 200, .records = 200 };

	(void)state;
	simulate_all(&plan, 5);
}

static void five_endpoints__everything(void **state)
{
	const struct plan plan = { .n_stations = 5,
				   .loss = 0.3,
				   .rounds = 800,
				   .restart = 0.01,
				   .forget = 0.01,
				   .partition = 0.01,
				   .records = 50,
				   .wills = 0.5 };

	(void)state;
	simulate_all(&plan, 10);
}

// One station is what an event manager is: the others share most of what it sends.
static void shared__without_faults(void **state)
{
	const struct plan plan = { .n_stations = 5, .rounds = 200, .records = 60, .shared = 0.8 };

	(void)state;
	simulate_all(&plan, 10);
}

static void shared__10_percent_lost(void **state)
{
	const struct plan plan = {
		.n_stations = 5, .loss = 0.1, .rounds = 200, .records = 60, .shared = 0.8
	};

	(void)state;
	simulate_all(&plan, 20);
}

static void shared__restarts(void **state)
{
	const struct plan plan = { .n_stations = 4,
				   .loss = 0.1,
				   .rounds = 400,
				   .restart = 0.02,
				   .forget = 0.05,
				   .records = 40,
				   .shared = 0.7,
				   .wills = 0.5 };

	(void)state;
	simulate_all(&plan, 20);
}

static void shared__everything(void **state)
{
	const struct plan plan = { .n_stations = 5,
				   .loss = 0.2,
				   .rounds = 600,
				   .restart = 0.01,
				   .forget = 0.01,
				   .partition = 0.01,
				   .records = 40,
				   .shared = 0.5 };

	(void)state;
	simulate_all(&plan, 15);
}

// The argument selects tests by their names.
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_endpoints__without_faults),
		cmocka_unit_test(two_endpoints__5_percent_lost),
		cmocka_unit_test(two_endpoints__30_percent_lost),
		cmocka_unit_test(two_endpoints__partitions),
		cmocka_unit_test(two_endpoints__restarts),
		cmocka_unit_test(two_endpoints__forget_each_other),
		cmocka_unit_test(two_endpoints__last_wills),
		cmocka_unit_test(five_endpoints__5_percent_lost),
		cmocka_unit_test(five_endpoints__everything),
		cmocka_unit_test(shared__without_faults),
		cmocka_unit_test(shared__10_percent_lost),
		cmocka_unit_test(shared__restarts),
		cmocka_unit_test(shared__everything),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("endpoint_random", tests, NULL, NULL);
}
