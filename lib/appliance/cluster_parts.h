// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts that only a node of a cluster has: the control role, the readouts, and their links and
// mailboxes. Also the flow control of the ports. Internal to lib/appliance.
#pragma once

#include "appliance/appliance.h"
#include "tx/block_packets.h"

// Whether an event manager grants the events of this configuration.
bool cluster_grants(const struct config *config);

// Opens the flow control of the ports that have it configured. Returns 0, or -1 with one line in
// error[APPLIANCE_ERROR_SIZE]. _stop() is called before the ports are closed, _close() after that.
int flow_controls_open(struct appliance *appliance, char *error);
void flow_controls_stop(struct appliance *appliance);
void flow_controls_close(struct appliance *appliance);
// The flow control of a port; NULL if it has none.
struct flow_control *appliance_flow_control(struct appliance *appliance, unsigned port);

// Makes the pools, links and mailboxes of a node. Does nothing where there is no cluster. Returns
// as flow_controls_open().
int cluster_parts_make(struct appliance *appliance, char *error);
void cluster_parts_free(struct appliance *appliance);

// The parameters of the packets that a generator sends. Only for appliances outside a cluster: a
// node of a cluster sends to the addresses and UDP ports of the system's builders.
struct block_packets_parameters generator_packets(const struct appliance *appliance,
						  const struct plan_role *plan);

struct role *cluster_make_control(struct appliance *appliance, const struct plan_role *plan,
				  char *error);
struct role *cluster_make_readout(struct appliance *appliance, const struct plan_role *plan,
				  struct link **links);

// The appliance's control role; NULL where there is no cluster.
struct role *appliance_control(const struct appliance *appliance);
