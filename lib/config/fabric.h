// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The section `fabric` of a configuration: the network that `evb sim` simulates, and what it sends
// over it. Other commands ignore the section. Units as in config.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "sim/fabric.h"
#include "sim_traffic/traffic.h"

#define CONFIG_MAX_FAULTS 32
#define CONFIG_MAX_ROOTS  64

enum config_topology {
	CONFIG_TOPOLOGY_SWITCH,
	CONFIG_TOPOLOGY_CLOS,
	CONFIG_TOPOLOGY_TORUS,
	CONFIG_TOPOLOGY_GRAPH, // of a file, fabric_files/graph.h
};

// Where the hosts are, by their numbers.
enum config_host_order { CONFIG_HOSTS_IN_ORDER, CONFIG_HOSTS_SHUFFLED };

enum config_fault_kind {
	CONFIG_FAULT_SILENT,          // the link of a host loses everything
	CONFIG_FAULT_LINK,            // a link has another rate
	CONFIG_FAULT_HOST_PAUSE,      // a host pauses its switch by PFC
	CONFIG_FAULT_SWITCH_PAUSE,    // the end of a link that is a switch pauses the other one
	CONFIG_FAULT_BUILDER_PAUSE,   // the builders of a node stop
	CONFIG_FAULT_SLOW_CONSUMER,   // the consumers of a node need another time
	CONFIG_FAULT_MANAGER_RESTART, // the process of the event manager ends, and restarts
};

// A part of the network or of the system that fails for some time.
struct config_fault {
	enum config_fault_kind kind;
	char node[EVB_NAME_SIZE]; // empty: `host` or `link` is given
	uint32_t host;            // of a node: its number
	uint32_t link;            // number in the results
	bool has_host, has_link;
	uint64_t begin_ns;
	uint64_t length_ns;        // 0: until the end
	uint64_t period_ns;        // from begin to begin; 0: once
	uint64_t rate;             // bits/s of a link; 0: it is down
	uint64_t consumer_time_ns; // of a slow consumer
};

struct config_fabric {
	enum config_topology topology;
	uint32_t hosts; // 0: one per node of the system, else as many as there is room for
	uint32_t arity; // hosts per switch, of a Clos network per leaf
	uint32_t levels;
	double oversubscription;
	uint32_t columns, rows, planes;              // of a torus
	char graph[EVB_PATH_SIZE];                   // relative to the folder of the file
	char roots[CONFIG_MAX_ROOTS][EVB_NAME_SIZE]; // switches of the graph, for paths up and down
	unsigned n_roots;                            // 0: found by the hosts
	char routes[EVB_PATH_SIZE];                  // as `graph`, of routes; empty: by `paths`
	enum config_host_order host_order;
	uint64_t link_rate;
	uint64_t link_delay_ns;
	enum sim_paths paths;
	enum sim_choice routing;
	enum sim_switch_kind switch_kind;
	enum sim_forwarding forwarding;
	uint64_t switch_delay_ns;
	uint64_t host_delay_ns;
	enum sim_law_kind host_delay_law;
	char host_delay_times[EVB_PATH_SIZE]; // as `graph`, of a histogram
	enum sim_flow_control flow_control;
	uint64_t buffer; // without flow control: of a queue; credits, retry: of an input port
	uint64_t retry_time_ns;
	uint64_t shared_buffer; // of a switch; 0: none
	double alpha;           // of its dynamic thresholds
	double loss;            // probability per frame and link
	enum sim_arbitration arbitration;
	uint32_t data_weight, control_weight; // with arbitration weighted
	uint64_t burst; // bytes that a port of a switch may be ahead of its rate
	struct config_fabric_pfc {
		uint64_t xoff, xon, headroom;
	} pfc;
	struct config_fabric_ecn {
		uint64_t low, high; // bytes of a queue; high 0: nothing is marked
		double share;
		uint64_t cnp_interval_ns;
	} ecn;
	struct config_fabric_costs {
		uint64_t receive_ns, send_ns; // per packet of data
		uint64_t control_ns;          // per control message
	} host_costs;
	uint32_t frame;    // bytes of the largest frame
	uint32_t overhead; // bytes on the wire beside each frame
	uint64_t duration_ns;
	uint64_t warm_up_ns; // of the duration; not in the results
	uint64_t seed;
	struct config_fault faults[CONFIG_MAX_FAULTS];
	unsigned n_faults;
	struct sim_traffic_settings traffic;
};
