// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/host.h"

#include <stdlib.h>

#include "host/stages.h"

const struct host_system host_system_here = { .root = "", .read_link = host_link_read };

const struct stage host_stages[] = {
	{ "folders", .describe = runtime_judge, .judge = runtime_judge },
	{ "name", .read = runs_read, .judge = runs_judge_live },
	{ "leftovers", .asked = true, .describe = runs_judge_dead, .judge = runs_judge_dead,
	  .fine = "none" },
	{ "CPUs", .describe = cpus_judge, .judge = cpus_judge },
	{ "hugepages", .read = hugepages_read, .describe = hugepages_describe,
	  .judge = hugepages_judge },
	{ "event rings", .read = mounts_read, .describe = mounts_describe, .judge = mounts_judge },
	{ "outputs", .asked = true, .judge = outputs_judge, .fine = "no files are written" },
	{ "cgroup", .describe = cgroup_judge, .judge = cgroup_judge,
	  .fine = "no limit of memory or hugepages" },
	{ "drivers", .read = drivers_read, .judge_port = drivers_judge,
	  .fine = "installed, and know the options given" },
	{ "devices", .read = devices_read, .judge_port = devices_judge,
	  .fine = "ports that need none, or have it" },
	{ "capabilities", .read = rights_read, .describe = rights_describe,
	  .judge_port = rights_judge_capabilities, .fine = "all that the drivers need" },
	{ "memlock", .describe = rights_judge_memlock, .judge = rights_judge_memlock },
	{ "keys", .judge = keys_judge },
	{ "link", .judge_link = interfaces_judge_link },
	{ "MTU", .judge_link = interfaces_judge_mtu },
	{ "queues", .judge_link = interfaces_judge_queues },
	{ "PFC", .judge_link = interfaces_judge_pfc },
	{ "NUMA", .judge = devices_judge_numa, .fine = "lcores are on the nodes of their ports" },
	{ "isolation", .describe = cpus_judge_isolation, .judge = cpus_judge_isolation },
	{ "governor", .asked = true, .describe = cpus_judge_governor, .judge = cpus_judge_governor,
	  .fine = "no CPU is slowed down by one" },
	{ "interrupts", .asked = true, .judge = interrupts_judge,
	  .fine = "none goes to the lcores' CPUs" },
	{ 0 },
};

void stage_judge(const struct stage *stage, struct check *check)
{
	void (*judge)(struct check *) = check->plan != NULL ? stage->judge : stage->describe;
	unsigned before = check->report->n_findings;

	check->report->stage = stage->name;
	if (judge != NULL)
		judge(check);
	else if (check->plan == NULL)
		return;
	for (unsigned i = 0; check->plan != NULL && i < check->plan->config->n_ports; i++) {
		const struct devices_port *port = &check->devices[i];

		if (stage->judge_port != NULL)
			stage->judge_port(check, i);
		if (stage->judge_link != NULL && port->kind == DEVICES_INTERFACE && port->exists)
			stage->judge_link(check, i, &port->link);
	}
	if (stage->fine != NULL && check->report->n_findings == before)
		report_add(check->report, HOST_OK, "%s", stage->fine);
}

static void examine(const struct host_system *system, const struct plan *plan, bool all,
		    struct host_report *report)
{
	struct check *check = calloc(1, sizeof(*check));

	if (check == NULL) {
		report->out_of_memory = true;
		return;
	}
	check->system = system;
	check->plan = plan;
	check->report = report;
	for (const struct stage *stage = host_stages; stage->name != NULL; stage++) {
		if (stage->asked && !all)
			continue;
		if (stage->read != NULL)
			stage->read(check);
		stage_judge(stage, check);
	}
	free(check);
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
