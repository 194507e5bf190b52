// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The network: a heap of what is on its way, the earliest first.
#include "farm.h"

#include <stdlib.h>
#include <string.h>

#define SHARED_LOSS 0.1 // of a shared frame, on the way to each node

static bool is_before(const struct farm_datagram *a, const struct farm_datagram *b)
{
	return a->arrival != b->arrival ? a->arrival < b->arrival : a->number < b->number;
}

static void swap(struct farm *farm, size_t i, size_t j)
{
	struct farm_datagram *at = farm->heap[i];

	farm->heap[i] = farm->heap[j];
	farm->heap[j] = at;
}

static void put(struct farm *farm, struct farm_datagram *datagram)
{
	size_t at = farm->n_heap++;

	if (farm->n_heap > farm->heap_size) {
		farm->heap_size = 2 * farm->heap_size + 64;
		farm->heap = realloc(farm->heap, farm->heap_size * sizeof(*farm->heap));
		assert_non_null(farm->heap);
	}
	datagram->number = farm->n_datagrams++;
	farm->heap[at] = datagram;
	while (at > 0 && is_before(farm->heap[at], farm->heap[(at - 1) / 2])) {
		swap(farm, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static struct farm_datagram *take(struct farm *farm)
{
	struct farm_datagram *first = farm->heap[0];
	size_t at = 0;

	farm->heap[0] = farm->heap[--farm->n_heap];
	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < farm->n_heap && is_before(farm->heap[child], farm->heap[least]))
				least = child;
		if (least == at)
			return first;
		swap(farm, at, least);
		at = least;
	}
}

static struct farm_datagram *make(struct farm *farm, unsigned from, unsigned to, size_t size)
{
	uint64_t most = farm->options.delay_max > 0 ? farm->options.delay_max : MS;
	struct farm_datagram *datagram = malloc(sizeof(*datagram) + size);

	assert_non_null(datagram);
	*datagram = (struct farm_datagram){
		.arrival = farm->now + 20 * US + farm_below(farm, most),
		.from = from,
		.to = to,
		.size = size,
	};
	return datagram;
}

static void transmit(const struct farm_node *node, unsigned peer, const uint8_t *bytes, size_t size,
		     double loss)
{
	struct farm *farm = node->farm;

	for (unsigned i = 0; i < 2; i++) {
		struct farm_datagram *datagram;

		if (i == 1 && !farm_chance(farm, farm->options.duplicate))
			break;
		if (farm->cut[node->number][peer] || farm_chance(farm, loss))
			continue;
		datagram = make(farm, node->number, peer, size);
		memcpy(datagram->bytes, bytes, size);
		put(farm, datagram);
	}
}

bool network_emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	const struct farm_node *node = context;

	transmit(node, peer, bytes, size, node->farm->options.loss);
	return true;
}

bool network_emit_shared(void *context, const uint8_t *bytes, size_t size)
{
	const struct farm_node *node = context;

	node->farm->n_shared++;
	for (unsigned i = 0; i < node->farm->n_nodes; i++)
		if (i != node->number)
			transmit(node, i, bytes, size, SHARED_LOSS);
	return true;
}

bool network_store_will(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct farm_node *node = context;
	struct farm_will *will = &node->wills[peer];

	assert_true(size <= sizeof(will->bytes));
	memcpy(will->bytes, bytes, size);
	will->size = size;
	return true;
}

void network_send_wills(const struct farm_node *node)
{
	for (unsigned i = 0; i < node->farm->n_nodes; i++)
		if (node->wills[i].size > 0)
			transmit(node, i, node->wills[i].bytes, node->wills[i].size,
				 node->farm->options.loss);
}

// Data is lost only where a node is cut off.
void network_data(struct farm *farm, unsigned from, unsigned builder, unsigned source,
		  uint64_t event)
{
	unsigned to = farm_builder(farm, builder)->node;
	struct farm_datagram *datagram;

	if (farm->cut[from][to])
		return;
	datagram = make(farm, from, to, 0);
	if (farm_chance(farm, farm->options.straggle))
		datagram->arrival += farm_below(farm, 65 * MS);
	datagram->data = true;
	datagram->run = farm->nodes[from].prepared_run;
	datagram->event = event;
	datagram->builder = builder;
	datagram->source = source;
	put(farm, datagram);
}

// Data does not say of which run it is. What arrives between two runs is dropped.
static bool is_accepted(struct farm_node *node, const struct farm_datagram *datagram)
{
	struct farm *farm = node->farm;

	if (farm->options.runs == 0)
		return true;
	if (!cluster_node_accepts_data(node->node)) {
		farm->n_outside++;
		return false;
	}
	if (datagram->run != node->prepared_run)
		farm_broken(farm, "data of run %u reaches run %u", datagram->run,
			    node->prepared_run);
	return true;
}

static void receive(struct farm_node *node, const struct farm_datagram *datagram)
{
	farm_begin(node);
	(void)control_receive(node->endpoint, datagram->bytes, datagram->size, node->farm->now);
}

void network_bring(struct farm *farm)
{
	while (farm->n_heap > 0 && farm->heap[0]->arrival <= farm->now) {
		struct farm_datagram *datagram = take(farm);
		struct farm_node *node = &farm->nodes[datagram->to];

		if (node->alive && node->asleep_until > farm->now) {
			datagram->arrival = node->asleep_until;
			put(farm, datagram);
			continue;
		}
		if (node->alive && datagram->data && is_accepted(node, datagram))
			sim_builder_data(node, farm_builder(farm, datagram->builder)->index,
					 datagram->source, datagram->event);
		else if (node->alive && !datagram->data)
			receive(node, datagram);
		free(datagram);
	}
}

uint64_t network_next(const struct farm *farm)
{
	return farm->n_heap > 0 ? farm->heap[0]->arrival : UINT64_MAX;
}

void network_close(struct farm *farm)
{
	while (farm->n_heap > 0)
		free(farm->heap[--farm->n_heap]);
	free(farm->heap);
}
