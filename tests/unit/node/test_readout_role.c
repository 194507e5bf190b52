// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The readout role on a ring port: one builder on another node, or two on two, grants by mailbox.
#include "testbed.h"

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "node/readout_role.h"
#include "packet/bundle.h"
#include "store/set_store.h"
#include "tx/bundles.h"
#include "wire/ctrl.h"
#include "wire/mfp.h"
#include "wire/net.h"

#define MTU    300u
#define RATE   100000000u // bytes/s, of a grant
#define STEP   500u       // ticks between two polls
#define EVENTS 50u

#define MOST_BUILDERS 2u
#define ADDRESS       0x0a000002u // IPv4, of the first builder; the next one has the next

struct bench {
	struct config *config;
	struct testbed_port wire;
	struct source_set *set;
	struct block_store *store;
	struct source_table *sources;
	struct rte_mempool *headers, *payloads;
	struct rte_mempool *bundles; // NULL: none
	struct link *link;           // to a local builder; NULL: it is remote
	unsigned n_builders;         // each on a node of its own
	uint16_t flags;              // of each grant of bundles
	struct neighbours *neighbours;
	struct mailbox to, from; // the readout
	struct role *role;
	uint64_t start, now, last; // last: when the last packet left
	uint64_t n_packets, n_bytes;
};

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

static void make_role(struct bench *bench, bool tagged)
{
	const struct config_generator *generator = &bench->config->generators[0];
	const struct readout_builder builders[MOST_BUILDERS] = {
		{ .link = bench->link, .node = 1, .address = ADDRESS, .udp_port = 19522 },
		{ .node = 2, .first = 1, .address = ADDRESS + 1, .udp_port = 19522 },
	};
	const struct readout_parameters parameters = {
		.name = "readout.g",
		.packets = {
			.store = bench->store,
			.mac = mac,
			.address = 0x0a000001,
			.mtu = MTU,
			.mfps = true,
			.udp_ports = 1,
			.headers = bench->headers,
			.payloads = bench->payloads,
		},
		.sources = bench->sources,
		.builders = builders,
		.logic = {
			.n_builders = bench->n_builders,
			.n_nodes = MOST_BUILDERS + 1,
			.source_buffer = 2 * EVENTS,
			.pace = {
				.n_sources = bench->set->n_sources,
				.node_sources = bench->set->n_sources,
				.system_sources = bench->set->n_sources,
				.paced = true,
			},
		},
		.faults = &generator->faults,
		.bundles = bench->bundles,
		.port_id = bench->wire.port.id,
		.tagged = tagged,
		.neighbours = bench->neighbours,
		.from_control = &bench->to,
		.to_control = &bench->from,
	};

	bench->role = readout_role_create(&parameters);
	assert_non_null(bench->role);
	bench->start = bench->now = bench->last = rte_rdtsc();
}

static void bench_open_with(struct bench *bench, bool tagged, const char *generator)
{
	struct source_set_parameters set;
	char error[SOURCE_ERROR_SIZE], text[512];

	memset(bench, 0, sizeof(*bench));
	bench->n_builders = 1;
	snprintf(
	    text, sizeof(text),
	    "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"mtu\": 300}],"
	    "\"sources\": {\"ids\": [\"1-4\"], \"packing\": 3}, \"builders\": [{\"name\": \"b\"}],"
	    "\"generators\": [{\"name\": \"g\", \"port\": \"wire\", \"variants\": 2%s}]}",
	    generator);
	bench->config = testbed_config(text);
	testbed_open_port(&bench->wire, &bench->config->ports[0], 1, 1);
	set = config_source_set(bench->config, &bench->config->generators[0]);
	if (source_set_make(&bench->set, &set, NULL, error) != 0)
		fail_msg("%s", error);
	bench->store = set_store_create(bench->set, 0);
	assert_non_null(bench->store);
	bench->headers = testbed_pool("headers", 1023, 256);
	bench->payloads = testbed_pool("payloads", 1023, 0);
	bench->sources = calloc(1, sizeof(*bench->sources));
	bench->neighbours = calloc(1, sizeof(*bench->neighbours));
	assert_true(bench->sources != NULL && bench->neighbours != NULL);
	assert_true(neighbours_make(bench->neighbours, MOST_BUILDERS + 1));
	source_table_make(bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
	assert_true(mailbox_make(&bench->to, 256, 0));
	assert_true(mailbox_make(&bench->from, 256, 0));
	make_role(bench, tagged);
}

static void bench_open(struct bench *bench, bool tagged)
{
	bench_open_with(bench, tagged, "");
}

static void bench_close(struct bench *bench)
{
	bench->role->operations->fini(bench->role);
	mailbox_free(&bench->to);
	mailbox_free(&bench->from);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->headers), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->payloads), 0);
	rte_mempool_free(bench->headers);
	rte_mempool_free(bench->payloads);
	block_store_destroy(bench->store);
	source_set_free(bench->set);
	free(bench->sources);
	neighbours_free(bench->neighbours);
	free(bench->neighbours);
	config_free(bench->config);
}

static void put(struct bench *bench, struct message message)
{
	assert_true(mailbox_put(&bench->to, &message));
}

static void grant(struct bench *bench, uint64_t event)
{
	put(bench, (struct message){
		       .kind = MESSAGE_SEND, .event = event, .bytes = RATE, .n_positions = 1 });
}

// Polls for so many ticks, and takes the packets from the port.
static void run(struct bench *bench, uint64_t ticks)
{
	struct rte_mbuf *mbufs[64];

	for (uint64_t end = bench->now + ticks; bench->now < end; bench->now += STEP) {
		unsigned n;

		role_poll(bench->role, bench->now);
		n = rte_eth_rx_burst(bench->wire.port.id, 0, mbufs, 64);
		for (unsigned i = 0; i < n; i++) {
			bench->n_bytes += rte_pktmbuf_pkt_len(mbufs[i]);
			rte_pktmbuf_free(mbufs[i]);
		}
		bench->n_packets += n;
		bench->last = n > 0 ? bench->now : bench->last;
	}
}

static void begin_run(struct bench *bench)
{
	put(bench, (struct message){ .kind = MESSAGE_RUN, .run = 1, .state = CTRL_RUNNING });
	run(bench, STEP);
}

// --- bundles ---

// The blocks that have left: each of each event once, as the store has it.
struct seen {
	unsigned n_packets, n_blocks;
	bool blocks[EVENTS][4];
};

static void see(struct bench *bench, struct seen *seen, struct rte_mbuf *mbuf,
		struct segment segment, unsigned builder)
{
	const struct divisor packing = divisor_make(3);

	seen->n_packets++;
	do {
		const struct store_block block =
		    block_store_find(bench->store, segment.event_index, segment.source);
		uint8_t bytes[MTU], expected[MTU];

		assert_int_equal(segment.event_id, 3 * segment.event_index);
		assert_int_equal(segment.size, block.size);
		assert_int_equal(segment.length, block.size);
		assert_int_equal(segment.event_index % bench->n_builders, builder);
		assert_false(seen->blocks[segment.event_index][segment.source]);
		seen->blocks[segment.event_index][segment.source] = true;
		seen->n_blocks++;
		memcpy(expected, block.bytes, block.size);
		mfp_patch_event_id(expected, segment.event_id);
		mbuf_copy_payload(bytes, mbuf, &segment, COPY_NEXT_UNKNOWN);
		assert_memory_equal(bytes, expected, block.size);
	} while (bundle_next(mbuf, &segment, bench->sources, &packing));
	rte_pktmbuf_free(mbuf);
}

// The segment of a packet as rx decodes it, and the builder that it is sent to.
static struct segment segment_of(const struct bench *bench, const struct rte_mbuf *mbuf,
				 unsigned *builder)
{
	uint8_t bytes[MTU + NET_ETH_SIZE];
	const uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	struct ejfat_segment decoded;
	struct net_frame frame;

	assert_true(length <= sizeof(bytes));
	memmove(bytes, rte_pktmbuf_read(mbuf, 0, length, bytes), length);
	assert_int_equal(net_parse(bytes, length, length, 0, &frame), WIRE_OK);
	assert_int_equal(frame.payload_offset + frame.payload_size, length);
	assert_true(net_ipv4_checksum_ok(bytes + NET_ETH_SIZE));
	*builder = load_be32(bytes + NET_ETH_SIZE + 16) - ADDRESS;
	assert_int_equal(ejfat_segment_decode(bytes + frame.payload_offset, frame.payload_size,
					      frame.payload_size, &decoded),
			 WIRE_OK);
	return (struct segment){
		.event_id = decoded.re.event_number,
		.event_index = decoded.re.event_number / 3,
		.offset = decoded.re.offset,
		.size = decoded.payload_size,
		.length = decoded.re.length,
		.payload = (uint16_t)(frame.payload_offset + decoded.payload_offset),
		.source = bench->sources->index[decoded.re.data_id],
		.flags = decoded.re.flags,
	};
}

static void see_packet(struct bench *bench, struct seen *seen, struct rte_mbuf *mbuf)
{
	unsigned builder;
	const struct segment segment = segment_of(bench, mbuf, &builder);

	see(bench, seen, mbuf, segment, builder);
}

// The builders are granted the events in turn.
static void grant_in_round(struct bench *bench, uint64_t event)
{
	const uint16_t builder = (uint16_t)(event % bench->n_builders);

	put(bench, (struct message){ .kind = MESSAGE_SEND,
				     .event = event,
				     .round = event / bench->n_builders,
				     .flags = bench->flags,
				     .state = 1,
				     .builder = builder,
				     .position = builder,
				     .n_positions = (uint16_t)bench->n_builders });
}

// Polls until all events have been sent, and takes what has left.
static void send_bundles(struct bench *bench, struct seen *seen)
{
	struct rte_mbuf *mbufs[64];

	for (unsigned i = 1; i <= bench->n_builders; i++)
		neighbours_set(bench->neighbours, i, mac);
	begin_run(bench);
	for (unsigned i = 0; i < EVENTS; i++)
		grant_in_round(bench, i);
	for (unsigned i = 0; seen->n_blocks < 4 * EVENTS; i++) {
		unsigned n;

		assert_in_range(i, 0, 1000);
		role_poll(bench->role, ++bench->now);
		n = rte_eth_rx_burst(bench->wire.port.id, 0, mbufs, 64);
		for (unsigned j = 0; j < n; j++)
			see_packet(bench, seen, mbufs[j]);
		n = bench->link != NULL ? link_dequeue(bench->link, mbufs, 2) : 0;
		for (unsigned j = 0; j < n; j++)
			see(bench, seen, mbufs[j], *mbuf_segment(mbufs[j]), 0);
	}
	assert_int_equal(readout_role_counters(bench->role)->blocks, 4 * EVENTS);
	assert_int_equal(readout_role_counters(bench->role)->segments, 4 * EVENTS);
}

static void bundles__small_blocks_share_packets(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const bool is_local = i % 2 == 1, is_short = i / 2 == 1;
		struct seen seen = { 0 };
		struct bench bench;

		bench_open_with(&bench, false, ", \"size\": {\"law\": \"fixed\", \"mean\": 8}");
		bench.role->operations->fini(bench.role);
		// Blocks for which there is no buffer leave alone.
		bench.bundles =
		    testbed_pool("bundles", is_short ? 3 : 127, bundles_buffer_size(MTU));
		bench.link = is_local ? link_create("readout", "builder", 4, true, 0) : NULL;
		make_role(&bench, false);
		send_bundles(&bench, &seen);
		// Three blocks of 56 bytes fit in a packet.
		assert_in_range(seen.n_packets, 4 * EVENTS / 3,
				is_short ? 4 * EVENTS - 3 : 2 * EVENTS);
		if (is_local)
			assert_int_equal(bench.link->counters.enqueued, 4 * EVENTS);
		link_destroy(bench.link);
		bench.link = NULL;
		assert_int_equal(rte_mempool_in_use_count(bench.bundles), 0);
		bench_close(&bench);
		rte_mempool_free(bench.bundles);
	}
}

// Blocks of several turns share packets, unless phases or windows part the turns.
static void bundles__turns_share_packets(void **state)
{
	static const uint16_t flags[] = { 0, MESSAGE_BARRIER };

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(flags); i++) {
		struct seen seen = { 0 };
		struct bench bench;

		bench_open_with(&bench, false, ", \"size\": {\"law\": \"fixed\", \"mean\": 8}");
		bench.role->operations->fini(bench.role);
		bench.bundles = testbed_pool("bundles", 127, bundles_buffer_size(MTU));
		bench.n_builders = MOST_BUILDERS;
		bench.flags = flags[i];
		make_role(&bench, false);
		send_bundles(&bench, &seen);
		// A poll sends 8 events, with 16 blocks for each builder. Three fit in a packet.
		if (flags[i] == 0)
			assert_in_range(seen.n_packets, 4 * EVENTS / 3, 4 * EVENTS / 2 - 20);
		else
			assert_int_equal(seen.n_packets, 2 * EVENTS);
		assert_int_equal(rte_mempool_in_use_count(bench.bundles), 0);
		bench_close(&bench);
		rte_mempool_free(bench.bundles);
	}
}

// Blocks of which one fills a packet leave as before.
static void bundles__large_blocks_leave_alone(void **state)
{
	struct seen seen = { 0 };
	struct bench bench;

	(void)state;
	bench_open_with(&bench, false, ", \"size\": {\"law\": \"fixed\", \"mean\": 60}");
	bench.role->operations->fini(bench.role);
	bench.bundles = testbed_pool("bundles", 63, bundles_buffer_size(MTU));
	make_role(&bench, false);
	send_bundles(&bench, &seen);
	assert_int_equal(seen.n_packets, 4 * EVENTS);
	bench_close(&bench);
	assert_int_equal(rte_mempool_in_use_count(bench.bundles), 0);
	rte_mempool_free(bench.bundles);
}

// Sends EVENTS events; returns the bytes that the granted rate gives in the time that this took.
static double send_all(bool tagged, uint64_t *n_packets)
{
	struct bench bench;
	double bytes;

	bench_open(&bench, tagged);
	neighbours_set(bench.neighbours, 1, mac);
	begin_run(&bench);
	for (unsigned i = 0; i < EVENTS; i++)
		grant(&bench, i);
	run(&bench, rte_get_tsc_hz() / 250);
	assert_int_equal(readout_role_counters(bench.role)->events, EVENTS);
	assert_int_equal(readout_role_counters(bench.role)->blocks, 4 * EVENTS);
	assert_int_equal(readout_role_counters(bench.role)->segments, bench.n_packets);
	bytes = (double)(bench.last - bench.start) / (double)rte_get_tsc_hz() * RATE;
	assert_true(bytes + 3 * MTU > (double)bench.n_bytes);
	*n_packets = bench.n_packets;
	bench_close(&bench);
	return bytes;
}

static void pace__counts_the_vlan_tag(void **state)
{
	uint64_t n_packets;
	double untagged = send_all(false, &n_packets), tagged = send_all(true, &n_packets);

	(void)state;
	assert_true(tagged - untagged > (double)(n_packets * NET_VLAN_SIZE) - MTU);
	assert_true(tagged - untagged < (double)(n_packets * NET_VLAN_SIZE) + MTU);
}

static void grant__of_what_is_finished_or_was_never_announced(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench, false);
	neighbours_set(bench.neighbours, 1, mac);
	begin_run(&bench);
	put(&bench, (struct message){ .kind = MESSAGE_RELEASE, .event = 2 });
	grant(&bench, 1);
	grant(&bench, 1000000);
	run(&bench, 10 * STEP);
	assert_int_equal(readout_role_counters(bench.role)->gone, 2);
	assert_int_equal(bench.n_packets, 0);
	bench_close(&bench);
}

// The MAC address of the builder's node is not known: the event is given up after a while.
static void grant__for_a_node_without_an_address(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench, false);
	begin_run(&bench);
	bench.now += 2 * rte_get_tsc_hz(); // after which events are announced all the same
	run(&bench, 10 * STEP);
	grant(&bench, 0);
	run(&bench, 10 * STEP);
	assert_int_equal(readout_role_counters(bench.role)->unreachable, 0);
	bench.now += rte_get_tsc_hz() / 4;
	run(&bench, 10 * STEP);
	assert_int_equal(readout_role_counters(bench.role)->unreachable, 1);
	assert_int_equal(readout_role_counters(bench.role)->events, 1);
	assert_int_equal(bench.n_packets, 0);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bundles__small_blocks_share_packets),
		cmocka_unit_test(bundles__turns_share_packets),
		cmocka_unit_test(bundles__large_blocks_leave_alone),
		cmocka_unit_test(pace__counts_the_vlan_tag),
		cmocka_unit_test(grant__of_what_is_finished_or_was_never_announced),
		cmocka_unit_test(grant__for_a_node_without_an_address),
	};

	return cmocka_run_group_tests_name("readout_role", tests, testbed_start, testbed_stop);
}
