// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The whole way in one thread: source role -> ring port -> rx role -> links -> two builder roles ->
// event rings, with every fault on demand. Between the source's port and rx's stands a tap, which
// notes what of each block is on the wire; what is built must be exactly that.
#include "testbed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "builder/builder_role.h"
#include "evring/evb_reader.h"
#include "rx/rx_role.h"
#include "source/source_set.h"
#include "store/set_store.h"
#include "tx/block_packets.h"
#include "tx/source_role.h"
#include "wire/ejfat.h"
#include "wire/mep.h"
#include "wire/net.h"

#define EVENTS   150u
#define SOURCES  4u
#define PACKING  3u
#define FIRST    3000u
#define LARGEST  2048u // bytes of a block
#define BUILDERS 2u

// What the tap has seen of one block.
struct tapped {
	uint32_t length;
	uint8_t have[LARGEST];
	uint8_t bytes[LARGEST];
	bool is_damaged; // not what the source has in its set
};

struct chain {
	struct config *config;
	struct source_table *sources;
	struct testbed_port out, in;
	struct source_set *set;
	struct block_store *store;
	struct rte_mempool *headers, *payloads;
	struct evring *rings[BUILDERS];
	struct evb_reader *reader;
	struct link *links[BUILDERS];
	struct role *source, *rx, *builders[BUILDERS];
	struct tapped (*tapped)[SOURCES]; // [EVENTS]
	uint64_t n_tapped;
	uint64_t complete, incomplete, missing, malformed;
};

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };

static void make_rings(struct chain *chain)
{
	static const char *const group = "main";
	struct evb_reader_options options = { .directory = testbed_directory() };
	char error[EVRING_ERROR_SIZE];

	for (unsigned i = 0; i < BUILDERS; i++) {
		struct evring_parameters parameters = {
			.name = "chain",
			.directory = testbed_directory(),
			.builder = i,
			.n_builders = BUILDERS,
			.slots = 128,
			.slot_size = 16384,
			.groups = &group,
			.n_groups = 1,
		};

		if (evring_create(&chain->rings[i], &parameters, error) != 0)
			fail_msg("%s", error);
	}
	assert_int_equal(evb_reader_open(&chain->reader, "chain", &options), 0);
}

static void make_source(struct chain *chain)
{
	const struct config_generator *generator = &chain->config->generators[0];
	const struct source_set_parameters set = config_source_set(chain->config, generator);
	char error[SOURCE_ERROR_SIZE];
	struct source_parameters parameters;

	if (source_set_make(&chain->set, &set, NULL, error) != 0)
		fail_msg("%s", error);
	chain->store = set_store_create(chain->set, generator->first_event);
	assert_non_null(chain->store);
	chain->headers = testbed_pool(
	    "headers", 8191,
	    block_packets_buffer_size(&generator->faults, chain->set->odin_source >= 0, 400));
	chain->payloads = testbed_pool("payloads", 8191, 0);
	parameters = (struct source_parameters){
		.name = "source.g",
		.packets = {
			.store = chain->store,
			.first_event = generator->first_event,
			.mac = mac,
			.mtu = 400,
			.ethernet = chain->config->transport.kind == CONFIG_TRANSPORT_ETH,
			.ether_type = chain->config->transport.ether_type,
			.load_balancer_header = generator->load_balancer_header,
			.mfps = true,
			.udp_ports = chain->config->transport.udp_ports,
			.headers = chain->headers,
			.payloads = chain->payloads,
		},
		.to = {
			.address = generator->destination_address,
			.udp_port = chain->config->transport.udp_port,
		},
		.port_id = chain->out.port.id,
		.events = generator->events,
		.rate = generator->rate,
		.faults = &generator->faults,
		.seed = generator->seed,
	};
	chain->source = source_role_create(&parameters);
	assert_non_null(chain->source);
}

static void make_receivers(struct chain *chain)
{
	struct rx_parameters rx = {
		.name = "rx.in",
		.port_id = chain->in.port.id,
		.reply_queue = -1,
		.verify_checksums = true,
		.packing = chain->config->sources.packing,
		.sources = chain->sources,
		.links = chain->links,
		.n_builders = BUILDERS,
		.quiet_cycles = 10,
		.drain_cycles = rte_get_tsc_hz(),
	};

	if (chain->config->transport.kind == CONFIG_TRANSPORT_ETH) {
		rx.ether_type = chain->config->transport.ether_type;
	} else {
		rx.udp_port = chain->config->transport.udp_port;
		rx.udp_ports = chain->config->transport.udp_ports;
	}
	for (unsigned i = 0; i < BUILDERS; i++) {
		struct builder_parameters builder = {
			.name = i == 0 ? "builder.b0" : "builder.b1",
			.packing = chain->config->sources.packing,
			.payload = chain->config->sources.payload,
			.on_incomplete = chain->config->events.on_incomplete,
			.on_no_slot = chain->config->events.on_no_slot,
			.deadline_ns = chain->config->events.deadline_ns,
			.ring = chain->rings[i],
			.sources = chain->sources,
			.links = &chain->links[i],
			.n_links = 1,
		};

		chain->links[i] = link_create("rx.in", "builder", 64, true, 0);
		chain->builders[i] = builder_role_create(&builder);
		assert_non_null(chain->builders[i]);
	}
	chain->rx = rx_role_create(&rx);
	assert_non_null(chain->rx);
}

static void open_chain(struct chain *chain, const char *transport, const char *generator)
{
	char text[2048];

	memset(chain, 0, sizeof(*chain));
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"out\", \"profile\": \"ring\", \"mtu\": 400,"
		 "\"rx_descriptors\": 256}, {\"name\": \"in\", \"profile\": \"ring\", \"mtu\": 400,"
		 "\"rx_descriptors\": 256}],"
		 "\"transport\": {\"kind\": \"%s\"},"
		 "\"sources\": {\"ids\": [\"1-4\"], \"packing\": 3},"
		 "\"builders\": [{\"name\": \"b0\"}, {\"name\": \"b1\"}],"
		 "\"events\": {\"deadline\": \"50s\"},"
		 "\"generators\": [{\"name\": \"g\", \"port\": \"out\", \"events\": 150,"
		 "\"first_event\": 3000, \"size\": {\"law\": \"gaussian\", \"mean\": 300,"
		 "\"sigma\": 100, \"maximum\": 600}, \"variants\": 5%s}]}",
		 transport, generator);
	chain->config = testbed_config(text);
	chain->sources = calloc(1, sizeof(*chain->sources));
	chain->tapped = calloc(EVENTS, sizeof(*chain->tapped));
	assert_non_null(chain->sources);
	assert_non_null(chain->tapped);
	source_table_make(chain->sources, chain->config->sources.ids,
			  chain->config->sources.expected, chain->config->sources.n_ids);
	testbed_open_port(&chain->out, &chain->config->ports[0], 1, 1);
	testbed_open_port(&chain->in, &chain->config->ports[1], 1, 1);
	make_rings(chain);
	make_source(chain);
	make_receivers(chain);
}

static void close_chain(struct chain *chain)
{
	chain->source->operations->fini(chain->source);
	chain->rx->operations->fini(chain->rx);
	evb_reader_close(chain->reader);
	for (unsigned i = 0; i < BUILDERS; i++) {
		chain->builders[i]->operations->fini(chain->builders[i]);
		link_destroy(chain->links[i]);
		evring_destroy(chain->rings[i]);
	}
	port_close(&chain->out.port);
	port_close(&chain->in.port);
	assert_int_equal(rte_mempool_in_use_count(chain->headers), 0);
	assert_int_equal(rte_mempool_in_use_count(chain->payloads), 0);
	rte_mempool_free(chain->headers);
	rte_mempool_free(chain->payloads);
	block_store_destroy(chain->store);
	source_set_free(chain->set);
	free(chain->sources);
	free(chain->tapped);
	config_free(chain->config);
}

// Notes the first copy of each byte, which is what the builder takes.
static void note(struct chain *chain, const struct ejfat_segment *segment, const uint8_t *payload)
{
	unsigned event = (unsigned)(segment->re.event_number - FIRST) / PACKING;
	unsigned source = segment->re.data_id - 1u;
	const struct source_block *sent;
	struct tapped *tapped;

	if (segment->re.event_number == MFP_END_OF_RUN)
		return;
	assert_true(event < EVENTS && source < SOURCES && segment->re.length <= LARGEST);
	sent = source_set_block(chain->set, event % 5, source);
	tapped = &chain->tapped[event][source];
	tapped->length = segment->re.length;
	assert_int_equal(tapped->length, sent->size);
	for (uint32_t i = 0; i < segment->payload_size; i++) {
		uint32_t at = segment->re.offset + i;

		if (tapped->have[at])
			continue;
		tapped->have[at] = 1;
		tapped->bytes[at] = payload[i];
		// Bytes 8 to 15 are the event id, which is the event's own.
		if (at >= 16 || at < 8)
			tapped->is_damaged |= payload[i] != sent->bytes[at];
		else
			tapped->is_damaged |=
			    payload[i] != (uint8_t)(segment->re.event_number >> 8 * (at - 8));
	}
}

static void tap_packet(struct chain *chain, struct rte_mbuf *mbuf)
{
	bool ethernet = chain->config->transport.kind == CONFIG_TRANSPORT_ETH;
	uint8_t copy[500];
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	const uint8_t *bytes = rte_pktmbuf_read(mbuf, 0, length, copy);
	struct ejfat_segment segment;
	struct net_frame frame;

	assert_int_equal(net_parse(bytes, length, length,
				   ethernet ? chain->config->transport.ether_type : 0, &frame),
			 WIRE_OK);
	bytes += frame.payload_offset;
	assert_int_equal(
	    ejfat_segment_decode(bytes, frame.payload_size, frame.payload_size, &segment), WIRE_OK);
	note(chain, &segment, bytes + segment.payload_offset);
	chain->n_tapped++;
}

// From one port to the other, as far as there is room.
static void tap(struct chain *chain)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n;

	if (rte_ring_free_count(chain->in.port.rings[0]) < ROLE_BURST)
		return;
	n = rte_eth_rx_burst(chain->out.port.id, 0, mbufs, ROLE_BURST);
	for (unsigned i = 0; i < n; i++)
		tap_packet(chain, mbufs[i]);
	assert_int_equal(rte_eth_tx_burst(chain->in.port.id, 0, mbufs, (uint16_t)n), n);
}

static bool tapped_all(const struct tapped *tapped)
{
	return tapped->length > 0 && memchr(tapped->have, 0, tapped->length) == NULL;
}

static void compare_block(struct chain *chain, const struct tapped *tapped, const uint8_t *bytes,
			  size_t room, unsigned *n_bad)
{
	struct mfp mfp;

	assert_int_equal(mfp_decode(bytes, room, &mfp), WIRE_OK);
	if (!tapped_all(tapped)) {
		assert_int_equal(mfp.types[0], MFP_TYPE_FRAGMENT_MISSING);
		chain->missing++;
		++*n_bad;
	} else if (tapped->is_damaged && mfp.types[0] == MFP_TYPE_FRAGMENT_MALFORMED) {
		chain->malformed++;
		++*n_bad;
	} else {
		assert_memory_equal(bytes, tapped->bytes, tapped->length);
	}
}

static void compare_event(struct chain *chain, const struct evb_event *built)
{
	unsigned event = (unsigned)(built->event_id - FIRST) / PACKING, n_bad = 0;
	uint64_t scratch[SOURCES];
	struct mep mep;

	assert_true(event < EVENTS);
	assert_int_equal(built->event_id, FIRST + event * PACKING);
	assert_int_equal(built->builder, built->event_id / PACKING % BUILDERS);
	assert_int_equal(mep_decode(built->data, built->length, &mep), WIRE_OK);
	assert_int_equal(mep_check(&mep, scratch), WIRE_OK);
	for (unsigned i = 0; i < SOURCES; i++) {
		size_t room;
		const uint8_t *bytes = mep_mfp_bytes(&mep, i, &room);

		assert_int_equal(mep_source_id(&mep, i), i + 1);
		compare_block(chain, &chain->tapped[event][i], bytes, room, &n_bad);
	}
	assert_int_equal(built->n_missing, n_bad);
	assert_int_equal(built->flags & EVB_EVENT_INCOMPLETE, n_bad > 0 ? EVB_EVENT_INCOMPLETE : 0);
	chain->complete += n_bad == 0;
	chain->incomplete += n_bad > 0;
}

static void consume(struct chain *chain)
{
	struct evb_event event;

	while (evb_reader_next(chain->reader, &event, 0) == 1) {
		compare_event(chain, &event);
		assert_int_equal(evb_reader_release(chain->reader, &event), 0);
	}
}

static void step(struct chain *chain)
{
	role_poll(chain->source, rte_rdtsc());
	tap(chain);
	role_poll(chain->rx, rte_rdtsc());
	for (unsigned i = 0; i < BUILDERS; i++) {
		role_poll(chain->builders[i], rte_rdtsc());
		chain->builders[i]->operations->housekeep(chain->builders[i], rte_rdtsc());
	}
	consume(chain);
}

static bool is_over(const struct chain *chain)
{
	return source_role_finished(chain->source) &&
	       rte_ring_count(chain->out.port.rings[0]) == 0 &&
	       rte_ring_count(chain->in.port.rings[0]) == 0;
}

static void drain(struct role *role)
{
	for (unsigned i = 0; !role->operations->drain(role, rte_rdtsc()); i++)
		assert_true(i < 100000);
}

static uint64_t sum(const uint64_t *counters, unsigned n)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++)
		all += counters[i];
	return all;
}

// What left one stage came to the next, and each segment is counted once.
static void assert_conserved(const struct chain *chain)
{
	const struct source_counters *source = source_role_counters(chain->source);
	const struct sender_counters *sender = source_role_sender_counters(chain->source);
	const struct rx_counters *rx = rx_role_counters(chain->rx);
	uint64_t of_builders = 0, published = 0;

	assert_int_equal(sender->packets, chain->n_tapped);
	assert_int_equal(rx->packets, chain->n_tapped);
	assert_int_equal(rx->segments, chain->n_tapped);
	assert_int_equal(sum(rx->segment_drops, SEGMENT_N_CAUSES), 0);
	for (unsigned i = 0; i < BUILDERS; i++) {
		const struct assembly_counters *all =
		    assembly_counters(builder_role_assembly(chain->builders[i]));

		assert_int_equal(all->segments, all->placed + sum(all->drops, SEGMENT_N_CAUSES));
		assert_int_equal(all->events_opened,
				 all->events_complete + all->events_incomplete + all->ends_of_run);
		of_builders += all->segments;
		published += all->events_complete + all->events_incomplete;
	}
	assert_int_equal(of_builders, rx->segments);
	assert_int_equal(published, chain->complete + chain->incomplete);
	// All that was made, without what was lost, with copies and the end-of-run blocks.
	assert_in_range(sender->packets, source->segments - sender->lost + sender->duplicated,
			source->segments - sender->lost + sender->duplicated + SOURCES);
}

static void run(struct chain *chain)
{
	for (unsigned i = 0; !is_over(chain); i++) {
		assert_true(i < 1000000);
		step(chain);
	}
	drain(chain->rx);
	for (unsigned i = 0; i < BUILDERS; i++)
		drain(chain->builders[i]);
	consume(chain);
	assert_conserved(chain);
}

static uint64_t drops(const struct chain *chain, enum segment_cause cause)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < BUILDERS; i++)
		all += assembly_counters(builder_role_assembly(chain->builders[i]))->drops[cause];
	return all;
}

static void chain__without_faults(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", "");
	run(&chain);
	assert_int_equal(chain.complete, EVENTS);
	assert_int_equal(chain.incomplete, 0);
	// The end-of-run event belongs to one builder.
	assert_int_not_equal(builder_role_end_of_run(chain.builders[0]),
			     builder_role_end_of_run(chain.builders[1]));
	close_chain(&chain);
}

static void chain__over_ethernet_with_load_balancer_headers(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "eth", ", \"load_balancer_header\": true");
	run(&chain);
	assert_int_equal(chain.complete, EVENTS);
	assert_int_equal(chain.incomplete, 0);
	close_chain(&chain);
}

static void chain__with_loss(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", ", \"faults\": {\"loss\": 0.02}");
	run(&chain);
	assert_int_equal(chain.complete + chain.incomplete, EVENTS);
	assert_true(chain.incomplete > 10 && chain.complete > 10);
	close_chain(&chain);
}

static void chain__with_duplicates(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", ", \"faults\": {\"duplicate\": 0.1}");
	run(&chain);
	assert_int_equal(chain.complete, EVENTS);
	assert_int_equal(drops(&chain, SEGMENT_DUPLICATE) + drops(&chain, SEGMENT_LATE),
			 source_role_sender_counters(chain.source)->duplicated);
	assert_true(drops(&chain, SEGMENT_DUPLICATE) > 10);
	close_chain(&chain);
}

static void chain__with_reordering(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", ", \"faults\": {\"reorder_window\": 64}");
	run(&chain);
	assert_int_equal(chain.complete, EVENTS);
	assert_true(source_role_sender_counters(chain.source)->reordered > 100);
	close_chain(&chain);
}

static void chain__with_corruption(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", ", \"faults\": {\"corrupt\": 0.3}");
	run(&chain);
	// Not by a checksum, which the sources leave out, but where the structure of an MFP is hit.
	assert_int_equal(chain.complete + chain.incomplete, EVENTS);
	assert_int_equal(chain.missing, 0);
	assert_true(chain.malformed > 0);
	close_chain(&chain);
}

static void chain__with_a_silent_source(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", ", \"faults\": {\"silent_source\": 3}");
	run(&chain);
	assert_int_equal(chain.incomplete, EVENTS);
	assert_int_equal(chain.missing, EVENTS);
	close_chain(&chain);
}

static void chain__with_a_late_source(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp", ", \"faults\": {\"late_source\": 2, \"late_delay\": \"100us\"}");
	run(&chain);
	assert_int_equal(chain.complete, EVENTS);
	close_chain(&chain);
}

static void chain__with_all_of_it(void **state)
{
	struct chain chain;

	(void)state;
	open_chain(&chain, "udp",
		   ", \"faults\": {\"loss\": 0.01, \"duplicate\": 0.01, \"corrupt\": 0.02,"
		   "\"reorder_window\": 64, \"late_source\": 2, \"late_delay\": \"100us\"}");
	run(&chain);
	assert_int_equal(chain.complete + chain.incomplete, EVENTS);
	assert_true(chain.incomplete > 10 && chain.complete > 10);
	close_chain(&chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain__without_faults),
		cmocka_unit_test(chain__over_ethernet_with_load_balancer_headers),
		cmocka_unit_test(chain__with_loss),
		cmocka_unit_test(chain__with_duplicates),
		cmocka_unit_test(chain__with_reordering),
		cmocka_unit_test(chain__with_corruption),
		cmocka_unit_test(chain__with_a_silent_source),
		cmocka_unit_test(chain__with_a_late_source),
		cmocka_unit_test(chain__with_all_of_it),
	};

	return cmocka_run_group_tests_name("chain", tests, testbed_start, testbed_stop);
}
