// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 2 };

void rx_restart(struct rx_bench *bench)
{
	if (bench->role != NULL)
		bench->role->operations->fini(bench->role);
	bench->role = rx_role_create(&bench->parameters);
	assert_non_null(bench->role);
	assert_string_equal(bench->role->name, "rx.wire");
	assert_string_equal(bench->role->operations->kind, "rx");
}

// As the appliance sets them for a configuration of one process.
static void set_parameters(struct rx_bench *bench)
{
	const struct config_transport *transport = &bench->config->transport;
	const struct port_settings *port = &bench->config->ports[0];
	struct rx_parameters *parameters = &bench->parameters;

	*parameters = (struct rx_parameters){
		.name = "rx.wire",
		.port_id = bench->wire.port.id,
		.reply_queue = 1,
		.verify_checksums = port->verify_checksums,
		.addresses = { .has_ip4 = port->has_address,
			       .has_ip6 = port->has_address6,
			       .ip4 = port->address },
		.packing = bench->config->sources.packing,
		.sources = bench->sources,
		.links = bench->links,
		.n_builders = RX_BUILDERS,
		.quiet_cycles = 100,
		.drain_cycles = 1000,
	};
	memcpy(parameters->addresses.mac.bytes, own_mac, sizeof(own_mac));
	memcpy(parameters->addresses.ip6, port->address6, sizeof(port->address6));
	if (transport->kind == CONFIG_TRANSPORT_ETH) {
		parameters->ether_type = transport->ether_type;
		return;
	}
	parameters->udp_port = transport->udp_port;
	parameters->udp_ports = transport->udp_ports;
}

void rx_open(struct rx_bench *bench, const char *extra, const char *port_extra)
{
	char text[1024];

	memset(bench, 0, sizeof(*bench));
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"rx_queues\": 2, "
		 "\"rx_descriptors\": 128%s}],"
		 "\"sources\": {\"ids\": [\"1-8\"], \"expected\": [\"1-7\"], \"packing\": 4},"
		 "\"builders\": [{\"name\": \"b0\"}, {\"name\": \"b1\"}]%s}",
		 port_extra, extra);
	bench->config = testbed_config(text);
	testbed_open_port(&bench->wire, &bench->config->ports[0], 2, 2);
	bench->pool = testbed_pool("rx", 2047, 2048);
	bench->sources = calloc(1, sizeof(*bench->sources));
	assert_non_null(bench->sources);
	source_table_make(bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
	for (unsigned i = 0; i < RX_BUILDERS; i++)
		bench->links[i] =
		    link_create("rx.wire", "builder", RX_DEPTH,
				bench->config->links.policy == CONFIG_LINK_LOSSLESS, 0);
	set_parameters(bench);
	bench->now = 1000;
	rx_restart(bench);
}

static uint64_t sum(const uint64_t *counters, unsigned n)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++)
		all += counters[i];
	return all;
}

void rx_close(struct rx_bench *bench)
{
	const struct rx_counters *all = rx_counters(bench);
	uint64_t linked = bench->links[0]->counters.enqueued + bench->links[1]->counters.enqueued;
	uint64_t of_sources = 0;

	assert_int_equal(all->packets, all->arp + all->icmp_echo + all->other +
					   sum(all->packet_drops, PACKET_N_CAUSES) + all->segments -
					   all->bundled);
	assert_int_equal(all->segments, linked + sum(all->segment_drops, SEGMENT_N_CAUSES));
	for (unsigned i = 0; i < bench->sources->n_expected; i++)
		of_sources += rx_role_source_counters(bench->role, i)->segments;
	assert_int_equal(of_sources, linked + all->segment_drops[SEGMENT_LINK_FULL]);
	bench->role->operations->fini(bench->role);
	for (unsigned i = 0; i < RX_BUILDERS; i++)
		link_destroy(bench->links[i]);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	rte_mempool_free(bench->pool);
	free(bench->sources);
	config_free(bench->config);
}

void rx_feed(struct rx_bench *bench, const struct frame *frame, uint32_t piece)
{
	uint64_t packets = rx_counters(bench)->packets, bytes = rx_counters(bench)->bytes;

	frame_send(frame, bench->pool, piece, bench->wire.port.id, 0);
	assert_int_equal(role_poll(bench->role, ++bench->now), 1);
	assert_int_equal(rx_counters(bench)->packets, packets + 1);
	assert_int_equal(rx_counters(bench)->bytes, bytes + frame->length);
}

struct segment rx_take(struct rx_bench *bench, unsigned link, const uint8_t *bytes)
{
	struct rte_mbuf *mbuf, *other;
	struct segment segment;
	uint8_t copy[2048];
	const uint8_t *payload;

	assert_int_equal(link_dequeue(bench->links[1 - link], &other, 1), 0);
	assert_int_equal(link_dequeue(bench->links[link], &mbuf, 1), 1);
	assert_int_equal(link_dequeue(bench->links[link], &other, 1), 0);
	segment = *mbuf_segment(mbuf);
	assert_true(segment.size <= sizeof(copy));
	payload = rte_pktmbuf_read(mbuf, segment.payload, segment.size, copy);
	assert_non_null(payload);
	assert_memory_equal(payload, bytes, segment.size);
	rte_pktmbuf_free(mbuf);
	return segment;
}

void rx_take_none(struct rx_bench *bench)
{
	struct rte_mbuf *mbuf;

	for (unsigned i = 0; i < RX_BUILDERS; i++)
		assert_int_equal(link_dequeue(bench->links[i], &mbuf, 1), 0);
}

void rx_refuse_packet(struct rx_bench *bench, const struct frame *frame, enum packet_cause cause)
{
	uint64_t before = rx_counters(bench)->packet_drops[cause];
	uint64_t segments = rx_counters(bench)->segments;

	rx_feed(bench, frame, frame->length);
	rx_take_none(bench);
	assert_int_equal(rx_counters(bench)->packet_drops[cause], before + 1);
	assert_int_equal(rx_counters(bench)->segments, segments);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
}

void rx_refuse_segment(struct rx_bench *bench, const struct frame *frame, enum segment_cause cause)
{
	uint64_t before = rx_counters(bench)->segment_drops[cause];
	uint64_t segments = rx_counters(bench)->segments;

	rx_feed(bench, frame, frame->length);
	rx_take_none(bench);
	assert_int_equal(rx_counters(bench)->segment_drops[cause], before + 1);
	assert_int_equal(rx_counters(bench)->segments, segments + 1);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
}

struct frame_segment rx_segment(void)
{
	static uint8_t bytes[1100];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	return (struct frame_segment){
		.event_id = 4,
		.source_id = 3,
		.offset = 200,
		.length = 1000,
		.bytes = bytes + 200,
		.size = 100,
	};
}

void rx_udp6(struct frame *frame, const struct frame_segment *segment)
{
	struct frame ipv4;
	uint32_t udp_size;

	frame_udp(&ipv4, segment);
	udp_size = ipv4.length - NET_ETH_SIZE - NET_IPV4_SIZE;
	memset(frame->bytes, 0, NET_ETH_SIZE + NET_IPV6_SIZE);
	memcpy(frame->bytes, ipv4.bytes, 12);
	store_be16(frame->bytes + 12, NET_TYPE_IPV6);
	frame->bytes[14] = 0x60;
	store_be16(frame->bytes + 18, (uint16_t)udp_size);
	frame->bytes[20] = NET_PROTO_UDP;
	frame->bytes[21] = 64;
	frame->bytes[22] = 0xFD;
	frame->bytes[38] = 0xFD;
	frame->bytes[53] = 2;
	memcpy(frame->bytes + 54, ipv4.bytes + 34, udp_size);
	frame->length = 54 + udp_size;
	frame_set_udp_checksum(frame);
}
