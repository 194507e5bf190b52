// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A store of built events opens and closes the rings of the appliance; the control thread.
#include "store/event_store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include "store/device_memory.h"

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
		if (i < EVB_MAX_BUILDERS) {
			store->rings[i].n = (uint32_t)(slots.length / slots.slot_size);
			store->n_rings = i + 1;
		}
		if (!map_for_device(&slots, port_id))
			return reason(error, "the device cannot send from its rings",
				      rte_strerror(rte_errno));
	}
	return 0;
}

bool event_store_take_or_end(struct event_store *store, struct evb_event *event)
{
	const int rc = evb_reader_next(store->reader, event, 0);

	store->is_over = rc < 0;
	return rc == 1;
}

void event_store_close(struct event_store *store)
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
	evb_reader_bury(store->reader); // an earlier process of this node, if there was one
	return register_slots(store, port_id, error);
}

static enum event_store_news news_of_open(struct event_store *store, char *error)
{
	const uint64_t id = atomic_load_explicit(&store->far_id, memory_order_relaxed);

	if (!store->parameters.by_id || id == UINT64_MAX || store->said_far)
		return EVENT_STORE_NOTHING_NEW;
	store->said_far = true;
	snprintf(error, EVENT_STORE_ERROR_SIZE, "%" PRIu64, id);
	return EVENT_STORE_AHEAD;
}

enum event_store_news event_store_watch(struct block_store *base, uint16_t port_id, char *error)
{
	struct event_store *store = event_store_of(base);

	if (event_store_is_open(store))
		return news_of_open(store, error);
	if (store->reader != NULL) {
		event_store_close(store);
		return EVENT_STORE_CLOSED;
	}
	if (open_rings(store, port_id, error) != 0) {
		event_store_close(store);
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
