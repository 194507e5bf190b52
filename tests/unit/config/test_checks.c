// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is checked between keys.
#include "helpers.h"

static void names__are_unique_of_each_kind(void **state)
{
	(void)state;
	assert_refused("ports[1]={\"name\": \"wire\", \"profile\": \"null\"}",
		       "x.json: ports[1].name: \"wire\" is the name of ports[0] already");
	assert_refused("builders=[{\"name\": \"a\"}, {\"name\": \"b\"}, {\"name\": \"b\"}]",
		       "x.json: builders[2].name: \"b\" is the name of builders[1] already");
	assert_refused("generators[1]={\"name\": \"g0\", \"port\": \"wire\"}",
		       "x.json: generators[1].name: \"g0\" is the name of generators[0] already");
	assert_refused("writers=[{\"name\": \"w\"}, {\"name\": \"w\"}]",
		       "x.json: writers[1].name: \"w\" is the name of writers[0] already");
	config_free(load_with("writers=[{\"name\": \"b0\"}]"));
}

static void names__of_a_single_element_are_known(void **state)
{
	struct config *config;
	char error[CONFIG_ERROR_SIZE];
	static const char text[] = "{\"ports\": [{\"profile\": \"ring\"}], \"sources\": {\"ids\": "
				   "[1]}, \"builders\": [{}],"
				   " \"generators\": [{}], \"writers\": [{}]}";

	(void)state;
	assert_int_equal(
	    config_parse(&config, text, sizeof(text) - 1, "x.json", NULL, NULL, 0, error), 0);
	assert_string_equal(config->ports[0].name, "wire");
	assert_string_equal(config->builders[0].name, "b0");
	assert_string_equal(config->generators[0].name, "boards");
	assert_string_equal(config->generators[0].port, "wire");
	assert_string_equal(config->writers[0].name, "files");
	config_free(config);
	assert_refused("builders[1]={}",
		       "x.json: builders[1].name: required where there are several");
	assert_refused("generators[1]={}",
		       "x.json: generators[1].name: required where there are several");
	assert_refused("ports[1]={\"profile\": \"ring\"}",
		       "x.json: ports[1].name: required where there are several");
	assert_all_refused(
	    ALL("ports[1]={\"name\": \"p\", \"profile\": \"ring\"}", "generators=[{}]"),
	    "x.json: generators[0].port: required where there are several ports");
}

static void appliance__has_something_to_do(void **state)
{
	(void)state;
	assert_all_refused(
	    ALL("builders=[]", "generators=[]"),
	    "x.json: builders: neither builders nor generators: there is nothing to do");
}

static void port__addresses_are_a_hosts(void **state)
{
	(void)state;
	assert_refused("ports[0].address=0.0.0.0/8",
		       "x.json: ports[0].address: is not the address of a host");
	assert_refused("ports[0].address=224.0.0.1",
		       "x.json: ports[0].address: is not the address of a host");
	assert_refused("ports[0].address=10.1.2.0/24",
		       "x.json: ports[0].address: is not the address of a host");
	assert_refused("ports[0].address=10.1.2.255/24",
		       "x.json: ports[0].address: is not the address of a host");
	config_free(load_with("ports[0].address=10.1.2.255/16"));
	config_free(load_with("ports[0].address=10.1.2.0/31"));
	config_free(load_with("ports[0].address=223.255.255.255"));
	assert_refused("ports[0].mac=01:00:5e:00:00:01",
		       "x.json: ports[0].mac: is a multicast address, no port's own");
	config_free(load_with("generators[0].destination.mac=01:00:5e:00:00:01"));
}

static void port__gateway_is_a_neighbour(void **state)
{
	(void)state;
	config_free(load_with("ports=[{\"name\": \"wire\", \"profile\": \"ring\", "
			      "\"address\": \"10.1.2.3/24\", \"gateway\": \"10.1.2.254\"}]"));
	assert_refused("ports=[{\"name\": \"wire\", \"profile\": \"ring\", "
		       "\"address\": \"10.1.2.3/24\", \"gateway\": \"10.1.3.254\"}]",
		       "x.json: ports[0].gateway: is not in the network of the port's address");
	assert_refused("ports=[{\"name\": \"wire\", \"profile\": \"ring\", "
		       "\"gateway\": \"10.1.3.254\"}]",
		       "x.json: ports[0].gateway: is not in the network of the port's address");
}

static void transport__udp_ports_end_in_time(void **state)
{
	(void)state;
	config_free(load_with("transport={\"udp_port\": 65535, \"udp_ports\": 1}"));
	config_free(load_with("transport={\"udp_port\": 1, \"udp_ports\": 65535}"));
	assert_refused("transport={\"udp_port\": 65535, \"udp_ports\": 2}",
		       "x.json: transport.udp_ports: 2 ports from 65535 on end above 65535");
}

static void transport__ether_type_is_free(void **state)
{
	(void)state;
	assert_refused("transport.ether_type=0x0800",
		       "x.json: transport.ether_type: 0x0800 belongs to another protocol");
	assert_refused("transport.ether_type=34525",
		       "x.json: transport.ether_type: 0x86DD belongs to another protocol");
	assert_refused("transport.ether_type=0x8808",
		       "x.json: transport.ether_type: 0x8808 belongs to another protocol");
}

static void senders__have_addresses_of_the_transport(void **state)
{
	(void)state;
	config_free(load_with("sources.from=[{\"addresses\": [\"10.0.0.0/24\", \"fd00::/64\"]}]"));
	assert_refused("sources.from=[{\"addresses\": [\"02:00:00:00:00:01\"]}]",
		       "x.json: sources.from[0].addresses: transport.kind udp or roce has senders "
		       "with IP addresses");
	assert_all_refused(ALL("transport.kind=eth", "sources.from=[{\"addresses\": [\"::1\"]}]"),
			   "x.json: sources.from[0].addresses: transport.kind eth has senders with "
			   "Ethernet addresses");
	assert_all_refused(ALL("transport.kind=eth", "sources.from=[{\"udp_port\": 1}]"),
			   "x.json: sources.from[0].udp_port: transport.kind eth has no UDP ports");
	assert_refused("sources.from=[{\"udp_port\": 65535, \"udp_ports\": 2}]",
		       "x.json: sources.from[0].udp_ports: 2 ports from 65535 on end above 65535");
	assert_refused(
	    "sources.from=[{\"addresses\": [\"10.0.0.0/33\"]}]",
	    "x.json: sources.from[0].addresses[0]: \"10.0.0.0/33\" is not an address such "
	    "as \"10.0.0.0/24\", \"fd00::1\" or \"02:00:00:00:00:01\"");
}

static void generator__port_is_there(void **state)
{
	(void)state;
	assert_refused("generators[0].port=wier",
		       "x.json: generators[0].port: no port is called \"wier\"");
}

static void generator__file_goes_with_its_kind(void **state)
{
	(void)state;
	assert_refused("generators[0].kind=mdf",
		       "x.json: generators[0].file: is needed with this kind");
	assert_refused("generators[0].kind=mfp",
		       "x.json: generators[0].file: is needed with this kind");
	assert_refused("generators[0].kind=pcap",
		       "x.json: generators[0].file: is needed with this kind");
	assert_refused("generators[0].file=x.mdf",
		       "x.json: generators[0].file: kind synthetic reads no file");
}

static void generator__of_kind_producer(void **state)
{
	(void)state;
	assert_refused("generators[0]={\"name\": \"g\", \"port\": \"wire\", \"kind\": \"producer\","
		       "\"file\": \"x\"}",
		       "x.json: generators[0].file: kind producer reads no file");
	assert_refused("generators[0]={\"name\": \"g\", \"port\": \"wire\", \"kind\": \"producer\","
		       "\"producer\": {\"size\": \"1MiB\", \"max_block\": \"600KiB\"}}",
		       "x.json: generators[0].producer.size: must be at least twice max_block");
}

static void generator__without_a_node_has_no_spill(void **state)
{
	(void)state;
	assert_refused(
	    "generators[0]={\"name\": \"g\", \"port\": \"wire\", \"kind\": \"pcap\","
	    "\"file\": \"x\", \"spill\": {\"size\": 1000}}",
	    "x.json: generators[0].spill: only kinds synthetic, mdf, mfp, producer and port "
	    "have spills");
	assert_refused(
	    "generators[0]={\"name\": \"g\", \"port\": \"wire\", \"kind\": \"producer\","
	    "\"spill\": {\"period\": \"1s\"}}",
	    "x.json: generators[0].spill.size: is needed with the other keys of a spill");
	assert_refused("generators[0]={\"name\": \"g\", \"port\": \"wire\", \"kind\": \"producer\","
		       "\"spill\": {\"size\": 1000}}",
		       "x.json: generators[0].spill: needs a node of a system: only grants have a "
		       "rate");
}

static void generator__makes_spills(void **state)
{
	(void)state;
	assert_refused("generators[0].spill={\"events\": 10, \"period\": \"1s\", \"size\": 9}",
		       "x.json: generators[0].spill.size: is for kinds producer and port: here it "
		       "follows from the events");
	assert_refused("generators[0].spill={\"period\": \"1s\"}",
		       "x.json: generators[0].spill.events: a spill needs at least one event");
	assert_refused(
	    "generators[0].spill={\"events\": 10, \"duration\": \"2s\", \"period\": \"1s\"}",
	    "x.json: generators[0].spill.period: must not be shorter than duration");
	assert_refused(
	    "generators[0]={\"name\": \"g\", \"port\": \"wire\", \"rate\": 5, \"spill\": "
	    "{\"events\": 10, \"period\": \"1s\"}}",
	    "x.json: generators[0].rate: with a spill the events and the duration of that "
	    "say it");
}

#define EVENT_RING "generators[0]={\"name\": \"g\", \"port\": \"wire\", \"kind\": \"event_ring\""

static void generator__of_kind_event_ring(void **state)
{
	(void)state;
	assert_refused(EVENT_RING ", \"file\": \"x\"}",
		       "x.json: generators[0].file: kind event_ring reads no file");
	assert_refused(EVENT_RING "}",
		       "x.json: generators[0].event_ring.appliance: kind event_ring needs the name "
		       "of the appliance that builds the events");
	assert_refused(EVENT_RING ", \"event_ring\": {\"appliance\": \"first\"}}",
		       "x.json: generators[0].ids: kind event_ring sends for one source");
	assert_refused(EVENT_RING ", \"event_ring\": {\"appliance\": \"first\", "
				  "\"number_by\": \"event_id\"}}",
		       "x.json: generators[0].ids: kind event_ring sends for one source");
	assert_refused(EVENT_RING ", \"ids\": [1], \"event_ring\": {\"appliance\": \"first\"}}",
		       "x.json: generators[0].event_ring.number_by: arrival is for a single "
		       "source in sources.ids: use event_id");
	assert_all_refused(
	    ALL("sources.ids=[1]", EVENT_RING ", \"event_ring\": {\"appliance\": \"first\"}}"),
	    "x.json: generators[0].kind: event_ring sends built events, which are no "
	    "MFPs: sources.payload must be opaque");
}

static void generator__mean_is_below_maximum(void **state)
{
	(void)state;
	assert_refused("generators[0].size={\"law\": \"gaussian\", \"mean\": 241}",
		       "x.json: generators[0].size.mean: 241 is above maximum, which is 240");
	config_free(load_with("generators[0].size={\"law\": \"gaussian\", \"mean\": 240}"));
	config_free(load_with("generators[0].size={\"law\": \"fixed\", \"mean\": 241}"));
}

static void generator__ids_are_among_the_sources(void **state)
{
	(void)state;
	assert_refused("generators[0].ids=[1, \"8-9\"]",
		       "x.json: generators[0].ids: source id 9 (0x9) is not in sources.ids");
	config_free(load_with("generators[0].ids=[\"1-8\"]"));
}

static void faults__name_a_source_of_the_generator(void **state)
{
	(void)state;
	assert_refused(
	    "generators[0].faults.silent_source=9",
	    "x.json: generators[0].faults.silent_source: 9 is no source of this generator");
	assert_all_refused(ALL("generators[0].ids=[1]", "generators[0].faults.silent_source=2"),
			   "x.json: generators[0].faults.silent_source: 2 is no source of this "
			   "generator");
	assert_refused(
	    "generators[0].faults={\"late_source\": 0, \"late_delay\": \"1s\"}",
	    "x.json: generators[0].faults.late_source: 0 is no source of this generator");
	assert_refused("generators[0].faults.late_source=1",
		       "x.json: generators[0].faults.late_delay: is needed with late_source");
}

static void writer__has_something_to_write(void **state)
{
	(void)state;
	assert_all_refused(ALL("builders=[]", "writers[0].name=w"),
			   "x.json: writers[0].name: without builders there is nothing to write");
}

static void writer__mdf_has_no_opaque_blocks(void **state)
{
	(void)state;
	assert_all_refused(
	    ALL("sources.payload=opaque", "writers[0]={\"name\": \"w\", \"format\": \"mdf\"}"),
	    "x.json: writers[0].format: mdf has no form for sources.payload "
	    "\"opaque\"; mep has");
}

static void writer__source_map_goes_with_mdf(void **state)
{
	(void)state;
	assert_refused("writers[0]={\"name\": \"w\", \"source_map\": \"m\"}",
		       "x.json: writers[0].source_map: is of use with format mdf only");
}

static void groups__of_writers_are_added_once(void **state)
{
	struct config *config =
	    load_with("writers=[{\"name\": \"a\"}, {\"name\": \"b\", \"group\": \"a\"},"
		      " {\"name\": \"c\"}]");

	(void)state;
	assert_int_equal(config->event_ring.n_groups, 2);
	assert_string_equal(config->event_ring.groups[0], "a");
	assert_string_equal(config->event_ring.groups[1], "c");
	config_free(config);
}

static void groups__are_at_most_eight(void **state)
{
	const char *eight = "event_ring.groups=[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\"]";

	(void)state;
	config_free(load_with(eight));
	assert_all_refused(ALL(eight, "writers[0].name=w"),
			   "x.json: writers[0].group: \"w\" is one group too many, at most 8 are "
			   "possible");
}

#define FILTER "groups=[{\"name\": \"f\", \"decides\": true}]"

static void groups__come_after_a_group_that_decides(void **state)
{
	const struct config_group *group;
	struct config *config =
	    load_with("groups=[{\"name\": \"f\", \"decides\": true, \"undecided\": \"reject\"},"
		      " {\"name\": \"m\", \"after\": \"f\"}]");

	(void)state;
	assert_int_equal(config->event_ring.n_groups, 2);
	group = config_group(config, "f");
	assert_true(group->decides && group->undecided == CONFIG_UNDECIDED_REJECT);
	assert_string_equal(config_group(config, "m")->after, "f");
	assert_null(config_group(config, "other"));
	config_free(config);

	assert_refused("groups=[{\"name\": \"m\", \"after\": \"f\"}]",
		       "x.json: groups[0].after: there is no group \"f\"");
	assert_refused(
	    "groups=[{\"name\": \"m\", \"after\": \"m\"}]",
	    "x.json: groups[0].after: group \"m\" does not decide: `decides` of its entry "
	    "in groups is not true");
	assert_refused(
	    "groups=[{\"name\": \"a\", \"decides\": true, \"after\": \"b\"},"
	    " {\"name\": \"b\", \"decides\": true}]",
	    "x.json: groups[0].after: \"a\" decides itself: a group that decides gets all "
	    "events");
	assert_refused("groups=[{\"name\": \"a\"}, {\"name\": \"a\"}]",
		       "x.json: groups[1].name: \"a\" is the name of groups[0] already");
	assert_refused("groups=[{\"name\": \"a\", \"decides\": true},"
		       " {\"name\": \"b\", \"decides\": true},"
		       " {\"name\": \"c\", \"decides\": true},"
		       " {\"name\": \"d\", \"decides\": true},"
		       " {\"name\": \"e\", \"decides\": true}]",
		       "x.json: groups[4].decides: at most 4 groups may decide");
}

static void groups__of_writers_come_after_one(void **state)
{
	(void)state;
	assert_refused("writers=[{\"name\": \"w\", \"after\": \"f\"}]",
		       "x.json: writers[0].after: there is no group \"f\"");
	assert_refused(
	    "writers=[{\"name\": \"v\"}, {\"name\": \"w\", \"after\": \"v\"}]",
	    "x.json: writers[1].after: group \"v\" does not decide: `decides` of its entry "
	    "in groups is not true");
	assert_all_refused(
	    ALL(FILTER, "writers=[{\"name\": \"w\", \"group\": \"f\", \"after\": \"f\"}]"),
	    "x.json: writers[0].after: its group \"f\" decides itself and gets all events");
	assert_all_refused(ALL("groups=[{\"name\": \"f\", \"decides\": true}, {\"name\": \"g\", "
			       "\"decides\": true},"
			       " {\"name\": \"w\", \"after\": \"g\"}]",
			       "writers=[{\"name\": \"w\", \"after\": \"f\"}]"),
			   "x.json: writers[0].after: its group \"w\" comes after \"g\" already");
}

static void results__name_a_group_that_decides(void **state)
{
	const char *filter = "groups=[{\"name\": \"f\", \"decides\": true}]";

	(void)state;
	assert_refused("results=[{\"name\": \"r\", \"group\": \"f\"}]",
		       "x.json: results[0].group: there is no group \"f\"");
	assert_all_refused(
	    ALL(filter, "results=[{\"name\": \"f\", \"group\": \"f\"}]"),
	    "x.json: results[0].name: \"f\" is the name of a consumer group already");
	assert_all_refused(
	    ALL(filter, "results=[{\"name\": \"r\", \"group\": \"f\", \"to\": \"udp\"}]"),
	    "x.json: results[0].address: is needed with \"to\": \"udp\"");
	assert_all_refused(
	    ALL(filter, "results=[{\"name\": \"r\", \"group\": \"f\", \"to\": \"ring\"}]"),
	    "x.json: results[0].ring.name: is needed with \"to\": \"ring\"");
	assert_all_refused(
	    ALL(filter, "name=x",
		"results=[{\"name\": \"r\", \"group\": \"f\", "
		"\"to\": \"ring\", \"ring\": {\"name\": \"x\"}}]"),
	    "x.json: results[0].ring.name: \"x\" is the name of the builders' event rings");
	assert_all_refused(
	    ALL(filter,
		"results=[{\"name\": \"r\", \"group\": \"f\", "
		"\"to\": \"ring\", \"ring\": {\"name\": \"d\"}}, {\"name\": \"s\", \"group\": "
		"\"f\", \"to\": \"ring\", \"ring\": {\"name\": \"d\"}}]"),
	    "x.json: results[1].ring.name: \"d\" is the ring of results[0] already");
	assert_refused("results=[{\"name\": \"r\"}]",
		       "x.json: results[0].group: either this key is needed, or `from`");
	assert_all_refused(
	    ALL(filter, "results=[{\"name\": \"r\", \"group\": \"f\", \"from\": \"d\"}]"),
	    "x.json: results[0].group: either this key is needed, or `from`");
	assert_refused("results=[{\"name\": \"r\", \"from\": \"d\", \"origin_packing\": 1}]",
		       "x.json: results[0].origin_packing: the decisions of `from` have the event "
		       "ids of this system");
	assert_refused("results=[{\"name\": \"r\", \"from\": \"d\", \"to\": \"ring\", \"ring\": "
		       "{\"name\": \"d\"}}]",
		       "x.json: results[0].from: \"d\" is a ring of this evb");
	assert_all_refused(
	    ALL(filter, "results=[{\"name\": \"r\", \"group\": \"f\", \"origin_packing\": 1}]"),
	    "x.json: results[0].origin_packing: blocks that are built events need sources.payload "
	    "opaque");
}

static void lcores__have_a_cpu_each(void **state)
{
	(void)state;
	assert_refused("lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"source.g0\"]},"
		       " {\"cpu\": 1, \"roles\": [\"builder.b0\"]}]",
		       "x.json: lcores[1].cpu: CPU 1 is that of lcores[0] already");
}

static void lcores__have_each_role_once(void **state)
{
	(void)state;
	assert_refused("lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"builder.b1\"]}]",
		       "x.json: lcores[0].roles[1]: there is no role \"builder.b1\"");
	assert_refused("lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"builder.b0\"]}]",
		       "x.json: lcores: no lcore has role \"source.g0\"");
	assert_refused("lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"builder.b0\"]},"
		       " {\"cpu\": 0, \"roles\": [\"source.g0\", \"rx.wire\"]}]",
		       "x.json: lcores[1].roles[1]: \"rx.wire\" is in lcores[0] already");
	assert_refused("lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\", \"rx.wire\"]}]",
		       "x.json: lcores[0].roles[1]: \"rx.wire\" is given twice");
}

static void lcores__name_the_queues_of_a_port(void **state)
{
	(void)state;
	assert_all_refused(
	    ALL("ports[0].rx_queues=2", "lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire\"]}]"),
	    "x.json: lcores[0].roles[0]: there is no role \"rx.wire\"");
	assert_all_refused(ALL("ports[0].rx_queues=2",
			       "lcores=[{\"cpu\": 1, \"roles\": [\"rx.wire.0\", \"builder.b0\", "
			       "\"source.g0\"]}]"),
			   "x.json: lcores: no lcore has role \"rx.wire.1\"");
}

static void lcores__receive_only_for_builders(void **state)
{
	(void)state;
	assert_all_refused(
	    ALL("builders=[]", "lcores=[{\"cpu\": 1, \"roles\": [\"source.g0\", \"rx.wire\"]}]"),
	    "x.json: lcores[0].roles[1]: there is no role \"rx.wire\"");
	assert_all_refused(ALL("builders=[]",
			       "generators[1]={\"name\": \"g1\", \"port\": \"wire\"}",
			       "lcores=[{\"cpu\": 1, \"roles\": [\"source.g0\"]}]"),
			   "x.json: lcores: no lcore has role \"source.g1\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names__are_unique_of_each_kind),
		cmocka_unit_test(names__of_a_single_element_are_known),
		cmocka_unit_test(appliance__has_something_to_do),
		cmocka_unit_test(port__addresses_are_a_hosts),
		cmocka_unit_test(port__gateway_is_a_neighbour),
		cmocka_unit_test(transport__udp_ports_end_in_time),
		cmocka_unit_test(transport__ether_type_is_free),
		cmocka_unit_test(senders__have_addresses_of_the_transport),
		cmocka_unit_test(generator__port_is_there),
		cmocka_unit_test(generator__file_goes_with_its_kind),
		cmocka_unit_test(generator__of_kind_producer),
		cmocka_unit_test(generator__without_a_node_has_no_spill),
		cmocka_unit_test(generator__makes_spills),
		cmocka_unit_test(generator__of_kind_event_ring),
		cmocka_unit_test(generator__mean_is_below_maximum),
		cmocka_unit_test(generator__ids_are_among_the_sources),
		cmocka_unit_test(faults__name_a_source_of_the_generator),
		cmocka_unit_test(writer__has_something_to_write),
		cmocka_unit_test(writer__mdf_has_no_opaque_blocks),
		cmocka_unit_test(writer__source_map_goes_with_mdf),
		cmocka_unit_test(groups__of_writers_are_added_once),
		cmocka_unit_test(groups__are_at_most_eight),
		cmocka_unit_test(groups__come_after_a_group_that_decides),
		cmocka_unit_test(groups__of_writers_come_after_one),
		cmocka_unit_test(results__name_a_group_that_decides),
		cmocka_unit_test(lcores__have_a_cpu_each),
		cmocka_unit_test(lcores__have_each_role_once),
		cmocka_unit_test(lcores__name_the_queues_of_a_port),
		cmocka_unit_test(lcores__receive_only_for_builders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
