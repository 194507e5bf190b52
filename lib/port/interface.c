// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/interface.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT 9 // RFC 863
#define MOST_STATS   65536u
#define BITS_PER_MEG UINT64_C(1000000)
#define PCI_SIZE     16 // "0000:3b:00.0"

_Static_assert(INTERFACE_STAT_NAME_SIZE == ETH_GSTRING_LEN, "names as ethtool has them");
_Static_assert(INTERFACE_NAME_SIZE == IFNAMSIZ, "names as the kernel has them");

static int control_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

int interface_ask(const char *interface, unsigned long request, struct ifreq *ifr)
{
	int result, control = control_socket();

	if (control < 0)
		return -errno;
	// A name that is cut off could be that of another interface.
	if (snprintf(ifr->ifr_name, sizeof(ifr->ifr_name), "%s", interface) >= IFNAMSIZ)
		result = -ENODEV;
	else
		result = ioctl(control, request, ifr) == 0 ? 0 : -errno;
	close(control);
	return result;
}

int interface_ask_ethtool(const char *interface, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	return interface_ask(interface, SIOCETHTOOL, &ifr);
}

uint32_t interface_mtu(const char *interface)
{
	struct ifreq ifr = { 0 };

	return interface_ask(interface, SIOCGIFMTU, &ifr) == 0 ? (uint32_t)ifr.ifr_mtu : 0;
}

uint64_t interface_link_rate(const char *interface)
{
	// Newer than this request is one that reports all modes of a link, in two steps.
	struct ethtool_cmd settings = { .cmd = ETHTOOL_GSET };
	uint32_t megabits;

	if (interface_ask_ethtool(interface, &settings) != 0)
		return 0;
	megabits = ethtool_cmd_speed(&settings);
	return megabits == (uint32_t)SPEED_UNKNOWN ? 0 : megabits * BITS_PER_MEG;
}

bool interface_is_veth(const char *interface)
{
	struct ethtool_drvinfo information = { .cmd = ETHTOOL_GDRVINFO };

	return interface_ask_ethtool(interface, &information) == 0 &&
	       strcmp(information.driver, "veth") == 0;
}

// The first interface of a PCI device; a device with several has them by its ports.
static bool interface_of_pci(const char *device, char name[INTERFACE_NAME_SIZE])
{
	char path[sizeof("/sys/bus/pci/devices//net") + PCI_SIZE];
	const struct dirent *entry;
	DIR *folder;

	if (strlen(device) >= PCI_SIZE || strchr(device, '/') != NULL)
		return false;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/net", device);
	folder = opendir(path);
	if (folder == NULL)
		return false;
	while ((entry = readdir(folder)) != NULL && entry->d_name[0] == '.')
		;
	if (entry != NULL)
		snprintf(name, INTERFACE_NAME_SIZE, "%.*s", INTERFACE_NAME_SIZE - 1, entry->d_name);
	closedir(folder);
	return entry != NULL;
}

bool interface_of_device(const char *device, char name[INTERFACE_NAME_SIZE])
{
	if (device[0] != '\0' && interface_mtu(device) != 0) {
		snprintf(name, INTERFACE_NAME_SIZE, "%s", device);
		return true;
	}
	return device[0] != '\0' && interface_of_pci(device, name);
}

unsigned interface_rx_queues(const char *interface)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	unsigned queues;

	if (interface_ask_ethtool(interface, &channels) != 0)
		return 1;
	queues = channels.combined_count + channels.rx_count;
	return queues > 0 ? queues : 1;
}

// The entry of an IPv4 address may have a label instead of the interface's name: "eth0:label".
static bool is_on(const struct ifaddrs *entry, const char *interface)
{
	size_t length = strlen(interface);

	return strncmp(entry->ifa_name, interface, length) == 0 &&
	       (entry->ifa_name[length] == '\0' || entry->ifa_name[length] == ':');
}

// Whether an entry is this address. `address` has `size` bytes in wire order.
static bool has_bytes(const struct sockaddr *entry, int family, const void *address, size_t size)
{
	size_t offset = family == AF_INET ? offsetof(struct sockaddr_in, sin_addr)
					  : offsetof(struct sockaddr_in6, sin6_addr);

	return entry != NULL && entry->sa_family == family &&
	       memcmp((const uint8_t *)entry + offset, address, size) == 0;
}

static bool has_address(const char *interface, int family, const void *address, size_t size)
{
	struct ifaddrs *list;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *entry = list; entry != NULL && !found; entry = entry->ifa_next)
		found =
		    is_on(entry, interface) && has_bytes(entry->ifa_addr, family, address, size);
	freeifaddrs(list);
	return found;
}

bool interface_has_address(const char *interface, uint32_t address)
{
	const uint32_t wire = htonl(address);

	return has_address(interface, AF_INET, &wire, sizeof(wire));
}

bool interface_has_address6(const char *interface, const uint8_t address[16])
{
	return has_address(interface, AF_INET6, address, 16);
}

bool interface_neighbour(const char *interface, uint32_t address, uint8_t mac[6])
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(DISCARD_PORT),
		.sin_addr.s_addr = htonl(address),
	};
	struct arpreq entry = { 0 };
	int control = control_socket();
	bool found;

	if (control < 0)
		return false;
	memcpy(&entry.arp_pa, &to, sizeof(to));
	snprintf(entry.arp_dev, sizeof(entry.arp_dev), "%s", interface);
	found = ioctl(control, SIOCGARP, &entry) == 0 && (entry.arp_flags & ATF_COM) != 0;
	if (found)
		memcpy(mac, entry.arp_ha.sa_data, 6);
	else // sending any datagram makes the kernel send an ARP request
		(void)sendto(control, "", 0, MSG_DONTWAIT, (const struct sockaddr *)&to,
			     sizeof(to));
	close(control);
	return found;
}

int interface_promiscuous(const char *interface)
{
	struct packet_mreq membership = {
		.mr_ifindex = (int)if_nametoindex(interface),
		.mr_type = PACKET_MR_PROMISC,
	};
	int file = membership.mr_ifindex != 0 ? socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;

	if (file >= 0 && setsockopt(file, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership,
				    sizeof(membership)) != 0) {
		close(file);
		file = -1;
	}
	return file;
}

// The present number of statistics.
static uint32_t count_stats(const char *interface)
{
	// The structure ends in an array, of which the kernel fills one element.
	uint64_t bytes[(sizeof(struct ethtool_sset_info) + sizeof(uint32_t) + 7) / 8] = { 0 };
	struct ethtool_sset_info *query = (struct ethtool_sset_info *)bytes;

	query->cmd = ETHTOOL_GSSET_INFO;
	query->sset_mask = 1ull << ETH_SS_STATS;
	if (interface_ask_ethtool(interface, query) != 0 || query->sset_mask == 0 ||
	    query->data[0] > MOST_STATS)
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
	result = interface_ask_ethtool(interface, query);
	if (result == 0 && query->len == stats->n)
		memcpy(stats->names, query->data, (size_t)stats->n * ETH_GSTRING_LEN);
	for (uint32_t i = 0; i < stats->n; i++)
		stats->names[i][INTERFACE_STAT_NAME_SIZE - 1] = '\0';
	free(query);
	return result;
}

int interface_stats_open(struct interface_stats *stats, const char *interface)
{
	*stats = (struct interface_stats){ .n = count_stats(interface) };
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
	struct ethtool_stats *query;
	int result;

	// The kernel writes all its present statistics, and ignores the room that the request
	// states.
	if (count_stats(interface) != stats->n)
		return -1;
	query = calloc(1, sizeof(*query) + size);
	if (query == NULL)
		return -1;
	query->cmd = ETHTOOL_GSTATS;
	query->n_stats = stats->n;
	result = interface_ask_ethtool(interface, query);
	if (result == 0 && query->n_stats == stats->n)
		memcpy(stats->values, query->data, size);
	free(query);
	return result;
}

void interface_stats_close(struct interface_stats *stats)
{
	free(stats->names);
	free(stats->values);
	*stats = (struct interface_stats){ 0 };
}
