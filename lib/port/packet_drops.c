// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/packet_drops.h"

#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

static bool is_bound_to(int descriptor, unsigned interface)
{
	struct sockaddr_ll address = { 0 };
	socklen_t length = sizeof(address);

	return getsockname(descriptor, (struct sockaddr *)&address, &length) == 0 &&
	       address.sll_family == AF_PACKET && (unsigned)address.sll_ifindex == interface;
}

void packet_drops_find(struct packet_drops *drops, const char *interface)
{
	unsigned index = if_nametoindex(interface);
	DIR *open_files = opendir("/proc/self/fd");
	struct dirent *entry;

	drops->n_sockets = 0;
	if (open_files == NULL)
		return; // without /proc these losses are not counted
	while (index != 0 && (entry = readdir(open_files)) != NULL) {
		int descriptor =
		    atoi(entry->d_name); // "." and ".." become 0, which is no packet socket

		if (drops->n_sockets < PACKET_DROPS_MOST && is_bound_to(descriptor, index))
			drops->sockets[drops->n_sockets++] = descriptor;
	}
	closedir(open_files);
}

uint64_t packet_drops_take(const struct packet_drops *drops)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < drops->n_sockets; i++) {
		struct tpacket_stats statistics = { 0 };
		socklen_t length = sizeof(statistics);

		if (getsockopt(drops->sockets[i], SOL_PACKET, PACKET_STATISTICS, &statistics,
			       &length) == 0)
			sum += statistics.tp_drops;
	}
	return sum;
}
