// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/system.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>

#include "port/dcb.h"
#include "port/interface.h"

static void read_driver(const char *interface, struct host_link *link)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	unsigned domain, bus, device, function;

	if (interface_ask_ethtool(interface, &info) != 0)
		return;
	snprintf(link->driver, sizeof(link->driver), "%s", info.driver);
	if (sscanf(info.bus_info, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4)
		snprintf(link->bus, sizeof(link->bus), "%s", info.bus_info);
}

// The flags show a carrier only some time after the link has come up.
static bool has_carrier(const char *interface, const struct ifreq *flags)
{
	struct ethtool_value value = { .cmd = ETHTOOL_GLINK };

	if (interface_ask_ethtool(interface, &value) == 0)
		return value.data != 0;
	return (flags->ifr_flags & IFF_RUNNING) != 0;
}

static void read_queues(const char *interface, struct host_link *link)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };

	link->has_channels = interface_ask_ethtool(interface, &channels) == 0;
	link->channels.combined = channels.combined_count;
	link->channels.rx = channels.rx_count;
	link->has_rings = interface_ask_ethtool(interface, &rings) == 0 && rings.rx_max_pending > 0;
	link->rx_ring = rings.rx_pending;
	link->most_rx_ring = rings.rx_max_pending;
}

bool host_link_read(const char *interface, struct host_link *link)
{
	struct ifreq answer = { 0 };
	struct dcb_pfc pfc;

	*link = (struct host_link){ 0 };
	if (interface_ask(interface, SIOCGIFFLAGS, &answer) != 0)
		return false;
	link->up = (answer.ifr_flags & IFF_UP) != 0;
	link->running = has_carrier(interface, &answer);
	link->mtu = interface_mtu(interface);
	read_driver(interface, link);
	read_queues(interface, link);
	link->has_pfc = dcb_pfc_get(interface, &pfc);
	link->pfc = link->has_pfc ? pfc.enabled : 0;
	return true;
}

uint32_t host_link_queues(const struct host_link *link)
{
	uint32_t queues = link->channels.combined + link->channels.rx;

	return link->has_channels && queues > 0 ? queues : 1;
}

int host_link_set_mtu(const char *interface, uint32_t mtu)
{
	struct ifreq request = { .ifr_mtu = (int)mtu };

	return interface_ask(interface, SIOCSIFMTU, &request);
}

int host_link_set_up(const char *interface, bool up)
{
	struct ifreq request = { 0 };
	int result = interface_ask(interface, SIOCGIFFLAGS, &request);

	if (result != 0)
		return result;
	request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	return interface_ask(interface, SIOCSIFFLAGS, &request);
}

int host_link_set_channels(const char *interface, bool combined, uint32_t channels)
{
	struct ethtool_channels request = { .cmd = ETHTOOL_GCHANNELS };
	int result = interface_ask_ethtool(interface, &request);

	if (result != 0)
		return result;
	request.cmd = ETHTOOL_SCHANNELS;
	if (combined)
		request.combined_count = channels;
	else
		request.rx_count = channels;
	return interface_ask_ethtool(interface, &request);
}

int host_link_set_rx_ring(const char *interface, uint32_t descriptors)
{
	struct ethtool_ringparam request = { .cmd = ETHTOOL_GRINGPARAM };
	int result = interface_ask_ethtool(interface, &request);

	if (result != 0)
		return result;
	request.cmd = ETHTOOL_SRINGPARAM;
	request.rx_pending = descriptors;
	return interface_ask_ethtool(interface, &request);
}
