// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The MAC addresses of the nodes of a cluster, from ARP or from the configuration.
// Threads: the control role writes; readouts read.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct neighbours {
	_Atomic uint64_t *macs; // [n_nodes]; 0: not known
};

// False if memory ran out.
static inline bool neighbours_make(struct neighbours *neighbours, unsigned n_nodes)
{
	neighbours->macs = calloc(n_nodes, sizeof(*neighbours->macs));
	return neighbours->macs != NULL;
}

static inline void neighbours_free(struct neighbours *neighbours)
{
	free(neighbours->macs);
}

static inline void neighbours_set(struct neighbours *neighbours, unsigned node, const uint8_t *mac)
{
	uint64_t value = 1ULL << 63;

	memcpy(&value, mac, 6);
	atomic_store_explicit(&neighbours->macs[node], value, memory_order_relaxed);
}

// False if it is not known.
static inline bool neighbours_get(const struct neighbours *neighbours, unsigned node, uint8_t *mac)
{
	uint64_t value = atomic_load_explicit(&neighbours->macs[node], memory_order_relaxed);

	memcpy(mac, &value, 6);
	return value != 0;
}
