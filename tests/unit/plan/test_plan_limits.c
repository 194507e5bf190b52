// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a plan takes of the machine, and what it refuses.
#include "plan_bench.h"

#include <stdio.h>

#include "builder/assembly.h"
#include "evring/evring.h"
#include "node/control_role.h"
#include "packet/decision_queue.h"
#include "pipeline/role.h"
#include "port/port.h"
#include "readout/readout_logic.h"
#include "record/decision_order.h"
#include "record/decision_stream.h"
#include "record/writer_role.h"
#include "roce/requester.h"
#include "roce/responder.h"
#include "store/ring_store.h"

static const char small[] =
    "{\"ports\": [{\"name\": \"p\", \"profile\": \"af_packet\", \"device\": \"eth0\","
    "\"rx_descriptors\": 1000, \"tx_descriptors\": 500, \"rx_queues\": 2, \"mtu\": 9000}]," SOURCES
    ", \"builders\": [{\"name\": \"b0\", \"slots\": 16, \"slot_size\": \"1MiB\"},"
    "{\"name\": \"b1\", \"slots\": 8, \"slot_size\": \"2MiB\"}], \"links\": {\"depth\": 1024}%s}";

#define ONE_BUILDER "\"builders\": [{\"name\": \"b\"}]"

static void memory__is_the_sum_of_its_parts(void **state)
{
	uint64_t bytes, links, pool;
	struct plan *plan;
	char text[1024];

	(void)state;
	machine_make(2);
	snprintf(text, sizeof(text), small, "");
	plan = plan_of(text);
	// Descriptors of 2 rx and 1 tx queues, and for each rx queue what can be in the links, in
	// bursts and in the caches of two lcores and the control thread.
	assert_int_equal(
	    plan->ports[0].pool_mbufs,
	    2 * 1000 + 500 +
		2 * ((1024 + 4 * ROLE_BURST) * 2 + (PLAN_POOL_CACHE * 3 / 2 + 4 * ROLE_BURST) * 3));
	assert_int_equal(plan->ports[0].buffer, 9216);
	pool = port_pool_bytes(plan->ports[0].pool_mbufs, 9216);
	assert_int_equal(plan->ports[0].pool_bytes, pool);
	assert_int_equal(plan->ring_bytes, evring_bytes(16, MIB) + evring_bytes(8, 2 * MIB));
	assert_in_range(plan->ring_bytes, 32 * (uint64_t)MIB, 33 * (uint64_t)MIB);
	assert_int_equal(plan->decision_bytes, 0);
	assert_int_equal(plan->assembly_bytes, assembly_memory(16, 8) + assembly_memory(8, 8));
	// Two rx roles to two builders, 1024 pointers each, twice for the ring's own sake.
	links = 4 * 1024 * 2 * sizeof(void *);
	bytes = pool + links + 4 * 256 * 1024; // four roles
	assert_int_equal(plan->packet_bytes, bytes);
	assert_int_equal(plan->n_nodes, 1);
	assert_int_equal(plan->nodes[0].packet_bytes, bytes);
	assert_int_equal(plan->nodes[0].ring_bytes, plan->ring_bytes);
	plan_free(plan);
}

static void memory__of_a_generator(void **state)
{
	struct plan *plan, *shuffling;

	(void)state;
	machine_make(2);
	plan = plan_of(plan_five_roles);
	shuffling = plan_of(
	    "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\"}]," SOURCES "," BUILDERS
	    ", \"generators\": [{\"name\": \"g\", \"port\": \"wire\", \"faults\": "
	    "{\"reorder_window\": 100, \"corrupt\": 0.1}}], \"writers\": [{\"name\": \"w\"}]}");
	// 4 variants of 8 MFPs of 10 fragments of 100 bytes, each 20 + 12 + 20 + 1000 bytes.
	assert_true(plan->generators[0].set_bytes >= 4 * 8 * 1052);
	assert_true(plan->generators[0].set_bytes < 4 * 8 * 1052 * 2);
	assert_int_equal(plan->generators[0].buffer, 128); // headers alone
	assert_int_equal(shuffling->generators[0].pool_mbufs,
			 plan->generators[0].pool_mbufs + 2 * 100);
	assert_int_equal(shuffling->generators[0].buffer, 1514); // whole packets
	assert_true(plan->generators[0].pool_mbufs > 4096 + 4096 + 2 * 4096);
	assert_int_equal(plan->generators[0].pool_bytes,
			 port_pool_bytes(plan->generators[0].pool_mbufs, 128) +
			     port_pool_bytes(plan->generators[0].pool_mbufs, 0));
	plan_free(plan);
	plan_free(shuffling);
}

static const char two_nodes[] =
    "{\"sources\": {\"ids\": [\"1-8\"]}, \"nodes\": ["
    "{\"name\": \"a\", \"manager\": true, \"builders\": [{\"name\": \"b\"}], \"ports\": "
    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.1\"}]},"
    "{\"name\": \"c\", \"generators\": [{\"name\": \"g\", \"port\": \"p\"}], \"ports\": "
    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.2\"}]}]%s}";

// The plan left out the state of the control protocol.
static void memory__of_a_node(void **state)
{
	struct plan *plan;
	char text[1024];

	(void)state;
	machine_make(2);
	snprintf(text, sizeof(text), two_nodes, "");
	plan = plan_of_node(text, "a");
	assert_int_equal(plan->endpoint_bytes, control_role_memory(1500, 2));
	assert_in_range(plan->endpoint_bytes, 2 * (256 << 10), 2 * MIB);
	assert_in_range(plan->sched_bytes, 1024, MIB); // on the node of the manager
	assert_int_equal(plan->roce_bytes, 0);
	plan_free(plan);
	snprintf(text, sizeof(text), two_nodes, ", \"transport\": {\"kind\": \"roce\"}");
	plan = plan_of_node(text, "a");
	assert_int_equal(plan->roce_bytes, qp_table_memory(1024) + responder_memory(1024, 1));
	plan_free(plan);
	plan = plan_of_node(text, "c"); // a queue pair to one builder, 8 sources
	assert_int_equal(plan->roce_bytes, qp_table_memory(2) + requester_memory(2, 64));
	assert_int_equal(plan->sched_bytes, 0);
	plan_free(plan);
}

static const char deciding[] =
    "{\"sources\": {\"ids\": [\"1-8\"]}, \"groups\": [{\"name\": \"f\", \"decides\": true}], "
    "\"nodes\": ["
    "{\"name\": \"a\", \"manager\": true, "
    "\"results\": [{\"name\": \"r\", \"group\": \"f\", \"window\": 4096%s}], "
    "\"builders\": [{\"name\": \"b\"}], \"ports\": "
    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.1\"}]},"
    "{\"name\": \"c\", \"builders\": [{\"name\": \"b\"}], "
    "\"generators\": [{\"name\": \"g\", \"port\": \"p\"}], \"ports\": "
    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.2\"}]}]}";

// The plan left out the decisions that wait.
static void memory__of_decisions(void **state)
{
	struct plan *plan;
	char text[2048];

	(void)state;
	machine_make(2);
	snprintf(text, sizeof(text), deciding, "");
	plan = plan_of_node(text, "a"); // writes the results
	assert_int_equal(plan->decision_bytes, decision_order_memory(4096) +
						   decision_stream_memory() +
						   decision_inbox_memory(4096, 2));
	plan_free(plan);
	plan = plan_of_node(text, "c"); // sends its decisions there
	assert_int_equal(plan->decision_bytes, decision_outbox_memory(4096));
	plan_free(plan);
	snprintf(text, sizeof(text), deciding, ", \"to\": \"ring\", \"ring\": {\"name\": \"d\"}");
	plan = plan_of_node(text, "a");
	assert_int_equal(plan->decision_bytes,
			 decision_order_memory(4096) + decision_stream_memory() +
			     decision_inbox_memory(4096, 2) + decision_stream_ring_memory(1024));
	assert_in_range(decision_stream_ring_memory(1024), 4 * MIB, 5 * MIB);
	plan_free(plan);
}

static void memory__of_stores_readouts_and_writers(void **state)
{
	static const char text[] =
	    "{\"sources\": {\"ids\": [\"1-8\"]}, \"nodes\": ["
	    "{\"name\": \"a\", \"manager\": true, \"builders\": [{\"name\": \"b\"}], \"writers\": "
	    "[{\"name\": \"w\", \"directory\": \"/tmp/w\"}], \"ports\": "
	    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.1\"}]},"
	    "{\"name\": \"c\", \"generators\": [{\"name\": \"g\", \"port\": \"p\", \"kind\": "
	    "\"producer\"}], \"ports\": "
	    "[{\"name\": \"p\", \"profile\": \"ring\", \"address\": \"10.0.0.2\"}]}]}";
	struct plan *plan;

	(void)state;
	machine_make(2);
	plan = plan_of_node(text, "a");
	assert_int_equal(plan->writer_bytes, writer_role_memory(FILE_FORMAT_MEP));
	assert_int_equal(plan->store_bytes + plan->readout_bytes, 0);
	assert_int_equal(plan_ordinary_bytes(plan), plan->writer_bytes + plan->assembly_bytes +
							plan->endpoint_bytes + plan->sched_bytes);
	plan_free(plan);
	plan = plan_of_node(text, "c");
	assert_int_equal(plan->store_bytes, ring_store_memory(8));
	assert_int_equal(plan->readout_bytes, readout_logic_memory(1, false));
	plan_free(plan);
}

static void memory__by_numa_node(void **state)
{
	struct plan *plan;

	(void)state;
	machine_make(2);
	machine_put_cpu(1, 1);
	machine_set_hugepages(0, 1024 * (uint64_t)MIB);
	machine_set_hugepages(1, 1024 * (uint64_t)MIB);
	plan = plan_of(plan_five_roles); // what sends and receives on CPU 0, what builds on CPU 1
	assert_int_equal(plan->n_nodes, 2);
	assert_int_equal(plan->lcores[0].numa_node, 0);
	assert_int_equal(plan->lcores[1].numa_node, 1);
	assert_int_equal(plan_node_of(plan, plan_find_role(plan, "builder.b1")), 1);
	assert_int_equal(plan->nodes[0].ring_bytes, 0);
	assert_int_equal(plan->nodes[1].ring_bytes, plan->ring_bytes);
	assert_int_equal(plan->nodes[0].packet_bytes + plan->nodes[1].packet_bytes,
			 plan->packet_bytes);
	assert_true(plan->nodes[0].packet_bytes > plan->nodes[1].packet_bytes);
	assert_true(plan->hugepages_suffice);
	plan_free(plan);
	// They must suffice on each node.
	machine_set_hugepages(1, 16 * (uint64_t)MIB);
	plan = plan_of(plan_five_roles);
	assert_false(plan->hugepages_suffice);
	plan_free(plan);
	// A machine that does not say.
	machine_put_cpu(0, -1);
	machine_put_cpu(1, -1);
	plan = plan_of(plan_five_roles);
	assert_int_equal(plan->n_nodes, 1);
	plan_free(plan);
}

static void memory__limit_holds_without_hugepages(void **state)
{
	struct plan *plan;
	char text[1024], expected[256];
	uint64_t bytes;

	(void)state;
	machine_make(2);
	snprintf(text, sizeof(text), small, "");
	plan = plan_of(text);
	bytes = plan->packet_bytes;
	plan_free(plan);
	snprintf(text, sizeof(text), small, ", \"memory\": {\"limit\": \"1MiB\"}");
	snprintf(expected, sizeof(expected),
		 "x.json: memory.limit: packet pools take %llu bytes, more than the limit of "
		 "1048576, and hugepages do not suffice",
		 (unsigned long long)bytes);
	plan_refused(text, expected);
	machine_set_hugepages(0, 4096 * (uint64_t)MIB);
	plan = plan_of(text);
	assert_true(plan->hugepages_suffice);
	plan_free(plan);
	snprintf(text, sizeof(text), small,
		 ", \"memory\": {\"limit\": \"1MiB\", \"kind\": \"shm\"}");
	plan_refused(text, expected);
}

static void refused__port(void **state)
{
	(void)state;
	machine_make(2);
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"bogus\"}]," SOURCES
		     "," ONE_BUILDER "}",
		     "x.json: ports[0].profile: profile bogus: there is none of this name: name "
		     "a file with its "
		     "path, or one of: af_packet af_xdp bnxt enic i40e ice ixgbe memif mlx5 null "
		     "pcap ring tap virtio_user");
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}, {\"name\": \"q\","
		     "\"profile\": \"tap\", \"mtu\": 9000}]," SOURCES "," ONE_BUILDER "}",
		     "x.json: ports[1].mtu: 9000 is above what profile tap can carry, 1500");
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"pcap\", \"device\": \"x\","
		     "\"rx_queues\": 2}]," SOURCES "," ONE_BUILDER "}",
		     "x.json: ports[0].rx_queues: 2, profile pcap has at most 1");
}

#define INTERFACE(name, device) \
	"{\"name\": \"" name "\", \"profile\": \"af_packet\", \"device\": \"" device "\"}"

static void refused__device(void **state)
{
	(void)state;
	machine_make(2);
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"af_packet\"}]," SOURCES
		     "," ONE_BUILDER "}",
		     "x.json: ports[0].device: profile af_packet needs a device (its iface)");
	plan_refused(
	    "{\"ports\": [{\"name\": \"p\", \"profile\": \"ice\", \"device\": \"eth1\"}"
	    "]," SOURCES "," ONE_BUILDER "}",
	    "x.json: ports[0].device: profile ice needs the PCI address of a card, such as "
	    "0000:3b:00.0, \"eth1\" is none: `dpdk-devbind.py --status` lists them");
	plan_refused("{\"ports\": [" INTERFACE("p", "eth0") "," INTERFACE(
			 "q", "eth0") "]," SOURCES "," ONE_BUILDER "}",
		     "x.json: ports[1].device: eth0 is the device of ports[0] already");
	plan_free(plan_of("{\"ports\": [" INTERFACE("p", "eth0") "," INTERFACE(
	    "q", "eth1") "]," SOURCES "," ONE_BUILDER "}"));
}

static void refused__more_memory_than_machines_have(void **state)
{
	(void)state;
	machine_make(2);
	plan_refused(
	    "{\"ports\": [" INTERFACE("p", "eth0") "]," SOURCES
						   ", \"builders\": [{\"name\": \"b\", \"slots\": "
						   "65536, \"slot_size\": \"4GiB\"}]}",
	    "x.json: builders: slots and packets take 256 TiB: use fewer or smaller slots");
}

static void refused__too_many_senders_on_a_port(void **state)
{
	char text[4096];
	size_t used;

	(void)state;
	machine_make(32);
	used = (size_t)snprintf(text, sizeof(text),
				"{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\", "
				"\"address\": \"10.0.0.1\"}]," SOURCES "," ONE_BUILDER
				", \"generators\": [");
	for (unsigned i = 0; i < 16; i++)
		used +=
		    (size_t)snprintf(text + used, sizeof(text) - used,
				     "%s{\"name\": \"g%u\", \"port\": \"p\"}", i > 0 ? "," : "", i);
	snprintf(text + used, sizeof(text) - used, "]}");
	plan_refused(text, "x.json: ports[0]: 17 lcores send on it, profile ring has at most 16 "
			   "tx queues: put the roles that send on fewer lcores");
	machine_make(2);
	plan_free(plan_of(text));
}

// 6 ports with 16 queues each overflowed the arrays of links of the builder.
static void refused__more_producers_than_a_builder_has_inputs(void **state)
{
	char text[4096];
	size_t used;

	(void)state;
	machine_make(64);
	for (unsigned last = 0; last < 2; last++) { // 64 queues, then 65
		used = (size_t)snprintf(text, sizeof(text), "{\"ports\": [");
		for (unsigned i = 0; i < 4 + last; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "%s{\"name\": \"p%u\", \"profile\": \"ring\", "
						 "\"rx_queues\": %u}",
						 i > 0 ? "," : "", i, i < 4 ? 16 : 1);
		snprintf(text + used, sizeof(text) - used, "]," SOURCES "," ONE_BUILDER "}");
		if (last == 0)
			plan_free(plan_of(text));
		else
			plan_refused(text, "x.json: ports: 65 receive queues and readouts, a "
					   "builder takes segments from at most 64: use fewer rx "
					   "queues");
	}
}

static void refused__too_many_roles(void **state)
{
	char text[4096];
	size_t used = (size_t)snprintf(text, sizeof(text), "{\"ports\": [");

	(void)state;
	machine_make(64);
	for (unsigned i = 0; i < 4; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s{\"name\": \"p%u\", \"profile\": \"ring\", "
					 "\"rx_queues\": 64}",
					 i > 0 ? "," : "", i);
	snprintf(text + used, sizeof(text) - used, "]," SOURCES "," ONE_BUILDER "}");
	plan_refused(text, "x.json: ports: more than 256 roles: use fewer rx queues");
}

static void refused__too_many_roles_on_a_cpu(void **state)
{
	(void)state;
	machine_make(1);
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\", \"rx_queues\": 30},"
		     "{\"name\": \"q\", \"profile\": \"ring\", \"rx_queues\": 32}]," SOURCES
		     "," BUILDERS ", \"writers\": [{\"name\": \"w\"}]}",
		     "x.json: lcores[0].roles: more than 64 roles on CPU 0");
}

static void refused__slots_that_hold_no_event(void **state)
{
	(void)state;
	machine_make(1);
	// 400 error MFPs of 20 + 12 + 20 = 52 -> 56 bytes behind a header of 2408.
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}],"
		     "\"sources\": {\"ids\": [\"1-400\"], \"packing\": 10},"
		     "\"builders\": [{\"name\": \"b\", \"slot_size\": 24000}]}",
		     "x.json: builders[0].slot_size: 24000 is too small: the MEP header and an "
		     "error MFP for each of 400 sources take 24808 bytes");
}

static void refused__generator_without_its_file(void **state)
{
	(void)state;
	machine_make(1);
	plan_refused("{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}]," SOURCES
		     "," ONE_BUILDER ", \"generators\": [{\"name\": \"g\", \"port\": \"p\","
		     "\"kind\": \"mdf\", \"file\": \"/nowhere/x.mdf\"}]}",
		     "x.json: generators[0]: /nowhere/x.mdf: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory__is_the_sum_of_its_parts),
		cmocka_unit_test(memory__of_a_generator),
		cmocka_unit_test(memory__of_a_node),
		cmocka_unit_test(memory__of_decisions),
		cmocka_unit_test(memory__of_stores_readouts_and_writers),
		cmocka_unit_test(memory__by_numa_node),
		cmocka_unit_test(memory__limit_holds_without_hugepages),
		cmocka_unit_test(refused__port),
		cmocka_unit_test(refused__device),
		cmocka_unit_test(refused__more_memory_than_machines_have),
		cmocka_unit_test(refused__too_many_senders_on_a_port),
		cmocka_unit_test(refused__more_producers_than_a_builder_has_inputs),
		cmocka_unit_test(refused__too_many_roles),
		cmocka_unit_test(refused__too_many_roles_on_a_cpu),
		cmocka_unit_test(refused__slots_that_hold_no_event),
		cmocka_unit_test(refused__generator_without_its_file),
	};

	return cmocka_run_group_tests_name("plan_limits", tests, NULL, NULL);
}
