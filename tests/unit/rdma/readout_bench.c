// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "cluster/cluster.h"
#include "packet/segment_mbuf.h"
#include "store/set_store.h"
#include "wire/net.h"

#define STEPS_PER_MS 20u
#define CONNECT_MS   20u

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t peer_macs[BENCH_PEERS][6] = { { 2, 0, 0, 0, 0, 2 }, { 2, 0, 0, 0, 0, 3 } };

static struct config *parse(const char *roce, const char *node)
{
	char text[4096], error[CONFIG_ERROR_SIZE];
	struct config *config;

	snprintf(text, sizeof(text),
		 "{\"name\": \"bench\", \"sources\": {\"ids\": [\"1-3\"], \"packing\": %u},"
		 "\"transport\": {\"kind\": \"roce\"},"
		 "\"roce\": {\"path_mtu\": 256, \"max_queue_pairs\": 64%s},"
		 "\"event_manager\": {\"source_buffer\": 128%s},"
		 "\"nodes\": ["
		 "{\"name\": \"a\", \"manager\": true, \"ports\": [{\"name\": \"wire\","
		 "\"profile\": \"ring\", \"address\": \"10.77.0.1/24\", \"rx_descriptors\": 512}],"
		 "\"generators\": [{\"name\": \"boards\", \"port\": \"wire\", \"variants\": 2}]},"
		 "{\"name\": \"b\", \"ports\": [{\"name\": \"wire\", \"profile\": \"ring\","
		 "\"address\": \"10.77.0.2/24\"}],"
		 "\"builders\": [{\"name\": \"b0\", \"slots\": %u, \"slot_size\": %u}]},"
		 "{\"name\": \"c\", \"ports\": [{\"name\": \"wire\", \"profile\": \"ring\","
		 "\"address\": \"10.77.0.3/24\"}],"
		 "\"builders\": [{\"name\": \"b0\", \"slots\": %u, \"slot_size\": %u},"
		 "{\"name\": \"b1\", \"slots\": %u, \"slot_size\": %u}]}]}",
		 BENCH_PACKING, roce, strstr(roce, "read") != NULL ? ", \"mode\": \"pull\"" : "",
		 BENCH_SLOTS, BENCH_SLOT, BENCH_SLOTS, BENCH_SLOT, BENCH_SLOTS, BENCH_SLOT);
	if (config_parse(&config, text, strlen(text), "bench", node, NULL, 0, error) != 0)
		fail_msg("%s", error);
	return config;
}

static struct roce_slots_state ask_builder(void *context, unsigned builder)
{
	const struct readout_bench *bench = context;

	(void)builder;
	return (struct roce_slots_state){ .free = bench->free_slots };
}

// --- peers ---

static uint64_t ns(const struct readout_bench *bench)
{
	return (uint64_t)((double)bench->now * 1e9 / (double)rte_get_tsc_hz());
}

static bool reads(const struct readout_bench *bench)
{
	return bench->config->roce.operation == ROCE_OPERATION_READ;
}

void readout_bench_revive(struct readout_bench *bench, unsigned index)
{
	struct bench_peer *peer = &bench->peers[index];
	const struct roce_port_parameters parameters = {
		.settings = &peer->config->roce,
		.system = &peer->config->cluster,
		.smallest_slot = peer->config->builders[0].slot_size,
		.packing = peer->config->sources.packing,
		.port = &peer->config->ports[0],
		.mac = peer_macs[index],
		.sources = bench->sources,
		.slots = bench->slots,
		.n_builders = peer->n_builders,
		.placements = peer->placements,
		.offers = reads(bench) ? &peer->offers : NULL,
		.pool = bench->answers,
	};
	char error[ROCE_PORT_ERROR_SIZE];

	for (unsigned i = 0; i < peer->n_builders; i++)
		peer->placements[i] = (struct placement){
			.address = BENCH_ADDRESS,
			.stride = BENCH_STRIDE,
			.slot_size = BENCH_SLOT,
			.slots = BENCH_SLOTS,
			.rkey = ++bench->life,
		};
	peer->port = roce_port_create(&parameters, error);
	if (peer->port == NULL)
		fail_msg("%s", error);
}

void readout_bench_kill(struct readout_bench *bench, unsigned index)
{
	roce_port_destroy(bench->peers[index].port);
	bench->peers[index].port = NULL;
}

static void make_peers(struct readout_bench *bench, const char *roce)
{
	static const char *const names[] = { "b", "c" };
	unsigned builder = 0;

	assert_true(neighbours_make(&bench->neighbours, 1 + BENCH_PEERS));
	for (unsigned i = 0; i < BENCH_PEERS; i++) {
		struct bench_peer *peer = &bench->peers[i];

		peer->config = parse(roce, names[i]);
		peer->first_builder = builder;
		peer->n_builders = peer->config->n_builders;
		builder += peer->n_builders;
		neighbours_set(&bench->neighbours, 1 + i, peer_macs[i]);
		assert_true(mailbox_make(&peer->offers, 1024, 0));
		readout_bench_revive(bench, i);
	}
}

// --- opening and closing ---

static void make_packets(struct readout_bench *bench)
{
	const struct block_packets_parameters parameters = {
		.store = bench->store,
		.mac = own_mac,
		.address = bench->config->ports[0].address,
		.mtu = 1500,
		.ethernet = true,
		.mfps = true,
		.udp_ports = 1,
		.headers = bench->headers,
		.payloads = bench->payloads,
	};

	block_packets_init(&bench->packets, &parameters);
	block_packets_init(&bench->expected, &parameters);
	sender_init(&bench->sender, bench->wire.port.id, 0, bench->headers, NULL, 1);
}

static void make_roce(struct readout_bench *bench)
{
	const struct cluster_system *cluster = &bench->config->cluster;
	struct readout_destination builders[BENCH_BUILDERS];
	const struct readout_roce_parameters parameters = {
		.settings = &bench->config->roce,
		.builders = builders,
		.n_builders = BENCH_BUILDERS,
		.packets = &bench->packets,
		.sender = &bench->sender,
		.neighbours = &bench->neighbours,
		.responses = bench->responses,
		.unfinished = cluster_unfinished(bench->config->event_manager.source_buffer),
		.holds_until_release = true,
	};

	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		builders[i] = (struct readout_destination){
			.node = (uint16_t)cluster->builders[i].node,
			.index = (uint16_t)cluster->builders[i].index,
			.address = cluster->nodes[cluster->builders[i].node].address,
			.slots = cluster->builders[i].slots,
		};
	bench->roce = readout_roce_create(&parameters);
	assert_non_null(bench->roce);
}

void readout_bench_restart(struct readout_bench *bench)
{
	readout_roce_destroy(bench->roce);
	make_roce(bench);
}

void readout_bench_open(struct readout_bench *bench, const char *roce)
{
	struct source_set_parameters set;
	char error[SOURCE_ERROR_SIZE];

	memset(bench, 0, sizeof(*bench));
	bench->config = parse(roce, "a");
	testbed_open_port(&bench->wire, &bench->config->ports[0], 1, 1);
	set = config_source_set(bench->config, &bench->config->generators[0]);
	if (source_set_make(&bench->set, &set, NULL, error) != 0)
		fail_msg("%s", error);
	bench->store = set_store_create(bench->set, 0);
	assert_non_null(bench->store);
	bench->headers = testbed_pool("headers", 4095, ROCE_PORT_BUFFER);
	bench->payloads = testbed_pool("payloads", 4095, 0);
	bench->answers = testbed_pool("answers", 1023, ROCE_PORT_BUFFER);
	bench->copies = testbed_pool("copies", 63, 2048);
	bench->responses = link_create("rx.wire", "readout.boards", 1024, false, 0);
	bench->sources = calloc(1, sizeof(*bench->sources));
	bench->arrivals = calloc(BENCH_BUILDERS, sizeof(*bench->arrivals));
	assert_true(bench->sources != NULL && bench->arrivals != NULL && bench->responses != NULL);
	source_table_make(bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
	bench->free_slots = 1u << 20;
	bench->slots = roce_slots_create(2, ask_builder, bench);
	assert_non_null(bench->slots);
	bench->now = rte_get_tsc_hz();
	make_packets(bench);
	make_peers(bench, roce);
	make_roce(bench);
	readout_bench_run(bench, CONNECT_MS);
	assert_int_equal(readout_bench_counters(bench)->sender.connected, BENCH_BUILDERS);
}

void readout_bench_close(struct readout_bench *bench)
{
	sender_fini(&bench->sender);
	readout_roce_destroy(bench->roce);
	for (unsigned i = 0; i < BENCH_PEERS; i++) {
		roce_port_destroy(bench->peers[i].port);
		mailbox_free(&bench->peers[i].offers);
		config_free(bench->peers[i].config);
	}
	roce_slots_destroy(bench->slots);
	link_destroy(bench->responses);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->headers), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->payloads), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->answers), 0);
	rte_mempool_free(bench->headers);
	rte_mempool_free(bench->payloads);
	rte_mempool_free(bench->answers);
	rte_mempool_free(bench->copies);
	block_store_destroy(bench->store);
	source_set_free(bench->set);
	free(bench->sources);
	free(bench->arrivals);
	neighbours_free(&bench->neighbours);
	config_free(bench->config);
}

// --- what happens ---

static bool is_lost(struct readout_bench *bench)
{
	if (bench->lose_one_in == 0)
		return false;
	bench->random = bench->random * 6364136223846793005u + 1442695040888963407u; // Knuth's
	return (bench->random >> 33) % bench->lose_one_in == 0;
}

static struct store_block block_of(struct readout_bench *bench, uint64_t event, unsigned source)
{
	const struct packet_segment at = { .event = event, .source = source };

	return block_packets_find(&bench->expected, &at);
}

// The event id in the header of a block is the event's own; all behind it is as in the set.
static void take_segment(struct readout_bench *bench, const struct bench_peer *peer,
			 const struct segment *segment, const uint8_t *bytes)
{
	uint64_t event = segment->event_id / BENCH_PACKING;
	struct store_block block = block_of(bench, event, segment->source);
	uint32_t skip = segment->offset == 0 ? 16 : 0;

	assert_true(event < BENCH_EVENTS && segment->builder < peer->n_builders);
	assert_int_equal(segment->length, block.size);
	assert_true(segment->offset + segment->size <= block.size);
	assert_memory_equal(bytes + segment->payload + skip, block.bytes + segment->offset + skip,
			    segment->size - skip);
	bench->arrivals[peer->first_builder + segment->builder][event].bytes[segment->source] +=
	    segment->size;
}

static void deliver(struct readout_bench *bench, const struct rte_mbuf *mbuf)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, bench->copies, 0, UINT32_MAX);
	struct rx_packet in = { .mbuf = copy };
	const uint8_t *bytes;

	assert_non_null(copy);
	bytes = in.bytes = rte_pktmbuf_mtod(copy, const uint8_t *);
	in.header_bytes = copy->data_len;
	assert_int_equal(net_parse(bytes, copy->data_len, copy->data_len, 0, &in.frame), WIRE_OK);
	for (unsigned i = 0; i < BENCH_PEERS; i++) {
		struct bench_peer *peer = &bench->peers[i];
		enum rx_verdict verdict;

		if (load_be32(bytes + in.frame.l3_offset + 16) != peer->config->ports[0].address ||
		    peer->port == NULL)
			continue;
		assert_memory_equal(bytes, peer_macs[i], 6);
		verdict = roce_port_receive(peer->port, &in, ns(bench));
		assert_true(verdict == RX_FREE || verdict == RX_SEGMENT);
		if (verdict == RX_SEGMENT)
			take_segment(bench, peer, mbuf_segment(copy), bytes);
	}
	rte_pktmbuf_free(copy);
}

static void send_frames(struct readout_bench *bench)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n;

	(void)sender_flush(&bench->sender);
	n = rte_eth_rx_burst(bench->wire.port.id, 0, mbufs, ROLE_BURST);
	for (unsigned i = 0; i < n; i++)
		if (!is_lost(bench))
			deliver(bench, mbufs[i]);
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void take_answers(struct readout_bench *bench)
{
	for (unsigned i = 0; i < BENCH_PEERS; i++) {
		struct rte_mbuf *mbufs[ROLE_BURST];
		unsigned n = 0;

		if (bench->peers[i].port != NULL)
			n = roce_port_poll(bench->peers[i].port, ns(bench), false, mbufs,
					   ROLE_BURST);
		for (unsigned j = 0; j < n; j++)
			if (is_lost(bench) || link_enqueue(bench->responses, &mbufs[j], 1) == 0)
				rte_pktmbuf_free(mbufs[j]);
	}
}

void readout_bench_run(struct readout_bench *bench, unsigned ms)
{
	for (unsigned i = 0; i < ms * STEPS_PER_MS; i++) {
		struct rte_mbuf *mbuf;
		uint32_t size;

		bench->now += rte_get_tsc_hz() / 1000 / STEPS_PER_MS;
		(void)readout_roce_poll(bench->roce, bench->now);
		while (sender_room(&bench->sender, 2) &&
		       (mbuf = readout_roce_next(bench->roce, bench->now, &size)) != NULL)
			sender_put(&bench->sender, mbuf, 0, false);
		send_frames(bench);
		take_answers(bench);
	}
}

bool readout_bench_post(struct readout_bench *bench, const struct message *grant)
{
	readout_roce_granted(bench->roce, grant);
	return readout_roce_post(bench->roce, grant);
}

bool readout_bench_grant(struct readout_bench *bench, uint64_t event, unsigned builder,
			 unsigned attempt)
{
	const struct message grant = { .kind = MESSAGE_SEND,
				       .event = event,
				       .builder = (uint16_t)builder,
				       .attempt = (uint16_t)attempt };

	return readout_bench_post(bench, &grant);
}

bool readout_bench_grant_slot(struct readout_bench *bench, uint64_t event, unsigned builder,
			      unsigned slot)
{
	const struct bench_peer *peer = &bench->peers[builder > 0];
	const struct placement *placement = &peer->placements[builder - peer->first_builder];
	const struct message grant = { .kind = MESSAGE_SEND,
				       .event = event,
				       .builder = (uint16_t)builder,
				       .address = placement_of_slot(placement, slot),
				       .size = BENCH_SLOT,
				       .rkey = placement->rkey };

	return readout_bench_post(bench, &grant);
}

void readout_bench_offer(struct readout_bench *bench, const struct message *message)
{
	struct bench_peer *peer = &bench->peers[message->builder > 0];
	struct message read = *message;

	read.kind = MESSAGE_READ;
	read.builder = (uint16_t)(message->builder - peer->first_builder);
	assert_true(mailbox_put(&peer->offers, &read));
}

struct message readout_bench_place(const struct readout_bench *bench, uint64_t event,
				   unsigned builder, unsigned source)
{
	struct message message = { .event = event,
				   .builder = (uint16_t)builder,
				   .source = bench->set->ids[source] };

	readout_roce_place(bench->roce, event, source, &message);
	return message;
}

void readout_bench_offer_all(struct readout_bench *bench, uint64_t event, unsigned builder)
{
	for (unsigned i = 0; i < BENCH_SOURCES; i++) {
		const struct message message = readout_bench_place(bench, event, builder, i);

		readout_bench_offer(bench, &message);
	}
}

void readout_bench_expect(struct readout_bench *bench, uint64_t event, unsigned builder)
{
	for (unsigned i = 0; i < BENCH_SOURCES; i++) {
		assert_int_equal(bench->arrivals[builder][event].bytes[i],
				 block_of(bench, event, i).size);
	}
}

void readout_bench_expect_nothing(const struct readout_bench *bench, uint64_t event,
				  unsigned builder)
{
	for (unsigned i = 0; i < BENCH_SOURCES; i++)
		assert_int_equal(bench->arrivals[builder][event].bytes[i], 0);
}
