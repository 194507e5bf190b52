// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>
#include <string.h>

#define STAGE_CPUS      "CPUs"
#define STAGE_ISOLATION "isolation"
#define STAGE_GOVERNOR  "governor"
#define CPU_PATH        "/sys/devices/system/cpu"
#define BEST_GOVERNOR   "performance"

static void read_list(cpu_set_t *set, const struct host_system *system, const char *path)
{
	char text[SYSFS_TEXT_SIZE];

	CPU_ZERO(set);
	if (sysfs_read(system->root, text, "%s", path))
		(void)cpu_list_parse(text, set); // as much as was understood
}

static void read_governors(struct cpus_facts *facts, const struct host_system *system,
			   const cpu_set_t *cpus)
{
	char text[SYSFS_TEXT_SIZE];

	CPU_ZERO(&facts->slow);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus) ||
		    !sysfs_read(system->root, text, CPU_PATH "/cpu%d/cpufreq/scaling_governor",
				cpu) ||
		    strcmp(text, BEST_GOVERNOR) == 0)
			continue;
		CPU_SET(cpu, &facts->slow);
		snprintf(facts->governor, sizeof(facts->governor), "%.31s", text);
	}
}

void cpus_of_plan(const struct plan *plan, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (unsigned i = 0; plan != NULL && i < plan->n_lcores; i++)
		CPU_SET(plan->lcores[i].cpu, set);
}

void cpus_read(struct cpus_facts *facts, const struct host_system *system, const struct plan *plan)
{
	char text[SYSFS_TEXT_SIZE];
	cpu_set_t used;

	*facts = (struct cpus_facts){ 0 };
	read_list(&facts->online, system, CPU_PATH "/online");
	read_list(&facts->isolated, system, CPU_PATH "/isolated");
	CPU_ZERO(&facts->allowed);
	if (sysfs_field(system->root, "/proc/self/status", "Cpus_allowed_list:", text))
		(void)cpu_list_parse(text, &facts->allowed); // as much as was understood
	cpus_of_plan(plan, &used);
	read_governors(facts, system, plan != NULL ? &used : &facts->online);
}

// The CPUs of `set` that are not in `without`.
static void subtract(cpu_set_t *result, const cpu_set_t *set, const cpu_set_t *without)
{
	cpu_set_t both;

	CPU_AND(&both, set, without);
	CPU_XOR(result, set, &both);
}

void cpus_judge(const struct cpus_facts *facts, const struct plan *plan, struct host_report *report)
{
	char list[CPU_LIST_SIZE], other[CPU_LIST_SIZE];
	struct host_finding *finding;
	cpu_set_t used, missing;

	cpus_of_plan(plan, &used);
	cpu_list_format(&facts->online, list);
	cpu_list_format(&facts->allowed, other);
	if (plan == NULL) {
		report_add(report, HOST_OK, STAGE_CPUS, "%s online, this process may use %s", list,
			   other);
		return;
	}
	subtract(&missing, &used, &facts->online);
	if (CPU_COUNT(&missing) > 0) {
		cpu_list_format(&missing, other);
		finding = report_add(report, HOST_FAIL, STAGE_CPUS,
				     "lcores: CPU %s is not there or offline, %s are online", other,
				     list);
		report_remedy(finding, "change `cpu` in the configuration's lcores");
		return;
	}
	subtract(&missing, &used, &facts->allowed);
	if (CPU_COUNT(&missing) > 0) {
		cpu_list_format(&missing, list);
		finding = report_add(report, HOST_FAIL, STAGE_CPUS,
				     "lcores: CPU %s is not among those that this process may use, "
				     "%s",
				     list, other);
		report_remedy(finding, "change `cpu`, or the cpuset it is started in (taskset, a "
				       "container: --cpuset-cpus)");
		return;
	}
	cpu_list_format(&used, list);
	report_add(report, HOST_OK, STAGE_CPUS, "lcores on CPU %s", list);
}

void cpus_judge_isolation(const struct cpus_facts *facts, const struct plan *plan,
			  struct host_report *report)
{
	char list[CPU_LIST_SIZE];
	struct host_finding *finding;
	cpu_set_t used, shared;

	if (plan == NULL) {
		cpu_list_format(&facts->isolated, list);
		report_add(report, HOST_OK, STAGE_ISOLATION, "isolated CPUs: %s",
			   list[0] != '\0' ? list : "none");
		return;
	}
	if (plan->config->idle.policy == CONFIG_IDLE_ADAPTIVE) {
		report_add(report, HOST_OK, STAGE_ISOLATION,
			   "not needed: idle lcores leave their CPUs (idle.policy is adaptive)");
		return;
	}
	cpus_of_plan(plan, &used);
	subtract(&shared, &used, &facts->isolated);
	if (CPU_COUNT(&shared) == 0) {
		report_add(report, HOST_OK, STAGE_ISOLATION, "all lcores are on isolated CPUs");
		return;
	}
	cpu_list_format(&shared, list);
	finding = report_add(report, HOST_WARN, STAGE_ISOLATION,
			     "lcores that poll on CPU %s share it with whatever else runs", list);
	report_remedy(finding,
		      "boot with isolcpus=%s nohz_full=%s rcu_nocbs=%s, or set idle.policy to "
		      "\"adaptive\"",
		      list, list, list);
}

void cpus_judge_governor(const struct cpus_facts *facts, const struct plan *plan,
			 struct host_report *report)
{
	char list[CPU_LIST_SIZE], path[128];
	struct host_finding *finding;

	if (CPU_COUNT(&facts->slow) == 0) {
		report_add(report, HOST_OK, STAGE_GOVERNOR, "no CPU is slowed down by one");
		return;
	}
	cpu_list_format(&facts->slow, list);
	finding = report_add(report, plan != NULL ? HOST_WARN : HOST_OK, STAGE_GOVERNOR,
			     "CPU %s: %s, which saves power first", list, facts->governor);
	if (plan == NULL)
		return;
	report_remedy(finding, "as root, for each: echo " BEST_GOVERNOR " > " CPU_PATH
			       "/cpuN/cpufreq/scaling_governor");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &facts->slow))
			continue;
		snprintf(path, sizeof(path), CPU_PATH "/cpu%d/cpufreq/scaling_governor", cpu);
		report_change(report, HOST_CHANGE_WRITE, STAGE_GOVERNOR, path, BEST_GOVERNOR);
	}
}
