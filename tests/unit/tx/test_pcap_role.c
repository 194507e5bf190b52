// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "testbed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "source/source_set.h"
#include "tx/pcap_role.h"
#include "wire/wire.h"

#define DEPTH 64u // of the port
#define MTU   300u

// A packet of a capture: the bytes are 0, 1, 2, ... and the first its number.
struct captured {
	uint64_t time_us;
	uint32_t length;
	uint32_t at_hand; // bytes in the file
};

struct pcap_bench {
	char path[128];
	struct config *config;
	struct testbed_port wire;
	struct rte_mempool *pool;
	struct pcap_parameters parameters;
	struct role *role;
	uint64_t now;
};

static void write_capture(const char *path, const struct captured *packets, unsigned n)
{
	uint8_t header[24] = { 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4 }, record[16], bytes[9000];
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	store_le32(header + 16, 65535);
	store_le32(header + 20, 1); // Ethernet
	assert_int_equal(fwrite(header, 1, sizeof(header), file), sizeof(header));
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (unsigned i = 0; i < n; i++) {
		store_le32(record, (uint32_t)(packets[i].time_us / 1000000));
		store_le32(record + 4, (uint32_t)(packets[i].time_us % 1000000));
		store_le32(record + 8, packets[i].at_hand);
		store_le32(record + 12, packets[i].length);
		bytes[0] = (uint8_t)i;
		assert_int_equal(fwrite(record, 1, sizeof(record), file), sizeof(record));
		assert_int_equal(fwrite(bytes, 1, packets[i].at_hand, file), packets[i].at_hand);
	}
	assert_int_equal(fclose(file), 0);
}

static void open_bench(struct pcap_bench *bench, const struct captured *packets, unsigned n,
		       const char *generator)
{
	char text[1024], error[SOURCE_ERROR_SIZE];
	const struct config_generator *configured;

	memset(bench, 0, sizeof(*bench));
	snprintf(bench->path, sizeof(bench->path), "%s/in.pcap", testbed_directory());
	write_capture(bench->path, packets, n);
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"mtu\": 300,"
		 "\"rx_descriptors\": 64}], \"sources\": {\"ids\": [1]},"
		 "\"builders\": [{\"name\": \"b\"}],"
		 "\"generators\": [{\"name\": \"g\", \"port\": \"wire\", \"kind\": \"pcap\","
		 "\"file\": \"%s\"%s}]}",
		 bench->path, generator);
	bench->config = testbed_config(text);
	configured = &bench->config->generators[0];
	testbed_open_port(&bench->wire, &bench->config->ports[0], 1, 1);
	bench->pool = testbed_pool("pcap", 511, port_buffer_size(&bench->wire.profile, MTU));
	bench->parameters = (struct pcap_parameters){
		.name = "source.g",
		.file = configured->file,
		.speed = configured->speed,
		.faults = &configured->faults,
		.seed = configured->seed,
		.port_id = bench->wire.port.id,
		.mtu = MTU,
		.buffers = bench->pool,
	};
	bench->role = pcap_role_create(&bench->parameters, error);
	if (bench->role == NULL)
		fail_msg("%s", error);
	bench->now = 1000;
}

static void close_bench(struct pcap_bench *bench)
{
	bench->role->operations->fini(bench->role);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	rte_mempool_free(bench->pool);
	config_free(bench->config);
	unlink(bench->path);
}

// Receives what is there: which packets, and asserts their bytes.
static unsigned receive(struct pcap_bench *bench, unsigned *numbers)
{
	struct rte_mbuf *mbufs[DEPTH];
	unsigned n = rte_eth_rx_burst(bench->wire.port.id, 0, mbufs, DEPTH);

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *bytes = rte_pktmbuf_mtod(mbufs[i], const uint8_t *);

		numbers[i] = bytes[0];
		for (unsigned at = 1; at < mbufs[i]->data_len; at++)
			assert_int_equal(bytes[at], (uint8_t)at);
		assert_int_equal(mbufs[i]->pkt_len, mbufs[i]->data_len);
	}
	rte_pktmbuf_free_bulk(mbufs, n);
	return n;
}

static void poll__flat_out_sends_all_in_order(void **state)
{
	struct captured packets[100];
	unsigned numbers[DEPTH], n = 0;
	struct pcap_bench bench;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		packets[i] = (struct captured){ 1000000 * i, 60 + i, 60 + i };
	open_bench(&bench, packets, 100, ", \"speed\": 0");
	for (unsigned polls = 0; polls < 100 && !pcap_role_finished(bench.role); polls++) {
		unsigned got;

		role_poll(bench.role, ++bench.now);
		got = receive(&bench, numbers);
		for (unsigned i = 0; i < got; i++)
			assert_int_equal(numbers[i], n++);
	}
	assert_int_equal(n, 100);
	assert_true(pcap_role_finished(bench.role));
	assert_int_equal(pcap_role_counters(bench.role)->packets, 100);
	assert_int_equal(pcap_role_sender_counters(bench.role)->packets, 100);
	assert_int_equal(pcap_role_sender_counters(bench.role)->bytes, 100 * 60 + 99 * 50);
	close_bench(&bench);
}

static void assert_polled(struct pcap_bench *bench, uint64_t now, unsigned expected)
{
	unsigned numbers[DEPTH];

	role_poll(bench->role, now);
	assert_int_equal(receive(bench, numbers), expected);
}

static void poll__keeps_the_captured_times(void **state)
{
	static const struct captured packets[] = {
		{ 5000000, 60, 60 }, { 5000100, 60, 60 },
		{ 5000100, 60, 60 }, { 5000050, 60, 60 }, // before its predecessor: at once
		{ 5001000, 60, 60 },
	};
	uint64_t us = rte_get_tsc_hz() / 1000000, start = 1000000;
	struct pcap_bench bench;

	(void)state;
	open_bench(&bench, packets, 5, "");
	assert_polled(&bench, start, 1);
	assert_polled(&bench, start + 99 * us, 0);
	assert_polled(&bench, start + 101 * us, 3);
	assert_polled(&bench, start + 990 * us, 0);
	assert_false(pcap_role_finished(bench.role));
	assert_polled(&bench, start + 1010 * us, 1);
	close_bench(&bench);
	// Twice as fast.
	open_bench(&bench, packets, 5, ", \"speed\": 2");
	assert_polled(&bench, start, 1);
	assert_polled(&bench, start + 49 * us, 0);
	assert_polled(&bench, start + 51 * us, 3);
	assert_polled(&bench, start + 495 * us, 0);
	assert_polled(&bench, start + 505 * us, 1);
	close_bench(&bench);
}

static void poll__leaves_out_what_cannot_be_sent(void **state)
{
	static const struct captured packets[] = {
		{ 0, 60, 60 },
		{ 0, MTU + 14 + 8, MTU + 14 + 8 }, // with two VLAN tags
		{ 0, MTU + 14 + 9, MTU + 14 + 9 }, // too long
		{ 0, 200, 199 },                   // cut
		{ 0, 8000, 100 },                  // both
		{ 0, 60, 60 },
	};
	unsigned numbers[DEPTH];
	struct pcap_bench bench;

	(void)state;
	open_bench(&bench, packets, 6, ", \"speed\": 0");
	role_poll(bench.role, 1000);
	role_poll(bench.role, 1001);
	assert_int_equal(receive(&bench, numbers), 3);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], 1);
	assert_int_equal(numbers[2], 5);
	assert_int_equal(pcap_role_counters(bench.role)->packets, 6);
	assert_int_equal(pcap_role_counters(bench.role)->oversized, 1);
	assert_int_equal(pcap_role_counters(bench.role)->truncated, 2);
	close_bench(&bench);
}

static void poll__waits_for_room_and_buffers(void **state)
{
	struct captured packets[200];
	unsigned numbers[DEPTH], n = 0;
	struct rte_mbuf *held[511];
	struct pcap_bench bench;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		packets[i] = (struct captured){ 0, 60, 60 };
	open_bench(&bench, packets, 200, ", \"speed\": 0");
	assert_int_equal(rte_pktmbuf_alloc_bulk(bench.pool, held, 511), 0);
	assert_int_equal(role_poll(bench.role, 1), 0);
	rte_pktmbuf_free_bulk(held, 511);
	for (unsigned i = 0; i < 20; i++)
		role_poll(bench.role, 2 + i);
	assert_true(bench.role->backpressured);
	for (unsigned i = 0; i < 20; i++) {
		unsigned got = receive(&bench, numbers);

		for (unsigned k = 0; k < got; k++)
			assert_int_equal(numbers[k], n++ % 256);
		role_poll(bench.role, 100 + i);
	}
	assert_int_equal(n, 200);
	assert_true(pcap_role_finished(bench.role));
	close_bench(&bench);
}

static void drain__stops_reading(void **state)
{
	static const struct captured packets[] = { { 0, 60, 60 }, { 9000000, 60, 60 } };
	unsigned numbers[DEPTH];
	struct pcap_bench bench;

	(void)state;
	open_bench(&bench, packets, 2, "");
	role_poll(bench.role, 1000);
	for (unsigned i = 0; i < 5 && !bench.role->operations->drain(bench.role, 2000 + i); i++)
		;
	assert_true(pcap_role_finished(bench.role));
	assert_int_equal(receive(&bench, numbers), 1);
	close_bench(&bench);
}

static void faults__befall_captured_packets_too(void **state)
{
	struct captured packets[100];
	unsigned numbers[DEPTH], n = 0;
	struct pcap_bench bench;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		packets[i] = (struct captured){ 0, 60, 60 };
	open_bench(&bench, packets, 100,
		   ", \"speed\": 0, \"faults\": {\"loss\": 0.2, \"reorder_window\": 16}");
	for (unsigned i = 0; i < 100 && !pcap_role_finished(bench.role); i++) {
		role_poll(bench.role, 1000 + i);
		n += receive(&bench, numbers);
	}
	assert_true(pcap_role_finished(bench.role));
	assert_int_equal(n + pcap_role_sender_counters(bench.role)->lost, 100);
	assert_in_range(n, 60, 95);
	assert_true(pcap_role_sender_counters(bench.role)->reordered > 10);
	close_bench(&bench);
}

static void create__without_its_file(void **state)
{
	struct pcap_parameters parameters = { .name = "source.g", .file = "/nowhere/x.pcap" };
	char error[SOURCE_ERROR_SIZE];

	(void)state;
	assert_null(pcap_role_create(&parameters, error));
	assert_non_null(strstr(error, "/nowhere/x.pcap: No such file or directory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__flat_out_sends_all_in_order),
		cmocka_unit_test(poll__keeps_the_captured_times),
		cmocka_unit_test(poll__leaves_out_what_cannot_be_sent),
		cmocka_unit_test(poll__waits_for_room_and_buffers),
		cmocka_unit_test(drain__stops_reading),
		cmocka_unit_test(faults__befall_captured_packets_too),
		cmocka_unit_test(create__without_its_file),
	};

	return cmocka_run_group_tests_name("pcap_role", tests, testbed_start, testbed_stop);
}
