// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/driver_sockets.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

int *open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	const struct dirent *entry;
	int *list = NULL;
	unsigned n = 0;

	if (directory == NULL)
		return NULL;
	while ((entry = readdir(directory)) != NULL) {
		int descriptor = atoi(entry->d_name);
		int *larger = reallocarray(list, n + 2, sizeof(*list));

		if (larger == NULL) {
			free(list);
			list = NULL;
			break;
		}
		list = larger;
		if (isdigit((unsigned char)entry->d_name[0]) && descriptor != dirfd(directory))
			list[n++] = descriptor;
		list[n] = -1;
	}
	closedir(directory);
	return list;
}

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
	int *list = open_descriptors();

	drops->n_sockets = 0;
	for (const int *at = list; at != NULL && *at >= 0; at++)
		if (index != 0 && drops->n_sockets < PACKET_DROPS_MOST && is_bound_to(*at, index))
			drops->sockets[drops->n_sockets++] = *at;
	free(list);
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
