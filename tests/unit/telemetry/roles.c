// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roles.h"

#include <stdlib.h>
#include <string.h>

#include "appliance/account.h"
#include "appliance/diagnosis_watch.h"
#include "appliance/run_control.h"
#include "builder/builder_role.h"

uint64_t test_port_missed[2];

static const struct config_group filter = { .name = "filter", .decides = true };

static const struct diagnosis found = {
	.n = 1,
	.findings = { { .rule = "port_down",
			.severity = DIAGNOSIS_BAD,
			.sentence = "it is down" } },
};

const struct diagnosis *appliance_final_diagnosis(const struct appliance *appliance)
{
	(void)appliance;
	return &found;
}

bool run_status_add_finding(cJSON *list, const struct diagnosis_finding *finding)
{
	return cJSON_AddItemToArray(list, cJSON_CreateString(finding->sentence));
}

bool account_take_decisions(const struct appliance *appliance, unsigned index,
			    struct account_decisions *decisions)
{
	(void)appliance;
	memset(decisions, 0, sizeof(*decisions));
	if (index > 0)
		return false;
	decisions->group = &filter;
	decisions->published = 1000;
	decisions->accepted = 500;
	decisions->rejected = 400;
	decisions->undecided = 70;
	decisions->held = 30;
	decisions->lines[63] = 12;
	return true;
}

static const struct test_counters *counters_of(const struct role *role)
{
	return (const struct test_counters *)role;
}

static const struct test_counters *assembly_counters_of(const struct assembly *assembly)
{
	return (const struct test_counters *)assembly;
}

const struct rx_counters *rx_role_counters(const struct role *role)
{
	return &counters_of(role)->rx;
}

const struct rx_source_counters *rx_role_source_counters(const struct role *role, unsigned source)
{
	return &counters_of(role)->rx_sources[source];
}

const struct assembly *builder_role_assembly(const struct role *role)
{
	return (const struct assembly *)role;
}

const struct assembly_counters *assembly_counters(const struct assembly *assembly)
{
	return &assembly_counters_of(assembly)->assembly;
}

const struct assembly_source_counters *assembly_source_counters(const struct assembly *assembly)
{
	return assembly_counters_of(assembly)->assembly_sources;
}

const struct assembly_latency *assembly_latency(const struct assembly *assembly)
{
	return &assembly_counters_of(assembly)->latency;
}

uint32_t assembly_open_events(const struct assembly *assembly)
{
	return assembly_counters_of(assembly)->open;
}

uint32_t assembly_free_slots(const struct assembly *assembly)
{
	return assembly_counters_of(assembly)->free;
}

const struct source_counters *source_role_counters(const struct role *role)
{
	return &counters_of(role)->source;
}

const struct sender_counters *source_role_sender_counters(const struct role *role)
{
	return &counters_of(role)->sender;
}

bool roce_source_role_is(const struct role *role)
{
	return counters_of(role)->is_roce;
}

const struct source_counters *roce_source_role_source_counters(const struct role *role)
{
	return source_role_counters(role);
}

const struct sender_counters *roce_source_role_sender_counters(const struct role *role)
{
	return source_role_sender_counters(role);
}

const struct roce_sender_counters *roce_source_role_counters(const struct role *role)
{
	return &counters_of(role)->roce;
}

const struct readout_counters *readout_role_counters(const struct role *role)
{
	return &counters_of(role)->readout;
}

const struct sender_counters *readout_role_sender_counters(const struct role *role)
{
	return &counters_of(role)->sender;
}

const struct sender_counters *pcap_role_sender_counters(const struct role *role)
{
	return &counters_of(role)->sender;
}

const struct decision_order_counters *results_role_order(const struct role *role)
{
	return &counters_of(role)->ordered;
}

const struct decision_stream_counters *results_role_stream(const struct role *role)
{
	return &counters_of(role)->results;
}

const struct results_sender_counters *results_sender_role_counters(const struct role *role)
{
	return &counters_of(role)->results_sent;
}

const struct writer_counters *writer_role_counters(const struct role *role)
{
	return &counters_of(role)->writer;
}

struct test_boards test_boards;

bool port_store_is(const struct block_store *store)
{
	return store == &test_boards.store;
}

const struct block_assembly_counters *port_store_counters(const struct block_store *store)
{
	return store == &test_boards.store ? &test_boards.counters : NULL;
}

void port_store_add_source(const struct block_store *store, unsigned source,
			   struct block_assembly_source_counters *sum)
{
	(void)store;
	*sum = test_boards.sources[source];
}

double appliance_seconds(const struct appliance *appliance)
{
	(void)appliance;
	return 2.5;
}

uint64_t port_missed(const struct port *port)
{
	return port->id < 2 ? test_port_missed[port->id] : 0;
}

struct test_appliance *test_appliance_make(void)
{
	static const enum config_role_kind kinds[TEST_ROLES] = {
		[RX_0] = CONFIG_ROLE_RX,           [RX_1] = CONFIG_ROLE_RX,
		[BUILDER_0] = CONFIG_ROLE_BUILDER, [BUILDER_1] = CONFIG_ROLE_BUILDER,
		[SYNTHETIC] = CONFIG_ROLE_SOURCE,  [PCAP] = CONFIG_ROLE_SOURCE,
		[WRITER] = CONFIG_ROLE_WRITER,
	};
	struct test_appliance *test = aligned_alloc(_Alignof(struct test_appliance), sizeof(*test));

	if (test == NULL)
		abort();
	memset(test, 0, sizeof(*test));
	memset(test_port_missed, 0, sizeof(test_port_missed));
	strcpy(test->config.name, "test");
	test->config.run_number = 17;
	test->config.generators[0].kind = GENERATOR_SYNTHETIC;
	test->config.generators[1].kind = GENERATOR_PCAP;
	test->plan.config = &test->config;
	test->plan.n_roles = TEST_ROLES;
	test->plan.n_rx = 2;
	for (unsigned i = 0; i < TEST_ROLES; i++) {
		test->plan.roles[i].kind = kinds[i];
		test->appliance.roles[i] = &test->counters[i].role;
	}
	test->plan.roles[PCAP].object = 1;
	test->appliance.config = &test->config;
	test->appliance.run = test->config.run_number;
	test->appliance.plan = &test->plan;
	test->appliance.n_ports = 2;
	test->appliance.ports[1].id = 1;
	test->appliance.sources.n_expected = TEST_SOURCES;
	for (unsigned i = 0; i < TEST_SOURCES; i++)
		test->appliance.sources.ids[i] = (uint16_t)(0x1000 + i);
	return test;
}

void test_appliance_free(struct test_appliance *test)
{
	free(test);
}
