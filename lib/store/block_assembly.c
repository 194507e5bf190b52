// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/block_assembly.h"

#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "wire/mfp.h"

#define RANGES_EACH  64u   // of the pool, per source
#define RANGES_LEAST 4096u // of the pool
#define RANGES_ALL   262144u
#define CLOSE_MOST   16u    // events given up in one poll
#define END_MEMORY   65536u // bytes; no segment is larger
#define SILENT       2u     // deadlines: see the header
#define SILENT_LONG  10u

static struct block_assembly *assembly_of(struct block_store *store)
{
	return (struct block_assembly *)store;
}

static uint64_t capacity(const struct block_assembly *assembly)
{
	return assembly->mask + 1;
}

static struct part *part_at(const struct block_assembly *assembly, uint64_t event, unsigned source)
{
	return &assembly->parts[(event & assembly->mask) * assembly->parameters.n_sources + source];
}

// --- memory ---

static uint8_t *room_of(const struct block_assembly *assembly, const struct part *part)
{
	return block_memory_room(&assembly->memory, part->room);
}

static struct block_hold *hold_of(const struct block_assembly *assembly, const struct part *part)
{
	return block_memory_hold(&assembly->memory, part->room);
}

// Forgets a block that the window does not have.
static void drop_part(struct block_assembly *assembly, struct part *part, unsigned source)
{
	if (part->length == 0)
		return;
	if (!part_is_whole(part))
		ranges_release(&assembly->pool, &part->received, &assembly->ranges[source]);
	hold_of(assembly, part)->blocks--;
	*part = (struct part){ 0 };
}

// --- events ---

// Time that stands still while the caller waits for room.
static uint64_t own_time(const struct block_assembly *assembly)
{
	return assembly->last_poll - assembly->paused;
}

static void note_begun(struct block_assembly *assembly, uint64_t event)
{
	uint64_t now = own_time(assembly), ready = assembly->window.store.ready;

	for (uint64_t i = assembly->newest; i <= event; i++)
		assembly->since[i & assembly->mask] = now;
	if (assembly->newest <= event)
		__atomic_store_n(&assembly->newest, event + 1, __ATOMIC_RELAXED);
	if (++assembly->n_begun[event & assembly->mask] != assembly->quorum ||
	    event < assembly->front)
		return;
	// A source may have begun an event long before the others: they have a deadline, too.
	if (assembly->front < ready)
		assembly->front = ready;
	for (; assembly->front <= event; assembly->front++)
		assembly->since[assembly->front & assembly->mask] = now;
	assembly->moved = now;
}

// Passes the whole blocks of a source to the window, up to the first one that is not whole.
static void put_whole(struct block_assembly *assembly, unsigned source)
{
	struct block_window *window = &assembly->window;
	uint64_t end = window->store.released + capacity(assembly);
	uint64_t event;

	while ((event = window->next[source]) < end) {
		const struct part *part = part_at(assembly, event, source);
		struct window_block block;

		if (!part_is_whole(part))
			return;
		block = (struct window_block){
			.bytes = room_of(assembly, part),
			.size = part_is_valid(part) ? part->length : assembly->error_size,
			.hold = hold_of(assembly, part),
		};
		(void)block_window_put(window, event, source, &block); // it is the next one
		block.hold->blocks--;
	}
}

static void put_all(struct block_assembly *assembly)
{
	for (unsigned i = 0; i < assembly->parameters.n_sources; i++)
		put_whole(assembly, i);
}

// Makes the oldest event ready without the blocks that are not whole.
static void give_up(struct block_assembly *assembly)
{
	uint64_t event = assembly->window.store.ready;

	for (unsigned i = 0; i < assembly->parameters.n_sources; i++)
		if (assembly->window.next[i] <= event)
			drop_part(assembly, part_at(assembly, event, i), i);
	block_window_give_up(&assembly->window);
	put_all(assembly);
}

static bool has_passed(const struct block_assembly *assembly, uint64_t since, uint64_t deadlines)
{
	return own_time(assembly) - since > deadlines * assembly->parameters.deadline;
}

static bool is_overdue(const struct block_assembly *assembly, uint64_t event)
{
	unsigned n_begun = assembly->n_begun[event & assembly->mask];
	bool is_doubtful = n_begun == 0 || (n_begun == 1 && assembly->parameters.n_sources > 2);

	if (!has_passed(assembly, assembly->since[event & assembly->mask], 1))
		return false;
	return event < assembly->front || assembly->n_ended == assembly->parameters.n_sources ||
	       has_passed(assembly, assembly->moved, is_doubtful ? SILENT_LONG : SILENT);
}

void block_assembly_expire(struct block_assembly *assembly)
{
	struct block_store *store = &assembly->window.store;

	if (!assembly->is_running)
		return;
	for (unsigned i = 0; i < CLOSE_MOST && store->ready < assembly->newest &&
			     is_overdue(assembly, store->ready);
	     i++)
		give_up(assembly);
	if (assembly->parameters.ends && assembly->n_ended == assembly->parameters.n_sources &&
	    store->ready == assembly->newest && store->end == UINT64_MAX)
		block_window_end(&assembly->window, assembly->newest);
}

static void restart_deadlines(struct block_assembly *assembly)
{
	for (uint64_t event = assembly->window.store.ready; event < assembly->newest; event++)
		assembly->since[event & assembly->mask] = own_time(assembly);
	assembly->moved = own_time(assembly);
	assembly->begins = false;
}

void block_assembly_tick(struct block_assembly *assembly, uint64_t now, bool waits)
{
	const struct block_store *store = &assembly->window.store;

	if (waits && store->released < store->ready)
		assembly->paused += now - assembly->last_poll;
	assembly->last_poll = now;
	block_memory_look_again(&assembly->memory);
	if (assembly->begins)
		restart_deadlines(assembly);
}

// --- segments ---

void block_assembly_refuse(struct block_assembly *assembly, unsigned source,
			   enum segment_cause cause)
{
	counter_add(&assembly->counters.segments, 1);
	counter_add(&assembly->counters.drops[cause], 1);
	counter_add(&assembly->sources[source].drops[cause], 1);
}

static uint8_t *refuse(struct block_assembly *assembly, unsigned source, enum segment_cause reason,
		       enum segment_cause *cause)
{
	*cause = reason;
	if (reason != SEGMENT_STORE_FULL || !assembly->parameters.holds_back)
		block_assembly_refuse(assembly, source, reason);
	return NULL;
}

// Why a segment of an event outside the window is refused.
static enum segment_cause outside(const struct block_assembly *assembly, uint64_t event)
{
	uint64_t released = assembly->window.store.released;

	if (event < released)
		return SEGMENT_LATE;
	return assembly->is_running && event - released < 2 * capacity(assembly)
		   ? SEGMENT_STORE_FULL
		   : SEGMENT_EARLY;
}

static uint8_t *admit_end(struct block_assembly *assembly, const struct segment *segment,
			  unsigned source, enum segment_cause *cause)
{
	if (segment->size > END_MEMORY)
		return refuse(assembly, source, SEGMENT_OVERSIZED, cause);
	if (!assembly->has_ended[source])
		assembly->n_ended++;
	assembly->has_ended[source] = true;
	assembly->admitted = NULL;
	return assembly->end_memory;
}

static bool find_event(struct block_assembly *assembly, uint64_t id)
{
	uint64_t offset = id - assembly->parameters.first_event;

	if (id < assembly->parameters.first_event || remainder_of(offset, &assembly->packing) != 0)
		return false;
	assembly->latest_id = id;
	assembly->latest_event = divide(offset, &assembly->packing);
	return true;
}

// The segment's block has no room yet, or another length.
static enum segment_cause begin_block(struct block_assembly *assembly, uint64_t event,
				      unsigned source, struct part *part,
				      const struct segment *segment)
{
	if (part->length != 0)
		return SEGMENT_LENGTH_MISMATCH;
	if (event < assembly->window.next[source])
		return SEGMENT_LATE;
	if (segment->length > assembly->parameters.max_block)
		return SEGMENT_OVERSIZED;
	part->room = block_memory_take(&assembly->memory, segment->length < assembly->error_size
							      ? assembly->error_size
							      : segment->length);
	if (part->room == 0)
		return SEGMENT_STORE_FULL;
	part->length = segment->length;
	note_begun(assembly, event);
	return PART_TAKEN;
}

uint8_t *block_assembly_admit(struct block_assembly *assembly, const struct segment *segment,
			      unsigned source, enum segment_cause *cause)
{
	enum segment_cause refusal;
	struct part *part;
	uint64_t event;

	if (__builtin_expect(segment->event_id != assembly->latest_id, 0)) {
		if (segment->event_id == MFP_END_OF_RUN)
			return admit_end(assembly, segment, source, cause);
		if (!find_event(assembly, segment->event_id))
			return refuse(assembly, source, SEGMENT_NO_EVENT, cause);
	}
	event = assembly->latest_event;
	if (__builtin_expect(event - assembly->window.store.released > assembly->mask, 0))
		return refuse(assembly, source, outside(assembly, event), cause);
	part = part_at(assembly, event, source);
	if (part->length != segment->length) {
		refusal = begin_block(assembly, event, source, part, segment);
		if (refusal != PART_TAKEN)
			return refuse(assembly, source, refusal, cause);
	}
	refusal = part_record(&assembly->pool, part, &assembly->ranges[source], segment);
	if (refusal != PART_TAKEN)
		return refuse(assembly, source, refusal, cause);
	assembly->admitted = part;
	return room_of(assembly, part) + segment->offset;
}

static void complete(struct block_assembly *assembly, struct part *part, unsigned source)
{
	const struct block_assembly_parameters *p = &assembly->parameters;
	uint8_t *room = room_of(assembly, part);

	part->received.ranges = PART_WHOLE;
	if (p->mfps)
		part->received.ranges =
		    part_judge(room, part->length, assembly->latest_id, p->ids[source], p->packing);
	counter_add(&assembly->counters.blocks, 1);
	if (!part_is_valid(part)) {
		counter_add(&assembly->counters.malformed, 1);
		// Cannot fail: each room has this size.
		(void)mfp_encode_error(room, assembly->error_size, assembly->latest_id,
				       p->ids[source], p->packing, MFP_TYPE_FRAGMENT_MALFORMED);
	}
	put_whole(assembly, source);
}

void block_assembly_commit(struct block_assembly *assembly, const struct segment *segment,
			   unsigned source)
{
	struct block_assembly_source_counters *counters = &assembly->sources[source];
	struct part *part = assembly->admitted;

	counter_add(&assembly->counters.segments, 1);
	counter_add(&assembly->counters.placed, 1);
	counter_add(&assembly->counters.placed_bytes, segment->size);
	counter_add(&counters->placed, 1);
	counter_add(&counters->placed_bytes, segment->size);
	if (part != NULL && part_has_all(part))
		complete(assembly, part, source);
}

// --- the store ---

static void clear_event(struct block_assembly *assembly, uint64_t event)
{
	memset(part_at(assembly, event, 0), 0,
	       assembly->parameters.n_sources * sizeof(struct part));
	assembly->n_begun[event & assembly->mask] = 0;
}

void block_assembly_release(struct block_store *store, uint64_t event)
{
	uint64_t first = store->released;

	block_window_release(store, event);
	for (; first < store->released; first++)
		clear_event(assembly_of(store), first);
	__atomic_store_n(&assembly_of(store)->freed, store->released, __ATOMIC_RELAXED);
}

void block_assembly_housekeep(struct block_store *store)
{
	block_memory_renew_level(&assembly_of(store)->memory);
}

// The window is going to drop all its blocks. Those of an event that stays are put again.
static void prepare_event(struct block_assembly *assembly, uint64_t event, bool stays)
{
	for (unsigned i = 0; i < assembly->parameters.n_sources; i++) {
		struct part *part = part_at(assembly, event, i);
		bool is_put = event < assembly->window.next[i];

		if (stays && is_put && part->length != 0)
			hold_of(assembly, part)->blocks++;
		if (!stays && !is_put)
			drop_part(assembly, part, i);
	}
	if (!stays)
		clear_event(assembly, event);
}

void block_assembly_begin(struct block_store *store, uint64_t first)
{
	struct block_assembly *assembly = assembly_of(store);
	bool goes_on = first >= store->released && first - store->released <= assembly->mask;
	uint64_t released = store->released;

	for (uint64_t event = released; event < assembly->newest; event++)
		prepare_event(assembly, event, goes_on && event >= first);
	block_window_begin(store, first);
	if (!goes_on || assembly->newest < first)
		__atomic_store_n(&assembly->newest, first, __ATOMIC_RELAXED);
	__atomic_store_n(&assembly->freed, first, __ATOMIC_RELAXED);
	assembly->front = first;
	for (uint64_t event = first; event < assembly->newest; event++)
		if (assembly->n_begun[event & assembly->mask] >= assembly->quorum)
			assembly->front = event + 1;
	if (assembly->is_running) {
		memset(assembly->has_ended, 0,
		       assembly->parameters.n_sources * sizeof(*assembly->has_ended));
		assembly->n_ended = 0;
	}
	assembly->is_running = assembly->begins = true;
	put_all(assembly);
}

// --- creation ---

static uint32_t range_count(unsigned n_sources)
{
	uint64_t n = (uint64_t)n_sources * RANGES_EACH;

	return n > RANGES_ALL ? RANGES_ALL : n < RANGES_LEAST ? RANGES_LEAST : (uint32_t)n;
}

uint64_t block_assembly_memory(unsigned n_sources)
{
	uint64_t events = block_window_capacity(n_sources);

	return block_window_memory(n_sources) + events * n_sources * sizeof(struct part) +
	       events * (sizeof(uint32_t) + sizeof(uint64_t)) +
	       range_count(n_sources) * sizeof(struct range) + END_MEMORY +
	       n_sources * sizeof(struct block_assembly_source_counters);
}

static bool allocate(struct block_assembly *assembly)
{
	unsigned n_sources = assembly->parameters.n_sources;

	assembly->parts = calloc(capacity(assembly) * n_sources, sizeof(*assembly->parts));
	assembly->n_begun = calloc(capacity(assembly), sizeof(*assembly->n_begun));
	assembly->since = calloc(capacity(assembly), sizeof(*assembly->since));
	assembly->ranges = calloc(n_sources, sizeof(*assembly->ranges));
	assembly->end_memory = malloc(END_MEMORY);
	assembly->has_ended = calloc(n_sources, sizeof(*assembly->has_ended));
	assembly->sources = calloc(n_sources, sizeof(*assembly->sources));
	return assembly->parts != NULL && assembly->n_begun != NULL && assembly->since != NULL &&
	       assembly->ranges != NULL && assembly->end_memory != NULL &&
	       assembly->has_ended != NULL && assembly->sources != NULL &&
	       range_pool_make(&assembly->pool, range_count(n_sources), n_sources);
}

bool block_assembly_make(struct block_assembly *assembly,
			 const struct block_assembly_parameters *parameters)
{
	const struct block_assembly_parameters *p = parameters;
	const struct block_window_parameters window = {
		.ids = p->ids,
		.n_sources = p->n_sources,
		.packing = p->packing,
		.largest = p->max_block,
		.capacity = block_window_capacity(p->n_sources),
		.mfps = p->mfps,
	};

	*assembly = (struct block_assembly){
		.parameters = *parameters,
		.mask = window.capacity - 1,
		.quorum = p->n_sources == 1  ? 1
			  : p->n_sources < 4 ? 2
					     : (p->n_sources + 1) / 2,
		.packing = divisor_make(p->packing),
		.error_size = (uint32_t)mfp_error_size(p->packing),
		.latest_id = p->first_event,
	};
	return block_window_make(&assembly->window, &window) && allocate(assembly) &&
	       block_memory_make(&assembly->memory, p->memory, p->size,
				 p->max_block < assembly->error_size ? assembly->error_size
								     : p->max_block);
}

void block_assembly_free(struct block_assembly *assembly)
{
	block_window_free(&assembly->window);
	range_pool_free(&assembly->pool);
	free(assembly->parts);
	free(assembly->n_begun);
	free(assembly->since);
	free(assembly->ranges);
	block_memory_free(&assembly->memory);
	free(assembly->end_memory);
	free(assembly->has_ended);
	free(assembly->sources);
}
