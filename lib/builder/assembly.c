// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "builder/assembly_internal.h"

#include <stdlib.h>

#include "wire/mfp.h"

#define RECLAIM_MOST  64u // slots, collected in one call
#define CLOSE_MOST    16u // events, closed by deadline in one housekeeping
#define RANGES_IN_ALL (1u << 18)
#define RANGES_LEAST  4096u

static uint32_t range_count(uint32_t slots, unsigned n_sources)
{
	uint64_t n = (uint64_t)slots * n_sources;

	return n > RANGES_IN_ALL ? RANGES_IN_ALL : n < RANGES_LEAST ? RANGES_LEAST : (uint32_t)n;
}

static uint32_t bucket_count(uint32_t slots)
{
	uint32_t n = 64;

	while (n < 2 * slots)
		n *= 2;
	return n;
}

uint64_t assembly_memory(uint32_t slots, unsigned n_sources)
{
	return sizeof(struct assembly) + sizeof(struct assembly_latency) +
	       ((uint64_t)slots + 1) * (sizeof(struct event) + sizeof(uint32_t)) +
	       ((uint64_t)slots + 1) * n_sources * sizeof(struct part) + END_MEMORY +
	       (uint64_t)range_count(slots, n_sources) * sizeof(struct range) +
	       (uint64_t)bucket_count(slots) * (2 * sizeof(uint32_t) + sizeof(struct refused)) +
	       CLOSED_SIZE * sizeof(uint64_t) +
	       (uint64_t)n_sources *
		   (sizeof(uint32_t) + 2 * sizeof(uint64_t) + sizeof(struct share) +
		    sizeof(struct source_difference) + sizeof(struct assembly_source_counters));
}

uint64_t assembly_smallest_slot(unsigned n_sources, uint32_t packing)
{
	return mep_header_size(n_sources, MEP_DEFAULT_ALIGN) +
	       n_sources * round_up(mfp_error_size(packing), ROOM_UNIT);
}

static bool allocate(struct assembly *assembly)
{
	uint32_t n_buckets = bucket_count(assembly->n_slots);

	assembly->events = calloc(assembly->n_slots + 1, sizeof(*assembly->events));
	assembly->parts =
	    calloc(((size_t)assembly->n_slots + 1) * assembly->n_sources, sizeof(*assembly->parts));
	assembly->end_memory = malloc(END_MEMORY);
	assembly->end_times = calloc(assembly->n_sources, sizeof(*assembly->end_times));
	assembly->absence.from = calloc(assembly->n_sources, sizeof(*assembly->absence.from));
	assembly->shares = calloc(assembly->n_sources, sizeof(*assembly->shares));
	assembly->differences = calloc(assembly->n_sources, sizeof(*assembly->differences));
	assembly->buckets = malloc(n_buckets * sizeof(*assembly->buckets));
	assembly->closed = calloc(CLOSED_SIZE, sizeof(*assembly->closed));
	assembly->free_slots = malloc(assembly->n_slots * sizeof(*assembly->free_slots));
	assembly->offsets = malloc(assembly->n_sources * sizeof(*assembly->offsets));
	assembly->source_counters = calloc(assembly->n_sources, sizeof(*assembly->source_counters));
	assembly->latency = calloc(1, sizeof(*assembly->latency));
	if (assembly->events == NULL || assembly->parts == NULL || assembly->end_memory == NULL ||
	    assembly->end_times == NULL || assembly->absence.from == NULL ||
	    assembly->shares == NULL || assembly->differences == NULL ||
	    assembly->buckets == NULL || assembly->closed == NULL || assembly->free_slots == NULL ||
	    assembly->offsets == NULL || assembly->source_counters == NULL ||
	    assembly->latency == NULL ||
	    !range_pool_make(&assembly->pool, range_count(assembly->n_slots, assembly->n_sources),
			     assembly->n_sources))
		return false;
	memset(assembly->buckets, 0xFF, n_buckets * sizeof(*assembly->buckets)); // NO_EVENT
	assembly->bucket_mask = n_buckets - 1;
	assembly->hash_key = hash_key_draw();
	return true;
}

struct assembly *assembly_create(const struct assembly_parameters *parameters)
{
	uint32_t n_sources = parameters->sources->n_expected;
	struct assembly *assembly;

	if (n_sources == 0 || evring_slot_size(parameters->ring) <
				  assembly_smallest_slot(n_sources, parameters->packing))
		return NULL;
	assembly = calloc(1, sizeof(*assembly));
	if (assembly == NULL)
		return NULL;
	assembly->parameters = *parameters;
	assembly->n_slots = evring_slots(parameters->ring);
	assembly->slot_size = evring_slot_size(parameters->ring);
	assembly->n_sources = n_sources;
	assembly->header_size = mep_header_size(n_sources, MEP_DEFAULT_ALIGN);
	assembly->error_size = round_up(mfp_error_size(parameters->packing), ROOM_UNIT);
	assembly->order = assembly->expected = assembly->with_consumers =
	    (struct event_order){ NO_EVENT, NO_EVENT };
	assembly->longest_hold = FIRST_HOLD * parameters->deadline;
	tick_clock_set(&assembly->clock, parameters->start, parameters->ticks_per_second);
	if (!allocate(assembly) || (parameters->granted && !held_make(assembly))) {
		assembly_destroy(assembly);
		return NULL;
	}
	window_make(assembly);
	for (uint32_t slot = 0; slot < assembly->n_slots; slot++)
		slot_free(assembly, slot, 0);
	assembly->held.n_reports = assembly->held.n_ungranted = 0;
	return assembly;
}

void assembly_destroy(struct assembly *assembly)
{
	if (assembly == NULL)
		return;
	free(assembly->events);
	free(assembly->parts);
	free(assembly->end_memory);
	free(assembly->end_times);
	free(assembly->absence.from);
	free(assembly->shares);
	free(assembly->differences);
	free(assembly->buckets);
	free(assembly->closed);
	free(assembly->free_slots);
	free(assembly->offsets);
	free(assembly->source_counters);
	free(assembly->latency);
	range_pool_free(&assembly->pool);
	held_free(assembly);
	free(assembly);
}

void assembly_refuse(struct assembly *assembly, const struct segment *segment,
		     enum segment_cause cause)
{
	struct assembly_source_counters *source = &assembly->source_counters[segment->source];

	count(&assembly->counters.segments, 1);
	count(&assembly->counters.drops[cause], 1);
	count(&source->segments, 1);
	count(&source->drops[cause], 1);
	if (cause == SEGMENT_NO_SLOT && assembly->parameters.granted)
		held_refused(assembly, segment->event_index);
}

static uint8_t *refuse(struct assembly *assembly, const struct segment *segment,
		       enum segment_cause reason, enum segment_cause *cause)
{
	*cause = reason;
	if (reason != SEGMENT_NO_SLOT)
		assembly_refuse(assembly, segment, reason);
	return NULL;
}

// A source that sends data a deadline after its end-of-run block has not ended: its block was
// forged or sent too early, and is forgotten.
static void take_back_end(struct assembly *assembly, uint32_t source, uint64_t now)
{
	struct event *end = &assembly->events[assembly->n_slots];
	struct part *part = &event_parts(assembly, end)[source];

	if (part->room == 0 ||
	    !is_over(assembly, assembly->end_times[source], assembly->parameters.deadline, now))
		return;
	end->n_started--;
	if (part_is_whole(part))
		end->n_whole--;
	else
		ranges_release(&assembly->pool, &part->received,
			       &assembly->shares[source].end_ranges);
	*part = (struct part){ 0 };
}

// Notes the time of an admitted segment after the first one of the end of the run.
__attribute__((noinline)) static void note_end(struct assembly *assembly,
					       const struct segment *segment, uint64_t now)
{
	if (segment->event_id == MFP_END_OF_RUN) {
		assembly->end_times[segment->source] = now - assembly->waited;
		return;
	}
	assembly->last_placed = now - assembly->waited;
	take_back_end(assembly, segment->source, now);
}

// Opens the event of a segment. Returns NULL, and stores the reason in *cause, if the segment may
// not open it.
static struct event *open_event(struct assembly *assembly, const struct segment *segment,
				uint64_t now, enum segment_cause *cause)
{
	struct event *event;
	bool on_probation;

	*cause = SEGMENT_LATE;
	if (event_was_closed(assembly, segment->event_id, segment->event_index) ||
	    !window_admits(assembly, segment, now, &on_probation, cause))
		return NULL;
	if (assembly->n_free == 0 && !assembly->parameters.granted &&
	    segment->event_id != MFP_END_OF_RUN && assembly_reclaim(assembly, now) == 0 &&
	    !assembly_consumers_are_busy(assembly, now))
		event_close_overtaken(assembly, now);
	event = event_open(assembly, segment, on_probation, now);
	// Nobody waits for a slot for an event that may not be one of the run.
	if (event == NULL && !on_probation)
		*cause = SEGMENT_NO_SLOT;
	return event;
}

// Gives the block of a segment the room behind the other blocks of its event. Returns false if the
// slot has no such room, or if the block has a room or is one of the end of run.
static inline bool begin_behind_others(struct assembly *assembly, struct event *event,
				       struct part *part, const struct segment *segment,
				       uint64_t now)
{
	uint64_t size = room_size(assembly, segment->length);
	uint64_t reserve = (assembly->n_sources - event->n_started - 1) * assembly->error_size;

	if (part->room != 0 || is_end_of_run(event) ||
	    event->used + size + reserve > assembly->slot_size)
		return false;
	part->room = (uint32_t)(event->used / ROOM_UNIT);
	event->used += size;
	block_begun(assembly, event, part, segment, now);
	return true;
}

// The next two record that the bytes of a segment have arrived. They return PART_TAKEN, or why the
// segment is refused.

__attribute__((noinline)) static enum segment_cause record_end(struct assembly *assembly,
							       struct part *part,
							       const struct segment *segment)
{
	uint32_t *used = &assembly->shares[segment->source].end_ranges;

	if (part_is_whole(part))
		return SEGMENT_DUPLICATE;
	if (segment->size > END_MEMORY)
		return SEGMENT_OVERSIZED;
	if (segment->offset > part->received.prefix && *used >= END_RANGES_MOST)
		return SEGMENT_REORDER_LIMIT;
	return part_record(&assembly->pool, part, used, segment);
}

__attribute__((noinline)) static enum segment_cause record_overlapping(
    struct assembly *assembly, struct event *event, struct part *part,
    const struct segment *segment)
{
	if (!block_displace(assembly, event, part, segment))
		return SEGMENT_OVERLAPPING;
	return part_record(&assembly->pool, part, &assembly->shares[segment->source].ranges,
			   segment);
}

uint8_t *assembly_admit(struct assembly *assembly, const struct segment *segment, uint64_t now,
			enum segment_cause *cause)
{
	struct event *event = assembly->latest;
	enum segment_cause refusal;
	struct part *part;

	if (event == NULL || event->id != segment->event_id)
		event = event_find(assembly, segment->event_id);
	if (event == NULL) {
		event = open_event(assembly, segment, now, cause);
		if (event == NULL)
			return refuse(assembly, segment, *cause, cause);
	}
	if (event->expected)
		event_start(assembly, event, segment, now);
	part = &event_parts(assembly, event)[segment->source];
	if (part->length != segment->length &&
	    !begin_behind_others(assembly, event, part, segment, now)) {
		refusal = block_begin(assembly, event, part, segment, now);
		if (refusal != PART_TAKEN)
			return refuse(assembly, segment, refusal, cause);
	}
	refusal = is_end_of_run(event)
		      ? record_end(assembly, part, segment)
		      : part_record(&assembly->pool, part,
				    &assembly->shares[segment->source].ranges, segment);
	if (__builtin_expect(refusal == SEGMENT_OVERLAPPING, 0) && !is_end_of_run(event))
		refusal = record_overlapping(assembly, event, part, segment);
	if (refusal != PART_TAKEN)
		return refuse(assembly, segment, refusal, cause);
	if (!assembly->end_is_open)
		assembly->last_placed = now - assembly->waited;
	else
		note_end(assembly, segment, now);
	assembly->admitted = assembly->latest = event;
	assembly->admitted_part = part;
	if (is_end_of_run(event))
		return assembly->end_memory;
	return room_of(assembly, event, part) + block_prefix(assembly) + segment->offset;
}

const uint8_t *assembly_place_of(const struct assembly *assembly, const struct segment *segment)
{
	const struct event *event = assembly->latest;
	const struct part *part;

	if (event == NULL || event->id != segment->event_id)
		event = event_find(assembly, segment->event_id);
	if (event == NULL || is_end_of_run(event))
		return NULL;
	part = &event_parts(assembly, event)[segment->source];
	if (part->length != segment->length)
		return NULL;
	return room_of(assembly, event, part) + block_prefix(assembly) + segment->offset;
}

// Writes the MFP header of an opaque block: its number of fragments is 0, and the bytes follow it.
static void frame_opaque(const struct assembly *assembly, const struct event *event,
			 uint32_t source, uint8_t *room, uint32_t length)
{
	store_le16(room, MFP_MAGIC);
	store_le16(room + 2, 0);
	store_le32(room + 4, MFP_HEADER_SIZE + length);
	store_le64(room + 8, event->id);
	store_le16(room + 16, assembly->parameters.sources->ids[source]);
	room[18] = 0;
	room[19] = 0;
}

static void complete_block(struct assembly *assembly, struct event *event, struct part *part,
			   uint32_t source)
{
	uint8_t *room = room_of(assembly, event, part);
	uint32_t prefix = block_prefix(assembly), n_fragments;
	uint32_t end = part->length + prefix;

	memset(room + end, 0, round_up(end, ROOM_UNIT) - end);
	part->received.ranges = PART_WHOLE;
	if (prefix != 0)
		frame_opaque(assembly, event, source, room, part->length);
	else
		part->received.ranges = part_judge(room, part->length, event->id,
						   assembly->parameters.sources->ids[source],
						   assembly->parameters.packing);
	n_fragments = part->received.ranges - PART_WHOLE;
	if (part->received.ranges == PART_MALFORMED) {
		if (assembly->shares[source].patience > 0) {
			part->length = 0;
			event->n_dubious++;
			return;
		}
		part_count_malformed(assembly, event, source);
		difference_of_block(assembly, event, source, room, part->length);
	}
	part_count_whole(assembly, event, source);
	if (part->received.ranges == PART_MALFORMED)
		return;
	if (assembly->shares[source].usual < part->length)
		assembly->shares[source].usual = part->length;
	if (event->n_agreeing == 0)
		event->n_fragments = n_fragments;
	event->n_agreeing += event->n_fragments == n_fragments;
}

bool assembly_commit(struct assembly *assembly, const struct segment *segment)
{
	struct event *event = assembly->admitted;
	struct part *part = assembly->admitted_part;
	struct assembly_source_counters *source = &assembly->source_counters[segment->source];

	count(&assembly->counters.segments, 1);
	count(&assembly->counters.placed, 1);
	count(&assembly->counters.placed_bytes, segment->size);
	count(&source->segments, 1);
	count(&source->placed, 1);
	count(&source->placed_bytes, segment->size);
	if (__builtin_expect((segment->flags & SEGMENT_REPEATED) != 0, 0))
		event->is_repeated = true;
	if (!part_has_all(part))
		return false;
	if (is_end_of_run(event)) {
		part->received.ranges = PART_WHOLE;
		event->n_whole++;
	} else {
		complete_block(assembly, event, part, segment->source);
	}
	return event->n_whole == assembly->n_sources ||
	       (__builtin_expect(event->n_absent > 0, 0) && event_lacks_none(assembly, event));
}

void assembly_complete(struct assembly *assembly, uint64_t now)
{
	event_close(assembly, assembly->admitted, now);
}

uint32_t assembly_reclaim(struct assembly *assembly, uint64_t now)
{
	uint32_t slots[RECLAIM_MOST];
	unsigned n = evring_reclaim(assembly->parameters.ring, slots, RECLAIM_MOST);

	for (unsigned i = 0; i < n; i++) {
		struct event *event = &assembly->events[slots[i]];

		consumer_slot_released(assembly, event, now);
		// The event's first segment may have arrived after `now` was read: rx may run on
		// another lcore, and the caller reads the time once for many segments.
		latency_add(assembly, &assembly->latency->released, event->first, now);
		latency_add(assembly, &assembly->latency->consumers, event->since, now);
		slot_free(assembly, slots[i], now);
	}
	return assembly->n_free;
}

// Whether the end-of-run event must stay open. Sources that end alone do not end the run. If more
// than half of them have ended, because the end-of-run blocks of the others were lost or those are
// dead, the run ends when no source has sent data for a deadline.
static bool must_stay_open(const struct assembly *assembly, const struct event *event, uint64_t now)
{
	return is_end_of_run(event) &&
	       (2 * event->n_whole <= assembly->n_sources ||
		!is_over(assembly, assembly->last_placed, assembly->parameters.deadline, now));
}

// The deadline begins for granted events of which no segment has arrived although all sources have
// sent a later event.
static void overtake_unstarted(struct assembly *assembly, uint64_t now)
{
	for (unsigned i = 0; i < CLOSE_MOST && assembly->expected.oldest != NO_EVENT; i++) {
		struct event *event = &assembly->events[assembly->expected.oldest];

		if (event->serial >= assembly->newest_granted)
			return;
		event_overtake(assembly, event, now);
	}
}

// Closes granted events of which no segment has arrived for too long.
static void close_unstarted(struct assembly *assembly, uint64_t now)
{
	for (unsigned i = 0; i < CLOSE_MOST && assembly->expected.oldest != NO_EVENT; i++) {
		struct event *event = &assembly->events[assembly->expected.oldest];

		if (!is_over(assembly, event->since, assembly->parameters.patience, now))
			return;
		event_close(assembly, event, now);
	}
}

static void close_overdue(struct assembly *assembly, uint64_t now)
{
	for (unsigned i = 0; i < CLOSE_MOST && assembly->order.oldest != NO_EVENT; i++) {
		struct event *event = &assembly->events[assembly->order.oldest];

		if (!is_over(assembly, event->since, assembly->parameters.deadline, now))
			return;
		if (must_stay_open(assembly, event, now) ||
		    window_judge(assembly, event, now) == VERDICT_WAIT)
			event_postpone(assembly, event, now);
		else
			event_end(assembly, event, now);
	}
}

void assembly_renew_clock(struct assembly *assembly, struct tick_moment moment)
{
	tick_clock_renew(&assembly->clock, moment);
}

void assembly_housekeep(struct assembly *assembly, uint64_t now, uint64_t waited)
{
	assembly->waited += waited;
	assembly_reclaim(assembly, now);
	window_renew(assembly, now);
	absence_housekeep(assembly, now);
	overtake_unstarted(assembly, now);
	close_overdue(assembly, now);
	close_unstarted(assembly, now);
}

void assembly_flush(struct assembly *assembly, uint64_t now)
{
	assembly->flushing = true;
	while (assembly->order.oldest != NO_EVENT)
		event_end(assembly, &assembly->events[assembly->order.oldest], now);
	while (assembly->expected.oldest != NO_EVENT)
		event_close(assembly, &assembly->events[assembly->expected.oldest], now);
}

bool assembly_end_of_run(const struct assembly *assembly)
{
	return assembly->ended;
}

uint32_t assembly_ended_sources(const struct assembly *assembly)
{
	return assembly->n_ended;
}

const struct assembly_counters *assembly_counters(const struct assembly *assembly)
{
	return &assembly->counters;
}

const struct assembly_source_counters *assembly_source_counters(const struct assembly *assembly)
{
	return assembly->source_counters;
}

const struct assembly_latency *assembly_latency(const struct assembly *assembly)
{
	return assembly->latency;
}

uint32_t assembly_open_events(const struct assembly *assembly)
{
	return __atomic_load_n(&assembly->n_open, __ATOMIC_RELAXED);
}

uint32_t assembly_free_slots(const struct assembly *assembly)
{
	return __atomic_load_n(&assembly->n_free, __ATOMIC_RELAXED);
}
