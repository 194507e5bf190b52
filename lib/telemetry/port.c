// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include <stdatomic.h>
#include <stdio.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

struct port_view {
	const char *name, *profile, *driver, *device;
	uint64_t id, numa_node, mtu, rx_queues, tx_queues, link_up, link_megabits, pool_mbufs,
	    pool_free, pool_free_lowest;
	struct rte_eth_stats stats;
	char mac[18];
};

static const struct metric port_metrics[] = {
	TEXT("name", port_view, name, "name of the port"),
	TEXT("profile", port_view, profile, "driver profile as configured"),
	TEXT("driver", port_view, driver, "driver in DPDK"),
	TEXT("device", port_view, device, "device as configured, or none"),
	TEXT("mac", port_view, mac, "Ethernet address"),
	NUMBER("id", port_view, id, "DPDK's number, for /ethdev/info and /ethdev/xstats"),
	NUMBER("numa_node", port_view, numa_node, "NUMA node of the port's memory"),
	GAUGE("mtu_bytes", port_view, mtu, "largest payload of an Ethernet frame"),
	GAUGE("rx_queues", port_view, rx_queues, "receive queues"),
	GAUGE("tx_queues", port_view, tx_queues, "transmit queues"),
	GAUGE("link_up", port_view, link_up, "1 if the link is up"),
	GAUGE("link_megabits", port_view, link_megabits, "link speed, 0 if unknown"),
	GAUGE("pool_mbufs", port_view, pool_mbufs, "receive buffers"),
	GAUGE("pool_free", port_view, pool_free,
	      "free receive buffers, with those in caches of lcores"),
	GAUGE("pool_free_lowest", port_view, pool_free_lowest,
	      "fewest free receive buffers since the start, sampled at 10 Hz"),
	COUNTER("rx_packets", port_view, stats.ipackets, "packets received, as the driver counts"),
	COUNTER("rx_bytes", port_view, stats.ibytes,
		"bytes of packets received, as the driver counts"),
	COUNTER("rx_missed", port_view, stats.imissed,
		"packets lost because no descriptor was free, also in the kernel"),
	COUNTER("rx_no_buffer", port_view, stats.rx_nombuf,
		"packets for which the pool had no buffer"),
	COUNTER("rx_errors", port_view, stats.ierrors, "packets received with errors"),
	COUNTER("tx_packets", port_view, stats.opackets, "packets sent, as the driver counts"),
	COUNTER("tx_bytes", port_view, stats.obytes, "bytes of packets sent, as the driver counts"),
	COUNTER("tx_errors", port_view, stats.oerrors, "packets that the driver failed to send"),
	{ 0 },
};

// A counter that the driver does not have stays 0.
static void add_driver_counters(struct port_view *view, const struct port *port)
{
	struct rte_eth_link link = { 0 };
	bool known = rte_eth_link_get_nowait(port->id, &link) == 0 &&
		     link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;

	(void)rte_eth_stats_get(port->id, &view->stats);
	view->stats.imissed += port_kernel_drops(port);
	view->link_up = link.link_status == RTE_ETH_LINK_UP;
	view->link_megabits = known ? link.link_speed : 0;
}

static void view_port(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct port_view view;
	const struct port *port = &appliance->ports[index];
	const uint8_t *mac = port->mac;

	view = (struct port_view){
		.name = port->config->name,
		.profile = port->config->profile,
		.driver = port->profile->driver,
		.device = port->config->device[0] != '\0' ? port->config->device : "none",
		.id = port->id,
		.numa_node = (uint64_t)port->numa_node,
		.mtu = port->config->mtu,
		.rx_queues = port->n_rx_queues,
		.tx_queues = port->n_tx_queues,
		.pool_mbufs = port->pool->size,
		.pool_free = rte_mempool_avail_count(port->pool),
		.pool_free_lowest = atomic_load_explicit(&port->pool_lowest, memory_order_relaxed),
	};
	snprintf(view.mac, sizeof(view.mac), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
		 mac[2], mac[3], mac[4], mac[5]);
	add_driver_counters(&view, port);
	bases[0] = &view;
}

const struct telemetry_group telemetry_port = {
	.name = "port",
	.things = "ports",
	.help = "A port: device, buffers, and what its driver counts",
	.note =
	    "Drivers differ in what they count: drivers in memory count no bytes, and some do "
	    "not count\n"
	    "missed packets. `/ethdev/xstats,ID` has all counters of a driver, and not what the "
	    "kernel\n"
	    "lost before it (af_packet, af_xdp): `rx_missed` has both.",
	.tables = { port_metrics },
	.view = view_port,
};
