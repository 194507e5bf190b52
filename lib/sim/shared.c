// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A buffer that all queues of a switch share, with dynamic thresholds.
#include "sim/fabric_internal.h"

#include <stdlib.h>

#define ALPHA_BITS 16u

static struct sim_shared *shared_of(const struct sim_fabric *fabric, uint32_t port)
{
	return &fabric->shared[fabric->ports[port].node - fabric->n_hosts];
}

bool sim_shared_create(struct sim_fabric *fabric)
{
	const struct sim_fabric_parameters *p = &fabric->parameters;

	fabric->queue_limit = p->queue != 0 ? p->queue : UINT64_MAX;
	fabric->input_limit = p->xoff + p->headroom;
	fabric->watched = p->flow_control == SIM_PFC ? p->xoff : UINT64_MAX;
	fabric->gives_back = p->flow_control == SIM_CREDITS;
	if (p->shared_buffer == 0)
		return true;
	fabric->queue_limit = fabric->input_limit = fabric->watched = 0;
	fabric->gives_back = true;
	fabric->alpha = (uint64_t)(p->alpha * (1u << ALPHA_BITS));
	fabric->shared = calloc(fabric->n_switches, sizeof(*fabric->shared));
	fabric->memory += fabric->n_switches * sizeof(*fabric->shared);
	return fabric->shared != NULL;
}

uint64_t sim_shared_limit(const struct sim_fabric *fabric, uint32_t port)
{
	const uint64_t size = fabric->parameters.shared_buffer;
	const uint64_t used = shared_of(fabric, port)->used;

	return used < size ? (size - used) * fabric->alpha >> ALPHA_BITS : 0;
}

bool sim_shared_has_room(const struct sim_fabric *fabric, const struct sim_packet *packet,
			 uint64_t used)
{
	return fabric->shared != NULL &&
	       used + packet->bytes <= sim_shared_limit(fabric, packet->port) &&
	       shared_of(fabric, packet->port)->used + packet->bytes <=
		   fabric->parameters.shared_buffer;
}

bool sim_shared_has_headroom(const struct sim_fabric *fabric, const struct sim_packet *packet)
{
	const struct sim_flow *input = sim_flow_at(fabric, packet->from, packet->priority);

	return fabric->shared != NULL &&
	       ((fabric->ports[packet->from].holds >> packet->priority & 1) == 0 ||
		input->input + packet->bytes <= input->room);
}

void sim_shared_enter(struct sim_fabric *fabric, uint32_t port, uint32_t bytes)
{
	struct sim_shared *shared = shared_of(fabric, port);

	shared->used += bytes;
	if (shared->used > shared->peak)
		shared->peak = shared->used;
}

void sim_shared_leave(struct sim_fabric *fabric, uint32_t port, uint32_t bytes)
{
	shared_of(fabric, port)->used -= bytes;
}

uint64_t sim_xoff(const struct sim_fabric *fabric, uint32_t port)
{
	return fabric->shared != NULL ? sim_shared_limit(fabric, port) : fabric->parameters.xoff;
}

uint64_t sim_xon(const struct sim_fabric *fabric, uint32_t port)
{
	const struct sim_fabric_parameters *p = &fabric->parameters;
	const uint64_t gap = p->xoff - p->xon;
	const uint64_t xoff = sim_xoff(fabric, port);

	return xoff > gap ? xoff - gap : 0;
}

uint64_t sim_shared_peak(const struct sim_fabric *fabric)
{
	uint64_t peak = 0;

	for (uint32_t i = 0; fabric->shared != NULL && i < fabric->n_switches; i++)
		if (fabric->shared[i].peak > peak)
			peak = fabric->shared[i].peak;
	return peak;
}
