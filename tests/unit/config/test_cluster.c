// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the nodes of a system must be to each other, and the event manager's keys.
#include <stdio.h>
#include <string.h>

#include "helpers.h"

static void nodes__have_different_names(void **state)
{
	(void)state;
	assert_system_all_refused(ALL("nodes[3]={\"name\": \"b\"}"),
				  "x.json: nodes[3].name: \"b\" is the name of nodes[1] already");
}

static void manager__is_one_or_elected(void **state)
{
	struct config *config = load_node("c", ALL("nodes[2].manager=true"));

	(void)state;
	assert_int_equal(config->cluster.n_managers, 2);
	assert_int_equal(config->cluster.manager, 0);
	config_free(config);
	assert_system_refused("nodes[0].manager=false",
			      "x.json: nodes: none of them is the manager");
	assert_system_all_refused(
	    ALL("nodes[2].manager=true", "event_manager.heartbeat=60ms"),
	    "x.json: event_manager.heartbeat_timeout: is less than 4 heartbeats, which an elected "
	    "manager needs");
}

static void granted_events__begin_with_id_0(void **state)
{
	(void)state;
	assert_system_refused(
	    "nodes[1].generators[0].first_event=100",
	    "x.json: nodes[1].generators[0].first_event: must be 0 where events are "
	    "granted: ids begin with 0");
	config_free(load_node(
	    "b", ALL("nodes[1].generators[0].first_event=100", "event_manager.mode=static")));
}

static void manager__needs_no_other_duty(void **state)
{
	struct config *config = load_node("a", ALL("nodes[0].builders=[]", "nodes[0].generators=[]",
						   "nodes[1].generators[0].ids=[\"1-4\"]"));

	(void)state;
	assert_int_equal(config->n_builders, 0);
	assert_int_equal(config->n_generators, 0);
	assert_int_equal(config->cluster.n_builders, 1);
	config_free(config);
	assert_system_refused("nodes[2].builders=[]",
			      "x.json: nodes[2]: neither builders nor generators, and not the "
			      "manager: there is nothing to do");
	assert_system_all_refused(ALL("nodes[0].builders=[]",
				      "nodes[2]={\"name\": \"c\", \"ports\": [{\"name\": \"w\", "
				      "\"profile\": \"ring\", \"address\": \"10.0.0.3\"}], "
				      "\"builders\": [], \"generators\": [{\"name\": \"g\", "
				      "\"port\": \"w\", \"ids\": [4]}]}",
				      "nodes[1].generators[0].ids=[3]"),
				  "x.json: nodes: none of them has a builder");
}

static void addresses__are_there_and_differ(void **state)
{
	(void)state;
	assert_system_refused(
	    "nodes[2].ports=[{\"name\": \"w\", \"profile\": \"ring\"}]",
	    "x.json: nodes[2].ports: none has an address, and a node of a system needs one");
	assert_system_refused("nodes[2].ports[0].address=10.0.0.2",
			      "x.json: nodes[2].ports[0].address: is that of node b already");
	assert_system_refused("nodes[1]={\"name\": \"b\", \"builders\": [{\"name\": \"b\"}]}",
			      "x.json: nodes[1].ports: required, but missing");
}

static void port__has_room_for_control_messages(void **state)
{
	(void)state;
	assert_system_refused("nodes[2].ports[0].mtu=1255",
			      "x.json: nodes[2].ports[0].mtu: 1255, control messages of a system "
			      "need at least 1256");
	config_free(load_node("c", ALL("nodes[2].ports[0].mtu=1256")));
}

static void readouts__play_captures(void **state)
{
	(void)state;
	config_free(load_node(
	    "b", ALL("nodes[1].generators[0].kind=pcap", "nodes[1].generators[0].file=x")));
	config_free(load_node(
	    "b", ALL("nodes[1].generators[0].kind=roce", "nodes[1].generators[0].file=x")));
}

#define BOARDS "nodes[1].generators[0].kind=port"

// Node b sends on port "out", and has no builder.
static void boards__need_a_port_and_memory(void **state)
{
	struct config *config = load_node("b", ALL(BOARDS));

	(void)state;
	assert_string_equal(config_listen_port(&config->generators[0]), "out");
	assert_int_equal(config_listener(config, 1), 0);
	assert_false(config_is_for_boards(config, 1));
	config_free(config);
	assert_system_all_refused(ALL(BOARDS, "nodes[1].generators[0].listen={\"port\": \"x\"}"),
				  "x.json: nodes[1].generators[0].listen.port: no port is called "
				  "\"x\"");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].listen={\"size\": \"1MiB\"}"),
	    "x.json: nodes[1].generators[0].listen.size: must be at least 8 times max_block");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].listen={\"udp_port\": 65535, \"udp_ports\": 2}"),
	    "x.json: nodes[1].generators[0].listen.udp_ports: 2 ports from 65535 on end above "
	    "65535");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].listen={\"ether_type\": 2048}"),
	    "x.json: nodes[1].generators[0].listen.ether_type: 0x0800 belongs to another "
	    "protocol");
	assert_system_all_refused(
	    ALL(BOARDS, "event_manager.control_port=20000",
		"nodes[1].generators[0].listen={\"udp_port\": 19999, \"udp_ports\": 2}"),
	    "x.json: nodes[1].generators[0].listen.udp_port: 20000 is "
	    "event_manager.control_port");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].listen={\"roce\": true}"),
	    "x.json: nodes[1].generators[0].listen.port: RoCE boards need a port on which nobody "
	    "sends");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].listen={\"roce\": true, \"port\": \"in\", "
			"\"size\": \"23MiB\", \"max_block\": \"1MiB\"}"),
	    "x.json: nodes[1].generators[0].listen.size: must be at least 24 times max_block for "
	    "2 RoCE boards");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].listen={\"roce\": true, \"port\": \"in\"}"),
	    "x.json: nodes[1].ports[0].address: RoCE needs one, as 10.0.0.1/24, or address6");
	assert_refused("generators[0].kind=port",
		       "x.json: generators[0].kind: kind port needs a node of a system");
}

static void spills__have_events_and_a_period(void **state)
{
	(void)state;
	config_free(load_node("b", ALL(BOARDS, "nodes[1].generators[0].spill={\"size\": 1000, "
					       "\"events\": 1, \"period\": \"1s\"}")));
	assert_system_all_refused(ALL(BOARDS, "nodes[1].generators[0].spill={\"size\": 1000, "
					      "\"period\": \"1s\"}"),
				  "x.json: nodes[1].generators[0].spill.events: a spill needs at "
				  "least one event");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].spill={\"size\": 1000, "
			"\"events\": 1}"),
	    "x.json: nodes[1].generators[0].spill.period: must not be shorter "
	    "than duration");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators[0].spill={\"size\": 1000, "
			"\"events\": 1, \"duration\": \"2s\", "
			"\"period\": \"1s\"}"),
	    "x.json: nodes[1].generators[0].spill.period: must not be shorter "
	    "than duration");
}

#define IN_HAS_ADDRESS "nodes[1].ports[0].address=10.9.0.1"

static void boards__have_a_port_of_their_own(void **state)
{
	struct config *config = load_node(
	    "b", ALL(BOARDS, IN_HAS_ADDRESS, "nodes[1].generators[0].listen={\"port\": \"in\"}"));

	(void)state;
	assert_true(config_is_for_boards(config, 0));
	assert_int_equal(config_listener(config, 1), config->n_generators);
	assert_int_equal(config->cluster.nodes[1].port, 1); // the other nodes send there
	assert_false(config_has_roce(config, 0));
	config->generators[0].listen.roce = true;
	assert_true(config_has_roce(config, 0));
	assert_false(config_has_roce(config, 1));
	config_free(config);
	assert_system_all_refused(ALL("nodes[0].generators[0].kind=port"),
				  "x.json: nodes[0].generators[0].listen.port: the builders of "
				  "the node receive on port wire: the boards need another one");
	assert_system_all_refused(
	    ALL(BOARDS, IN_HAS_ADDRESS,
		"nodes[1].generators=[{\"name\": \"g\", \"port\": \"out\", \"kind\": \"port\", "
		"\"ids\": [3], \"listen\": {\"port\": \"in\"}}, {\"name\": \"h\", "
		"\"port\": \"in\", \"ids\": [4]}]"),
	    "x.json: nodes[1].generators[0].listen.port: generator h sends on port in: the "
	    "boards need another one");
	assert_system_all_refused(
	    ALL(BOARDS, "nodes[1].generators=[{\"name\": \"g\", \"port\": \"out\", \"kind\": "
			"\"port\", \"ids\": [3]}, {\"name\": \"h\", \"port\": \"out\", "
			"\"kind\": \"port\", \"ids\": [4]}]"),
	    "x.json: nodes[1].generators[1].listen.port: the boards of generator g send to port "
	    "out "
	    "already");
}

static void builders__of_a_node_are_told_apart(void **state)
{
	(void)state;
	assert_system_refused("transport.kind=eth",
			      "x.json: node a: transport.kind: behind an EtherType nothing tells "
			      "the 2 builders of a node apart: set it to \"udp\", or use one "
			      "builder per node");
}

static void builders__are_at_most_1024(void **state)
{
	static char text[65536];
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	char *to = text;

	(void)state;
	to += sprintf(to, "{\"sources\": {\"ids\": [1]}, \"builders\": [");
	for (unsigned i = 0; i < 64; i++)
		to += sprintf(to, "%s{\"name\": \"b%u\"}", i ? ", " : "", i);
	to += sprintf(to, "], \"nodes\": [");
	for (unsigned i = 0; i < 17; i++)
		to += sprintf(to,
			      "%s{\"name\": \"n%u\", \"manager\": %s, \"ports\": [{\"name\": \"w\","
			      " \"profile\": \"ring\", \"address\": \"10.0.0.%u\"}]}",
			      i ? ", " : "", i, i ? "false" : "true", i);
	strcpy(to, "]}");
	assert_int_equal(config_parse(&config, text, strlen(text), "x.json", "n0", NULL, 0, error),
			 -1);
	assert_string_equal(
	    error, "x.json: node n16: builders: more than 1024 builders in the whole system");
	const char *one_less = "nodes[16].builders=[]";
	const char *reader = "nodes[16].generators=[{\"name\": \"g\", \"port\": \"w\"}]";
	const char *const overrides[] = { one_less, reader };
	if (config_parse(&config, text, strlen(text), "x.json", "n0", overrides, 2, error))
		fail_msg("%s", error);
	assert_int_equal(config->cluster.n_builders, 1024);
	config_free(config);
}

static void sources__are_each_of_one_generator(void **state)
{
	(void)state;
	assert_system_refused("nodes[1].generators[0].ids=[2, 3, 4]",
			      "x.json: nodes[1].generators[0].ids: source id 2 (0x2) is sent by "
			      "node a already");
	assert_system_refused("nodes[0].generators[1]={\"name\": \"g1\", \"port\": \"wire\"}",
			      "x.json: nodes[0].generators[1].ids: source id 1 (0x1) is sent by "
			      "node a already");
	assert_system_refused("nodes[1].generators[0].ids=[4]",
			      "x.json: nodes: no generator of theirs stands for source id 3 (0x3)");
}

#define SENDER(node, port, more)                                                              \
	"nodes[" #node "].generators[0]={\"name\": \"g\", \"port\": \"" port "\", \"kind\": " \
	"\"event_ring\", \"event_ring\": {\"appliance\": \"first\"}" more "}"
#define ONE_SOURCE  "sources={\"ids\": [7], \"payload\": \"opaque\", \"packing\": 1}"
#define TWO_SOURCES "sources={\"ids\": [7, 8], \"payload\": \"opaque\"}"

static void source__of_built_events_may_be_shared(void **state)
{
	struct config *config =
	    load_node("a", ALL(ONE_SOURCE, SENDER(0, "wire", ""), SENDER(1, "out", "")));

	(void)state;
	assert_true(config->cluster.shares_source);
	assert_int_equal(config->cluster.nodes[0].n_sources, 1);
	assert_int_equal(config->cluster.nodes[1].n_sources, 1);
	config_free(config);
	config = load_node("a", ALL(ONE_SOURCE, SENDER(0, "wire", ""), "nodes[1].generators=[]",
				    "nodes[1].builders=[{\"name\": \"b0\"}]"));
	assert_false(config->cluster.shares_source);
	config_free(config);
	assert_system_all_refused(ALL(ONE_SOURCE, SENDER(0, "wire", ""), SENDER(1, "out", ""),
				      "event_manager={\"mode\": \"static\"}"),
				  "x.json: event_manager.mode: static has no indices for nodes "
				  "that share a source: use push or pull");
	assert_system_all_refused(ALL(ONE_SOURCE, SENDER(0, "wire", ""), SENDER(1, "out", ""),
				      "event_manager={\"phase_barrier\": 1}"),
				  "x.json: event_manager.phase_barrier: nodes that share a source "
				  "have no phases in common: use 0");
	for (unsigned second = 7; second <= 8; second++) {
		char sender[256];

		snprintf(sender, sizeof(sender), SENDER(1, "out", ", \"ids\": [%u]"), second);
		assert_system_all_refused(
		    ALL(TWO_SOURCES, SENDER(0, "wire", ", \"ids\": [7]"), sender),
		    "x.json: nodes[0].generators[0].event_ring.number_by: arrival is for a "
		    "single source in sources.ids: use event_id");
	}
}

#define BY_ID(node, port, id)                                                                 \
	"nodes[" #node "].generators[0]={\"name\": \"g\", \"port\": \"" port "\", \"kind\": " \
	"\"event_ring\", \"ids\": [" #id "], \"event_ring\": {\"appliance\": \"first\", "     \
	"\"number_by\": \"event_id\"}}"

static void source__of_events_with_ids_has_one_node(void **state)
{
	struct config *config =
	    load_node("a", ALL(TWO_SOURCES, BY_ID(0, "wire", 7), BY_ID(1, "out", 8)));

	(void)state;
	assert_false(config->cluster.shares_source);
	assert_int_equal(config->cluster.n_sources, 2);
	assert_true(config->cluster.nodes[1].sends_built);
	config_free(config);
	config_free(load_node("a", ALL(TWO_SOURCES, BY_ID(0, "wire", 7), BY_ID(1, "out", 8),
				       "event_manager={\"mode\": \"static\"}")));
	config_free(load_node(
	    "a", ALL(TWO_SOURCES, BY_ID(0, "wire", 7),
		     "nodes[1].generators[0]={\"name\": \"g\", \"port\": \"out\", \"ids\": [8]}")));
	assert_system_all_refused(ALL(TWO_SOURCES, BY_ID(0, "wire", 7), BY_ID(1, "out", 7)),
				  "x.json: nodes[1].generators[0].ids: source id 7 (0x7) is sent "
				  "by node a already");
	assert_system_all_refused(ALL(ONE_SOURCE, BY_ID(0, "wire", 7), SENDER(1, "out", "")),
				  "x.json: nodes[1].generators[0].ids: source id 7 (0x7) is sent "
				  "by node a already");
	assert_system_all_refused(ALL(ONE_SOURCE, SENDER(0, "wire", ""), BY_ID(1, "out", 7)),
				  "x.json: nodes[1].generators[0].ids: source id 7 (0x7) is sent "
				  "by node a already");
}

static void sources__that_are_not_expected_need_no_generator(void **state)
{
	(void)state;
	config_free(
	    load_node("a", ALL("nodes[1].generators[0].ids=[4]", "sources.expected=[1, 2, 4]")));
}

static void sources__may_be_outside(void **state)
{
	struct config *config =
	    load_node("a", ALL("nodes[0].generators=[]", "nodes[1].generators=[]",
			       "nodes[1].builders=[{\"name\": \"b\"}]"));

	(void)state;
	assert_int_equal(config->cluster.n_sources, 0);
	assert_int_equal(config->cluster.nodes[0].n_sources, 0);
	config_free(config);
}

static void event_manager__defaults(void **state)
{
	struct config *config = load_node("a", NULL);
	const struct config_event_manager *manager = &config->event_manager;

	(void)state;
	assert_int_equal(manager->sched.mode, SCHED_PUSH);
	assert_int_equal(manager->start, CONFIG_START_AUTO);
	assert_int_equal(manager->sched.policy, SCHED_ROUND_ROBIN);
	assert_false(manager->sched.strict);
	assert_int_equal(manager->sched.distance, CONFIG_AUTO);
	assert_int_equal(manager->sched.relax_after_ns, 100000);
	assert_int_equal(manager->sched.shaping, SCHED_LINEAR_SHIFT);
	assert_false(manager->sched.barrier);
	assert_int_equal(manager->sched.phase_barrier, 0);
	assert_int_equal(manager->parallel_sends, 4);
	assert_int_equal(manager->sched.credits, 0);
	assert_int_equal(manager->sched.seed, 0);
	assert_int_equal(manager->sched.send_window_ns, 1000000);
	assert_int_equal(manager->sched.idle_window_ns, 100000);
	assert_true(manager->sched.target_utilisation == 0.9);
	assert_int_equal(manager->window, 0);
	assert_int_equal(manager->sched.queue, 65536);
	assert_int_equal(manager->sched.throttle_level, SCHED_THROTTLE_75);
	assert_int_equal(manager->heartbeat_ns, 20000000);
	assert_int_equal(manager->heartbeat_timeout_ns, 200000000);
	assert_int_equal(config->events.deadline_ns, 300000000);
	assert_int_equal(manager->on_source_silent, CONFIG_SOURCE_SILENT_CONTINUE);
	assert_int_equal(manager->source_buffer, 256);
	assert_int_equal(manager->control_port, 19521);
	assert_int_equal(manager->control_dscp, 48);
	assert_int_equal(manager->control_priority, 6);
	assert_int_equal(manager->data_dscp, 26);
	assert_int_equal(manager->data_priority, 3);
	config_free(config);
}

static unsigned senders_at_once(const char *mode, const char *credits, const char *more)
{
	struct config *config =
	    load_node("b", ALL("event_manager.parallel_sends=1", mode, credits, more));
	const unsigned n = config_senders_at_once(config);

	config_free(config);
	return n;
}

static void event_manager__limits_the_nodes_that_send_in_pull(void **state)
{
	const char *pull = "event_manager.mode=pull", *one = "event_manager.credits=1";
	const char *alone = "nodes[0].builders=[{\"name\": \"b0\"}]";

	(void)state;
	assert_int_equal(senders_at_once(pull, one, alone), 1);
	assert_int_equal(senders_at_once(pull, "event_manager.credits=2", alone), 2);
	// Node a has two builders, which share its link.
	assert_int_equal(senders_at_once(pull, one, NULL), 2);
	// As many as there are nodes, all slots, and grants that all nodes get.
	assert_int_equal(senders_at_once(pull, one, "event_manager.parallel_sends=2"), 0);
	assert_int_equal(senders_at_once(pull, "event_manager.credits=0", alone), 0);
	assert_int_equal(senders_at_once("event_manager.mode=push", one, alone), 0);
}

static uint64_t longest_wait(const char *deadline, const char *timeout)
{
	struct config *config =
	    load_node("b", ALL("event_manager.phase_barrier=3", deadline, timeout));
	struct readout_logic_parameters logic = config_readout_logic(config, config->generators);

	config_free(config);
	assert_int_equal(logic.barrier.distance, 3);
	return logic.barrier.longest_wait_ns;
}

static void event_manager__opens_the_phase_barrier_before_the_deadline(void **state)
{
	const char *timeout = "event_manager.heartbeat_timeout=250ms";

	(void)state;
	assert_int_equal(longest_wait("events.deadline=10s", timeout), 250000000);
	assert_int_equal(longest_wait("events.deadline=80ms", timeout), 40000000);
	// The default deadline is 100 ms more than the timeout.
	assert_int_equal(longest_wait("events.deadline=auto", timeout), 175000000);
}

static void event_manager__holds_what_was_given(void **state)
{
	struct config *config = load_node(
	    "b", ALL("event_manager={\"mode\": \"pull\", \"start\": \"manual\", \"policy\": "
		     "\"weighted\", \"strict\": false,"
		     " \"distance\": 1, \"relax_after\": \"1ms\", \"shaping\": \"random\","
		     " \"barrier\": true, \"parallel_sends\": 65535, \"credits\": 12, \"seed\": 77,"
		     " \"send_window\": \"2ms\", \"idle_window\": 0, \"target_utilisation\": 0.5,"
		     " \"window\": \"8MiB\", \"queue\": 1048576, \"throttle_level\": \"87.5%\","
		     " \"heartbeat\": \"1ms\", \"heartbeat_timeout\": \"2ms\","
		     " \"on_source_silent\": \"pause\", \"source_buffer\": 1, \"control_port\": 9,"
		     " \"control_dscp\": 63, \"control_priority\": 7, \"data_dscp\": 0,"
		     " \"data_priority\": 0}"));
	const struct config_event_manager *manager = &config->event_manager;

	(void)state;
	assert_int_equal(manager->sched.mode, SCHED_PULL);
	assert_int_equal(manager->start, CONFIG_START_MANUAL);
	assert_int_equal(manager->sched.policy, SCHED_WEIGHTED);
	assert_false(manager->sched.strict);
	assert_int_equal(manager->sched.distance, 1);
	assert_int_equal(manager->sched.relax_after_ns, 1000000);
	assert_int_equal(manager->sched.shaping, SCHED_RANDOM_ORDER);
	assert_true(manager->sched.barrier);
	assert_int_equal(manager->parallel_sends, 65535);
	assert_int_equal(manager->sched.credits, 12);
	assert_int_equal(manager->sched.seed, 77);
	assert_int_equal(manager->sched.send_window_ns, 2000000);
	assert_int_equal(manager->sched.idle_window_ns, 0);
	assert_true(manager->sched.target_utilisation == 0.5);
	assert_int_equal(manager->window, 8 << 20);
	assert_int_equal(manager->sched.queue, 1048576);
	assert_int_equal(manager->sched.throttle_level, SCHED_THROTTLE_87_5);
	assert_int_equal(manager->heartbeat_ns, 1000000);
	assert_int_equal(manager->heartbeat_timeout_ns, 2000000);
	assert_int_equal(manager->on_source_silent, CONFIG_SOURCE_SILENT_PAUSE);
	assert_int_equal(manager->source_buffer, 1);
	assert_int_equal(manager->control_port, 9);
	assert_int_equal(manager->control_dscp, 63);
	assert_int_equal(manager->control_priority, 7);
	assert_int_equal(manager->data_dscp, 0);
	assert_int_equal(manager->data_priority, 0);
	config_free(config);
}

static void event_manager__wrong(void **state)
{
	(void)state;
	assert_system_refused(
	    "event_manager.target_utilisation=0",
	    "x.json: event_manager.target_utilisation: 0 would let nothing be sent");
	assert_system_refused(
	    "event_manager.heartbeat_timeout=39999us",
	    "x.json: event_manager.heartbeat_timeout: is less than two heartbeats");
	config_free(load_node("a", ALL("event_manager.heartbeat_timeout=40ms")));
	assert_system_refused("event_manager.queue=100",
			      "x.json: event_manager.queue: 100 is not a power of two");
	assert_system_refused(
	    "event_manager.throttle_level=80%",
	    "x.json: event_manager.throttle_level: \"80%\" is none of none, 25%, 50%, 75%, 87.5%");
	assert_system_refused("event_manager.distance=many",
			      "x.json: event_manager.distance: \"many\" is not a whole number; "
			      "\"auto\" is allowed, too");
	assert_system_refused(
	    "event_manager.distance=true",
	    "x.json: event_manager.distance: expected \"auto\" or a whole number, found a boolean");
	assert_system_refused("event_manager.distance=1024",
			      "x.json: event_manager.distance: 1024 is out of range 0..1023");
}

// The scheduler itself judges these (sched_check()).
static void event_manager__refused_by_the_scheduler(void **state)
{
	(void)state;
	assert_system_all_refused(ALL("event_manager.strict=true", "event_manager.policy=weighted"),
				  "x.json: event_manager: strict is for the policy round-robin in "
				  "the modes push and pull");
	assert_system_all_refused(ALL("event_manager.strict=true", "event_manager.mode=static"),
				  "x.json: event_manager: strict is for the policy round-robin in "
				  "the modes push and pull");
	config_free(load_node("b", ALL("event_manager.strict=true")));
	assert_system_all_refused(ALL("event_manager.barrier=true", "event_manager.shaping=none"),
				  "x.json: event_manager: barrier needs rounds; expected the "
				  "shaping linear-shift or random");
	assert_system_all_refused(
	    ALL("event_manager.barrier=true", "event_manager.shaping=timed-shift"),
	    "x.json: event_manager: barrier needs rounds; expected the "
	    "shaping linear-shift or random");
	for (unsigned i = 0; i < 2; i++)
		assert_system_all_refused(
		    ALL("event_manager.phase_barrier=1",
			i == 0 ? "event_manager.mode=pull" : "event_manager.shaping=timed-shift"),
		    "x.json: event_manager: phase_barrier needs phases of rounds; expected the "
		    "mode "
		    "push and the shaping linear-shift or random");
	config_free(load_node("b", ALL("event_manager.phase_barrier=65535")));
	assert_system_refused("event_manager.distance=2",
			      "x.json: event_manager: distance is 2 with 2 congestion groups; "
			      "expected less than the number of groups, or automatic");
	config_free(load_node("b", ALL("event_manager.distance=1")));
	config_free(load_node("b", ALL("event_manager.distance=2", "builders[1].group=1")));
}

static void control__has_a_port_of_its_own(void **state)
{
	const char *const expected =
	    "x.json: event_manager.control_port: 19523 is the UDP port of the "
	    "data";

	(void)state;
	assert_system_all_refused(ALL("event_manager.control_port=19523", "transport.udp_ports=2"),
				  expected);
	config_free(
	    load_node("a", ALL("event_manager.control_port=19524", "transport.udp_ports=2")));
	config_free(load_node("a", ALL("event_manager.control_port=19523", "transport.kind=eth",
				       "transport.udp_ports=2", "builders=[{\"name\": \"b\"}]")));
	assert_system_all_refused(
	    ALL("event_manager.control_port=19523", "transport.kind=roce", "roce.udp_port=19523"),
	    expected);
}

static void control__has_a_priority_that_is_never_paused(void **state)
{
	(void)state;
	assert_system_refused(
	    "event_manager.control_priority=3",
	    "x.json: event_manager.control_priority: 3 is that of the data, which "
	    "may be paused");
	assert_system_refused(
	    "nodes[1].ports[1].flow_control={\"mode\": \"soft\", \"priority\": 6}",
	    "x.json: nodes[1].ports[1].flow_control.priority: 6 is that of control messages, which "
	    "must not be paused");
	config_free(load_node("a", ALL("nodes[1].ports[1].flow_control.priority=6")));
}

// Readouts, control role and manager look at event_manager.data_priority, the port at its own key.
static void data__has_one_priority(void **state)
{
	(void)state;
	assert_system_refused(
	    "nodes[1].ports[1].flow_control={\"mode\": \"soft\", \"priority\": 4}",
	    "x.json: nodes[1].ports[1].flow_control.priority: 4 is not "
	    "event_manager.data_priority, "
	    "which is 3: pauses of the data would be neither obeyed nor reported");
	config_free(load_node(
	    "a", ALL("nodes[1].ports[1].flow_control={\"mode\": \"soft\", \"priority\": 4}",
		     "event_manager.data_priority=4")));
}

static void builder__group_and_weight(void **state)
{
	struct config *config =
	    load_node("a", ALL("builders[0].group=1023", "builders[1].group=auto",
			       "builders[0].weight=1024"));

	(void)state;
	assert_int_equal(config->builders[0].group, 1023);
	assert_int_equal(config->builders[0].weight, 1024);
	assert_int_equal(config->builders[1].group, CONFIG_AUTO);
	assert_int_equal(config->builders[1].weight, 1);
	assert_int_equal(config->cluster.builders[0].group, 1023);
	assert_int_equal(config->cluster.builders[1].group, CONFIG_MAX_GROUP + 1 + 1);
	config_free(config);
	assert_system_refused("builders[0].group=1024",
			      "x.json: builders[0].group: 1024 is out of range 0..1023");
	assert_system_refused("builders[0].weight=0",
			      "x.json: builders[0].weight: 0 is out of range 1..1024");
	assert_system_refused("builders[0].weight=1025",
			      "x.json: builders[0].weight: 1025 is out of range 1..1024");
}

#define DECIDES "groups=[{\"name\": \"f\", \"decides\": true}]"
#define RESULTS "[{\"name\": \"r\", \"group\": \"f\", \"window\": 128}]"

static void results__of_a_system_are_written_on_one_node(void **state)
{
	struct config *writes = load_node("b", ALL(DECIDES, "nodes[1].results=" RESULTS));
	struct config *sends = load_node("a", ALL(DECIDES, "nodes[1].results=" RESULTS));
	struct config *other = load_node("a", ALL(DECIDES));

	(void)state;
	assert_int_equal(sends->cluster.n_results, 1);
	assert_int_equal(sends->cluster.results[0].node, 1);
	assert_int_equal(sends->cluster.results[0].window, 128);
	assert_int_equal(sends->n_results, 1);
	assert_true(config_results_are_sent(sends, &sends->results[0]));
	assert_false(config_results_are_sent(writes, &writes->results[0]));
	assert_true(config_group(sends, "r")->rejected_too);
	assert_true(sends->cluster.hash == writes->cluster.hash);
	assert_true(sends->cluster.hash != other->cluster.hash);
	config_free(writes);
	config_free(sends);
	config_free(other);
	assert_system_all_refused(
	    ALL(DECIDES, "nodes[0].results=" RESULTS, "nodes[1].results=" RESULTS),
	    "x.json: nodes[1].results[0].of: node a has results of the system already: give them "
	    "to one node, or set `of` to \"node\"");
	assert_system_all_refused(
	    ALL(DECIDES, "results=" RESULTS),
	    "x.json: node b: results[0].of: node a has results of the system already: give them "
	    "to one node, or set `of` to \"node\"");
	assert_system_all_refused(ALL("nodes[1].groups=[{\"name\": \"f\", \"decides\": true}]",
				      "nodes[1].results=" RESULTS),
				  "x.json: node a: groups: results r of node b need the group "
				  "\"f\", with `decides`, on each "
				  "node with builders");
}

static void results__of_another_system_are_not_sent(void **state)
{
	const char *results = "nodes[1].results=[{\"name\": \"r\", \"from\": \"d\"}]";
	struct config *writes = load_node("b", ALL(results));
	struct config *other = load_node("a", ALL(results));

	(void)state;
	assert_int_equal(writes->n_results, 1);
	assert_int_equal(writes->results[0].system, 1);
	assert_int_equal(other->n_results, 0);
	assert_int_equal(other->cluster.n_results, 1);
	assert_true(other->cluster.results[0].is_from_ring);
	config_free(writes);
	config_free(other);
}

static void results__of_a_node_stay_there(void **state)
{
	struct config *config = load_node(
	    "a", ALL(DECIDES,
		     "nodes[0].results=[{\"name\": \"r\", \"group\": \"f\", \"of\": \"node\"}]"));

	(void)state;
	assert_int_equal(config->cluster.n_results, 0);
	assert_int_equal(config->n_results, 1);
	assert_int_equal(config->results[0].system, 0);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes__have_different_names),
		cmocka_unit_test(manager__is_one_or_elected),
		cmocka_unit_test(granted_events__begin_with_id_0),
		cmocka_unit_test(manager__needs_no_other_duty),
		cmocka_unit_test(addresses__are_there_and_differ),
		cmocka_unit_test(port__has_room_for_control_messages),
		cmocka_unit_test(readouts__play_captures),
		cmocka_unit_test(boards__need_a_port_and_memory),
		cmocka_unit_test(spills__have_events_and_a_period),
		cmocka_unit_test(boards__have_a_port_of_their_own),
		cmocka_unit_test(builders__of_a_node_are_told_apart),
		cmocka_unit_test(builders__are_at_most_1024),
		cmocka_unit_test(sources__are_each_of_one_generator),
		cmocka_unit_test(source__of_built_events_may_be_shared),
		cmocka_unit_test(source__of_events_with_ids_has_one_node),
		cmocka_unit_test(sources__that_are_not_expected_need_no_generator),
		cmocka_unit_test(sources__may_be_outside),
		cmocka_unit_test(event_manager__defaults),
		cmocka_unit_test(event_manager__limits_the_nodes_that_send_in_pull),
		cmocka_unit_test(event_manager__opens_the_phase_barrier_before_the_deadline),
		cmocka_unit_test(event_manager__holds_what_was_given),
		cmocka_unit_test(event_manager__wrong),
		cmocka_unit_test(event_manager__refused_by_the_scheduler),
		cmocka_unit_test(control__has_a_port_of_its_own),
		cmocka_unit_test(control__has_a_priority_that_is_never_paused),
		cmocka_unit_test(data__has_one_priority),
		cmocka_unit_test(builder__group_and_weight),
		cmocka_unit_test(results__of_a_system_are_written_on_one_node),
		cmocka_unit_test(results__of_another_system_are_not_sent),
		cmocka_unit_test(results__of_a_node_stay_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
