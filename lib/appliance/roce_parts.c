// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE endpoints of an appliance's ports.
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_random.h>

#include "appliance/parts.h"
#include "builder/builder_role.h"
#include "cluster/cluster.h"
#include "rdma/roce_port.h"
#include "rdma/roce_sender.h"
#include "rdma/roce_source_role.h"
#include "store/port_store.h"
#include "wire/roce_cm.h"

#define RESPONSES_DEPTH 4096u // RoCE responses in the link from an rx role to a generator
#define FIRST_ADDRESS   0x10000u
#define WAITING_SECONDS 5

// Reads the state of a builder's slots from its counters. It is called only after the roles were
// started.
static struct roce_slots_state ask_builder(void *context, unsigned builder)
{
	const struct appliance *appliance = context;
	const struct assembly *assembly =
	    builder_role_assembly(appliance_role(appliance, CONFIG_ROLE_BUILDER, builder));
	struct roce_slots_state told;

	// A builder takes a slot before it counts the event, so the counter is read first.
	told.opened = counter_read(&assembly_counters(assembly)->events_opened);
	atomic_thread_fence(memory_order_acquire);
	told.free = assembly_free_slots(assembly);
	return told;
}

// The same for the store of boards, which has room for whole events.
static struct roce_slots_state ask_store(void *context, unsigned builder)
{
	struct roce_slots_state told;

	(void)builder;
	told.free = port_store_room(context, &told.opened);
	return told;
}

const struct placement *roce_placements(const struct appliance *appliance)
{
	const struct config *config = appliance->config;

	return config->transport.kind == CONFIG_TRANSPORT_ROCE && config->cluster.n_nodes > 0
		   ? appliance->placements
		   : NULL;
}

// Chooses the RDMA addresses and keys of the slots. Keys are random, so that they differ from those
// of a previous process. There is a gap between two slots, so that an access beyond the end of a
// slot is detected.
static void place_slots(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		const struct config_builder *builder = &appliance->config->builders[i];
		struct placement *placement = &appliance->placements[i];

		*placement = (struct placement){
			.address = FIRST_ADDRESS,
			.stride = rte_align64pow2(builder->slot_size + 1),
			.slot_size = builder->slot_size,
			.slots = builder->slots,
		};
		do {
			placement->rkey = (uint32_t)rte_rand();
		} while (placement->rkey == 0);
	}
}

// The mailbox of offered blocks, for the port that has the node's address; NULL for other ports.
// Peers connect to this port.
static struct mailbox *offers_of(struct appliance *appliance, unsigned port)
{
	const struct cluster_system *cluster = &appliance->config->cluster;

	return appliance->offers.ring != NULL && cluster->nodes[cluster->self].port == port
		   ? &appliance->offers
		   : NULL;
}

static uint64_t smallest_slot(const struct config *config)
{
	uint64_t size = UINT64_MAX;

	for (unsigned i = 0; i < config->n_builders; i++)
		size = RTE_MIN(size, config->builders[i].slot_size);
	return size;
}

// The generator whose boards send to a port for boards only; NULL: another port.
static const struct config_generator *boards_of(const struct config *config, unsigned port)
{
	return config_is_for_boards(config, port)
		   ? &config->generators[config_listener(config, port)]
		   : NULL;
}

static int make_endpoint(struct appliance *appliance, unsigned index, char *error)
{
	struct port *port = &appliance->ports[index];
	struct roce_port_parameters parameters = {
		.settings = &appliance->config->roce,
		.system = &appliance->config->cluster,
		.port = port->config,
		.mac = port->mac,
		.sources = &appliance->sources,
		.slots = appliance->roce_slots,
		.n_builders = appliance->config->n_builders,
		.smallest_slot = smallest_slot(appliance->config),
		.packing = appliance->config->sources.packing,
		.placements = roce_placements(appliance),
		.offers = offers_of(appliance, index),
		.numa_node = port->numa_node,
	};
	static const struct cluster_system no_system;
	const struct config_generator *boards = boards_of(appliance->config, index);
	char name[RTE_MEMPOOL_NAMESIZE];

	if (boards != NULL) {
		parameters.system = &no_system;
		parameters.slots = appliance->boards_slots[index];
		parameters.n_builders = 1; // the readout
		parameters.smallest_slot = boards->listen.max_block;
		parameters.placements = NULL;
		parameters.offers = NULL;
	}
	snprintf(name, sizeof(name), "roce%u", index);
	if (appliance->roce_pools[index] == NULL)
		appliance->roce_pools[index] =
		    port_pool_create(name, appliance->plan->ports[index].roce_mbufs,
				     PLAN_POOL_CACHE, ROCE_PORT_BUFFER, port->numa_node);
	if (appliance->roce_pools[index] == NULL)
		return appliance_fail(
		    error, "ports[%u]: no memory for the pool of %u RoCE answers (%s)", index,
		    appliance->plan->ports[index].roce_mbufs, rte_strerror(rte_errno));
	parameters.pool = appliance->roce_pools[index];
	appliance->roce_ports[index] = roce_port_create(&parameters, error);
	return appliance->roce_ports[index] != NULL ? 0 : -1;
}

// Makes the links from the rx role of each port to the generator that sends on this port.
static int make_response_links(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		unsigned port = plan->roles[i].port;
		unsigned rx = plan_role_of(plan, CONFIG_ROLE_RX, port);

		if (plan->roles[i].kind != CONFIG_ROLE_SOURCE &&
		    plan->roles[i].kind != CONFIG_ROLE_READOUT)
			continue;
		appliance->roce_responses[port] = make_link(
		    plan, rx, i, RESPONSES_DEPTH, false, appliance->ports[port].numa_node, error);
		if (appliance->roce_responses[port] == NULL)
			return -1;
	}
	return 0;
}

// Makes the endpoints of ports for RoCE boards.
static int make_boards(struct appliance *appliance, char *error)
{
	const struct config *config = appliance->config;

	for (unsigned i = 0; i < config->n_ports; i++) {
		if (!config_is_for_boards(config, i) || !config_has_roce(config, i))
			continue;
		appliance->boards_slots[i] =
		    roce_slots_create(1, ask_store, appliance->stores[config_listener(config, i)]);
		if (appliance->boards_slots[i] == NULL)
			return appliance_fail(error, "no memory for the account of boards");
		if (make_endpoint(appliance, i, error) != 0)
			return -1;
	}
	return 0;
}

int roce_parts_make(struct appliance *appliance, char *error)
{
	if (make_boards(appliance, error) != 0)
		return -1;
	if (appliance->config->transport.kind != CONFIG_TRANSPORT_ROCE)
		return 0;
	place_slots(appliance);
	appliance->roce_slots =
	    roce_slots_create(appliance->config->n_builders, ask_builder, appliance);
	if (appliance->roce_slots == NULL ||
	    !(cluster_grants(appliance->config)
		  ? roce_slots_granted(
			appliance->roce_slots,
			cluster_unfinished(appliance->config->event_manager.source_buffer))
		  : roce_slots_remember(appliance->roce_slots)))
		return appliance_fail(error, "no memory for the account of slots");
	for (unsigned i = 0; appliance->config->n_builders > 0 && i < appliance->config->n_ports;
	     i++)
		if (!config_is_for_boards(appliance->config, i) &&
		    make_endpoint(appliance, i, error) != 0)
			return -1;
	return make_response_links(appliance, error);
}

unsigned roce_make_handler(struct appliance *appliance, unsigned port, struct rx_handler *handler)
{
	const struct config *config = appliance->config;
	const struct roce_handler_parameters parameters = {
		.port = appliance->roce_ports[port],
		.responses = appliance->roce_responses[port],
		.udp_port = config->roce.udp_port,
		.takes_feroce = config->roce.connection == ROCE_CONNECTION_FEROCE,
		.in_cluster = config->cluster.n_nodes > 0 && !config_is_for_boards(config, port),
	};

	if (parameters.port == NULL && parameters.responses == NULL)
		return 0;
	*handler = roce_handler_make(&appliance->roce_handlers[port], &parameters);
	return 1;
}

struct role *roce_make_source(struct appliance *appliance, const struct plan_role *plan,
			      const uint8_t destination_mac[6], char *error)
{
	const struct config_generator *generator = &appliance->config->generators[plan->object];
	const struct port *port = &appliance->ports[plan->port];
	struct roce_source_parameters parameters = {
		.name = plan->name,
		.settings = &appliance->config->roce,
		.set = appliance->sets[plan->object],
		.packets = generator_packets(appliance, plan),
		.destination = generator->destination_address,
		.port_id = port->id,
		.queue = (uint16_t)plan->tx_queue,
		.link_rate = port_link_rate(port),
		.responses = appliance->roce_responses[plan->port],
		.flow_control = appliance_flow_control(appliance, plan->port),
		.data_priority = port->config->flow_control.priority,
		.events = generator->events,
		.rate = generator->rate,
		.speed = generator->speed,
		.faults = &generator->faults,
		.seed = generator->seed,
		.numa_node = port->numa_node,
	};

	memcpy(parameters.destination_mac, destination_mac, sizeof(parameters.destination_mac));
	return roce_source_role_create(&parameters, error);
}

static void report_waiting(const struct appliance *appliance, const struct plan_role *plan,
			   const struct role *role)
{
	const struct config_generator *generator = &appliance->config->generators[plan->object];
	const struct roce_sender_counters *counters = roce_source_role_counters(role);
	uint32_t to = generator->destination_address;
	unsigned reason = (unsigned)counter_read(&counters->reason);
	char why[96] = "does not respond";

	if (reason != 0)
		snprintf(why, sizeof(why), "refuses connections, reason %u: %s", reason,
			 roce_cm_reason_text(reason));
	notice(appliance,
	       "generator %s: %u.%u.%u.%u, RDMA CM port %u, %s; %u of %u queue pairs are "
	       "connected",
	       generator->name, to >> 24, to >> 16 & 255, to >> 8 & 255, to & 255,
	       appliance->config->roce.cm_service, why,
	       (unsigned)counter_read(&counters->connected),
	       appliance->stores[plan->object]->n_sources);
}

void roce_report_waiting(struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	uint64_t now = rte_rdtsc();

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];
		uint64_t *since = &appliance->waiting_since[role->object];

		if (role->kind != CONFIG_ROLE_SOURCE || !roce_source_role_is(appliance->roles[i]))
			continue;
		if (!roce_source_role_waits(appliance->roles[i])) {
			*since = 0;
			if (counter_read(
				&roce_source_role_counters(appliance->roles[i])->connected) > 0)
				appliance->waiting_reported[role->object] = false;
		} else if (*since == 0) {
			*since = now;
		} else if (!appliance->waiting_reported[role->object] &&
			   now - *since > WAITING_SECONDS * rte_get_tsc_hz()) {
			appliance->waiting_reported[role->object] = true;
			report_waiting(appliance, role, appliance->roles[i]);
		}
	}
}

void roce_report_unsent(struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];
		const struct roce_sender_counters *counters;

		if (role->kind != CONFIG_ROLE_SOURCE || !roce_source_role_is(appliance->roles[i]))
			continue;
		counters = roce_source_role_counters(appliance->roles[i]);
		if (!appliance->waiting_reported[role->object] &&
		    counter_read(&counters->failed) + counter_read(&counters->unsent) > 0 &&
		    counter_read(&counters->refused) + counter_read(&counters->unheard) > 0)
			report_waiting(appliance, role, appliance->roles[i]);
	}
}

void roce_ports_free(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		roce_port_destroy(appliance->roce_ports[i]);
	roce_slots_destroy(appliance->roce_slots);
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		roce_slots_destroy(appliance->boards_slots[i]);
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		link_destroy(appliance->roce_responses[i]);
}
