// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Endpoints with keys, with others and without: who is refused, and how keys are changed.
#include "network.h"

static struct control_keys keys_of(unsigned n, uint8_t first, uint8_t second)
{
	return (struct control_keys){ .n = n, .keys = { { first }, { second } } };
}

static struct network network;

static void open_with(const struct control_keys *keys)
{
	const struct network_options options = {
		.n_stations = 2,
		.seed = 1,
		.delay_min = 20 * US,
		.delay_max = 40 * US,
		.parameters = control_defaults(),
	};

	network_open(&network, &options);
	for (unsigned i = 0; i < 2; i++) {
		network.stations[i].parameters.keys = &keys[i];
		network_restart(&network, i);
	}
	network_run(&network, 2 * SECOND);
}

static bool connected(void)
{
	return network_state(&network, 0, 1).connected || network_state(&network, 1, 0).connected;
}

static void exchange(void)
{
	for (unsigned i = 0; i < 200; i++) {
		assert_true(network_send(&network, i % 2, !(i % 2), NETWORK_HEAD));
		network_run(&network, 1 * MS);
	}
	assert_true(network_drain(&network, 10 * MS));
}

static void key__same(void **state)
{
	const struct control_keys keys[] = { keys_of(1, 1, 0), keys_of(1, 1, 0) };

	(void)state;
	open_with(keys);
	exchange();
	network_expect_all_delivered(&network);
	network_expect_sums(&network);
	network_close(&network);
}

static void key__other(void **state)
{
	const struct control_keys keys[] = { keys_of(1, 1, 0), keys_of(1, 2, 0) };

	(void)state;
	open_with(keys);
	assert_false(connected());
	assert_true(network_counters(&network, 0, 1)->forged > 10);
	assert_true(network_counters(&network, 1, 0)->forged > 10);
	network_close(&network);
}

static void key__on_one_side(void **state)
{
	const struct control_keys keys[] = { keys_of(1, 1, 0), keys_of(0, 0, 0) };

	(void)state;
	open_with(keys);
	assert_false(connected());
	assert_true(network_counters(&network, 0, 1)->without_key > 10);
	assert_true(network_counters(&network, 1, 0)->with_key > 10);
	assert_int_equal(network_counters(&network, 0, 1)->frames_received, 0);
	assert_int_equal(network_counters(&network, 1, 0)->frames_received, 0);
	network_close(&network);
}

static void set_keys(unsigned station, struct control_keys keys)
{
	assert_true(control_set_keys(network.stations[station].endpoint, &keys));
	exchange();
}

// At each step the nodes change one after the other; no frame is refused.
static void key__changes_while_records_go(void **state)
{
	const struct control_keys old[] = { keys_of(1, 1, 0), keys_of(1, 1, 0) };

	(void)state;
	open_with(old);
	for (unsigned i = 0; i < 2; i++)
		set_keys(i, keys_of(2, 1, 2));
	for (unsigned i = 0; i < 2; i++)
		set_keys(i, keys_of(2, 2, 1));
	for (unsigned i = 0; i < 2; i++)
		set_keys(i, keys_of(1, 2, 0));
	network_expect_all_delivered(&network);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(network_counters(&network, i, !i)->forged, 0);
		assert_int_equal(network_counters(&network, i, !i)->retransmitted, 0);
		assert_int_equal(network_counters(&network, i, !i)->restarts, 0);
	}
	set_keys(0, keys_of(1, 2, 0));
	network_close(&network);
}

static void set_keys__never_to_none(void **state)
{
	const struct control_keys keys[] = { keys_of(1, 1, 0), keys_of(0, 0, 0) };

	(void)state;
	open_with(keys);
	assert_false(control_set_keys(network.stations[0].endpoint, &keys[1]));
	assert_false(control_set_keys(network.stations[1].endpoint, &keys[0]));
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key__same),
		cmocka_unit_test(key__other),
		cmocka_unit_test(key__on_one_side),
		cmocka_unit_test(key__changes_while_records_go),
		cmocka_unit_test(set_keys__never_to_none),
	};

	return cmocka_run_group_tests_name("endpoint_keys", tests, NULL, NULL);
}
