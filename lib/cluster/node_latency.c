// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The steps of an event whose two ends a node sees: announce -> grant, and released -> credit. One
// time is stored per event that is announced, and one per credit.
#include "cluster/node_internal.h"

#include <stdlib.h>

#define NOT_ANNOUNCED 0u // a time; `now` of the control role begins with 1

bool node_latency_make(struct cluster_node *node)
{
	struct node_latency *latency = &node->latency;
	size_t n =
	    node->n_readouts > 0 ? cluster_unfinished(node->parameters.cluster.source_buffer) : 1;

	latency->mask = n - 1;
	for (unsigned i = 0; i < node->n_builders; i++)
		latency->credits_size += node->builders[i].tokens.n;
	latency->announced = calloc(n, sizeof(*latency->announced));
	latency->offered = calloc(node->cluster->shares_source ? n : 1, sizeof(*latency->offered));
	latency->credits = calloc(latency->credits_size + 1, sizeof(*latency->credits));
	return latency->announced != NULL && latency->offered != NULL && latency->credits != NULL;
}

void node_latency_free(struct cluster_node *node)
{
	free(node->latency.announced);
	free(node->latency.offered);
	free(node->latency.credits);
}

// The first of the events from `begin` to before `end` whose times the ring has room for.
static uint64_t first_of(const struct node_latency *latency, uint64_t begin, uint64_t end)
{
	return end - begin > latency->mask ? end - latency->mask - 1 : begin;
}

void node_latency_announced(struct cluster_node *node, uint64_t begin, uint64_t end)
{
	struct node_latency *latency = &node->latency;
	uint64_t *times = node->cluster->shares_source ? latency->offered : latency->announced;

	if (begin >= end)
		return;
	for (uint64_t i = first_of(latency, begin, end); i < end; i++)
		times[i & latency->mask] = node->now;
}

void node_latency_assigned(struct cluster_node *node, uint64_t number, uint64_t begin, uint64_t end)
{
	struct node_latency *latency = &node->latency;

	if (begin >= end)
		return;
	for (uint64_t i = first_of(latency, begin, end); i < end; i++)
		latency->announced[i & latency->mask] =
		    latency->offered[(number + i - begin) & latency->mask];
}

void node_latency_ordered(struct cluster_node *node, uint64_t event)
{
	uint64_t *at = &node->latency.announced[event & node->latency.mask];

	if (*at == NOT_ANNOUNCED)
		return; // ordered before, or announced by an earlier process
	histogram_add(&node->latency.measured.grant, node->now - *at);
	*at = NOT_ANNOUNCED;
}

void node_latency_credited(struct cluster_node *node, const uint64_t *released, unsigned n)
{
	const struct control_endpoint *endpoint = node->parameters.transport.endpoint;
	struct node_latency *latency = &node->latency;
	uint32_t position;

	if (n == 0 || endpoint == NULL)
		return;
	position = control_queued(endpoint, node->manager);
	for (unsigned i = 0; i < n && latency->n_credits < latency->credits_size; i++) {
		unsigned at = latency->credits_head + latency->n_credits++;

		if (at >= latency->credits_size)
			at -= latency->credits_size;
		latency->credits[at] = (struct credit_sent){ released[i], position };
	}
}

void node_latency_poll(struct cluster_node *node)
{
	struct node_latency *latency = &node->latency;
	uint32_t position;
	uint64_t when;

	if (latency->n_credits == 0)
		return;
	position = control_acknowledged(node->parameters.transport.endpoint, node->manager, &when);
	while (latency->n_credits > 0) {
		const struct credit_sent *credit = &latency->credits[latency->credits_head];

		if ((int32_t)(position - credit->position) < 0)
			return;
		histogram_add(&latency->measured.credit,
			      when > credit->released ? when - credit->released : 0);
		if (++latency->credits_head == latency->credits_size)
			latency->credits_head = 0;
		latency->n_credits--;
	}
}

void node_latency_forget_credits(struct cluster_node *node)
{
	node->latency.n_credits = 0;
}
