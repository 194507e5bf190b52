// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "testbed.h"

#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "wire/net.h"
#include "wire/pfc.h"

#define DATA_DSCP        26
#define CONTROL_DSCP     48
#define CONTROL_PRIORITY 6
#define PAYLOAD          100u

struct vlan_bench {
	struct config *config;
	struct rte_mempool *pool;
	struct testbed_port port;
};

static void open_bench(struct vlan_bench *bench, const char *keys)
{
	char text[512], error[PORT_ERROR_SIZE];
	// As a configuration has them by default.
	static const struct port_traffic traffic = { .control_priority = CONTROL_PRIORITY,
						     .control_dscp = CONTROL_DSCP };
	struct port_parameters parameters = { .n_rx_queues = 1,
					      .n_tx_queues = 2,
					      .pool_mbufs = 64 };

	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"rx_descriptors\": 64, "
		 "\"flow_control\": {\"priority\": 4}%s}], \"sources\": {\"ids\": [1]}, "
		 "\"builders\": [{\"name\": \"b\"}]}",
		 keys);
	bench->config = testbed_config(text);
	bench->pool = testbed_pool("vlan", 127, 256);
	parameters.config = &bench->config->ports[0];
	parameters.traffic = &traffic;
	parameters.profile = &bench->port.profile;
	assert_int_equal(profile_load(&bench->port.profile, parameters.config, error), 0);
	if (port_open(&bench->port.port, &parameters, error) != 0)
		fail_msg("%s", error);
}

static void close_bench(struct vlan_bench *bench)
{
	port_close(&bench->port.port);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	rte_mempool_free(bench->pool);
	config_free(bench->config);
}

static struct rte_mbuf *frame_of(struct vlan_bench *bench, const uint8_t *bytes, size_t size)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(bench->pool);

	assert_non_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size), bytes, size);
	return mbuf;
}

static size_t put_udp(uint8_t *bytes, uint8_t dscp, uint16_t tci)
{
	const struct net_udp4 udp = {
		.source_mac = { { 2, 0, 0, 0, 0, 1 } },
		.destination_mac = { { 2, 0, 0, 0, 0, 2 } },
		.source_ip = 0x0A000001,
		.destination_ip = 0x0A000002,
		.source_port = 5,
		.destination_port = 6,
		.vlan_tci = tci,
		.dscp_ecn = (uint8_t)(dscp << 2),
	};
	size_t headers = net_udp4_encode(bytes, &udp, PAYLOAD);

	memset(bytes + headers, 0x5A, PAYLOAD);
	return headers + PAYLOAD;
}

// Sends a frame on a queue; what arrives is `expected`.
static void expect(struct vlan_bench *bench, uint16_t queue, const uint8_t *bytes, size_t size,
		   const uint8_t *expected, size_t expected_size)
{
	struct rte_mbuf *mbuf = frame_of(bench, bytes, size);

	assert_int_equal(rte_eth_tx_burst(bench->port.port.id, queue, &mbuf, 1), 1);
	assert_int_equal(rte_eth_rx_burst(bench->port.port.id, 0, &mbuf, 1), 1);
	assert_int_equal(rte_pktmbuf_pkt_len(mbuf), expected_size);
	assert_memory_equal(rte_pktmbuf_mtod(mbuf, const uint8_t *), expected, expected_size);
	rte_pktmbuf_free(mbuf);
}

static void expect_udp(struct vlan_bench *bench, uint8_t dscp, uint16_t tci)
{
	uint8_t plain[256], tagged[256];
	size_t size = put_udp(plain, dscp, 0), tagged_size = put_udp(tagged, dscp, tci);

	assert_int_equal(tagged_size, size + NET_VLAN_SIZE);
	for (uint16_t queue = 0; queue < 2; queue++)
		expect(bench, queue, plain, size, tagged, tagged_size);
}

static void vlan__tags_have_the_priority_of_what_they_are_on(void **state)
{
	struct vlan_bench bench;
	struct net_arp arp = { .operation = 1, .sender_ip = 1, .target_ip = 2 };
	uint8_t plain[NET_MIN_FRAME], tagged[NET_MIN_FRAME + NET_VLAN_SIZE];

	(void)state;
	open_bench(&bench, ", \"vlan\": 5");
	expect_udp(&bench, DATA_DSCP, 4 << 13 | 5);
	expect_udp(&bench, 0, 4 << 13 | 5);
	expect_udp(&bench, CONTROL_DSCP, 6 << 13 | 5);
	net_arp_encode(plain, &arp);
	memcpy(tagged, plain, 12);
	memcpy(tagged + 12, "\x81\x00\xC0\x05", 4);
	memcpy(tagged + 16, plain + 12, sizeof(plain) - 12);
	expect(&bench, 0, plain, sizeof(plain), tagged, sizeof(tagged));
	close_bench(&bench);
}

static void expect_ipv6(struct vlan_bench *bench, uint8_t dscp, const char *tag)
{
	const struct net_mac mac = { { 2, 0, 0, 0, 0, 1 } };
	uint8_t plain[NET_ETH_SIZE + NET_IPV6_SIZE] = { 0 };
	uint8_t tagged[sizeof(plain) + NET_VLAN_SIZE];

	net_eth_encode(plain, &mac, &mac, 0, NET_TYPE_IPV6);
	store_be32(plain + NET_ETH_SIZE, 6u << 28 | (uint32_t)dscp << 22);
	memcpy(tagged, plain, 12);
	memcpy(tagged + 12, tag, 4);
	memcpy(tagged + 16, plain + 12, sizeof(plain) - 12);
	expect(bench, 0, plain, sizeof(plain), tagged, sizeof(tagged));
}

static void vlan__ipv6_has_a_dscp_too(void **state)
{
	struct vlan_bench bench;

	(void)state;
	open_bench(&bench, ", \"vlan\": 4094");
	expect_ipv6(&bench, DATA_DSCP, "\x81\x00\x8F\xFE");
	expect_ipv6(&bench, CONTROL_DSCP, "\x81\x00\xCF\xFE");
	close_bench(&bench);
}

static void vlan__of_number_0_says_the_priority(void **state)
{
	struct vlan_bench bench;

	(void)state;
	open_bench(&bench, ", \"vlan\": 0");
	expect_udp(&bench, DATA_DSCP, 4 << 13);
	close_bench(&bench);
}

static void vlan__tagged_and_pause_frames_stay(void **state)
{
	const struct pfc_frame pause = { .priorities = 1 << 4, .quanta = { [4] = 100 } };
	struct vlan_bench bench;
	uint8_t bytes[256];
	size_t size;

	(void)state;
	open_bench(&bench, ", \"vlan\": 5");
	size = put_udp(bytes, DATA_DSCP, 1 << 13 | 77);
	expect(&bench, 0, bytes, size, bytes, size);
	pfc_encode(bytes, &pause);
	expect(&bench, 0, bytes, PFC_FRAME_SIZE, bytes, PFC_FRAME_SIZE);
	expect(&bench, 0, bytes, NET_ETH_SIZE, bytes, NET_ETH_SIZE); // too short to tell
	close_bench(&bench);
}

// What the driver refuses is sent again by its owner.
static void vlan__refused_frames_are_tagged_once(void **state)
{
	struct vlan_bench bench;
	struct rte_mbuf *mbufs[64], *more;
	uint8_t bytes[256];
	size_t size = put_udp(bytes, DATA_DSCP, 0);

	(void)state;
	open_bench(&bench, ", \"vlan\": 5");
	for (unsigned i = 0; i < 64; i++)
		mbufs[i] = frame_of(&bench, bytes, size);
	assert_int_equal(rte_eth_tx_burst(bench.port.port.id, 0, mbufs, 64), 64);
	more = frame_of(&bench, bytes, size);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rte_eth_tx_burst(bench.port.port.id, 0, &more, 1), 0);
	assert_int_equal(rte_eth_rx_burst(bench.port.port.id, 0, mbufs, 64), 64);
	rte_pktmbuf_free_bulk(mbufs, 64);
	assert_int_equal(rte_eth_tx_burst(bench.port.port.id, 0, &more, 1), 1);
	assert_int_equal(rte_eth_rx_burst(bench.port.port.id, 0, mbufs, 1), 1);
	assert_int_equal(rte_pktmbuf_pkt_len(mbufs[0]), size + NET_VLAN_SIZE);
	rte_pktmbuf_free(mbufs[0]);
	close_bench(&bench);
}

static void vlan__ports_without_the_key_send_no_tags(void **state)
{
	struct vlan_bench bench;

	(void)state;
	open_bench(&bench, ", \"vlan\": 5");
	close_bench(&bench);
	open_bench(&bench, ""); // it has the number of the one before
	for (uint8_t dscp = 0; dscp < 64; dscp++) {
		uint8_t bytes[256];
		size_t size = put_udp(bytes, dscp, 0);

		expect(&bench, dscp % 2, bytes, size, bytes, size);
	}
	close_bench(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vlan__tags_have_the_priority_of_what_they_are_on),
		cmocka_unit_test(vlan__ipv6_has_a_dscp_too),
		cmocka_unit_test(vlan__of_number_0_says_the_priority),
		cmocka_unit_test(vlan__tagged_and_pause_frames_stay),
		cmocka_unit_test(vlan__refused_frames_are_tagged_once),
		cmocka_unit_test(vlan__ports_without_the_key_send_no_tags),
	};

	return cmocka_run_group_tests_name("vlan", tests, testbed_start, testbed_stop);
}
