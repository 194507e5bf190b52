// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The section `fabric` of a configuration: the network that `evb sim` simulates, and what it sends
// over it. Other commands ignore the section. Units as in config.h.
#pragma once

#include <stdint.h>

#include "sim/fabric.h"
#include "sim/traffic.h"

#define CONFIG_MAX_PAUSES     16
#define CONFIG_MAX_SLOW_LINKS 16

enum config_topology { CONFIG_TOPOLOGY_SWITCH, CONFIG_TOPOLOGY_CLOS, CONFIG_TOPOLOGY_TORUS };

// Where the hosts are, by their numbers.
enum config_host_order { CONFIG_HOSTS_IN_ORDER, CONFIG_HOSTS_SHUFFLED };

// A host that pauses its switch by PFC.
struct config_fabric_pause {
	uint32_t host;
	uint64_t begin_ns;
	uint64_t length_ns; // 0: until the end
	uint64_t period_ns; // from begin to begin; 0: once
};

// A link that has another rate for some time.
struct config_fabric_slow_link {
	uint32_t link; // number in the results
	uint64_t begin_ns;
	uint64_t length_ns; // 0: until the end
	uint64_t rate;      // bits/s; 0: the link is down
};

struct config_fabric {
	enum config_topology topology;
	uint32_t hosts; // 0: one per node of the system, else as many as there is room for
	uint32_t arity; // hosts per switch, of a Clos network per leaf
	uint32_t levels;
	double oversubscription;
	uint32_t columns, rows, planes; // of a torus
	enum config_host_order host_order;
	uint64_t link_rate;
	uint64_t link_delay_ns;
	enum sim_paths paths;
	enum sim_choice routing;
	enum sim_switch_kind switch_kind;
	enum sim_forwarding forwarding;
	uint64_t switch_delay_ns;
	uint64_t host_delay_ns;
	enum sim_flow_control flow_control;
	uint64_t buffer; // without flow control: of a queue; credits: of an input port
	struct config_fabric_pfc {
		uint64_t xoff, xon, headroom;
	} pfc;
	uint32_t frame;    // bytes of the largest frame
	uint32_t overhead; // bytes on the wire beside each frame
	uint64_t duration_ns;
	uint64_t warm_up_ns; // of the duration; not in the results
	uint64_t seed;
	struct config_fabric_pause pauses[CONFIG_MAX_PAUSES];
	unsigned n_pauses;
	struct config_fabric_slow_link slow_links[CONFIG_MAX_SLOW_LINKS];
	unsigned n_slow_links;
	struct sim_traffic_settings traffic;
};
