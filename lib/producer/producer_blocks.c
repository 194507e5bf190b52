// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reserving and committing blocks.
#include "producer_internal.h"

#include <errno.h>
#include <inttypes.h>

#include "base/counter.h"
#include "evring/evring_view.h"
#include "wire/mfp.h"

bool producer_refresh(const struct producer_view *view, struct producer_room *room)
{
	// Acquire: evb has read the blocks whose memory is written next.
	const uint64_t released =
	    atomic_load_explicit(&view->header->released, memory_order_acquire);

	const uint64_t oldest = producer_descriptor_read(view, released).offset;

	if (released == room->released)
		return true;
	// After a failure the room stays as it was, and a further call fails, too.
	if (room->reserved - released > room->reserved - room->released ||
	    (released != room->reserved && oldest >= view->data_size))
		return false;
	room->released = released;
	room->oldest = oldest;
	return true;
}

bool producer_find_room(const struct producer_view *view, struct producer_room *room,
			uint64_t bytes, uint64_t *offset)
{
	if (room->reserved == room->released) {
		if (room->draining || bytes > view->data_size - room->offset)
			room->offset = 0;
		room->draining = false;
		*offset = room->offset;
		return true;
	}
	// The descriptor before `head` is not overwritten before the next commit, see
	// producer_layout.h: one descriptor always stays unused.
	if (room->draining || room->reserved - room->released >= view->n_blocks - 1)
		return false;
	*offset = room->offset;
	if (room->offset < room->oldest)
		return bytes < room->oldest - room->offset;
	if (bytes <= view->data_size - room->offset)
		return true;
	// The end of the newest block never meets the start of the oldest one, so that a full ring
	// differs from an empty one.
	*offset = 0;
	return bytes < room->oldest;
}

static int report_full(struct evb_producer *producer)
{
	const int rc = producer_ask(producer);

	counter_add(&producer->counters.full, 1);
	if (rc != 0)
		return rc;
	if (!producer->connected)
		return producer_fail(producer, -ENOTCONN,
				     "the ring is full, and the process of evb is dead");
	return producer_fail(producer, -EAGAIN, "the ring is full");
}

int evb_producer_reserve(struct evb_producer *producer, uint16_t source, size_t size, void **block)
{
	const struct producer_view *view = &producer->view;
	struct producer_room *room = &producer->room;
	const uint64_t bytes = producer_room_of(size);
	struct producer_descriptor *descriptor;
	uint64_t offset;
	int rc = producer_may_work(producer);

	if (rc != 0)
		return rc;
	if (size == 0 || size > view->max_block)
		return producer_fail(producer, -EMSGSIZE,
				     "the block has no bytes, or more than the ring's max_block");
	if (producer->index_of[source] == 0)
		return producer_fail(producer, -EINVAL, "the ring has no such source");
	if (producer->finished)
		return producer_fail(producer, -EINVAL, "the producer has finished");
	if (!producer_find_room(view, room, bytes, &offset)) {
		if (!producer_refresh(view, room))
			return producer_fail(producer, -EPROTO,
					     "memory of the ring was overwritten");
		if (!producer_find_room(view, room, bytes, &offset))
			return report_full(producer);
	}
	descriptor = &view->descriptors[room->reserved & (view->n_blocks - 1)];
	atomic_store_explicit(&descriptor->offset, offset, memory_order_relaxed);
	atomic_store_explicit(&descriptor->length, (uint32_t)size, memory_order_relaxed);
	atomic_store_explicit(&descriptor->source, producer->index_of[source] - 1u,
			      memory_order_relaxed);
	if (room->reserved == room->released)
		room->oldest = offset;
	room->reserved++;
	room->offset = offset + bytes;
	*block = view->data + offset;
	return 0;
}

void evb_producer_cancel(struct evb_producer *producer)
{
	const struct producer_view *view = &producer->view;
	struct producer_room *room = &producer->room;
	struct producer_descriptor_copy first;

	if (room->reserved == producer->head)
		return;
	// The descriptor may have been overwritten.
	first = producer_descriptor_read(view, producer->head);
	room->draining |= !producer_is_placed(view, first.offset, first.length);
	room->offset = first.offset;
	room->reserved = producer->head;
}

// --- committing ----------------------------------------------------------------------------------

static int bad_mfp(struct evb_producer *producer, const char *what, uint64_t is, uint64_t expected)
{
	producer->why = NULL;
	return evring_error(-EBADMSG, producer->error, "the MFP's %s is %" PRIu64 ", not %" PRIu64,
			    what, is, expected);
}

// The checked mode.
static int check_mfp(struct evb_producer *producer, const struct producer_descriptor_copy *copy,
		     uint64_t event_id, size_t length)
{
	const struct producer_view *view = &producer->view;
	const uint16_t source_id = view->source_ids[copy->source];
	struct mfp mfp;
	const enum wire_error error = mfp_decode(view->data + copy->offset, length, &mfp);

	if (error != WIRE_OK) {
		producer->why = NULL;
		return evring_error(-EBADMSG, producer->error, "the block is no MFP: %s",
				    wire_reason(error));
	}
	if (mfp.header.packet_size != length)
		return bad_mfp(producer, "size", mfp.header.packet_size, length);
	if (mfp.header.source_id != source_id)
		return bad_mfp(producer, "source id", mfp.header.source_id, source_id);
	if (mfp.header.event_id != event_id)
		return bad_mfp(producer, "event id", mfp.header.event_id, event_id);
	if (view->packing != 0 && mfp.header.n_fragments != view->packing)
		return bad_mfp(producer, "number of fragments", mfp.header.n_fragments,
			       view->packing);
	return 0;
}

static int check_commit(struct evb_producer *producer, const struct producer_descriptor_copy *copy,
			uint64_t event_id, size_t length, uint32_t flags)
{
	const struct producer_view *view = &producer->view;

	// The descriptor was written by evb_producer_reserve(), and may have been overwritten.
	if (copy->source >= view->n_sources ||
	    !producer_is_placed(view, copy->offset, copy->length))
		return producer_fail(producer, -EPROTO, "memory of the ring was overwritten");
	if (length == 0 || length > copy->length)
		return producer_fail(producer, -EINVAL,
				     "the block has no bytes, or more than were reserved");
	if ((flags & ~EVB_PRODUCER_FLAGS) != 0)
		return producer_fail(producer, -EINVAL, "there are no such flags");
	if (event_id == UINT64_MAX)
		return producer_fail(producer, -EINVAL, "2^64-1 is not the id of an event");
	if (event_id < atomic_load_explicit(&view->last[copy->source], memory_order_relaxed))
		return producer_fail(
		    producer, -EINVAL,
		    "the event id is not larger than the one before of the source");
	return producer->checked ? check_mfp(producer, copy, event_id, length) : 0;
}

static uint64_t used_bytes(const struct evb_producer *producer)
{
	const struct producer_room *room = &producer->room;

	if (room->reserved == room->released || room->draining)
		return 0;
	return room->offset > room->oldest ? room->offset - room->oldest
					   : producer->view.data_size - room->oldest + room->offset;
}

const unsigned producer_levels[PRODUCER_LEVELS] = { 250, 500, 750, 875 };

// Number of levels that are reached, with the releases that the last refresh saw.
static unsigned levels_reached(const struct evb_producer *producer)
{
	const uint64_t bytes = used_bytes(producer);
	const uint64_t blocks = producer->room.reserved - producer->room.released;
	unsigned n = 0;

	while (n < PRODUCER_LEVELS &&
	       (bytes >= producer->level_bytes[n] || blocks >= producer->level_blocks[n]))
		n++;
	return n;
}

// What the producer knows of releases may be old, and the level too high: evb is asked only where
// it would become the highest so far.
static void raise_peak(struct evb_producer *producer)
{
	unsigned n = levels_reached(producer);

	if (n <= producer->peak || !producer_refresh(&producer->view, &producer->room))
		return;
	n = levels_reached(producer);
	producer->peak = n > producer->peak ? n : producer->peak;
}

int evb_producer_commit(struct evb_producer *producer, uint64_t event_id, size_t length,
			uint32_t flags)
{
	const struct producer_view *view = &producer->view;
	struct producer_descriptor_copy copy;
	struct producer_descriptor *descriptor;
	int rc = producer_may_work(producer);

	if (rc != 0)
		return rc;
	if (producer->room.reserved == producer->head)
		return producer_fail(producer, -EINVAL, "no block is reserved");
	copy = producer_descriptor_read(view, producer->head);
	rc = check_commit(producer, &copy, event_id, length, flags);
	if (rc != 0)
		return rc;
	if (producer->room.reserved - producer->head == 1)
		producer->room.offset = copy.offset + producer_room_of(length);
	descriptor = &view->descriptors[producer->head & (view->n_blocks - 1)];
	atomic_store_explicit(&descriptor->event_id, event_id, memory_order_relaxed);
	atomic_store_explicit(&descriptor->length, (uint32_t)length, memory_order_relaxed);
	atomic_store_explicit(&descriptor->flags, flags, memory_order_relaxed);
	producer->head++;
	// Release: evb sees the block and its descriptor. This store commits the block.
	atomic_store_explicit(&view->header->head, producer->head, memory_order_release);
	// Release: not before the commit. See repair_last() of producer.c.
	atomic_store_explicit(&view->last[copy.source], event_id + 1, memory_order_release);
	counter_add(&producer->counters.blocks, 1);
	counter_add(&producer->counters.bytes, length);
	raise_peak(producer);
	// Pairs with the fence in producer_ring_end(): either evb sees the block when it has ended
	// the ring, or this function sees the end.
	atomic_thread_fence(memory_order_seq_cst);
	return producer_may_work(producer);
}

int evb_producer_finish(struct evb_producer *producer)
{
	const int rc = producer_may_work(producer);

	if (rc != 0)
		return rc;
	evb_producer_cancel(producer);
	producer->finished = true;
	// Release: evb sees all blocks before it.
	atomic_store_explicit(&producer->view.header->finished, 1, memory_order_release);
	return 0;
}

unsigned evb_producer_level(struct evb_producer *producer)
{
	unsigned peak = producer->peak;

	if (producer->view.memory == NULL)
		return 0;
	(void)producer_refresh(&producer->view, &producer->room);
	producer->peak = levels_reached(producer);
	if (peak < producer->peak)
		peak = producer->peak;
	return peak > 0 ? producer_levels[peak - 1] : 0;
}

int evb_producer_last(struct evb_producer *producer, uint16_t source, uint64_t *event_id)
{
	uint64_t last;

	if (producer->view.memory == NULL || producer->index_of[source] == 0)
		return producer_fail(producer, -EINVAL, "the ring has no such source");
	last = atomic_load_explicit(&producer->view.last[producer->index_of[source] - 1],
				    memory_order_relaxed);
	if (last == 0)
		return 0;
	*event_id = last - 1;
	return 1;
}
