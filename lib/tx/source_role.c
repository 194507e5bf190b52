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

// Sources that send in step.
struct stream {
	struct packet_segment at; // next segment
	struct store_block block; // at this place, behind its first segment
};

struct source {
	struct role role;
	struct source_parameters parameters;
	struct sender sender;
	enum source_state state;
	bool stopping;
	struct stream in_time, late;
	int silent_source, late_source; // indices into the store, -1: none
	uint64_t end;                   // index of the first event not to be sent
	struct block_packets packets;
	struct block_store *store;
	uint64_t start; // TSC of the first event
	struct production production;
	uint64_t late_cycles; // from sending an event to sending the late source's block
	uint64_t *sent_at;    // [LATE_EVENTS] TSC of each event; NULL if no source is late
	atomic_bool finished;
	struct source_counters counters __rte_cache_aligned;
};

static struct source *source_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct source, role));
}

// Sends the next segment of a stream; false if no mbuf is free.
static bool send_segment(struct source *source, struct stream *stream)
{
	struct packet_segment *cursor = &stream->at;
	const struct store_block *block = &stream->block;
	struct rte_mbuf *mbuf;
	uint32_t size;

	if (cursor->offset == 0 || block->is_temporary)
		stream->block = block_packets_find(&source->packets, cursor);
	if (block->size == 0) {
		cursor->source++;
		return true;
	}
	size = RTE_MIN(block->size - cursor->offset, source->packets.segment_size);
	mbuf = block_packets_make(&source->packets, cursor, block, size, &source->parameters.to);
	if (mbuf == NULL) {
		counter_add(&source->counters.no_buffer, 1);
		return false;
	}
	sender_put(&source->sender, mbuf, source->packets.headers_size, false);
	counter_add(&source->counters.segments, 1);
	counter_add(&source->counters.payload_bytes, size);
	cursor->offset += size;
	if (cursor->offset == block->size) {
		counter_add(&source->counters.blocks, 1);
		cursor->offset = 0;
		cursor->source++;
	}
	return true;
}

// The first event that is not sent.
static uint64_t end_of_events(const struct source *source)
{
	return RTE_MIN(source->end, source->store->end);
}

// Whether the next event may start now.
static bool is_due(const struct source *source, uint64_t now)
{
	uint64_t event = source->in_time.at.event;

	if (event >= end_of_events(source) || source->stopping || event >= source->store->ready)
		return false;
	if (source->late_source >= 0 && event - source->late.at.event >= LATE_EVENTS)
		return false;
	return !production_is_limited(&source->production) ||
	       (double)(now - source->start) >= production_due(&source->production, event);
}

// The late source, if there is one, needs its block for longer.
static void release_events(struct source *source)
{
	block_store_release(source->store, source->late_source >= 0 ? source->late.at.event
								    : source->in_time.at.event);
}

// Sends one segment of the sources that are in time; false if none is due.
static bool step_in_time(struct source *source, uint64_t now)
{
	struct packet_segment *cursor = &source->in_time.at;

	if (cursor->source == 0 && cursor->offset == 0) {
		if (!is_due(source, now))
			return false;
		if (source->sent_at != NULL)
			source->sent_at[cursor->event % LATE_EVENTS] = now;
	}
	while ((int)cursor->source == source->silent_source ||
	       (int)cursor->source == source->late_source)
		cursor->source++;
	if (cursor->source < source->store->n_sources && !send_segment(source, &source->in_time))
		return false;
	if (cursor->source >= source->store->n_sources) {
		cursor->source = 0;
		cursor->event++;
		release_events(source);
		counter_add(&source->counters.events, 1);
		counter_add(&source->counters.tick, 1);
	}
	return true;
}

// Sends one segment of the late source; false if none is due.
static bool step_late(struct source *source, uint64_t now)
{
	struct packet_segment *late = &source->late.at;

	if (source->late_source < 0 || late->event >= source->in_time.at.event)
		return false;
	if (now - source->sent_at[late->event % LATE_EVENTS] < source->late_cycles)
		return false;
	late->source = (unsigned)source->late_source;
	if (!send_segment(source, &source->late))
		return false;
	if (late->offset == 0) {
		late->event++;
		release_events(source);
	}
	return true;
}

// Sends the end-of-run block of one source; false if all are sent or no mbuf is free.
static bool step_end_of_run(struct source *source)
{
	unsigned index = source->in_time.at.source;
	struct rte_mbuf *mbuf;

	if (index >= source->store->n_sources)
		return false;
	if ((int)index == source->silent_source) {
		source->in_time.at.source++;
		return true;
	}
	mbuf = block_packets_make_end(&source->packets, index, &source->parameters.to);
	if (mbuf == NULL)
		return false;
	sender_put(&source->sender, mbuf, source->packets.headers_size, true);
	source->in_time.at.source++;
	return true;
}

static bool events_are_done(const struct source *source)
{
	const struct packet_segment *cursor = &source->in_time.at;

	return cursor->source == 0 && cursor->offset == 0 &&
	       (source->stopping || cursor->event >= end_of_events(source));
}

static void next_state(struct source *source)
{
	switch (source->state) {
	case STATE_EVENTS:
		if (events_are_done(source))
			source->state = STATE_SETTLE;
		break;
	case STATE_SETTLE:
		if ((source->late_source < 0 ||
		     source->late.at.event >= source->in_time.at.event) &&
		    sender_settle(&source->sender) && source->sender.n_out == 0)
			source->state = STATE_END_OF_RUN;
		break;
	case STATE_END_OF_RUN:
		if (source->in_time.at.source >= source->store->n_sources &&
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
	block_store_poll(source->store, now);
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

static void source_housekeep(struct role *role, uint64_t now)
{
	(void)now;
	block_store_housekeep(source_of(role)->store);
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
	rte_free(source);
}

static const struct role_operations source_operations = {
	.kind = "source",
	.poll = source_poll,
	.housekeep = source_housekeep,
	.drain = source_drain,
	.fini = source_fini,
};

static int index_of(const struct block_store *store, bool wanted, uint16_t id)
{
	for (unsigned i = 0; wanted && i < store->n_sources; i++)
		if (store->ids[i] == id)
			return (int)i;
	return -1;
}

struct role *source_role_create(const struct source_parameters *parameters)
{
	struct block_store *store = parameters->packets.store;
	const struct faults *faults = parameters->faults;
	double hz = (double)rte_get_tsc_hz();
	struct source *source = rte_zmalloc_socket("source", sizeof(*source), RTE_CACHE_LINE_SIZE,
						   parameters->numa_node);

	if (source == NULL)
		return NULL;
	source->role.operations = &source_operations;
	snprintf(source->role.name, sizeof(source->role.name), "%s", parameters->name);
	source->parameters = *parameters;
	source->store = store;
	block_packets_init(&source->packets, &parameters->packets);
	block_store_begin(store, 0);
	sender_init(&source->sender, parameters->port_id, parameters->queue,
		    parameters->packets.headers, faults, parameters->seed);
	source->silent_source = index_of(store, faults->has_silent_source, faults->silent_source);
	source->late_source = index_of(store, faults->has_late_source, faults->late_source);
	source->end = parameters->events > 0 ? parameters->events : UINT64_MAX;
	source->production = production_make(parameters->rate, &parameters->spill, hz);
	source->late_cycles = (uint64_t)((double)faults->late_delay_ns * 1e-9 * hz);
	if (source->late_source >= 0)
		source->sent_at = rte_zmalloc("source", LATE_EVENTS * sizeof(*source->sent_at), 0);
	if (source->late_source >= 0 && source->sent_at == NULL) {
		source_fini(&source->role);
		return NULL;
	}
	source->counters.tick = block_packets_tick(&source->packets, 0);
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
