// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/account.h"

#include <string.h>

#include "builder/builder_role.h"
#include "node/readout_role.h"
#include "rdma/source_roles.h"
#include "rx/rx_role.h"
#include "store/port_store.h"
#include "tx/pcap_role.h"

#define ADD(to, from) add(to, from, sizeof(*(to)))

// Adds a struct of counters to a sum of the same type.
static void add(void *to, const void *from, size_t size)
{
	const uint64_t *counters = from;
	uint64_t *sums = to;

	for (size_t i = 0; i < size / sizeof(*sums); i++)
		sums[i] += counter_read(&counters[i]);
}

static void add_builder(struct account *account, const struct role *role)
{
	const struct assembly *assembly = builder_role_assembly(role);
	const struct assembly_latency *latency = assembly_latency(assembly);

	ADD(&account->built, assembly_counters(assembly));
	account->events_open += assembly_open_events(assembly);
	account->free_slots += assembly_free_slots(assembly);
	histogram_merge(&account->latency.complete, &latency->complete);
	histogram_merge(&account->latency.released, &latency->released);
}

static void add_generator(struct account *account, const struct role *role,
			  const struct config_generator *generator)
{
	if (generator->kind == GENERATOR_PCAP) {
		ADD(&account->sent, pcap_role_sender_counters(role));
	} else {
		ADD(&account->sent, any_source_sender_counters(role));
		account->sent_events += counter_read(&any_source_counters(role)->events);
	}
	if (roce_source_role_is(role)) {
		account->unacknowledged += counter_read(&roce_source_role_counters(role)->failed);
		account->unsent += counter_read(&roce_source_role_counters(role)->unsent);
	}
}

static void add_readout(struct account *account, const struct role *role)
{
	const struct readout_counters *readout = readout_role_counters(role);

	account->sent_events += counter_read(&readout->events);
	account->segments_local += counter_read(&readout->local_segments);
	ADD(&account->sent, readout_role_sender_counters(role));
}

// The segments of boards, which a readout's store has instead of a builder's slots.
static void add_boards(struct account *account, const struct block_store *store)
{
	const struct block_assembly_counters *counters;

	if (store == NULL || !port_store_is(store))
		return;
	counters = port_store_counters(store);
	account->built.placed += counter_read(&counters->placed);
	account->built.placed_bytes += counter_read(&counters->placed_bytes);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		account->built.drops[i] += counter_read(&counters->drops[i]);
}

static void add_boards_of(struct account_source *source, const struct appliance *appliance,
			  unsigned index)
{
	struct block_assembly_source_counters sum = { 0 };

	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (appliance->stores[i] != NULL && port_store_is(appliance->stores[i]))
			port_store_add_source(appliance->stores[i], index, &sum);
	source->built.placed += sum.placed;
	source->built.placed_bytes += sum.placed_bytes;
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		source->built.drops[i] += sum.drops[i];
}

// Without rx roles nothing is received on purpose, so packets that arrive are not losses.
static void add_ports(struct account *account, const struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->n_ports && appliance->plan->n_rx > 0; i++)
		account->missed += port_missed(&appliance->ports[i]) - appliance->missed_before[i];
}

void account_take(const struct appliance *appliance, struct account *account)
{
	const struct plan *plan = appliance->plan;

	memset(account, 0, sizeof(*account));
	account->seconds = appliance_seconds(appliance);
	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct role *role = appliance->roles[i];

		if (role == NULL)
			continue; // the start failed before this role was created
		switch (plan->roles[i].kind) {
		case CONFIG_ROLE_RX:
			ADD(&account->rx, rx_role_counters(role));
			break;
		case CONFIG_ROLE_BUILDER:
			add_builder(account, role);
			break;
		case CONFIG_ROLE_SOURCE:
			add_generator(account, role,
				      &plan->config->generators[plan->roles[i].object]);
			break;
		case CONFIG_ROLE_WRITER:
			ADD(&account->written, writer_role_counters(role));
			break;
		case CONFIG_ROLE_RESULTS:
			ADD(&account->ordered, results_role_order(role));
			ADD(&account->results, results_role_stream(role));
			break;
		case CONFIG_ROLE_RESULTS_SENDER:
			ADD(&account->results_sent, results_sender_role_counters(role));
			break;
		case CONFIG_ROLE_READOUT:
			add_readout(account, role);
			add_boards(account, appliance->stores[plan->roles[i].object]);
			break;
		case CONFIG_ROLE_CONTROL:
			break;
		}
	}
	add_ports(account, appliance);
	account->segments_received = account->rx.segments + account->segments_local;
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		account->segment_drops[i] = account->rx.segment_drops[i] + account->built.drops[i];
}

void account_take_source(const struct appliance *appliance, unsigned index,
			 struct account_source *source)
{
	const struct plan *plan = appliance->plan;

	*source = (struct account_source){ .id = appliance->sources.ids[index] };
	add_boards_of(source, appliance, index);
	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct role *role = appliance->roles[i];
		const struct rx_source_counters *rx;

		if (role == NULL)
			continue;
		if (plan->roles[i].kind == CONFIG_ROLE_BUILDER)
			ADD(&source->built,
			    &assembly_source_counters(builder_role_assembly(role))[index]);
		if (plan->roles[i].kind != CONFIG_ROLE_RX)
			continue;
		rx = rx_role_source_counters(role, index);
		source->segments += counter_read(&rx->segments);
		source->built.drops[SEGMENT_LINK_FULL] += counter_read(&rx->link_full);
	}
}

uint64_t account_losses(const struct account *account)
{
	uint64_t losses = 0;

	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		losses += account->rx.packet_drops[i];
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		if (i != SEGMENT_OUTSIDE_RUN)
			losses += account->segment_drops[i];
	return losses;
}

bool account_has_losses(const struct account *account)
{
	return account_losses(account) > 0 || account->missed > 0 ||
	       account->built.events_incomplete > 0 || account->built.events_discarded > 0 ||
	       account->results.lost > 0 || account->results_sent.lost > 0 ||
	       account->written.refused > 0 || account->written.failures > 0 ||
	       account->unacknowledged > 0 || account->unsent > 0;
}
