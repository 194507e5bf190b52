// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The queues of an endpoint: their order, what happens while the window is full, which peers are
// given up, and what a node sends to itself.
#include "pair.h"

#include "control/queue.h"

#define PATIENCE (100 * MS)

static void queue__keeps_the_order(void **state)
{
	struct control_queue queue;
	uint64_t next = 0, n = 0;

	(void)state;
	assert_true(control_queue_make(&queue, 256));
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t bytes[40] = { 0 };
		uint32_t size = 8 + (uint32_t)(n % 5) * 8;

		memset(bytes, (int)n, sizeof(bytes));
		store_le16(bytes + 2, (uint16_t)size);
		if (control_queue_put(&queue, bytes, size))
			n++;
		assert_true(control_queue_used(&queue) <= 256);
		if (i % 3 == 0 || queue.head == queue.end)
			continue;
		size = control_queue_record(&queue, queue.head);
		assert_int_equal(size, 8 + next % 5 * 8);
		control_queue_copy(&queue, queue.head, bytes, size);
		for (uint32_t j = 4; j < size; j++)
			assert_int_equal(bytes[j], (uint8_t)next);
		queue.head += size;
		next++;
	}
	assert_true(next > 300);
	free(queue.bytes);
}

static void queue__refuses_what_does_not_fit(void **state)
{
	const uint8_t bytes[64] = { 0 };
	struct control_queue queue;

	(void)state;
	assert_true(control_queue_make(&queue, 64));
	assert_true(control_queue_put(&queue, bytes, 40));
	assert_false(control_queue_put(&queue, bytes, 32));
	assert_true(control_queue_put(&queue, bytes, 24));
	assert_false(control_queue_put(&queue, bytes, 8));
	free(queue.bytes);
}

static struct network_options impatient_options(void)
{
	struct network_options options = pair_options();

	options.parameters.window = 2;
	options.parameters.queue_size = 4096;
	options.parameters.patience = PATIENCE;
	return options;
}

static void window__records_wait_in_the_queue_while_it_is_full(void **state)
{
	const struct network_options options = impatient_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	assert_true(control_room(network.stations[0].endpoint, 10, 104) > 2 * 104);
	pair_send(&network, 35, 104); // two frames have 13 each
	assert_int_equal(control_room(network.stations[0].endpoint, 10, 104), 0);
	network_run(&network, DELAY + 60 * US);
	assert_int_equal(network.stations[1].delivered, 26);
	assert_int_equal(control_room(network.stations[0].endpoint, 10, 104), 0);
	network_run(&network, 10 * MS);
	assert_int_equal(network.stations[1].delivered, 35);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	assert_int_equal(network_counters(&network, 0, 1)->given_up, 0);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void give_up__a_peer_for_which_too_much_waits(void **state)
{
	const struct network_options options = impatient_options();
	struct network network;
	unsigned n = 0;

	(void)state;
	pair_open(&network, &options);
	while (network_send(&network, 0, 1, 104))
		n++;
	assert_int_equal(n, 4096 / 104);
	control_give_up(network.stations[0].endpoint, 10);
	assert_false(network_send(&network, 0, 1, 24));
	network_run(&network, 1 * MS);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	assert_int_equal(network_counters(&network, 0, 1)->given_up, 1);
	assert_int_equal(network_counters(&network, 0, 1)->records_dropped, n);
	assert_int_equal(network_state(&network, 0, 1).queued, 0);
	network.stations[0].links[1].sending = ++network.n_streams;
	network.stations[0].links[1].n_sent = 0;
	network_run(&network, 500 * MS);
	assert_int_equal(network.stations[1].links[0].events[CONTROL_RESTARTED], 1);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_CONNECTED], 2);
	// And it goes on.
	pair_send(&network, 1, 64);
	network_run(&network, 10 * MS);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void give_up__a_peer_that_accepts_nothing(void **state)
{
	const struct network_options options = impatient_options();
	struct network network;

	(void)state;
	pair_open(&network, &options);
	pair_cut(&network, true);
	pair_send(&network, 30, 104);
	network_run(&network, PATIENCE / 2);
	assert_int_equal(network_counters(&network, 0, 1)->given_up, 0);
	network_run(&network, PATIENCE);
	assert_int_equal(network_counters(&network, 0, 1)->given_up, 1);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_LOST], 1);
	network_close(&network);
}

static void give_up__not_a_slow_peer(void **state)
{
	struct network_options options = impatient_options();
	struct network network;

	(void)state;
	options.delay_min = options.delay_max = PATIENCE / 4; // a round trip is half the patience
	options.parameters.rto_max = 10 * SECOND;
	options.parameters.rto_min = SECOND;
	options.parameters.heartbeat_timeout = 10 * SECOND;
	network_open(&network, &options);
	network_run(&network, SECOND);
	for (unsigned i = 0; i < 20; i++) {
		while (network_send(&network, 0, 1, 1024))
			;
		network_run(&network, PATIENCE);
	}
	assert_int_equal(network_counters(&network, 0, 1)->given_up, 0);
	assert_true(network_drain(&network, SECOND));
	network_expect_all_delivered(&network);
	network_close(&network);
}

static unsigned n_own;

// Each of the first ten records makes the node send one more to itself.
static void sends_to_itself(struct station *station, unsigned from,
			    const struct ctrl_record *record)
{
	assert_int_equal(from, station->number);
	assert_int_equal(record->type, 50000);
	assert_int_equal(load_le32(record->bytes + 4), n_own);
	n_own++;
	if (n_own <= 10) {
		uint8_t bytes[16] = { 0 };

		store_le16(bytes, 50000);
		store_le16(bytes + 2, sizeof(bytes));
		store_le32(bytes + 4, n_own + 9);
		assert_true(control_send(station->endpoint, 0, bytes, sizeof(bytes)));
	}
}

static void own__records_are_delivered_by_the_poll(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	uint8_t record[16] = { 0 };

	(void)state;
	network_open(&network, &options);
	n_own = 0;
	network.stations[0].on_deliver = sends_to_itself;
	store_le16(record, 50000);
	store_le16(record + 2, sizeof(record));
	for (uint32_t i = 0; i < 10; i++) {
		store_le32(record + 4, i);
		assert_true(control_send(network.stations[0].endpoint, 0, record, sizeof(record)));
	}
	assert_int_equal(n_own, 0);
	control_poll(network.stations[0].endpoint, network.now);
	assert_int_equal(n_own, 20);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue__keeps_the_order),
		cmocka_unit_test(queue__refuses_what_does_not_fit),
		cmocka_unit_test(window__records_wait_in_the_queue_while_it_is_full),
		cmocka_unit_test(give_up__a_peer_for_which_too_much_waits),
		cmocka_unit_test(give_up__a_peer_that_accepts_nothing),
		cmocka_unit_test(give_up__not_a_slow_peer),
		cmocka_unit_test(own__records_are_delivered_by_the_poll),
	};

	return cmocka_run_group_tests_name("endpoint_queue", tests, NULL, NULL);
}
