// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads and writes the maps of the program. Each access is a system call, which is atomic per
// element of a map.
#include "port/xdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

_Static_assert(PORT_MAX_UDP_RANGES <= STEER_MAX_RANGES, "all ranges fit the settings");

static const uint32_t only = 0; // the only key of the map of settings

// Adds a source, whose counters begin at 0 on every CPU. Returns 0, or a negative errno.
static int add_source(const struct xdp *xdp, uint32_t id)
{
	struct steer_counter *zeros = calloc(xdp->n_cpus, sizeof(*zeros));
	int result;

	if (zeros == NULL)
		return -ENOMEM;
	result = bpf_map_update_elem(xdp->sources_map, &id, zeros, BPF_NOEXIST);
	free(zeros);
	return result == 0 ? 0 : -errno;
}

int xdp_maps_fill(struct xdp *xdp, const struct xdp_rules *rules)
{
	const struct port_traffic *traffic = rules->traffic;
	struct steer_settings *set = &xdp->settings;

	*set = (struct steer_settings){
		.active = 1,
		.own_address = htonl(rules->own_address),
		.largest_frame = rules->largest_frame,
		.ether_type = traffic->ether_type,
		.n_ranges = traffic->n_ranges,
	};
	set->has_own_address6 = rules->has_own_address6;
	memcpy(set->own_address6, rules->own_address6, sizeof(set->own_address6));
	for (unsigned i = 0; i < traffic->n_ranges; i++)
		set->ranges[i] = (struct steer_range){
			.first = traffic->ranges[i].first,
			.count = traffic->ranges[i].count,
			.segments = traffic->ranges[i].segments,
		};
	for (unsigned i = 0; i < traffic->n_ids; i++) {
		int result = add_source(xdp, traffic->ids[i]);

		if (result != 0)
			return result;
	}
	return bpf_map_update_elem(xdp->settings_map, &only, set, BPF_ANY) == 0 ? 0 : -errno;
}

int xdp_change_source(struct xdp *xdp, uint16_t id, bool admit)
{
	uint32_t key = id;

	if (admit)
		return add_source(xdp, id);
	return bpf_map_delete_elem(xdp->sources_map, &key) == 0 ? 0 : -errno;
}

int xdp_change_address(struct xdp *xdp, uint32_t address, bool admit)
{
	const uint32_t key = htonl(address), value = 1;
	int result;

	pthread_mutex_lock(&xdp->lock);
	result = admit ? bpf_map_update_elem(xdp->addresses_map, &key, &value, BPF_NOEXIST)
		       : bpf_map_delete_elem(xdp->addresses_map, &key);
	if (result == 0) {
		xdp->n_addresses += admit ? 1 : -1u;
		// The program must not check addresses while the list is empty.
		xdp->settings.check_addresses = xdp->n_addresses > 0;
		result = bpf_map_update_elem(xdp->settings_map, &only, &xdp->settings, BPF_ANY);
	}
	if (result != 0)
		result = -errno;
	pthread_mutex_unlock(&xdp->lock);
	return result;
}

// Computes the sum of a counter over all CPUs.
static bool read_counter(const struct xdp *xdp, int map, uint32_t key, struct steer_counter *sum)
{
	struct steer_counter *each = calloc(xdp->n_cpus, sizeof(*each));
	bool found = each != NULL && bpf_map_lookup_elem(map, &key, each) == 0;

	*sum = (struct steer_counter){ 0 };
	for (unsigned i = 0; found && i < xdp->n_cpus; i++) {
		sum->packets += each[i].packets;
		sum->bytes += each[i].bytes;
	}
	free(each);
	return found;
}

// Packets lost because a ring was full, which DPDK's driver does not count as missed.
static uint64_t ring_full(const struct xdp *xdp)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < xdp->n_sockets; i++) {
		struct xdp_statistics statistics = { 0 };
		socklen_t size = sizeof(statistics);

		if (getsockopt(xdp->sockets[i], SOL_XDP, XDP_STATISTICS, &statistics, &size) == 0)
			sum += statistics.rx_ring_full;
	}
	return sum;
}

bool xdp_counters(const struct xdp *xdp, struct xdp_counters *counters)
{
	bool found = true;

	for (uint32_t cause = 0; cause < STEER_N_CAUSES; cause++)
		found &= read_counter(xdp, xdp->causes_map, cause, &counters->causes[cause]);
	counters->ring_full = ring_full(xdp);
	return found;
}

bool xdp_source_counter(const struct xdp *xdp, uint16_t id, struct steer_counter *counter)
{
	return read_counter(xdp, xdp->sources_map, id, counter);
}

unsigned xdp_strangers(const struct xdp *xdp, struct xdp_stranger *strangers, unsigned most)
{
	struct steer_stranger key, *previous = NULL;
	unsigned n = 0;

	while (n < most && bpf_map_get_next_key(xdp->strangers_map, previous, &key) == 0) {
		if (bpf_map_lookup_elem(xdp->strangers_map, &key, &strangers[n].packets) == 0) {
			strangers[n].address = ntohl(key.address);
			strangers[n].id = key.id;
			n++;
		}
		previous = &key;
	}
	return n;
}
