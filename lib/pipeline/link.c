// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pipeline/link.h"

#include <stdio.h>

#include <rte_malloc.h>

struct link *link_create(const char *producer, const char *consumer, uint32_t depth, bool lossless,
			 int numa_node)
{
	static unsigned serial; // ring names are short and global: role names would not fit
	char name[RTE_RING_NAMESIZE];
	struct link *link =
	    rte_zmalloc_socket("link", sizeof(*link), RTE_CACHE_LINE_SIZE, numa_node);

	if (link == NULL)
		return NULL;
	snprintf(name, sizeof(name), "link%u", serial++);
	link->ring = rte_ring_create(name, depth, numa_node,
				     RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	if (link->ring == NULL) {
		rte_free(link);
		return NULL;
	}
	link->producer = producer;
	link->consumer = consumer;
	link->depth = depth;
	link->lossless = lossless;
	return link;
}

void link_destroy(struct link *link)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n;

	if (link == NULL)
		return;
	while ((n = link_dequeue(link, mbufs, ROLE_BURST)) > 0)
		rte_pktmbuf_free_bulk(mbufs, n);
	rte_ring_free(link->ring);
	rte_free(link);
}
