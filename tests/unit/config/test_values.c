// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What valid configurations become.
#include <string.h>

#include "helpers.h"

static void defaults__are_as_the_manual_says(void **state)
{
	struct config *config = load_with("name=evb");

	(void)state;
	assert_string_equal(config->path, "x.json");
	assert_string_equal(config->name, "evb");
	assert_int_equal(config->run_number, 1);
	assert_int_equal(config->memory.kind, MEMORY_AUTO);
	assert_int_equal(config->memory.limit, 0);
	assert_int_equal(config->transport.kind, CONFIG_TRANSPORT_UDP);
	assert_int_equal(config->transport.udp_port, 19522);
	assert_int_equal(config->transport.udp_ports, 1);
	assert_int_equal(config->transport.ether_type, 0x88b5);
	assert_int_equal(config->sources.packing, 1);
	assert_int_equal(config->sources.payload, PAYLOAD_MFP);
	assert_int_equal(config->events.deadline_ns, 100000000);
	assert_int_equal(config->events.on_incomplete, INCOMPLETE_FLAG);
	assert_int_equal(config->events.on_no_slot, NO_SLOT_WAIT);
	assert_int_equal(config->events.on_end_of_run, END_OF_RUN_STOPS);
	assert_int_equal(config->events.drain_timeout_ns, 2000000000);
	assert_string_equal(config->event_ring.directory, "");
	assert_int_equal(config->event_ring.n_groups, 0);
	assert_int_equal(config->n_writers, 0);
	assert_int_equal(config->n_lcores, 0);
	assert_int_equal(config->idle.policy, CONFIG_IDLE_ADAPTIVE);
	assert_int_equal(config->idle.yields, 100);
	assert_int_equal(config->idle.sleep_ns, 50000);
	assert_int_equal(config->links.depth, 4096);
	assert_int_equal(config->links.policy, CONFIG_LINK_LOSSLESS);
	config_free(config);
}

static void defaults__of_a_port_and_a_builder(void **state)
{
	struct config *config = load_with("name=evb");
	const struct port_settings *port = &config->ports[0];

	(void)state;
	assert_int_equal(config->n_ports, 1);
	assert_string_equal(port->name, "wire");
	assert_string_equal(port->profile, "ring");
	assert_string_equal(port->device, "");
	assert_int_equal(port->n_options, 0);
	assert_int_equal(port->mtu, 1500);
	assert_false(port->has_address);
	assert_false(port->has_mac);
	assert_int_equal(port->rx_queues, 1);
	assert_int_equal(port->rx_descriptors, 0);
	assert_int_equal(port->tx_descriptors, 0);
	assert_int_equal(port->link_timeout_ns, 5000000000);
	assert_true(port->verify_checksums);
	assert_int_equal(port->destinations, PORT_DESTINATIONS_OWN);
	assert_int_equal(config->n_builders, 1);
	assert_int_equal(config->builders[0].slots, 64);
	assert_int_equal(config->builders[0].slot_size, 4 << 20);
	config_free(config);
}

static void defaults__of_a_generator(void **state)
{
	struct config *config = load_with("name=evb");
	const struct config_generator *generator = &config->generators[0];

	(void)state;
	assert_int_equal(config->n_generators, 1);
	assert_string_equal(generator->name, "g0");
	assert_string_equal(generator->port, "wire");
	assert_int_equal(generator->kind, GENERATOR_SYNTHETIC);
	assert_string_equal(generator->file, "");
	assert_int_equal(generator->n_ids, 0);
	assert_true(generator->rate == 0);
	assert_true(generator->speed == 1);
	assert_int_equal(generator->events, 0);
	assert_int_equal(generator->first_event, 0);
	assert_int_equal(generator->sizes.law, SIZE_FIXED);
	assert_int_equal(generator->sizes.mean, 100);
	assert_int_equal(generator->sizes.sigma, 20);
	assert_int_equal(generator->sizes.maximum, 240);
	assert_int_equal(generator->variants, 4);
	assert_int_equal(generator->seed, 1);
	assert_int_equal(generator->destination_address, 0x0a000001);
	assert_false(generator->has_destination_mac);
	assert_false(generator->load_balancer_header);
	assert_true(generator->faults.loss == 0);
	assert_int_equal(generator->faults.reorder_window, 0);
	assert_false(generator->faults.has_silent_source);
	assert_false(generator->faults.has_late_source);
	config_free(config);
}

static void defaults__of_a_writer(void **state)
{
	struct config *config = load_with("writers[0].name=disk");
	const struct config_writer *writer = &config->writers[0];

	(void)state;
	assert_int_equal(config->n_writers, 1);
	assert_string_equal(writer->group, "disk");
	assert_string_equal(writer->directory, ".");
	assert_string_equal(writer->prefix, "events");
	assert_int_equal(writer->format, FILE_FORMAT_MEP);
	assert_int_equal(writer->rotate_size, 1 << 30);
	assert_int_equal(writer->rotate_time_ns, 0);
	assert_string_equal(writer->source_map, "");
	assert_int_equal(config->event_ring.n_groups, 1);
	assert_string_equal(config->event_ring.groups[0], "disk");
	config_free(config);
}

static void port__holds_what_was_given(void **state)
{
	struct config *config = load_with(
	    "ports[0]={\"name\": \"wire\", \"profile\": \"af_packet\", \"device\": \"eth1\","
	    " \"options\": {\"framesz\": 2048, \"qdisc_bypass\": \"1\", \"off\": -3},"
	    " \"mtu\": \"9kB\", \"address\": \"192.168.7.9/20\", \"mac\": \"02:aB:00:00:10:fF\","
	    " \"rx_queues\": 4, \"rx_descriptors\": 1024, \"tx_descriptors\": \"512\","
	    " \"link_timeout\": \"250ms\", \"verify_checksums\": false, \"destinations\": "
	    "\"any\"}");
	const struct port_settings *port = &config->ports[0];
	const uint8_t mac[6] = { 0x02, 0xab, 0x00, 0x00, 0x10, 0xff };

	(void)state;
	assert_string_equal(port->profile, "af_packet");
	assert_string_equal(port->device, "eth1");
	assert_int_equal(port->n_options, 3);
	assert_string_equal(port->options[0].name, "framesz");
	assert_string_equal(port->options[0].value, "2048");
	assert_string_equal(port->options[1].value, "1");
	assert_string_equal(port->options[2].value, "-3");
	assert_int_equal(port->mtu, 9000);
	assert_true(port->has_address);
	assert_int_equal(port->address, 0xc0a80709);
	assert_int_equal(port->prefix_length, 20);
	assert_true(port->has_mac);
	assert_memory_equal(port->mac, mac, 6);
	assert_int_equal(port->rx_queues, 4);
	assert_int_equal(port->rx_descriptors, 1024);
	assert_int_equal(port->tx_descriptors, 512);
	assert_int_equal(port->link_timeout_ns, 250000000);
	assert_false(port->verify_checksums);
	assert_int_equal(port->destinations, PORT_DESTINATIONS_ANY);
	config_free(config);
}

static void address__without_a_prefix_stands_alone(void **state)
{
	struct config *config = load_with("ports[0].address=10.1.2.3");

	(void)state;
	assert_int_equal(config->ports[0].address, 0x0a010203);
	assert_int_equal(config->ports[0].prefix_length, 32);
	config_free(config);
}

static void generator__holds_what_was_given(void **state)
{
	struct config *config = load_with(
	    "generators[0]={\"name\": \"g0\", \"port\": \"wire\", \"kind\": \"pcap\","
	    " \"file\": \"a b.pcap\", \"ids\": [7, \"0x2\"], \"rate\": \"2.5kHz\", \"speed\": 0.25,"
	    " \"events\": 1000, \"first_event\": \"18446744073709551614\","
	    " \"seed\": \"9007199254740993\", \"variants\": 64,"
	    " \"size\": {\"law\": \"lhcb\", \"mean\": 1, \"sigma\": 2, \"maximum\": 65535},"
	    " \"destination\": {\"address\": \"10.0.0.2\", \"mac\": \"02:00:00:00:00:01\"},"
	    " \"load_balancer_header\": true,"
	    " \"faults\": {\"loss\": 0.01, \"duplicate\": 1, \"corrupt\": 1e-3,"
	    " \"reorder_window\": 64, \"silent_source\": 2, \"late_source\": \"0x7\","
	    " \"late_delay\": \"3ms\"}}");
	const struct config_generator *generator = &config->generators[0];
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };

	(void)state;
	assert_int_equal(generator->kind, GENERATOR_PCAP);
	assert_string_equal(generator->file, "a b.pcap");
	assert_int_equal(generator->n_ids, 2);
	assert_int_equal(generator->ids[0], 2);
	assert_int_equal(generator->ids[1], 7);
	assert_true(generator->rate == 2500);
	assert_true(generator->speed == 0.25);
	assert_int_equal(generator->events, 1000);
	assert_int_equal(generator->first_event, UINT64_MAX - 1);
	assert_int_equal(generator->seed, 9007199254740993);
	assert_int_equal(generator->variants, 64);
	assert_int_equal(generator->sizes.law, SIZE_LHCB);
	assert_int_equal(generator->sizes.mean, 1);
	assert_int_equal(generator->sizes.sigma, 2);
	assert_int_equal(generator->sizes.maximum, 65535);
	assert_int_equal(generator->destination_address, 0x0a000002);
	assert_true(generator->has_destination_mac);
	assert_memory_equal(generator->destination_mac, mac, 6);
	assert_true(generator->load_balancer_header);
	assert_true(generator->faults.loss == 0.01);
	assert_true(generator->faults.duplicate == 1);
	assert_true(generator->faults.corrupt == 1e-3);
	assert_int_equal(generator->faults.reorder_window, 64);
	assert_true(generator->faults.has_silent_source);
	assert_int_equal(generator->faults.silent_source, 2);
	assert_true(generator->faults.has_late_source);
	assert_int_equal(generator->faults.late_source, 7);
	assert_int_equal(generator->faults.late_delay_ns, 3000000);
	config_free(config);
}

static void writer__holds_what_was_given(void **state)
{
	struct config *config =
	    load_with("writers=[{\"name\": \"w\", \"group\": \"keep\", \"directory\": \"/data\","
		      " \"prefix\": \"run\", \"format\": \"mdf\", \"rotate_size\": \"4GB\","
		      " \"rotate_time\": \"10min\", \"source_map\": \"map.json\"}]");
	const struct config_writer *writer = &config->writers[0];

	(void)state;
	assert_string_equal(writer->group, "keep");
	assert_string_equal(writer->directory, "/data");
	assert_string_equal(writer->prefix, "run");
	assert_int_equal(writer->format, FILE_FORMAT_MDF);
	assert_int_equal(writer->rotate_size, 4000000000);
	assert_int_equal(writer->rotate_time_ns, 600000000000);
	assert_string_equal(writer->source_map, "map.json");
	assert_string_equal(config->event_ring.groups[0], "keep");
	config_free(config);
}

static void ids__are_sorted_from_numbers_and_ranges(void **state)
{
	struct config *config =
	    load_with("sources.ids=[\"0x3801-0x3803\", 9, \"0x7\", \"40-41\", 65535, 0]");
	const uint16_t expected[] = { 0, 7, 9, 40, 41, 0x3801, 0x3802, 0x3803, 65535 };

	(void)state;
	assert_int_equal(config->sources.n_ids, 9);
	assert_memory_equal(config->sources.ids, expected, sizeof(expected));
	assert_int_equal(config->sources.n_expected, 9);
	for (unsigned i = 0; i < 9; i++)
		assert_true(config->sources.expected[i]);
	config_free(config);
}

static void ids__may_be_4096(void **state)
{
	struct config *config = load_with("sources.ids=[\"100-4195\"]");

	(void)state;
	assert_int_equal(config->sources.n_ids, 4096);
	assert_int_equal(config->sources.ids[0], 100);
	assert_int_equal(config->sources.ids[4095], 4195);
	config_free(config);
}

static void expected__marks_a_part_of_the_sources(void **state)
{
	struct config *config = load_with("sources.expected=[8, \"2-3\"]");
	const bool expected[8] = { false, true, true, false, false, false, false, true };

	(void)state;
	assert_int_equal(config->sources.n_ids, 8);
	assert_int_equal(config->sources.n_expected, 3);
	assert_memory_equal(config->sources.expected, expected, sizeof(expected));
	config_free(config);
}

static void words__become_their_constants(void **state)
{
	struct config *config;

	(void)state;
	config = load_with("memory={\"kind\": \"shm\", \"limit\": \"8MB\"}");
	assert_int_equal(config->memory.kind, MEMORY_SHM);
	assert_int_equal(config->memory.limit, 8000000);
	config_free(config);
	config = load_with("transport={\"kind\": \"eth\", \"ether_type\": \"0x88b6\"}");
	assert_int_equal(config->transport.kind, CONFIG_TRANSPORT_ETH);
	assert_int_equal(config->transport.ether_type, 0x88b6);
	config_free(config);
	config = load_with("events={\"on_incomplete\": \"discard\", \"on_no_slot\": \"drop\", "
			   "\"on_end_of_run\": \"ignore\"}");
	assert_int_equal(config->events.on_incomplete, INCOMPLETE_DISCARD);
	assert_int_equal(config->events.on_no_slot, NO_SLOT_DROP);
	assert_int_equal(config->events.on_end_of_run, END_OF_RUN_IGNORED);
	config_free(config);
	config = load_with("sources.payload=opaque");
	assert_int_equal(config->sources.payload, PAYLOAD_OPAQUE);
	config_free(config);
	config = load_with("idle={\"policy\": \"poll\", \"sleep\": \"10ms\", \"yields\": 0}");
	assert_int_equal(config->idle.policy, CONFIG_IDLE_POLL);
	assert_int_equal(config->idle.sleep_ns, 10000000);
	assert_int_equal(config->idle.yields, 0);
	config_free(config);
	config = load_with("links={\"policy\": \"drop\", \"depth\": 64}");
	assert_int_equal(config->links.policy, CONFIG_LINK_DROP);
	assert_int_equal(config->links.depth, 64);
	config_free(config);
}

static void lcores__hold_their_roles(void **state)
{
	struct config *config =
	    load_with("lcores=[{\"cpu\": 3, \"roles\": [\"rx.wire\", \"source.g0\"]},"
		      " {\"cpu\": 1, \"roles\": [\"builder.b0\"]}]");

	(void)state;
	assert_int_equal(config->n_lcores, 2);
	assert_int_equal(config->lcores[0].cpu, 3);
	assert_int_equal(config->lcores[0].n_roles, 2);
	assert_string_equal(config->lcores[0].roles[0], "rx.wire");
	assert_string_equal(config->lcores[0].roles[1], "source.g0");
	assert_int_equal(config->lcores[1].cpu, 1);
	assert_string_equal(config->lcores[1].roles[0], "builder.b0");
	config_free(config);
}

static void role__lists_all_roles(void **state)
{
	const char *const expected[] = { "source.g0", "rx.wire.0", "rx.wire.1", "builder.b0",
					 "writer.w" };
	struct config_role role;
	const char *const overrides[] = { "ports[0].rx_queues=2", "writers[0].name=w" };
	char error[CONFIG_ERROR_SIZE];
	struct config *config;

	(void)state;
	assert_int_equal(config_parse(&config, base_text, strlen(base_text), "x.json", NULL,
				      overrides, 2, error),
			 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(config_role(config, i, &role));
		assert_string_equal(role.name, expected[i]);
	}
	assert_false(config_role(config, 5, &role));
	config_free(config);
}

static void schema_key__is_for_editors(void **state)
{
	(void)state;
	config_free(load_with("$schema=schema.json"));
	assert_refused("$schema=1", "x.json: $schema: expected a string, found a number");
}

static void generators__need_no_builders(void **state)
{
	struct config *config = load_with("builders=[]");

	(void)state;
	assert_int_equal(config->n_builders, 0);
	assert_int_equal(config->n_generators, 1);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults__are_as_the_manual_says),
		cmocka_unit_test(defaults__of_a_port_and_a_builder),
		cmocka_unit_test(defaults__of_a_generator),
		cmocka_unit_test(defaults__of_a_writer),
		cmocka_unit_test(port__holds_what_was_given),
		cmocka_unit_test(address__without_a_prefix_stands_alone),
		cmocka_unit_test(generator__holds_what_was_given),
		cmocka_unit_test(writer__holds_what_was_given),
		cmocka_unit_test(ids__are_sorted_from_numbers_and_ranges),
		cmocka_unit_test(ids__may_be_4096),
		cmocka_unit_test(expected__marks_a_part_of_the_sources),
		cmocka_unit_test(words__become_their_constants),
		cmocka_unit_test(lcores__hold_their_roles),
		cmocka_unit_test(role__lists_all_roles),
		cmocka_unit_test(schema_key__is_for_editors),
		cmocka_unit_test(generators__need_no_builders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
