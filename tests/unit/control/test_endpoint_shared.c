// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames by multicast: who gets records so, what is repeated, and what is refused. That each record
// arrives once and in order, test_endpoint_random.c expects.
#include "pair.h"

#include <stdlib.h>

#define ALL 6u // stations 1 and 2

static struct network network;
static struct datagram *recorded; // the last shared frame to station 1
static unsigned n_alone;          // frames with records to one station
static bool loses_shared;         // all shared frames are lost

static bool watch(struct network *watched_network, const struct datagram *datagram)
{
	const uint8_t flags = ctrl_frame_flags(datagram->bytes);

	(void)watched_network;
	if ((flags & CTRL_SHARED) == 0) {
		n_alone += (flags & CTRL_SEQUENCED) != 0;
		return true;
	}
	if (datagram->to == 1) {
		free(recorded);
		recorded = malloc(sizeof(*datagram) + datagram->size);
		assert_non_null(recorded);
		memcpy(recorded, datagram, sizeof(*datagram) + datagram->size);
	}
	return !loses_shared;
}

// Station 0 can send by multicast to the others, which are connected to it.
static void open_shared(const struct control_keys *keys)
{
	struct network_options options = pair_options();

	options.n_stations = 3;
	options.shares = true;
	options.parameters.keys = keys;
	network_open(&network, &options);
	network_run(&network, 300 * MS);
	for (unsigned to = 1; to < 3; to++)
		assert_true(network_send(&network, 0, to, NETWORK_HEAD));
	network_run(&network, 20 * MS);
	loses_shared = false;
	n_alone = 0;
	network.filter = watch;
}

static void close_shared(void)
{
	network_close(&network);
	free(recorded);
	recorded = NULL;
}

static void share(unsigned to)
{
	assert_true(network_send_all(&network, 0, to, NETWORK_ALL_HEAD));
	network_run(&network, 5 * MS);
}

static void records_for_all__are_sent_in_one_frame(void **state)
{
	(void)state;
	open_shared(NULL);
	for (unsigned i = 1; i <= 10; i++) {
		share(ALL);
		assert_int_equal(network.n_shared, i);
	}
	assert_int_equal(n_alone, 0);
	for (unsigned to = 1; to < 3; to++) {
		assert_int_equal(network_counters(&network, 0, to)->shared_sent, 10);
		assert_int_equal(network_counters(&network, 0, to)->shared_repeated, 0);
		assert_int_equal(network_counters(&network, to, 0)->shared_received, 10);
	}
	network_expect_all_delivered(&network);
	close_shared();
}

static void records_for_one__are_sent_to_it_alone(void **state)
{
	(void)state;
	open_shared(NULL);
	share(2);
	assert_int_equal(network.n_shared, 0);
	assert_int_equal(n_alone, 1);
	network_expect_all_delivered(&network);
	close_shared();
}

// The next shared frame tells station 1 its place.
static void records_between__leave_a_station_out(void **state)
{
	(void)state;
	open_shared(NULL);
	assert_true(network_send_all(&network, 0, ALL, NETWORK_ALL_HEAD));
	assert_true(network_send(&network, 0, 1, NETWORK_HEAD));
	share(ALL);
	assert_int_equal(network_counters(&network, 0, 1)->shared_sent, 0);
	share(ALL);
	assert_int_equal(network_counters(&network, 1, 0)->shared_received, 1);
	assert_int_equal(network_counters(&network, 2, 0)->shared_received, 1);
	network_expect_all_delivered(&network);
	close_shared();
}

static void lost_frames__are_repeated_and_then_not_shared(void **state)
{
	(void)state;
	open_shared(NULL);
	loses_shared = true;
	for (unsigned i = 0; i < 100; i++)
		share(ALL);
	network_run(&network, 100 * MS);
	assert_in_range(network.n_shared, 16, 60);
	assert_int_equal(network_counters(&network, 1, 0)->shared_received, 0);
	network_expect_all_delivered(&network);
	loses_shared = false;
	network_run(&network, 5 * SECOND);
	share(ALL);
	assert_int_equal(network_counters(&network, 1, 0)->shared_received, 1);
	network_expect_all_delivered(&network);
	close_shared();
}

static void acknowledgements__go_with_shared_frames(void **state)
{
	uint64_t before;

	(void)state;
	open_shared(NULL);
	before = network_counters(&network, 0, 1)->frames_sent;
	for (unsigned i = 0; i < 10; i++) {
		assert_true(network_send(&network, 1, 0, NETWORK_HEAD));
		network_run(&network, 150 * US); // it arrives
		share(ALL);
		assert_int_equal(network_state(&network, 1, 0).queued, 0);
	}
	assert_int_equal(network_counters(&network, 0, 1)->frames_sent, before);
	assert_int_equal(network_counters(&network, 1, 0)->shared_received, 10);
	close_shared();
}

// Replays what station 0 sent earlier to station 1, which ignores it.
static void expect_ignored(void)
{
	const struct control_counters *counters = network_counters(&network, 1, 0);
	const struct control_counters before = *counters;

	assert_int_equal(control_receive(network.stations[1].endpoint, recorded->bytes,
					 recorded->size, network.now),
			 WIRE_OK);
	assert_int_equal(counters->shared_ignored, before.shared_ignored + 1);
	assert_int_equal(counters->shared_received, before.shared_received);
	assert_int_equal(counters->records_delivered, before.records_delivered);
}

static void frames_of_another_process__are_ignored(void **state)
{
	(void)state;
	open_shared(NULL);
	for (unsigned i = 0; i < 20; i++)
		share(ALL);
	network.filter = NULL; // the last frame of this process stays recorded
	network_kill(&network, 0);
	network_run(&network, SILENCE);
	network_restart(&network, 0);
	network_run(&network, SECOND);
	for (unsigned to = 1; to < 3; to++)
		assert_true(network_send(&network, 0, to, NETWORK_HEAD));
	network_run(&network, 20 * MS);
	share(ALL);
	assert_int_equal(network_counters(&network, 0, 1)->shared_sent, 1);
	expect_ignored();
	close_shared();
}

static void frames_of_an_earlier_epoch__are_ignored(void **state)
{
	(void)state;
	open_shared(NULL);
	share(ALL);
	control_set_epoch(network.stations[1].endpoint,
			  control_epoch(network.stations[1].endpoint) + 1);
	expect_ignored();
	close_shared();
}

static void frames_of_an_earlier_session__are_ignored(void **state)
{
	(void)state;
	open_shared(NULL);
	share(ALL);
	network.filter = NULL;
	network_forget(&network, 1, 0);
	network_run(&network, SECOND);
	assert_true(network_send(&network, 0, 1, NETWORK_HEAD));
	network_run(&network, 20 * MS);
	expect_ignored();
	close_shared();
}

static void frames_with_a_key__are_authenticated(void **state)
{
	static const struct control_keys keys = { .n = 2, .keys = { { 1 }, { 2 } } };
	static const struct control_keys others = { .n = 1, .keys = { { 3 } } };
	const struct control_counters *counters;

	(void)state;
	open_shared(&keys);
	share(ALL);
	counters = network_counters(&network, 1, 0);
	assert_int_equal(counters->shared_received, 1);
	for (size_t i = CTRL_HEADER_SIZE; i < recorded->size; i++) {
		recorded->bytes[i] ^= 1;
		assert_int_not_equal(control_receive(network.stations[1].endpoint, recorded->bytes,
						     recorded->size, network.now),
				     WIRE_OK);
		recorded->bytes[i] ^= 1;
	}
	assert_int_equal(counters->shared_received, 1);
	assert_int_equal(counters->shared_ignored, 0);
	assert_true(control_set_keys(network.stations[1].endpoint, &others));
	assert_int_equal(control_receive(network.stations[1].endpoint, recorded->bytes,
					 recorded->size, network.now),
			 WIRE_BAD_CHECKSUM);
	close_shared();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_for_all__are_sent_in_one_frame),
		cmocka_unit_test(records_for_one__are_sent_to_it_alone),
		cmocka_unit_test(records_between__leave_a_station_out),
		cmocka_unit_test(lost_frames__are_repeated_and_then_not_shared),
		cmocka_unit_test(acknowledgements__go_with_shared_frames),
		cmocka_unit_test(frames_of_another_process__are_ignored),
		cmocka_unit_test(frames_of_an_earlier_epoch__are_ignored),
		cmocka_unit_test(frames_of_an_earlier_session__are_ignored),
		cmocka_unit_test(frames_with_a_key__are_authenticated),
	};

	return cmocka_run_group_tests_name("endpoint_shared", tests, NULL, NULL);
}
