// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Creates the roles of an appliance from its configuration and its parts.
#include <stdio.h>
#include <string.h>

#include "appliance/parts.h"
#include "builder/builder_role.h"
#include "node/control_role.h"
#include "port/arp.h"
#include "record/writer_role.h"
#include "rx/rx_role.h"
#include "tx/pcap_role.h"
#include "tx/source_role.h"

#define QUIET_NS 50000000u // time without packets after which a port counts as drained

struct role *appliance_role(const struct appliance *appliance, enum config_role_kind kind,
			    unsigned object)
{
	unsigned index = plan_role_of(appliance->plan, kind, object);

	return index != PLAN_NONE ? appliance->roles[index] : NULL;
}

static struct rx_addresses addresses_of(const struct port *port)
{
	struct rx_addresses addresses = {
		.has_ip4 = port->config->has_address,
		.has_ip6 = port->config->has_address6,
		.ip4 = port->config->address,
	};

	memcpy(addresses.mac.bytes, port->mac, sizeof(addresses.mac.bytes));
	memcpy(addresses.ip6, port->config->address6, sizeof(addresses.ip6));
	return addresses;
}

// Whether the port ends in this process or in a file: no peer can report its MAC address, and none
// is needed.
static bool is_in_memory(const struct profile *profile)
{
	return strcmp(profile->driver, "net_ring") == 0 ||
	       strcmp(profile->driver, "net_null") == 0 || strcmp(profile->driver, "net_pcap") == 0;
}

// Senders of packets in memory and in files do not move; what is in a capture may be of several
// networks.
static enum source_moves moves_of(const struct config *config, const struct profile *profile)
{
	return is_in_memory(profile) || config->cluster.shares_source ? SOURCE_MOVES_ALLOWED
								      : config->sources.moves;
}

// The rules for the senders to a port; NULL: all are admitted.
static const struct admission *admission_of(const struct appliance *appliance,
					    const struct profile *profile)
{
	bool all = moves_of(appliance->config, profile) == SOURCE_MOVES_ALLOWED &&
		   appliance->config->sources.n_from == 0;

	return all ? NULL : &appliance->admission;
}

// Whether packets that a port has no room for are lost: neither is the sender in this machine, and
// waits, nor does the device pause it.
static bool loses_packets(const struct port *port, const struct flow_control *flow_control)
{
	return !is_in_memory(port->profile) && strcmp(port->profile->driver, "net_memif") != 0 &&
	       (flow_control == NULL || flow_control->mode == FLOW_CONTROL_OFF ||
		flow_control->mode == FLOW_CONTROL_SOFT);
}

static unsigned make_handlers(struct appliance *appliance, unsigned port, struct link *control,
			      struct rx_handler *handlers)
{
	unsigned n = roce_make_handler(appliance, port, handlers);

	if (control != NULL) {
		handlers[n++] =
		    control_frame_handler(control, appliance->config->event_manager.control_port);
		handlers[n++] = control_arp_handler(control);
	}
	return n;
}

static struct role *make_rx(struct appliance *appliance, const struct plan_role *plan,
			    struct link **links, struct link *control)
{
	const struct config *config = appliance->config;
	struct port *port = &appliance->ports[plan->port];
	struct rx_handler handlers[RX_MAX_HANDLERS];
	struct port_udp_range segments = traffic_segment_ports(config, plan->port);
	bool for_boards = config_is_for_boards(config, plan->port);
	bool listens = config_listener(config, plan->port) < config->n_generators;
	bool is_node = control != NULL;
	struct rx_parameters parameters = {
		.name = plan->name,
		.port_id = port->id,
		.queue = (uint16_t)plan->queue,
		.reply_queue = plan->tx_queue,
		.verify_checksums = port->config->verify_checksums,
		.checksums_in_hardware = port->checksums_in_hardware,
		.addresses = addresses_of(port),
		.own_only = port->config->destinations == PORT_DESTINATIONS_OWN &&
			    !is_in_memory(port->profile),
		.ether_type = traffic_ether_type(config, plan->port),
		.udp_port = segments.first,
		.udp_ports = segments.count,
		.builder_by_udp_port = is_node && !listens,
		.takes_bundles = is_node && !listens,
		.others_are_expected = appliance->input_is_mixed,
		.packing = config->sources.packing,
		.sources = &appliance->sources,
		.admission = admission_of(appliance, port->profile),
		.source_moves = moves_of(config, port->profile),
		.links = links,
		.n_builders = listens ? 1 : config->n_builders,
		.hold = listens ? 0 : appliance->plan->ports[plan->port].hold,
		.hold_patience = loses_packets(port, appliance_flow_control(appliance, plan->port))
				     ? ns_to_cycles(config->event_manager.heartbeat_timeout_ns / 4)
				     : UINT64_MAX,
		.gate = gate_of(appliance, (unsigned)(plan - appliance->plan->roles)),
		.handlers = handlers,
		.n_handlers =
		    make_handlers(appliance, plan->port, for_boards ? NULL : control, handlers),
		.flow_control = appliance_flow_control(appliance, plan->port),
		.data_priority = port->config->flow_control.priority,
		.rings = listens ? NULL : (const struct evring *const *)appliance->rings,
		.events_are_granted = cluster_grants(config),
		.pool = port->pool,
		// Nothing that boards still send is of use when the readouts have ended.
		.quiet_cycles = for_boards ? 0 : ns_to_cycles(QUIET_NS),
		.drain_cycles = for_boards ? 0 : ns_to_cycles(config->events.drain_timeout_ns),
		.numa_node = port->numa_node,
	};

	// What is not for this node the endpoint ignores: many networks send it to all.
	if (is_node && !for_boards && config->event_manager.has_multicast)
		parameters.addresses.group4 = config->event_manager.multicast;
	return rx_role_create(&parameters);
}

// Captures and generators in this process are trusted. Their sources may be far from each other.
static bool has_port_on_wire(const struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		if (!is_in_memory(appliance->ports[i].profile))
			return true;
	return false;
}

static struct role *make_builder(struct appliance *appliance, const struct plan_role *plan,
				 char *error)
{
	const struct config *config = appliance->config;
	struct link *links[BUILDER_MAX_LINKS];
	struct builder_parameters parameters = {
		.name = plan->name,
		.packing = config->sources.packing,
		.payload = config->sources.payload,
		.on_incomplete = config->events.on_incomplete,
		.on_no_slot = config->events.on_no_slot,
		.deadline_ns = config->events.deadline_ns,
		.guarded = has_port_on_wire(appliance),
		.held_back = config->transport.kind == CONFIG_TRANSPORT_ROCE,
		.spare = cluster_spare(config->builders[plan->object].slots),
		.ring = appliance->rings[plan->object],
		.is_one_of_many_runs = config_serves_several_runs(config),
		.sources = &appliance->sources,
		.links = links,
		.numa_node = (int)appliance->plan->lcores[plan->lcore].numa_node,
		.grant_wait_ms = (uint32_t)(config->event_manager.heartbeat_timeout_ns / 2000000),
	};
	unsigned n_builders = config->n_builders;

	for (unsigned i = plan->object; i < appliance->plan->n_producers * n_builders;
	     i += n_builders) {
		if (parameters.n_links == BUILDER_MAX_LINKS) {
			(void)appliance_fail(error, "role %s: more than %u links", plan->name,
					     BUILDER_MAX_LINKS);
			return NULL;
		}
		links[parameters.n_links++] = appliance->links[i];
	}
	if (config->cluster.n_nodes > 0) {
		parameters.from_control = &appliance->builder_mail[plan->object][0];
		parameters.nodes_of_sources = appliance->nodes_of_sources;
		parameters.windows = config_shift_windows(config);
		parameters.node = (uint16_t)config->cluster.self;
	}
	if (cluster_grants(config))
		parameters.to_control = &appliance->builder_mail[plan->object][1];
	else if (config->cluster.n_nodes > 0)
		parameters.states = &appliance->builder_mail[plan->object][1];
	return builder_role_create(&parameters);
}

static int find_destination(const struct port *port, const struct config_generator *generator,
			    uint8_t *mac, char *error)
{
	uint32_t to = generator->destination_address;

	if (port->config->has_gateway && !port_settings_reach(port->config, to))
		to = port->config->gateway;
	if (generator->has_destination_mac) {
		memcpy(mac, generator->destination_mac, 6);
		return 0;
	}
	if (is_in_memory(port->profile)) {
		memcpy(mac, port->mac, 6);
		return 0;
	}
	if (arp_resolve(port, port->config->address, to, mac) != 0)
		return appliance_fail(
		    error,
		    "generator %s: nobody answers for %u.%u.%u.%u on port %s: start the "
		    "receiver first, or give destination.mac (evb gen: --to-mac)",
		    generator->name, to >> 24, to >> 16 & 255, to >> 8 & 255, to & 255,
		    port->config->name);
	return 0;
}

struct block_packets_parameters generator_packets(const struct appliance *appliance,
						  const struct plan_role *plan)
{
	const struct config *config = appliance->config;
	const struct config_generator *generator = &config->generators[plan->object];
	const struct port *port = &appliance->ports[plan->port];

	return (struct block_packets_parameters){
		.store = appliance->stores[plan->object],
		.first_event = generator->first_event,
		.mac = port->mac,
		.address = port->config->address,
		.mtu = port->config->mtu,
		.ethernet = config->transport.kind != CONFIG_TRANSPORT_UDP,
		.ether_type = config->transport.ether_type,
		.load_balancer_header = generator->load_balancer_header,
		.mfps = config->sources.payload == PAYLOAD_MFP,
		.udp_ports = config->transport.udp_ports,
		.headers = appliance->generator_pools[plan->object][0],
		.payloads = appliance->generator_pools[plan->object][1],
	};
}

static struct role *make_pcap_source(struct appliance *appliance, const struct plan_role *plan,
				     char *error)
{
	const struct port *port = &appliance->ports[plan->port];
	const struct config_generator *generator = &appliance->config->generators[plan->object];
	struct pcap_parameters parameters = {
		.name = plan->name,
		.file = generator->file,
		.speed = generator->speed,
		.faults = &generator->faults,
		.seed = generator->seed,
		.port_id = port->id,
		.queue = (uint16_t)plan->tx_queue,
		.mtu = port->config->mtu,
		.buffers = appliance->generator_pools[plan->object][0],
		.numa_node = port->numa_node,
	};

	return pcap_role_create(&parameters, error);
}

static struct role *make_source(struct appliance *appliance, const struct plan_role *plan,
				char *error)
{
	const struct config_generator *generator = &appliance->config->generators[plan->object];
	const struct port *port = &appliance->ports[plan->port];
	struct source_parameters parameters = {
		.name = plan->name,
		.packets = generator_packets(appliance, plan),
		.to = {
			.address = generator->destination_address,
			.udp_port = appliance->config->transport.udp_port,
		},
		.port_id = port->id,
		.queue = (uint16_t)plan->tx_queue,
		.events = generator->events,
		.rate = generator->rate,
		.spill = config_production(generator),
		.faults = &generator->faults,
		.seed = generator->seed,
		.numa_node = port->numa_node,
	};

	if (generator->kind == GENERATOR_PCAP)
		return make_pcap_source(appliance, plan, error);
	if (find_destination(port, generator, parameters.to.mac, error) != 0)
		return NULL;
	if (appliance->config->transport.kind == CONFIG_TRANSPORT_ROCE)
		return roce_make_source(appliance, plan, parameters.to.mac, error);
	return source_role_create(&parameters);
}

static struct role *make_writer(struct appliance *appliance, const struct plan_role *plan,
				char *error)
{
	const struct config *config = appliance->config;
	const struct config_writer *writer = &config->writers[plan->object];
	const char *directory = config->event_ring.directory;
	struct recorder_parameters parameters = {
		.appliance = config->name,
		.ends_with_run = true, // each run has a role of its own
		.reader = {
			.mode = EVB_READER_GROUP,
			.group = writer->group,
			.directory = directory[0] != '\0' ? directory : NULL,
		},
		.file = {
			.directory = writer->directory,
			.prefix = writer->prefix,
			.format = writer->format,
			.rotate_size = writer->rotate_size,
			.rotate_time_ns = writer->rotate_time_ns,
			.source_map = writer->source_map,
			.notify = notice_of_file,
			.notify_context = appliance,
		},
	};

	return writer_role_create(plan->name, &parameters, error);
}

int roles_make(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	unsigned n_rx = 0;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];

		snprintf(error, APPLIANCE_ERROR_SIZE, "role %s: out of memory", role->name);
		switch (role->kind) {
		case CONFIG_ROLE_RX:
			appliance->roles[i] = make_rx(
			    appliance, role, &appliance->links[role->link],
			    n_rx < appliance->n_control_links ? appliance->control_links[n_rx]
							      : NULL);
			n_rx++;
			break;
		case CONFIG_ROLE_BUILDER:
			appliance->roles[i] = make_builder(appliance, role, error);
			break;
		case CONFIG_ROLE_SOURCE:
			appliance->roles[i] = make_source(appliance, role, error);
			break;
		case CONFIG_ROLE_WRITER:
			appliance->roles[i] = make_writer(appliance, role, error);
			break;
		case CONFIG_ROLE_RESULTS:
			appliance->roles[i] = results_make(appliance, role, error);
			break;
		case CONFIG_ROLE_RESULTS_SENDER:
			appliance->roles[i] = results_make_sender(appliance, role, error);
			break;
		case CONFIG_ROLE_CONTROL:
			appliance->roles[i] = cluster_make_control(appliance, role, error);
			break;
		case CONFIG_ROLE_READOUT:
			appliance->roles[i] =
			    cluster_make_readout(appliance, role, &appliance->links[role->link]);
			break;
		}
		if (appliance->roles[i] == NULL)
			return -1;
		// Decisions are exchanged when the roles that receive events have drained.
		appliance->roles[i]->lingers = appliance->config->cluster.n_results > 0;
	}
	return 0;
}
