// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The last will of a process: who learns at once that the process has ended, and which wills have
// no effect.
#include "pair.h"

static struct network network;

static void open_with_wills(const struct control_keys *keys)
{
	struct network_options options = pair_options();

	options.wills = 1;
	options.parameters.keys = keys;
	pair_open(&network, &options);
	network_run(&network, 200 * MS); // a heartbeat has gone to the connected peer
	assert_true(network.stations[1].links[0].will_size > 0);
}

static const struct link *seen(void)
{
	return &network.stations[0].links[1];
}

static void kill_and_expect_known(void)
{
	network_kill(&network, 1);
	network_run(&network, 2 * DELAY);
	assert_int_equal(seen()->events[CONTROL_PROCESS_ENDED], 1);
}

static void expect_no_effect(void)
{
	network_run(&network, 10 * MS);
	assert_int_equal(seen()->events[CONTROL_PROCESS_ENDED], 0);
	assert_int_equal(network_counters(&network, 0, 1)->process_ended, 0);
	assert_true(network_state(&network, 0, 1).connected);
	network_close(&network);
}

// Sends the will that station 1 had stored, while its process lives or another one has come.
static void send_will(const struct link *stored)
{
	network_transmit(&network, 1, 0, stored->will, stored->will_size, DELAY);
}

static void expect_known_at_once(const struct control_keys *keys)
{
	open_with_wills(keys);
	pair_send(&network, 3, 64);
	kill_and_expect_known();
	assert_int_equal(network_counters(&network, 0, 1)->process_ended, 1);
	assert_true(network_state(&network, 0, 1).process_ended);
	assert_false(network_state(&network, 0, 1).connected);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	network_run(&network, 2 * SECOND);
	assert_int_equal(seen()->events[CONTROL_LOST], 0);
	network_expect_sums(&network);
	network_close(&network);
}

static void will__is_known_at_once(void **state)
{
	const struct control_keys keys = { .n = 1, .keys = { { 1 } } };

	(void)state;
	expect_known_at_once(NULL);
	expect_known_at_once(&keys);
}

// Without the will the new process is refused until the old one counts as silent.
static void will__a_new_process_is_accepted(void **state)
{
	(void)state;
	open_with_wills(NULL);
	network_restart(&network, 1);
	network_run(&network, 150 * MS);
	assert_int_equal(seen()->events[CONTROL_PROCESS_ENDED], 1);
	assert_int_equal(seen()->events[CONTROL_CONNECTED], 2);
	assert_int_equal(network_counters(&network, 0, 1)->second_process, 0);
	assert_false(network_state(&network, 0, 1).process_ended);
	assert_true(network_send(&network, 1, 0, NETWORK_HEAD));
	assert_true(network_drain(&network, 10 * MS));
	network_expect_all_delivered(&network);
	network_close(&network);
}

// It was sealed before any number of frames.
static void will__is_the_newest_frame(void **state)
{
	const struct control_keys keys = { .n = 1, .keys = { { 1 } } };

	(void)state;
	open_with_wills(&keys);
	for (unsigned i = 0; i < 500; i++) {
		assert_true(network_send(&network, 1, 0, NETWORK_HEAD));
		network_run(&network, 1 * MS);
	}
	kill_and_expect_known();
	assert_int_equal(network_counters(&network, 0, 1)->replayed, 0);
	network_close(&network);
}

// A manager has come into office since it was stored.
static void will__of_an_earlier_epoch(void **state)
{
	(void)state;
	open_with_wills(NULL);
	control_set_epoch(network.stations[0].endpoint, 7);
	kill_and_expect_known();
	network_close(&network);
}

static void will__of_the_process_before(void **state)
{
	struct link stored;

	(void)state;
	open_with_wills(NULL);
	stored = network.stations[1].links[0];
	network.options.wills = 0;
	network_restart(&network, 1);
	network_run(&network, SILENCE + 200 * MS);
	send_will(&stored);
	expect_no_effect();
}

static void will__of_the_session_before(void **state)
{
	struct link stored;

	(void)state;
	open_with_wills(NULL);
	stored = network.stations[1].links[0];
	network_forget(&network, 1, 0);
	network_run(&network, 500 * MS);
	send_will(&stored);
	expect_no_effect();
}

// The one of the present sessions has an effect: the process has stored it anew.
static void will__follows_the_sessions(void **state)
{
	(void)state;
	open_with_wills(NULL);
	network_forget(&network, 1, 0);
	network_run(&network, 500 * MS);
	kill_and_expect_known();
	network_close(&network);
}

static void will__follows_the_keys(void **state)
{
	const struct control_keys keys = { .n = 2, .keys = { { 1 }, { 2 } } };
	const struct control_keys next = { .n = 1, .keys = { { 2 } } };

	(void)state;
	open_with_wills(&keys);
	assert_true(control_set_keys(network.stations[1].endpoint, &next));
	assert_true(control_set_keys(network.stations[0].endpoint, &next));
	network_run(&network, 200 * MS);
	kill_and_expect_known();
	assert_int_equal(network_counters(&network, 0, 1)->forged, 0);
	network_close(&network);
}

static void will__changed_on_its_way(void **state)
{
	const struct control_keys keys = { .n = 1, .keys = { { 1 } } };
	struct link changed;

	(void)state;
	open_with_wills(&keys);
	changed = network.stations[1].links[0];
	changed.will[CTRL_HEADER_SIZE - 4] ^= 1;
	send_will(&changed);
	network_run(&network, 10 * MS);
	assert_int_equal(network_counters(&network, 0, 1)->forged, 1);
	expect_no_effect();
}

// What a dead process had sent before arrives behind its will, and opens no session.
static void will__overtakes(void **state)
{
	(void)state;
	open_with_wills(NULL);
	network.options.delay_min = network.options.delay_max = 5 * MS;
	assert_true(network_send(&network, 1, 0, NETWORK_HEAD));
	network_run(&network, 1 * MS);
	network.options.delay_min = network.options.delay_max = DELAY;
	network_kill(&network, 1);
	network_run(&network, SECOND);
	assert_int_equal(seen()->events[CONTROL_PROCESS_ENDED], 1);
	assert_int_equal(seen()->events[CONTROL_CONNECTED], 1);
	assert_true(network_counters(&network, 0, 1)->foreign > 0);
	assert_false(network_state(&network, 0, 1).connected);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(will__is_known_at_once),
		cmocka_unit_test(will__a_new_process_is_accepted),
		cmocka_unit_test(will__is_the_newest_frame),
		cmocka_unit_test(will__of_an_earlier_epoch),
		cmocka_unit_test(will__of_the_process_before),
		cmocka_unit_test(will__of_the_session_before),
		cmocka_unit_test(will__follows_the_sessions),
		cmocka_unit_test(will__follows_the_keys),
		cmocka_unit_test(will__changed_on_its_way),
		cmocka_unit_test(will__overtakes),
	};

	return cmocka_run_group_tests_name("endpoint_will", tests, NULL, NULL);
}
