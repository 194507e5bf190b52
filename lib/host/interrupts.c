// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST  256 // interrupts that are looked at
#define SHOWN 6   // interrupts listed in a finding

// An interrupt that CPUs of lcores serve now.
struct interrupt {
	unsigned number;
	cpu_set_t wanted; // CPUs that shall serve it
};

static bool read_set(cpu_set_t *set, const struct check *check, unsigned number, const char *file)
{
	char text[SYSFS_TEXT_SIZE];

	return sysfs_read(check->system->root, text, "/proc/irq/%u/%s", number, file) &&
	       cpu_list_parse(text, set) && CPU_COUNT(set) > 0;
}

// Whether CPUs of lcores serve the interrupt.
static bool is_on_lcore(struct interrupt *interrupt, const struct check *check,
			const cpu_set_t *data)
{
	cpu_set_t effective;

	if (!read_set(&interrupt->wanted, check, interrupt->number, "smp_affinity_list"))
		return false;
	if (!read_set(&effective, check, interrupt->number, "effective_affinity_list"))
		effective = interrupt->wanted;
	CPU_AND(&effective, &effective, data);
	return CPU_COUNT(&effective) > 0;
}

static int by_number(const void *left, const void *right)
{
	const struct interrupt *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static unsigned find(struct interrupt list[MOST], const struct check *check, const cpu_set_t *data)
{
	char path[SYSFS_PATH_SIZE];
	const struct dirent *entry;
	unsigned n = 0;
	DIR *stream;

	if (snprintf(path, sizeof(path), "%s/proc/irq", check->system->root) >= (int)sizeof(path))
		return 0;
	stream = opendir(path);
	if (stream == NULL)
		return 0;
	while (n < MOST && (entry = readdir(stream)) != NULL) {
		list[n].number = (unsigned)strtoul(entry->d_name, NULL, 10);
		if (isdigit((unsigned char)entry->d_name[0]) && is_on_lcore(&list[n], check, data))
			n++;
	}
	closedir(stream);
	qsort(list, n, sizeof(list[0]), by_number);
	return n;
}

void interrupts_judge(struct check *check)
{
	char list[128] = "", text[CPU_LIST_SIZE], path[64], more[32] = "";
	cpu_set_t data = cpus_of_plan(check->plan), online = cpus_listed(check, "online");
	cpu_set_t others = cpus_without(&online, &data);
	struct interrupt found[MOST];
	unsigned n = find(found, check, &data);
	size_t used = 0;

	if (CPU_COUNT(&others) == 0) {
		report_add(check->report, HOST_OK, "every CPU has an lcore: there is no other one");
		return;
	}
	if (n == 0)
		return;
	for (unsigned i = 0; i < n && i < SHOWN; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u",
					 i > 0 ? ", " : "", found[i].number);
	if (n > SHOWN)
		snprintf(more, sizeof(more), " and %u more", n - SHOWN);
	cpu_list_format(&others, text);
	report_add(check->report, HOST_WARN,
		   "IRQ %s%s go%s to CPUs of lcores" REMEDY
		   "stop irqbalance, and as root, for each: echo %s > "
		   "/proc/irq/N/smp_affinity_list",
		   list, more, n == 1 ? "es" : "", text);
	for (unsigned i = 0; i < n; i++) {
		cpu_set_t keep;

		CPU_AND(&keep, &found[i].wanted, &others);
		cpu_list_format(CPU_COUNT(&keep) > 0 ? &keep : &others, text);
		snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", found[i].number);
		report_change(check->report, HOST_CHANGE_WRITE, path, "%s", text);
	}
}
