// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sysfs/hugepages.h"

#include <stdio.h>

#include "sysfs/file.h"

#define NODES        "/sys/devices/system/node"
#define ALL          "/sys/kernel/mm/hugepages"
#define DEFAULT_PAGE ((uint64_t)2 << 20)

// The sizes of the architectures that Linux supports, in KiB.
static const unsigned page_sizes[] = { 64, 1024, 2048, 32768, 262144, 524288, 1048576, 16777216 };

static void node_path(const struct hugepages *hugepages, unsigned node, char *path, size_t size)
{
	if (hugepages->has_nodes)
		snprintf(path, size, NODES "/node%u/hugepages", node);
	else
		snprintf(path, size, ALL);
}

static void take_node(struct hugepages *hugepages, const char *root, unsigned index)
{
	struct hugepages_node *node = &hugepages->nodes[index];
	char path[128];

	node_path(hugepages, index, path, sizeof(path));
	node->exists = sysfs_exists(root, "%s", path);
	for (size_t i = 0; i < sizeof(page_sizes) / sizeof(page_sizes[0]); i++) {
		unsigned kib = page_sizes[i];

		if (node->n_sizes == HUGEPAGES_MAX_SIZES ||
		    !sysfs_exists(root, "%s/hugepages-%ukB", path, kib))
			continue;
		node->sizes[node->n_sizes++] = (struct hugepages_size){
			.page = (uint64_t)kib << 10,
			.reserved =
			    sysfs_number(root, 0, "%s/hugepages-%ukB/nr_hugepages", path, kib),
			.free =
			    sysfs_number(root, 0, "%s/hugepages-%ukB/free_hugepages", path, kib),
		};
	}
}

void hugepages_take(struct hugepages *hugepages, const char *root)
{
	uint64_t page = sysfs_meminfo(root, "Hugepagesize", 0);

	*hugepages = (struct hugepages){
		.default_page = page > 0 ? page : DEFAULT_PAGE,
		.has_nodes = sysfs_exists(root, NODES "/node0/hugepages"),
	};
	for (unsigned i = 0; i < (hugepages->has_nodes ? HUGEPAGES_MAX_NODES : 1); i++)
		take_node(hugepages, root, i);
}

static uint64_t sum(const struct hugepages *hugepages, int node, bool reserved)
{
	uint64_t bytes = 0;

	for (int i = 0; i < HUGEPAGES_MAX_NODES; i++)
		for (unsigned j = 0; (node < 0 || i == node) && j < hugepages->nodes[i].n_sizes;
		     j++) {
			const struct hugepages_size *size = &hugepages->nodes[i].sizes[j];

			bytes += (reserved ? size->reserved : size->free) * size->page;
		}
	return bytes;
}

uint64_t hugepages_free(const struct hugepages *hugepages, int node)
{
	return sum(hugepages, node, false);
}

uint64_t hugepages_reserved(const struct hugepages *hugepages, int node)
{
	return sum(hugepages, node, true);
}

uint64_t hugepages_to_reserve(const struct hugepages *hugepages, unsigned node, uint64_t page,
			      uint64_t missing)
{
	uint64_t reserved = 0;

	for (unsigned i = 0; i < hugepages->nodes[node].n_sizes; i++)
		if (hugepages->nodes[node].sizes[i].page == page)
			reserved = hugepages->nodes[node].sizes[i].reserved;
	return reserved + (missing + page - 1) / page;
}

void hugepages_file(const struct hugepages *hugepages, unsigned node, uint64_t page, char *path,
		    size_t size)
{
	char directory[128];

	node_path(hugepages, node, directory, sizeof(directory));
	snprintf(path, size, "%s/hugepages-%llukB/nr_hugepages", directory,
		 (unsigned long long)(page >> 10));
}
