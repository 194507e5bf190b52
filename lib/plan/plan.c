// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "plan/plan.h"

#include <string.h>

#include "builder/assembly.h"
#include "builder/builder_role.h"
#include "evring/evring.h"
#include "node/control_role.h"
#include "port/eal.h"
#include "port/port.h"
#include "rdma/roce_port.h"
#include "source/source_set.h"
#include "store/file_store.h"
#include "tx/block_packets.h"
#include "tx/bundles.h"

#define OFFERS_MOST (1u << 18)    // largest depth of the mailbox of blocks that builders read
#define BUNDLES     1024u         // packets of small blocks; without a free one, blocks leave alone
#define MOST_BYTES  (1ULL << 46)  // more than any machine has
#define ROLE_BYTES  (256u * 1024) // upper limit of a role's own state in DPDK's memory

unsigned plan_find_role(const struct plan *plan, const char *name)
{
	for (unsigned i = 0; i < plan->n_roles; i++)
		if (strcmp(plan->roles[i].name, name) == 0)
			return i;
	return PLAN_NONE;
}

// Each builder polls one link per producer of segments, and the control role one per rx role. Both
// roles have room for a fixed number of links.
static int check_links(const struct plan *plan, char *error)
{
	if (plan->config->n_builders > 0 && plan->n_producers > BUILDER_MAX_LINKS)
		return plan_fail(
		    error, plan,
		    "ports: %u receive queues and readouts, a builder takes segments from "
		    "at most %u: use fewer rx queues",
		    plan->n_producers, BUILDER_MAX_LINKS);
	if (plan->config->cluster.n_nodes > 0 && plan->n_rx > CONTROL_MAX_LINKS)
		return plan_fail(error, plan,
				 "ports: %u receive queues, a node of a system has at most "
				 "%u",
				 plan->n_rx, CONTROL_MAX_LINKS);
	return 0;
}

unsigned plan_listener(const struct plan *plan, const struct plan_role *role)
{
	return role->kind == CONFIG_ROLE_RX ? config_listener(plan->config, role->port)
					    : plan->config->n_generators;
}

// Numbers the links: those to builders, of the rx roles and then of the readouts, and behind them
// those of rx roles to the readouts of boards.
static void number_links(struct plan *plan)
{
	static const enum config_role_kind kinds[] = { CONFIG_ROLE_RX, CONFIG_ROLE_READOUT };
	unsigned n_generators = plan->config->n_generators;

	for (unsigned i = 0; i < RTE_DIM(kinds); i++)
		for (unsigned j = 0; j < plan->n_roles; j++)
			if (plan->roles[j].kind == kinds[i] &&
			    plan_listener(plan, &plan->roles[j]) == n_generators)
				plan->roles[j].link =
				    plan->n_producers++ * plan->config->n_builders;
	for (unsigned i = 0, n = plan->n_producers * plan->config->n_builders; i < plan->n_roles;
	     i++)
		if (plan_listener(plan, &plan->roles[i]) < n_generators)
			plan->roles[i].link = n++;
}

// Adds the roles in the order of the data flow. An lcore with several roles polls them in this
// order.
static int add_roles(struct plan *plan, char *error)
{
	const struct config *config = plan->config;
	struct config_role role;

	for (unsigned i = 0; config_role(config, i, &role); i++) {
		struct plan_role *to = &plan->roles[i];

		if (i == PLAN_MAX_ROLES)
			return plan_fail(error, plan,
					 "ports: more than %u roles: use fewer rx queues",
					 PLAN_MAX_ROLES);
		*to = (struct plan_role){
			.kind = role.kind,
			.object = role.object,
			.queue = role.queue,
			.port = PLAN_NONE,
			.tx_queue = -1,
		};
		memcpy(to->name, role.name, sizeof(role.name));
		if (role.kind == CONFIG_ROLE_RX)
			to->port = role.object;
		if (role.kind == CONFIG_ROLE_SOURCE || role.kind == CONFIG_ROLE_READOUT)
			to->port = config_port(config, config->generators[role.object].port);
		if (role.kind == CONFIG_ROLE_CONTROL)
			to->port = config->cluster.nodes[config->cluster.self].port;
		plan->n_rx += role.kind == CONFIG_ROLE_RX;
		plan->n_roles++;
	}
	number_links(plan);
	return check_links(plan, error);
}

unsigned plan_role_of(const struct plan *plan, enum config_role_kind kind, unsigned object)
{
	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == kind && plan->roles[i].object == object)
			return i;
	return PLAN_NONE;
}

unsigned plan_role_of_generator(const struct plan *plan, unsigned generator)
{
	return plan_role_of(
	    plan, plan->config->cluster.n_nodes > 0 ? CONFIG_ROLE_READOUT : CONFIG_ROLE_SOURCE,
	    generator);
}

uint32_t plan_offers(const struct config *config)
{
	uint64_t n = 64;

	if (config->transport.kind != CONFIG_TRANSPORT_ROCE || config->n_builders == 0 ||
	    config->cluster.n_nodes == 0 || config->roce.operation != ROCE_OPERATION_READ)
		return 0;
	for (unsigned i = 0; i < config->n_builders; i++)
		n += config->builders[i].slots * config->cluster.n_sources;
	return (uint32_t)rte_align64pow2(RTE_MIN(n, (uint64_t)OFFERS_MOST));
}

// Assigns one tx queue to each lcore that sends on the port. The lcore's roles share it.
static void assign_tx_queues(struct plan *plan, unsigned port)
{
	const struct port_settings *config = &plan->config->ports[port];
	// An rx role replies to ARP, ND and ICMP echo, and sends pause frames.
	bool answers = config->has_address || config->has_address6 ||
		       config->flow_control.mode != FLOW_CONTROL_OFF;
	int queues[EVB_MAX_CPUS];
	int n = 0;

	for (unsigned i = 0; i < plan->n_lcores; i++)
		queues[i] = -1;
	for (unsigned i = 0; i < plan->n_roles; i++) {
		struct plan_role *role = &plan->roles[i];

		if (role->port != port || (role->kind == CONFIG_ROLE_RX && !answers))
			continue;
		if (queues[role->lcore] < 0)
			queues[role->lcore] = n++;
		role->tx_queue = queues[role->lcore];
	}
	plan->ports[port].n_tx_queues = (uint16_t)(n > 0 ? n : 1);
}

// The most mbufs between a port and the slots: in links, in bursts and in the caches of lcores.
static uint32_t mbufs_in_pipeline(const struct plan *plan)
{
	return (plan->config->links.depth + 4 * ROLE_BURST) * plan->config->n_builders +
	       (plan->config->cluster.n_nodes > 0 ? PLAN_CONTROL_DEPTH : 0) +
	       (PLAN_POOL_CACHE * 3 / 2 + 4 * ROLE_BURST) * (plan->n_lcores + 1);
}

// What rx roles of nodes hold back. The peers of the others send no control frames.
static uint32_t packets_held(const struct plan *plan, uint32_t rx_descriptors, bool loops)
{
	const struct config *config = plan->config;

	return config->cluster.n_nodes > 0 && config->n_builders > 0 && !loops &&
		       config->links.policy == CONFIG_LINK_LOSSLESS
		   ? rx_descriptors
		   : 0;
}

// Counts DPDK memory that is allocated on the NUMA node of a role.
static void use_packets(struct plan *plan, unsigned role, uint64_t bytes)
{
	plan->nodes[role != PLAN_NONE ? plan_node_of(plan, role) : 0].packet_bytes += bytes;
}

static unsigned role_of_port(const struct plan *plan, unsigned port)
{
	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].port == port)
			return i;
	return PLAN_NONE;
}

// Two ports on an interface would each get some or all of its packets. With options they can divide
// its queues.
static int check_device(const struct plan *plan, unsigned index, char *error)
{
	const struct port_settings *ports = plan->config->ports;
	const struct profile *profile = &plan->ports[index].profile;
	char cause[PROFILE_ERROR_SIZE];

	if (profile_check_device(profile, &ports[index], cause) != 0)
		return plan_fail(error, plan, "ports[%u].device: %s", index, cause);
	for (unsigned i = 0; i < index && profile_owns_device(profile, &ports[index]); i++)
		if (strcmp(ports[i].device, ports[index].device) == 0 &&
		    profile_owns_device(&plan->ports[i].profile, &ports[i]) &&
		    ports[i].n_options + ports[index].n_options == 0)
			return plan_fail(error, plan,
					 "ports[%u].device: %s is the device of ports[%u] already",
					 index, ports[index].device, i);
	return 0;
}

static int plan_port(struct plan *plan, unsigned index, char *error)
{
	const struct port_settings *config = &plan->config->ports[index];
	struct plan_port *port = &plan->ports[index];
	char cause[PROFILE_ERROR_SIZE];
	bool loops;

	if (profile_load(&port->profile, config, cause) != 0)
		return plan_fail(error, plan, "ports[%u].profile: %s", index, cause);
	if (check_device(plan, index, error) != 0)
		return -1;
	if (config->mtu > port->profile.maximum_mtu)
		return plan_fail(error, plan,
				 "ports[%u].mtu: %u is above what profile %s can carry, %u", index,
				 config->mtu, config->profile, port->profile.maximum_mtu);
	if (config->rx_queues > port->profile.queues)
		return plan_fail(error, plan, "ports[%u].rx_queues: %u, profile %s has at most %u",
				 index, config->rx_queues, config->profile, port->profile.queues);
	port->n_rx_queues = (uint16_t)config->rx_queues;
	assign_tx_queues(plan, index);
	if (port->n_tx_queues > port->profile.queues)
		return plan_fail(
		    error, plan,
		    "ports[%u]: %u lcores send on it, profile %s has at most %u tx queues: "
		    "put the roles that send on fewer lcores",
		    index, port->n_tx_queues, config->profile, port->profile.queues);
	port->buffer = port_buffer_size(&port->profile, config->mtu);
	loops = strcmp(port->profile.driver, "net_ring") == 0; // it receives the sender's mbufs
	port->hold = packets_held(plan, port->profile.rx_descriptors, loops);
	port->pool_mbufs = loops ? 4 * PLAN_POOL_CACHE
				 : port->n_rx_queues * (port->profile.rx_descriptors + port->hold +
							mbufs_in_pipeline(plan)) +
				       port->n_tx_queues * port->profile.tx_descriptors;
	port->pool_bytes = port_pool_bytes(port->pool_mbufs, port->buffer);
	if (config_has_roce(plan->config, index))
		port->roce_mbufs =
		    PLAN_ROCE_MBUFS + 2 * PLAN_POOL_CACHE + port->profile.tx_descriptors;
	port->pool_bytes += port_pool_bytes(port->roce_mbufs, ROCE_PORT_BUFFER);
	use_packets(plan, role_of_port(plan, index),
		    port->pool_bytes + (uint64_t)port->n_rx_queues * port->hold * sizeof(void *));
	return 0;
}

// The ring is shared memory like that of the event rings.
static void plan_producer(struct plan *plan, unsigned index)
{
	const struct config_producer *producer = &plan->config->generators[index].producer;

	plan->generators[index].ring_bytes = producer->size;
	plan->producer_bytes += producer->size;
	plan->nodes[plan_node_of(plan, plan_role_of_generator(plan, index))].ring_bytes +=
	    producer->size;
}

// The memory of a store of blocks of boards; returns its size.
static uint64_t plan_boards(struct plan *plan, unsigned index)
{
	const struct config_generator *generator = &plan->config->generators[index];

	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan_listener(plan, &plan->roles[i]) == index)
			use_packets(plan, i, plan->config->links.depth * 2 * sizeof(void *));
	return generator->listen.size;
}

// Whether header mbufs need room for whole packets, because some payload may be copied. The source
// set does not exist yet. Of blocks that come during the run some may be missing.
static bool may_copy(const struct config_generator *generator,
		     const struct source_set_parameters *set)
{
	return generator->sizes.law == SIZE_LHCB || generator->kind == GENERATOR_PCAP ||
	       generator->kind == GENERATOR_PRODUCER || generator->kind == GENERATOR_EVENT_RING ||
	       generator->kind == GENERATOR_PORT || file_store_is_for(set);
}

// Nodes of a system send each other small blocks in bundles. Faults are those of single blocks, and
// other receivers than evb do not know bundles.
static bool sends_bundles(const struct plan *plan, const struct config_generator *generator)
{
	const struct faults *faults = &generator->faults;

	return plan->config->cluster.n_nodes > 0 && !generator->load_balancer_header &&
	       plan->config->transport.kind != CONFIG_TRANSPORT_ROCE && faults->loss == 0 &&
	       faults->corrupt == 0 && faults->duplicate == 0 && faults->reorder_window == 0;
}

static int plan_generator(struct plan *plan, unsigned index, char *error)
{
	const struct config_generator *config = &plan->config->generators[index];
	struct plan_generator *generator = &plan->generators[index];
	unsigned port = config_port(plan->config, config->port);
	const struct port_settings *port_config = &plan->config->ports[port];
	const struct profile *profile = &plan->ports[port].profile;
	const struct source_set_parameters set = config_source_set(plan->config, config);
	char cause[PLAN_ERROR_SIZE];

	if ((config->kind != GENERATOR_PCAP || set.by_event) && profile->needs_address &&
	    plan->config->transport.kind == CONFIG_TRANSPORT_UDP && !port_config->has_address)
		return plan_fail(error, plan,
				 "generators[%u].port: port %s needs an `address` to send UDP from",
				 index, port_config->name);
	if (file_store_is_for(&set))
		generator->set_bytes = set.window;
	else if (config->kind == GENERATOR_PRODUCER)
		plan_producer(plan, index);
	else if (config->kind == GENERATOR_PORT)
		generator->set_bytes = plan_boards(plan, index);
	else if ((config->kind != GENERATOR_PCAP || set.by_event) &&
		 config->kind != GENERATOR_EVENT_RING &&
		 source_set_plan(&set, &generator->set_bytes, cause) != 0)
		return plan_fail(error, plan, "generators[%u]: %s", index, cause);
	if (plan_store_make(&generator->store, plan->config, index, cause) != 0)
		return plan_fail(error, plan, "%s", cause);
	// A ring port passes on the generator's own mbufs, so its ring and the links behind it can
	// contain them, too.
	generator->pool_mbufs = profile->tx_descriptors + profile->rx_descriptors +
				2 * config->faults.reorder_window + mbufs_in_pipeline(plan);
	generator->buffer =
	    may_copy(config, &set)
		? port_buffer_size(profile, port_config->mtu)
		: block_packets_buffer_size(&config->faults, false, port_config->mtu);
	if (plan->config->transport.kind == CONFIG_TRANSPORT_ROCE) {
		// The pool of headers also provides trailers and connection messages.
		generator->pool_mbufs *= 2;
		generator->buffer = RTE_MAX(generator->buffer, ROCE_PORT_BUFFER);
	}
	if (sends_bundles(plan, config)) {
		generator->n_bundles = BUNDLES;
		generator->bundle = bundles_buffer_size(port_config->mtu);
	}
	generator->pool_bytes = port_pool_bytes(generator->n_bundles, generator->bundle) +
				port_pool_bytes(generator->pool_mbufs, generator->buffer) +
				port_pool_bytes(generator->pool_mbufs, 0);
	use_packets(plan, plan_role_of_generator(plan, index),
		    generator->pool_bytes + generator->set_bytes);
	return 0;
}

// Plans the control protocol's memory of a node of a cluster.
static void plan_control(struct plan *plan)
{
	const struct config *config = plan->config;
	const struct cluster_system_node *self;

	if (config->cluster.n_nodes == 0)
		return;
	self = &config->cluster.nodes[config->cluster.self];
	plan->control_mbufs =
	    2048 + 2 * PLAN_POOL_CACHE + plan->ports[self->port].profile.tx_descriptors;
	plan->control_buffer = control_role_frame_size(self->mtu);
	plan->control_bytes = port_pool_bytes(plan->control_mbufs, plan->control_buffer) +
			      (uint64_t)plan->n_rx * PLAN_CONTROL_DEPTH * 2 * sizeof(void *);
	for (unsigned i = 0; i < config->n_builders; i++)
		plan->control_bytes +=
		    16ull * config->builders[i].slots * sizeof(struct message) * 2;
	plan->control_bytes +=
	    (uint64_t)config->n_generators * 2 * PLAN_MAILBOX_DEPTH * sizeof(struct message);
	plan->control_bytes += plan_offers(config) * sizeof(struct message);
	use_packets(plan, plan_role_of(plan, CONFIG_ROLE_CONTROL, 0), plan->control_bytes);
}

static int plan_builders(struct plan *plan, char *error)
{
	const struct config *config = plan->config;
	uint64_t smallest =
	    assembly_smallest_slot(config->sources.n_expected, config->sources.packing);

	for (unsigned i = 0; i < config->n_builders; i++) {
		const struct config_builder *builder = &config->builders[i];

		if (builder->slot_size < smallest)
			return plan_fail(
			    error, plan,
			    "builders[%u].slot_size: %llu is too small: the MEP header and an "
			    "error MFP for each of %u sources take %llu bytes",
			    i, (unsigned long long)builder->slot_size, config->sources.n_expected,
			    (unsigned long long)smallest);
		unsigned role = plan_role_of(plan, CONFIG_ROLE_BUILDER, i);
		uint64_t bytes = evring_bytes(builder->slots, builder->slot_size);

		plan->ring_bytes += bytes;
		plan->nodes[plan_node_of(plan, role)].ring_bytes += bytes;
		use_packets(plan, role,
			    (uint64_t)plan->n_producers * config->links.depth * 2 * sizeof(void *));
	}
	return 0;
}

// Computes the sums and whether hugepages suffice. Without hugepages checks the configured limit.
static int plan_memory(struct plan *plan, char *error)
{
	uint64_t limit = plan->config->memory.limit;

	plan->hugepages_suffice = plan->config->memory.kind != MEMORY_SHM;
	for (unsigned i = 0; i < plan->n_lcores; i++)
		if (plan->lcores[i].numa_node >= plan->n_nodes)
			plan->n_nodes = plan->lcores[i].numa_node + 1;
	for (unsigned i = 0; i < plan->n_nodes; i++) {
		struct plan_node *node = &plan->nodes[i];

		node->free_hugepage_bytes = eal_free_hugepages((int)i);
		plan->packet_bytes += node->packet_bytes;
		node->hugepage_bytes = eal_memory(node->packet_bytes) + node->ring_bytes;
		if (node->free_hugepage_bytes < node->hugepage_bytes)
			plan->hugepages_suffice = false;
	}
	if (plan->packet_bytes + plan->ring_bytes > MOST_BYTES)
		return plan_fail(
		    error, plan,
		    "builders: slots and packets take %llu TiB: use fewer or smaller "
		    "slots",
		    (unsigned long long)((plan->packet_bytes + plan->ring_bytes) >> 40));
	if (!plan->hugepages_suffice && limit > 0 && plan->packet_bytes > limit)
		return plan_fail(
		    error, plan,
		    "memory.limit: packet pools take %llu bytes, more than the limit of %llu, "
		    "and hugepages do not suffice",
		    (unsigned long long)plan->packet_bytes, (unsigned long long)limit);
	return 0;
}

int plan_check_machine(const struct plan *plan, char *error)
{
	for (unsigned i = 0; i < plan->n_nodes; i++) {
		const struct plan_node *node = &plan->nodes[i];

		if (plan->config->memory.kind != MEMORY_HUGEPAGES ||
		    node->free_hugepage_bytes >= node->hugepage_bytes)
			continue;
		return plan_fail(
		    error, plan,
		    "memory.kind: NUMA node %u has %llu MiB of free hugepages, %llu MiB are "
		    "needed: as root, echo %llu > /sys/devices/system/node/node%u/hugepages/"
		    "hugepages-2048kB/nr_hugepages, or set it to \"auto\"",
		    i, (unsigned long long)(node->free_hugepage_bytes >> 20),
		    (unsigned long long)(node->hugepage_bytes >> 20),
		    (unsigned long long)eal_hugepages_to_reserve(
			(int)i, node->hugepage_bytes - node->free_hugepage_bytes),
		    i);
	}
	return 0;
}

int plan_make(struct plan *plan, const struct config *config, char *error)
{
	memset(plan, 0, sizeof(*plan));
	plan->config = config;
	if (add_roles(plan, error) != 0)
		return -1;
	if (plan_place(plan, error) != 0)
		return -1;
	for (unsigned i = 0; i < config->n_ports; i++)
		if (plan_port(plan, i, error) != 0)
			return -1;
	for (unsigned i = 0; i < config->n_generators; i++)
		if (plan_generator(plan, i, error) != 0)
			return -1;
	if (plan_builders(plan, error) != 0)
		return -1;
	plan_control(plan);
	plan_ordinary(plan);
	for (unsigned i = 0; i < plan->n_roles; i++)
		use_packets(plan, i, ROLE_BYTES);
	return plan_memory(plan, error);
}
