// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include "sysfs/cgroup.h"

#define PROGRAM ((uint64_t)96 << 20) // bytes of memory for evb and its libraries

static uint64_t wanted_hugepages(const struct plan *plan)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < plan->n_nodes; i++)
		bytes += plan->nodes[i].hugepage_bytes;
	return bytes;
}

static void judge_hugepages(const struct cgroup_limit *limit, struct check *check)
{
	uint64_t wanted = wanted_hugepages(check->plan);

	if (limit->limit != NO_LIMIT && wanted > limit->room)
		report_add(check->report, HOST_FAIL,
			   "%s leaves %llu MiB of hugepages, %llu MiB are wanted: the kernel would "
			   "kill evb (SIGBUS)" REMEDY "raise that limit (Kubernetes: limits: "
			   "hugepages-2Mi), or set memory.kind to \"shm\"",
			   limit->file, mib(limit->room), mib(wanted));
}

static void judge_memory(const struct cgroup_limit *limit, struct check *check)
{
	const char *other = check->hugepages_suffice ? "" : " or hugepages";
	uint64_t wanted = plan_ordinary_bytes(check->plan) + PROGRAM +
			  (check->hugepages_suffice ? 0 : wanted_hugepages(check->plan));

	if (limit->limit == NO_LIMIT || wanted <= limit->room)
		return;
	if (wanted > limit->limit)
		report_add(check->report, HOST_FAIL,
			   "%s allows %llu MiB of memory, %llu MiB are wanted: the kernel would "
			   "kill evb (out of memory)" REMEDY
			   "raise that limit (a container: --memory), or use fewer slots%s",
			   limit->file, mib(limit->limit), mib(wanted), other);
	else
		report_add(check->report, HOST_WARN,
			   "%s leaves %llu of %llu MiB of memory, %llu MiB are wanted" REMEDY
			   "raise that limit (a container: --memory), or use fewer slots%s",
			   limit->file, mib(limit->room), mib(limit->limit), mib(wanted), other);
}

static void describe(const struct cgroup_limit *limit, const char *of, struct check *check)
{
	if (limit->limit != NO_LIMIT)
		report_add(check->report, HOST_OK, "%s leaves %llu of %llu MiB of %s", limit->file,
			   mib(limit->room), mib(limit->limit), of);
}

void cgroup_judge(struct check *check)
{
	unsigned before = check->report->n_findings;
	struct cgroup_facts facts;

	cgroup_read(&facts, check->system->root, check->hugepages.default_page);
	if (check->plan != NULL && check->hugepages_suffice)
		judge_hugepages(&facts.hugepages, check);
	if (check->plan != NULL)
		judge_memory(&facts.memory, check);
	if (check->report->n_findings > before)
		return;
	describe(&facts.memory, "memory", check);
	describe(&facts.hugepages, "hugepages", check);
}
