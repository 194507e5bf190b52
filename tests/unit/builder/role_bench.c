// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "role_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "packet/segment_mbuf.h"
#include "wire/mep.h"

static void open_ring(struct role_bench *bench)
{
	static const char *const group = "main";
	struct evring_parameters parameters = {
		.name = "role",
		.directory = testbed_directory(),
		.n_builders = 1,
		.slots = SLOTS,
		.slot_size = 4096,
		.groups = &group,
		.n_groups = 1,
	};
	struct evb_reader_options options = { .directory = testbed_directory() };
	char error[EVRING_ERROR_SIZE];

	if (evring_create(&bench->ring, &parameters, error) != 0)
		fail_msg("%s", error);
	assert_int_equal(evb_reader_open(&bench->reader, "role", &options), 0);
}

void role_bench_open_for(struct role_bench *bench, const char *events, bool granted)
{
	static const uint16_t nodes_of_sources[] = { 4, 7 };
	char text[512];
	struct builder_parameters parameters;

	memset(bench, 0, sizeof(*bench));
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}],"
		 "\"sources\": {\"ids\": [10, 20], \"packing\": 2, \"payload\": \"opaque\"},"
		 "\"builders\": [{\"name\": \"b\", \"slots\": 4, \"slot_size\": 4096}],"
		 "\"events\": {\"deadline\": \"10ms\"%s}}",
		 events);
	bench->config = testbed_config(text);
	bench->sources = calloc(1, sizeof(*bench->sources));
	assert_non_null(bench->sources);
	source_table_make(bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
	open_ring(bench);
	for (unsigned i = 0; i < 2; i++)
		bench->links[i] = link_create("rx", "builder.b", 256, true, 0);
	bench->pool = testbed_pool("builder", 4095, 1024);
	parameters = (struct builder_parameters){
		.name = "builder.b",
		.packing = bench->config->sources.packing,
		.payload = bench->config->sources.payload,
		.on_incomplete = bench->config->events.on_incomplete,
		.on_no_slot = bench->config->events.on_no_slot,
		.deadline_ns = bench->config->events.deadline_ns,
		.spare = 1,
		.grant_wait_ms = 100,
		.ring = bench->ring,
		.sources = bench->sources,
		.nodes_of_sources = nodes_of_sources,
		.links = bench->links,
		.n_links = 2,
	};
	assert_true(mailbox_make(&bench->mail[0], 64, 0));
	parameters.from_control = &bench->mail[0];
	assert_true(mailbox_make(&bench->mail[1], 64, 0));
	if (granted)
		parameters.to_control = &bench->mail[1];
	else
		parameters.states = &bench->mail[1];
	bench->role = builder_role_create(&parameters);
	assert_non_null(bench->role);
	assert_string_equal(bench->role->name, "builder.b");
	bench->now = rte_rdtsc();
}

void role_bench_open(struct role_bench *bench, const char *events)
{
	role_bench_open_for(bench, events, false);
}

void role_bench_close(struct role_bench *bench)
{
	bench->role->operations->fini(bench->role);
	for (unsigned i = 0; i < 2; i++)
		mailbox_free(&bench->mail[i]);
	for (unsigned i = 0; i < 2; i++)
		link_destroy(bench->links[i]);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	rte_mempool_free(bench->pool);
	evb_reader_close(bench->reader);
	evring_destroy(bench->ring);
	free(bench->sources);
	config_free(bench->config);
}

uint8_t pattern(uint64_t event_id, unsigned source, uint32_t at)
{
	return (uint8_t)(event_id * 17 + source * 101 + at * 3 + at / 256);
}

void feed(struct role_bench *bench, unsigned link, uint64_t event_id, unsigned source,
	  uint32_t offset, uint32_t size, uint32_t piece)
{
	struct frame frame = { .length = HEADERS + size };
	struct rte_mbuf *mbuf;

	memset(frame.bytes, 0xEE, HEADERS);
	for (uint32_t i = 0; i < size; i++)
		frame.bytes[HEADERS + i] = pattern(event_id, source, offset + i);
	mbuf = frame_to_mbuf(&frame, bench->pool, piece);
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = event_id,
		.event_index = event_id / 2,
		.arrival = bench->now,
		.offset = offset,
		.size = size,
		.length = SIZE,
		.payload = HEADERS,
		.source = (uint16_t)source,
	};
	assert_int_equal(link_enqueue(bench->links[link], &mbuf, 1), 1);
}

void feed_block(struct role_bench *bench, uint64_t event_id, unsigned source)
{
	feed(bench, 0, event_id, source, 0, SIZE, 1024);
}

void feed_event(struct role_bench *bench, uint64_t event_id)
{
	feed_block(bench, event_id, 0);
	feed_block(bench, event_id, 1);
}

unsigned role_bench_poll(struct role_bench *bench)
{
	bench->now++;
	return role_poll(bench->role, bench->now);
}

const struct assembly_counters *counters(const struct role_bench *bench)
{
	return assembly_counters(builder_role_assembly(bench->role));
}

struct evb_event take(struct role_bench *bench, uint64_t event_id)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(bench->reader, &event, 0), 1);
	assert_int_equal(event.event_id, event_id);
	return event;
}

void assert_block(const struct evb_event *event, unsigned source)
{
	const uint8_t *bytes;
	struct mep mep;
	size_t room;

	assert_int_equal(mep_decode(event->data, event->length, &mep), WIRE_OK);
	bytes = mep_mfp_bytes(&mep, source, &room);
	assert_int_equal(load_le32(bytes + 4), MFP_HEADER_SIZE + SIZE);
	for (uint32_t i = 0; i < SIZE; i++)
		if (bytes[MFP_HEADER_SIZE + i] != pattern(event->event_id, source, i))
			fail_msg("byte %u of source %u is wrong", i, source);
}

void take_complete(struct role_bench *bench, uint64_t event_id)
{
	struct evb_event event = take(bench, event_id);

	assert_int_equal(event.flags, 0);
	assert_block(&event, 0);
	assert_block(&event, 1);
	assert_int_equal(evb_reader_release(bench->reader, &event), 0);
}

void take_none(struct role_bench *bench)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(bench->reader, &event, 0), 0);
}
