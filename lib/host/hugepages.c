// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>

#define STAGE        "hugepages"
#define NODES        "/sys/devices/system/node"
#define ALL          "/sys/kernel/mm/hugepages"
#define DEFAULT_PAGE ((uint64_t)2 << 20)

// Sizes that the architectures of Linux have, small ones first.
static const uint64_t page_kibs[] = { 64, 1024, 2048, 32768, 262144, 524288, 1048576, 16777216 };

static void node_path(const struct hugepages_facts *facts, unsigned node, char *path, size_t size)
{
	if (facts->has_nodes)
		snprintf(path, size, NODES "/node%u/hugepages", node);
	else
		snprintf(path, size, ALL);
}

static void read_node(struct hugepages_facts *facts, const struct host_system *system,
		      unsigned index)
{
	struct hugepages_node *node = &facts->nodes[index];
	char path[128];

	node_path(facts, index, path, sizeof(path));
	node->exists = system_exists(system, "%s", path);
	for (size_t i = 0; i < sizeof(page_kibs) / sizeof(page_kibs[0]); i++) {
		struct hugepages_size *size = &node->sizes[node->n_sizes];
		unsigned long long kib = page_kibs[i];

		if (node->n_sizes == HUGEPAGES_MOST_SIZES ||
		    !system_exists(system, "%s/hugepages-%llukB", path, kib))
			continue;
		size->page = kib << 10;
		size->reserved =
		    system_number(system, 0, "%s/hugepages-%llukB/nr_hugepages", path, kib);
		size->free =
		    system_number(system, 0, "%s/hugepages-%llukB/free_hugepages", path, kib);
		node->n_sizes++;
	}
}

static uint64_t read_default_page(const struct host_system *system)
{
	FILE *file = system_open(system, "/proc/meminfo");
	unsigned long long kib;
	uint64_t page = DEFAULT_PAGE;
	char line[128];

	if (file == NULL)
		return page;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "Hugepagesize: %llu kB", &kib) == 1 && kib > 0)
			page = kib << 10;
	fclose(file); // opened for reading: nothing can be lost
	return page;
}

void hugepages_read(struct hugepages_facts *facts, const struct host_system *system)
{
	*facts = (struct hugepages_facts){ .default_page = read_default_page(system) };
	facts->has_nodes = system_exists(system, NODES "/node0/hugepages");
	for (unsigned i = 0; i < (facts->has_nodes ? PLAN_MAX_NODES : 1); i++)
		read_node(facts, system, i);
}

static uint64_t free_bytes(const struct hugepages_node *node)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < node->n_sizes; i++)
		bytes += node->sizes[i].free * node->sizes[i].page;
	return bytes;
}

static uint64_t reserved_bytes(const struct hugepages_node *node)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < node->n_sizes; i++)
		bytes += node->sizes[i].reserved * node->sizes[i].page;
	return bytes;
}

static uint64_t reserved_pages(const struct hugepages_node *node, uint64_t page)
{
	for (unsigned i = 0; i < node->n_sizes; i++)
		if (node->sizes[i].page == page)
			return node->sizes[i].reserved;
	return 0;
}

bool hugepages_suffice(const struct hugepages_facts *facts, const struct plan *plan)
{
	if (plan == NULL || plan->config->memory.kind == CONFIG_MEMORY_SHM)
		return false;
	for (unsigned i = 0; i < plan->n_nodes; i++)
		if (free_bytes(&facts->nodes[i]) < plan->nodes[i].hugepage_bytes)
			return false;
	return true;
}

static void describe(const struct hugepages_facts *facts, struct host_report *report)
{
	for (unsigned i = 0; i < PLAN_MAX_NODES; i++) {
		const struct hugepages_node *node = &facts->nodes[i];

		for (unsigned j = 0; j < node->n_sizes; j++) {
			const struct hugepages_size *size = &node->sizes[j];
			char page[16];

			// Sizes that nobody uses are not worth a line.
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

static void judge_node(const struct hugepages_facts *facts, unsigned index, uint64_t dead,
		       const struct plan *plan, struct host_report *report)
{
	const struct hugepages_node *node = &facts->nodes[index];
	uint64_t wanted = plan->nodes[index].hugepage_bytes, page = facts->default_page;
	uint64_t free = free_bytes(node), pages;
	bool insists = plan->config->memory.kind == CONFIG_MEMORY_HUGEPAGES;
	struct host_finding *finding;
	char path[128], file[192], held[64] = "";

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
			     index, (unsigned long long)(free >> 20), held,
			     (unsigned long long)((wanted + (1u << 20) - 1) >> 20),
			     insists ? "" : ": ordinary memory is used, which is slower");
	// Who has none reserved has decided to do without.
	finding->quiet = !insists && reserved_bytes(node) == 0;
	pages = reserved_pages(node, page) + (wanted - free + page - 1) / page;
	node_path(facts, index, path, sizeof(path));
	snprintf(file, sizeof(file), "%s/hugepages-%llukB/nr_hugepages", path,
		 (unsigned long long)(page >> 10));
	report_remedy(finding, "as root: echo %llu > %s%s", (unsigned long long)pages, file,
		      insists ? ", or set memory.kind to \"auto\"" : "");
	if (node->exists)
		report_change(report, HOST_CHANGE_WRITE, STAGE, file, "%llu",
			      (unsigned long long)pages);
}

void hugepages_judge(const struct hugepages_facts *facts, uint64_t dead, const struct plan *plan,
		     struct host_report *report)
{
	if (plan == NULL)
		describe(facts, report);
	else if (plan->config->memory.kind == CONFIG_MEMORY_SHM)
		report_add(report, HOST_OK, STAGE, "not used (memory.kind is shm)");
	else
		for (unsigned i = 0; i < plan->n_nodes; i++)
			if (plan->nodes[i].hugepage_bytes > 0)
				judge_node(facts, i, dead, plan, report);
}
