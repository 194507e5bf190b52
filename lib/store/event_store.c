// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/event_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include "base/counter.h"
#include "evring/evb_reader.h"
#include "evring/reader_watch.h"
#include "store/device_memory.h"

#define TAKEN_MOST 32u // events in one poll

// An event in its slot.
struct held_event {
	struct block_hold hold;
	uint64_t index;      // ascending
	bool is_repeated;    // it may have been sent before under another index
	bool is_unpublished; // under this index
	uint8_t again;       // times that it was offered again
	struct evb_event event;
};

// Who may use the reader.
enum owner { OWNER_CONTROL, OWNER_LCORE };

// Events have numbers in the order in which they are taken, over all runs and readers.
struct event_store {
	struct block_store store;
	struct event_store_parameters parameters;
	struct held_event *held; // [mask + 1], by number
	uint64_t mask;
	uint64_t taken;    // from the rings
	uint64_t indexed;  // of these, that have an event index in this run
	uint64_t released; // of these, by the role
	uint64_t freed;    // of these, to the rings
	uint64_t begun;    // number of the first event of this run
	uint64_t next;     // the next event index
	bool has_begun;
	bool is_over; // the rings of `reader` get no events any more, and are empty
	_Atomic enum owner owner;
	struct evb_reader *reader; // NULL: not open
	uint64_t regained;         // events of dead members that the reader has delivered

	// The control thread's
	unsigned n_registered;               // rings whose slots DPDK knows
	char reason[EVENT_STORE_ERROR_SIZE]; // of the last EVENT_STORE_WAITS
};

static struct event_store *event_store_of(struct block_store *store)
{
	return (struct event_store *)store;
}

static struct held_event *held_at(const struct event_store *store, uint64_t number)
{
	return &store->held[number & store->mask];
}

// --- events in, and slots back; the role's lcore ---

// Makes a released event the newest one. There is room, since it leaves its place.
static void offer_again(struct event_store *store, const struct held_event *held)
{
	const struct evb_event event = held->event;
	const bool is_repeated = held->is_repeated;
	const uint8_t again = held->again;
	struct held_event *to = held_at(store, store->taken++);

	to->event = event;
	to->is_repeated = is_repeated;
	to->is_unpublished = false;
	to->again = again + 1;
	to->hold.blocks = 1;
	counter_add(&store->store.counters.again, 1);
}

static void free_slots(struct event_store *store)
{
	for (; store->freed < store->released; store->freed++) {
		struct held_event *held = held_at(store, store->freed);

		if (!block_hold_is_free(&held->hold))
			return;
		if (held->is_unpublished && held->again < EVENT_STORE_AGAIN) {
			offer_again(store, held);
			continue;
		}
		counter_add(&store->store.counters.given_up, held->is_unpublished);
		// Fails only if the slot was taken from this process: then nothing is to be done.
		(void)evb_reader_release(store->reader, &held->event);
	}
}

static bool has_room(const struct event_store *store)
{
	return store->taken - store->freed < store->parameters.events;
}

// Gives the next events their indices, at most so many.
static void give_indices(struct event_store *store, uint64_t n)
{
	for (; n > 0 && store->indexed < store->taken; n--)
		held_at(store, store->indexed++)->index = store->next++;
}

static void show(struct event_store *store)
{
	if (!store->store.is_shared)
		give_indices(store, UINT64_MAX);
	store->store.ready = store->next;
	store->store.offered = store->taken - store->begun;
	__atomic_store_n(&store->store.counters.events, store->taken - store->released,
			 __ATOMIC_RELAXED);
}

// The event at held_at(taken) is one more. A sender that has died may have sent those that the
// reader regains.
static void add_event(struct event_store *store)
{
	const uint64_t regained = evb_reader_counters(store->reader).regained;
	struct held_event *held = held_at(store, store->taken++);

	held->hold.blocks = 1;
	held->is_unpublished = false;
	held->again = 0;
	held->is_repeated =
	    (held->event.flags & EVB_EVENT_REPEATED) != 0 || regained != store->regained;
	store->regained = regained;
}

static bool is_open(struct event_store *store)
{
	return atomic_load_explicit(&store->owner, memory_order_acquire) == OWNER_LCORE;
}

static void poll(struct block_store *base, uint64_t now)
{
	struct event_store *store = event_store_of(base);
	unsigned n = 0;

	(void)now;
	if (!store->has_begun || !is_open(store))
		return;
	free_slots(store);
	while (n++ < TAKEN_MOST && has_room(store) &&
	       evb_reader_poll(store->reader, &held_at(store, store->taken)->event))
		add_event(store);
	show(store);
}

// The control thread closes the rings of a dead appliance when nothing points to them any more.
static void finish(struct event_store *store)
{
	if (store->freed < store->taken)
		return; // events may have to be offered again
	if (evb_reader_has_ended(store->reader))
		store->store.end = store->next;
	else
		atomic_store_explicit(&store->owner, OWNER_CONTROL, memory_order_release);
}

static void housekeep(struct block_store *base)
{
	struct event_store *store = event_store_of(base);
	int rc;

	if (!store->has_begun || !is_open(store))
		return;
	if (!store->is_over && has_room(store)) {
		rc = evb_reader_next(store->reader, &held_at(store, store->taken)->event, 0);
		if (rc == 1)
			add_event(store);
		store->is_over = rc < 0;
	}
	show(store);
	if (store->is_over)
		finish(store);
}

static void release(struct block_store *base, uint64_t event)
{
	struct event_store *store = event_store_of(base);

	for (; store->released < store->indexed && held_at(store, store->released)->index < event;
	     store->released++)
		held_at(store, store->released)->hold.blocks = 0;
	if (base->released < event)
		base->released = event;
	show(store);
}

static void assign(struct block_store *base, uint64_t event, uint64_t n)
{
	struct event_store *store = event_store_of(base);

	store->next = event;
	give_indices(store, n);
	store->next = event + n;
	show(store);
}

// Events that an earlier run took and did not release get the first indices of the new run. Those
// that had an index may have been sent.
static void begin(struct block_store *base, uint64_t first)
{
	struct event_store *store = event_store_of(base);

	for (uint64_t number = store->released; number < store->indexed; number++)
		held_at(store, number)->is_repeated = true;
	store->has_begun = true;
	store->begun = store->indexed = store->released;
	store->next = base->released = base->ready = first;
	base->end = UINT64_MAX;
}

// The event of an index, by bisection; NULL if it is not here.
static struct held_event *held_of(const struct event_store *store, uint64_t event)
{
	uint64_t first = store->released, end = store->indexed;

	while (first < end) {
		const uint64_t middle = first + (end - first) / 2;
		struct held_event *held = held_at(store, middle);

		if (held->index == event)
			return held;
		if (held->index < event)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

static struct store_block find(struct block_store *base, uint64_t event, unsigned source)
{
	struct event_store *store = event_store_of(base);
	struct held_event *held = held_of(store, event);

	(void)source;
	if (held == NULL)
		return (struct store_block){ .is_missing = true };
	return (struct store_block){
		.bytes = held->event.data,
		.size = (uint32_t)held->event.length,
		.is_repeated = held->is_repeated,
		.hold = &held->hold,
	};
}

static void unpublished(struct block_store *base, uint64_t event, bool repeated)
{
	struct held_event *held = held_of(event_store_of(base), event);

	if (held == NULL)
		return; // that of another node
	held->is_unpublished = true;
	held->is_repeated |= repeated;
}

// --- opening and closing; the control thread ---

static int reason(char *error, const char *text, const char *why)
{
	snprintf(error, EVENT_STORE_ERROR_SIZE, "%s: %s", text, why);
	return -1;
}

// The device maps memory for reading and writing, also what it only reads.
static bool map_for_device(const struct evb_reader_slots *slots, uint16_t port_id)
{
	bool is_mapped;

	(void)mprotect(slots->address, slots->length, PROT_READ | PROT_WRITE);
	is_mapped = device_memory_map(slots->address, slots->length, port_id);
	(void)mprotect(slots->address, slots->length, PROT_READ);
	return is_mapped;
}

static int register_slots(struct event_store *store, uint16_t port_id, char *error)
{
	struct evb_reader_slots slots;

	for (unsigned i = 0; evb_reader_slots(store->reader, i, &slots); i++) {
		if (slots.slot_size > store->parameters.max_event) {
			snprintf(error, EVENT_STORE_ERROR_SIZE,
				 "its slots have %" PRIu64 " bytes, max_event is %" PRIu32,
				 slots.slot_size, store->parameters.max_event);
			return -1;
		}
		if (rte_extmem_register(slots.address, slots.length, NULL, 0, slots.page_size) != 0)
			return reason(error, "DPDK cannot send from its rings",
				      rte_strerror(rte_errno));
		store->n_registered++;
		if (!map_for_device(&slots, port_id))
			return reason(error, "the device cannot send from its rings",
				      rte_strerror(rte_errno));
	}
	return 0;
}

static void close_rings(struct event_store *store)
{
	struct evb_reader_slots slots;

	for (; store->n_registered > 0; store->n_registered--)
		if (evb_reader_slots(store->reader, store->n_registered - 1, &slots))
			(void)rte_extmem_unregister(slots.address, slots.length);
	evb_reader_close(store->reader);
	store->reader = NULL;
}

static int open_rings(struct event_store *store, uint16_t port_id, char *error)
{
	const struct evb_reader_options options = {
		.mode = EVB_READER_GROUP,
		.group = store->parameters.group,
		.directory = store->parameters.directory,
	};

	if (evb_reader_open(&store->reader, store->parameters.appliance, &options) != 0) {
		snprintf(error, EVENT_STORE_ERROR_SIZE, "%s",
			 store->reader != NULL ? evb_reader_error(store->reader) : "out of memory");
		return -1;
	}
	return register_slots(store, port_id, error);
}

enum event_store_news event_store_watch(struct block_store *base, uint16_t port_id, char *error)
{
	struct event_store *store = event_store_of(base);

	if (is_open(store))
		return EVENT_STORE_NOTHING_NEW;
	if (store->reader != NULL) {
		close_rings(store);
		return EVENT_STORE_CLOSED;
	}
	if (open_rings(store, port_id, error) != 0) {
		close_rings(store);
		if (strcmp(store->reason, error) == 0)
			return EVENT_STORE_NOTHING_NEW;
		snprintf(store->reason, sizeof(store->reason), "%s", error);
		return EVENT_STORE_WAITS;
	}
	store->reason[0] = '\0';
	store->is_over = false;
	store->regained = 0;
	atomic_store_explicit(&store->owner, OWNER_LCORE, memory_order_release);
	return EVENT_STORE_OPENED;
}

// --- life ---

static void destroy(struct block_store *base)
{
	struct event_store *store = event_store_of(base);

	close_rings(store); // returns the events that are not released to the group
	free(store->held);
	free(store);
}

static const struct block_store_operations operations = {
	.find = find,
	.begin = begin,
	.poll = poll,
	.housekeep = housekeep,
	.release = release,
	.assign = assign,
	.unpublished = unpublished,
	.destroy = destroy,
};

struct block_store *event_store_create(const struct event_store_parameters *parameters)
{
	struct event_store *store = calloc(1, sizeof(*store));
	uint64_t n = 1;

	if (store == NULL)
		return NULL;
	while (n < parameters->events)
		n *= 2;
	store->parameters = *parameters;
	store->mask = n - 1;
	store->held = aligned_alloc(BLOCK_HOLD_LINE, n * sizeof(*store->held));
	if (store->held == NULL) {
		free(store);
		return NULL;
	}
	memset(store->held, 0, n * sizeof(*store->held));
	store->store = (struct block_store){
		.operations = &operations,
		.ids = parameters->id,
		.n_sources = 1,
		.packing = parameters->packing,
		.largest = parameters->max_event,
		.capacity = parameters->events,
		.end = UINT64_MAX,
		.is_shared = parameters->is_shared,
	};
	return &store->store;
}
