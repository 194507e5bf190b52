// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/interface_stats.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_STATS 65536u

_Static_assert(INTERFACE_STAT_NAME_SIZE == ETH_GSTRING_LEN, "names as ethtool has them");

static int ask(const char *interface, void *command)
{
	int channel = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), result;
	struct ifreq request = { .ifr_data = command };

	if (channel < 0)
		return -1;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	result = ioctl(channel, SIOCETHTOOL, &request);
	close(channel);
	return result;
}

// The present number of statistics.
static uint32_t count(const char *interface)
{
	// The structure ends in an array, of which the kernel fills one element.
	uint64_t bytes[(sizeof(struct ethtool_sset_info) + sizeof(uint32_t) + 7) / 8] = { 0 };
	struct ethtool_sset_info *query = (struct ethtool_sset_info *)bytes;

	query->cmd = ETHTOOL_GSSET_INFO;
	query->sset_mask = 1ull << ETH_SS_STATS;
	if (ask(interface, query) != 0 || query->sset_mask == 0 || query->data[0] > MOST_STATS)
		return 0;
	return query->data[0];
}

static int read_names(struct interface_stats *stats, const char *interface)
{
	struct ethtool_gstrings *query =
	    calloc(1, sizeof(*query) + (size_t)stats->n * ETH_GSTRING_LEN);
	int result;

	if (query == NULL)
		return -1;
	query->cmd = ETHTOOL_GSTRINGS;
	query->string_set = ETH_SS_STATS;
	query->len = stats->n;
	result = ask(interface, query);
	if (result == 0 && query->len == stats->n)
		memcpy(stats->names, query->data, (size_t)stats->n * ETH_GSTRING_LEN);
	for (uint32_t i = 0; i < stats->n; i++)
		stats->names[i][INTERFACE_STAT_NAME_SIZE - 1] = '\0';
	free(query);
	return result;
}

int interface_stats_open(struct interface_stats *stats, const char *interface)
{
	*stats = (struct interface_stats){ .n = count(interface) };
	if (stats->n == 0)
		return -1;
	stats->names = calloc(stats->n, sizeof(*stats->names));
	stats->values = calloc(stats->n, sizeof(*stats->values));
	if (stats->names != NULL && stats->values != NULL && read_names(stats, interface) == 0 &&
	    interface_stats_read(stats, interface) == 0)
		return 0;
	interface_stats_close(stats);
	return -1;
}

int interface_stats_read(struct interface_stats *stats, const char *interface)
{
	size_t size = stats->n * sizeof(stats->values[0]);
	struct query_all {
		struct query_header {
			uint32_t command;
			uint32_t n;
		} header;
		uint64_t values[];
	} * query;
	int result;

	// The kernel writes all its present statistics, and ignores the room that the request
	// states.
	if (count(interface) != stats->n)
		return -1;
	query = calloc(1, sizeof(*query) + size);
	if (query == NULL)
		return -1;
	query->header.command = ETHTOOL_GSTATS;
	query->header.n = stats->n;
	result = ask(interface, query);
	if (result == 0 && query->header.n == stats->n)
		memcpy(stats->values, query->values, size);
	free(query);
	return result;
}

void interface_stats_close(struct interface_stats *stats)
{
	free(stats->names);
	free(stats->values);
	*stats = (struct interface_stats){ 0 };
}
