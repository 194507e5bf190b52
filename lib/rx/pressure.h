// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How full the resources behind a port are: links, slots of the builders and receive buffers. The
// rx role that owns the port's flow control reports it there. The role's lcore, after make.
#pragma once

#include "rx/rx_role.h"

struct rx_pressure {
	const struct rx_parameters *parameters;
	uint32_t pool_base; // buffers that are in use without traffic, because the device has them
	uint64_t link_scale, pool_scale; // pause_share_scale()
	uint64_t slot_scales[EVB_MAX_BUILDERS];
};

// `parameters` outlive it. Control thread, before traffic.
void rx_pressure_make(struct rx_pressure *pressure, const struct rx_parameters *parameters);

void rx_pressure_observe(const struct rx_pressure *pressure, struct pause_occupancy *occupancy);
