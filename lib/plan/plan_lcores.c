// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which role runs on which CPU.
#include "plan/plan.h"

#include <numa.h>
#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "port/interface.h"

unsigned plan_node_of(const struct plan *plan, unsigned role)
{
	return plan->lcores[plan->roles[role].lcore].numa_node;
}

static int place(struct plan *plan, unsigned role, unsigned lcore, char *error)
{
	struct plan_lcore *at = &plan->lcores[lcore];

	if (at->n_roles == EVB_MAX_ROLES)
		return plan_fail(error, plan, "lcores[%u].roles: more than %d roles on CPU %u",
				 lcore, EVB_MAX_ROLES, at->cpu);
	at->roles[at->n_roles++] = role;
	plan->roles[role].lcore = lcore;
	return 0;
}

// The node that a memif joins with this one; n_nodes: there is none.
static unsigned memif_peer(const struct cluster_system *system)
{
	const struct cluster_system_node *self = &system->nodes[system->self];
	unsigned peer = 0;

	while (peer < system->n_nodes &&
	       (self->memif == 0 || system->nodes[peer].memif != self->memif ||
		system->nodes[peer].is_memif_client == self->is_memif_client))
		peer++;
	return peer;
}

static bool has_veth(const struct config *config)
{
	char interface[INTERFACE_NAME_SIZE];

	for (unsigned i = 0; i < config->n_ports; i++)
		if (interface_of_device(config->ports[i].device, interface) &&
		    interface_is_veth(interface))
			return true;
	return false;
}

// The nodes that are processes on one machine, and the number of this one among them. A memif joins
// two. A veth leads out of a network namespace of the machine; the other nodes are taken to be in
// namespaces of it, too.
static unsigned nodes_of_machine(const struct config *config, unsigned *number)
{
	const struct cluster_system *system = &config->cluster;

	*number = 0;
	if (system->n_nodes == 0)
		return 1;
	if (memif_peer(system) < system->n_nodes) {
		*number = system->nodes[system->self].is_memif_client;
		return 2;
	}
	if (!has_veth(config))
		return 1;
	*number = system->self;
	return system->n_nodes;
}

// If the machine does not give each of its nodes CPUs of its own, each node takes its part of them:
// threads of several nodes on a CPU would wait for each other. If the nodes are more than the CPUs,
// this cannot be avoided, and the roles of a node are spread as if it were alone.
static void leave_cpus_to_others(struct plan *plan)
{
	unsigned number, first, part;
	const unsigned n = nodes_of_machine(plan->config, &number), n_cpus = plan->n_lcores;

	if (n < 2 || n > n_cpus || n_cpus < (unsigned)get_nprocs())
		return;
	part = n_cpus / n;
	first = number * (n_cpus - part) / (n - 1);
	memmove(plan->lcores, plan->lcores + first, part * sizeof(*plan->lcores));
	plan->n_lcores = part;
}

// Places the roles on the available CPUs. One CPU runs all roles. With two CPUs the first runs the
// roles that send and receive, the second the builders and what follows them. With more, the first
// CPU is left to the control thread if each role still gets a CPU of its own. If there are fewer
// CPUs than roles, the roles are assigned to them in turn.
static int place_automatically(struct plan *plan, char *error)
{
	unsigned first, share;
	cpu_set_t allowed;

	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		CPU_SET(0, &allowed);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && plan->n_lcores < EVB_MAX_CPUS; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			plan->lcores[plan->n_lcores++].cpu = cpu;
	leave_cpus_to_others(plan);
	first = plan->n_lcores > plan->n_roles ? 1 : 0;
	share = plan->n_lcores - first;
	for (unsigned i = 0, next = 0; i < plan->n_roles; i++) {
		enum config_role_kind kind = plan->roles[i].kind;
		unsigned lcore = first + next % share;

		if (plan->n_lcores == 2)
			lcore = kind == CONFIG_ROLE_BUILDER || kind == CONFIG_ROLE_WRITER ||
				kind == CONFIG_ROLE_RESULTS || kind == CONFIG_ROLE_RESULTS_SENDER;
		else
			next++;
		if (place(plan, i, lcore, error) != 0)
			return -1;
	}
	return 0;
}

// config_check() has ensured that the lcores contain each role exactly once.
static int place_as_configured(struct plan *plan, char *error)
{
	const struct config *config = plan->config;

	plan->n_lcores = config->n_lcores;
	for (unsigned i = 0; i < config->n_lcores; i++) {
		const struct config_lcore *lcore = &config->lcores[i];

		plan->lcores[i].cpu = lcore->cpu;
		for (unsigned j = 0; j < lcore->n_roles; j++)
			if (place(plan, plan_find_role(plan, lcore->roles[j]), i, error) != 0)
				return -1;
	}
	return 0;
}

static unsigned node_of_cpu(uint32_t cpu)
{
	int node = numa_available() >= 0 ? numa_node_of_cpu((int)cpu) : 0;

	return node >= 0 && node < PLAN_MAX_NODES ? (unsigned)node : 0;
}

// Removes lcores without roles, so that they are not started.
static void drop_empty_lcores(struct plan *plan)
{
	unsigned n = 0;

	for (unsigned i = 0; i < plan->n_lcores; i++) {
		if (plan->lcores[i].n_roles == 0)
			continue;
		plan->lcores[n] = plan->lcores[i];
		plan->lcores[n].numa_node = node_of_cpu(plan->lcores[i].cpu);
		for (unsigned j = 0; j < plan->lcores[n].n_roles; j++)
			plan->roles[plan->lcores[n].roles[j]].lcore = n;
		n++;
	}
	plan->n_lcores = n;
}

int plan_place(struct plan *plan, char *error)
{
	if ((plan->config->n_lcores == 0 ? place_automatically(plan, error)
					 : place_as_configured(plan, error)) != 0)
		return -1;
	drop_empty_lcores(plan);
	return 0;
}
