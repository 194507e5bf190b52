// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/account.h"

#include <string.h>

#include "builder/builder_role.h"
#include "node/readout_role.h"
#include "rdma/source_roles.h"
#include "record/writer_role.h"
#include "rx/rx_role.h"
#include "tx/pcap_role.h"
#include "tx/source_role.h"

static void add_rx(struct account *account, const struct role *role)
{
	const struct rx_counters *rx = rx_role_counters(role);

	account->packets.received += counter_read(&rx->packets);
	account->packets.bytes += counter_read(&rx->bytes);
	account->packets.arp += counter_read(&rx->arp);
	account->packets.icmp_echo += counter_read(&rx->icmp_echo);
	account->packets.control += counter_read(&rx->control);
	account->packets.pause += counter_read(&rx->pause);
	account->packets.roce += counter_read(&rx->roce);
	account->packets.other += counter_read(&rx->other);
	account->packets.checksums_unfinished += counter_read(&rx->checksums_unfinished);
	account->segments.received += counter_read(&rx->segments);
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		account->packets.drops[i] += counter_read(&rx->packet_drops[i]);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		account->segments.drops[i] += counter_read(&rx->segment_drops[i]);
}

static void add_builder(struct account *account, const struct role *role)
{
	const struct assembly *assembly = builder_role_assembly(role);
	const struct assembly_counters *counters = assembly_counters(assembly);
	const struct assembly_latency *latency = assembly_latency(assembly);

	account->segments.placed += counter_read(&counters->placed);
	account->segments.placed_bytes += counter_read(&counters->placed_bytes);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		account->segments.drops[i] += counter_read(&counters->drops[i]);
	account->events.opened += counter_read(&counters->events_opened);
	account->events.complete += counter_read(&counters->events_complete);
	account->events.incomplete += counter_read(&counters->events_incomplete);
	account->events.discarded += counter_read(&counters->events_discarded);
	account->events.flushed += counter_read(&counters->events_flushed);
	account->events.overtaken += counter_read(&counters->events_overtaken);
	account->events.withdrawn += counter_read(&counters->events_withdrawn);
	account->events.repeated += counter_read(&counters->events_repeated);
	account->events.ends_of_run += counter_read(&counters->ends_of_run);
	account->events.open += assembly_open_events(assembly);
	account->blocks.whole += counter_read(&counters->blocks_whole);
	account->blocks.malformed += counter_read(&counters->blocks_malformed);
	account->blocks.missing += counter_read(&counters->blocks_missing);
	account->bytes_built += counter_read(&counters->bytes_built);
	account->free_slots += assembly_free_slots(assembly);
	histogram_merge(&account->complete, &latency->complete);
	histogram_merge(&account->released, &latency->released);
}

static void add_sender(struct account *account, const struct sender_counters *sender)
{
	account->sent.packets += counter_read(&sender->packets);
	account->sent.bytes += counter_read(&sender->bytes);
	account->sent.lost += counter_read(&sender->lost);
	account->sent.duplicated += counter_read(&sender->duplicated);
	account->sent.corrupted += counter_read(&sender->corrupted);
	account->sent.reordered += counter_read(&sender->reordered);
}

static void add_generator(struct account *account, const struct role *role,
			  const struct config_generator *generator)
{
	const struct sender_counters *sender;

	if (generator->kind == GENERATOR_PCAP) {
		sender = pcap_role_sender_counters(role);
	} else {
		sender = any_source_sender_counters(role);
		account->sent.events += counter_read(&any_source_counters(role)->events);
	}
	if (roce_source_role_is(role))
		account->sent.unacknowledged +=
		    counter_read(&roce_source_role_counters(role)->failed);
	add_sender(account, sender);
}

static void add_readout(struct account *account, const struct role *role)
{
	const struct readout_counters *readout = readout_role_counters(role);
	uint64_t local = counter_read(&readout->local_segments);

	account->sent.events += counter_read(&readout->events);
	account->segments.local += local;
	account->segments.received += local;
	add_sender(account, readout_role_sender_counters(role));
}

static void add_writer(struct account *account, const struct role *role)
{
	const struct writer_counters *writer = writer_role_counters(role);

	account->written.events += counter_read(&writer->events);
	account->written.bytes += counter_read(&writer->bytes);
	account->written.files += counter_read(&writer->files);
	account->written.refused += counter_read(&writer->refused);
	account->written.failures += counter_read(&writer->failures);
	account->written.lost += counter_read(&writer->lost);
}

// Without rx roles nothing is received on purpose, so packets that arrive are not losses.
static void add_ports(struct account *account, const struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->n_ports && appliance->plan->n_rx > 0; i++)
		account->packets.missed += port_missed(&appliance->ports[i]);
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
			add_rx(account, role);
			break;
		case CONFIG_ROLE_BUILDER:
			add_builder(account, role);
			break;
		case CONFIG_ROLE_SOURCE:
			add_generator(account, role,
				      &plan->config->generators[plan->roles[i].object]);
			break;
		case CONFIG_ROLE_WRITER:
			add_writer(account, role);
			break;
		case CONFIG_ROLE_READOUT:
			add_readout(account, role);
			break;
		case CONFIG_ROLE_CONTROL:
			break;
		}
	}
	add_ports(account, appliance);
}

static void add_rx_source(struct account_source *source, const struct rx_source_counters *rx)
{
	source->segments += counter_read(&rx->segments);
	source->drops[SEGMENT_LINK_FULL] += counter_read(&rx->link_full);
}

static void add_built_source(struct account_source *source,
			     const struct assembly_source_counters *built)
{
	source->placed += counter_read(&built->placed);
	source->placed_bytes += counter_read(&built->placed_bytes);
	source->blocks += counter_read(&built->blocks);
	source->malformed += counter_read(&built->malformed);
	source->missing += counter_read(&built->missing);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		source->drops[i] += counter_read(&built->drops[i]);
}

void account_take_source(const struct appliance *appliance, unsigned index,
			 struct account_source *source)
{
	const struct plan *plan = appliance->plan;

	*source = (struct account_source){ .id = appliance->sources.ids[index] };
	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct role *role = appliance->roles[i];

		if (role == NULL)
			continue;
		if (plan->roles[i].kind == CONFIG_ROLE_RX)
			add_rx_source(source, &rx_role_source_counters(role)[index]);
		else if (plan->roles[i].kind == CONFIG_ROLE_BUILDER)
			add_built_source(
			    source, &assembly_source_counters(builder_role_assembly(role))[index]);
	}
}

uint64_t account_losses(const struct account *account)
{
	uint64_t losses = 0;

	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		losses += account->packets.drops[i];
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		losses += account->segments.drops[i];
	return losses;
}

bool account_has_losses(const struct account *account)
{
	return account_losses(account) > 0 || account->packets.missed > 0 ||
	       account->events.incomplete > 0 || account->events.discarded > 0 ||
	       account->written.refused > 0 || account->written.failures > 0 ||
	       account->sent.unacknowledged > 0;
}
