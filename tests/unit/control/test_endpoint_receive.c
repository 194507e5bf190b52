// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames that no endpoint of ours would send, or not then.
#include "pair.h"

#include "control/endpoint_internal.h"

// The header of the next frame of station 1 to station 0, as it would be if all went well.
static struct ctrl_header next_header(const struct network *network)
{
	const uint64_t session = network->stations[1].parameters.session;

	return (struct ctrl_header){
		.session = session,
		.peer_session = network->stations[0].parameters.session,
		.sequence = (uint32_t)session,
		.acknowledgement = (uint32_t)network->stations[0].parameters.session,
		.stamp = (uint32_t)(network->now / US),
		.node = network_node(1),
		.destination = network_node(0),
		.window = 16,
		.flags = CTRL_SEQUENCED,
	};
}

// A frame with one record.
static size_t make_frame(uint8_t *bytes, const struct ctrl_header *header)
{
	const struct ctrl_release release = { .event = 1 };

	assert_int_equal(ctrl_put_release(bytes + CTRL_HEADER_SIZE, CTRL_RELEASE_SIZE, &release),
			 CTRL_RELEASE_SIZE);
	return ctrl_frame_encode(bytes, header, CTRL_RELEASE_SIZE);
}

// Station 0 gets a frame with this header.
static void receive(struct network *network, const struct ctrl_header *header)
{
	uint8_t bytes[256];
	const size_t size = make_frame(bytes, header);

	assert_int_equal(control_receive(network->stations[0].endpoint, bytes, size, network->now),
			 WIRE_OK);
}

static void receive__counts_what_is_malformed(void **state)
{
	const struct network_options options = pair_options();
	struct ctrl_header header;
	struct control_endpoint *endpoint;
	const struct control_totals *totals;
	struct network network;
	uint8_t bytes[256];
	size_t size;

	(void)state;
	pair_open(&network, &options);
	endpoint = network.stations[0].endpoint;
	totals = control_totals(endpoint);
	header = next_header(&network);
	size = make_frame(bytes, &header);
	assert_int_equal(control_receive(endpoint, bytes, size - 1, network.now), WIRE_TRUNCATED);
	assert_int_equal(totals->malformed[WIRE_TRUNCATED], 1);
	bytes[70] ^= 1;
	assert_int_equal(control_receive(endpoint, bytes, size, network.now), WIRE_BAD_CHECKSUM);
	assert_int_equal(network_counters(&network, 0, 1)->bad_checksum, 1);
	assert_int_equal(totals->malformed[WIRE_BAD_CHECKSUM], 0);
	bytes[8] = 77; // of no peer
	assert_int_equal(control_receive(endpoint, bytes, size, network.now), WIRE_BAD_CHECKSUM);
	assert_int_equal(totals->malformed[WIRE_BAD_CHECKSUM], 1);
	assert_int_equal(network_counters(&network, 0, 1)->bad_checksum, 1);
	bytes[4] = CTRL_VERSION + 1;
	assert_int_equal(control_receive(endpoint, bytes, size, network.now), WIRE_BAD_VERSION);
	assert_int_equal(totals->malformed[WIRE_BAD_VERSION], 1);
	header = next_header(&network);
	size = make_frame(bytes, &header);
	bytes[4] = CTRL_VERSION + 1;
	assert_int_equal(control_receive(endpoint, bytes, size, network.now), WIRE_BAD_VERSION);
	assert_int_equal(network_counters(&network, 0, 1)->other_version, 1);
	assert_int_equal(totals->malformed[WIRE_BAD_VERSION], 1);
	network_close(&network);
}

static void receive__counts_what_is_for_others(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	header = next_header(&network);
	header.node = 77;
	receive(&network, &header);
	assert_int_equal(control_totals(network.stations[0].endpoint)->unknown_node, 1);
	header = next_header(&network);
	header.destination = network_node(2);
	receive(&network, &header);
	assert_int_equal(control_totals(network.stations[0].endpoint)->misdirected, 1);
	assert_int_equal(network_counters(&network, 0, 1)->sequenced, 0);
	network_close(&network);
}

static void receive__counts_what_is_out_of_order(void **state)
{
	const struct network_options options = pair_options();
	const struct control_counters *counters;
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	counters = network_counters(&network, 0, 1);
	header = next_header(&network);
	header.sequence += 16;
	receive(&network, &header);
	assert_int_equal(counters->out_of_window, 1);
	header.sequence--;
	receive(&network, &header);
	receive(&network, &header);
	assert_int_equal(counters->out_of_window, 1);
	assert_int_equal(counters->sequenced, 1);
	assert_int_equal(counters->duplicates, 1);
	assert_int_equal(counters->records_delivered, 0);
	header = next_header(&network);
	receive(&network, &header);
	assert_int_equal(counters->records_delivered, 1);
	network_expect_sums(&network);
	network_close(&network);
}

static unsigned n_releases;

static void count_releases(struct station *station, unsigned from, const struct ctrl_record *record)
{
	(void)station;
	(void)from;
	n_releases += record->type == CTRL_RELEASE;
}

// Only heartbeats are taken from outside of the sequence.
static void receive__unsequenced_records_are_not_delivered(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	n_releases = 0;
	network.stations[0].on_deliver = count_releases;
	header = next_header(&network);
	header.flags = 0;
	header.sequence = 1000;
	receive(&network, &header);
	assert_int_equal(n_releases, 0);
	header = next_header(&network);
	receive(&network, &header);
	assert_int_equal(n_releases, 1);
	network_close(&network);
}

static void receive__acknowledgements_of_what_was_never_sent_are_ignored(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	pair_send(&network, 3, 1024);
	header = next_header(&network);
	header.acknowledgement_bits = UINT64_MAX;
	receive(&network, &header);
	header.acknowledgement += 1;
	receive(&network, &header);
	header.acknowledgement += 0x7FFFFFF0;
	receive(&network, &header);
	assert_int_equal(network_state(&network, 0, 1).queued, 3);
	pair_watch(&network, 7); // they have to be sent again all the same
	network_run(&network, 50 * MS);
	network_expect_all_delivered(&network);
	network_close(&network);
}

// Nor is what is meant for a session of ours that is over.
static void receive__foreign_acknowledgements_are_ignored(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	pair_watch(&network, 1);
	pair_send(&network, 3, 64);
	network_run(&network, 1 * MS);
	assert_int_equal(watched.n, 1); // and lost
	header = next_header(&network);
	header.acknowledgement++;
	header.peer_session++;
	receive(&network, &header);
	assert_int_equal(network_state(&network, 0, 1).queued, 3);
	header.peer_session--;
	header.session++;
	receive(&network, &header);
	assert_int_equal(network_state(&network, 0, 1).queued, 3);
	network_run(&network, 10 * MS);
	network_expect_all_delivered(&network);
	network_close(&network);
}

static void receive__the_window_may_change(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	header = next_header(&network);
	header.window = 1;
	receive(&network, &header);
	pair_watch(&network, 0);
	pair_send(&network, 3, 1024);
	network_run(&network, DELAY + 60 * US);
	assert_int_equal(watched.n, 1);
	network_run(&network, 10 * MS);
	network_expect_all_delivered(&network);
	network_close(&network);
}

// Echoes that cannot be, and frames that were held up on their way, do not change the round trip.
static void receive__the_round_trip_is_of_new_frames(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;
	uint64_t rtt;

	(void)state;
	pair_open(&network, &options);
	network_run(&network, SECOND);
	rtt = network_state(&network, 0, 1).rtt;
	assert_in_range(rtt, 2 * DELAY - 50 * US, 2 * DELAY + 100 * US);
	header = next_header(&network);
	header.echo = header.stamp - 300000;
	header.stamp -= 200000; // older than what was heard last
	receive(&network, &header);
	assert_int_equal(network_state(&network, 0, 1).rtt, rtt);
	header = next_header(&network);
	header.echo = header.stamp - 100;
	header.echo_age = 101;
	header.sequence++;
	receive(&network, &header);
	assert_int_equal(network_state(&network, 0, 1).rtt, rtt);
	network_close(&network);
}

// A session that echoes a proper stamp, but does not name the session that is offered to it.
static void receive__a_new_session_has_to_name_ours(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	header = next_header(&network);
	header.session++;
	receive(&network, &header); // it is challenged, now
	header.echo = (uint32_t)(network.now / US);
	receive(&network, &header);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 0);
	header.peer_session = control_next_session(header.peer_session); // which is offered to it
	header.echo--; // it has not seen the challenge
	receive(&network, &header);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 0);
	header.echo += 2; // from the future
	receive(&network, &header);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 0);
	header.echo--;
	receive(&network, &header);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_RESTARTED], 1);
	network_close(&network);
}

// Nothing has been sent to it that it could have heard.
static void receive__a_first_session_has_to_answer(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	network_open(&network, &options);
	header = next_header(&network);
	header.echo = header.stamp;
	receive(&network, &header);
	assert_false(network_state(&network, 0, 1).connected);
	assert_int_equal(network_counters(&network, 0, 1)->foreign, 1);
	network_close(&network);
}

// Anybody can write a number into a frame; only the peer can name the session that it was offered.
static void receive__an_epoch_counts_in_a_current_frame_only(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;

	(void)state;
	pair_open(&network, &options);
	header = next_header(&network);
	header.epoch = UINT32_MAX;
	header.session++;
	receive(&network, &header);
	header.session--;
	header.peer_session--;
	receive(&network, &header);
	assert_int_equal(network.stations[0].endpoint->epoch, 0);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_EPOCH], 0);
	header.peer_session++;
	receive(&network, &header);
	assert_int_equal(network.stations[0].endpoint->epoch, UINT32_MAX);
	assert_int_equal(network.stations[0].links[1].events[CONTROL_EPOCH], 1);
	network_close(&network);
}

static uint32_t epoch_after_refusal(bool leads, uint32_t epoch)
{
	struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;
	uint32_t raised;

	options.parameters.epoch = epoch;
	options.parameters.leads = leads;
	pair_open(&network, &options);
	header = next_header(&network);
	header.epoch = epoch;
	header.flags |= CTRL_OCCUPIED;
	header.echo = (uint32_t)(network.now / US);
	receive(&network, &header);
	raised = network.stations[0].endpoint->epoch;
	assert_int_equal(network.stations[0].links[1].events[CONTROL_EPOCH], 0);
	network_close(&network);
	return raised;
}

// Otherwise two event managers that began at the same time would keep the nodes that came to each.
static void receive__refusal_by_a_node_of_the_same_epoch(void **state)
{
	(void)state;
	assert_in_range(epoch_after_refusal(true, 7), 8, 23);
	assert_int_equal(epoch_after_refusal(false, 7), 7);
	assert_int_equal(epoch_after_refusal(true, UINT32_MAX), UINT32_MAX);
}

// A frame that an earlier session of the same process sent, and that was delayed.
static void receive__an_earlier_session_has_no_effect(void **state)
{
	const struct network_options options = pair_options();
	struct network network;
	struct ctrl_header header;
	uint64_t sent, foreign;

	(void)state;
	pair_open(&network, &options);
	header = next_header(&network);
	header.session--;
	foreign = network_counters(&network, 0, 1)->foreign;
	sent = network_counters(&network, 0, 1)->frames_sent;
	receive(&network, &header);
	network_run(&network, 20 * MS);
	assert_int_equal(network_counters(&network, 0, 1)->frames_sent, sent);
	assert_int_equal(network_counters(&network, 0, 1)->foreign, foreign + 1);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive__counts_what_is_malformed),
		cmocka_unit_test(receive__counts_what_is_for_others),
		cmocka_unit_test(receive__counts_what_is_out_of_order),
		cmocka_unit_test(receive__unsequenced_records_are_not_delivered),
		cmocka_unit_test(receive__acknowledgements_of_what_was_never_sent_are_ignored),
		cmocka_unit_test(receive__foreign_acknowledgements_are_ignored),
		cmocka_unit_test(receive__the_window_may_change),
		cmocka_unit_test(receive__the_round_trip_is_of_new_frames),
		cmocka_unit_test(receive__a_new_session_has_to_name_ours),
		cmocka_unit_test(receive__a_first_session_has_to_answer),
		cmocka_unit_test(receive__an_epoch_counts_in_a_current_frame_only),
		cmocka_unit_test(receive__refusal_by_a_node_of_the_same_epoch),
		cmocka_unit_test(receive__an_earlier_session_has_no_effect),
	};

	return cmocka_run_group_tests_name("endpoint_receive", tests, NULL, NULL);
}
