// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "producer_ring.h"
#include "evb_producer.h"
#include "producer_ring_file.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/counter.h"
#include "evring/evring_lock.h"
#include "evring/evring_view.h"

static_assert(PRODUCER_MOST_BLOCKS == PRODUCER_MAX_BLOCKS, "one limit");
static_assert(PRODUCER_MOST_SOURCES == PRODUCER_MAX_SOURCES, "one limit");

#define WORD_BITS 64u

struct producer_ring {
	struct producer_file file; // constant after open, except for the control thread's work
	uint64_t inherited;        // constant after open
	uint64_t oldest;           // constant after open: see producer_ring_oldest()
	uint16_t *source_ids;      // constant after open

	// role
	uint64_t taken;    // sequence of the next block to take
	uint64_t released; // all before it are released
	uint32_t session;  // of the producer that was seen last
	uint32_t refused;  // session whose rights ended; 0: none
	uint64_t woken_at; // `released` when the producer was woken last
	uint64_t *last;    // by source: event id + 1 of the last block taken; 0: none
	uint64_t *done;    // bit s & (blocks - 1): the block of sequence s is released
	uint64_t left_end; // blocks before it may be those that the last process left
	struct producer_ring_counters counters;

	_Atomic bool attached;         // control thread
	_Atomic uint32_t attached_pid; // control thread
};

static const char *const cause_names[PRODUCER_N_CAUSES] = {
	[PRODUCER_BAD_COUNT] = "bad_count", [PRODUCER_BAD_LENGTH] = "bad_length",
	[PRODUCER_BAD_PLACE] = "bad_place", [PRODUCER_BAD_SOURCE] = "bad_source",
	[PRODUCER_BAD_EVENT] = "bad_event", [PRODUCER_BAD_FLAGS] = "bad_flags",
};

const char *producer_cause_name(enum producer_cause cause)
{
	return (unsigned)cause < PRODUCER_N_CAUSES ? cause_names[cause] : "unknown";
}

// --- opening and closing -------------------------------------------------------------------------

static bool is_done(const struct producer_ring *ring, uint64_t sequence)
{
	const uint64_t at = sequence & (ring->file.view.n_blocks - 1);

	return (ring->done[at / WORD_BITS] >> at % WORD_BITS & 1) != 0;
}

static void set_done(struct producer_ring *ring, uint64_t sequence, bool done)
{
	const uint64_t at = sequence & (ring->file.view.n_blocks - 1);
	const uint64_t bit = UINT64_C(1) << at % WORD_BITS;

	if (done)
		ring->done[at / WORD_BITS] |= bit;
	else
		ring->done[at / WORD_BITS] &= ~bit;
}

// Advances `released` over all released blocks.
static void advance(struct producer_ring *ring)
{
	while (ring->released != ring->taken && is_done(ring, ring->released)) {
		set_done(ring, ring->released, false);
		ring->released++;
	}
	// Release: the producer writes into the memory only after it was read.
	atomic_store_explicit(&ring->file.view.header->released, ring->released,
			      memory_order_release);
}

static uint32_t mark_of(uint64_t sequence)
{
	return (uint32_t)(sequence + 1);
}

static void clear_mark(struct producer_ring *ring, uint64_t sequence)
{
	const struct producer_view *view = &ring->file.view;

	atomic_store_explicit(&view->marks[sequence & (view->n_blocks - 1)], 0,
			      memory_order_relaxed);
}

// Nothing can be known of the blocks that the last process left.
static void forget_left(struct producer_ring *ring)
{
	ring->left_end = ring->released;
	memset(ring->last, 0, ring->file.view.n_sources * sizeof(*ring->last));
	for (uint32_t i = 0; i < ring->file.view.n_blocks; i++)
		clear_mark(ring, i);
}

// The block of the last process will be taken again, or was released before its death.
static void inherit_block(struct producer_ring *ring, uint64_t sequence)
{
	const struct producer_view *view = &ring->file.view;
	const uint64_t at = sequence & (view->n_blocks - 1);
	const struct producer_descriptor_copy copy = producer_descriptor_read(view, sequence);

	if (atomic_load_explicit(&view->marks[at], memory_order_relaxed) == mark_of(sequence)) {
		set_done(ring, sequence, true);
		return;
	}
	if (ring->inherited++ == 0 || copy.event_id < ring->oldest)
		ring->oldest = copy.event_id;
	if (copy.source < view->n_sources)
		ring->last[copy.source] = 0;
}

// The event behind the last one that was committed.
static uint64_t newest_event(const struct producer_ring *ring)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < ring->file.view.n_sources; i++)
		if (ring->last[i] > newest)
			newest = ring->last[i];
	return newest > 0 ? newest : UINT64_MAX;
}

// Takes over the state that the last process left. Whatever it is, it can only make this side take
// blocks that a producer of this ring wrote. A live producer may commit at the same time.
static void inherit(struct producer_ring *ring)
{
	const struct producer_view *view = &ring->file.view;
	const struct producer_header *header = view->header;
	const _Atomic uint64_t *last = view->last;
	const _Atomic uint64_t *end = &header->head;
	const uint64_t released = atomic_load_explicit(&header->released, memory_order_acquire);

	ring->released = ring->taken = released;
	ring->woken_at = released;
	ring->refused = atomic_load_explicit(&header->refused, memory_order_acquire);
	// Acquire: a new producer sets `last` and `head` before its session.
	ring->session = atomic_load_explicit(&header->session, memory_order_acquire);
	if (ring->session != 0 && ring->session == ring->refused) {
		last = view->accepted;
		end = &header->restart;
	}
	// Acquire: a block that `last` counts is before the head that is read below.
	for (uint32_t i = 0; i < view->n_sources; i++)
		ring->last[i] = atomic_load_explicit(&last[i], memory_order_acquire);
	ring->left_end = atomic_load_explicit(end, memory_order_acquire);
	ring->oldest = newest_event(ring);
	if (ring->left_end - released >= view->n_blocks) {
		forget_left(ring); // the first producer_ring_take() counts it
		return;
	}
	for (uint64_t s = released; s != ring->left_end; s++)
		inherit_block(ring, s);
}

static bool allocate(struct producer_ring *ring)
{
	const uint32_t words = (ring->file.view.n_blocks + WORD_BITS - 1) / WORD_BITS;

	ring->source_ids = calloc(ring->file.view.n_sources, sizeof(*ring->source_ids));
	ring->last = calloc(ring->file.view.n_sources, sizeof(*ring->last));
	ring->done = calloc(words, sizeof(*ring->done));
	return ring->source_ids != NULL && ring->last != NULL && ring->done != NULL;
}

static void free_ring(struct producer_ring *ring)
{
	free(ring->source_ids);
	free(ring->last);
	free(ring->done);
	free(ring);
}

int producer_ring_open(struct producer_ring **ring,
		       const struct producer_ring_parameters *parameters, char *error)
{
	struct producer_ring *new_ring = calloc(1, sizeof(*new_ring));
	struct producer_header *header;
	int rc;

	*ring = NULL;
	if (new_ring == NULL)
		return evring_error(-ENOMEM, error, "%s", strerror(ENOMEM));
	rc = producer_file_open(&new_ring->file, parameters, error);
	if (rc != 0) {
		free(new_ring);
		return rc;
	}
	if (!allocate(new_ring)) {
		producer_file_close(&new_ring->file, !new_ring->file.adopted);
		free_ring(new_ring);
		return evring_error(-ENOMEM, error, "%s", strerror(ENOMEM));
	}
	memcpy(new_ring->source_ids, parameters->sources,
	       parameters->n_sources * sizeof(*parameters->sources));
	new_ring->oldest = UINT64_MAX;
	header = new_ring->file.view.header;
	if (new_ring->file.adopted)
		inherit(new_ring);
	atomic_store_explicit(&header->owner_pid, (uint32_t)getpid(), memory_order_relaxed);
	atomic_store_explicit(&header->state, EVRING_RUNNING, memory_order_release);
	*ring = new_ring;
	return 0;
}

uint64_t producer_ring_inherited(const struct producer_ring *ring)
{
	return ring->inherited;
}

bool producer_ring_is_adopted(const struct producer_ring *ring)
{
	return ring->file.adopted;
}

uint64_t producer_ring_oldest(const struct producer_ring *ring)
{
	return ring->oldest;
}

bool producer_ring_has_inherited(const struct producer_ring *ring)
{
	return ring->taken >= ring->left_end;
}

static void wake(struct producer_ring *ring)
{
	struct producer_header *header = ring->file.view.header;

	atomic_fetch_add_explicit(&header->wakes, 1, memory_order_release);
	// Without FUTEX_PRIVATE_FLAG: the producer is another process.
	(void)syscall(SYS_futex, &header->wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void producer_ring_end(struct producer_ring *ring)
{
	atomic_store_explicit(&ring->file.view.header->state, EVRING_ENDED, memory_order_release);
	// Pairs with the fence in evb_producer_commit(): what is committed without an error can be
	// taken from now on.
	atomic_thread_fence(memory_order_seq_cst);
	wake(ring);
}

static void leave(struct producer_ring *ring, bool remove)
{
	if (ring == NULL)
		return;
	if (remove)
		producer_ring_end(ring);
	producer_file_close(&ring->file, remove);
	free_ring(ring);
}

void producer_ring_close(struct producer_ring *ring)
{
	leave(ring, false);
}

void producer_ring_destroy(struct producer_ring *ring)
{
	leave(ring, true);
}

const char *producer_ring_path(const struct producer_ring *ring)
{
	return ring->file.path;
}

struct producer_ring_memory producer_ring_memory(const struct producer_ring *ring)
{
	return (struct producer_ring_memory){
		.address = ring->file.view.memory,
		.length = ring->file.view.file_size,
		.page_size = ring->file.page_size,
	};
}

// --- taking and releasing ------------------------------------------------------------------------

// Ends the rights of the producer: what it committed from `taken` on is never taken, and the next
// producer begins there.
static void refuse(struct producer_ring *ring, enum producer_cause cause)
{
	const struct producer_view *view = &ring->file.view;

	for (uint32_t i = 0; i < view->n_sources; i++)
		atomic_store_explicit(&view->accepted[i], ring->last[i], memory_order_relaxed);
	// The next producer uses the sequences of the blocks again that are left out here.
	for (uint64_t s = ring->taken; s < ring->left_end; s++) {
		set_done(ring, s, false);
		clear_mark(ring, s);
	}
	ring->left_end = ring->taken;
	atomic_store_explicit(&view->header->restart, ring->taken, memory_order_relaxed);
	ring->refused = ring->session;
	// Release: the next producer that sees it sees `restart`, too.
	atomic_store_explicit(&view->header->refused, ring->session, memory_order_release);
	counter_add(&ring->counters.refused[cause], 1);
}

// Checks a copy of a descriptor. Returns PRODUCER_N_CAUSES if nothing is wrong.
static enum producer_cause judge(const struct producer_ring *ring,
				 const struct producer_descriptor_copy *copy)
{
	const struct producer_view *view = &ring->file.view;

	if (copy->length == 0 || copy->length > view->max_block)
		return PRODUCER_BAD_LENGTH;
	if (!producer_is_placed(view, copy->offset, copy->length))
		return PRODUCER_BAD_PLACE;
	if (copy->source >= view->n_sources)
		return PRODUCER_BAD_SOURCE;
	if (copy->event_id == UINT64_MAX || copy->event_id < ring->last[copy->source])
		return PRODUCER_BAD_EVENT;
	return (copy->flags & ~EVB_PRODUCER_FLAGS) != 0 ? PRODUCER_BAD_FLAGS : PRODUCER_N_CAUSES;
}

// Counts a new producer. Returns false if the rights of this one have ended.
static bool may_go_on(struct producer_ring *ring)
{
	// Acquire: a new producer sets `head` before its session.
	const uint32_t session =
	    atomic_load_explicit(&ring->file.view.header->session, memory_order_acquire);

	if (session != ring->session) {
		ring->session = session;
		counter_add(&ring->counters.producers, 1);
	}
	return session != ring->refused;
}

// The sequence up to which blocks can be taken, or `taken` if there are none.
static uint64_t find_end(struct producer_ring *ring)
{
	uint64_t head;

	if (!may_go_on(ring))
		return ring->taken;
	// Acquire: all blocks before the head, and their descriptors, are visible.
	head = atomic_load_explicit(&ring->file.view.header->head, memory_order_acquire);
	if (head - ring->released < ring->file.view.n_blocks &&
	    head - ring->taken <= head - ring->released)
		return head;
	refuse(ring, PRODUCER_BAD_COUNT);
	return ring->taken;
}

static void fill_block(const struct producer_ring *ring, struct producer_block *block,
		       const struct producer_descriptor_copy *copy)
{
	const struct producer_view *view = &ring->file.view;

	*block = (struct producer_block){
		.sequence = ring->taken,
		.event_id = copy->event_id,
		.data = view->data + copy->offset,
		.length = copy->length,
		.flags = copy->flags,
		.source_id = ring->source_ids[copy->source],
		.source_index = (uint16_t)copy->source,
	};
}

unsigned producer_ring_take(struct producer_ring *ring, struct producer_block *blocks, unsigned max)
{
	const uint64_t end = find_end(ring);
	uint64_t bytes = 0;
	unsigned n = 0;

	while (ring->taken != end && n < max) {
		const struct producer_descriptor_copy copy =
		    producer_descriptor_read(&ring->file.view, ring->taken);
		enum producer_cause cause;

		if (is_done(ring, ring->taken)) { // before the death of the last process
			ring->taken++;
			advance(ring);
			continue;
		}
		cause = judge(ring, &copy);
		if (cause != PRODUCER_N_CAUSES) {
			refuse(ring, cause);
			break;
		}
		fill_block(ring, &blocks[n++], &copy);
		ring->last[copy.source] = copy.event_id + 1;
		bytes += copy.length;
		ring->taken++;
	}
	if (n > 0) {
		counter_add(&ring->counters.blocks, n);
		counter_add(&ring->counters.bytes, bytes);
	}
	return n;
}

bool producer_ring_is_finished(const struct producer_ring *ring)
{
	const struct producer_header *header = ring->file.view.header;

	// Acquire: all blocks that were committed before it are visible.
	return atomic_load_explicit(&header->finished, memory_order_acquire) != 0 &&
	       atomic_load_explicit(&header->head, memory_order_relaxed) == ring->taken;
}

bool producer_ring_was_used(const struct producer_ring *ring)
{
	return atomic_load_explicit(&ring->file.view.header->session, memory_order_acquire) != 0;
}

void producer_ring_release(struct producer_ring *ring, uint64_t sequence)
{
	const struct producer_view *view = &ring->file.view;

	assert(sequence - ring->released < ring->taken - ring->released);
	assert(!is_done(ring, sequence));
	set_done(ring, sequence, true);
	atomic_store_explicit(&view->marks[sequence & (view->n_blocks - 1)], mark_of(sequence),
			      memory_order_relaxed);
	counter_add(&ring->counters.released, 1);
	if (sequence == ring->released)
		advance(ring);
}

void producer_ring_housekeep(struct producer_ring *ring)
{
	const struct producer_header *header = ring->file.view.header;

	if (ring->woken_at == ring->released && ring->refused != ring->session)
		return;
	// Pairs with the fence in sleep_for_room() of producer_wait.c: either the producer sees the
	// room, or this function sees that it waits.
	atomic_thread_fence(memory_order_seq_cst);
	ring->woken_at = ring->released;
	if (atomic_load_explicit(&header->waiting, memory_order_relaxed) != 0)
		wake(ring);
}

// --- watching ------------------------------------------------------------------------------------

bool producer_ring_watch(struct producer_ring *ring)
{
	const struct producer_view *view = &ring->file.view;
	struct producer_header *header = view->header;

	atomic_store_explicit(&ring->attached, evring_lock_is_held(view->file, PRODUCER_LOCK_CLAIM),
			      memory_order_relaxed);
	atomic_store_explicit(&ring->attached_pid,
			      atomic_load_explicit(&header->producer_pid, memory_order_relaxed),
			      memory_order_relaxed);
	return !evring_guard_hit(ring->file.guard) &&
	       !evring_file_is_cut(view->file, view->file_size);
}

bool producer_ring_attached(const struct producer_ring *ring, uint32_t *pid)
{
	*pid = atomic_load_explicit(&ring->attached_pid, memory_order_relaxed);
	return atomic_load_explicit(&ring->attached, memory_order_relaxed);
}

struct producer_ring_counters producer_ring_counters(const struct producer_ring *ring)
{
	const struct producer_ring_counters *from = &ring->counters;
	struct producer_ring_counters copy = {
		.blocks = counter_read(&from->blocks),
		.bytes = counter_read(&from->bytes),
		.released = counter_read(&from->released),
		.producers = counter_read(&from->producers),
	};

	for (unsigned i = 0; i < PRODUCER_N_CAUSES; i++)
		copy.refused[i] = counter_read(&from->refused[i]);
	return copy;
}

uint64_t producer_ring_used(const struct producer_ring *ring)
{
	return producer_used(&ring->file.view);
}

uint64_t producer_ring_size(const struct producer_ring *ring)
{
	return ring->file.view.data_size;
}

unsigned producer_ring_fill(const struct producer_ring *ring)
{
	return producer_fill(&ring->file.view);
}
