// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Every message that a value can cause, word for word.
#include <stdio.h>
#include <string.h>

#include "helpers.h"

static void keys__unknown(void **state)
{
	(void)state;
	assert_refused("builders[0].slot=1",
		       "x.json: builders[0].slot: unknown key, did you mean \"slots\"?");
	assert_refused("builder=[]", "x.json: builder: unknown key, did you mean \"builders\"?");
	assert_refused("events.dedline=1",
		       "x.json: events.dedline: unknown key, did you mean \"deadline\"?");
	assert_refused("generators[0].faults.losss=1",
		       "x.json: generators[0].faults.losss: unknown key, did you mean \"loss\"?");
	assert_refused("zebra=1", "x.json: zebra: unknown key");
	assert_refused("links.x=1", "x.json: links.x: unknown key");
	assert_refused("links.abcdefghijklmnopqrstuvwxyzabcdefgh=1",
		       "x.json: links.abcdefghijklmnopqrstuvwxyzabcdefgh: unknown key");
}

static void keys__given_twice(void **state)
{
	(void)state;
	assert_text_refused("{\"name\": \"a\", \"name\": \"b\"}",
			    "x.json: name: key is given twice");
	assert_refused("ports[0].options={\"a\": 1, \"b\": 1, \"a\": 2}",
		       "x.json: ports[0].options.a: key is given twice");
}

static void keys__missing(void **state)
{
	(void)state;
	assert_text_refused("{}", "x.json: ports: required, but missing");
	assert_text_refused("{\"ports\": [{\"name\": \"w\", \"profile\": \"ring\"}]}",
			    "x.json: sources: required, but missing");
	assert_refused("sources={}", "x.json: sources.ids: required, but missing");
	assert_refused("ports[0]={}", "x.json: ports[0].profile: required, but missing");
	assert_refused("lcores[0].cpu=1", "x.json: lcores[0].roles: required, but missing");
}

static void types__of_objects_and_lists(void **state)
{
	(void)state;
	assert_text_refused("[]", "x.json: expected an object, found a list");
	assert_text_refused("3", "x.json: expected an object, found a number");
	assert_refused("events=[]", "x.json: events: expected an object, found a list");
	assert_refused("events=true", "x.json: events: expected an object, found a boolean");
	assert_refused("events=null", "x.json: events: expected an object, found null");
	assert_refused("builders={}",
		       "x.json: builders: expected a list of objects, found an object");
	assert_refused("builders[0]=x", "x.json: builders[0]: expected an object, found a string");
	assert_refused("lcores=3",
		       "x.json: lcores: expected \"auto\" or a list of objects, found a number");
	assert_refused("lcores=manual",
		       "x.json: lcores: expected \"auto\" or a list of objects, found a string");
	assert_refused("event_ring.groups=a",
		       "x.json: event_ring.groups: expected a list of names, found a string");
	assert_refused(
	    "ports[0].options=[]",
	    "x.json: ports[0].options: expected an object of names and values, found a list");
	assert_refused("sources.ids=5",
		       "x.json: sources.ids: expected a list of source ids, found a number");
}

static void types__of_values(void **state)
{
	(void)state;
	assert_refused("builders[0].slots=true",
		       "x.json: builders[0].slots: expected a whole number, found a boolean");
	assert_refused("events.deadline=[]",
		       "x.json: events.deadline: expected \"auto\" or a whole number or a string "
		       "with a unit, found a list");
	assert_refused(
	    "generators[0].rate=null",
	    "x.json: generators[0].rate: expected a number or a string with a unit, found "
	    "null");
	assert_refused("generators[0].faults.loss=few",
		       "x.json: generators[0].faults.loss: expected a number, found a string");
	assert_refused("ports[0].verify_checksums=1",
		       "x.json: ports[0].verify_checksums: expected true or false, found a number");
	assert_refused("transport.kind=1",
		       "x.json: transport.kind: expected one of udp, eth, roce, found a number");
	assert_refused("name=1", "x.json: name: expected a name, found a number");
	assert_refused("ports[0].device=1",
		       "x.json: ports[0].device: expected a string, found a number");
	assert_refused("ports[0].address=1",
		       "x.json: ports[0].address: expected an IPv4 address, found a number");
	assert_refused("ports[0].mac=1",
		       "x.json: ports[0].mac: expected an Ethernet address, found a number");
	assert_refused("ports[0].options.a=true",
		       "x.json: ports[0].options.a: expected a string, found a boolean");
	assert_refused("lcores=[{\"cpu\": 0, \"roles\": [1]}]",
		       "x.json: lcores[0].roles[0]: expected the name of a role, found a number");
	assert_refused(
	    "sources.ids=[null]",
	    "x.json: sources.ids[0]: expected a source id or a range \"FIRST-LAST\", found "
	    "null");
}

static void numbers__out_of_range(void **state)
{
	(void)state;
	assert_refused("builders[0].slots=0",
		       "x.json: builders[0].slots: 0 is out of range 1..65536");
	assert_refused("builders[0].slots=65537",
		       "x.json: builders[0].slots: 65537 is out of range 1..65536");
	assert_refused("builders[0].slots=-1",
		       "x.json: builders[0].slots: -1 is out of range 1..65536");
	assert_refused("builders[0].slots=\"70000\"",
		       "x.json: builders[0].slots: \"70000\" is out of range 1..65536");
	assert_refused("builders[0].slot_size=4095",
		       "x.json: builders[0].slot_size: 4095 is out of range 4KiB..4GiB");
	assert_refused("builders[0].slot_size=5GiB",
		       "x.json: builders[0].slot_size: \"5GiB\" is out of range 4KiB..4GiB");
	assert_refused(
	    "events.deadline=999",
	    "x.json: events.deadline: 999 is out of range 1us..1h (a number without a unit "
	    "is in nanoseconds)");
	assert_refused("events.deadline=61min",
		       "x.json: events.deadline: \"61min\" is out of range 1us..1h");
	assert_refused("idle.sleep=19us",
		       "x.json: idle.sleep: \"19us\" is out of range 20us..10ms");
	assert_refused("generators[0].faults.loss=1.01",
		       "x.json: generators[0].faults.loss: 1.01 is out of range 0..1");
	assert_refused("generators[0].faults.loss=-0.5",
		       "x.json: generators[0].faults.loss: -0.5 is out of range 0..1");
	assert_refused("generators[0].rate=2GHz",
		       "x.json: generators[0].rate: \"2GHz\" is out of range 0..1GHz");
	assert_refused(
	    "generators[0].first_event=\"18446744073709551615\"",
	    "x.json: generators[0].first_event: \"18446744073709551615\" is out of range "
	    "0..18446744073709551614");
	assert_text_refused("{\"run_number\": 1e400}",
			    "x.json: run_number: inf is out of range 0..4294967295");
}

static void numbers__at_the_edges_are_taken(void **state)
{
	const char *const edges[] = {
		"builders[0].slots=1",
		"builders[0].slots=65536",
		"builders[0].slot_size=4KiB",
		"builders[0].slot_size=4GiB",
		"events.deadline=1us",
		"events.deadline=1000",
		"events.deadline=1h",
		"ports[0].mtu=64",
		"ports[0].mtu=65500",
		"ports[0].rx_queues=64",
		"run_number=0",
		"run_number=4294967295",
		"idle.sleep=20us",
		"links.depth=1048576",
		"transport.udp_port=65535",
		"transport.udp_port=1",
		"sources.packing=65535",
		"generators[0].variants=1",
		"generators[0].faults.loss=1",
		"generators[0].size.maximum=0",
		"generators[0].rate=1GHz",
		"transport.ether_type=0x600",
		"generators[0].seed=18446744073709551615",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		config_free(load_with(edges[i]));
}

static void numbers__not_whole(void **state)
{
	(void)state;
	assert_refused("builders[0].slots=1.5",
		       "x.json: builders[0].slots: 1.5 is not a whole number");
	assert_refused("events.deadline=1000.5",
		       "x.json: events.deadline: 1000.5 is not a whole number");
	assert_refused("builders[0].slots=many",
		       "x.json: builders[0].slots: \"many\" is not a whole number");
	assert_refused("events.deadline=soon",
		       "x.json: events.deadline: \"soon\" is not a quantity such as \"100us\"; "
		       "\"auto\" is allowed, too");
	assert_refused(
	    "events.deadline=5sec",
	    "x.json: events.deadline: \"5sec\" has an unknown unit, allowed are ns, us, ms, "
	    "s, min, h");
	assert_refused(
	    "ports[0].options.a=0.5",
	    "x.json: ports[0].options.a: 0.5 is not a whole number, write it as a string");
	assert_refused("links.depth=100", "x.json: links.depth: 100 is not a power of two");
}

static void numbers__that_json_cannot_hold(void **state)
{
	char text[512];

	(void)state;
	strcpy(text, base_text);
	strcpy(strstr(text, "\"port\": \"wire\"}]}"),
	       "\"port\": \"wire\", \"seed\": 9007199254740993}]}");
	assert_text_refused(text, "x.json: generators[0].seed: numbers above 9007199254740991 lose "
				  "digits in JSON, write it as a string");
}

static void words__unknown(void **state)
{
	(void)state;
	assert_refused("transport.kind=tcp",
		       "x.json: transport.kind: \"tcp\" is none of udp, eth, roce");
	assert_refused("memory.kind=", "x.json: memory.kind: \"\" is none of auto, hugepages, shm");
	assert_refused("generators[0].kind=PCAP",
		       "x.json: generators[0].kind: \"PCAP\" is none of synthetic, mdf, mfp, pcap, "
		       "roce, producer, event_ring, port");
}

static void names__wrong(void **state)
{
	(void)state;
	assert_refused("name=a b", "x.json: name: \"a b\" has a character outside A-Z a-z 0-9 _ -");
	assert_refused("name=a.b", "x.json: name: \"a.b\" has a character outside A-Z a-z 0-9 _ -");
	assert_refused("name=", "x.json: name: must not be empty");
	assert_refused(
	    "name=abcdefghijklmnopqrstuvwxyzabcdef",
	    "x.json: name: \"abcdefghijklmnopqrstuvwxyzabcdef\" has 32 characters, at most "
	    "31 are allowed");
	assert_refused(
	    "builders[0].name=abcdefghijklmnopqrstuvwx",
	    "x.json: builders[0].name: \"abcdefghijklmnopqrstuvwx\" has 24 characters, at "
	    "most 23 are allowed");
	assert_refused(
	    "lcores=[{\"cpu\": 0, \"roles\": [\"rx/wire\"]}]",
	    "x.json: lcores[0].roles[0]: \"rx/wire\" has a character outside A-Z a-z 0-9 _ "
	    "- .");
	assert_refused(
	    "ports[0].options={\"a,b\": 1}",
	    "x.json: ports[0].options.a,b: \"a,b\" has a character outside A-Z a-z 0-9 _ -");
	assert_refused("event_ring.groups=[\"a\", \"a\"]",
		       "x.json: event_ring.groups[1]: \"a\" is given twice");
}

static void text__wrong(void **state)
{
	char override[320] = "ports[0].device=";

	(void)state;
	memset(override + strlen(override), 'x', 256);
	assert_refused(override,
		       "x.json: ports[0].device: 256 bytes long, at most 255 are allowed");
	override[strlen(override) - 1] = '\0';
	config_free(load_with(override));
	assert_refused("ports[0].profile=", "x.json: ports[0].profile: must not be empty");
	assert_refused("ports[0].device=\"a\\nb\"",
		       "x.json: ports[0].device: \"a?b\" has a control character");
}

static void addresses__wrong(void **state)
{
	static const char *const wrong[] = { "10.0.0.256",  "10.0.0",           "10.0.0.1/33",
					     "10.0.0.1/",   "10.0.0.1/08",      "10.0.0.1/1x",
					     "010.0.0.1",   "10.0.0.1.2",       "::1",
					     "10.0.0.1/-1", "1000.000.000.0001" };
	char override[64], expected[128];

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(override, sizeof(override), "ports[0].address=%s", wrong[i]);
		snprintf(expected, sizeof(expected),
			 "x.json: ports[0].address: \"%s\" is not an IPv4 address such as "
			 "\"10.0.0.1/24\"",
			 wrong[i]);
		assert_refused(override, expected);
	}
	assert_refused("generators[0].destination.address=10.0.0.1/24",
		       "x.json: generators[0].destination.address: \"10.0.0.1/24\" is not an IPv4 "
		       "address such as \"10.0.0.1\"");
}

static void macs__wrong(void **state)
{
	static const char *const wrong[] = { "02:00:00:00:00",      "02:00:00:00:00:0",
					     "02-00-00-00-00-01",   "02:00:00:00:00:0g",
					     "02:00:00:00:00:01:2", "0:200:00:00:00:01" };
	char override[64], expected[128];

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(override, sizeof(override), "ports[0].mac=%s", wrong[i]);
		snprintf(expected, sizeof(expected),
			 "x.json: ports[0].mac: \"%s\" is not an Ethernet address such as "
			 "\"02:00:00:00:00:01\"",
			 wrong[i]);
		assert_refused(override, expected);
	}
}

static void ids__wrong(void **state)
{
	(void)state;
	assert_refused("sources.ids=[]", "x.json: sources.ids: at least one source id is needed");
	assert_refused("sources.ids=[65536]",
		       "x.json: sources.ids[0]: 65536 is out of range 0..65535");
	assert_refused("sources.ids=[1, \"0x10000\"]",
		       "x.json: sources.ids[1]: \"0x10000\" is out of range 0..65535");
	assert_refused("sources.ids=[\"1-8\", 3]",
		       "x.json: sources.ids[1]: source id 3 (0x3) is given twice");
	assert_refused("sources.ids=[\"1-8\", \"0x8-9\"]",
		       "x.json: sources.ids[1]: source id 8 (0x8) is given twice");
	assert_refused("sources.ids=[\"9-8\"]",
		       "x.json: sources.ids[0]: range \"9-8\" ends before it begins");
	assert_refused("sources.ids=[\"1-\"]",
		       "x.json: sources.ids[0]: \"\" is not a whole number");
	assert_refused("sources.ids=[\"-1\"]",
		       "x.json: sources.ids[0]: \"\" is not a whole number");
	assert_refused("sources.ids=[\"1-2-3\"]",
		       "x.json: sources.ids[0]: \"2-3\" is not a whole number");
	assert_refused(
	    "sources.ids=[\"0000000000000000001-5\"]",
	    "x.json: sources.ids[0]: \"0000000000000000001-5\" is not a range of source ids");
	assert_refused("sources.ids=[\"0-4096\"]",
		       "x.json: sources.ids: 4097 source ids, at most 4096 are possible");
	assert_refused("sources.ids=[1.5]", "x.json: sources.ids[0]: 1.5 is not a whole number");
	assert_refused("sources.expected=[8, 9]",
		       "x.json: sources.expected: source id 9 (0x9) is not in sources.ids");
	assert_refused("sources.expected=[]",
		       "x.json: sources.expected: at least one source id is needed");
	assert_refused("sources.expected={\"source_map\": \"x\"}",
		       "x.json: sources.expected: expected a list of source ids, found an object");
	assert_refused("sources.ids={\"map\": \"x\"}", "x.json: sources.ids.map: unknown key");
	assert_refused("sources.ids={}", "x.json: sources.ids.source_map: required, but missing");
}

static void lists__of_wrong_length(void **state)
{
	(void)state;
	assert_refused("ports=[]", "x.json: ports: at least one element is needed");
	assert_refused("lcores=[]", "x.json: lcores: at least one element is needed");
	assert_refused("lcores=[{\"cpu\": 1, \"roles\": []}]",
		       "x.json: lcores[0].roles: at least one element is needed");
	assert_refused("event_ring.groups=[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]",
		       "x.json: event_ring.groups: more than 8 elements");
	assert_refused("ports[0].options={\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,"
		       "\"7\":0,\"8\":0,\"9\":0,\"10\":0,\"11\":0,\"12\":0,\"13\":0,\"14\":0,"
		       "\"15\":0,\"16\":0}",
		       "x.json: ports[0].options: more than 16 options");
	assert_refused("writers=[0,0]", "x.json: writers[0]: expected an object, found a number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys__unknown),
		cmocka_unit_test(keys__given_twice),
		cmocka_unit_test(keys__missing),
		cmocka_unit_test(types__of_objects_and_lists),
		cmocka_unit_test(types__of_values),
		cmocka_unit_test(numbers__out_of_range),
		cmocka_unit_test(numbers__at_the_edges_are_taken),
		cmocka_unit_test(numbers__not_whole),
		cmocka_unit_test(numbers__that_json_cannot_hold),
		cmocka_unit_test(words__unknown),
		cmocka_unit_test(names__wrong),
		cmocka_unit_test(text__wrong),
		cmocka_unit_test(addresses__wrong),
		cmocka_unit_test(macs__wrong),
		cmocka_unit_test(ids__wrong),
		cmocka_unit_test(lists__of_wrong_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
