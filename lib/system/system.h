// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The nodes and builders of a system. Every node has the same description, except for `self`. It is
// read from the configuration and does not change while the program runs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define CLUSTER_NONE 0xFFFFu

struct cluster_system_node {
	char name[EVB_NAME_SIZE];
	bool manager;
	unsigned port;    // index of the node's first port that has an address
	uint32_t address; // IPv4 address of that port, host byte order
	uint8_t prefix_length;
	bool has_mac;
	uint8_t mac[6];         // of that port; valid if has_mac, else found by ARP
	uint64_t link_rate;     // of that port, bit/s; 0: unknown
	bool reports_link_rate; // the node reports it when it registers
	uint32_t mtu;           // of that port, bytes
	bool tagged;            // frames of that port have a VLAN tag
	uint64_t memif;         // of that port: hash of its socket's path; 0: it is no memif
	bool is_memif_client;   // of this socket; else its server
	bool sends_built;       // its generator sends the built events of another appliance
	bool numbers_built;     // of these, new ids are given to events
	bool load_balancer;     // its generators send the EJFAT load balancer header
	unsigned first_builder; // index of its first builder in cluster_system.builders
	unsigned n_builders;    // 0: a readout node, or only the manager
	unsigned first_source;  // index of its first source in cluster_system.source_ids
	unsigned n_sources;     // 0: a builder node, or only the manager
};

// A builder. Its index in cluster_system.builders is its system-wide number: builders are ordered
// by node, then by their index in the node.
struct cluster_system_builder {
	char name[EVB_NAME_SIZE];
	unsigned node;
	unsigned index; // of the builder in its node
	uint32_t slots;
	uint64_t slot_size; // bytes
	uint32_t group;     // congestion group; with "auto" each builder has its own
	uint16_t weight;
};

// The link of a builder's port, and the builders that share it: all those of its node.
struct cluster_link {
	uint64_t rate;          // bit/s; 0: unknown
	bool is_reported;       // the node reports it when it registers
	unsigned first_builder; // index in cluster_system.builders
	unsigned n_builders;
};

// Results of the whole system: the decisions of all nodes with builders come to one node.
struct cluster_system_results {
	char name[EVB_NAME_SIZE];
	char group[EVB_NAME_SIZE]; // that decides, on each node with builders
	unsigned node;             // that writes them
	uint32_t window;           // events, a power of two
	uint32_t origin_packing;   // see struct config_results
	bool is_from_ring;         // decisions of another system: nodes send none
};

struct cluster_system {
	unsigned n_nodes;    // 0: the appliance is not a node of a system
	unsigned self;       // number of this node
	unsigned manager;    // node number of the event manager, or the first that can be it
	unsigned n_managers; // nodes that can manage; 0 or 1: `manager` always does
	uint64_t hash;       // of the settings that must be equal on all nodes
	// The arrays are allocated with the configuration; descriptions that differ in `self` alone
	// may share them.
	struct cluster_system_node *nodes;       // [n_nodes]
	struct cluster_system_builder *builders; // [n_builders]
	unsigned n_builders;
	uint16_t *source_ids; // [n_sources], ordered by node, then ascending
	// The readout nodes have one source, the same, and the data of an event comes from one of
	// them. It is in source_ids once for each of them.
	bool shares_source;
	unsigned n_sources; // 0: no node has a generator; else each expected source has a generator
	struct cluster_system_results results[EVB_MAX_RESULTS];
	unsigned n_results;
};

// Whether the nodes elect the event manager (election/election.h).
static inline bool cluster_elects(const struct cluster_system *system)
{
	return system->n_managers > 1;
}

static inline struct cluster_link cluster_link_of(const struct cluster_system *system,
						  unsigned builder)
{
	const struct cluster_system_node *node = &system->nodes[system->builders[builder].node];

	return (struct cluster_link){
		.rate = node->link_rate,
		.is_reported = node->reports_link_rate,
		.first_builder = node->first_builder,
		.n_builders = node->n_builders,
	};
}

// The readout nodes (nodes with generators). The rank of a readout node is its position among them
// in the order of node numbers; it is also its position in the order of sending.
struct cluster_readouts {
	uint16_t *of_node; // [n_nodes of the system]: rank, or CLUSTER_NONE
	uint16_t *nodes;   // [n]: node number of each rank
	unsigned n;
};

// False if memory ran out.
bool cluster_readouts_make(struct cluster_readouts *readouts, const struct cluster_system *system);
void cluster_readouts_free(struct cluster_readouts *readouts);

// The number of readout nodes with a number below `node`: the rank of `node`, if it is one.
static inline unsigned cluster_readouts_below(const struct cluster_system *system, unsigned node)
{
	unsigned n = 0;

	for (unsigned i = 0; i < node; i++)
		n += system->nodes[i].n_sources > 0;
	return n;
}

// The position in each round of every builder, by its system-wide number: the number of nodes with
// builders before its node. `positions` has EVB_MAX_SYSTEM_BUILDERS entries.
static inline void cluster_positions_make(uint16_t *positions, const struct cluster_system *system)
{
	for (unsigned i = 0, n = 0; i < system->n_builders; i++) {
		n += i > 0 && system->builders[i].node != system->builders[i - 1].node;
		positions[i] = (uint16_t)n;
	}
}

// The positions of a timed shift: the links of the builders, in their order.
struct cluster_shift {
	uint32_t n_positions;
	bool is_folded; // each node with builders has sources, too, and the reverse
	double share;   // of the phases in which some node sends over a link
};

static inline struct cluster_shift cluster_shift_of(const struct cluster_system *system)
{
	const unsigned n_senders = cluster_readouts_below(system, system->n_nodes);
	struct cluster_shift shift = { .is_folded = true, .share = 1 };
	unsigned n_links = 0;

	for (unsigned i = 0; i < system->n_nodes; i++) {
		const struct cluster_system_node *node = &system->nodes[i];

		n_links += node->n_builders > 0;
		shift.is_folded &= (node->n_builders > 0) == (node->n_sources > 0);
	}
	shift.n_positions = n_links > n_senders ? n_links : n_senders;
	if (!shift.is_folded && n_senders > 0)
		shift.share = (double)n_senders / shift.n_positions;
	return shift;
}
