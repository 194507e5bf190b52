// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The hugepages of each NUMA node (Documentation/admin-guide/mm/hugetlbpage.rst of Linux).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUGEPAGES_MAX_NODES 8
#define HUGEPAGES_MAX_SIZES 4

struct hugepages_size {
	uint64_t page;           // bytes
	uint64_t reserved, free; // pages
};

struct hugepages_node {
	bool exists;
	struct hugepages_size sizes[HUGEPAGES_MAX_SIZES]; // the smallest first
	unsigned n_sizes;
};

struct hugepages {
	bool has_nodes; // false: a kernel without NUMA, whose pages all count as those of node 0
	struct hugepages_node nodes[HUGEPAGES_MAX_NODES];
	uint64_t default_page; // bytes
};

// root: as in sysfs/file.h.
void hugepages_take(struct hugepages *hugepages, const char *root);

// Bytes of all sizes on a node; node < 0: on all nodes.
uint64_t hugepages_free(const struct hugepages *hugepages, int node);
uint64_t hugepages_reserved(const struct hugepages *hugepages, int node);

// The file nr_hugepages of a node and a page size in bytes, and the number that must be written to
// it so that `missing` more bytes are free.
void hugepages_file(const struct hugepages *hugepages, unsigned node, uint64_t page, char *path,
		    size_t size);
uint64_t hugepages_to_reserve(const struct hugepages *hugepages, unsigned node, uint64_t page,
			      uint64_t missing);
