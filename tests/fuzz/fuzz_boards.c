// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a series of segments of a few boards, with time, releases, packets and runs between
// them. Whatever comes: every segment is counted once, no byte is written outside the memory, a
// block that is sent is what its source sent or an error MFP, and memory to which packets point
// stays as it is.
//
// Input: byte 0, sources, payload kind, and whether the store holds back; then 6 bytes each:
//   kind and source, event, u16 offset, u16 size (little endian)
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "store/block_assembly.h"
#include "wire/mfp.h"

#define SOURCES  4u
#define PACKING  2u
#define FIRST    7u // event id of event index 0
#define LARGEST  128u
#define MEMORY   (12u * LARGEST)
#define DEADLINE 100u
#define OP_SIZE  6u
#define PACKETS  4u // that point into the memory

struct packet {
	struct block_hold *hold; // NULL: none
	const uint8_t *bytes;
	uint32_t size;
	uint8_t copy[LARGEST];
};

struct boards {
	struct block_assembly assembly;
	uint8_t *memory;
	bool mfps, waits;
	uint64_t now, segments;
	struct packet packets[PACKETS];
	unsigned next_packet;
};

static const uint16_t ids[SOURCES] = { 1, 300, 4000, 0xffff };

static uint64_t id_of(uint64_t event)
{
	return FIRST + event * PACKING;
}

// The block of a source for an event: an MFP of two fragments, or any bytes. Returns its size.
static uint32_t make_block(const struct boards *boards, uint64_t event, unsigned source,
			   uint8_t *bytes)
{
	struct mfp_header header = { .event_id = id_of(event),
				     .n_fragments = PACKING,
				     .source_id = ids[source],
				     .align_log2 = 2 };
	const uint16_t sizes[PACKING] = { (uint16_t)(4 + 5 * source), 17 };
	const uint8_t types[PACKING] = { 1, 2 };

	for (unsigned i = 0; i < LARGEST; i++)
		bytes[i] = (uint8_t)(event * 7 + source * 31 + i);
	if (!boards->mfps)
		return 40 + 13 * source;
	FUZZ_CHECK(mfp_encode_header(bytes, LARGEST, &header, types, sizes) == WIRE_OK);
	return header.packet_size;
}

static struct block_store *store_of(struct boards *boards)
{
	return &boards->assembly.window.store;
}

// --- what is done ---

// An event in the window, at its end, or far from it.
static uint64_t event_of(struct boards *boards, uint8_t byte)
{
	uint64_t released = store_of(boards)->released;

	if (byte < 200)
		return released + byte / 8;
	if (byte < 220)
		return released + boards->assembly.mask + byte - 210;
	return byte < 240 ? released - (byte - 219) : UINT64_MAX / 4 + byte;
}

static void send_segment(struct boards *boards, const uint8_t *op)
{
	unsigned source = (op[0] >> 4) % boards->assembly.parameters.n_sources;
	uint64_t event = event_of(boards, op[1]);
	uint8_t bytes[LARGEST];
	uint32_t length = make_block(boards, event, source, bytes);
	struct segment segment = {
		.event_id = (op[0] & 8) != 0 && op[3] == 1 ? MFP_END_OF_RUN : id_of(event),
		.offset = load_le16(op + 2) % length,
		.length = length,
	};
	enum segment_cause cause = SEGMENT_N_CAUSES;
	uint8_t *to;

	segment.size = 1 + load_le16(op + 4) % (length - segment.offset);
	if ((op[0] & 8) != 0 && op[3] == 2)
		segment.length = LARGEST + 1 + op[4];
	else if ((op[0] & 8) != 0 && op[3] == 3)
		segment.length += 1 + op[4] % 8;
	else if ((op[0] & 8) != 0 && op[3] == 4)
		segment.event_id++;
	to = block_assembly_admit(&boards->assembly, &segment, source, &cause);
	boards->segments++;
	if (to != NULL) {
		memcpy(to, bytes + segment.offset, segment.size);
		block_assembly_commit(&boards->assembly, &segment, source);
		return;
	}
	FUZZ_CHECK(cause < SEGMENT_N_CAUSES);
	boards->waits = cause == SEGMENT_STORE_FULL && boards->assembly.parameters.holds_back;
	boards->segments -= boards->waits;
}

static void pass(struct boards *boards, uint64_t ticks)
{
	boards->now += ticks;
	block_assembly_tick(&boards->assembly, boards->now, boards->waits);
	boards->waits = false;
	block_assembly_expire(&boards->assembly);
}

static void check_block(struct boards *boards, uint64_t event, unsigned source)
{
	struct store_block found = block_window_find(store_of(boards), event, source);
	uint8_t bytes[LARGEST];
	uint32_t length = make_block(boards, event, source, bytes);
	struct mfp mfp;

	if (found.size == 0) {
		FUZZ_CHECK(found.is_missing && !boards->mfps);
		return;
	}
	FUZZ_CHECK(found.size <= LARGEST);
	if (found.size == length && memcmp(found.bytes, bytes, length) == 0)
		return;
	if (!boards->mfps) {
		// Its first segment stated another length.
		FUZZ_CHECK(found.size > length && found.size <= length + 8);
		return;
	}
	FUZZ_CHECK(mfp_decode(found.bytes, found.size, &mfp) == WIRE_OK);
	FUZZ_CHECK(mfp.header.source_id == ids[source] && mfp_nothing_usable(&mfp));
}

// A packet points into a block; the one that was there is freed.
static void take_packet(struct boards *boards, uint64_t event, unsigned source)
{
	struct packet *packet = &boards->packets[boards->next_packet++ % PACKETS];
	struct store_block found = block_window_find(store_of(boards), event, source);

	if (packet->hold != NULL) {
		FUZZ_CHECK(memcmp(packet->bytes, packet->copy, packet->size) == 0);
		block_hold_return(packet->hold);
		packet->hold = NULL;
	}
	if (found.hold == NULL)
		return;
	block_hold_take(found.hold);
	*packet = (struct packet){ .hold = found.hold, .bytes = found.bytes, .size = found.size };
	memcpy(packet->copy, found.bytes, found.size);
}

static void release_some(struct boards *boards, uint8_t n)
{
	struct block_store *store = store_of(boards);
	unsigned n_sources = boards->assembly.parameters.n_sources;
	uint64_t end = store->released + n % 16;

	if (end > store->ready)
		end = store->ready;
	for (uint64_t event = store->released; event < end; event++)
		for (unsigned i = 0; i < n_sources; i++)
			check_block(boards, event, i);
	if (store->released < end)
		take_packet(boards, store->released, n % n_sources);
	block_assembly_release(store, end);
}

static void do_op(struct boards *boards, const uint8_t *op)
{
	switch (op[0] & 7) {
	case 5:
		pass(boards, op[1]);
		break;
	case 6:
		release_some(boards, op[1]);
		break;
	case 7:
		if (op[1] < 16)
			block_assembly_begin(store_of(boards), op[2] % 64);
		else if (op[1] < 32)
			block_assembly_begin(store_of(boards),
					     store_of(boards)->released + op[2] % 8);
		else
			block_assembly_housekeep(store_of(boards));
		break;
	default:
		send_segment(boards, op);
		break;
	}
}

// --- what always holds ---

static void check_counts(const struct boards *boards)
{
	const struct block_assembly *assembly = &boards->assembly;
	const struct block_store *store = &assembly->window.store;
	uint64_t dropped = 0, of_sources = 0;

	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		dropped += assembly->counters.drops[i];
	for (unsigned i = 0; i < assembly->parameters.n_sources; i++) {
		of_sources += assembly->sources[i].placed;
		for (unsigned j = 0; j < SEGMENT_N_CAUSES; j++)
			of_sources += assembly->sources[i].drops[j];
	}
	FUZZ_CHECK(assembly->counters.segments == boards->segments);
	FUZZ_CHECK(assembly->counters.placed + dropped == boards->segments);
	FUZZ_CHECK(of_sources == boards->segments);
	FUZZ_CHECK(store->released <= store->ready && store->ready <= assembly->newest);
	FUZZ_CHECK(assembly->newest - store->released <= assembly->mask + 1);
}

// When all events are released and all packets freed, nothing is in use.
static void check_end(struct boards *boards)
{
	struct block_assembly *assembly = &boards->assembly;

	block_assembly_begin(store_of(boards), UINT64_MAX / 8);
	for (unsigned i = 0; i < PACKETS; i++)
		take_packet(boards, 0, 0);
	for (unsigned i = 0; i < assembly->memory.n_regions; i++)
		FUZZ_CHECK(block_hold_is_free(&assembly->memory.regions[i]));
	for (unsigned i = 0; i < assembly->parameters.n_sources; i++)
		FUZZ_CHECK(assembly->ranges[i] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct boards boards;
	struct block_assembly_parameters parameters = {
		.ids = ids,
		.packing = PACKING,
		.first_event = FIRST,
		.max_block = LARGEST,
		.size = MEMORY,
		.ends = true,
		.deadline = DEADLINE,
	};

	if (size == 0)
		return 0;
	memset(&boards, 0, sizeof(boards));
	boards.memory = aligned_alloc(BLOCK_MEMORY_UNIT, MEMORY);
	FUZZ_CHECK(boards.memory != NULL);
	boards.mfps = (data[0] & 1) == 0;
	parameters.memory = boards.memory;
	parameters.mfps = boards.mfps;
	parameters.holds_back = (data[0] & 2) != 0;
	parameters.n_sources = 1 + (data[0] >> 2) % SOURCES;
	FUZZ_CHECK(block_assembly_make(&boards.assembly, &parameters));
	for (size_t at = 1; at + OP_SIZE <= size; at += OP_SIZE) {
		do_op(&boards, data + at);
		check_counts(&boards);
	}
	check_end(&boards);
	block_assembly_free(&boards.assembly);
	free(boards.memory);
	return 0;
}
