// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/telemetry_views.h"

#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "appliance/writer_role.h"
#include "builder/builder_role.h"
#include "transport/pcap_role.h"
#include "transport/rx_role.h"
#include "transport/source_role.h"

const struct role *telemetry_find_role(const struct appliance *appliance,
				       enum config_role_kind kind, unsigned object)
{
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == kind && plan->roles[i].object == object)
			return appliance->roles[i];
	return NULL; // not in an appliance that has started
}

void telemetry_view_info(const struct appliance *appliance, struct info_view *view)
{
	static const char *const states[] = {
		[APPLIANCE_STARTING] = "starting",
		[APPLIANCE_RUNNING] = "running",
		[APPLIANCE_DRAINING] = "draining",
		[APPLIANCE_STOPPED] = "stopped",
	};

	*view = (struct info_view){
		.name = appliance->config->name,
		.state = states[atomic_load(&appliance->state)],
		.configuration = appliance->config->path,
		.run_number = appliance->config->run_number,
		.uptime_seconds = (uint64_t)appliance_seconds(appliance),
		.hugepages = appliance->eal.hugepages,
		.lcores = appliance->plan->n_lcores,
		.roles = appliance->plan->n_roles,
		.sources = appliance->sources.n_expected,
	};
}

void telemetry_view_summary(const struct appliance *appliance, struct summary_view *view)
{
	account_take(appliance, &view->account);
	view->uptime_seconds = (uint64_t)view->account.seconds;
	view->run_number = appliance->config->run_number;
	view->loss_total = account_losses(&view->account);
}

static unsigned count_roles(const struct appliance *appliance)
{
	return appliance->plan->n_roles;
}

static const char *name_role(const struct appliance *appliance, unsigned index)
{
	return appliance->plan->roles[index].name;
}

static void view_role(const struct appliance *appliance, unsigned index, union telemetry_view *view,
		      telemetry_bases bases)
{
	const struct plan_role *planned = &appliance->plan->roles[index];
	const struct role *role = appliance->roles[index];

	view->role = (struct role_view){
		.name = role->name,
		.kind = role->operations->kind,
		.lcore = appliance->lcores[planned->lcore].id,
		.cpu = appliance->lcores[planned->lcore].cpu,
		.drained = atomic_load(&role->drained),
	};
	bases[1] = &role->counters;
	if (planned->kind == CONFIG_ROLE_RX)
		bases[2] = rx_role_counters(role);
}

static unsigned count_links(const struct appliance *appliance)
{
	return appliance->n_links;
}

static unsigned number_link(const struct appliance *appliance, unsigned index)
{
	(void)appliance;
	return index;
}

static void view_link(const struct appliance *appliance, unsigned index, union telemetry_view *view,
		      telemetry_bases bases)
{
	const struct link *link = appliance->links[index];

	view->link = (struct link_view){
		.producer = link->producer,
		.consumer = link->consumer,
		.id = index,
		.lossless = link->lossless,
		.depth = link->depth,
		.used = rte_ring_count(link->ring),
	};
	bases[1] = link;
}

static unsigned count_builders(const struct appliance *appliance)
{
	return appliance->config->n_builders;
}

static const char *name_builder(const struct appliance *appliance, unsigned index)
{
	return appliance->config->builders[index].name;
}

static void view_builder(const struct appliance *appliance, unsigned index,
			 union telemetry_view *view, telemetry_bases bases)
{
	const struct role *role = telemetry_find_role(appliance, CONFIG_ROLE_BUILDER, index);
	const struct assembly *assembly = builder_role_assembly(role);
	const struct evring *ring = appliance->rings[index];

	view->builder = (struct builder_view){
		.name = appliance->config->builders[index].name,
		.ring = evring_path(ring),
		.hugepages = evring_on_hugepages(ring),
		.slots = evring_slots(ring),
		.slot_bytes = evring_slot_size(ring),
		.slots_free = assembly_free_slots(assembly),
		.events_open = assembly_open_events(assembly),
		.events_held = evring_outstanding(ring),
	};
	bases[1] = assembly_counters(assembly);
	bases[2] = assembly_latency(assembly);
}

static bool view_group(const struct appliance *appliance, unsigned index, unsigned n,
		       union telemetry_view *view)
{
	// The name has to outlive the call: views hold pointers.
	static _Thread_local struct evring_group_state state;

	if (!evring_group(appliance->rings[index], n, &state))
		return false;
	view->group = (struct group_view){
		.name = state.name,
		.configured = state.persistent,
		.members = state.members,
		.lag = state.lag,
		.delivered = state.delivered,
		.released = state.released,
		.regained = state.regained,
	};
	return true;
}

static unsigned count_sources(const struct appliance *appliance)
{
	return appliance->sources.n_expected;
}

static unsigned number_source(const struct appliance *appliance, unsigned index)
{
	return appliance->sources.ids[index];
}

static void view_source(const struct appliance *appliance, unsigned index,
			union telemetry_view *view, telemetry_bases bases)
{
	(void)bases;
	account_take_source(appliance, index, &view->source.source);
	view->source.id = appliance->sources.ids[index];
}

static unsigned count_ports(const struct appliance *appliance)
{
	return appliance->n_ports;
}

static const char *name_port(const struct appliance *appliance, unsigned index)
{
	return appliance->ports[index].config->name;
}

// What the driver does not tell stays 0.
static void add_driver_counters(struct port_view *view, uint16_t id)
{
	struct rte_eth_stats stats = { 0 };
	struct rte_eth_link link = { 0 };

	(void)rte_eth_stats_get(id, &stats);
	(void)rte_eth_link_get_nowait(id, &link);
	view->link_up = link.link_status == RTE_ETH_LINK_UP;
	view->link_megabits = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	view->rx_packets = stats.ipackets;
	view->rx_bytes = stats.ibytes;
	view->rx_missed = stats.imissed;
	view->rx_errors = stats.ierrors;
	view->rx_no_buffer = stats.rx_nombuf;
	view->tx_packets = stats.opackets;
	view->tx_bytes = stats.obytes;
	view->tx_errors = stats.oerrors;
}

static void view_port(const struct appliance *appliance, unsigned index, union telemetry_view *view,
		      telemetry_bases bases)
{
	const struct port *port = &appliance->ports[index];
	struct port_view *to = &view->port;
	const uint8_t *mac = port->mac;

	(void)bases;
	*to = (struct port_view){
		.name = port->config->name,
		.profile = port->config->profile,
		.driver = port->profile->driver,
		.device = port->config->device[0] != '\0' ? port->config->device : "none",
		.mac = to->mac_text,
		.id = port->id,
		.numa_node = (uint64_t)port->numa_node,
		.mtu = port->config->mtu,
		.rx_queues = port->n_rx_queues,
		.tx_queues = port->n_tx_queues,
		.pool_mbufs = port->pool->size,
		.pool_free = rte_mempool_avail_count(port->pool),
	};
	snprintf(to->mac_text, sizeof(to->mac_text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
		 mac[1], mac[2], mac[3], mac[4], mac[5]);
	add_driver_counters(to, port->id);
}

static unsigned count_lcores(const struct appliance *appliance)
{
	return appliance->plan->n_lcores;
}

static unsigned number_lcore(const struct appliance *appliance, unsigned index)
{
	return appliance->lcores[index].id;
}

static void view_lcore(const struct appliance *appliance, unsigned index,
		       union telemetry_view *view, telemetry_bases bases)
{
	const struct lcore *lcore = &appliance->lcores[index];

	view->lcore = (struct lcore_view){
		.lcore = lcore->id,
		.cpu = lcore->cpu,
		.adaptive = lcore->adaptive,
		.running = atomic_load(&lcore->running),
		.roles.n = lcore->n_roles,
	};
	for (unsigned i = 0; i < lcore->n_roles; i++)
		view->lcore.roles.texts[i] = lcore->roles[i]->name;
	bases[1] = lcore;
}

static unsigned count_generators(const struct appliance *appliance)
{
	return appliance->config->n_generators;
}

static const char *name_generator(const struct appliance *appliance, unsigned index)
{
	return appliance->config->generators[index].name;
}

static void view_generator(const struct appliance *appliance, unsigned index,
			   union telemetry_view *view, telemetry_bases bases)
{
	static const char *const kinds[] = {
		[CONFIG_GENERATOR_SYNTHETIC] = "synthetic",
		[CONFIG_GENERATOR_MDF] = "mdf",
		[CONFIG_GENERATOR_MFP] = "mfp",
		[CONFIG_GENERATOR_PCAP] = "pcap",
	};
	const struct config_generator *generator = &appliance->config->generators[index];
	const struct role *role = telemetry_find_role(appliance, CONFIG_ROLE_SOURCE, index);
	bool pcap = generator->kind == CONFIG_GENERATOR_PCAP;

	view->generator = (struct generator_view){
		.name = generator->name,
		.kind = kinds[generator->kind],
		.port = generator->port,
		.finished = pcap ? pcap_role_finished(role) : source_role_finished(role),
	};
	bases[1] = pcap ? pcap_role_sender_counters(role) : source_role_sender_counters(role);
	if (pcap)
		bases[3] = pcap_role_counters(role);
	else
		bases[2] = source_role_counters(role);
}

static unsigned count_writers(const struct appliance *appliance)
{
	return appliance->config->n_writers;
}

static const char *name_writer(const struct appliance *appliance, unsigned index)
{
	return appliance->config->writers[index].name;
}

static void view_writer(const struct appliance *appliance, unsigned index,
			union telemetry_view *view, telemetry_bases bases)
{
	const struct config_writer *writer = &appliance->config->writers[index];

	view->writer = (struct writer_view){
		.name = writer->name,
		.group = writer->group,
		.directory = writer->directory,
		.format = writer->format == CONFIG_FILE_MDF ? "mdf" : "mep",
	};
	bases[1] = writer_role_counters(telemetry_find_role(appliance, CONFIG_ROLE_WRITER, index));
}

const struct telemetry_group telemetry_groups[] = {
	{ .what = "role",
	  .list = TELEMETRY_ROLE_LIST,
	  .info = TELEMETRY_ROLE_INFO,
	  .count = count_roles,
	  .name = name_role,
	  .view = view_role },
	{ .what = "link",
	  .list = TELEMETRY_LINK_LIST,
	  .info = TELEMETRY_LINK_INFO,
	  .count = count_links,
	  .number = number_link,
	  .view = view_link },
	{ .what = "builder",
	  .list = TELEMETRY_BUILDER_LIST,
	  .info = TELEMETRY_BUILDER_INFO,
	  .count = count_builders,
	  .name = name_builder,
	  .view = view_builder,
	  .nested = view_group,
	  .n_nested = EVRING_MAX_GROUPS },
	{ .what = "source",
	  .list = TELEMETRY_SOURCE_LIST,
	  .info = TELEMETRY_SOURCE_INFO,
	  .count = count_sources,
	  .number = number_source,
	  .view = view_source },
	{ .what = "port",
	  .list = TELEMETRY_PORT_LIST,
	  .info = TELEMETRY_PORT_INFO,
	  .count = count_ports,
	  .name = name_port,
	  .view = view_port },
	{ .what = "lcore",
	  .list = TELEMETRY_LCORE_LIST,
	  .info = TELEMETRY_LCORE_INFO,
	  .count = count_lcores,
	  .number = number_lcore,
	  .view = view_lcore },
	{ .what = "generator",
	  .list = TELEMETRY_GENERATOR_LIST,
	  .info = TELEMETRY_GENERATOR_INFO,
	  .count = count_generators,
	  .name = name_generator,
	  .view = view_generator },
	{ .what = "writer",
	  .list = TELEMETRY_WRITER_LIST,
	  .info = TELEMETRY_WRITER_INFO,
	  .count = count_writers,
	  .name = name_writer,
	  .view = view_writer },
	{ 0 },
};
