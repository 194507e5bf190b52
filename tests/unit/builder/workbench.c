// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "workbench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/mfp.h"

#define NAME   "workbench"
#define CANARY 0xC5
#define START  1000000u // ticks at the creation

const struct workbench_options workbench_standard = {
	.n_sources = 3,
	.packing = 4,
	.slots = 4,
	.slot_size = 16384,
};

static void make_directory(struct workbench *bench)
{
	const char *parent = getenv("TMPDIR");

	snprintf(bench->directory, sizeof(bench->directory), "%s/builder.XXXXXX",
		 parent != NULL && strlen(parent) < 40 ? parent : "/tmp");
	assert_non_null(mkdtemp(bench->directory));
}

static void remove_directory(struct workbench *bench)
{
	DIR *stream = opendir(bench->directory);
	const struct dirent *entry;

	assert_non_null(stream);
	while ((entry = readdir(stream)) != NULL)
		// "." and ".." refuse.
		(void)unlinkat(dirfd(stream), entry->d_name, 0);
	closedir(stream);
	assert_int_equal(rmdir(bench->directory), 0);
}

static void open_ring(struct workbench *bench)
{
	static const char *const group = "main";
	struct evring_parameters parameters = {
		.name = NAME,
		.directory = bench->directory,
		.n_builders = 1,
		.slots = bench->options.slots,
		.slot_size = bench->options.slot_size,
		.groups = &group,
		.n_groups = bench->options.without_consumer ? 0 : 1,
	};
	struct evb_reader_options reader = { .group = group, .directory = bench->directory };
	char error[EVRING_ERROR_SIZE];

	if (evring_create(&bench->ring, &parameters, error) != 0)
		fail_msg("%s", error);
	assert_int_equal(evring_slot_size(bench->ring), bench->options.slot_size);
	memset(evring_slot(bench->ring, 0), CANARY,
	       bench->options.slots * bench->options.slot_size);
	if (!bench->options.without_consumer && evb_reader_open(&bench->reader, NAME, &reader) != 0)
		fail_msg("%s", evb_reader_error(bench->reader));
}

void workbench_open(struct workbench *bench, const struct workbench_options *options)
{
	struct assembly_parameters parameters;

	*bench = (struct workbench){ .options = *options, .now = START };
	make_directory(bench);
	open_ring(bench);
	bench->sources = calloc(1, sizeof(*bench->sources));
	assert_non_null(bench->sources);
	bench->sources->n_expected = options->n_sources;
	for (unsigned i = 0; i < options->n_sources; i++)
		bench->sources->ids[i] = (uint16_t)(100 + 7 * i);
	parameters = (struct assembly_parameters){
		.ring = bench->ring,
		.sources = bench->sources,
		.packing = options->packing,
		.payload = options->payload,
		.on_incomplete = options->on_incomplete,
		.deadline = WORKBENCH_DEADLINE,
		.grace = WORKBENCH_GRACE,
		.ticks_per_second = 1000000000,
		.start = { .ticks = bench->now, .ns = bench->now },
		.granted = options->granted,
		.spare = options->spare,
		.guarded = options->guarded,
		.patience = 10 * WORKBENCH_DEADLINE,
	};
	bench->assembly = assembly_create(&parameters);
	assert_non_null(bench->assembly);
}

void workbench_close(struct workbench *bench)
{
	workbench_check(bench);
	assembly_destroy(bench->assembly);
	evb_reader_close(bench->reader);
	evring_destroy(bench->ring);
	free(bench->sources);
	remove_directory(bench);
}

static void fill(uint8_t *bytes, size_t size, struct random *random)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)random_next(random);
}

struct block block_mfp(const struct workbench *bench, unsigned source, uint64_t event_id,
		       unsigned n)
{
	struct random random = random_fork(event_id, source);
	struct mfp_header header = {
		.event_id = event_id,
		.n_fragments = (uint16_t)n,
		.source_id = bench->sources->ids[source],
		.align_log2 = 2,
		.version = 3,
	};
	uint16_t *sizes = calloc(n + 1, sizeof(*sizes));
	uint8_t *types = calloc(n + 1, 1);
	struct block block;

	assert_non_null(sizes);
	assert_non_null(types);
	for (unsigned i = 0; i < n; i++) {
		sizes[i] = (uint16_t)(random_next(&random) % 100);
		types[i] = (uint8_t)(1 + random_next(&random) % 60);
	}
	block.length = (uint32_t)mfp_encoded_size(n, sizes, 2);
	block.bytes = malloc(block.length);
	assert_non_null(block.bytes);
	fill(block.bytes, block.length, &random);
	assert_int_equal(mfp_encode_header(block.bytes, block.length, &header, types, sizes), 0);
	free(sizes);
	free(types);
	return block;
}

struct block block_random(unsigned source, uint64_t event_id, uint32_t length)
{
	struct random random = random_fork(event_id, 1000 + source);
	struct block block = { .length = length, .bytes = malloc(length) };

	assert_non_null(block.bytes);
	fill(block.bytes, length, &random);
	return block;
}

void block_free(struct block *block)
{
	free(block->bytes);
	block->bytes = NULL;
}

static bool lies_in_a_slot(const struct workbench *bench, const uint8_t *to, uint32_t size)
{
	const uint8_t *slots = evring_slot(bench->ring, 0);
	uint64_t slot_size = bench->options.slot_size;
	uint64_t at;

	if (to < slots || to >= slots + bench->options.slots * slot_size)
		return false;
	at = (uint64_t)(to - slots) % slot_size;
	return at >= mep_header_size(bench->options.n_sources, MEP_DEFAULT_ALIGN) &&
	       at + size <= slot_size;
}

enum segment_cause workbench_send_forged(struct workbench *bench, const struct segment *segment,
					 const uint8_t *bytes)
{
	enum segment_cause cause = PLACED;
	uint8_t *to = assembly_admit(bench->assembly, segment, bench->now, &cause);
	bool ends = segment->event_id == MFP_END_OF_RUN;

	if (to == NULL) {
		assert_true(cause < SEGMENT_N_CAUSES);
		if (cause == SEGMENT_NO_SLOT)
			assembly_refuse(bench->assembly, segment, cause);
		return cause;
	}
	assert_true(ends || lies_in_a_slot(bench, to, segment->size));
	bench->end_begun |= ends;
	memcpy(to, bytes, segment->size);
	if (assembly_commit(bench->assembly, segment))
		assembly_complete(bench->assembly, bench->now);
	return PLACED;
}

enum segment_cause workbench_send(struct workbench *bench, unsigned source, uint64_t event_id,
				  const struct block *block, uint32_t offset, uint32_t size)
{
	const struct segment segment = {
		.event_id = event_id,
		.event_index = event_id / bench->options.packing,
		.arrival = bench->now,
		.offset = offset,
		.size = size,
		.length = block->length,
		.source = (uint16_t)source,
		.flags = bench->segment_flags,
	};

	assert_true(offset + size <= block->length);
	return workbench_send_forged(bench, &segment, block->bytes + offset);
}

void workbench_place(struct workbench *bench, unsigned source, uint64_t event_id,
		     const struct block *block, uint32_t offset, uint32_t size)
{
	if (size > block->length - offset)
		size = block->length - offset;
	assert_int_equal(workbench_send(bench, source, event_id, block, offset, size), PLACED);
}

void workbench_send_mfp(struct workbench *bench, unsigned source, uint64_t event_id, unsigned n)
{
	struct block block = block_mfp(bench, source, event_id, n);

	for (uint32_t offset = 0; offset < block.length; offset += 100)
		workbench_place(bench, source, event_id, &block, offset, 100);
	block_free(&block);
}

void workbench_send_end(struct workbench *bench, unsigned source)
{
	struct block block = block_mfp(bench, source, MFP_END_OF_RUN, 0);

	workbench_place(bench, source, MFP_END_OF_RUN, &block, 0, block.length);
	block_free(&block);
}

void workbench_wait(struct workbench *bench, uint64_t ticks)
{
	bench->now += ticks;
	assembly_housekeep(bench->assembly, bench->now, 0);
}

static bool is_canary(const uint8_t *bytes, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if (bytes[i] != CANARY)
			return false;
	return true;
}

struct evb_event workbench_take(struct workbench *bench)
{
	uint64_t scratch[WORKBENCH_MOST];
	struct evb_event event;
	struct mep mep;

	assert_int_equal(evb_reader_next(bench->reader, &event, 0), 1);
	assert_int_equal(mep_decode(event.data, event.length, &mep), WIRE_OK);
	assert_int_equal(mep.size, event.length);
	assert_int_equal(mep.n_mfps, bench->options.n_sources);
	assert_int_equal(mep_check(&mep, scratch), WIRE_OK);
	assert_int_equal(event.n_sources, bench->options.n_sources);
	// The slot of a discarded event is not painted anew.
	if (bench->options.on_incomplete == INCOMPLETE_FLAG)
		assert_true(is_canary(evring_slot(bench->ring, event.slot) + event.length,
				      bench->options.slot_size - event.length));
	assert_int_equal((event.flags & EVB_EVENT_INCOMPLETE) != 0, event.n_missing > 0);
	assert_true(event.complete_ns >= event.first_ns);
	return event;
}

void workbench_release(struct workbench *bench, const struct evb_event *event)
{
	memset(evring_slot(bench->ring, event->slot), CANARY, event->length);
	assert_int_equal(evb_reader_release(bench->reader, event), 0);
}

void workbench_take_complete(struct workbench *bench, uint64_t event_id, unsigned n)
{
	struct evb_event event = workbench_take(bench);

	assert_int_equal(event.event_id, event_id);
	assert_int_equal(event.flags, 0);
	assert_int_equal(event.n_missing, 0);
	for (unsigned i = 0; i < bench->options.n_sources; i++) {
		struct block block = block_mfp(bench, i, event_id, n);

		workbench_assert_content(bench, &event, i, CONTENT_DATA, &block, n);
		block_free(&block);
	}
	workbench_release(bench, &event);
}

void workbench_take_none(struct workbench *bench)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(bench->reader, &event, 0), 0);
}

static void assert_error_mfp(const uint8_t *bytes, size_t room, uint64_t event_id, uint8_t type,
			     unsigned n)
{
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;
	struct mfp mfp;

	assert_int_equal(mfp_decode(bytes, room, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.n_fragments, n);
	assert_int_equal(mfp.header.event_id, event_id);
	assert_int_equal(mfp.header.packet_size, mfp_error_size(n));
	while (mfp_next_fragment(&mfp, &index, &offset, &fragment)) {
		assert_int_equal(fragment.type, type);
		assert_int_equal(fragment.size, 0);
	}
	assert_int_equal(index, n);
}

void workbench_assert_content(const struct workbench *bench, const struct evb_event *event,
			      unsigned source, enum workbench_content content,
			      const struct block *block, unsigned n)
{
	bool opaque = bench->options.payload == PAYLOAD_OPAQUE;
	const uint8_t *bytes;
	struct mep mep;
	size_t room;

	assert_int_equal(mep_decode(event->data, event->length, &mep), WIRE_OK);
	assert_int_equal(mep_source_id(&mep, source), bench->sources->ids[source]);
	bytes = mep_mfp_bytes(&mep, source, &room);
	if (content != CONTENT_DATA) {
		assert_error_mfp(bytes, room, event->event_id,
				 content == CONTENT_MISSING ? MFP_TYPE_FRAGMENT_MISSING
							    : MFP_TYPE_FRAGMENT_MALFORMED,
				 n);
		return;
	}
	if (opaque) {
		assert_int_equal(load_le16(bytes + 2), 0);
		assert_int_equal(load_le32(bytes + 4), MFP_HEADER_SIZE + block->length);
		bytes += MFP_HEADER_SIZE;
		room -= MFP_HEADER_SIZE;
	}
	assert_true(room >= block->length);
	assert_memory_equal(bytes, block->bytes, block->length);
	// Up to the next MFP there are zeros, not what the slot held before.
	for (const uint8_t *at = bytes + block->length;
	     (size_t)(at - (const uint8_t *)event->data) % MEP_DEFAULT_ALIGN != 0; at++)
		assert_int_equal(*at, 0);
}

static uint64_t sum_drops(const uint64_t *drops)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		sum += drops[i];
	return sum;
}

static void check_sources(const struct workbench *bench)
{
	const struct assembly_source_counters *sources = assembly_source_counters(bench->assembly);
	const struct assembly_counters *all = counters_of(bench);
	struct assembly_source_counters sum = { 0 };

	for (unsigned i = 0; i < bench->options.n_sources; i++) {
		const struct assembly_source_counters *one = &sources[i];

		assert_int_equal(one->segments, one->placed + sum_drops(one->drops));
		sum.segments += one->segments;
		sum.placed += one->placed;
		sum.placed_bytes += one->placed_bytes;
		sum.blocks += one->blocks;
		sum.malformed += one->malformed;
		sum.missing += one->missing;
		for (unsigned j = 0; j < SEGMENT_N_CAUSES; j++)
			sum.drops[j] += one->drops[j];
	}
	assert_int_equal(sum.segments, all->segments);
	assert_int_equal(sum.placed, all->placed);
	assert_int_equal(sum.placed_bytes, all->placed_bytes);
	assert_int_equal(sum.blocks, all->blocks_whole);
	assert_int_equal(sum.malformed, all->blocks_malformed);
	assert_int_equal(sum.missing, all->blocks_missing);
	assert_memory_equal(sum.drops, all->drops, sizeof(sum.drops));
}

void workbench_check(struct workbench *bench)
{
	const struct assembly_counters *all = counters_of(bench);
	const struct assembly_latency *latency = assembly_latency(bench->assembly);
	uint64_t built = all->events_complete + all->events_incomplete;
	uint64_t published = built - all->events_withdrawn;
	uint64_t closed = built + all->events_discarded + all->ends_of_run;
	uint32_t open = assembly_open_events(bench->assembly);
	bool ends = bench->end_begun && !assembly_end_of_run(bench->assembly); // without a slot

	check_sources(bench);
	assert_int_equal(all->segments, all->placed + sum_drops(all->drops));
	assert_int_equal(all->events_opened, closed + open);
	assert_true(all->events_flushed + all->events_overtaken <=
		    all->events_incomplete + all->events_discarded);
	if (open == 0)
		assert_int_equal(all->blocks_whole + all->blocks_missing,
				 (closed - all->ends_of_run) * bench->options.n_sources);
	assert_int_equal(assembly_free_slots(bench->assembly) + open - ends +
			     evring_outstanding(bench->ring),
			 bench->options.slots);
	assert_int_equal(histogram_count(&latency->complete), all->events_complete);
	assert_int_equal(histogram_count(&latency->released),
			 published - evring_outstanding(bench->ring));
}
