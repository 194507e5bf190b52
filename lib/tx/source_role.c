// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "tx/source_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "tx/block_packets.h"

#define LATE_EVENTS 65536u // events that the late source may lag behind, a power of two

enum source_state {
	STATE_EVENTS,     // sending events
	STATE_SETTLE,     // the late source or the reorder window still has packets
	STATE_END_OF_RUN, // sending the end-of-run blocks
	STATE_FINISHED,
};

struct source {
	struct role role;
	struct source_parameters parameters;
	struct sender sender;
	enum source_state state;
	bool stopping;
	struct packet_segment cursor, late; // next segments of the sources in time, and of the late
	int silent_source, late_source;     // indices into the set, -1: none
	uint64_t end;                       // index of the first event not to be sent
	struct block_packets packets;
	uint64_t start;          // TSC of the first event
	double cycles_per_event; // of the rate, 0: as fast as possible
	uint64_t late_cycles;    // from sending an event to sending the late source's block
	uint64_t *sent_at;       // [LATE_EVENTS] TSC of each event; NULL if no source is late
	atomic_bool finished;
	struct source_counters counters __rte_cache_aligned;
};

static struct source *source_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct source, role));
}

// Sends the segment at the cursor and moves the cursor; false if no mbuf is free.
static bool send_segment(struct source *source, struct packet_segment *cursor)
{
	struct source_block block = block_packets_find(&source->packets, cursor);
	uint32_t size = RTE_MIN(block.size - cursor->offset, source->packets.segment_size);
	struct rte_mbuf *mbuf =
	    block_packets_make(&source->packets, cursor, &block, size, &source->parameters.to);

	if (mbuf == NULL) {
		counter_add(&source->counters.no_buffer, 1);
		return false;
	}
	sender_put(&source->sender, mbuf, source->packets.headers_size, false);
	counter_add(&source->counters.segments, 1);
	counter_add(&source->counters.payload_bytes, size);
	cursor->offset += size;
	if (cursor->offset == block.size) {
		counter_add(&source->counters.blocks, 1);
		cursor->offset = 0;
		cursor->source++;
	}
	return true;
}

// Whether the event at the cursor may start now.
static bool is_due(const struct source *source, uint64_t now)
{
	uint64_t event = source->cursor.event;

	if (source->late_source >= 0 && event - source->late.event >= LATE_EVENTS)
		return false;
	return source->cycles_per_event == 0 ||
	       (double)(now - source->start) >= (double)event * source->cycles_per_event;
}

// Sends one segment of the sources that are in time; false if none is due.
static bool step_in_time(struct source *source, uint64_t now)
{
	struct packet_segment *cursor = &source->cursor;

	if (cursor->source == 0 && cursor->offset == 0) {
		if (cursor->event >= source->end || source->stopping || !is_due(source, now))
			return false;
		if (source->sent_at != NULL)
			source->sent_at[cursor->event % LATE_EVENTS] = now;
	}
	while ((int)cursor->source == source->silent_source ||
	       (int)cursor->source == source->late_source)
		cursor->source++;
	if (cursor->source < source->parameters.packets.set->n_sources &&
	    !send_segment(source, cursor))
		return false;
	if (cursor->source >= source->parameters.packets.set->n_sources) {
		cursor->source = 0;
		cursor->event++;
		counter_add(&source->counters.events, 1);
	}
	return true;
}

// Sends one segment of the late source; false if none is due.
static bool step_late(struct source *source, uint64_t now)
{
	struct packet_segment *late = &source->late;

	if (source->late_source < 0 || late->event >= source->cursor.event)
		return false;
	if (now - source->sent_at[late->event % LATE_EVENTS] < source->late_cycles)
		return false;
	late->source = (unsigned)source->late_source;
	if (!send_segment(source, late))
		return false;
	if (late->offset == 0)
		late->event++;
	return true;
}

// Sends the end-of-run block of one source; false if all are sent or no mbuf is free.
static bool step_end_of_run(struct source *source)
{
	unsigned index = source->cursor.source;
	struct rte_mbuf *mbuf;

	if (index >= source->parameters.packets.set->n_sources)
		return false;
	if ((int)index == source->silent_source) {
		source->cursor.source++;
		return true;
	}
	mbuf = block_packets_make_end(&source->packets, index, &source->parameters.to);
	if (mbuf == NULL)
		return false;
	sender_put(&source->sender, mbuf, source->packets.headers_size, true);
	source->cursor.source++;
	return true;
}

static bool events_are_done(const struct source *source)
{
	const struct packet_segment *cursor = &source->cursor;

	return cursor->source == 0 && cursor->offset == 0 &&
	       (source->stopping || cursor->event >= source->end);
}

static void next_state(struct source *source)
{
	switch (source->state) {
	case STATE_EVENTS:
		if (events_are_done(source))
			source->state = STATE_SETTLE;
		break;
	case STATE_SETTLE:
		if ((source->late_source < 0 || source->late.event >= source->cursor.event) &&
		    sender_settle(&source->sender) && source->sender.n_out == 0)
			source->state = STATE_END_OF_RUN;
		break;
	case STATE_END_OF_RUN:
		if (source->cursor.source >= source->parameters.packets.set->n_sources &&
		    source->sender.n_out == 0) {
			source->state = STATE_FINISHED;
			atomic_store_explicit(&source->finished, true, memory_order_release);
		}
		break;
	case STATE_FINISHED:
		break;
	}
}

static unsigned source_poll(struct role *role, uint64_t now)
{
	struct source *source = source_of(role);
	unsigned made = 0, sent;

	if (source->start == 0)
		source->start = now;
	while (made < ROLE_BURST && source->state != STATE_FINISHED &&
	       sender_room(&source->sender, 2)) {
		bool stepped = source->state == STATE_END_OF_RUN ? step_end_of_run(source)
								 : step_in_time(source, now);

		stepped |= source->state != STATE_END_OF_RUN && step_late(source, now);
		if (!stepped)
			break;
		made++;
	}
	sent = sender_flush(&source->sender);
	next_state(source);
	role->backpressured = sent == 0 && source->sender.n_out > 0;
	return role->backpressured ? 0 : made + sent;
}

static bool source_drain(struct role *role, uint64_t now)
{
	struct source *source = source_of(role);

	source->stopping = true;
	(void)source_poll(role, now);
	return source->state == STATE_FINISHED;
}

static void source_fini(struct role *role)
{
	struct source *source = source_of(role);

	sender_fini(&source->sender);
	rte_free(source->sent_at);
	block_packets_fini(&source->packets);
	rte_free(source);
}

static const struct role_operations source_operations = {
	.kind = "source",
	.poll = source_poll,
	.drain = source_drain,
	.fini = source_fini,
};

static int index_of(const struct source_set *set, bool wanted, uint16_t id)
{
	for (unsigned i = 0; wanted && i < set->n_sources; i++)
		if (set->ids[i] == id)
			return (int)i;
	return -1;
}

struct role *source_role_create(const struct source_parameters *parameters)
{
	const struct source_set *set = parameters->packets.set;
	const struct faults *faults = parameters->faults;
	double hz = (double)rte_get_tsc_hz();
	struct source *source = rte_zmalloc_socket("source", sizeof(*source), RTE_CACHE_LINE_SIZE,
						   parameters->numa_node);

	if (source == NULL)
		return NULL;
	source->role.operations = &source_operations;
	snprintf(source->role.name, sizeof(source->role.name), "%s", parameters->name);
	source->parameters = *parameters;
	sender_init(&source->sender, parameters->port_id, parameters->queue,
		    parameters->packets.headers, faults, parameters->seed);
	source->silent_source = index_of(set, faults->has_silent_source, faults->silent_source);
	source->late_source = index_of(set, faults->has_late_source, faults->late_source);
	source->end = parameters->events > 0 ? parameters->events : UINT64_MAX;
	source->cycles_per_event = parameters->rate > 0 ? hz / parameters->rate : 0;
	source->late_cycles = (uint64_t)((double)faults->late_delay_ns * 1e-9 * hz);
	if (source->late_source >= 0)
		source->sent_at = rte_zmalloc("source", LATE_EVENTS * sizeof(*source->sent_at), 0);
	if (!block_packets_init(&source->packets, &parameters->packets) ||
	    (source->late_source >= 0 && source->sent_at == NULL)) {
		source_fini(&source->role);
		return NULL;
	}
	return &source->role;
}

const struct source_counters *source_role_counters(const struct role *role)
{
	return &source_of(role)->counters;
}

const struct sender_counters *source_role_sender_counters(const struct role *role)
{
	return &source_of(role)->sender.counters;
}

bool source_role_finished(const struct role *role)
{
	return atomic_load_explicit(&source_of(role)->finished, memory_order_acquire);
}
