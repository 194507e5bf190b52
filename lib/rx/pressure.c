// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/pressure.h"

#include <rte_mempool.h>

#include "evring/evring.h"

// Buffers in use. Free buffers in the caches of lcores count as used, because it would take too
// long to read every cache.
static uint32_t buffers_in_use(const struct rte_mempool *pool)
{
	unsigned available = rte_mempool_get_ops(pool->ops_index)->get_count(pool);

	return pool->size - RTE_MIN(available, pool->size);
}

void rx_pressure_make(struct rx_pressure *pressure, const struct rx_parameters *parameters)
{
	uint32_t size = parameters->pool->size, in_use = buffers_in_use(parameters->pool);

	pressure->parameters = parameters;
	// The scale needs a capacity of at least 1, also if the device holds the whole pool.
	pressure->pool_base = RTE_MIN(in_use, size - 1);
	pressure->pool_scale = pause_share_scale(size - pressure->pool_base);
	if (parameters->n_builders > 0)
		pressure->link_scale = pause_share_scale(parameters->links[0]->depth); // all equal
	for (unsigned i = 0; i < parameters->n_builders && parameters->rings != NULL; i++)
		pressure->slot_scales[i] = pause_share_scale(evring_slots(parameters->rings[i]));
}

// Slots in use. If events are granted, only the slots of published events count: the event manager
// has reserved the other slots in use for events that it granted.
static uint64_t slots_in_use(const struct rx_parameters *parameters, const struct evring *ring)
{
	return parameters->events_are_granted ? evring_outstanding(ring) : evring_used(ring);
}

void rx_pressure_observe(const struct rx_pressure *pressure, struct pause_occupancy *occupancy)
{
	const struct rx_parameters *p = pressure->parameters;
	uint32_t in_use = buffers_in_use(p->pool);

	*occupancy = (struct pause_occupancy){
		.pool = pause_share(in_use - RTE_MIN(in_use, pressure->pool_base),
				    pressure->pool_scale),
	};
	for (unsigned i = 0; i < p->n_builders; i++) {
		uint32_t links =
		    pause_share(rte_ring_count(p->links[i]->ring), pressure->link_scale);
		uint32_t slots = p->rings != NULL ? pause_share(slots_in_use(p, p->rings[i]),
								pressure->slot_scales[i])
						  : 0;

		occupancy->links = RTE_MAX(occupancy->links, links);
		occupancy->slots = RTE_MAX(occupancy->slots, slots);
	}
}
