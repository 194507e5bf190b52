// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/xdp_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT 9 // RFC 863

static int control_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int ask(const char *interface, unsigned long request, struct ifreq *answer)
{
	int result, control = control_socket();

	if (control < 0)
		return -1;
	snprintf(answer->ifr_name, sizeof(answer->ifr_name), "%s", interface);
	result = ioctl(control, request, answer);
	close(control);
	return result;
}

uint32_t interface_mtu(const char *interface)
{
	struct ifreq answer = { 0 };

	return ask(interface, SIOCGIFMTU, &answer) == 0 ? (uint32_t)answer.ifr_mtu : 0;
}

unsigned interface_rx_queues(const char *interface)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq answer = { .ifr_data = (void *)&channels };
	unsigned queues;

	if (ask(interface, SIOCETHTOOL, &answer) != 0)
		return 1;
	queues = channels.combined_count + channels.rx_count;
	return queues > 0 ? queues : 1;
}

bool interface_has_address(const char *interface, uint32_t address)
{
	struct ifaddrs *list;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *entry = list; entry != NULL && !found; entry = entry->ifa_next) {
		struct sockaddr_in own;

		if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != AF_INET ||
		    strcmp(entry->ifa_name, interface) != 0)
			continue;
		memcpy(&own, entry->ifa_addr, sizeof(own));
		found = ntohl(own.sin_addr.s_addr) == address;
	}
	freeifaddrs(list);
	return found;
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
	else // the datagram itself does not matter: sending one makes the kernel ask
		(void)sendto(control, "", 0, MSG_DONTWAIT, (const struct sockaddr *)&to,
			     sizeof(to));
	close(control);
	return found;
}
