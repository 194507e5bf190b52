// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What endpoints do when a peer falls silent, comes back, restarts, or belongs to another epoch.
#include "pair.h"

#include "control/endpoint_internal.h"

static void heartbeat__old_ones_are_not_delivered(void **state)
{
	struct network_options options = pair_options();
	struct ctrl_heartbeat heartbeat = { .run_state = CTRL_RUNNING };
	struct network network;

	(void)state;
	options.delay_max = 500 * MS;
	options.duplicate = 0.5;
	network_open(&network, &options);
	for (unsigned i = 0; i < 100; i++) {
		heartbeat.run = i;
		assert_true(control_set_heartbeat(network.stations[0].endpoint, &heartbeat));
		network_run(&network, 100 * MS);
	}
	// network.c expects that their number does not fall.
	assert_in_range(network.stations[1].links[0].n_heartbeats, 20, 99);
	heartbeat.run_state = CTRL_N_RUN_STATES;
	assert_false(control_set_heartbeat(network.stations[0].endpoint, &heartbeat));
	network_close(&network);
}

static void silence__is_reported_once_and_the_queue_is_kept(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	uint64_t sent;

	(void)state;
	pair_open(&network, &options);
	pair_cut(&network, true);
	network_run(&network, 850 * MS);
	pair_send(&network, 3, 64);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 0);
	network_run(&network, 300 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	assert_true(network_state(&network, 0, 1).lost);
	assert_int_equal(network_state(&network, 0, 1).attempts, 6); // after 2, 4, ... 32 ms
	sent = network_counters(&network, 0, 1)->frames_sent;
	network_run(&network, 1000 * MS);
	// Heartbeats alone.
	assert_int_equal(network_counters(&network, 0, 1)->frames_sent, sent + 10);
	pair_cut(&network, false);
	network_run(&network, 150 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_BACK], 1);
	assert_int_equal(network_counters(&network, 0, 1)->lost, 1);
	assert_false(network_state(&network, 0, 1).lost);
	network_expect_all_delivered(&network);
	assert_int_equal(network.stations[1].delivered, 3);
	network_close(&network);
}

// Who has lost a peer asks it to answer, and does not wait for its next heartbeat.
static void silence__ends_with_the_first_answer(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	network_open(&network, &options);
	network.stations[1].parameters.heartbeat_interval = 900 * MS;
	network_restart(&network, 1);
	network_run(&network, 200 * MS);
	pair_cut(&network, true);
	network_run(&network, 1800 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	pair_cut(&network, false);
	network_run(&network, 110 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_BACK], 1);
	network_close(&network);
}

static void silence__what_was_lost_in_it_is_sent_again_at_once(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.parameters.rto_min = 900 * MS;
	options.parameters.rto_max = 5 * SECOND;
	pair_open(&network, &options);
	pair_cut(&network, true);
	pair_send(&network, 3, 64);
	network_run(&network,
		    1050 * MS); // sent again after 900 ms; the next time would be at 2.7 s
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	pair_cut(&network, false);
	network_run(&network, 150 * MS);
	network_expect_all_delivered(&network);
	network_close(&network);
}

// A process that got no CPU for a time knows nothing of its peers in that time.
static void absence__is_no_silence_of_the_peers(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	pair_send(&network, 3, 64);
	network.now += 3 * SECOND;
	network_run(&network, 900 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 0);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_LOST], 0);
	network_expect_all_delivered(&network);
	pair_cut(&network, true); // and silence is still found
	network_run(&network, 1150 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	network_close(&network);
}

static void restart__heartbeats_of_the_new_life_are_delivered(void **state)
{
	const struct network_options options = pair_options();
	const struct ctrl_heartbeat heartbeat = { .run = 5 };
	struct network network;

	(void)state;
	pair_open(&network, &options);
	assert_true(control_set_heartbeat(network.stations[1].endpoint, &heartbeat));
	network_run(&network, 3 * SECOND);
	assert_in_range(network.stations[0].links[1].n_heartbeats, 29, 31);
	network_restart(&network, 1);
	network_run(&network, SILENCE);
	assert_true(control_set_heartbeat(network.stations[1].endpoint, &heartbeat));
	network_run(&network, 1 * SECOND);
	assert_in_range(network.stations[0].links[1].n_heartbeats, 38, 41);
	network_close(&network);
}

static void restart__drops_the_queue_and_begins_anew(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	pair_send(&network, 5, 64);
	network_run(&network, 10 * MS);
	network_kill(&network, 1);
	pair_send(&network, 7, 64);
	network_run(&network, 50 * MS);
	network_restart(&network, 1);
	network_run(&network, SILENCE);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 1);
	assert_int_equal(network_counters(&network, 0, 1)->records_dropped, 7);
	assert_int_equal(network_counters(&network, 0, 1)->restarts, 1);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_CONNECTED], 2);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	pair_send(&network, 4, 64);
	assert_true(network_send(&network, 1, 0, 64));
	network_run(&network, 10 * MS);
	network_expect_all_delivered(&network);
	assert_int_equal(network.stations[1].delivered, 9);
	network_expect_sums(&network);
	network_close(&network);
}

static struct datagram *kept;

// Keeps the first sequenced frame of station 1.
static bool keep(struct network *network, const struct datagram *datagram)
{
	struct ctrl_frame frame;

	(void)network;
	assert_int_equal(ctrl_frame_decode(datagram->bytes, datagram->size, &frame), WIRE_OK);
	if (datagram->from == 1 && frame.header.flags & CTRL_SEQUENCED && !kept) {
		kept = test_malloc(sizeof(*datagram) + datagram->size);
		memcpy(kept, datagram, sizeof(*datagram) + datagram->size);
	}
	return true;
}

static void restart__frames_of_the_dead_session_do_not_displace_the_new_one(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	uint64_t before;

	(void)state;
	pair_open(&network, &options);
	kept = NULL;
	network.filter = keep;
	assert_true(network_send(&network, 1, 0, 64));
	network_run(&network, 10 * MS);
	assert_non_null(kept);
	network_restart(&network, 1);
	network_run(&network, SILENCE);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 1);
	before = network_counters(&network, 0, 1)->foreign;
	for (unsigned i = 0; i < 20; i++) {
		network_transmit(&network, 1, 0, kept->bytes, kept->size, 0);
		assert_true(network_send(&network, 0, 1, 64));
		assert_true(network_send(&network, 1, 0, 64));
		network_run(&network, 20 * MS);
	}
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 1);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_RESTARTED], 0);
	assert_int_equal(network_counters(&network, 0, 1)->foreign, before + 20);
	network_expect_all_delivered(&network);
	test_free(kept);
	network_close(&network);
}

static void forget__is_a_restart_for_the_peer(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	pair_send(&network, 5, 64);
	network_forget(&network, 0, 1);
	assert_false(network_state(&network, 0, 1).connected);
	assert_int_equal(network_counters(&network, 0, 1)->records_dropped, 5);
	pair_send(&network, 3, 64);
	network_run(&network, 50 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_CONNECTED], 2);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_RESTARTED], 1);
	assert_int_equal(network.stations[1].delivered, 3);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static uint64_t forget_at;

static void forget_then(struct station *station, unsigned from, const struct ctrl_record *record)
{
	(void)record;
	if (station->delivered == forget_at)
		network_forget(station->network, station->number, from);
}

static void expect_forgotten_after(uint64_t n_records)
{
	const struct network_options options = pair_options();
	struct network network;

	pair_open(&network, &options);
	forget_at = n_records;
	network.stations[1].on_deliver = forget_then;
	pair_watch(&network, 1); // the first frame comes last: the others wait in their places
	pair_send(&network, 63, 64);
	network_run(&network, 50 * MS);
	assert_int_equal(network.stations[1].delivered, n_records);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 1);
	network.stations[1].on_deliver = NULL;
	pair_send(&network, 3, 64);
	network_run(&network, 50 * MS);
	network_expect_all_delivered(&network);
	network_expect_sums(&network);
	network_close(&network);
}

static void forget__while_a_frame_is_delivered_ends_it(void **state)
{
	(void)state;
	expect_forgotten_after(2);
	expect_forgotten_after(21); // with the frame
	expect_forgotten_after(25); // in one that waited
}

static enum control_event forget_event;

static void forget_on(struct station *station, unsigned from, enum control_event event)
{
	if (event != forget_event)
		return;
	station->on_event = NULL;
	network_forget(station->network, station->number, from);
}

// A manager that gives up a node when it is told of something.
static void expect_forgotten_on(enum control_event event)
{
	const struct network_options options = pair_options();
	struct network network;

	pair_open(&network, &options);
	pair_send(&network, 3, 64);
	network_run(&network, 10 * MS);
	forget_event = event;
	network.stations[0].on_event = forget_on;
	pair_cut(&network, true);
	pair_send(&network, 5, 64);
	network_run(&network, 1500 * MS);
	if (event == CONTROL_RESTARTED)
		network_restart(&network, 1);
	pair_cut(&network, false);
	network_run(&network, 500 * MS);
	assert_null(network.stations[0].on_event);
	assert_true(network_state(&network, 0, 1).connected);
	assert_int_equal(network_counters(&network, 0, 1)->records_dropped, 5);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	pair_send(&network, 2, 64);
	assert_true(network_send(&network, 1, 0, 64));
	network_run(&network, 10 * MS);
	network_expect_all_delivered(&network);
	assert_int_equal(network.stations[1].delivered, 5);
	network_expect_sums(&network);
	network_close(&network);
}

static void forget__when_told_of_something(void **state)
{
	(void)state;
	expect_forgotten_on(CONTROL_LOST);
	expect_forgotten_on(CONTROL_BACK);
	expect_forgotten_on(CONTROL_RESTARTED);
}

static void epoch__a_lower_one_is_fenced_and_learns_it(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.parameters.epoch = 7;
	pair_open(&network, &options);
	network.stations[1].endpoint->epoch = 9;
	pair_send(&network, 1, 64);
	network_run(&network, DELAY + 10 * US);
	network_run(&network, 60 * US);
	assert_int_equal(network.stations[1].delivered, 0);
	assert_int_equal(network_counters(&network, 1, 0)->fenced, 1);
	network_run(&network, 20 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_EPOCH], 1);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_EPOCH], 0);
	assert_int_equal(network.stations[0].endpoint->epoch, 9);
	assert_int_equal(network.stations[1].delivered, 1); // sent again, in the new epoch
	network_expect_all_delivered(&network);
	network_expect_sums(&network);
	network_close(&network);
}

static void epoch__zero_is_not_fenced(void **state)
{
	const struct network_options options = pair_options();
	struct network network;

	(void)state;
	network_open(&network, &options);
	network.stations[1].parameters.epoch = 5;
	network_restart(&network, 1);
	network_run(&network, 150 * MS);
	assert_true(network_state(&network, 1, 0).connected);
	assert_int_equal(network_counters(&network, 1, 0)->fenced, 0);
	assert_int_equal(network.stations[0].endpoint->epoch, 5);
	network_close(&network);
}

// A manager that was cut off while another took over says nothing that counts any more.
static void epoch__a_stale_manager_is_told(void **state)
{
	struct network_options options = pair_options();
	struct network network;

	(void)state;
	options.n_stations = 3; // 0: old manager, 1: builder, 2: new manager
	options.parameters.epoch = 3;
	network_open(&network, &options);
	network_run(&network, 200 * MS);
	pair_cut(&network, true);
	network.cut[0][2] = network.cut[2][0] = true;
	network.stations[2].endpoint->epoch = 4;
	network_run(&network, 3 * SECOND);
	pair_send(&network, 3, 64);
	assert_int_equal(network.stations[1].links[2].events[CONTROL_EPOCH], 1);
	pair_cut(&network, false);
	network_run(&network, 105 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_EPOCH], 1);
	assert_true(network_counters(&network, 1, 0)->fenced >= 1);
	assert_int_equal(network.stations[0].endpoint->epoch, 4);
	network_close(&network);
}

static void session__sequence_numbers_wrap(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct control_parameters parameters;

	(void)state;
	network_open(&network, &options);
	control_destroy(network.stations[0].endpoint);
	parameters = network.stations[0].parameters;
	parameters.session = 0x12345678FFFFFFF0;
	network.stations[0].endpoint = control_create(&parameters, NULL);
	assert_non_null(network.stations[0].endpoint);
	for (unsigned i = 0; i < 50; i++) {
		pair_send(&network, 3, 1024);
		network_run(&network, 5 * MS);
	}
	network_expect_all_delivered(&network);
	assert_int_equal(network_counters(&network, 1, 0)->sequenced, 150);
	assert_int_equal(network_counters(&network, 0, 1)->retransmitted, 0);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heartbeat__old_ones_are_not_delivered),
		cmocka_unit_test(silence__is_reported_once_and_the_queue_is_kept),
		cmocka_unit_test(silence__ends_with_the_first_answer),
		cmocka_unit_test(silence__what_was_lost_in_it_is_sent_again_at_once),
		cmocka_unit_test(absence__is_no_silence_of_the_peers),
		cmocka_unit_test(restart__heartbeats_of_the_new_life_are_delivered),
		cmocka_unit_test(restart__drops_the_queue_and_begins_anew),
		cmocka_unit_test(restart__frames_of_the_dead_session_do_not_displace_the_new_one),
		cmocka_unit_test(forget__is_a_restart_for_the_peer),
		cmocka_unit_test(forget__while_a_frame_is_delivered_ends_it),
		cmocka_unit_test(forget__when_told_of_something),
		cmocka_unit_test(epoch__a_lower_one_is_fenced_and_learns_it),
		cmocka_unit_test(epoch__zero_is_not_fenced),
		cmocka_unit_test(epoch__a_stale_manager_is_told),
		cmocka_unit_test(session__sequence_numbers_wrap),
	};

	return cmocka_run_group_tests_name("endpoint_sessions", tests, NULL, NULL);
}
