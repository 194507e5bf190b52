// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event traffic of a configuration, as its ports and rx roles need to know it.
#pragma once

#include "config/config.h"
#include "port/settings.h"

// UDP destination ports of segments; count 0: segments do not come in UDP. In a node of a cluster
// each builder has one port.
struct port_udp_range traffic_segment_ports(const struct config *config);

// *traffic points into the configuration.
void traffic_make(struct port_traffic *traffic, const struct config *config);
