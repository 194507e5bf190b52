// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A process that is refused, because another one of its node number lives: when it is told so, what
// it learns, and what it does meanwhile.
#include "pair.h"

static void refused__until_the_silence_of_the_process_before(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	network_restart(&network, 1);
	network_run(&network, 900 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 0);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_OCCUPIED], 1);
	assert_true(network_state(&network, 1, 0).occupied);
	assert_true(network_counters(&network, 0, 1)->second_process > 0);
	network_run(&network, 250 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 1);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_OCCUPIED], 1);
	assert_false(network_state(&network, 1, 0).occupied);
	network_close(&network);
}

static uint64_t refused_with; // the session in frames that refuse a process

// Of what station 0 sends, the stranger at another address than station 1 gets refusals only.
static bool only_refusals(struct network *network, const struct datagram *datagram)
{
	struct ctrl_frame frame;

	(void)network;
	assert_int_equal(ctrl_frame_decode(datagram->bytes, datagram->size, &frame), WIRE_OK);
	if (datagram->to == 1 && !(frame.header.flags & CTRL_OCCUPIED))
		return false;
	if (datagram->to == 1)
		refused_with = frame.header.session;
	return true;
}

// A refusal goes to whoever sent. It tells no session with which that process could take the place
// of the other when it has died.
static void refused__learns_no_session(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	refused_with = 0;
	network.filter = only_refusals;
	network_restart(&network, 1);
	network_run(&network, 500 * MS);
	assert_int_equal(refused_with, CTRL_NO_SESSION);
	network_run(&network, 2 * SECOND); // the process before is dead
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 0);
	network.filter = NULL;
	network_run(&network, SECOND);
	assert_true(network_state(&network, 1, 0).connected);
	network_close(&network);
}

static struct network_options triple_options(void)
{
	struct network_options options = pair_options();

	options.n_stations = 3;
	return options;
}

// Station 0 is dead; nobody remembers it.
static void open_without_zero(struct network *network)
{
	const struct network_options options = triple_options();

	network_open(network, &options);
	network_run(network, SECOND);
	network_kill(network, 0);
	network_run(network, SILENCE);
}

// Stations 0 and 1 have new processes, and station 2 is in session with the one of 1 before.
static void restart_two(struct network *network)
{
	open_without_zero(network);
	network_restart(network, 1);
	network_run(network, 10 * MS);
	assert_true(network_state(network, 1, 2).occupied);
	network_restart(network, 0);
}

// Station 0 knows neither of the two processes, and takes the one that station 2 accepts.
static void refused__opens_no_session(void **state)
{
	struct network network;

	(void)state;
	restart_two(&network);
	network_run(&network, 900 * MS);
	assert_false(network_state(&network, 0, 1).connected);
	assert_false(network_state(&network, 1, 0).connected);
	assert_true(network_state(&network, 0, 2).connected);
	network_run(&network, 350 * MS);
	assert_true(network_state(&network, 1, 2).connected);
	assert_true(network_state(&network, 0, 1).alive);
	assert_true(network_state(&network, 1, 0).alive);
	network_close(&network);
}

static void refused__no_longer_by_a_dead_peer(void **state)
{
	struct network network;

	(void)state;
	restart_two(&network);
	network_run(&network, 500 * MS);
	network_kill(&network, 2);
	network_run(&network, 900 * MS);
	assert_false(network_state(&network, 0, 1).connected);
	network_run(&network, 350 * MS);
	assert_true(network_state(&network, 0, 1).alive);
	assert_true(network_state(&network, 1, 0).alive);
	network_close(&network);
}

// Otherwise two processes that are each accepted somewhere could wait for each other.
static void refused__who_is_in_session_stays_when_refused_elsewhere(void **state)
{
	struct network network;

	(void)state;
	open_without_zero(&network);
	network.cut[1][2] = network.cut[2][1] = true;
	network_restart(&network, 0);
	network_restart(&network, 1);
	network_run(&network, 50 * MS);
	assert_true(network_state(&network, 1, 0).connected);
	network.cut[1][2] = network.cut[2][1] = false;
	network_run(&network, 150 * MS);
	assert_true(network_state(&network, 1, 2).occupied);
	assert_true(network_state(&network, 1, 0).alive);
	assert_true(network_state(&network, 0, 1).alive);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused__until_the_silence_of_the_process_before),
		cmocka_unit_test(refused__learns_no_session),
		cmocka_unit_test(refused__opens_no_session),
		cmocka_unit_test(refused__no_longer_by_a_dead_peer),
		cmocka_unit_test(refused__who_is_in_session_stays_when_refused_elsewhere),
	};

	return cmocka_run_group_tests_name("endpoint_refused", tests, NULL, NULL);
}
