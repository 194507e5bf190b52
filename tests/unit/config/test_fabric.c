// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The section `fabric`: its defaults, its rules, and that it concerns `evb sim` alone.
#include <stdio.h>

#include "helpers.h"

static void fabric__has_its_defaults_where_it_is_absent(void **state)
{
	struct config *config = load_with("run_number=1");

	(void)state;
	assert_int_equal(config->fabric.hosts, 0);
	assert_int_equal(config->fabric.link_rate, 100000000000);
	assert_int_equal(config->fabric.link_delay_ns, 170);
	assert_int_equal(config->fabric.flow_control, SIM_PFC);
	assert_int_equal(config->fabric.pfc.xoff, 96 << 10);
	assert_int_equal(config->fabric.traffic.kind, SIM_TRAFFIC_UNIFORM);
	assert_int_equal(config->fabric.n_faults, 0);
	config_free(config);
}

static void fabric__is_read(void **state)
{
	struct config *config = load_with(
	    "fabric={\"topology\": \"torus\", \"paths\": \"dimension-order\", \"flow_control\": "
	    "\"pfc\", \"switch_kind\": \"input\", \"routing\": \"adaptive\", \"faults\": "
	    "[{\"kind\": \"host-pause\", \"host\": 3, \"length\": \"1ms\", \"period\": \"2ms\"}, "
	    "{\"kind\": \"link\", \"link\": 9, \"rate\": \"1Gb/s\"}], \"traffic\": {\"kind\": "
	    "\"daqpipe\", "
	    "\"mode\": \"push\", \"shift\": \"random\"}}");

	(void)state;
	assert_int_equal(config->fabric.topology, CONFIG_TOPOLOGY_TORUS);
	assert_int_equal(config->fabric.paths, SIM_DIMENSION_ORDER);
	assert_int_equal(config->fabric.switch_kind, SIM_INPUT_FIFO);
	assert_int_equal(config->fabric.routing, SIM_ADAPTIVE);
	assert_int_equal(config->fabric.n_faults, 2);
	assert_int_equal(config->fabric.faults[0].kind, CONFIG_FAULT_HOST_PAUSE);
	assert_int_equal(config->fabric.faults[0].host, 3);
	assert_int_equal(config->fabric.faults[0].period_ns, 2000000);
	assert_int_equal(config->fabric.faults[1].link, 9);
	assert_int_equal(config->fabric.faults[1].rate, 1000000000);
	assert_int_equal(config->fabric.traffic.kind, SIM_TRAFFIC_DAQPIPE);
	assert_int_equal(config->fabric.traffic.mode, SIM_PUSH);
	assert_int_equal(config->fabric.traffic.shift, SIM_SHIFT_RANDOM);
	config_free(config);
}

static void fabric__keys_fit_together(void **state)
{
	(void)state;
	assert_refused("fabric.pfc={\"xoff\": 1000, \"xon\": 1000}",
		       "x.json: fabric.pfc.xon: is not below xoff");
	assert_refused("fabric.paths=dimension-order",
		       "x.json: fabric.paths: dimension-order is for topology torus");
	assert_refused("fabric={\"flow_control\": \"credits\", \"buffer\": 4095}",
		       "x.json: fabric.buffer: has no room for a frame");
	assert_refused("fabric={\"flow_control\": \"retry\", \"buffer\": 4095}",
		       "x.json: fabric.buffer: has no room for a frame");
	assert_refused("fabric={\"flow_control\": \"retry\", \"shared_buffer\": \"1MiB\"}",
		       "x.json: fabric.shared_buffer: is for flow_control none and pfc");
	assert_refused("fabric={\"duration\": \"1ms\", \"warm_up\": \"1ms\"}",
		       "x.json: fabric.warm_up: is not below duration");
	assert_refused("fabric.ecn={\"low\": \"5KB\", \"high\": \"5KB\"}",
		       "x.json: fabric.ecn.low: is not below high");
	assert_refused("fabric={\"ecn\": {\"high\": \"1MB\"}, \"traffic\": {\"kind\": \"system\"}}",
		       "x.json: fabric.ecn.high: nodes react to ECN over RoCE only, which is not "
		       "simulated");
	assert_refused("fabric.host_costs.send_packet=1us",
		       "x.json: fabric.host_costs: is for traffic.kind system");
	assert_refused("fabric.host_delay_law=histogram",
		       "x.json: fabric.host_delay_times: the law histogram needs a file");
	assert_refused("fabric.traffic.consumer_times=t",
		       "x.json: fabric.traffic.consumer_times: is for the law histogram");
	assert_refused("fabric.loss=1", "x.json: fabric.loss: at 1 nothing would arrive");
	assert_refused("fabric={\"loss\": 0.1, \"traffic\": {\"kind\": \"daqpipe\"}}",
		       "x.json: fabric.loss: daqpipe repeats nothing that is lost");
	assert_refused("fabric={\"shared_buffer\": \"1MiB\", \"flow_control\": \"credits\"}",
		       "x.json: fabric.shared_buffer: is for flow_control none and pfc");
	assert_refused("fabric.shared_buffer=4095",
		       "x.json: fabric.shared_buffer: has no room for a frame");
	assert_refused("fabric={\"shared_buffer\": \"1MiB\", \"alpha\": 0}",
		       "x.json: fabric.alpha: is below 1/65536: no queue would have room");
	assert_refused("fabric.topology=graph",
		       "x.json: fabric.graph: topology graph needs a file of links");
	assert_refused("fabric.graph=net", "x.json: fabric.graph: is for topology graph");
	assert_refused("fabric={\"topology\": \"graph\", \"graph\": \"net\", \"hosts\": 4}",
		       "x.json: fabric.hosts: the hosts are those of the graph");
	assert_refused("fabric.roots=[\"s\"]", "x.json: fabric.roots: is for topology graph");
	assert_refused("fabric={\"topology\": \"graph\", \"graph\": \"net\", \"roots\": [\"s\"]}",
		       "x.json: fabric.roots: is for paths up-down");
	assert_refused("fabric.traffic.load=0",
		       "x.json: fabric.traffic.load: 0 would let nothing be sent");
	assert_refused(
	    "fabric={\"flow_control\": \"none\", \"traffic\": {\"kind\": \"daqpipe\"}}",
	    "x.json: fabric.traffic.kind: daqpipe repeats nothing that is lost: it needs "
	    "flow_control pfc, credits or retry");
}

static void faults__fit_to_the_rest(void **state)
{
	static const struct {
		const char *fabric, *problem;
	} cases[] = {
		{ "\"flow_control\": \"none\", \"faults\": [{\"kind\": \"host-pause\", \"host\": "
		  "1}]",
		  "pauses need flow_control pfc" },
		{ "\"faults\": [{\"kind\": \"silent\", \"host\": 1, \"length\": 5, \"period\": 5}]",
		  "length is not below period" },
		{ "\"faults\": [{\"kind\": \"silent\", \"host\": 1, \"period\": 5}]",
		  "a period needs a length" },
		{ "\"faults\": [{\"kind\": \"silent\", \"link\": 1}]",
		  "names a link: kinds link and switch-pause do" },
		{ "\"faults\": [{\"kind\": \"silent\"}]", "name either a node or a host" },
		{ "\"faults\": [{\"kind\": \"link\", \"host\": 1, \"link\": 1}]",
		  "name one of node, host and link" },
		{ "\"faults\": [{\"kind\": \"manager-restart\", \"host\": 1}]",
		  "manager-restart names neither node, host nor link" },
		{ "\"faults\": [{\"kind\": \"builder-pause\", \"host\": 1}]",
		  "this kind is for traffic.kind system" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char override[256], expected[256];

		snprintf(override, sizeof(override), "fabric={%s}", cases[i].fabric);
		snprintf(expected, sizeof(expected), "x.json: fabric.faults[0].kind: %s",
			 cases[i].problem);
		assert_refused(override, expected);
	}
	assert_refused("fabric={\"faults\": [{\"kind\": \"silent\", \"node\": \"b9\"}]}",
		       "x.json: fabric.faults[0].node: there is no node \"b9\"");
}

static void buffers__have_room_for_frames_of_the_nodes(void **state)
{
	(void)state;
	assert_system_refused("fabric={\"traffic\": {\"kind\": \"system\"}, \"flow_control\": "
			      "\"retry\", \"frame\": 64, \"buffer\": 1517}",
			      "x.json: fabric.buffer: has no room for a frame of node \"a\", 1518 "
			      "bytes");
	config_free(load_node("a", ALL("fabric={\"traffic\": {\"kind\": \"system\"}, "
				       "\"flow_control\": \"retry\", \"frame\": 64, "
				       "\"buffer\": 1518}")));
	config_free(load_node("a", ALL("fabric={\"flow_control\": \"retry\", \"frame\": 64, "
				       "\"buffer\": 64}")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fabric__has_its_defaults_where_it_is_absent),
		cmocka_unit_test(fabric__is_read),
		cmocka_unit_test(fabric__keys_fit_together),
		cmocka_unit_test(faults__fit_to_the_rest),
		cmocka_unit_test(buffers__have_room_for_frames_of_the_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
