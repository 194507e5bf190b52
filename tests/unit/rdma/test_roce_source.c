// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE source role against the receiver of another port.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "config/config.h"
#include "rdma/roce_port.h"
#include "rdma/roce_sender.h"
#include "rdma/roce_source_role.h"
#include "store/set_store.h"
#include "testbed.h"

#define SOURCES  3u
#define EVENTS   10u
#define MESSAGES (SOURCES * EVENTS)
#define STEPS    100000u

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 }, peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

static struct bench {
	struct config *config, *peer_config;
	struct testbed_port wire;
	struct source_set *set;
	struct block_store *store;
	struct rte_mempool *headers, *payloads, *answers, *copies;
	struct link *responses;
	struct source_table *sources;
	struct roce_slots *slots;
	struct roce_port *peer;
	struct role *role;
	bool congested; // the network marks what arrives at the peer
	uint64_t now;   // TSC
} bench;

static struct config *configuration(const char *address)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"mtu\": 1500, "
		 "\"rx_descriptors\": 512, \"address\": \"%s/24\"}],"
		 "\"sources\": {\"ids\": [\"1-3\"], \"packing\": 2},"
		 "\"builders\": [{\"name\": \"b0\"}],"
		 "\"transport\": {\"kind\": \"roce\"},"
		 "\"roce\": {\"max_queue_pairs\": 64},"
		 "\"generators\": [{\"name\": \"g\", \"port\": \"wire\", \"variants\": 2, "
		 "\"destination\": {\"address\": \"10.77.0.2\"}}]}",
		 address);
	return testbed_config(text);
}

static struct roce_slots_state ask_builder(void *context, unsigned builder)
{
	(void)context;
	(void)builder;
	return (struct roce_slots_state){ .free = 1u << 20 };
}

static void make_peer(void)
{
	const struct roce_port_parameters parameters = {
		.settings = &bench.peer_config->roce,
		.system = &bench.peer_config->cluster,
		.smallest_slot = bench.peer_config->builders[0].slot_size,
		.packing = bench.peer_config->sources.packing,
		.port = &bench.peer_config->ports[0],
		.mac = peer_mac,
		.sources = bench.sources,
		.slots = bench.slots,
		.n_builders = 1,
		.pool = bench.answers,
	};
	char error[ROCE_PORT_ERROR_SIZE];

	bench.peer = roce_port_create(&parameters, error);
	if (bench.peer == NULL)
		fail_msg("%s", error);
}

// events: 0: no end.
static void make_role(uint64_t events)
{
	const struct config_generator *generator = &bench.config->generators[0];
	struct roce_source_parameters parameters = {
		.name = "source.g",
		.settings = &bench.config->roce,
		.set = bench.set,
		.packets = {
			.store = bench.store,
			.mac = own_mac,
			.address = bench.config->ports[0].address,
			.mtu = 1500,
			.mfps = true,
			.udp_ports = 1,
			.headers = bench.headers,
			.payloads = bench.payloads,
		},
		.destination = generator->destination_address,
		.port_id = bench.wire.port.id,
		.responses = bench.responses,
		.events = events,
		.faults = &generator->faults,
	};
	char error[ROCE_SOURCE_ERROR_SIZE];

	memcpy(parameters.destination_mac, peer_mac, sizeof(peer_mac));
	bench.role = roce_source_role_create(&parameters, error);
	if (bench.role == NULL)
		fail_msg("%s", error);
}

static int open_bench(void **state)
{
	struct source_set_parameters set;
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	bench = (struct bench){ .now = rte_get_tsc_hz() };
	bench.config = configuration("10.77.0.1");
	bench.peer_config = configuration("10.77.0.2");
	testbed_open_port(&bench.wire, &bench.config->ports[0], 1, 1);
	set = config_source_set(bench.config, &bench.config->generators[0]);
	if (source_set_make(&bench.set, &set, NULL, error) != 0)
		fail_msg("%s", error);
	bench.store = set_store_create(bench.set, 0);
	assert_non_null(bench.store);
	bench.headers = testbed_pool("headers", 2047, ROCE_PORT_BUFFER);
	bench.payloads = testbed_pool("payloads", 2047, 0);
	bench.answers = testbed_pool("answers", 1023, ROCE_PORT_BUFFER);
	bench.copies = testbed_pool("copies", 63, 2048);
	bench.responses = link_create("rx.wire", "source.g", 1024, false, 0);
	bench.sources = calloc(1, sizeof(*bench.sources));
	assert_true(bench.sources != NULL && bench.responses != NULL);
	source_table_make(bench.sources, bench.config->sources.ids, bench.config->sources.expected,
			  bench.config->sources.n_ids);
	bench.slots = roce_slots_create(1, ask_builder, NULL);
	assert_non_null(bench.slots);
	make_peer();
	make_role(EVENTS);
	return 0;
}

static int close_bench(void **state)
{
	(void)state;
	bench.role->operations->fini(bench.role);
	roce_port_destroy(bench.peer);
	roce_slots_destroy(bench.slots);
	link_destroy(bench.responses);
	port_close(&bench.wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench.headers), 0);
	assert_int_equal(rte_mempool_in_use_count(bench.payloads), 0);
	assert_int_equal(rte_mempool_in_use_count(bench.answers), 0);
	rte_mempool_free(bench.headers);
	rte_mempool_free(bench.payloads);
	rte_mempool_free(bench.answers);
	rte_mempool_free(bench.copies);
	block_store_destroy(bench.store);
	source_set_free(bench.set);
	free(bench.sources);
	config_free(bench.config);
	config_free(bench.peer_config);
	return 0;
}

static uint64_t ns(void)
{
	return (uint64_t)((double)bench.now * 1e9 / (double)rte_get_tsc_hz());
}

static void deliver(const struct rte_mbuf *mbuf)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, bench.copies, 0, UINT32_MAX);
	struct rx_packet in = { .mbuf = copy };

	assert_non_null(copy);
	in.bytes = rte_pktmbuf_mtod(copy, const uint8_t *);
	in.header_bytes = copy->data_len;
	assert_int_equal(net_parse(in.bytes, copy->data_len, copy->data_len, 0, &in.frame),
			 WIRE_OK);
	if (bench.congested)
		in.frame.dscp_ecn |= 3;
	(void)roce_port_receive(bench.peer, &in, ns());
	rte_pktmbuf_free(copy);
}

// The role polls, and what it sent arrives.
static void poll_role(void)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n;

	bench.now += rte_get_tsc_hz() / 100000; // 10 us
	(void)bench.role->operations->poll(bench.role, bench.now);
	n = rte_eth_rx_burst(bench.wire.port.id, 0, mbufs, ROLE_BURST);
	for (unsigned i = 0; i < n; i++)
		deliver(mbufs[i]);
	rte_pktmbuf_free_bulk(mbufs, n);
}

// What the peer sends waits for the next poll of the role.
static void poll_peer(void)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = roce_port_poll(bench.peer, ns(), false, mbufs, ROLE_BURST);

	assert_int_equal(link_enqueue(bench.responses, mbufs, n), n);
}

static void run_until_sent(void)
{
	const struct source_counters *counters = roce_source_role_source_counters(bench.role);

	for (unsigned i = 0; i < STEPS && counters->segments < MESSAGES; i++) {
		if (i > 0)
			poll_peer();
		poll_role();
	}
	assert_int_equal(counters->segments, MESSAGES);
}

static void events__are_sent_and_the_connections_end(void **state)
{
	const struct roce_sender_counters *counters = roce_source_role_counters(bench.role);

	(void)state;
	for (unsigned i = 0; i < STEPS && !roce_source_role_finished(bench.role); i++) {
		poll_role();
		poll_peer();
	}
	assert_true(roce_source_role_finished(bench.role));
	assert_int_equal(counters->completed, MESSAGES + SOURCES); // ends of the run, too
	assert_int_equal(counters->failed, 0);
	assert_int_equal(counters->lost, 0);
	assert_int_equal(counters->connected, 0);
	assert_int_equal(roce_port_open_qps(bench.peer), 0);
}

// The peer leaves once it has everything: ACKs and DREQs arrive together.
static void acknowledged_messages__are_completed_though_the_peer_leaves(void **state)
{
	const struct roce_sender_counters *counters = roce_source_role_counters(bench.role);

	(void)state;
	run_until_sent();
	assert_int_equal(counters->completed, 0);
	(void)roce_port_leave(bench.peer, ns());
	poll_peer();
	poll_role();
	assert_int_equal(counters->connected, 0);
	assert_int_equal(counters->lost, SOURCES);
	assert_int_equal(counters->completed, MESSAGES);
	assert_int_equal(counters->failed, 0);
	assert_int_equal(roce_source_role_source_counters(bench.role)->blocks, MESSAGES);
}

static void run_ms(unsigned ms)
{
	for (unsigned i = 0; i < 100 * ms && !roce_source_role_finished(bench.role); i++) {
		poll_role();
		poll_peer();
	}
}

static void drain(void)
{
	for (unsigned i = 0; i < STEPS && !roce_source_role_finished(bench.role); i++) {
		bench.now += rte_get_tsc_hz() / 100000;
		(void)bench.role->operations->drain(bench.role, bench.now);
		poll_role();
		poll_peer();
	}
	assert_true(roce_source_role_finished(bench.role));
}

// Nobody listens at the port: the role requests less and less often, and knows the reason.
static void refusing_peer__is_asked_less_often(void **state)
{
	const struct roce_sender_counters *counters = roce_source_role_counters(bench.role);
	uint64_t requests;

	(void)state;
	roce_port_destroy(bench.peer);
	bench.peer_config->roce.cm_service = 7;
	make_peer();
	run_ms(10000);
	requests = roce_port_cm_counters(bench.peer)->requests;
	print_message("%lu requests of %u sources in 10 s\n", (unsigned long)requests, SOURCES);
	assert_in_range(requests, SOURCES * 6, SOURCES * 14);
	assert_int_equal(counters->refused, requests);
	assert_int_equal(counters->reason, ROCE_CM_INVALID_SERVICE_ID);
	assert_true(roce_source_role_waits(bench.role));
	drain();
	assert_int_equal(counters->unsent, MESSAGES);
	assert_int_equal(counters->failed, 0);
}

static void silent_peer__leaves_everything_unsent(void **state)
{
	const struct roce_sender_counters *counters = roce_source_role_counters(bench.role);
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n;

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		bench.now += rte_get_tsc_hz() / 100;
		(void)bench.role->operations->poll(bench.role, bench.now);
		n = rte_eth_rx_burst(bench.wire.port.id, 0, mbufs, ROLE_BURST);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	assert_true(counters->unheard > 0);
	assert_int_equal(counters->reason, 0);
	assert_true(roce_source_role_waits(bench.role));
	drain();
	assert_int_equal(counters->unsent, MESSAGES);
}

// The peer leaves in the middle and refuses from then on: the drain does not wait for it.
static void peer_that_leaves__does_not_hold_up_the_drain(void **state)
{
	const struct roce_sender_counters *counters = roce_source_role_counters(bench.role);

	(void)state;
	while (roce_source_role_source_counters(bench.role)->segments < MESSAGES / 2) {
		poll_role();
		if (counters->connected < SOURCES)
			poll_peer();
	}
	(void)roce_port_leave(bench.peer, ns());
	run_ms(1000);
	assert_int_equal(counters->connected, 0);
	drain();
	assert_int_equal(counters->completed + counters->failed + counters->unsent,
			 MESSAGES + SOURCES);
}

static unsigned slowed_flows(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SOURCES; i++)
		n += roce_source_role_qp(bench.role, i)->ns_per_byte != 0;
	return n;
}

// Once the network marks no more packets, the queue pairs send without a limit again.
static void slowed_flows__get_the_rate_of_the_link_again(void **state)
{
	const struct roce_sender_counters *counters;

	(void)state;
	bench.role->operations->fini(bench.role);
	make_role(0);
	counters = roce_source_role_counters(bench.role);
	while (counters->connected < SOURCES)
		run_ms(1);
	assert_int_equal(slowed_flows(), 0);
	bench.congested = true;
	for (unsigned i = 0; i < STEPS && slowed_flows() < SOURCES; i++) {
		poll_role();
		poll_peer();
	}
	assert_int_equal(slowed_flows(), SOURCES);
	bench.congested = false;
	for (unsigned i = 0; i < STEPS && slowed_flows() > 0; i++) {
		poll_role();
		poll_peer();
	}
	assert_int_equal(slowed_flows(), 0);
	assert_true(counters->cnps >= SOURCES);
	drain();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events__are_sent_and_the_connections_end),
		TEST(acknowledged_messages__are_completed_though_the_peer_leaves),
		TEST(refusing_peer__is_asked_less_often),
		TEST(silent_peer__leaves_everything_unsent),
		TEST(peer_that_leaves__does_not_hold_up_the_drain),
		TEST(slowed_flows__get_the_rate_of_the_link_again),
	};

	return cmocka_run_group_tests_name("roce_source", tests, testbed_start, testbed_stop);
}
