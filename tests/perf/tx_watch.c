// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Watches what an unmodified process passes to the driver of its port: a library for LD_PRELOAD.
// For each piece of each packet that the driver accepts, it looks whether the piece lies in a
// producer ring that the process has mapped. What lies there has not been copied since the producer
// committed it; the process has written everything else.
//
// When the process ends, one JSON object goes to the file that EVB_TX_WATCH names: packets, and
// bytes in producer rings and elsewhere. The process has one port, and links DPDK dynamically.
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#define MOST_RINGS 16u
#define DATA       1000u // bytes: the first such packet is one of data, when all rings are mapped

int rte_eth_dev_start(uint16_t port_id);

static eth_tx_burst_t driver;
static struct {
	uintptr_t begin, end;
} rings[MOST_RINGS];
static unsigned n_rings;
static bool has_looked;
static struct {
	uint64_t packets, in_ring, elsewhere; // elsewhere, in_ring: bytes
} total;

static void look_for_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t begin, end;
	char path[512];
	int found;

	if (maps == NULL)
		return;
	while (n_rings < MOST_RINGS &&
	       (found = fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s%511[^\n]", &begin,
			       &end, path)) >= 2) {
		if (found == 3 && strstr(path, "/producer.") != NULL) {
			rings[n_rings].begin = begin;
			rings[n_rings++].end = end;
		}
	}
	fclose(maps);
	has_looked = true;
}

static bool is_in_ring(uintptr_t begin, uintptr_t end)
{
	for (unsigned i = 0; i < n_rings; i++)
		if (begin >= rings[i].begin && end <= rings[i].end)
			return true;
	return false;
}

// Adds the packets to the sums, or takes them away.
static void count(struct rte_mbuf **packets, uint16_t n, bool add)
{
	for (uint16_t i = 0; i < n; i++) {
		const struct rte_mbuf *piece = packets[i];
		uint64_t in_ring = 0, all = piece->pkt_len;

		if (!has_looked && piece->pkt_len >= DATA)
			look_for_rings();
		for (; piece != NULL; piece = piece->next) {
			uintptr_t begin = rte_pktmbuf_mtod(piece, uintptr_t);

			if (is_in_ring(begin, begin + piece->data_len))
				in_ring += piece->data_len;
		}
		total.packets += add ? 1 : -UINT64_C(1);
		total.in_ring += add ? in_ring : -in_ring;
		total.elsewhere += add ? all - in_ring : in_ring - all;
	}
}

// The driver frees what it accepts, and the caller passes the others again.
static uint16_t watch(void *queue, struct rte_mbuf **packets, uint16_t n)
{
	uint16_t sent;

	count(packets, n, true);
	sent = driver(queue, packets, n);
	count(packets + sent, (uint16_t)(n - sent), false);
	return sent;
}

int rte_eth_dev_start(uint16_t port_id)
{
	union {
		void *symbol;
		int (*function)(uint16_t);
	} start = { .symbol = dlsym(RTLD_NEXT, "rte_eth_dev_start") };
	int result = start.symbol != NULL ? start.function(port_id) : -1;

	if (result == 0 && rte_eth_fp_ops[port_id].tx_pkt_burst != watch) {
		driver = rte_eth_fp_ops[port_id].tx_pkt_burst;
		rte_eth_fp_ops[port_id].tx_pkt_burst = watch;
	}
	return result;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("EVB_TX_WATCH");
	FILE *file = path != NULL && total.packets > 0 ? fopen(path, "w") : NULL;

	if (file == NULL)
		return;
	fprintf(file,
		"{\"packets\": %" PRIu64 ", \"in_ring\": %" PRIu64 ", \"elsewhere\": %" PRIu64
		"}\n",
		total.packets, total.in_ring, total.elsewhere);
	fclose(file);
}
