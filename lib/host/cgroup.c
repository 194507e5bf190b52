// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#define STAGE   "cgroup"
#define PROGRAM ((uint64_t)96 << 20) // bytes of memory for evb and its libraries

static uint64_t wanted_hugepages(const struct plan *plan)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < plan->n_nodes; i++)
		bytes += plan->nodes[i].hugepage_bytes;
	return bytes;
}

static void judge_hugepages(const struct cgroup_limit *limit, const struct plan *plan,
			    struct host_report *report)
{
	uint64_t wanted = wanted_hugepages(plan);
	struct host_finding *finding;

	if (limit->limit == NO_LIMIT || wanted <= limit->room)
		return;
	finding = report_add(report, HOST_FAIL, STAGE,
			     "%s leaves %llu MiB of hugepages, %llu MiB are wanted: the kernel "
			     "would kill evb (SIGBUS)",
			     limit->file, mib(limit->room), mib(wanted));
	report_remedy(finding, "raise that limit (Kubernetes: limits: hugepages-2Mi), or set "
			       "memory.kind to \"shm\"");
}

static void judge_memory(const struct cgroup_limit *limit, bool hugepages, const struct plan *plan,
			 struct host_report *report)
{
	uint64_t wanted = plan->assembly_bytes + PROGRAM + (hugepages ? 0 : wanted_hugepages(plan));
	struct host_finding *finding;

	if (limit->limit == NO_LIMIT || wanted <= limit->room)
		return;
	if (wanted > limit->limit)
		finding = report_add(report, HOST_FAIL, STAGE,
				     "%s allows %llu MiB of memory, %llu MiB are wanted: the "
				     "kernel would kill evb (out of memory)",
				     limit->file, mib(limit->limit), mib(wanted));
	else
		finding = report_add(report, HOST_WARN, STAGE,
				     "%s leaves %llu of %llu MiB of memory, %llu MiB are wanted",
				     limit->file, mib(limit->room), mib(limit->limit), mib(wanted));
	report_remedy(finding, "raise that limit (a container: --memory), or use fewer slots%s",
		      hugepages ? "" : " or hugepages");
}

void cgroup_judge(const struct cgroup_facts *facts, bool hugepages, const struct plan *plan,
		  struct host_report *report)
{
	const struct cgroup_limit *memory = &facts->memory, *pages = &facts->hugepages;
	unsigned before = report->n_findings;

	if (plan != NULL) {
		if (hugepages)
			judge_hugepages(pages, plan, report);
		judge_memory(memory, hugepages, plan, report);
		if (report->n_findings > before)
			return;
	}
	if (memory->limit != NO_LIMIT)
		report_add(report, HOST_OK, STAGE, "%s leaves %llu of %llu MiB of memory",
			   memory->file, mib(memory->room), mib(memory->limit));
	if (pages->limit != NO_LIMIT)
		report_add(report, HOST_OK, STAGE, "%s leaves %llu of %llu MiB of hugepages",
			   pages->file, mib(pages->room), mib(pages->limit));
	if (memory->limit == NO_LIMIT && pages->limit == NO_LIMIT)
		report_add(report, HOST_OK, STAGE, "no limit of memory or hugepages");
}
