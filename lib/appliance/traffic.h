// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Derives the event traffic, which ports and rx roles must recognise, from the configuration.
#pragma once

#include "config/config.h"
#include "port/settings.h"

// The UDP destination ports of segments. count 0: segments are not sent over UDP. In a node of a
// cluster each builder has one UDP port.
struct port_udp_range traffic_segment_ports(const struct config *config);

// Fills *traffic, which points into the configuration.
void traffic_make(struct port_traffic *traffic, const struct config *config);
