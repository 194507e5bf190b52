// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How records get from one endpoint to another: frames, windows, acknowledgements, what is sent
// again and when.
#include "pair.h"

static void connect__takes_few_frames(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	network_open(&network, &options);
	network_run(&network, 10 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_CONNECTED], 1);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_CONNECTED], 1);
	assert_in_range(network.n_datagrams, 3, 8);
	assert_true(network_state(&network, 0, 1).connected);
	assert_false(network_state(&network, 0, 1).lost);
	network_close(&network);
}

static void connect__what_was_queued_before_arrives(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	network_open(&network, &options);
	pair_send(&network, 10, 64);
	network_run(&network, 10 * MS);
	network_expect_all_delivered(&network);
	assert_int_equal(network.stations[1].delivered, 10);
	network_close(&network);
}

static void send__fills_frames(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	uint64_t before;

	(void)state;
	pair_open(&network, &options);
	before = network_counters(&network, 1, 0)->sequenced;
	pair_send(&network, 43, 64); // 21 fit a frame of 1468 bytes
	network_run(&network, 5 * MS);
	assert_int_equal(network.stations[1].delivered, 43);
	assert_int_equal(network_counters(&network, 1, 0)->sequenced - before, 3);
	network_close(&network);
}

static void send__refuses_what_the_queue_cannot_hold(void **state)
{
	struct network_options options = pair_options();
	struct network network;
	const unsigned most = 16;

	(void)state;
	options.parameters.queue_size = 16 * 1024;
	pair_open(&network, &options);
	assert_int_equal(control_room(network.stations[0].endpoint, 10, 1024),
			 16 * (1400 - 1024 + 8));
	pair_send(&network, most, 1024);
	assert_false(network_send(&network, 0, 1, 1024));
	assert_int_equal(network_counters(&network, 0, 1)->refused, 1);
	assert_int_equal(network_state(&network, 0, 1).queued, 16);
	assert_int_equal(control_room(network.stations[0].endpoint, 10, 8), 0);
	network_run(&network, 5 * MS);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	assert_true(network_send(&network, 0, 1, 1024));
	network_run(&network, 5 * MS);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void send__refuses_what_is_no_record(void **state)
{
	static const uint8_t record[2048] = { 0x34, 0x12, 16, 0 };
	uint8_t too_long[2048] = { 0x34, 0x12, 0, 0 };
	const struct network_options options = pair_options();
	struct control_endpoint *endpoint;
	struct network network;

	(void)state;
	network_open(&network, &options);
	endpoint = network.stations[0].endpoint;
	store_le16(too_long + 2, 1408);
	assert_true(control_send(endpoint, 10, record, 16));
	assert_false(control_send(endpoint, 10, record, 24));
	assert_false(control_send(endpoint, 10, record, 8));
	assert_false(control_send(endpoint, 10, record, 0));
	assert_false(control_send(endpoint, 10, too_long, 1408));
	assert_false(control_send(endpoint, 11, record, 16)); // no such peer
	assert_false(control_send(endpoint, CTRL_MAX_NODES, record, 16));
	assert_int_equal(control_room(endpoint, 11, 64), 0);
	network_close(&network);
}

static void room__is_never_too_much(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.parameters.window = 4;
	network_open(&network, &options);
	for (unsigned i = 0; i < 5; i++)
		assert_true(network_send(&network, 0, 1, 96));
	// The least favourable sizes: of 1400 bytes in a frame each time 512 are left.
	assert_int_equal(control_room(network.stations[0].endpoint, 10, 520), 4 * 888 - 5 * 96);
	assert_true(network_send(&network, 0, 1, 408));
	for (unsigned i = 0; i < 3; i++) {
		assert_true(network_send(&network, 0, 1, 520));
		assert_true(network_send(&network, 0, 1, 368));
	}
	assert_int_equal(control_room(network.stations[0].endpoint, 10, 520), 0);
	pair_watch(&network, 0);
	network_run(&network, 100 * MS);
	assert_int_equal(watched.n, 4); // the window
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void window__of_the_peer_is_kept(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	network.stations[1].parameters.window = 2;
	network_restart(&network, 1);
	network_run(&network, SILENCE);
	pair_watch(&network, 0);
	pair_send(&network, 6, 1024);
	network_run(&network, DELAY + 60 * US);
	assert_int_equal(watched.n, 2);
	network_run(&network, 10 * MS);
	assert_int_equal(watched.n, 6);
	assert_int_equal(network_counters(&network, 1, 0)->out_of_window, 0);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void loss__is_noticed_by_what_comes_later(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	pair_watch(&network, 1 << 1);
	pair_send(&network, 6, 1024);
	network_run(&network, 20 * MS);
	assert_int_equal(watched.n, 7);
	// Sooner than the retransmission timeout, of 2 ms at least.
	assert_true(watched.at[6] - watched.at[1] < 1 * MS);
	assert_int_equal(network_counters(&network, 0, 1)->retransmitted, 1);
	assert_int_equal(network_counters(&network, 1, 0)->duplicates, 0);
	network_expect_all_delivered(&network);
	network_close(&network);
}

// One frame, lost again and again: the intervals double up to the bound.
// What was sent again and lost again, too.
static void loss__of_a_retransmission_is_noticed_by_what_comes_later(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.parameters.rto_min = 100 * MS;
	pair_open(&network, &options);
	pair_watch(&network, 1 << 0 | 1 << 4);
	pair_send(&network, 4, 1024);
	for (unsigned i = 0; i < 20; i++) {
		network_run(&network, 500 * US);
		pair_send(&network, 1, 64);
	}
	network_run(&network, 10 * MS);
	assert_int_equal(network_counters(&network, 0, 1)->retransmitted, 2);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static bool drop_of_station_1(struct network *network, const struct datagram *datagram)
{
	(void)network;
	return datagram->from != 1;
}

static void loss__of_an_acknowledgement_costs_one_retransmission(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	network.filter = drop_of_station_1;
	pair_send(&network, 1, 64);
	network_run(&network, 1 * MS);
	network.filter = NULL;
	network_run(&network, 50 * MS);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	assert_int_equal(network_counters(&network, 0, 1)->retransmitted, 1);
	assert_int_equal(network_counters(&network, 1, 0)->duplicates, 1);
	network_close(&network);
}

static void loss__of_the_last_is_noticed_by_timeout(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	pair_watch(&network, 0x1FF);
	pair_send(&network, 1, 1024);
	network_run(&network, 900 * MS);
	assert_int_equal(watched.n, 10);
	for (unsigned i = 1; i < 10; i++) {
		const uint64_t interval = watched.at[i] - watched.at[i - 1];
		const uint64_t expected = i < 7 ? (2 * MS) << (i - 1) : 128 * MS;

		assert_in_range(interval, expected, expected + 100 * US);
	}
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void loss__the_timeout_never_exceeds_its_bound(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.parameters.rto_max = 10 * MS;
	pair_open(&network, &options);
	pair_watch(&network, 0x1FF);
	pair_send(&network, 1, 1024);
	network_run(&network, 200 * MS);
	assert_int_equal(watched.n, 10);
	for (unsigned i = 4; i < 10; i++)
		assert_in_range(watched.at[i] - watched.at[i - 1], 10 * MS, 10 * MS + 100 * US);
	network_close(&network);
}

static void round_trip__is_measured(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.delay_min = options.delay_max = 10 * MS;
	pair_open(&network, &options);
	network_run(&network, 5 * SECOND);
	assert_in_range(network_state(&network, 0, 1).rtt, 20 * MS - 100 * US, 20 * MS + 200 * US);
	assert_in_range(network_state(&network, 0, 1).rto, 20 * MS, 30 * MS);
	pair_watch(&network, 0);
	pair_send(&network, 100, 64);
	network_run(&network, SECOND);
	assert_int_equal(network_counters(&network, 0, 1)->retransmitted, 0);
	network_close(&network);
}

static void acknowledgement__waits_for_company(void **state)
{
	const struct network_options options = pair_options();
	const struct control_endpoint *endpoint;
	uint64_t before, sent_at, when;
	struct network network;

	(void)state;
	pair_open(&network, &options);
	endpoint = network.stations[0].endpoint;
	before = network_counters(&network, 1, 0)->frames_sent;
	sent_at = network.now;
	pair_send(&network, 1, 64);
	network_run(&network, DELAY + 150 * US);
	assert_int_equal(network.stations[1].delivered, 1);
	assert_int_equal(control_queued(endpoint, network_node(1)) -
			     control_acknowledged(endpoint, network_node(1), &when),
			 64);
	assert_int_equal(network_counters(&network, 1, 0)->frames_sent, before);
	network_run(&network, 200 * US);
	assert_int_equal(network_counters(&network, 1, 0)->frames_sent, before + 1);
	// How long the acknowledgement was delayed does not count, only the round trip.
	network_run(&network, DELAY);
	assert_int_equal(control_acknowledged(endpoint, network_node(1), &when),
			 control_queued(endpoint, network_node(1)));
	assert_in_range(when - sent_at, 2 * DELAY, 2 * DELAY + 50 * US);
	// Two frames are acknowledged at once.
	pair_send(&network, 2, 1024);
	network_run(&network, DELAY + 100 * US);
	assert_int_equal(network_counters(&network, 1, 0)->frames_sent, before + 2);
	network_close(&network);
}

static uint64_t reached_ago(const struct network *network)
{
	return network->now - control_reached(network->stations[0].endpoint, network_node(1));
}

static void reached__is_when_a_frame_left_that_has_arrived(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	uint64_t before;

	(void)state;
	pair_open(&network, &options);
	pair_send(&network, 1, 64);
	network_run(&network, 2 * MS);
	assert_in_range(reached_ago(&network), 2 * MS - 100 * US, 2 * MS + 100 * US);
	// The other station is heard, and does not hear this one.
	network.cut[0][1] = true;
	before = reached_ago(&network);
	network_run(&network, SECOND);
	assert_in_range(reached_ago(&network), SECOND + before - MS, SECOND + before + MS);
	assert_int_equal(control_reached(network.stations[0].endpoint, network_node(0)),
			 UINT64_MAX);
	network_close(&network);
}

static void duplicates__are_counted_and_change_nothing(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.duplicate = 1;
	pair_open(&network, &options);
	pair_send(&network, 30, 512);
	network_run(&network, 20 * MS);
	network_expect_all_delivered(&network);
	assert_int_equal(network_counters(&network, 1, 0)->duplicates,
			 network_counters(&network, 1, 0)->sequenced);
	network_expect_sums(&network);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect__takes_few_frames),
		cmocka_unit_test(connect__what_was_queued_before_arrives),
		cmocka_unit_test(send__fills_frames),
		cmocka_unit_test(send__refuses_what_the_queue_cannot_hold),
		cmocka_unit_test(send__refuses_what_is_no_record),
		cmocka_unit_test(room__is_never_too_much),
		cmocka_unit_test(window__of_the_peer_is_kept),
		cmocka_unit_test(loss__is_noticed_by_what_comes_later),
		cmocka_unit_test(loss__of_a_retransmission_is_noticed_by_what_comes_later),
		cmocka_unit_test(loss__of_an_acknowledgement_costs_one_retransmission),
		cmocka_unit_test(loss__of_the_last_is_noticed_by_timeout),
		cmocka_unit_test(loss__the_timeout_never_exceeds_its_bound),
		cmocka_unit_test(round_trip__is_measured),
		cmocka_unit_test(acknowledgement__waits_for_company),
		cmocka_unit_test(reached__is_when_a_frame_left_that_has_arrived),
		cmocka_unit_test(duplicates__are_counted_and_change_nothing),
	};

	return cmocka_run_group_tests_name("endpoint", tests, NULL, NULL);
}
