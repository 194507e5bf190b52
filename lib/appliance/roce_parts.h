// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE endpoints of an appliance's ports. Internal to lib/appliance.
#pragma once

#include "appliance/appliance.h"
#include "tx/block_packets.h"

// Nothing where segments do not come by RoCE. Returns 0, or -1 with one line in
// error[APPLIANCE_ERROR_SIZE].
int roce_parts_make(struct appliance *appliance, char *error);
// The source role of a generator that sends by RoCE. NULL with one line in error.
struct role *roce_make_source(struct appliance *appliance, const struct plan_role *plan,
			      const uint8_t destination_mac[6], char *error);
// Makes the RoCE handler of the rx roles of a port; returns their number, 0 or 1.
unsigned roce_make_handler(struct appliance *appliance, unsigned port, struct rx_handler *handler);
// Where the slots of the builders lie for RDMA; NULL where that is not asked for: no RoCE, or no
// system of nodes.
const struct placement *roce_placements(const struct appliance *appliance);
void roce_ports_free(struct appliance *appliance); // before the ports are closed
void roce_pools_free(struct appliance *appliance); // after
