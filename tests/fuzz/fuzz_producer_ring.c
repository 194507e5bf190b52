// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A producer ring with a hostile process: it writes any words into the shared memory, between the
// steps of a producer and of the appliance, and before the appliance adopts the ring. Whatever it
// writes: each block that is taken lies in the ring and has an allowed length, source and sequence,
// room that is reserved lies in the ring, and every call returns.
//
// Input, for each step: u8 what is done, u8 which, u16 offset (little endian), u64 value. A word of
// the control area is overwritten by the value, or has bits flipped; everything else takes `which`.
#include "fuzz.h"

#include <unistd.h>

// One ring serves all inputs: its private part, too, is put back to how it was made.
#include "producer/producer_internal.h"
#include "producer/producer_ring.c"
#include "wire/wire.h"

#define BLOCKS    8u
#define DATA_SIZE 4096u
#define LARGEST   2048u
#define N_SOURCES 2u
#define STEP_SIZE 12u

struct bench {
	struct producer_ring *ring;
	struct evb_producer *producer;
	uint64_t held[BLOCKS];
	unsigned n_held;
	uint64_t event_id;
};

// As they were made.
static struct bench made;
static struct producer_ring made_ring;
static struct evb_producer made_producer;
static uint8_t *made_control;
static size_t control_size;
static char directory[] = "/tmp/evb-fuzz-XXXXXX";

static void remove_ring(void)
{
	evb_producer_close(made.producer);
	producer_ring_destroy(made.ring);
	free(made_control);
	rmdir(directory);
}

static void make_ring(void)
{
	static const uint16_t sources[N_SOURCES] = { 1, 0xffff };
	const struct producer_ring_parameters parameters = { .appliance = "fuzz",
							     .name = "input",
							     .directory = directory,
							     .size = DATA_SIZE,
							     .blocks = BLOCKS,
							     .max_block = LARGEST,
							     .sources = sources,
							     .n_sources = N_SOURCES };
	const struct evb_producer_options options = { .directory = directory };
	char error[EVRING_ERROR_SIZE];

	FUZZ_CHECK(mkdtemp(directory));
	FUZZ_CHECK(producer_ring_open(&made.ring, &parameters, error) == 0);
	FUZZ_CHECK(evb_producer_open(&made.producer, "fuzz", "input", &options) == 0);
	made_ring = *made.ring;
	made_producer = *made.producer;
	control_size = (size_t)(made.ring->file.view.data - (uint8_t *)made.ring->file.view.memory);
	made_control = malloc(control_size);
	FUZZ_CHECK(made_control);
	memcpy(made_control, made.ring->file.view.memory, control_size);
	atexit(remove_ring);
}

static void forget(struct producer_ring *ring)
{
	memset(ring->last, 0, N_SOURCES * sizeof(*ring->last));
	memset(ring->done, 0, sizeof(*ring->done));
	ring->inherited = 0;
}

static void open_bench(struct bench *bench)
{
	if (!made.ring)
		make_ring();
	*bench = made;
	*bench->ring = made_ring;
	*bench->producer = made_producer;
	forget(bench->ring);
	memcpy(bench->ring->file.view.memory, made_control, control_size);
}

static void commit(struct bench *bench, unsigned which)
{
	const struct producer_view *view = &bench->producer->view;
	const size_t length = 1 + which * 8;
	void *place;
	uint64_t offset;

	if (evb_producer_reserve(bench->producer, which & 1 ? 1 : 0xffff, length, &place) != 0)
		return;
	offset = (uint64_t)((uint8_t *)place - view->data);
	FUZZ_CHECK(offset < DATA_SIZE && length <= DATA_SIZE - offset);
	memset(place, (int)which, length);
	if (evb_producer_commit(bench->producer, bench->event_id++, length, 0) != 0)
		evb_producer_cancel(bench->producer);
}

static void take(struct bench *bench, unsigned which)
{
	const struct producer_view *view = &bench->ring->file.view;
	struct producer_block blocks[BLOCKS];
	const unsigned max = 1 + which % (BLOCKS - 1);
	unsigned n;

	if (bench->n_held + max > BLOCKS)
		return;
	n = producer_ring_take(bench->ring, blocks, max);
	FUZZ_CHECK(n <= max);
	for (unsigned i = 0; i < n; i++) {
		const struct producer_block *block = &blocks[i];

		FUZZ_CHECK(block->length >= 1 && block->length <= LARGEST);
		FUZZ_CHECK(block->data >= view->data &&
			   block->data + block->length <= view->data + DATA_SIZE);
		FUZZ_CHECK(block->source_index < N_SOURCES);
		FUZZ_CHECK(block->source_id == (block->source_index == 0 ? 1 : 0xffff));
		FUZZ_CHECK((block->flags & ~EVB_PRODUCER_FLAGS) == 0);
		for (unsigned other = 0; other < bench->n_held; other++)
			FUZZ_CHECK(bench->held[other] != block->sequence);
		bench->held[bench->n_held++] = block->sequence;
		// Who sends it reads all of it.
		for (size_t at = 0; at < block->length; at += 64)
			(void)__atomic_load_n(block->data + at, __ATOMIC_RELAXED);
	}
	FUZZ_CHECK(bench->n_held < BLOCKS);
}

static void release(struct bench *bench, unsigned which)
{
	if (bench->n_held == 0)
		return;
	which %= bench->n_held;
	producer_ring_release(bench->ring, bench->held[which]);
	bench->held[which] = bench->held[--bench->n_held];
}

static void look(struct bench *bench)
{
	uint64_t event_id;

	producer_ring_housekeep(bench->ring);
	(void)producer_ring_is_finished(bench->ring);
	FUZZ_CHECK(producer_ring_fill(bench->ring) <= 1000);
	FUZZ_CHECK(evb_producer_level(bench->producer) <= 875);
	FUZZ_CHECK(evb_producer_wait(bench->producer, LARGEST, 0) <= 1);
	FUZZ_CHECK(evb_producer_last(bench->producer, 1, &event_id) <= 1);
}

// The appliance dies, and the next one adopts the ring.
static void adopt(struct bench *bench)
{
	forget(bench->ring);
	bench->n_held = 0;
	inherit(bench->ring);
}

static void next_producer(struct bench *bench)
{
	const struct evb_producer_options options = { .directory = directory };

	evb_producer_close(bench->producer);
	// The constants of the header, which the intruder does not overwrite, are right.
	if (evb_producer_open(&made.producer, "fuzz", "input", &options) != 0) {
		FUZZ_CHECK(strstr(evb_producer_error(made.producer), "ended"));
		evb_producer_close(made.producer);
		atomic_store(&bench->ring->file.view.header->state, EVRING_RUNNING);
		FUZZ_CHECK(evb_producer_open(&made.producer, "fuzz", "input", &options) == 0);
	}
	bench->producer = made.producer;
	made_producer.view = made.producer->view;
	made_producer.index_of = made.producer->index_of;
}

static void scribble(const struct bench *bench, bool flip, size_t offset, uint64_t value)
{
	// In the header the numbers that do not change stay: producers check them when they open.
	const size_t begin = offsetof(struct producer_header, state);
	uint8_t *word =
	    (uint8_t *)bench->ring->file.view.memory + begin + offset % (control_size - begin - 7);
	uint64_t now;

	// The ids of the sources stay, too.
	if (word + sizeof(now) > (const uint8_t *)bench->ring->file.view.source_ids &&
	    word < (uint8_t *)bench->ring->file.view.memory +
		       bench->ring->file.view.header->last_offset)
		return;
	memcpy(&now, word, sizeof(now));
	now = flip ? now ^ value : value;
	memcpy(word, &now, sizeof(now));
}

static void step(struct bench *bench, const uint8_t *bytes)
{
	const uint64_t value = load_le64(bytes + 4);
	const uint8_t which = bytes[1];

	switch (bytes[0] % 16) {
	case 0:
	case 1:
	case 2:
		commit(bench, which);
		break;
	case 3:
	case 4:
		take(bench, which);
		break;
	case 5:
	case 6:
		release(bench, which);
		break;
	case 7:
		look(bench);
		break;
	case 8:
		adopt(bench);
		break;
	case 9:
		next_producer(bench);
		break;
	default:
		scribble(bench, which & 1, load_le16(bytes + 2), value);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench bench;

	open_bench(&bench);
	for (; size >= STEP_SIZE; data += STEP_SIZE, size -= STEP_SIZE)
		step(&bench, data);
	return 0;
}
