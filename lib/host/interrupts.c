// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE "interrupts"
#define SHOWN 6 // interrupts listed in a finding

static bool read_set(cpu_set_t *set, const struct host_system *system, unsigned number,
		     const char *file)
{
	char text[SYSFS_TEXT_SIZE];

	return sysfs_read(system->root, text, "/proc/irq/%u/%s", number, file) &&
	       cpu_list_parse(text, set) && CPU_COUNT(set) > 0;
}

static void look(struct interrupts_facts *facts, const struct host_system *system, unsigned number,
		 const cpu_set_t *data)
{
	cpu_set_t wanted, effective, both;

	if (facts->n == INTERRUPTS_MOST || !read_set(&wanted, system, number, "smp_affinity_list"))
		return;
	if (!read_set(&effective, system, number, "effective_affinity_list"))
		effective = wanted;
	CPU_AND(&both, &effective, data);
	if (CPU_COUNT(&both) == 0)
		return;
	facts->list[facts->n].number = number;
	facts->list[facts->n].wanted = wanted;
	facts->n++;
}

static int by_number(const void *left, const void *right)
{
	const unsigned *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void interrupts_read(struct interrupts_facts *facts, const struct host_system *system,
		     const struct plan *plan)
{
	char path[SYSFS_PATH_SIZE], text[SYSFS_TEXT_SIZE];
	const struct dirent *entry;
	cpu_set_t data;
	DIR *stream;

	*facts = (struct interrupts_facts){ 0 };
	if (sysfs_read(system->root, text, "/sys/devices/system/cpu/online"))
		(void)cpu_list_parse(text, &facts->online); // as much as was understood
	cpus_of_plan(plan, &data);
	if (CPU_COUNT(&data) == 0 ||
	    snprintf(path, sizeof(path), "%s/proc/irq", system->root) >= (int)sizeof(path))
		return;
	stream = opendir(path);
	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]))
			look(facts, system, (unsigned)strtoul(entry->d_name, NULL, 10), &data);
	closedir(stream);
	// The number is the first member of an element.
	qsort(facts->list, facts->n, sizeof(facts->list[0]), by_number);
}

void interrupts_judge(const struct interrupts_facts *facts, const struct plan *plan,
		      struct host_report *report)
{
	char list[128] = "", text[CPU_LIST_SIZE], path[64], more[32] = "";
	struct host_finding *finding;
	cpu_set_t data, both, others;
	size_t used = 0;

	if (plan == NULL)
		return;
	cpus_of_plan(plan, &data);
	CPU_AND(&both, &facts->online, &data);
	CPU_XOR(&others, &facts->online, &both);
	if (CPU_COUNT(&others) == 0) {
		report_add(report, HOST_OK, STAGE, "every CPU has an lcore: there is no other one");
		return;
	}
	if (facts->n == 0) {
		report_add(report, HOST_OK, STAGE, "none goes to the lcores' CPUs");
		return;
	}
	for (unsigned i = 0; i < facts->n && i < SHOWN; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u",
					 i > 0 ? ", " : "", facts->list[i].number);
	if (facts->n > SHOWN)
		snprintf(more, sizeof(more), " and %u more", facts->n - SHOWN);
	cpu_list_format(&others, text);
	finding = report_add(report, HOST_WARN, STAGE, "IRQ %s%s go%s to CPUs of lcores", list,
			     more, facts->n == 1 ? "es" : "");
	report_remedy(finding,
		      "stop irqbalance, and as root, for each: echo %s > "
		      "/proc/irq/N/smp_affinity_list",
		      text);
	for (unsigned i = 0; i < facts->n; i++) {
		cpu_set_t keep;

		CPU_AND(&keep, &facts->list[i].wanted, &others);
		cpu_list_format(CPU_COUNT(&keep) > 0 ? &keep : &others, text);
		snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list",
			 facts->list[i].number);
		report_change(report, HOST_CHANGE_WRITE, STAGE, path, "%s", text);
	}
}
