// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Builds an appliance from its plan, step by step, and frees its parts in the reverse order.
#include "appliance/appliance.h"

#include <numa.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_malloc.h>

#include "appliance/cluster_parts.h"
#include "appliance/notices.h"
#include "appliance/roce_parts.h"
#include "appliance/traffic.h"
#include "builder/builder_role.h"
#include "node/control_handler.h"
#include "port/arp.h"
#include "record/writer_role.h"
#include "rx/rx_role.h"
#include "tx/pcap_role.h"
#include "tx/source_role.h"

#define QUIET_NS      50000000u // time without packets after which a port counts as drained
#define SLOW_YIELD_NS 200000u   // only a thread that used its time slice takes the CPU for so long

static int fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, APPLIANCE_ERROR_SIZE, format, list);
	va_end(list);
	return -1;
}

static uint64_t ns_to_cycles(uint64_t ns)
{
	return (uint64_t)((double)ns * 1e-9 * (double)rte_get_tsc_hz());
}

static int start_eal(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	uint32_t cpus[EVB_MAX_CPUS];
	char devices[EVB_MAX_PORTS][EAL_DEVICE_SIZE];
	const char *pci[EVB_MAX_PORTS];
	struct eal_parameters parameters = {
		.name = appliance->config->name,
		.cpus = cpus,
		.n_cpus = plan->n_lcores,
		.memory = plan->packet_bytes,
		.kind = appliance->config->memory.kind,
		.pci = pci,
	};

	for (unsigned i = 0; i < plan->n_lcores; i++)
		cpus[i] = plan->lcores[i].cpu;
	for (unsigned i = 0; i < appliance->config->n_ports; i++) {
		const struct port_settings *port = &appliance->config->ports[i];
		const struct profile *profile = &plan->ports[i].profile;

		if (!profile_is_pci(profile, port))
			continue;
		port_pci_device(profile, port, devices[i], sizeof(devices[i]));
		pci[parameters.n_pci++] = devices[i];
	}
	return eal_start(&parameters, &appliance->eal, error);
}

static int open_ports(struct appliance *appliance, char *error)
{
	struct port_traffic traffic;

	traffic_make(&traffic, appliance->config);
	for (unsigned i = 0; i < appliance->config->n_ports; i++) {
		const struct plan_port *plan = &appliance->plan->ports[i];
		struct port_parameters parameters = {
			.config = &appliance->config->ports[i],
			.profile = &plan->profile,
			.traffic = &traffic,
			.n_rx_queues = plan->n_rx_queues,
			.n_tx_queues = plan->n_tx_queues,
			.pool_mbufs = plan->pool_mbufs,
			.pool_cache = PLAN_POOL_CACHE,
		};

		appliance->n_ports++;
		if (port_open(&appliance->ports[i], &parameters, error) != 0)
			return -1;
		if (appliance->ports[i].report[0] != '\0')
			notice(appliance, "%s", appliance->ports[i].report);
	}
	return 0;
}

static int make_ring(struct appliance *appliance, unsigned builder, char *error)
{
	static const enum evring_memory memory[] = {
		[MEMORY_AUTO] = EVRING_AUTO,
		[MEMORY_HUGEPAGES] = EVRING_HUGEPAGES,
		[MEMORY_SHM] = EVRING_SHM,
	};
	const struct config *config = appliance->config;
	const char *directory = config->event_ring.directory;
	const char *groups[EVB_MAX_GROUPS];
	struct evring_parameters parameters = {
		.name = config->name,
		.directory = directory[0] != '\0' ? directory : NULL,
		.memory = memory[config->memory.kind],
		.builder = builder,
		.n_builders = config->n_builders,
		.run_number = config->run_number,
		.slots = config->builders[builder].slots,
		.slot_size = config->builders[builder].slot_size,
		.groups = groups,
		.n_groups = config->event_ring.n_groups,
	};
	char cause[EVRING_ERROR_SIZE];

	for (unsigned i = 0; i < config->event_ring.n_groups; i++)
		groups[i] = config->event_ring.groups[i];
	if (evring_create(&appliance->rings[builder], &parameters, cause) != 0)
		return fail(error, "event ring of builder %s: %s", config->builders[builder].name,
			    cause);
	return 0;
}

// Creates the event rings. The slots must be on the NUMA node of the builder that fills them. The
// ring writes to all its pages when it is created, so the preferred NUMA node is set before that.
static int make_rings(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	// With one NUMA node there is no choice, and a container may not be allowed to set it.
	bool choose = numa_available() >= 0 && numa_max_node() > 0;
	int result = 0;

	for (unsigned i = 0; i < appliance->config->n_builders && result == 0; i++) {
		if (choose)
			numa_set_preferred(
			    (int)plan_node_of(plan, plan_role_of(plan, CONFIG_ROLE_BUILDER, i)));
		result = make_ring(appliance, i, error);
	}
	if (choose)
		numa_set_localalloc();
	return result;
}

static void *allocate(size_t size, size_t alignment, void *context)
{
	(void)context;
	return rte_malloc("blocks", size, (unsigned)alignment);
}

static void release(void *memory, void *context)
{
	(void)context;
	rte_free(memory);
}

static int make_generator(struct appliance *appliance, unsigned index, char *error)
{
	const struct source_allocator allocator = { .allocate = allocate, .release = release };
	const struct config_generator *config = &appliance->config->generators[index];
	const struct source_set_parameters set = config_source_set(appliance->config, config);
	const struct plan_generator *plan = &appliance->plan->generators[index];
	struct rte_mempool **pools = appliance->generator_pools[index];
	int node =
	    (int)plan_node_of(appliance->plan, plan_role_of_generator(appliance->plan, index));
	char name[RTE_MEMPOOL_NAMESIZE], cause[SOURCE_ERROR_SIZE];

	if (config->kind != GENERATOR_PCAP &&
	    source_set_make(&appliance->sets[index], &set, &allocator, cause) != 0)
		return fail(error, "generator %s: %s", config->name, cause);
	snprintf(name, sizeof(name), "headers%u", index);
	pools[0] = port_pool_create(name, plan->pool_mbufs, PLAN_POOL_CACHE, plan->buffer, node);
	snprintf(name, sizeof(name), "payloads%u", index);
	pools[1] = port_pool_create(name, plan->pool_mbufs, PLAN_POOL_CACHE, 0, node);
	if (pools[0] == NULL || pools[1] == NULL)
		return fail(error, "generator %s: no memory for its pools of %u mbufs (%s)",
			    config->name, plan->pool_mbufs, rte_strerror(rte_errno));
	return 0;
}

static int make_generators(struct appliance *appliance, char *error)
{
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (make_generator(appliance, i, error) != 0)
			return -1;
	return 0;
}

// Creates the links from a producer of segments to all builders.
static int make_links_of(struct appliance *appliance, unsigned producer, char *error)
{
	const struct config *config = appliance->config;
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < config->n_builders; i++) {
		unsigned builder = plan_role_of(plan, CONFIG_ROLE_BUILDER, i);
		struct link *link = link_create(
		    plan->roles[producer].name, plan->roles[builder].name, config->links.depth,
		    // Segments from a readout of the same process are never dropped.
		    config->links.policy == CONFIG_LINK_LOSSLESS ||
			plan->roles[producer].kind == CONFIG_ROLE_READOUT,
		    (int)plan_node_of(plan, builder));

		appliance->links[appliance->n_links] = link;
		if (link == NULL)
			return fail(error, "no memory for a link of %u entries (%s)",
				    config->links.depth, rte_strerror(rte_errno));
		appliance->n_links++;
	}
	return 0;
}

static int make_links(struct appliance *appliance, char *error)
{
	static const enum config_role_kind producers[] = { CONFIG_ROLE_RX, CONFIG_ROLE_READOUT };
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < RTE_DIM(producers); i++)
		for (unsigned j = 0; j < plan->n_roles; j++)
			if (plan->roles[j].kind == producers[i] &&
			    make_links_of(appliance, j, error) != 0)
				return -1;
	return 0;
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
	struct port_udp_range segments = traffic_segment_ports(config);
	struct rx_parameters parameters = {
		.name = plan->name,
		.port_id = port->id,
		.queue = (uint16_t)plan->queue,
		.reply_queue = plan->tx_queue,
		.verify_checksums = port->config->verify_checksums,
		.checksums = { .in_hardware = port->checksums_in_hardware,
			       .may_be_partial = port->profile->partial_checksums },
		.addresses = addresses_of(port),
		.ether_type = config->transport.kind == CONFIG_TRANSPORT_ETH
				  ? config->transport.ether_type
				  : 0,
		.udp_port = segments.first,
		.udp_ports = segments.count,
		.builder_by_udp_port = control != NULL,
		.packing = config->sources.packing,
		.sources = &appliance->sources,
		.links = links,
		.n_builders = config->n_builders,
		.handlers = handlers,
		.n_handlers = make_handlers(appliance, plan->port, control, handlers),
		.flow_control = appliance_flow_control(appliance, plan->port),
		.data_priority = port->config->flow_control.priority,
		.rings = (const struct evring *const *)appliance->rings,
		.events_are_granted = cluster_grants(config),
		.pool = port->pool,
		.quiet_cycles = ns_to_cycles(QUIET_NS),
		.drain_cycles = ns_to_cycles(config->events.drain_timeout_ns),
		.numa_node = port->numa_node,
	};

	return rx_role_create(&parameters);
}

static struct role *make_builder(struct appliance *appliance, const struct plan_role *plan)
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
		.spare = cluster_spare(config->builders[plan->object].slots),
		.ring = appliance->rings[plan->object],
		.sources = &appliance->sources,
		.links = links,
		.numa_node = (int)appliance->plan->lcores[plan->lcore].numa_node,
	};
	unsigned n_builders = config->n_builders;

	// The plan has refused more producers than BUILDER_MAX_LINKS.
	for (unsigned i = plan->object; i < appliance->n_links; i += n_builders)
		links[parameters.n_links++] = appliance->links[i];
	if (cluster_grants(appliance->config)) {
		parameters.from_control = &appliance->builder_mail[plan->object][0];
		parameters.to_control = &appliance->builder_mail[plan->object][1];
	}
	return builder_role_create(&parameters);
}

// Whether the port ends in this process or in a file: no peer can report its MAC address, and none
// is needed.
static bool is_in_memory(const struct profile *profile)
{
	return strcmp(profile->driver, "net_ring") == 0 ||
	       strcmp(profile->driver, "net_null") == 0 || strcmp(profile->driver, "net_pcap") == 0;
}

static int find_destination(const struct port *port, const struct config_generator *generator,
			    uint8_t *mac, char *error)
{
	uint32_t to = generator->destination_address;

	if (generator->has_destination_mac) {
		memcpy(mac, generator->destination_mac, 6);
		return 0;
	}
	if (is_in_memory(port->profile)) {
		memcpy(mac, port->mac, 6);
		return 0;
	}
	if (arp_resolve(port, port->config->address, generator->destination_address, mac) != 0)
		return fail(error,
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
		.set = appliance->sets[plan->object],
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
	struct writer_parameters parameters = {
		.name = plan->name,
		.appliance = config->name,
		.ring_directory = config->event_ring.directory,
		.group = writer->group,
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

	return writer_role_create(&parameters, error);
}

static int make_roles(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	unsigned n_rx = 0, n_readouts = 0;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];

		snprintf(error, APPLIANCE_ERROR_SIZE, "role %s: out of memory", role->name);
		switch (role->kind) {
		case CONFIG_ROLE_RX:
			appliance->roles[i] = make_rx(
			    appliance, role,
			    &appliance->links[n_rx * appliance->config->n_builders],
			    n_rx < appliance->n_control_links ? appliance->control_links[n_rx]
							      : NULL);
			n_rx++;
			break;
		case CONFIG_ROLE_BUILDER:
			appliance->roles[i] = make_builder(appliance, role);
			break;
		case CONFIG_ROLE_SOURCE:
			appliance->roles[i] = make_source(appliance, role, error);
			break;
		case CONFIG_ROLE_WRITER:
			appliance->roles[i] = make_writer(appliance, role, error);
			break;
		case CONFIG_ROLE_CONTROL:
			appliance->roles[i] = cluster_make_control(appliance, role, error);
			break;
		case CONFIG_ROLE_READOUT:
			appliance->roles[i] =
			    cluster_make_readout(appliance, role,
						 &appliance->links[(plan->n_rx + n_readouts++) *
								   appliance->config->n_builders]);
			break;
		}
		if (appliance->roles[i] == NULL)
			return -1;
	}
	return 0;
}

static int launch(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	const struct config_idle *idle = &appliance->config->idle;

	appliance->start_tsc = rte_rdtsc();
	for (unsigned i = 0; i < plan->n_lcores; i++) {
		struct lcore *lcore = &appliance->lcores[i];

		lcore->id = i + 1; // lcore 0 is the control thread
		lcore->cpu = plan->lcores[i].cpu;
		lcore->adaptive = idle->policy == CONFIG_IDLE_ADAPTIVE;
		lcore->yields = idle->yields;
		lcore->slow_yield = ns_to_cycles(SLOW_YIELD_NS);
		lcore->sleep_ns = idle->sleep_ns;
		for (unsigned j = 0; j < plan->lcores[i].n_roles; j++)
			lcore->roles[lcore->n_roles++] = appliance->roles[plan->lcores[i].roles[j]];
		if (rte_eal_remote_launch(lcore_run, lcore, lcore->id) != 0)
			return fail(error, "lcore on CPU %u does not start", lcore->cpu);
	}
	return 0;
}

int appliance_start(struct appliance *appliance, const struct plan *plan, char *error)
{
	appliance->plan = plan;
	appliance->config = plan->config;
	atomic_store(&appliance->state, APPLIANCE_STARTING);
	source_table_make(&appliance->sources, plan->config->sources.ids,
			  plan->config->sources.expected, plan->config->sources.n_ids);
	if (plan_check_machine(plan, error) != 0 || start_eal(appliance, error) != 0 ||
	    open_ports(appliance, error) != 0 || flow_controls_open(appliance, error) != 0 ||
	    make_rings(appliance, error) != 0 || make_generators(appliance, error) != 0 ||
	    make_links(appliance, error) != 0 || cluster_parts_make(appliance, error) != 0 ||
	    roce_parts_make(appliance, error) != 0 || make_roles(appliance, error) != 0 ||
	    launch(appliance, error) != 0)
		return -1;
	atomic_store(&appliance->state, APPLIANCE_RUNNING);
	return 0;
}

void appliance_stop(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++)
		atomic_store(&appliance->lcores[i].stop, true);
	rte_eal_mp_wait_lcore();
	for (unsigned i = appliance->plan->n_roles; i-- > 0;)
		if (appliance->roles[i] != NULL)
			appliance->roles[i]->operations->fini(appliance->roles[i]);
	for (unsigned i = appliance->n_links; i-- > 0;)
		link_destroy(appliance->links[i]);
	for (unsigned i = appliance->config->n_builders; i-- > 0;)
		evring_destroy(appliance->rings[i]);
	cluster_parts_free(appliance);
	roce_ports_free(appliance);
	flow_controls_stop(appliance);
	// Ports return their last mbufs to the pools of generators, so these pools are freed later.
	for (unsigned i = appliance->n_ports; i-- > 0;)
		port_close(&appliance->ports[i]);
	flow_controls_close(appliance);
	roce_pools_free(appliance);
	rte_mempool_free(appliance->control_pool);
	for (unsigned i = appliance->config->n_generators; i-- > 0;) {
		rte_mempool_free(appliance->generator_pools[i][0]);
		rte_mempool_free(appliance->generator_pools[i][1]);
		source_set_free(appliance->sets[i]);
	}
	eal_stop();
	atomic_store(&appliance->state, APPLIANCE_STOPPED);
}
