// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "source_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "store/set_store.h"
#include "wire/ejfat.h"
#include "wire/mfp.h"
#include "wire/net.h"

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

void source_open(struct source_bench *bench, const char *generator, const char *extra)
{
	char text[2048], error[SOURCE_ERROR_SIZE];
	const struct config_generator *configured;
	struct source_set_parameters set;

	memset(bench, 0, sizeof(*bench));
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"mtu\": 300,"
		 "\"rx_descriptors\": 64, \"address\": \"10.0.0.7\"}],"
		 "\"sources\": {\"ids\": [\"1-4\"], \"packing\": 3},"
		 "\"builders\": [{\"name\": \"b0\"}],"
		 "\"generators\": [{\"name\": \"g\", \"port\": \"wire\", \"variants\": 2%s}]%s}",
		 generator, extra);
	bench->config = testbed_config(text);
	configured = &bench->config->generators[0];
	testbed_open_port(&bench->wire, &bench->config->ports[0], 1, 1);
	set = config_source_set(bench->config, configured);
	if (source_set_make(&bench->set, &set, NULL, error) != 0)
		fail_msg("%s", error);
	bench->store = set_store_create(bench->set, configured->first_event);
	assert_non_null(bench->store);
	bench->headers = testbed_pool(
	    "headers", 2047,
	    block_packets_buffer_size(&configured->faults, bench->set->odin_source >= 0, 300));
	bench->payloads = testbed_pool("payloads", 2047, 0);
	bench->blocks = calloc(SOURCE_BLOCKS, sizeof(*bench->blocks));
	assert_non_null(bench->blocks);
	bench->parameters = (struct source_parameters){
		.name = "source.g",
		.packets = {
			.store = bench->store,
			.first_event = configured->first_event,
			.mac = mac,
			.address = bench->config->ports[0].address,
			.mtu = 300,
			.ethernet = bench->config->transport.kind == CONFIG_TRANSPORT_ETH,
			.ether_type = bench->config->transport.ether_type,
			.load_balancer_header = configured->load_balancer_header,
			.mfps = bench->config->sources.payload == PAYLOAD_MFP,
			.udp_ports = bench->config->transport.udp_ports,
			.headers = bench->headers,
			.payloads = bench->payloads,
		},
		.to = {
			.mac = { 2, 0, 0, 0, 0, 9 },
			.address = configured->destination_address,
			.udp_port = bench->config->transport.udp_port,
		},
		.port_id = bench->wire.port.id,
		.events = configured->events,
		.rate = configured->rate,
		.faults = &configured->faults,
		.seed = configured->seed,
	};
	bench->role = source_role_create(&bench->parameters);
	assert_non_null(bench->role);
	assert_string_equal(bench->role->name, "source.g");
	bench->now = 1000;
}

void source_close(struct source_bench *bench)
{
	bench->role->operations->fini(bench->role);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->headers), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->payloads), 0);
	rte_mempool_free(bench->headers);
	rte_mempool_free(bench->payloads);
	block_store_destroy(bench->store);
	source_set_free(bench->set);
	for (unsigned i = 0; i < bench->n_blocks; i++)
		free(bench->blocks[i].bytes);
	free(bench->blocks);
	config_free(bench->config);
}

const struct received_block *source_find(const struct source_bench *bench, uint64_t event_id,
					 uint16_t source_id)
{
	for (unsigned i = bench->n_blocks; i-- > 0;)
		if (bench->blocks[i].event_id == event_id &&
		    bench->blocks[i].source_id == source_id)
			return &bench->blocks[i];
	return NULL;
}

static struct received_block *find_or_add(struct source_bench *bench, const struct ejfat_re *re)
{
	struct received_block *block =
	    (struct received_block *)(uintptr_t)source_find(bench, re->event_number, re->data_id);

	if (block != NULL)
		return block;
	assert_true(bench->n_blocks < SOURCE_BLOCKS);
	block = &bench->blocks[bench->n_blocks++];
	*block = (struct received_block){
		.event_id = re->event_number,
		.source_id = re->data_id,
		.length = re->length,
		.bytes = calloc(1, re->length),
	};
	assert_non_null(block->bytes);
	return block;
}

// Sources send in order: each segment continues its block, or is a copy of what came.
static void receive_segment(struct source_bench *bench, const struct ejfat_segment *segment,
			    const uint8_t *payload)
{
	struct received_block *block = find_or_add(bench, &segment->re);

	assert_int_equal(block->length, segment->re.length);
	if (bench->tolerates_copies && segment->re.offset < block->have) {
		bench->n_copies++;
		assert_memory_equal(block->bytes + segment->re.offset, payload,
				    segment->payload_size);
		return;
	}
	assert_int_equal(segment->re.offset, block->have);
	memcpy(block->bytes + block->have, payload, segment->payload_size);
	block->have += segment->payload_size;
	block->last_seen = bench->n_packets;
}

static void assert_addressed(const struct source_bench *bench, const uint8_t *bytes,
			     const struct net_frame *frame, uint16_t source_id)
{
	const struct config_transport *transport = &bench->config->transport;

	assert_memory_equal(bytes, mac, 6);
	assert_memory_equal(bytes + 6, mac, 6);
	if (frame->kind == NET_ETHER_PAYLOAD)
		return;
	assert_true(net_ipv4_checksum_ok(bytes + frame->l3_offset));
	assert_int_equal(load_be32(bytes + frame->l3_offset + 12), 0x0a000007);
	assert_int_equal(load_be32(bytes + frame->l3_offset + 16), 0x0a000001);
	// One source port a source; destination ports in turn.
	assert_int_equal(frame->source_port, 49152 + source_id - 1);
	assert_int_equal(frame->destination_port,
			 transport->udp_port + (source_id - 1) % transport->udp_ports);
}

// The tick counts the MFPs of a source, so that their lowest bits differ.
static void assert_tick(const uint8_t *bytes, size_t length, uint64_t event_number)
{
	struct ejfat_lb lb;

	assert_int_equal(ejfat_lb_decode(bytes, length, &lb), WIRE_OK);
	assert_int_equal(lb.tick,
			 event_number == MFP_END_OF_RUN ? MFP_END_OF_RUN : event_number / 3);
}

static void receive_packet(struct source_bench *bench, struct rte_mbuf *mbuf)
{
	bool ethernet = bench->config->transport.kind == CONFIG_TRANSPORT_ETH;
	uint8_t copy[400];
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	const uint8_t *bytes = rte_pktmbuf_read(mbuf, 0, length, copy);
	struct ejfat_segment segment;
	struct net_frame frame;

	assert_non_null(bytes);
	assert_int_equal(net_parse(bytes, length, length,
				   ethernet ? bench->config->transport.ether_type : 0, &frame),
			 WIRE_OK);
	assert_int_equal(frame.kind, ethernet ? NET_ETHER_PAYLOAD : NET_UDP4);
	bytes += frame.payload_offset;
	assert_int_equal(ejfat_has_lb(bytes, frame.payload_size),
			 bench->config->generators[0].load_balancer_header);
	assert_int_equal(
	    ejfat_segment_decode(bytes, frame.payload_size, frame.payload_size, &segment), WIRE_OK);
	assert_addressed(bench, bytes - frame.payload_offset, &frame, segment.re.data_id);
	if (bench->config->generators[0].load_balancer_header)
		assert_tick(bytes, frame.payload_size, segment.re.event_number);
	bench->n_packets++;
	bench->longest = RTE_MAX(bench->longest, length);
	receive_segment(bench, &segment, bytes + segment.payload_offset);
	rte_pktmbuf_free(mbuf);
}

unsigned source_receive(struct source_bench *bench)
{
	struct rte_mbuf *mbufs[64];
	unsigned n = rte_eth_rx_burst(bench->wire.port.id, 0, mbufs, 64);

	for (unsigned i = 0; i < n; i++)
		receive_packet(bench, mbufs[i]);
	return n;
}

void source_run(struct source_bench *bench)
{
	for (unsigned i = 0; i < 100000 && !source_role_finished(bench->role); i++) {
		role_poll(bench->role, ++bench->now);
		source_receive(bench);
	}
	assert_true(source_role_finished(bench->role));
	assert_int_equal(role_poll(bench->role, ++bench->now), 0);
	assert_int_equal(source_receive(bench), 0);
}

void source_assert_block(const struct source_bench *bench, uint64_t event, uint16_t source_id)
{
	uint64_t event_id = bench->config->generators[0].first_event + 3 * event;
	const struct received_block *block = source_find(bench, event_id, source_id);
	const struct source_block *sent =
	    source_set_block(bench->set, (unsigned)(event % 2), source_id - 1u);

	assert_non_null(block);
	assert_int_equal(block->length, sent->size);
	assert_int_equal(block->have, sent->size);
	assert_int_equal(load_le64(block->bytes + 8), event_id);
	assert_memory_equal(block->bytes, sent->bytes, 8);
	assert_memory_equal(block->bytes + 16, sent->bytes + 16, sent->size - 16);
}

void source_assert_end(const struct source_bench *bench, uint16_t source_id)
{
	const struct received_block *block = source_find(bench, MFP_END_OF_RUN, source_id);
	struct mfp mfp;

	assert_non_null(block);
	assert_int_equal(block->have, block->length);
	assert_int_equal(mfp_decode(block->bytes, block->length, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.event_id, MFP_END_OF_RUN);
	assert_int_equal(mfp.header.source_id, source_id);
	assert_int_equal(mfp.header.n_fragments, 0);
}
