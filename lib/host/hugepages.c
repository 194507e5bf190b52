// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>

_Static_assert(PLAN_MAX_NODES <= HUGEPAGES_MAX_NODES, "each node of a plan is read");

void hugepages_read(struct check *check)
{
	const struct plan *plan = check->plan;

	hugepages_take(&check->hugepages, check->system->root);
	check->hugepages_suffice = plan != NULL && plan->config->memory.kind != MEMORY_SHM;
	for (unsigned i = 0; check->hugepages_suffice && i < plan->n_nodes; i++)
		check->hugepages_suffice =
		    hugepages_free(&check->hugepages, (int)i) >= plan->nodes[i].hugepage_bytes;
}

void hugepages_describe(struct check *check)
{
	for (unsigned i = 0; i < HUGEPAGES_MAX_NODES; i++) {
		const struct hugepages_node *node = &check->hugepages.nodes[i];

		for (unsigned j = 0; j < node->n_sizes; j++) {
			const struct hugepages_size *size = &node->sizes[j];
			char page[16];

			// A size without pages is not worth a line, unless it is the default.
			if (size->page != check->hugepages.default_page && size->reserved == 0)
				continue;
			mounts_page_name(size->page, page);
			report_add(check->report, HOST_OK,
				   "NUMA node %u: %llu pages of %s reserved, %llu free", i,
				   (unsigned long long)size->reserved, page,
				   (unsigned long long)size->free);
		}
	}
}

static void judge_node(struct check *check, unsigned index)
{
	const struct hugepages *facts = &check->hugepages;
	uint64_t wanted = check->plan->nodes[index].hugepage_bytes;
	uint64_t dead = check->runs.dead_hugepage_bytes, free = hugepages_free(facts, (int)index);
	bool insists = check->plan->config->memory.kind == MEMORY_HUGEPAGES;
	char file[HOST_TARGET_SIZE], held[64] = "";
	unsigned long long pages;

	if (free >= wanted) {
		report_add(check->report, HOST_OK, "NUMA node %u: %llu MiB wanted, %llu MiB free",
			   index, (unsigned long long)(wanted >> 20),
			   (unsigned long long)(free >> 20));
		return;
	}
	if (dead > 0)
		snprintf(held, sizeof(held), " (dead runs hold %llu MiB)",
			 (unsigned long long)(dead >> 20));
	pages = hugepages_to_reserve(facts, index, facts->default_page, wanted - free);
	hugepages_file(facts, index, facts->default_page, file, sizeof(file));
	// A machine without any reserved hugepages does without them on purpose.
	report_add(check->report, insists ? HOST_FAIL : HOST_WARN,
		   "NUMA node %u has %llu MiB of free hugepages%s, %llu MiB are wanted%s" REMEDY
		   "as root: echo %llu > %s%s",
		   index, (unsigned long long)(free >> 20), held, mib(wanted),
		   insists ? "" : ": ordinary memory is used, which is slower", pages, file,
		   insists ? ", or set memory.kind to \"auto\"" : "")
	    ->quiet = !insists && hugepages_reserved(facts, (int)index) == 0;
	if (facts->nodes[index].exists)
		report_change(check->report, HOST_CHANGE_WRITE, file, "%llu", pages);
}

void hugepages_judge(struct check *check)
{
	if (check->plan->config->memory.kind == MEMORY_SHM)
		report_add(check->report, HOST_OK, "not used (memory.kind is shm)");
	else
		for (unsigned i = 0; i < check->plan->n_nodes; i++)
			if (check->plan->nodes[i].hugepage_bytes > 0)
				judge_node(check, i);
}
