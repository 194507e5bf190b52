// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Builds an appliance from its plan, step by step, and frees its parts in the reverse order.
#include "appliance/appliance.h"

#include <numa.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_malloc.h>

#include "appliance/diagnosis_watch.h"
#include "appliance/parts.h"
#include "store/file_store.h"
#include "store/port_store.h"
#include "store/ring_store.h"
#include "store/set_store.h"

#define SLOW_YIELD_NS 200000u  // only a thread that used its time slice takes the CPU for so long
#define HOUSEKEEP_NS  1000000u // deadlines of events are looked at this often

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

static struct evring_group_rules rules_of(const struct config *config, const char *name)
{
	const struct config_group *group = config_group(config, name);

	if (group == NULL)
		return (struct evring_group_rules){ 0 };
	return (struct evring_group_rules){
		.decides = group->decides,
		.undecided_rejects = group->undecided == CONFIG_UNDECIDED_REJECT,
		.after = group->after[0] ? group->after : NULL,
		.rejected_too = group->rejected_too,
	};
}

static const enum evring_memory ring_memory[] = {
	[MEMORY_AUTO] = EVRING_AUTO,
	[MEMORY_HUGEPAGES] = EVRING_HUGEPAGES,
	[MEMORY_SHM] = EVRING_SHM,
};

unsigned ring_mode(const struct config *config)
{
	static const unsigned modes[] = {
		[RING_0600] = 0600, [RING_0640] = 0640, [RING_0644] = 0644,
		[RING_0660] = 0660, [RING_0664] = 0664, [RING_0666] = 0666,
	};

	return modes[config->event_ring.mode];
}

static int make_ring(struct appliance *appliance, unsigned builder, char *error)
{
	const struct config *config = appliance->config;
	const char *directory = config->event_ring.directory;
	const char *groups[EVB_MAX_GROUPS];
	struct evring_group_rules rules[EVB_MAX_GROUPS];
	struct evring_parameters parameters = {
		.name = config->name,
		.directory = directory[0] != '\0' ? directory : NULL,
		.memory = ring_memory[config->memory.kind],
		.builder = builder,
		.n_builders = config->n_builders,
		.run_number = appliance->run,
		.slots = config->builders[builder].slots,
		.slot_size = config->builders[builder].slot_size,
		.groups = groups,
		.n_groups = config->event_ring.n_groups,
		.rules = rules,
		.mode = ring_mode(config),
		.unix_group = config->event_ring.unix_group,
	};
	char cause[EVRING_ERROR_SIZE];

	for (unsigned i = 0; i < config->event_ring.n_groups; i++) {
		groups[i] = config->event_ring.groups[i];
		rules[i] = rules_of(config, groups[i]);
	}
	if (evring_create(&appliance->rings[builder], &parameters, cause) != 0)
		return appliance_fail(error, "event ring of builder %s: %s",
				      config->builders[builder].name, cause);
	return 0;
}

// Creates the event rings. The slots must be on the NUMA node of the builder that fills them. The
// ring writes to all its pages when it is created, so the preferred NUMA node is set before that.
int rings_make(struct appliance *appliance, char *error)
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

static int make_ring_store(struct appliance *appliance, unsigned index, char *error)
{
	static const unsigned modes[] = {
		[PRODUCER_0600] = 0600,
		[PRODUCER_0660] = 0660,
		[PRODUCER_0666] = 0666,
	};
	const struct config *config = appliance->config;
	const struct config_generator *generator = &config->generators[index];
	const struct config_producer *producer = &generator->producer;
	const struct source_set_parameters set = config_source_set(config, generator);
	unsigned role = plan_role_of_generator(appliance->plan, index);
	const char *directory = config->event_ring.directory;
	const struct ring_store_parameters parameters = {
		.ring = {
			.appliance = config->name,
			.name = generator->name,
			.directory = directory[0] != '\0' ? directory : NULL,
			.memory = ring_memory[config->memory.kind],
			.mode = modes[producer->mode],
			.unix_group = producer->unix_group[0] != '\0' ? producer->unix_group : NULL,
			.size = producer->size,
			.blocks = producer->blocks,
			.max_block = producer->max_block,
			.sources = set.ids,
			.n_sources = set.n_ids,
		},
		.packing = set.packing,
		.first_event = generator->first_event,
		.mfps = config->sources.payload == PAYLOAD_MFP,
		.deadline_cycles = ns_to_cycles(config->events.deadline_ns),
	};
	char cause[EVRING_ERROR_SIZE];
	uint64_t inherited;

	appliance->stores[index] = ring_store_create(&parameters, cause);
	if (appliance->stores[index] == NULL)
		return appliance_fail(error, "producer ring of generator %s: %s", generator->name,
				      cause);
	inherited = ring_store_inherited(appliance->stores[index]);
	if (inherited > 0)
		notice(appliance, "generator %s: its producer ring has %llu blocks from before",
		       generator->name, (unsigned long long)inherited);
	if (!ring_store_register(appliance->stores[index],
				 appliance->ports[appliance->plan->roles[role].port].id))
		return appliance_fail(error,
				      "producer ring of generator %s: DPDK cannot send from it: %s",
				      generator->name, rte_strerror(rte_errno));
	return 0;
}

// The port at which boards send to a generator of kind port.
static unsigned port_of_boards(const struct config *config, unsigned generator)
{
	unsigned port = 0;

	while (config_listener(config, port) != generator)
		port++;
	return port;
}

static int make_port_store(struct appliance *appliance, unsigned index, char *error)
{
	const struct config *config = appliance->config;
	const struct config_generator *generator = &config->generators[index];
	const struct source_set_parameters set = config_source_set(config, generator);
	unsigned role = plan_role_of_generator(appliance->plan, index);
	unsigned port = port_of_boards(config, index);
	const struct port_store_parameters parameters = {
		.assembly = {
			.ids = set.ids,
			.n_sources = set.n_ids,
			.packing = set.packing,
			.first_event = generator->first_event,
			.max_block = generator->listen.max_block,
			.size = generator->listen.size,
			.mfps = config->sources.payload == PAYLOAD_MFP,
			.ends = config->events.on_end_of_run == END_OF_RUN_STOPS,
			.holds_back = config_is_for_boards(config, port) &&
				      (generator->listen.roce ||
				       appliance_flow_control(appliance, port) != NULL),
			.deadline = ns_to_cycles(config->events.deadline_ns),
		},
		.sources = &appliance->sources,
		.numa_node = (int)plan_node_of(appliance->plan, role),
	};

	appliance->stores[index] = port_store_create(&parameters);
	if (appliance->stores[index] == NULL)
		return appliance_fail(error,
				      "generator %s: no memory for %llu bytes of blocks, or none "
				      "of its sources is expected in this run",
				      generator->name, (unsigned long long)generator->listen.size);
	return 0;
}

int store_make(struct appliance *appliance, unsigned index, char *error)
{
	const struct source_allocator allocator = { .allocate = allocate, .release = release };
	const struct config_generator *config = &appliance->config->generators[index];
	struct source_set_parameters set = config_source_set(appliance->config, config);
	struct file_store_parameters file = {
		.mfps = appliance->config->sources.payload == PAYLOAD_MFP,
		.allocator = &allocator,
	};
	char cause[SOURCE_ERROR_SIZE];

	set.run_number = appliance->run;
	if (config->kind == GENERATOR_PCAP && !set.by_event)
		return 0;
	if (config->kind == GENERATOR_PRODUCER)
		return make_ring_store(appliance, index, error);
	if (config->kind == GENERATOR_EVENT_RING)
		return event_rings_make_store(appliance, index, error);
	if (config->kind == GENERATOR_PORT)
		return make_port_store(appliance, index, error);
	if (file_store_is_for(&set)) {
		file.set = set;
		appliance->stores[index] = file_store_create(&file, cause);
		return appliance->stores[index] != NULL
			   ? 0
			   : appliance_fail(error, "generator %s: %s", config->name, cause);
	}
	if (appliance->sets[index] == NULL &&
	    source_set_make(&appliance->sets[index], &set, &allocator, cause) != 0)
		return appliance_fail(error, "generator %s: %s", config->name, cause);
	if (appliance->sets[index]->missing > 0)
		notice(appliance,
		       "generator %s: %llu MFPs are not whole in %s: error MFPs are sent in their "
		       "place",
		       config->name, (unsigned long long)appliance->sets[index]->missing,
		       config->file);
	appliance->stores[index] = set_store_create(appliance->sets[index], config->first_event);
	if (appliance->stores[index] == NULL)
		return appliance_fail(error, "generator %s: out of memory", config->name);
	return 0;
}

static int make_generator(struct appliance *appliance, unsigned index, char *error)
{
	const struct config_generator *config = &appliance->config->generators[index];
	const struct plan_generator *plan = &appliance->plan->generators[index];
	struct rte_mempool **pools = appliance->generator_pools[index];
	int node =
	    (int)plan_node_of(appliance->plan, plan_role_of_generator(appliance->plan, index));
	char name[RTE_MEMPOOL_NAMESIZE];

	if (store_make(appliance, index, error) != 0)
		return -1;
	snprintf(name, sizeof(name), "headers%u", index);
	pools[0] = port_pool_create(name, plan->pool_mbufs, PLAN_POOL_CACHE, plan->buffer, node);
	snprintf(name, sizeof(name), "payloads%u", index);
	pools[1] = port_pool_create(name, plan->pool_mbufs, PLAN_POOL_CACHE, 0, node);
	if (pools[0] == NULL || pools[1] == NULL)
		return appliance_fail(error,
				      "generator %s: no memory for its pools of %u mbufs (%s)",
				      config->name, plan->pool_mbufs, rte_strerror(rte_errno));
	if (plan->n_bundles == 0)
		return 0;
	snprintf(name, sizeof(name), "bundles%u", index);
	pools[2] = port_pool_create(name, plan->n_bundles, PLAN_POOL_CACHE, plan->bundle, node);
	if (pools[2] == NULL)
		return appliance_fail(error, "generator %s: no memory for its %u bundles (%s)",
				      config->name, plan->n_bundles, rte_strerror(rte_errno));
	return 0;
}

static int make_generators(struct appliance *appliance, char *error)
{
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (make_generator(appliance, i, error) != 0)
			return -1;
	return 0;
}

struct link *make_link(const struct plan *plan, unsigned from, unsigned to, uint32_t depth,
		       bool lossless, int node, char *error)
{
	struct link *link =
	    link_create(plan->roles[from].name, plan->roles[to].name, depth, lossless, node);

	if (link == NULL)
		(void)appliance_fail(error, "no memory for a link of %u entries (%s)", depth,
				     rte_strerror(rte_errno));
	return link;
}

// Creates the links from a producer of segments to all builders.
static int make_links_of(struct appliance *appliance, unsigned producer, char *error)
{
	const struct config *config = appliance->config;
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < config->n_builders; i++) {
		unsigned builder = plan_role_of(plan, CONFIG_ROLE_BUILDER, i);
		// Segments from a readout of the same process are never dropped.
		bool lossless = config->links.policy == CONFIG_LINK_LOSSLESS ||
				plan->roles[producer].kind == CONFIG_ROLE_READOUT;
		struct link *link = make_link(plan, producer, builder, config->links.depth,
					      lossless, (int)plan_node_of(plan, builder), error);

		if (link == NULL)
			return -1;
		appliance->links[appliance->n_links++] = link;
	}
	return 0;
}

// Creates the link from an rx role to the readout of the boards that send to its port. Frames of
// the control protocol must not wait behind a full link.
static int make_link_of_boards(struct appliance *appliance, unsigned rx, char *error)
{
	const struct config *config = appliance->config;
	const struct plan *plan = appliance->plan;
	unsigned generator = plan_listener(plan, &plan->roles[rx]);
	unsigned readout = plan_role_of_generator(plan, generator);
	bool lossless = config->links.policy == CONFIG_LINK_LOSSLESS &&
			config_is_for_boards(config, plan->roles[rx].port);
	struct link *link = make_link(plan, rx, readout, config->links.depth, lossless,
				      (int)plan_node_of(plan, readout), error);

	if (link == NULL)
		return -1;
	appliance->links[appliance->n_links++] = link;
	port_store_connect(appliance->stores[generator], link);
	return 0;
}

// In the order of plan_role.link.
static int make_links(struct appliance *appliance, char *error)
{
	static const enum config_role_kind producers[] = { CONFIG_ROLE_RX, CONFIG_ROLE_READOUT };
	const struct plan *plan = appliance->plan;
	unsigned n_generators = plan->config->n_generators;

	for (unsigned i = 0; i < RTE_DIM(producers); i++)
		for (unsigned j = 0; j < plan->n_roles; j++)
			if (plan->roles[j].kind == producers[i] &&
			    plan_listener(plan, &plan->roles[j]) == n_generators &&
			    make_links_of(appliance, j, error) != 0)
				return -1;
	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan_listener(plan, &plan->roles[i]) < n_generators &&
		    make_link_of_boards(appliance, i, error) != 0)
			return -1;
	return 0;
}

static int launch(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	const struct config_idle *idle = &appliance->config->idle;

	for (unsigned i = 0; i < plan->n_lcores; i++) {
		struct lcore *lcore = &appliance->lcores[i];

		lcore->id = i + 1; // lcore 0 is the control thread
		lcore->cpu = plan->lcores[i].cpu;
		lcore->adaptive = idle->policy == CONFIG_IDLE_ADAPTIVE;
		lcore->yields = idle->yields;
		lcore->slow_yield = ns_to_cycles(SLOW_YIELD_NS);
		lcore->longest = ns_to_cycles(HOUSEKEEP_NS);
		lcore->sleep_ns = idle->sleep_ns;
		for (unsigned j = 0; j < plan->lcores[i].n_roles; j++)
			lcore->roles[lcore->n_roles++] = appliance->roles[plan->lcores[i].roles[j]];
		if (rte_eal_remote_launch(lcore_run, lcore, lcore->id) != 0)
			return appliance_fail(error, "lcore on CPU %u does not start", lcore->cpu);
	}
	return 0;
}

static int make_admission(struct appliance *appliance, char *error)
{
	const struct config_sources *sources = &appliance->config->sources;

	if (sources->n_from == 0 && sources->moves == SOURCE_MOVES_ALLOWED)
		return 0;
	if (!admission_make(&appliance->admission, &appliance->sources, sources->from,
			    sources->n_from, ns_to_cycles(sources->move_after_ns)))
		return appliance_fail(error, "no memory for the origins of %u sources",
				      appliance->sources.n_expected);
	return 0;
}

int run_parts_make(struct appliance *appliance, char *error)
{
	gates_make(appliance);
	if (make_links(appliance, error) != 0 || cluster_parts_make(appliance, error) != 0 ||
	    roce_parts_make(appliance, error) != 0 || roles_make(appliance, error) != 0 ||
	    launch(appliance, error) != 0)
		return -1;
	if (!config_serves_several_runs(appliance->config))
		run_has_begun(appliance);
	atomic_store(&appliance->state, APPLIANCE_RUNNING);
	return 0;
}

void run_parts_free(struct appliance *appliance)
{
	for (unsigned i = appliance->plan->n_roles; i-- > 0;)
		if (appliance->roles[i] != NULL)
			appliance->roles[i]->operations->fini(appliance->roles[i]);
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (appliance->stores[i] != NULL && port_store_is(appliance->stores[i]))
			port_store_flush(appliance->stores[i]);
	for (unsigned i = appliance->n_links; i-- > 0;)
		link_destroy(appliance->links[i]);
	cluster_parts_free(appliance);
	roce_ports_free(appliance);
}

int appliance_start(struct appliance *appliance, const struct plan *plan, char *error)
{
	appliance->plan = plan;
	appliance->config = plan->config;
	appliance->run = plan->config->run_number;
	if (appliance->run == 0 && config_serves_several_runs(plan->config))
		appliance->run = 1; // 0 means that there is no run
	atomic_store(&appliance->state, APPLIANCE_STARTING);
	source_table_make(&appliance->sources, plan->config->sources.ids,
			  plan->config->sources.expected, plan->config->sources.n_ids);
	if (plan_check_machine(plan, error) != 0)
		return -1;
	last_will_prepare(appliance);
	if (start_eal(appliance, error) != 0 || make_admission(appliance, error) != 0 ||
	    ports_open(appliance, error) != 0 || rings_make(appliance, error) != 0 ||
	    make_generators(appliance, error) != 0 || cluster_common_make(appliance, error) != 0)
		return -1;
	if (diagnosis_make(appliance) != 0)
		return appliance_fail(error, "out of memory");
	return run_parts_make(appliance, error);
}

void appliance_stop(struct appliance *appliance)
{
	stop_lcores(appliance);
	run_parts_free(appliance);
	for (unsigned i = appliance->config->n_builders; i-- > 0;)
		evring_destroy(appliance->rings[i]);
	cluster_common_free(appliance);
	// The pools of mbufs stay, because the process ends: before DPDK frees memory, it writes
	// zeros to all of it.
	ports_close(appliance);
	for (unsigned i = appliance->config->n_generators; i-- > 0;) {
		block_store_destroy(appliance->stores[i]);
		source_set_free(appliance->sets[i]);
	}
	eal_stop();
	admission_free(&appliance->admission);
	configure_forget(appliance);
	diagnosis_free(appliance);
	atomic_store(&appliance->state, APPLIANCE_STOPPED);
}
