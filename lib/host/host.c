// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/host.h"

#include <stdlib.h>

#include "host/stages.h"

const struct host_system host_system_here = { .root = "" };

// What several stages look at. Large: not for the stack.
struct facts {
	struct mounts_facts mounts;
	struct runtime_facts runtime;
	struct runs_facts runs;
	struct hugepages hugepages;
	struct cgroup_facts cgroup;
	struct rights_facts rights;
	struct cpus_facts cpus;
	struct interrupts_facts interrupts;
	struct drivers_facts drivers;
	struct devices_facts devices;
	bool hugepages_suffice;
};

static void read_facts(struct facts *facts, const struct host_system *system,
		       const struct plan *plan)
{
	mounts_read(&facts->mounts, system, plan);
	runtime_read(&facts->runtime, system, plan);
	runs_read(&facts->runs, system, &facts->mounts, plan);
	hugepages_take(&facts->hugepages, system->root);
	facts->hugepages_suffice = hugepages_suffice(&facts->hugepages, plan);
	cgroup_read(&facts->cgroup, system->root, facts->hugepages.default_page);
	rights_read(&facts->rights, system);
	cpus_read(&facts->cpus, system, plan);
	drivers_read(&facts->drivers, system, plan);
	devices_read(&facts->devices, system, plan);
}

// --- the stages, causes first --------------------------------------------------------------------

static void stage_folders(const struct facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	(void)plan;
	runtime_judge(&facts->runtime, report);
}

static void stage_name(const struct facts *facts, const struct plan *plan,
		       struct host_report *report)
{
	runs_judge_live(&facts->runs, plan, report);
}

static void stage_leftovers(const struct facts *facts, const struct plan *plan,
			    struct host_report *report)
{
	(void)plan;
	runs_judge_dead(&facts->runs, report);
}

static void stage_cpus(const struct facts *facts, const struct plan *plan,
		       struct host_report *report)
{
	cpus_judge(&facts->cpus, plan, report);
}

static void stage_hugepages(const struct facts *facts, const struct plan *plan,
			    struct host_report *report)
{
	hugepages_judge(&facts->hugepages, facts->runs.dead_hugepage_bytes, plan, report);
}

static void stage_event_rings(const struct facts *facts, const struct plan *plan,
			      struct host_report *report)
{
	mounts_judge(&facts->mounts, facts->hugepages_suffice, plan, report);
}

static void stage_cgroup(const struct facts *facts, const struct plan *plan,
			 struct host_report *report)
{
	cgroup_judge(&facts->cgroup, facts->hugepages_suffice, plan, report);
}

static void stage_drivers(const struct facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	drivers_judge(&facts->drivers, plan, report);
}

static void stage_devices(const struct facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	devices_judge(&facts->devices, &facts->drivers, plan, report);
}

static void stage_capabilities(const struct facts *facts, const struct plan *plan,
			       struct host_report *report)
{
	rights_judge_capabilities(&facts->rights, plan, report);
}

static void stage_memlock(const struct facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	rights_judge_memlock(&facts->rights, facts->hugepages_suffice, plan, report);
}

static void stage_link(const struct facts *facts, const struct plan *plan,
		       struct host_report *report)
{
	interfaces_judge_link(&facts->devices, plan, report);
}

static void stage_mtu(const struct facts *facts, const struct plan *plan,
		      struct host_report *report)
{
	interfaces_judge_mtu(&facts->devices, plan, report);
}

static void stage_queues(const struct facts *facts, const struct plan *plan,
			 struct host_report *report)
{
	interfaces_judge_queues(&facts->devices, plan, report);
}

static void stage_pfc(const struct facts *facts, const struct plan *plan,
		      struct host_report *report)
{
	interfaces_judge_pfc(&facts->devices, plan, report);
}

static void stage_numa(const struct facts *facts, const struct plan *plan,
		       struct host_report *report)
{
	devices_judge_numa(&facts->devices, plan, report);
}

static void stage_isolation(const struct facts *facts, const struct plan *plan,
			    struct host_report *report)
{
	cpus_judge_isolation(&facts->cpus, plan, report);
}

static void stage_governor(const struct facts *facts, const struct plan *plan,
			   struct host_report *report)
{
	cpus_judge_governor(&facts->cpus, plan, report);
}

static void stage_interrupts(const struct facts *facts, const struct plan *plan,
			     struct host_report *report)
{
	interrupts_judge(&facts->interrupts, plan, report);
}

static const struct stage {
	void (*judge)(const struct facts *facts, const struct plan *plan,
		      struct host_report *report);
	bool at_run; // else it is for those who ask
} stages[] = {
	{ stage_folders, true },      { stage_name, true },      { stage_leftovers, false },
	{ stage_cpus, true },         { stage_hugepages, true }, { stage_event_rings, true },
	{ stage_cgroup, true },       { stage_drivers, true },   { stage_devices, true },
	{ stage_capabilities, true }, { stage_memlock, true },   { stage_link, true },
	{ stage_mtu, true },          { stage_queues, true },    { stage_pfc, true },
	{ stage_numa, true },         { stage_isolation, true }, { stage_governor, false },
	{ stage_interrupts, false },
};

void host_check(const struct host_system *system, const struct plan *plan,
		struct host_report *report)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (facts == NULL) {
		report->out_of_memory = true;
		return;
	}
	read_facts(facts, system, plan);
	interrupts_read(&facts->interrupts, system, plan);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		stages[i].judge(facts, plan, report);
	free(facts);
}

static const struct host_finding *first_failure(const struct host_report *report)
{
	for (unsigned i = 0; i < report->n_findings; i++)
		if (report->findings[i].verdict == HOST_FAIL)
			return &report->findings[i];
	return NULL;
}

const struct host_finding *host_preflight(const struct host_system *system, const struct plan *plan,
					  struct host_report *report)
{
	struct facts *facts = calloc(1, sizeof(*facts));
	const struct host_finding *failure = NULL;

	if (facts == NULL) {
		report->out_of_memory = true;
		return NULL;
	}
	read_facts(facts, system, plan);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]) && failure == NULL; i++) {
		if (!stages[i].at_run)
			continue;
		stages[i].judge(facts, plan, report);
		failure = first_failure(report);
	}
	free(facts);
	return failure;
}
