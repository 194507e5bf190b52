// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The simulated network: its keys, and the rules between them. What a topology has room for is
// checked when it is made.
#include <string.h>

#include "config/internal.h"
#include "config/key_macros.h"
#include "wire/net.h"

// clang-format off

#define GIGABIT  1000000000ULL
#define FCS_SIZE 4u

static const struct config_key pfc_keys[] = {
	{ .name = "xoff", WHOLE(SIZE), RANGE(64, GIB), FIELD(config_fabric_pfc, xoff),
	  .standard = "96KiB",
	  .help = "Bytes of one port that pause it." },
	{ .name = "xon", WHOLE(SIZE), RANGE(0, GIB), FIELD(config_fabric_pfc, xon),
	  .standard = "64KiB",
	  .help = "Bytes at which the pause ends." },
	{ .name = "headroom", WHOLE(SIZE), RANGE(0, GIB), FIELD(config_fabric_pfc, headroom),
	  .standard = "64KiB",
	  .help = "Room above xoff; frames beyond it are lost." },
};
static OBJECT(pfc, pfc_keys);

static const struct config_key ecn_keys[] = {
	{ .name = "low", WHOLE(SIZE), RANGE(0, GIB), FIELD(config_fabric_ecn, low),
	  .standard = "5KB",
	  .help = "Queue from which on frames are marked." },
	{ .name = "high", WHOLE(SIZE), RANGE(0, GIB), FIELD(config_fabric_ecn, high),
	  .standard = "0",
	  .help = "From here on all; 0: no ECN." },
	{ .name = "share", .type = CONFIG_TYPE_REAL, RANGE(0, 1), FIELD(config_fabric_ecn, share),
	  .standard = "0.01",
	  .help = "Marked share just below high." },
	{ .name = "cnp_interval", WHOLE(TIME), RANGE(1, SECOND),
	  FIELD(config_fabric_ecn, cnp_interval_ns), .standard = "50us",
	  .help = "As in roce." },
};
static OBJECT(ecn, ecn_keys);

static const struct config_key cost_keys[] = {
	{ .name = "receive_packet", WHOLE(TIME), RANGE(0, SECOND),
	  FIELD(config_fabric_costs, receive_ns), .standard = "0",
	  .help = "Per packet of data that a node receives." },
	{ .name = "send_packet", WHOLE(TIME), RANGE(0, SECOND),
	  FIELD(config_fabric_costs, send_ns), .standard = "0",
	  .help = "Per packet of data that it sends." },
	{ .name = "control_message", WHOLE(TIME), RANGE(0, SECOND),
	  FIELD(config_fabric_costs, control_ns), .standard = "0",
	  .help = "Per control frame that it sends or receives." },
};
static OBJECT(costs, cost_keys);

static const struct config_key fault_keys[] = {
	{ .name = "kind",
	  WORDS("silent", "link", "host-pause", "switch-pause", "builder-pause", "slow-consumer",
		"manager-restart"),
	  FIELD(config_fault, kind), .required = true,
	  .help = "See simulation/faults.md." },
	{ .name = "node", NAME, FIELD(config_fault, node),
	  .help = "Node that it hits; or `host`, `link`." },
	{ .name = "host", WHOLE(COUNT), RANGE(0, SIM_MAX_HOSTS - 1), OPTIONAL(config_fault, host),
	  .help = "Number of the host." },
	{ .name = "link", WHOLE(COUNT), RANGE(0, UINT32_MAX), OPTIONAL(config_fault, link),
	  .help = "Number of the link, as in the results." },
	{ .name = "begin", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_fault, begin_ns),
	  .standard = "0",
	  .help = "Begin." },
	{ .name = "length", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_fault, length_ns),
	  .standard = "0",
	  .help = "0: until the end." },
	{ .name = "period", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_fault, period_ns),
	  .standard = "0",
	  .help = "Time from one begin to the next; 0: once." },
	{ .name = "rate", WHOLE(BIT_RATE), RANGE(0, 10000 * GIGABIT), FIELD(config_fault, rate),
	  .standard = "0",
	  .help = "Of the link; 0: down." },
	{ .name = "consumer_time", WHOLE(TIME), RANGE(0, HOUR),
	  FIELD(config_fault, consumer_time_ns), .standard = "0",
	  .help = "Per event." },
};
static OBJECT(fault_object, fault_keys);

static const struct config_key traffic_keys[] = {
	{ .name = "kind", WORDS("incast", "permutation", "uniform", "a2a", "daqpipe", "system"),
	  FIELD(sim_traffic_settings, kind), .standard = "uniform",
	  .help = "Traffic model; system: the nodes of this file." },
	{ .name = "consumer_time", WHOLE(TIME), RANGE(0, HOUR),
	  FIELD(sim_traffic_settings, consumer_time_ns), .standard = "0",
	  .help = "system: consumer's time per event." },
	{ .name = "consumer_law", WORDS("fixed", "exponential", "histogram"),
	  FIELD(sim_traffic_settings, consumer_law), .standard = "fixed",
	  .help = "system: its distribution." },
	{ .name = "consumer_times", TEXT_OR_EMPTY, FIELD(sim_traffic_settings, consumer_times),
	  .help = "histogram: file of times and weights, scaled to consumer_time if that is not 0." },
	{ .name = "message", WHOLE(SIZE), RANGE(1, GIB), FIELD(sim_traffic_settings, message),
	  .standard = "64KiB",
	  .help = "Size of a message or fragment." },
	{ .name = "load", .type = CONFIG_TYPE_REAL, RANGE(0, 100),
	  FIELD(sim_traffic_settings, load), .standard = "1",
	  .help = "Offered share of a link; not a2a, daqpipe." },
	{ .name = "senders", WHOLE(COUNT), RANGE(0, SIM_MAX_HOSTS - 1),
	  FIELD(sim_traffic_settings, senders), .standard = "0",
	  .help = "incast: number of senders; 0: all." },
	{ .name = "send_window", WHOLE(TIME), RANGE(MICROSECOND, 10 * SECOND),
	  FIELD(sim_traffic_settings, send_window_ns), .standard = "1ms",
	  .help = "a2a: sending time of a phase." },
	{ .name = "idle_window", WHOLE(TIME), RANGE(0, 10 * SECOND),
	  FIELD(sim_traffic_settings, idle_window_ns), .standard = "100us",
	  .help = "a2a: idle time behind it." },
	{ .name = "credits", WHOLE(COUNT), RANGE(1, SIM_TRAFFIC_MAX_CREDITS),
	  FIELD(sim_traffic_settings, credits), .standard = "16",
	  .help = "daqpipe: events in progress per builder." },
	{ .name = "parallel_sends", WHOLE(COUNT), RANGE(1, 65535),
	  FIELD(sim_traffic_settings, parallel_sends), .standard = "1",
	  .help = "daqpipe: fragments in flight per event (pull) or readout unit." },
	{ .name = "mode", WORDS("pull", "push"), FIELD(sim_traffic_settings, mode),
	  .standard = "pull",
	  .help = "daqpipe: builders request, or readout units send." },
	{ .name = "shift", WORDS("linear", "barrier", "random"),
	  FIELD(sim_traffic_settings, shift), .standard = "linear",
	  .help = "daqpipe: order of fragments; barrier: linear, step by step together." },
};
static OBJECT(traffic_object, traffic_keys);

static const struct config_key fabric_keys[] = {
	{ .name = "topology", WORDS("switch", "clos", "torus", "graph"),
	  FIELD(config_fabric, topology), .standard = "switch",
	  .help = "One switch, a folded Clos network, a torus, or the network of a file." },
	{ .name = "hosts", WHOLE(COUNT), RANGE(2, SIM_MAX_HOSTS), OR_AUTO(0),
	  FIELD(config_fabric, hosts), .standard = "auto",
	  .help = "auto: one per node; without nodes, as many as fit." },
	{ .name = "arity", WHOLE(COUNT), RANGE(1, SIM_MAX_RADIX / 2), FIELD(config_fabric, arity),
	  .standard = "16",
	  .help = "Hosts per switch or leaf." },
	{ .name = "levels", WHOLE(COUNT), RANGE(2, 3), FIELD(config_fabric, levels),
	  .standard = "2",
	  .help = "Levels of a Clos network." },
	{ .name = "oversubscription", .type = CONFIG_TYPE_REAL, RANGE(1, 64),
	  FIELD(config_fabric, oversubscription), .standard = "1",
	  .help = "Hosts per uplink of a leaf." },
	{ .name = "columns", WHOLE(COUNT), RANGE(1, 1024), FIELD(config_fabric, columns),
	  .standard = "4",
	  .help = "Switches of a torus, in x." },
	{ .name = "rows", WHOLE(COUNT), RANGE(1, 1024), FIELD(config_fabric, rows),
	  .standard = "4",
	  .help = "In y." },
	{ .name = "planes", WHOLE(COUNT), RANGE(1, 1024), FIELD(config_fabric, planes),
	  .standard = "1",
	  .help = "In z." },
	{ .name = "graph", TEXT_OR_EMPTY, FIELD(config_fabric, graph),
	  .help = "File of the links, relative to this file; see simulation/graph.md." },
	{ .name = "roots", .type = CONFIG_TYPE_NAMES, ELEMENTS(config_fabric, roots),
	  RANGE(0, CONFIG_MAX_ROOTS),
	  .help = "graph: switches on top, for paths up-down; absent: those far from the hosts." },
	{ .name = "routes", TEXT_OR_EMPTY, FIELD(config_fabric, routes),
	  .help = "File of the routes, relative to this file; instead of paths. See simulation/routes.md." },
	{ .name = "host_order", WORDS("in-order", "shuffled"), FIELD(config_fabric, host_order),
	  .standard = "in-order",
	  .help = "Places of the hosts; shuffled: at random." },
	{ .name = "link_rate", WHOLE(BIT_RATE), RANGE(GIGABIT / 1000, 10000 * GIGABIT),
	  FIELD(config_fabric, link_rate), .standard = "100Gb/s",
	  .help = "Rate of every link; graph: of those without one." },
	{ .name = "link_delay", WHOLE(TIME), RANGE(0, SECOND), FIELD(config_fabric, link_delay_ns),
	  .standard = "170ns",
	  .help = "Delay of every link; graph: of those without one." },
	{ .name = "paths", WORDS("shortest", "up-down", "dimension-order"),
	  FIELD(config_fabric, paths), .standard = "shortest",
	  .help = "Allowed paths." },
	{ .name = "routing", WORDS("destination", "ecmp", "random", "adaptive"),
	  FIELD(config_fabric, routing), .standard = "destination",
	  .help = "Choice of a path; ecmp: per flow; random: per frame; adaptive: shortest queue." },
	{ .name = "switch_kind", WORDS("output", "virtual-output", "input"),
	  FIELD(config_fabric, switch_kind), .standard = "output",
	  .help = "Where a switch queues; virtual-output: at the input, per output." },
	{ .name = "forwarding", WORDS("store-and-forward", "cut-through"),
	  FIELD(config_fabric, forwarding), .standard = "store-and-forward",
	  .help = "cut-through: after 64 bytes." },
	{ .name = "switch_delay", WHOLE(TIME), RANGE(0, SECOND),
	  FIELD(config_fabric, switch_delay_ns), .standard = "0",
	  .help = "Delay of a switch." },
	{ .name = "host_delay", WHOLE(TIME), RANGE(0, SECOND), FIELD(config_fabric, host_delay_ns),
	  .standard = "0",
	  .help = "Delay of a receiving host." },
	{ .name = "host_delay_law", WORDS("fixed", "exponential", "histogram"),
	  FIELD(config_fabric, host_delay_law), .standard = "fixed",
	  .help = "Its distribution." },
	{ .name = "host_delay_times", TEXT_OR_EMPTY, FIELD(config_fabric, host_delay_times),
	  .help = "histogram: file of times and weights, scaled to host_delay if that is not 0." },
	{ .name = "flow_control", WORDS("none", "pfc", "credits", "retry"),
	  FIELD(config_fabric, flow_control), .standard = "pfc",
	  .help = "none: full queues lose frames; credits: as InfiniBand; retry: as SCI." },
	{ .name = "buffer", WHOLE(SIZE), RANGE(64, GIB), FIELD(config_fabric, buffer),
	  .standard = "256KiB",
	  .help = "none: of a queue; credits, retry: of an input port." },
	{ .name = "retry_time", WHOLE(TIME), RANGE(0, SECOND), FIELD(config_fabric, retry_time_ns),
	  .standard = "1us",
	  .help = "retry: from the response that refuses a frame until it is queued again." },
	{ .name = "shared_buffer", WHOLE(SIZE), RANGE(0, 16 * GIB),
	  FIELD(config_fabric, shared_buffer), .standard = "0",
	  .help = "Of a switch, for all ports; 0: each queue has buffer, or its xoff." },
	{ .name = "alpha", .type = CONFIG_TYPE_REAL, RANGE(0, SIM_MAX_ALPHA),
	  FIELD(config_fabric, alpha), .standard = "1",
	  .help = "shared_buffer: limit of a queue, as a multiple of the free bytes." },
	{ .name = "loss", .type = CONFIG_TYPE_REAL, RANGE(0, 1), FIELD(config_fabric, loss),
	  .standard = "0",
	  .help = "Probability that a link loses a frame." },
	{ .name = "arbitration", WORDS("round-robin", "strict", "weighted"),
	  FIELD(config_fabric, arbitration), .standard = "strict",
	  .help = "Between data and control; strict: control first." },
	{ .name = "data_weight", WHOLE(COUNT), RANGE(1, 255), FIELD(config_fabric, data_weight),
	  .standard = "1",
	  .help = "weighted: share of the data." },
	{ .name = "control_weight", WHOLE(COUNT), RANGE(1, 255),
	  FIELD(config_fabric, control_weight), .standard = "1",
	  .help = "weighted: share of control and congestion notifications." },
	{ .name = "burst", WHOLE(SIZE), RANGE(0, SIM_MAX_BURST), FIELD(config_fabric, burst),
	  .standard = "0",
	  .help = "Token bucket of a switch port: what it may send at once." },
	{ .name = "pfc", NESTED(pfc), FIELD(config_fabric, pfc),
	  .help = "Thresholds of switches with flow_control pfc." },
	{ .name = "ecn", NESTED(ecn), FIELD(config_fabric, ecn),
	  .help = "ECN marks, reaction by DCQCN." },
	{ .name = "host_costs", NESTED(costs), FIELD(config_fabric, host_costs),
	  .help = "traffic system: CPU time of a node." },
	{ .name = "frame", WHOLE(SIZE), RANGE(64, SIM_MAX_PACKET_BYTES),
	  FIELD(config_fabric, frame), .standard = "4KiB",
	  .help = "Largest frame." },
	{ .name = "overhead", WHOLE(SIZE), RANGE(0, 1000), FIELD(config_fabric, overhead),
	  .standard = "20",
	  .help = "Bytes on the link besides each frame." },
	{ .name = "duration", WHOLE(TIME), RANGE(MICROSECOND, HOUR),
	  FIELD(config_fabric, duration_ns), .standard = "10ms",
	  .help = "Simulated time." },
	{ .name = "warm_up", WHOLE(TIME), RANGE(0, HOUR), FIELD(config_fabric, warm_up_ns),
	  .standard = "0",
	  .help = "Part of it without results." },
	{ .name = "seed", WHOLE(COUNT), RANGE(0, UINT64_MAX), FIELD(config_fabric, seed),
	  .standard = "1",
	  .help = "Seed of all that is random." },
	{ .name = "faults", LIST(fault_object), ELEMENTS(config_fabric, faults),
	  RANGE(0, CONFIG_MAX_FAULTS),
	  .help = "What fails, and when." },
	{ .name = "traffic", NESTED(traffic_object), FIELD(config_fabric, traffic),
	  .help = "What the hosts send." },
};
OBJECT(config_fabric_object, fabric_keys);

// clang-format on

// What a fault names, and that it can happen.
static const char *problem_of(const struct config_fabric *fabric, const struct config_fault *fault)
{
	const bool is_restart = fault->kind == CONFIG_FAULT_MANAGER_RESTART;
	const bool takes_link =
	    fault->kind == CONFIG_FAULT_LINK || fault->kind == CONFIG_FAULT_SWITCH_PAUSE;
	const bool pauses =
	    fault->kind == CONFIG_FAULT_HOST_PAUSE || fault->kind == CONFIG_FAULT_SWITCH_PAUSE;
	const unsigned n_named = (fault->node[0] != '\0') + fault->has_host + fault->has_link;

	if (fault->has_link && !takes_link)
		return "names a link: kinds link and switch-pause do";
	if (n_named != (is_restart ? 0 : 1))
		return is_restart   ? "manager-restart names neither node, host nor link"
		       : takes_link ? "name one of node, host and link"
				    : "name either a node or a host";
	if (pauses && fabric->flow_control != SIM_PFC)
		return "pauses need flow_control pfc";
	if (fault->kind >= CONFIG_FAULT_BUILDER_PAUSE && fabric->traffic.kind != SIM_TRAFFIC_SYSTEM)
		return "this kind is for traffic.kind system";
	if (fault->period_ns > 0 && fault->length_ns == 0)
		return "a period needs a length";
	if (fault->period_ns > 0 && fault->length_ns >= fault->period_ns)
		return "length is not below period";
	return NULL;
}

static int check_faults(struct config_reader *reader, const struct config_fabric *fabric)
{
	for (unsigned i = 0; i < fabric->n_faults; i++) {
		const char *problem = problem_of(fabric, &fabric->faults[i]);

		if (problem != NULL)
			return config_fail(config_at_element(reader, "fabric.faults", i, "kind"),
					   "%s", problem);
	}
	return 0;
}

static bool has_other_duties(const struct cluster_system *system)
{
	const struct cluster_system_node *node = &system->nodes[system->manager];

	return system->n_nodes > 0 && (node->n_builders > 0 || node->n_sources > 0);
}

static int resolve_faults(struct config_reader *reader, struct config_fabric *fabric,
			  const struct cluster_system *system)
{
	for (unsigned i = 0; i < fabric->n_faults; i++) {
		struct config_fault *fault = &fabric->faults[i];
		unsigned node = 0;

		if (fault->kind == CONFIG_FAULT_MANAGER_RESTART && has_other_duties(system))
			return config_fail(config_at_element(reader, "fabric.faults", i, "kind"),
					   "the manager's node has builders or generators, whose "
					   "restart cannot be simulated; silent can");
		if (fault->node[0] == '\0')
			continue;
		while (node < system->n_nodes && strcmp(system->nodes[node].name, fault->node) != 0)
			node++;
		if (node == system->n_nodes)
			return config_fail(config_at_element(reader, "fabric.faults", i, "node"),
					   "there is no node \"%s\"", fault->node);
		fault->host = node;
	}
	return 0;
}

// Whether switches have a buffer per input, which a frame must fit into before it is sent.
static bool has_input_buffers(const struct config_fabric *fabric)
{
	return fabric->flow_control == SIM_CREDITS || fabric->flow_control == SIM_RETRY;
}

// Nodes send frames of their MTU, and not of `frame`.
static int check_frames(struct config_reader *reader, const struct config_fabric *fabric,
			const struct cluster_system *system)
{
	for (unsigned i = 0; i < system->n_nodes; i++) {
		const struct cluster_system_node *node = &system->nodes[i];
		const uint32_t bytes = node->mtu + NET_ETH_SIZE + FCS_SIZE;

		if (fabric->buffer < bytes)
			return config_fail(config_at(reader, "fabric.buffer"),
					   "has no room for a frame of node \"%s\", %u bytes",
					   node->name, bytes);
	}
	return 0;
}

int config_resolve_fabric(struct config_reader *reader, struct config_fabric *fabric,
			  const struct cluster_system *system)
{
	if (fabric->traffic.kind == SIM_TRAFFIC_SYSTEM && has_input_buffers(fabric) &&
	    check_frames(reader, fabric, system))
		return -1;
	return resolve_faults(reader, fabric, system);
}

static int check_traffic(struct config_reader *reader, const struct config_fabric *fabric)
{
	const struct sim_traffic_settings *traffic = &fabric->traffic;

	if (traffic->load <= 0)
		return config_fail(config_at(reader, "fabric.traffic.load"),
				   "0 would let nothing be sent");
	if (traffic->kind != SIM_TRAFFIC_SYSTEM &&
	    (fabric->host_costs.receive_ns > 0 || fabric->host_costs.send_ns > 0 ||
	     fabric->host_costs.control_ns > 0))
		return config_fail(config_at(reader, "fabric.host_costs"),
				   "is for traffic.kind system");
	if (traffic->kind == SIM_TRAFFIC_DAQPIPE && fabric->flow_control == SIM_NO_FLOW_CONTROL)
		return config_fail(config_at(reader, "fabric.traffic.kind"),
				   "daqpipe repeats nothing that is lost: it needs flow_control "
				   "pfc, credits or retry");
	if (traffic->kind == SIM_TRAFFIC_DAQPIPE && fabric->loss > 0)
		return config_fail(config_at(reader, "fabric.loss"),
				   "daqpipe repeats nothing that is lost");
	return 0;
}

// A histogram has a file, and nothing else has one.
static int check_law(struct config_reader *reader, const char *key, enum sim_law_kind law,
		     const char *file)
{
	if (law == SIM_LAW_HISTOGRAM && file[0] == '\0')
		return config_fail(config_at(reader, key), "the law histogram needs a file");
	if (law != SIM_LAW_HISTOGRAM && file[0] != '\0')
		return config_fail(config_at(reader, key), "is for the law histogram");
	return 0;
}

static int check_graph(struct config_reader *reader, const struct config_fabric *fabric)
{
	const bool is_graph = fabric->topology == CONFIG_TOPOLOGY_GRAPH;

	if (is_graph && fabric->graph[0] == '\0')
		return config_fail(config_at(reader, "fabric.graph"),
				   "topology graph needs a file of links");
	if (!is_graph && fabric->graph[0] != '\0')
		return config_fail(config_at(reader, "fabric.graph"), "is for topology graph");
	if (is_graph && fabric->hosts != 0)
		return config_fail(config_at(reader, "fabric.hosts"),
				   "the hosts are those of the graph");
	if (fabric->n_roots > 0 && !is_graph)
		return config_fail(config_at(reader, "fabric.roots"), "is for topology graph");
	if (fabric->routes[0] != '\0' && fabric->paths != SIM_SHORTEST)
		return config_fail(config_at(reader, "fabric.paths"),
				   "the paths are those of fabric.routes");
	if (fabric->n_roots > 0 && fabric->paths != SIM_UP_DOWN)
		return config_fail(config_at(reader, "fabric.roots"), "is for paths up-down");
	return 0;
}

static int check_buffers(struct config_reader *reader, const struct config_fabric *fabric)
{
	if (fabric->loss >= 1)
		return config_fail(config_at(reader, "fabric.loss"), "at 1 nothing would arrive");
	if (fabric->flow_control != SIM_PFC && fabric->shared_buffer == 0 &&
	    fabric->buffer < fabric->frame)
		return config_fail(config_at(reader, "fabric.buffer"), "has no room for a frame");
	if (fabric->shared_buffer == 0)
		return 0;
	if (has_input_buffers(fabric))
		return config_fail(config_at(reader, "fabric.shared_buffer"),
				   "is for flow_control none and pfc");
	if (fabric->shared_buffer < fabric->frame)
		return config_fail(config_at(reader, "fabric.shared_buffer"),
				   "has no room for a frame");
	if (fabric->alpha * 65536 < 1)
		return config_fail(config_at(reader, "fabric.alpha"),
				   "is below 1/65536: no queue would have room");
	return 0;
}

int config_check_fabric(struct config_reader *reader, const struct config_fabric *fabric)
{
	if (check_graph(reader, fabric) ||
	    check_law(reader, "fabric.host_delay_times", fabric->host_delay_law,
		      fabric->host_delay_times) ||
	    check_law(reader, "fabric.traffic.consumer_times", fabric->traffic.consumer_law,
		      fabric->traffic.consumer_times))
		return -1;
	if (fabric->pfc.xon >= fabric->pfc.xoff)
		return config_fail(config_at(reader, "fabric.pfc.xon"), "is not below xoff");
	if (fabric->paths == SIM_DIMENSION_ORDER && fabric->topology != CONFIG_TOPOLOGY_TORUS)
		return config_fail(config_at(reader, "fabric.paths"),
				   "dimension-order is for topology torus");
	if (check_buffers(reader, fabric))
		return -1;
	if (fabric->warm_up_ns >= fabric->duration_ns)
		return config_fail(config_at(reader, "fabric.warm_up"), "is not below duration");
	if (fabric->ecn.high > 0 && fabric->ecn.low >= fabric->ecn.high)
		return config_fail(config_at(reader, "fabric.ecn.low"), "is not below high");
	if (fabric->ecn.high > 0 && fabric->traffic.kind == SIM_TRAFFIC_SYSTEM)
		return config_fail(config_at(reader, "fabric.ecn.high"),
				   "nodes react to ECN over RoCE only, which is not simulated");
	return check_faults(reader, fabric) || check_traffic(reader, fabric) ? -1 : 0;
}
