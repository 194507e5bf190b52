// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE v2 and flow control.
#include <stdio.h>
#include <string.h>

#include "helpers.h"

#define PAIR                                                                          \
	"roce.queue_pairs[0]={\"source\": 1, \"local_qpn\": 17, \"remote_qpn\": 18, " \
	"\"address\": \"10.0.0.9\"}"
#define STATIC  "roce.connection=static"
#define ROCE    "transport.kind=roce"
#define ADDRESS "ports[0].address=10.0.0.1/24"

// Loads the small configuration with a written-out connection and another override.
static struct config *load_pair(const char *override)
{
	const char *const overrides[] = { STATIC, PAIR, override };
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;

	if (config_parse(&config, base_text, strlen(base_text), "x.json", NULL, overrides, 3,
			 error))
		fail_msg("%s", error);
	return config;
}

static void transport__may_be_roce(void **state)
{
	struct config *config = load_node("a", ALL(ROCE, "nodes[1].ports[0].address=10.0.1.2"));

	(void)state;
	assert_int_equal(config->transport.kind, CONFIG_TRANSPORT_ROCE);
	config_free(config);
}

static void roce__defaults(void **state)
{
	struct config *config = load_with("name=evb");
	const struct roce_settings *roce = &config->roce;

	(void)state;
	assert_int_equal(roce->udp_port, 4791);
	assert_int_equal(roce->icrc, ROCE_ICRC_VERIFY);
	assert_int_equal(roce->sample_one_in, 64);
	assert_int_equal(roce->service, ROCE_RC);
	assert_int_equal(roce->operation, ROCE_OPERATION_SEND);
	assert_int_equal(roce->path_mtu, 0);
	assert_int_equal(roce->connection, ROCE_CONNECTION_CM);
	assert_int_equal(roce->cm_service, 19523);
	assert_int_equal(roce->max_queue_pairs, 1024);
	assert_int_equal(roce->ack_every, 16);
	assert_int_equal(roce->window, 128);
	assert_int_equal(roce->timeout, 14);
	assert_int_equal(roce->retry_count, 7);
	assert_int_equal(roce->rnr_retry, 7);
	assert_int_equal(roce->rnr_timer, 12);
	assert_int_equal(roce->cnp_interval_ns, 50000);
	assert_true(roce->dcqcn);
	assert_int_equal(roce->q_key, 0x11111111);
	assert_int_equal(roce->partition_key, 0xffff);
	assert_int_equal(roce->n_queue_pairs, 0);
	config_free(config);
}

static void roce__holds_what_was_given(void **state)
{
	struct config *config = load_with(
	    "roce={\"udp_port\": 1, \"icrc\": \"sample\", \"sample_one_in\": 8, \"service\": "
	    "\"uc\","
	    " \"operation\": \"write_imm\", \"path_mtu\": 4096, \"connection\": \"feroce\","
	    " \"cm_service\": 2, \"max_queue_pairs\": 65536, \"ack_every\": 3, \"window\": 4,"
	    " \"timeout\": 31, \"retry_count\": 1, \"rnr_retry\": 2, \"rnr_timer\": 30,"
	    " \"cnp_interval\": \"4us\", \"dcqcn\": false, \"q_key\": \"0xffffffff\","
	    " \"partition_key\": \"0x8001\"}");
	const struct roce_settings *roce = &config->roce;

	(void)state;
	assert_int_equal(roce->udp_port, 1);
	assert_int_equal(roce->icrc, ROCE_ICRC_SAMPLE);
	assert_int_equal(roce->sample_one_in, 8);
	assert_int_equal(roce->service, ROCE_UC);
	assert_int_equal(roce->operation, ROCE_OPERATION_WRITE_IMM);
	assert_int_equal(roce->path_mtu, 4096);
	assert_int_equal(roce->connection, ROCE_CONNECTION_FEROCE);
	assert_int_equal(roce->cm_service, 2);
	assert_int_equal(roce->max_queue_pairs, 65536);
	assert_int_equal(roce->ack_every, 3);
	assert_int_equal(roce->window, 4);
	assert_int_equal(roce->timeout, 31);
	assert_int_equal(roce->retry_count, 1);
	assert_int_equal(roce->rnr_retry, 2);
	assert_int_equal(roce->rnr_timer, 30);
	assert_int_equal(roce->cnp_interval_ns, 4000);
	assert_false(roce->dcqcn);
	assert_int_equal(roce->q_key, UINT32_MAX);
	assert_int_equal(roce->partition_key, 0x8001);
	config_free(config);
}

static void queue_pair__defaults(void **state)
{
	struct config *config = load_pair("name=evb");
	const struct roce_static_pair *pair = &config->roce.queue_pairs[0];

	(void)state;
	assert_int_equal(config->roce.n_queue_pairs, 1);
	assert_true(pair->has_source);
	assert_int_equal(pair->source, 1);
	assert_int_equal(pair->service, ROCE_RC);
	assert_int_equal(pair->local_qpn, 17);
	assert_int_equal(pair->local_psn, 0);
	assert_int_equal(pair->remote_qpn, 18);
	assert_int_equal(pair->remote_psn, 0);
	assert_memory_equal(pair->address, ((uint8_t[]){ [10] = 0xff, 0xff, 10, 0, 0, 9 }), 16);
	assert_false(pair->has_mac);
	assert_int_equal(pair->rkey, 0);
	assert_int_equal(pair->virtual_address, 0);
	assert_int_equal(pair->size, 0);
	config_free(config);
}

static void queue_pair__holds_what_was_given(void **state)
{
	struct config *config =
	    load_pair("roce.queue_pairs[1]={\"source\": \"0x8\", \"type\": \"uc\", \"local_qpn\": "
		      "\"0xffffff\","
		      " \"local_psn\": \"0xfffffe\", \"remote_qpn\": 2, \"remote_psn\": 16777215,"
		      " \"address\": \"192.168.0.1\", \"mac\": \"02:00:00:00:00:09\","
		      " \"rkey\": \"0xffffffff\", \"virtual_address\": \"0xffffffffffffffff\","
		      " \"size\": \"4GiB\"}");
	const struct roce_static_pair *pair = &config->roce.queue_pairs[1];
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

	(void)state;
	assert_int_equal(config->roce.n_queue_pairs, 2);
	assert_int_equal(pair->source, 8);
	assert_int_equal(pair->service, ROCE_UC);
	assert_int_equal(pair->local_qpn, 0xffffff);
	assert_int_equal(pair->local_psn, 0xfffffe);
	assert_int_equal(pair->remote_qpn, 2);
	assert_int_equal(pair->remote_psn, 0xffffff);
	assert_memory_equal(pair->address, ((uint8_t[]){ [10] = 0xff, 0xff, 192, 168, 0, 1 }), 16);
	assert_true(pair->has_mac);
	assert_memory_equal(pair->mac, mac, 6);
	assert_int_equal(pair->rkey, UINT32_MAX);
	assert_int_equal(pair->virtual_address, UINT64_MAX);
	assert_int_equal(pair->size, 4ULL << 30);
	config_free(config);
}

static void queue_pair__without_a_source_over_ipv6(void **state)
{
	struct config *config =
	    load_pair("roce.queue_pairs[0]={\"local_qpn\": 17, \"remote_qpn\": 18, "
		      "\"address\": \"fd00::1:2\"}");
	const struct roce_static_pair *pair = &config->roce.queue_pairs[0];

	(void)state;
	assert_false(pair->has_source);
	assert_memory_equal(pair->address, ((uint8_t[]){ 0xfd, [13] = 1, 0, 2 }), 16);
	config_free(config);
}

static void queue_pairs__may_be_4096(void **state)
{
	static char override[1 << 20];
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	char *to = override;

	(void)state;
	to += sprintf(to, "roce.queue_pairs=[");
	for (unsigned i = 0; i < 4096; i++)
		to += sprintf(to,
			      "%s{\"source\": 1, \"local_qpn\": %u, \"remote_qpn\": 2, \"address\":"
			      " \"10.0.0.9\"}",
			      i ? "," : "", 4096 + i);
	strcpy(to, "]");
	const char *const overrides[] = { STATIC, override, "roce.max_queue_pairs=4096" };
	if (config_parse(&config, base_text, strlen(base_text), "x.json", NULL, overrides, 3,
			 error))
		fail_msg("%s", error);
	assert_int_equal(config->roce.n_queue_pairs, 4096);
	assert_int_equal(config->roce.queue_pairs[4095].local_qpn, 8191);
	config_free(config);
	strcpy(to, ",0]");
	assert_all_refused(ALL(STATIC, override),
			   "x.json: roce.queue_pairs: more than 4096 elements");
}

static void queue_pairs__wrong(void **state)
{
	(void)state;
	assert_all_refused(ALL(PAIR),
			   "x.json: roce.queue_pairs: is of use with connection static only");
	assert_all_refused(ALL(STATIC, PAIR, "roce.queue_pairs[0].source=9"),
			   "x.json: roce.queue_pairs[0].source: source id 9 (0x9) is not in "
			   "sources.ids");
	assert_all_refused(ALL(STATIC, PAIR, "roce.queue_pairs[0].address=224.0.0.1"),
			   "x.json: roce.queue_pairs[0].address: is not the address of a host");
	assert_all_refused(ALL(STATIC, PAIR, "roce.queue_pairs[0].address=ff02::1"),
			   "x.json: roce.queue_pairs[0].address: is not the address of a host");
	assert_all_refused(ALL(STATIC, PAIR, "roce.queue_pairs[0].address=fd00:::1"),
			   "x.json: roce.queue_pairs[0].address: \"fd00:::1\" is not an IPv4 or "
			   "IPv6 address such as \"10.0.0.1\" or \"fd00::1\"");
	assert_all_refused(ALL(STATIC, PAIR, "roce.queue_pairs[0].local_qpn=1"),
			   "x.json: roce.queue_pairs[0].local_qpn: 1 is out of range 2..16777215");
	assert_all_refused(ALL(STATIC, PAIR, "roce.queue_pairs[0].remote_psn=16777216"),
			   "x.json: roce.queue_pairs[0].remote_psn: 16777216 is out of range "
			   "0..16777215");
	assert_all_refused(ALL(STATIC, "roce.queue_pairs[0]={\"source\": 1}"),
			   "x.json: roce.queue_pairs[0].local_qpn: required, but missing");
}

static void queue_pairs__lie_in_different_places(void **state)
{
	const char *second = "roce.queue_pairs[1]={\"source\": 2, \"local_qpn\": \"0x411\", "
			     "\"remote_qpn\": 3, \"address\": \"10.0.0.9\"}";

	(void)state;
	assert_all_refused(ALL(STATIC, PAIR, second),
			   "x.json: roce.queue_pairs[1].local_qpn: 0x411 and that of "
			   "queue_pairs[0] are the same in a table of max_queue_pairs, which is "
			   "1024");
	const char *const overrides[] = { STATIC, PAIR, second, "roce.max_queue_pairs=2048" };
	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	if (config_parse(&config, base_text, strlen(base_text), "x.json", NULL, overrides, 4,
			 error))
		fail_msg("%s", error);
	config_free(config);
}

static void roce__wrong(void **state)
{
	(void)state;
	assert_refused("roce={\"service\": \"ud\", \"operation\": \"write\"}",
		       "x.json: roce.operation: service ud can only send");
	config_free(load_with("roce={\"service\": \"ud\", \"operation\": \"send_imm\"}"));
	assert_refused("roce.path_mtu=128",
		       "x.json: roce.path_mtu: 128 is out of range 256B..4KiB");
	assert_refused("roce.path_mtu=1500", "x.json: roce.path_mtu: 1500 is not a power of two");
	assert_refused(
	    "roce.path_mtu=[]",
	    "x.json: roce.path_mtu: expected \"auto\" or a whole number or a string with "
	    "a unit, found a list");
	assert_refused("roce.partition_key=0",
		       "x.json: roce.partition_key: 0 is out of range 1..65535");
}

static void flow_control__defaults(void **state)
{
	struct config *config = load_with("name=evb");
	const struct flow_control_settings *control = &config->ports[0].flow_control;

	(void)state;
	assert_int_equal(config->ports[0].link_rate, 0);
	assert_int_equal(control->mode, FLOW_CONTROL_OFF);
	assert_int_equal(control->priority, 3);
	assert_true(control->high_water == 0.8);
	assert_true(control->low_water == 0.6);
	assert_int_equal(control->pause_time, 65535);
	assert_int_equal(control->cable, 100);
	config_free(config);
}

static void flow_control__holds_what_was_given(void **state)
{
	struct config *config = load_with(
	    "ports[0]={\"name\": \"wire\", \"profile\": \"ring\", \"link_rate\": \"2.5Gb/s\","
	    " \"flow_control\": {\"mode\": \"external\", \"priority\": 7, \"high_water\": 0.9,"
	    " \"low_water\": 0.1, \"pause_time\": 2, \"cable\": 100000}}");
	const struct flow_control_settings *control = &config->ports[0].flow_control;

	(void)state;
	assert_int_equal(config->ports[0].link_rate, 2500000000);
	assert_int_equal(control->mode, FLOW_CONTROL_EXTERNAL);
	assert_int_equal(control->priority, 7);
	assert_true(control->high_water == 0.9);
	assert_true(control->low_water == 0.1);
	assert_int_equal(control->pause_time, 2);
	assert_int_equal(control->cable, 100000);
	config_free(config);
}

static void flow_control__wrong(void **state)
{
	(void)state;
	assert_refused(
	    "ports[0].flow_control.high_water=0.6",
	    "x.json: ports[0].flow_control.low_water: 0.6 is not below high_water, which "
	    "is 0.6");
	assert_refused("ports[0].flow_control.high_water=1",
		       "x.json: ports[0].flow_control.high_water: 1 is not below full: the sender "
		       "would never be paused");
	assert_refused("ports[0].flow_control.low_water=0",
		       "x.json: ports[0].flow_control.low_water: 0 is not above empty: a paused "
		       "sender would never go on");
	assert_refused("ports[0].flow_control.pause_time=1",
		       "x.json: ports[0].flow_control.pause_time: 1 is out of range 2..65535");
	assert_refused("ports[0].flow_control.mode=on",
		       "x.json: ports[0].flow_control.mode: \"on\" is none of auto, off, hw, "
		       "external, soft");
	assert_refused(
	    "ports[0].link_rate=25Gbit",
	    "x.json: ports[0].link_rate: \"25Gbit\" has an unknown unit, allowed are b/s, "
	    "kb/s, Mb/s, Gb/s, Tb/s");
}

static void port__is_fit_for_roce(void **state)
{
	(void)state;
	assert_refused(ROCE, "x.json: ports[0].address: RoCE needs one, as 10.0.0.1/24, or "
			     "address6");
	assert_all_refused(ALL(ROCE, ADDRESS, "ports[0].rx_queues=2"),
			   "x.json: ports[0].rx_queues: 2, RoCE is received on one: set it to 1, "
			   "and use more ports");
	assert_all_refused(ALL(ROCE, ADDRESS, "ports[0].mtu=1500", "roce.path_mtu=2048"),
			   "x.json: roce.path_mtu: the mtu 1500 of ports[0] has room for 1024 and "
			   "headers");
}

static void messages__are_mfps(void **state)
{
	(void)state;
	assert_all_refused(ALL(ROCE, ADDRESS, "sources.payload=opaque"),
			   "x.json: sources.payload: RoCE messages are MFPs, whose header names "
			   "event and source: set it to \"mfp\"");
}

static void generator__sends_by_roce_alone_on_its_port(void **state)
{
	(void)state;
	assert_all_refused(
	    ALL(ROCE, ADDRESS, "generators[1]={\"name\": \"g1\", \"port\": \"wire\"}"),
	    "x.json: generators[1].port: generator g0 sends by RoCE on port wire "
	    "already: make one of both, or use another port");
	assert_all_refused(ALL(ROCE, ADDRESS, "generators[0].kind=pcap", "generators[0].file=x"),
			   "x.json: generators[0].kind: packets of a capture are sent as they are: "
			   "set transport.kind to \"udp\", or the kind to \"roce\"");
	assert_all_refused(ALL("generators[0].kind=roce", "generators[0].file=x"),
			   "x.json: generators[0].kind: messages of RoCE connections need "
			   "transport.kind \"roce\"");
}

static void read__needs_a_system_that_pulls(void **state)
{
	(void)state;
	assert_all_refused(
	    ALL(ROCE, ADDRESS, "roce.operation=read"),
	    "x.json: roce.operation: builders read from the readouts of a cluster, "
	    "with event_manager.mode \"pull\" and roce.service \"rc\": set these, or "
	    "this to \"send\"");
	assert_system_all_refused(
	    ALL(ROCE, "roce.operation=read"),
	    "x.json: node a: roce.operation: builders read from the readouts of a cluster, with "
	    "event_manager.mode \"pull\" and roce.service \"rc\": set these, or this to \"send\"");
	config_free(load_node("a", ALL(ROCE, "roce.operation=read", "event_manager.mode=pull",
				       "nodes[1].ports[0].address=10.0.1.2")));
}

static void node__is_connected_by_the_manager_of_connections(void **state)
{
	(void)state;
	assert_system_all_refused(ALL(ROCE, STATIC),
				  "x.json: node a: roce.connection: readouts of a cluster connect "
				  "by RDMA CM: set it to \"cm\"");
	assert_system_all_refused(ALL(ROCE, "roce.service=ud"),
				  "x.json: node a: roce.service: an MFP of a readout of a cluster "
				  "may be longer than one packet: set it to \"rc\"");
	assert_system_all_refused(
	    ALL(ROCE, "roce.cm_service=65535",
		"nodes[0].builders=[{\"name\": \"x\"}, {\"name\": \"y\"}]"),
	    "x.json: nodes[0].builders: 2, where RoCE is received peers find the 16 of a node at "
	    "most by RDMA CM, at cm_service and the ports behind it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transport__may_be_roce),
		cmocka_unit_test(roce__defaults),
		cmocka_unit_test(roce__holds_what_was_given),
		cmocka_unit_test(queue_pair__defaults),
		cmocka_unit_test(queue_pair__holds_what_was_given),
		cmocka_unit_test(queue_pair__without_a_source_over_ipv6),
		cmocka_unit_test(queue_pairs__may_be_4096),
		cmocka_unit_test(queue_pairs__wrong),
		cmocka_unit_test(queue_pairs__lie_in_different_places),
		cmocka_unit_test(roce__wrong),
		cmocka_unit_test(flow_control__defaults),
		cmocka_unit_test(flow_control__holds_what_was_given),
		cmocka_unit_test(flow_control__wrong),
		cmocka_unit_test(port__is_fit_for_roce),
		cmocka_unit_test(messages__are_mfps),
		cmocka_unit_test(generator__sends_by_roce_alone_on_its_port),
		cmocka_unit_test(read__needs_a_system_that_pulls),
		cmocka_unit_test(node__is_connected_by_the_manager_of_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
