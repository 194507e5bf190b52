// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <rte_memory.h>

#include "store/device_memory.h"
#include "store/ring_store_internal.h"

static void unregister(const struct ring_store *store)
{
	const struct producer_ring_memory memory = producer_ring_memory(store->ring);

	(void)rte_extmem_unregister(memory.address, memory.length);
}

bool ring_store_register(struct block_store *base, uint16_t port_id)
{
	struct ring_store *store = ring_store_of(base);
	const struct producer_ring_memory memory = producer_ring_memory(store->ring);

	if (rte_extmem_register(memory.address, memory.length, NULL, 0, memory.page_size) != 0)
		return false;
	store->unregister = unregister;
	return device_memory_map(memory.address, memory.length, port_id);
}
