// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a series of segments of a few sources and events, with time and consumers between
// them. Whatever comes: every segment and every event is counted once, no byte is written outside
// the slots, what is published is a sound MEP, and a complete event is what its sources sent.
//
// Input: byte 0, payload kind, what becomes of incomplete events, and whether sources are guarded;
// then 6 bytes each:
//   kind and source, event, u16 offset, u16 size (little endian)
//
// The event ring is a stand-in of this file: slots in ordinary memory with canaries around them.
#include "fuzz.h"

#include <sanitizer/asan_interface.h>

#include "builder/assembly.h"
#include "evring/evb_reader.h"
#include "wire/mep.h"
#include "wire/mfp.h"

#define SOURCES   3u
#define PACKING   2u
#define SLOTS     4u
#define SLOT_SIZE 1024u
#define MARGIN    64u // bytes of canary on each side of a slot
#define CANARY    0xC5
#define DEADLINE  100u
#define OP_SIZE   6u

struct evring {
	uint8_t memory[SLOTS][MARGIN + SLOT_SIZE + MARGIN];
	bool begun[SLOTS];
	uint32_t held[SLOTS], released[SLOTS]; // by consumers; not yet told
	unsigned n_held, n_released;
	bool opaque;
	bool end_begun; // an end-of-run block has come
};

// The block of a source for an event: an MFP of two fragments, or any bytes.
struct block {
	uint8_t bytes[96];
	uint32_t size;
};

static struct block make_block(const struct evring *ring, uint64_t event_id, unsigned source)
{
	struct mfp_header header = { .event_id = event_id,
				     .n_fragments = PACKING,
				     .source_id = (uint16_t)(10 + source),
				     .align_log2 = 2 };
	const uint16_t sizes[PACKING] = { (uint16_t)(4 + 5 * source), 17 };
	const uint8_t types[PACKING] = { 1, 2 };
	struct block block;

	for (unsigned i = 0; i < sizeof(block.bytes); i++)
		block.bytes[i] = (uint8_t)(event_id * 7 + source * 31 + i);
	block.size = 40 + 13 * source;
	if (!ring->opaque) {
		FUZZ_CHECK(mfp_encode_header(block.bytes, sizeof(block.bytes), &header, types,
					     sizes) == WIRE_OK);
		block.size = header.packet_size;
	}
	return block;
}

// What writes there ends the process at once with an address sanitizer, else in check_margins().
static void guard_margins(struct evring *ring)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		uint8_t *front = ring->memory[slot], *back = front + MARGIN + SLOT_SIZE;

		memset(front, CANARY, MARGIN);
		memset(back, CANARY, MARGIN);
		ASAN_POISON_MEMORY_REGION(front, MARGIN);
		ASAN_POISON_MEMORY_REGION(back, MARGIN);
	}
}

static void check_margins(const struct evring *ring)
{
	ASAN_UNPOISON_MEMORY_REGION(ring->memory, sizeof(ring->memory));
	for (unsigned slot = 0; slot < SLOTS; slot++)
		for (unsigned i = 0; i < MARGIN; i++) {
			FUZZ_CHECK(ring->memory[slot][i] == CANARY);
			FUZZ_CHECK(ring->memory[slot][MARGIN + SLOT_SIZE + i] == CANARY);
		}
}

uint8_t *evring_slot(const struct evring *ring, uint32_t slot)
{
	FUZZ_CHECK(slot < SLOTS);
	return (uint8_t *)(uintptr_t)&ring->memory[slot][MARGIN];
}

uint64_t evring_slot_size(const struct evring *ring)
{
	(void)ring;
	return SLOT_SIZE;
}

uint32_t evring_slots(const struct evring *ring)
{
	(void)ring;
	return SLOTS;
}

uint64_t evring_outstanding(const struct evring *ring)
{
	return ring->n_held + ring->n_released;
}

void evring_begin(struct evring *ring, uint32_t slot)
{
	for (unsigned i = 0; i < ring->n_held; i++)
		FUZZ_CHECK(ring->held[i] != slot);
	ring->begun[slot] = true;
}

unsigned evring_reclaim(struct evring *ring, uint32_t *slots, unsigned max)
{
	unsigned n = ring->n_released < max ? ring->n_released : max;

	memcpy(slots, ring->released + ring->n_released - n, n * sizeof(*slots));
	ring->n_released -= n;
	return n;
}

// A complete event is what was sent; in the place of others stand error MFPs or what came whole.
static void check_mfps(const struct evring *ring, const struct mep *mep,
		       const struct evring_event *event)
{
	for (unsigned i = 0; i < SOURCES; i++) {
		struct block block = make_block(ring, event->event_id, i);
		size_t room;
		const uint8_t *bytes = mep_mfp_bytes(mep, i, &room);

		FUZZ_CHECK(mep_source_id(mep, i) == 10 + i);
		if (event->n_missing > 0 || load_le32(bytes + 4) < block.size)
			continue;
		if (ring->opaque && load_le32(bytes + 4) == MFP_HEADER_SIZE + block.size)
			FUZZ_CHECK(memcmp(bytes + MFP_HEADER_SIZE, block.bytes, block.size) == 0);
		else if (!ring->opaque)
			FUZZ_CHECK(memcmp(bytes, block.bytes, block.size) == 0);
	}
}

void evring_publish(struct evring *ring, uint32_t slot, const struct evring_event *event)
{
	uint64_t scratch[SOURCES];
	struct mep mep;

	FUZZ_CHECK(ring->begun[slot]);
	ring->begun[slot] = false;
	FUZZ_CHECK(event->length <= SLOT_SIZE);
	FUZZ_CHECK(mep_decode(evring_slot(ring, slot), event->length, &mep) == WIRE_OK);
	FUZZ_CHECK(mep.size == event->length && mep.n_mfps == SOURCES);
	FUZZ_CHECK(mep_check(&mep, scratch) == WIRE_OK);
	FUZZ_CHECK((event->n_missing > 0) == ((event->flags & EVB_EVENT_INCOMPLETE) != 0));
	check_mfps(ring, &mep, event);
	ring->held[ring->n_held++] = slot;
}

// The consumer gives the one or the other slot back.
static void release(struct evring *ring, unsigned which)
{
	if (ring->n_held == 0)
		return;
	which %= ring->n_held;
	ring->released[ring->n_released++] = ring->held[which];
	ring->held[which] = ring->held[--ring->n_held];
}

static uint64_t sum(const uint64_t *drops)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		all += drops[i];
	return all;
}

static void check_counters(const struct assembly *assembly, const struct evring *ring)
{
	const struct assembly_counters *all = assembly_counters(assembly);
	const struct assembly_source_counters *sources = assembly_source_counters(assembly);
	uint32_t open = assembly_open_events(assembly);
	uint64_t segments = 0, placed = 0;

	for (unsigned i = 0; i < SOURCES; i++) {
		FUZZ_CHECK(sources[i].segments == sources[i].placed + sum(sources[i].drops));
		segments += sources[i].segments;
		placed += sources[i].placed;
	}
	FUZZ_CHECK(all->segments == segments && all->placed == placed);
	FUZZ_CHECK(all->segments == all->placed + sum(all->drops));
	FUZZ_CHECK(all->events_opened == all->events_complete + all->events_incomplete +
					     all->events_discarded + all->ends_of_run + open);
	// The end of run is open without a slot.
	open -= ring->end_begun && !assembly_end_of_run(assembly);
	FUZZ_CHECK(assembly_free_slots(assembly) + open + evring_outstanding(ring) == SLOTS);
}

// A segment of the block, of one that is longer by `longer`, or bytes that belong to neither.
static void send_segment(struct assembly *assembly, struct evring *ring, const uint8_t *op,
			 uint64_t now)
{
	static const uint64_t ids[] = { 0, 1, 2, 4, 6, 8, 2 + 65536 * PACKING, MFP_END_OF_RUN };
	unsigned kind = op[0] >> 4;
	uint64_t id = ids[op[1] % 8];
	struct segment segment = { .event_id = id,
				   .event_index = id / PACKING,
				   .arrival = now,
				   .source = op[0] % SOURCES };
	struct block block = make_block(ring, id, segment.source);
	uint32_t longer = kind < 12 ? 0 : kind == 12 ? 1 : kind == 13 ? 800 : 0xFFFF0000u;
	enum segment_cause cause = SEGMENT_N_CAUSES;
	uint8_t *to;

	segment.length = block.size + longer;
	segment.offset = load_le16(op + 2) % block.size;
	segment.size = 1 + load_le16(op + 4) % (block.size - segment.offset);
	if (kind < 4) { // whole blocks are worth having
		segment.offset = 0;
		segment.size = block.size;
	}
	to = assembly_admit(assembly, &segment, now, &cause);
	if (to == NULL) {
		FUZZ_CHECK(cause < SEGMENT_N_CAUSES);
		if (cause == SEGMENT_NO_SLOT)
			assembly_refuse(assembly, &segment, cause);
		return;
	}
	ring->end_begun |= id == MFP_END_OF_RUN;
	memcpy(to, block.bytes + segment.offset, segment.size);
	if (assembly_commit(assembly, &segment))
		assembly_complete(assembly, now);
}

static uint64_t step(struct assembly *assembly, struct evring *ring, const uint8_t *op,
		     uint64_t now)
{
	switch (op[1] / 8 % 8) {
	case 0:
		assembly_housekeep(assembly, now + load_le16(op + 2), load_le16(op + 4) % 128);
		return now + load_le16(op + 2);
	case 1:
		release(ring, op[2]);
		break;
	case 2:
		if (op[2] == 0)
			assembly_flush(assembly, now);
		break;
	default:
		send_segment(assembly, ring, op, now);
	}
	return now + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct source_table sources;
	struct evring *ring;
	struct assembly_parameters parameters = { .packing = PACKING,
						  .deadline = DEADLINE,
						  .ticks_per_second = 1000000000,
						  .start = { .ticks = 1000 } };
	struct assembly *assembly;
	uint64_t now = parameters.start.ticks;

	if (size == 0)
		return 0;
	ring = fuzz_allocate(1, sizeof(*ring));
	guard_margins(ring);
	ring->opaque = data[0] & 1;
	for (unsigned i = 0; i < SOURCES; i++)
		sources.ids[i] = (uint16_t)(10 + i);
	sources.n_expected = SOURCES;
	parameters.ring = ring;
	parameters.sources = &sources;
	parameters.payload = ring->opaque ? PAYLOAD_OPAQUE : PAYLOAD_MFP;
	parameters.on_incomplete = data[0] & 2 ? INCOMPLETE_DISCARD : INCOMPLETE_FLAG;
	parameters.guarded = data[0] & 4;
	assembly = assembly_create(&parameters);
	FUZZ_CHECK(assembly != NULL);
	for (size_t at = 1; at + OP_SIZE <= size; at += OP_SIZE) {
		now = step(assembly, ring, data + at, now);
		check_counters(assembly, ring);
	}
	assembly_flush(assembly, now);
	FUZZ_CHECK(assembly_open_events(assembly) == 0);
	check_counters(assembly, ring);
	check_margins(ring);
	assembly_destroy(assembly);
	fuzz_free(ring);
	return 0;
}
