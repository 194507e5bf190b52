// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The nodes and builders of a system, as every node of it knows them. The configuration is read
// into these structs; nothing changes them while the program runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

struct cluster_system_node {
	char name[EVB_NAME_SIZE];
	bool manager;
	unsigned port;    // index of the node's first port that has an address
	uint32_t address; // IPv4 of that port, host order
	uint8_t prefix_length;
	bool has_mac;
	uint8_t mac[6];         // of that port; without it ARP finds it
	uint64_t link_rate;     // of that port, bit/s, 0: unknown
	uint32_t mtu;           // of that port
	bool tagged;            // frames of that port have a VLAN tag
	bool load_balancer;     // its generators send that header
	unsigned first_builder; // its builders, in cluster_system.builders
	unsigned n_builders;    // 0: a readout node, or only the manager
	unsigned first_source;  // the sources of its generators, in cluster_system.source_ids
	unsigned n_sources;     // 0: a builder node, or only the manager
};

// A builder by its number in the system: in the order of nodes, then of the node's builders.
struct cluster_system_builder {
	char name[EVB_NAME_SIZE];
	unsigned node;
	unsigned index; // among the node's
	uint32_t slots;
	uint64_t slot_size; // bytes
	uint32_t group;     // congestion group; "auto" in the file gives each its own number
	uint16_t weight;
};

struct cluster_system {
	unsigned n_nodes; // 0: the appliance is not a node of a system
	unsigned self;
	unsigned manager;
	uint64_t hash; // of all that the nodes must agree on
	struct cluster_system_node nodes[EVB_MAX_NODES];
	struct cluster_system_builder builders[EVB_MAX_SYSTEM_BUILDERS];
	unsigned n_builders;
	uint16_t source_ids[EVB_MAX_SOURCES]; // in the order of nodes; ascending in each
	unsigned n_sources; // 0: no node has a generator; else each expected source has one
};
