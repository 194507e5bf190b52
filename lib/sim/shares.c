// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Weighted arbitration: the priority goes next whose packets would have begun first if each had its
// share of the link alone (start-time fair queueing, Goyal, Vin, Cheng 1996). A packet
// that was sent is counted when the next one is chosen.
#include "sim/fabric_internal.h"

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

void sim_share_count(struct sim_fabric *fabric, uint32_t number)
{
	struct sim_sending *sent = &fabric->ports[number].sending;
	struct sim_share *share = &fabric->shares[number];
	uint64_t *end = &share->ends[sent->priority];

	if (sent->bytes == 0)
		return;
	share->now = later(share->now, *end);
	*end = share->now + (sent->bytes + fabric->parameters.overhead) * SIM_SHARE_UNIT /
				fabric->parameters.weights[sent->priority];
	sent->bytes = 0;
}

unsigned sim_share_next(struct sim_fabric *fabric, uint32_t number, unsigned bitmap)
{
	const struct sim_share *share = &fabric->shares[number];
	uint64_t least = UINT64_MAX;
	unsigned best = 0;

	sim_share_count(fabric, number);
	for (unsigned i = fabric->parameters.n_priorities; i-- > 0;) {
		const uint64_t begin = later(share->now, share->ends[i]);

		if ((bitmap >> i & 1) == 0 || begin >= least)
			continue;
		least = begin;
		best = i;
	}
	return best;
}
