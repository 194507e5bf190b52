// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "system/event_rate.h"

#include <math.h>

#include "wire/mep.h"
#include "wire/wire.h"

// What grants to all builders allow.
static double granted(const struct event_rate_parameters *p, const struct on_wire *wire)
{
	const struct cluster_system *system = p->wire.system;
	uint64_t event =
	    mep_header_size(wire->n_sources, MEP_DEFAULT_ALIGN) + wire->n_sources * p->block;
	double rate = 0;

	for (unsigned i = 0; i < system->n_builders; i++) {
		const struct cluster_link link = cluster_link_of(system, i);
		unsigned node = system->builders[i].node;
		uint64_t bytes = on_wire_bytes(wire, event, system->nodes[node].n_sources);

		if (link.rate == 0 || bytes == 0)
			return INFINITY;
		if (i == link.first_builder)
			rate += (double)link.rate / 8 * p->target * p->sending / (double)bytes;
	}
	return rate;
}

// What a node can send.
static double sendable(const struct event_rate_parameters *p, const struct on_wire *wire,
		       const struct cluster_system_node *node)
{
	const struct cluster_system *system = p->wire.system;
	uint64_t segments = (p->block + wire->payload - 1) / wire->payload;
	double block = (double)(p->block + segments * wire->overhead);
	double remote = 1 - (double)node->n_builders / (double)system->n_builders;
	double link = node->link_rate > 0 ? (double)node->link_rate : INFINITY;

	for (unsigned i = 0; i < system->n_builders; i++) {
		double builders = (double)cluster_link_of(system, i).rate * (1 + p->target) / 2;

		if (&system->nodes[system->builders[i].node] != node && builders > 0)
			link = fmin(link, builders);
	}
	return node->n_sources == 0 || remote <= 0 ? INFINITY
						   : link / 8 / (node->n_sources * block * remote);
}

double event_rate(const struct event_rate_parameters *parameters)
{
	const struct cluster_system *system = parameters->wire.system;
	struct on_wire wire;
	double rate;

	on_wire_make(&wire, &parameters->wire);
	rate = granted(parameters, &wire);
	for (unsigned i = 0; i < system->n_nodes; i++)
		rate = fmin(rate, sendable(parameters, &wire, &system->nodes[i]));
	return rate;
}
