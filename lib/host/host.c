// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/host.h"

#include <stdlib.h>

#include "host/stages.h"

const struct host_system host_system_here = { .root = "" };

// The facts of all stages. Large: not for the stack.
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

// Judges the stages, causes before their consequences. all: also what matters only to those who
// ask, not to each run.
static void judge(const struct facts *facts, const struct plan *plan, bool all,
		  struct host_report *report)
{
	runtime_judge(&facts->runtime, report);
	runs_judge_live(&facts->runs, plan, report);
	if (all)
		runs_judge_dead(&facts->runs, report);
	cpus_judge(&facts->cpus, plan, report);
	hugepages_judge(&facts->hugepages, facts->runs.dead_hugepage_bytes, plan, report);
	mounts_judge(&facts->mounts, facts->hugepages_suffice, plan, report);
	cgroup_judge(&facts->cgroup, facts->hugepages_suffice, plan, report);
	drivers_judge(&facts->drivers, plan, report);
	devices_judge(&facts->devices, &facts->drivers, plan, report);
	rights_judge_capabilities(&facts->rights, plan, report);
	rights_judge_memlock(&facts->rights, facts->hugepages_suffice, plan, report);
	interfaces_judge_link(&facts->devices, plan, report);
	interfaces_judge_mtu(&facts->devices, plan, report);
	interfaces_judge_queues(&facts->devices, plan, report);
	interfaces_judge_pfc(&facts->devices, plan, report);
	devices_judge_numa(&facts->devices, plan, report);
	cpus_judge_isolation(&facts->cpus, plan, report);
	if (all) {
		cpus_judge_governor(&facts->cpus, plan, report);
		interrupts_judge(&facts->interrupts, plan, report);
	}
}

static void examine(const struct host_system *system, const struct plan *plan, bool all,
		    struct host_report *report)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (facts == NULL) {
		report->out_of_memory = true;
		return;
	}
	read_facts(facts, system, plan);
	if (all)
		interrupts_read(&facts->interrupts, system, plan);
	judge(facts, plan, all, report);
	free(facts);
}

void host_check(const struct host_system *system, const struct plan *plan,
		struct host_report *report)
{
	examine(system, plan, true, report);
}

const struct host_finding *host_preflight(const struct host_system *system, const struct plan *plan,
					  struct host_report *report)
{
	examine(system, plan, false, report);
	for (unsigned i = 0; i < report->n_findings; i++) {
		if (report->findings[i].verdict != HOST_FAIL)
			continue;
		report->n_findings = i + 1; // those behind it may be its consequences
		return &report->findings[i];
	}
	return NULL;
}
