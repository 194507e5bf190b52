// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What an appliance has beside the rest when it is a node of a cluster: the control role, readouts,
// their links and mailboxes; and the flow control of its ports. Internal to lib/appliance.
#pragma once

#include "appliance/appliance.h"
#include "tx/block_packets.h"

// Whether an event manager grants the events of this configuration.
bool cluster_grants(const struct config *config);

// Flow control of the ports that have some configured. Returns 0, or -1 with one line in
// error[APPLIANCE_ERROR_SIZE].
int flow_controls_open(struct appliance *appliance, char *error);
void flow_controls_stop(struct appliance *appliance);  // before the ports are closed
void flow_controls_close(struct appliance *appliance); // after
// Of a port; NULL if it has none.
struct flow_control *appliance_flow_control(struct appliance *appliance, unsigned port);

// Pools, links and mailboxes of a node; nothing where there is no cluster. As above.
int cluster_parts_make(struct appliance *appliance, char *error);
void cluster_parts_free(struct appliance *appliance);

// The packets of a generator; outside systems of nodes, which have their own addresses and ports.
struct block_packets_parameters generator_packets(const struct appliance *appliance,
						  const struct plan_role *plan);

struct role *cluster_make_control(struct appliance *appliance, const struct plan_role *plan,
				  char *error);
struct role *cluster_make_readout(struct appliance *appliance, const struct plan_role *plan,
				  struct link **links);

// The control role; NULL where there is no cluster.
struct role *appliance_control(const struct appliance *appliance);
