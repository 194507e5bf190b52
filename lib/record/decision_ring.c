// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/decision_ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "base/tick_clock.h"

#define WATCH_NS    100000000u // between two looks at members and file
#define AT_ONCE     64u        // slots that are reclaimed at once
#define ERROR_BYTES EVRING_ERROR_SIZE

struct decision_ring {
	struct evring *ring;
	uint64_t watched_ns;
	bool is_cut;
	uint32_t n_slots, n_free;
	uint32_t first;  // free slot to use next: the one that has been free for longest
	uint32_t free[]; // [n_slots], circular, so that spies have time to read a block
};

int decision_ring_open(struct decision_ring **ring, const struct evring_parameters *parameters,
		       char *error)
{
	struct evring_parameters complete = *parameters;
	struct decision_ring *made =
	    calloc(1, sizeof(*made) + parameters->slots * sizeof(made->free[0]));

	*ring = NULL;
	complete.memory = EVRING_SHM;
	complete.builder = 0;
	complete.n_builders = 1;
	complete.slot_size = DECISION_RING_BLOCK;
	if (made == NULL)
		return error_line(error, ERROR_BYTES, "out of memory");
	if (evring_create(&made->ring, &complete, error) != 0) {
		free(made);
		return -1;
	}
	made->n_slots = made->n_free = parameters->slots;
	for (uint32_t i = 0; i < made->n_slots; i++)
		made->free[i] = i;
	*ring = made;
	return 0;
}

uint64_t decision_ring_memory(uint32_t slots)
{
	return evring_bytes(slots, DECISION_RING_BLOCK);
}

static void reclaim(struct decision_ring *ring)
{
	uint32_t slots[AT_ONCE], at;
	unsigned n;

	do {
		n = evring_reclaim(ring->ring, slots, AT_ONCE);
		for (unsigned i = 0; i < n; i++) {
			at = ring->first + ring->n_free++;
			ring->free[at < ring->n_slots ? at : at - ring->n_slots] = slots[i];
		}
	} while (n > 0);
}

static uint32_t take_slot(struct decision_ring *ring)
{
	const uint32_t slot = ring->free[ring->first];

	ring->n_free--;
	ring->first = ring->first + 1 < ring->n_slots ? ring->first + 1 : 0;
	return slot;
}

bool decision_ring_put(struct decision_ring *ring, const void *block, size_t length,
		       uint64_t event_id)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();
	const struct evring_event event = {
		.event_id = event_id,
		.length = length,
		.first_ns = now_ns,
		.complete_ns = now_ns,
	};
	uint32_t slot;

	reclaim(ring);
	if (ring->n_free == 0 || ring->is_cut)
		return false;
	slot = take_slot(ring);
	evring_begin(ring->ring, slot);
	memcpy(evring_slot(ring->ring, slot), block, length);
	evring_publish(ring->ring, slot, &event);
	return true;
}

uint64_t decision_ring_watch(struct decision_ring *ring)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();

	if (now_ns - ring->watched_ns >= WATCH_NS) {
		ring->watched_ns = now_ns;
		(void)evring_reap(ring->ring);
		ring->is_cut |= evring_is_cut(ring->ring);
	}
	reclaim(ring);
	return ring->n_slots - ring->n_free;
}

bool decision_ring_is_cut(const struct decision_ring *ring)
{
	return ring->is_cut;
}

void decision_ring_end(struct decision_ring *ring)
{
	evring_end(ring->ring);
}

const struct evring *decision_ring_evring(const struct decision_ring *ring)
{
	return ring->ring;
}

void decision_ring_close(struct decision_ring *ring)
{
	if (ring == NULL)
		return;
	evring_destroy(ring->ring);
	free(ring);
}
