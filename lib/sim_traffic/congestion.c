// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_traffic/congestion.h"

#include <stdlib.h>

#include "base/random.h"
#include "pacing/dcqcn.h"
#include "sim/engine.h"

#define FIRST_PLACES  256u
#define NS_PER_SECOND UINT64_C(1000000000)

struct flow {
	uint64_t key; // 0: no flow
	uint64_t notifies_at;
	uint64_t ready_at;
	struct dcqcn_flow rate;
};

// A hash table with linear probing, at most half full.
struct congestion {
	struct dcqcn dcqcn;
	uint64_t interval;
	struct flow *flows;
	uint32_t mask, n;
};

static uint64_t key_of(uint32_t from, uint32_t to)
{
	return ((uint64_t)from << 32 | to) + 1;
}

// The flow, or the free place for it.
static struct flow *place_of(struct flow *flows, uint32_t mask, uint64_t key)
{
	uint32_t i = (uint32_t)random_mix(key) & mask;

	while (flows[i].key != 0 && flows[i].key != key)
		i = (i + 1) & mask;
	return &flows[i];
}

// NULL: it has never been marked.
static struct flow *find(struct congestion *congestion, uint32_t from, uint32_t to)
{
	struct flow *flow = place_of(congestion->flows, congestion->mask, key_of(from, to));

	return flow->key != 0 ? flow : NULL;
}

static bool grow(struct congestion *congestion)
{
	const uint32_t size = 2 * (congestion->mask + 1);
	struct flow *flows = calloc(size, sizeof(*flows));

	if (flows == NULL)
		return false;
	for (uint32_t i = 0; i <= congestion->mask; i++)
		if (congestion->flows[i].key != 0)
			*place_of(flows, size - 1, congestion->flows[i].key) = congestion->flows[i];
	free(congestion->flows);
	congestion->flows = flows;
	congestion->mask = size - 1;
	return true;
}

struct congestion *congestion_create(const struct congestion_parameters *parameters)
{
	struct congestion *congestion = calloc(1, sizeof(*congestion));
	const char *why;

	if (congestion == NULL)
		return NULL;
	congestion->interval = parameters->interval;
	congestion->mask = FIRST_PLACES - 1;
	congestion->flows = calloc(FIRST_PLACES, sizeof(*congestion->flows));
	if (congestion->flows == NULL || dcqcn_init(&congestion->dcqcn, &dcqcn_defaults,
						    parameters->line_rate, NS_PER_SECOND, &why)) {
		congestion_destroy(congestion);
		return NULL;
	}
	return congestion;
}

void congestion_destroy(struct congestion *congestion)
{
	if (congestion == NULL)
		return;
	free(congestion->flows);
	free(congestion);
}

// Without memory for it, a flow goes on without reaction: the caller cannot do better.
bool congestion_marked(struct congestion *congestion, uint32_t from, uint32_t to, uint64_t now)
{
	struct flow *flow;

	if (2 * congestion->n > congestion->mask && !grow(congestion))
		return false;
	flow = place_of(congestion->flows, congestion->mask, key_of(from, to));
	if (flow->key == 0) {
		flow->key = key_of(from, to);
		dcqcn_flow_init(&congestion->dcqcn, &flow->rate);
		congestion->n++;
	}
	if (now < flow->notifies_at)
		return false;
	flow->notifies_at = now + congestion->interval;
	return true;
}

void congestion_notified(struct congestion *congestion, uint32_t from, uint32_t to, uint64_t now)
{
	struct flow *flow = find(congestion, from, to);

	if (flow != NULL)
		dcqcn_cnp(&congestion->dcqcn, &flow->rate, now / SIM_NANOSECOND);
}

uint64_t congestion_ready_at(struct congestion *congestion, uint32_t from, uint32_t to)
{
	const struct flow *flow = find(congestion, from, to);

	return flow != NULL ? flow->ready_at : 0;
}

void congestion_sent(struct congestion *congestion, uint32_t from, uint32_t to, uint32_t bytes,
		     uint64_t now)
{
	struct flow *flow = find(congestion, from, to);

	if (flow == NULL)
		return;
	dcqcn_sent(&congestion->dcqcn, &flow->rate, bytes, now / SIM_NANOSECOND);
	if (flow->ready_at < now)
		flow->ready_at = now;
	if (flow->rate.limited)
		flow->ready_at +=
		    (uint64_t)((unsigned __int128)bytes * SIM_SECOND / flow->rate.rate);
}
