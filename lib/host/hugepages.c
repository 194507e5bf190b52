// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>

#define STAGE "hugepages"

_Static_assert(PLAN_MAX_NODES <= HUGEPAGES_MAX_NODES, "each node of a plan is read");

bool hugepages_suffice(const struct hugepages *facts, const struct plan *plan)
{
	if (plan == NULL || plan->config->memory.kind == MEMORY_SHM)
		return false;
	for (unsigned i = 0; i < plan->n_nodes; i++)
		if (hugepages_free(facts, (int)i) < plan->nodes[i].hugepage_bytes)
			return false;
	return true;
}

static void describe(const struct hugepages *facts, struct host_report *report)
{
	for (unsigned i = 0; i < HUGEPAGES_MAX_NODES; i++) {
		const struct hugepages_node *node = &facts->nodes[i];

		for (unsigned j = 0; j < node->n_sizes; j++) {
			const struct hugepages_size *size = &node->sizes[j];
			char page[16];

			// A size without pages is not worth a line, unless it is the default.
			if (size->page != facts->default_page && size->reserved == 0)
				continue;
			mounts_page_name(size->page, page);
			report_add(report, HOST_OK, STAGE,
				   "NUMA node %u: %llu pages of %s reserved, %llu free", i,
				   (unsigned long long)size->reserved, page,
				   (unsigned long long)size->free);
		}
	}
}

static void judge_node(const struct hugepages *facts, unsigned index, uint64_t dead,
		       const struct plan *plan, struct host_report *report)
{
	uint64_t wanted = plan->nodes[index].hugepage_bytes;
	uint64_t free = hugepages_free(facts, (int)index), pages;
	bool insists = plan->config->memory.kind == MEMORY_HUGEPAGES;
	struct host_finding *finding;
	char file[HOST_TARGET_SIZE], held[64] = "";

	if (free >= wanted) {
		report_add(report, HOST_OK, STAGE, "NUMA node %u: %llu MiB wanted, %llu MiB free",
			   index, (unsigned long long)(wanted >> 20),
			   (unsigned long long)(free >> 20));
		return;
	}
	if (dead > 0)
		snprintf(held, sizeof(held), " (dead runs hold %llu MiB)",
			 (unsigned long long)(dead >> 20));
	finding = report_add(report, insists ? HOST_FAIL : HOST_WARN, STAGE,
			     "NUMA node %u has %llu MiB of free hugepages%s, %llu MiB are wanted%s",
			     index, (unsigned long long)(free >> 20), held, mib(wanted),
			     insists ? "" : ": ordinary memory is used, which is slower");
	// A machine without any reserved hugepages does without them on purpose.
	finding->quiet = !insists && hugepages_reserved(facts, (int)index) == 0;
	pages = hugepages_to_reserve(facts, index, facts->default_page, wanted - free);
	hugepages_file(facts, index, facts->default_page, file, sizeof(file));
	report_remedy(finding, "as root: echo %llu > %s%s", (unsigned long long)pages, file,
		      insists ? ", or set memory.kind to \"auto\"" : "");
	if (facts->nodes[index].exists)
		report_change(report, HOST_CHANGE_WRITE, STAGE, file, "%llu",
			      (unsigned long long)pages);
}

void hugepages_judge(const struct hugepages *facts, uint64_t dead, const struct plan *plan,
		     struct host_report *report)
{
	if (plan == NULL)
		describe(facts, report);
	else if (plan->config->memory.kind == MEMORY_SHM)
		report_add(report, HOST_OK, STAGE, "not used (memory.kind is shm)");
	else
		for (unsigned i = 0; i < plan->n_nodes; i++)
			if (plan->nodes[i].hugepage_bytes > 0)
				judge_node(facts, i, dead, plan, report);
}
