// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Attaching to a ring, and leaving it.
#include "producer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/tick_clock.h"
#include "evring/evring_lock.h"
#include "evring/evring_members.h"
#include "evring/evring_view.h"

#define ASK_NS       UINT64_C(100000000)
#define N_SOURCE_IDS 65536u

int producer_fail(struct evb_producer *producer, int rc, const char *why)
{
	producer->why = why;
	return rc;
}

// --- finding the ring ----------------------------------------------------------------------------

// Opens and maps one file, and claims it. Returns 0 or a negative errno with a line in `error`.
static int open_file(struct evb_producer *producer, const char *path, char *error)
{
	struct producer_header header = { 0 };
	char why[EVRING_ERROR_SIZE];
	uint64_t size;
	const int file = evring_open_file(path, O_RDWR, &size);
	int rc = file;

	if (rc < 0)
		return evring_error(rc, error, "%s: %s", path, strerror(-rc));
	// An incomplete header is found by the check.
	(void)!pread(file, &header, sizeof(header), 0);
	rc = producer_layout_check(&header, size, why);
	if (rc != 0) {
		evring_error(rc, error, "%s: %s", path, why);
	} else {
		rc = evring_lock_take(file, PRODUCER_LOCK_CLAIM);
		if (rc != 0)
			rc = evring_error(rc == -EAGAIN ? -EBUSY : rc, error,
					  "%s: process %u fills it", path, header.producer_pid);
		else
			rc = producer_view_map(&producer->view, file, &header);
		if (rc != 0 && rc != -EBUSY)
			evring_error(rc, error, "%s: cannot be used: %s", path, strerror(-rc));
	}
	if (rc != 0)
		close(file);
	return rc;
}

static int open_in(struct evb_producer *producer, const char *directory, const char *appliance,
		   const char *ring, char *error)
{
	struct evring_place places[EVRING_MAX_PLACES];
	const unsigned n = evring_places(directory, appliance, places);
	int rc = -ENOENT;

	for (unsigned i = 0; i < n; i++) {
		char why[EVRING_ERROR_SIZE];
		int found = -ENOENT;

		if (producer_path(producer->path, places[i].path, ring, false))
			found = open_file(producer, producer->path, why);
		if (found == 0)
			return 0;
		if (rc == -ENOENT && found != -ENOENT)
			rc = evring_error(found, error, "%s", why);
	}
	return rc;
}

static int open_ring(struct evb_producer *producer, const char *appliance, const char *ring,
		     const struct evring_directories *directories)
{
	int rc = -ENOENT;

	for (unsigned i = 0; i < directories->count && rc == -ENOENT; i++)
		rc = open_in(producer, directories->list[i].path, appliance, ring, producer->error);
	if (rc == -ENOENT)
		evring_error(rc, producer->error, "no producer ring %s of an appliance %s", ring,
			     appliance);
	return rc;
}

// --- attaching -----------------------------------------------------------------------------------

// The producer before may have died after its last commit, before it wrote the event's id.
static void repair_last(struct evb_producer *producer)
{
	const struct producer_view *view = &producer->view;
	const struct producer_descriptor_copy copy =
	    producer_descriptor_read(view, producer->head - 1);

	if (producer->head != 0 && copy.source < view->n_sources && copy.event_id != UINT64_MAX &&
	    atomic_load_explicit(&view->last[copy.source], memory_order_relaxed) <= copy.event_id)
		atomic_store_explicit(&view->last[copy.source], copy.event_id + 1,
				      memory_order_relaxed);
}

// The rights of the producer before have ended: begins after the last block that evb took.
static void begin_anew(struct evb_producer *producer)
{
	const struct producer_view *view = &producer->view;

	producer->head = atomic_load_explicit(&view->header->restart, memory_order_relaxed);
	for (uint32_t i = 0; i < view->n_sources; i++)
		atomic_store_explicit(
		    &view->last[i], atomic_load_explicit(&view->accepted[i], memory_order_relaxed),
		    memory_order_relaxed);
	atomic_store_explicit(&view->header->head, producer->head, memory_order_relaxed);
	producer->room.draining = true;
}

// Finds the room behind the blocks of earlier producers.
static void find_end(struct evb_producer *producer)
{
	const struct producer_view *view = &producer->view;
	struct producer_room *room = &producer->room;

	room->reserved = producer->head;
	room->released = atomic_load_explicit(&view->header->released, memory_order_acquire);
	if (producer->head - room->released >= view->n_blocks)
		room->draining = true;
	for (uint64_t s = room->released; s != producer->head && !room->draining; s++) {
		const struct producer_descriptor_copy copy = producer_descriptor_read(view, s);

		room->draining = !producer_is_placed(view, copy.offset, copy.length);
		room->offset = copy.offset + producer_room_of(copy.length);
		if (s == room->released)
			room->oldest = copy.offset;
	}
}

static void attach(struct evb_producer *producer)
{
	struct producer_header *header = producer->view.header;
	const uint32_t session = atomic_load_explicit(&header->session, memory_order_relaxed);

	// Acquire: see refuse() of producer_ring.c.
	if (session != 0 &&
	    session == atomic_load_explicit(&header->refused, memory_order_acquire)) {
		begin_anew(producer);
	} else {
		producer->head = atomic_load_explicit(&header->head, memory_order_relaxed);
		repair_last(producer);
	}
	find_end(producer);
	atomic_store_explicit(&header->waiting, 0, memory_order_relaxed);
	atomic_store_explicit(&header->finished, 0, memory_order_relaxed);
	atomic_store_explicit(&header->producer_pid, (uint32_t)getpid(), memory_order_relaxed);
	producer->session = session + 1;
	// Release: evb sees the new head before it sees the new session.
	atomic_store_explicit(&header->session, producer->session, memory_order_release);
}

static bool make_tables(struct evb_producer *producer)
{
	const struct producer_view *view = &producer->view;

	producer->index_of = calloc(N_SOURCE_IDS, sizeof(*producer->index_of));
	if (producer->index_of == NULL)
		return false;
	for (uint32_t i = 0; i < view->n_sources; i++)
		producer->index_of[view->source_ids[i]] = (uint16_t)(i + 1);
	for (unsigned i = 0; i < PRODUCER_LEVELS; i++) {
		producer->level_bytes[i] = view->data_size / 1000 * producer_levels[i];
		producer->level_blocks[i] = (uint64_t)view->n_blocks * producer_levels[i] / 1000;
	}
	return true;
}

int evb_producer_open(struct evb_producer **producer, const char *appliance, const char *ring,
		      const struct evb_producer_options *options)
{
	static const struct evb_producer_options defaults = { 0 };
	struct evb_producer *new_producer = calloc(1, sizeof(*new_producer));
	struct evring_directories directories;
	int rc;

	*producer = new_producer;
	if (new_producer == NULL)
		return -ENOMEM;
	if (options == NULL)
		options = &defaults;
	new_producer->checked = options->checked;
	if (appliance == NULL || !evring_name_is_valid(appliance) || ring == NULL ||
	    !evring_name_is_valid(ring))
		return producer_fail(new_producer, -EINVAL,
				     "the names of the appliance and of the ring must be 1 to 31 "
				     "characters of [A-Za-z0-9_-]");
	rc = evring_directories_find(&directories, options->directory, new_producer->error);
	if (rc == 0)
		rc = open_ring(new_producer, appliance, ring, &directories);
	if (rc != 0)
		return rc;
	if (!make_tables(new_producer))
		rc = producer_fail(new_producer, -ENOMEM, "out of memory");
	// A new producer has no session that could be refused.
	if (rc == 0 && producer_verdict(&new_producer->view, 0) == -EPIPE)
		rc = producer_fail(new_producer, -EPIPE, "evb has ended the ring");
	if (rc == 0)
		attach(new_producer);
	else
		producer_view_unmap(&new_producer->view);
	return rc;
}

// --- what evb says -------------------------------------------------------------------------------

int producer_verdict(const struct producer_view *view, uint32_t session)
{
	if (atomic_load_explicit(&view->header->state, memory_order_relaxed) == EVRING_ENDED)
		return -EPIPE;
	if (atomic_load_explicit(&view->header->refused, memory_order_relaxed) == session)
		return -EPROTO;
	return 0;
}

int producer_may_work(struct evb_producer *producer)
{
	int rc;

	if (producer->view.memory == NULL)
		return producer_fail(producer, -EPIPE, "the producer is not open");
	rc = producer_verdict(&producer->view, producer->session);
	if (rc == -EPIPE)
		return producer_fail(producer, rc, "evb has ended the ring");
	if (rc == -EPROTO)
		return producer_fail(
		    producer, rc, "evb refuses this producer: memory of the ring was overwritten");
	return 0;
}

int producer_ask(struct evb_producer *producer)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();

	if (producer->asked_ns == 0 || now_ns - producer->asked_ns >= ASK_NS) {
		producer->connected = evring_lock_is_held(producer->view.file, EVRING_LOCK_OWNER);
		producer->removed = !evring_file_is(producer->view.file, producer->path);
		producer->asked_ns = now_ns;
	}
	return producer->removed
		   ? producer_fail(producer, -ESTALE, "the ring was removed or replaced")
		   : 0;
}

struct evb_producer_info evb_producer_info(struct evb_producer *producer)
{
	const struct producer_view *view = &producer->view;

	if (view->memory == NULL)
		return (struct evb_producer_info){ 0 };
	return (struct evb_producer_info){
		.size = view->data_size,
		.max_block = view->max_block,
		.packing = view->packing,
		.sources = view->source_ids,
		.n_sources = view->n_sources,
		.connected = producer_ask(producer) == 0 && producer->connected,
	};
}

struct evb_producer_counters evb_producer_counters(const struct evb_producer *producer)
{
	const struct evb_producer_counters *counters = &producer->counters;

	return (struct evb_producer_counters){
		.blocks = counter_read(&counters->blocks),
		.bytes = counter_read(&counters->bytes),
		.full = counter_read(&counters->full),
		.waits = counter_read(&counters->waits),
	};
}

const char *evb_producer_error(const struct evb_producer *producer)
{
	return producer->why != NULL ? producer->why : producer->error;
}

void evb_producer_close(struct evb_producer *producer)
{
	if (producer == NULL)
		return;
	producer_waiter_stop(producer);
	producer_view_unmap(&producer->view);
	free(producer->index_of);
	free(producer);
}
