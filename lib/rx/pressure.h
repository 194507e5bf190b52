// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How full the resources behind a port are: links, slots of the builders and receive buffers. The
// rx role that owns the port's flow control reports it there. The role's lcore, after make.
#pragma once

#include "evring/evring.h"
#include "pipeline/link.h"
#include "port/flow_control.h"

struct rx_pressure {
	struct flow_control *flow_control;
	uint8_t priority; // of the data
	struct link *const *links;
	const struct evring *const *rings;
	unsigned n_builders;
	bool events_are_granted; // slots reserved for granted events do not count as used
	const struct rte_mempool *pool;
	uint32_t pool_base; // buffers that are in use without traffic, because the device has them
	uint64_t link_scale, pool_scale; // pause_share_scale()
	uint64_t slot_scales[EVB_MAX_BUILDERS];
};

// Computes scales and base from the other members, which the caller set. Control thread, before
// traffic.
void rx_pressure_make(struct rx_pressure *pressure);

void rx_pressure_observe(const struct rx_pressure *pressure, struct pause_occupancy *occupancy);
