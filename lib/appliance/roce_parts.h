// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE endpoints of an appliance's ports. Internal to lib/appliance.
#pragma once

#include "appliance/appliance.h"
#include "tx/block_packets.h"

// Makes the RoCE endpoints. Does nothing with other transports than RoCE. Returns 0, or -1 with one
// line in error[APPLIANCE_ERROR_SIZE].
int roce_parts_make(struct appliance *appliance, char *error);
// Creates the source role of a generator that sends by RoCE. NULL with one line in error.
struct role *roce_make_source(struct appliance *appliance, const struct plan_role *plan,
			      const uint8_t destination_mac[6], char *error);
// Makes the RoCE handler of the rx roles of a port; returns their number, 0 or 1.
unsigned roce_make_handler(struct appliance *appliance, unsigned port, struct rx_handler *handler);
// The RDMA addresses and keys of the builders' slots, by builder. NULL without RoCE or without a
// system of nodes, where no peer needs them.
const struct placement *roce_placements(const struct appliance *appliance);
void roce_ports_free(struct appliance *appliance); // to be called before the ports are closed
void roce_pools_free(struct appliance *appliance); // to be called after the ports are closed
