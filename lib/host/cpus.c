// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>
#include <string.h>

#define CPU_PATH      "/sys/devices/system/cpu"
#define GOVERNOR      CPU_PATH "/cpu%d/cpufreq/scaling_governor"
#define BEST_GOVERNOR "performance"

cpu_set_t cpus_listed(const struct check *check, const char *file)
{
	char text[SYSFS_TEXT_SIZE];
	cpu_set_t set;

	CPU_ZERO(&set);
	if (sysfs_read(check->system->root, text, CPU_PATH "/%s", file))
		(void)cpu_list_parse(text, &set); // as much as was understood
	return set;
}

cpu_set_t cpus_of_plan(const struct plan *plan)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned i = 0; plan != NULL && i < plan->n_lcores; i++)
		CPU_SET(plan->lcores[i].cpu, &set);
	return set;
}

cpu_set_t cpus_without(const cpu_set_t *set, const cpu_set_t *without)
{
	cpu_set_t result;

	CPU_AND(&result, set, without);
	CPU_XOR(&result, set, &result);
	return result;
}

void cpus_judge(struct check *check)
{
	cpu_set_t used = cpus_of_plan(check->plan), online = cpus_listed(check, "online");
	cpu_set_t allowed, offline = cpus_without(&used, &online), forbidden;
	char list[CPU_LIST_SIZE], other[CPU_LIST_SIZE], text[SYSFS_TEXT_SIZE];

	CPU_ZERO(&allowed);
	if (sysfs_field(check->system->root, "/proc/self/status", "Cpus_allowed_list:", text))
		(void)cpu_list_parse(text, &allowed); // as much as was understood
	forbidden = cpus_without(&used, &allowed);
	cpu_list_format(&online, list);
	cpu_list_format(&allowed, other);
	if (check->plan == NULL) {
		report_add(check->report, HOST_OK, "%s online, this process may use %s", list,
			   other);
	} else if (CPU_COUNT(&offline) > 0) {
		cpu_list_format(&offline, other);
		report_add(check->report, HOST_FAIL,
			   "lcores: CPU %s is not there or offline, %s are online" REMEDY
			   "change `cpu` in the configuration's lcores",
			   other, list);
	} else if (CPU_COUNT(&forbidden) > 0) {
		cpu_list_format(&forbidden, list);
		report_add(check->report, HOST_FAIL,
			   "lcores: CPU %s is not among those that this process may use, %s" REMEDY
			   "change `cpu`, or the cpuset it is started in (taskset, systemd: "
			   "AllowedCPUs, a container: --cpuset-cpus)",
			   list, other);
	} else {
		cpu_list_format(&used, list);
		report_add(check->report, HOST_OK, "lcores on CPU %s", list);
	}
}

void cpus_judge_isolation(struct check *check)
{
	cpu_set_t used = cpus_of_plan(check->plan), isolated = cpus_listed(check, "isolated");
	cpu_set_t shared = cpus_without(&used, &isolated);
	char list[CPU_LIST_SIZE];

	cpu_list_format(check->plan != NULL ? &shared : &isolated, list);
	if (check->plan == NULL)
		report_add(check->report, HOST_OK, "isolated CPUs: %s",
			   list[0] != '\0' ? list : "none");
	else if (check->plan->config->idle.policy == CONFIG_IDLE_ADAPTIVE)
		report_add(check->report, HOST_OK,
			   "not needed: idle lcores leave their CPUs (idle.policy is adaptive)");
	else if (CPU_COUNT(&shared) == 0)
		report_add(check->report, HOST_OK, "all lcores are on isolated CPUs");
	else
		report_add(check->report, HOST_WARN,
			   "lcores that poll on CPU %s share it with whatever else runs" REMEDY
			   "boot with isolcpus=%s nohz_full=%s rcu_nocbs=%s, or set idle.policy to "
			   "\"adaptive\"",
			   list, list, list, list);
}

// The CPUs of lcores, or all without a plan, whose governor is not the best one.
void cpus_judge_governor(struct check *check)
{
	cpu_set_t cpus =
	    check->plan != NULL ? cpus_of_plan(check->plan) : cpus_listed(check, "online");
	char list[CPU_LIST_SIZE], path[128], text[SYSFS_TEXT_SIZE], governor[32] = "";
	cpu_set_t slow;

	CPU_ZERO(&slow);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus) ||
		    !sysfs_read(check->system->root, text, GOVERNOR, cpu) ||
		    strcmp(text, BEST_GOVERNOR) == 0)
			continue;
		CPU_SET(cpu, &slow);
		snprintf(governor, sizeof(governor), "%.31s", text);
		snprintf(path, sizeof(path), GOVERNOR, cpu);
		if (check->plan != NULL)
			report_change(check->report, HOST_CHANGE_WRITE, path, BEST_GOVERNOR);
	}
	cpu_list_format(&slow, list);
	if (CPU_COUNT(&slow) > 0 && check->plan != NULL)
		report_add(check->report, HOST_WARN,
			   "CPU %s: %s, which saves power first" REMEDY
			   "as root, for each: echo " BEST_GOVERNOR " > " CPU_PATH
			   "/cpuN/cpufreq/scaling_governor",
			   list, governor);
	else if (CPU_COUNT(&slow) > 0)
		report_add(check->report, HOST_OK, "CPU %s: %s, which saves power first", list,
			   governor);
}
