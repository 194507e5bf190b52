// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/pause_device.h"

#include <stdlib.h>

#include <rte_ethdev.h>

#define NS_PER_US 1000u

// Finds the kernel's interface of the port, or the one below the port; empty if there is none.
static void find_interface(struct pause_device *device)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(device->port_id, &info) == 0 && info.if_index != 0 &&
	    if_indextoname(info.if_index, device->interface) == NULL)
		device->interface[0] = '\0';
}

static void add_statistic(struct pause_device *device, const char *name, uint64_t id)
{
	enum pause_figure figure;
	unsigned priority;

	if (device->n_statistics == PAUSE_DEVICE_MOST ||
	    !pause_name_parse(name, &figure, &priority))
		return;
	device->statistics[device->n_statistics].id = id;
	device->statistics[device->n_statistics].figure = (uint8_t)figure;
	device->statistics[device->n_statistics].priority = (uint8_t)priority;
	device->n_statistics++;
}

static void find_xstats(struct pause_device *device)
{
	int n = rte_eth_xstats_get_names(device->port_id, NULL, 0);
	struct rte_eth_xstat_name *names;

	if (n <= 0)
		return;
	names = calloc((size_t)n, sizeof(*names));
	if (names == NULL)
		return; // these counters stay 0
	if (rte_eth_xstats_get_names(device->port_id, names, (unsigned)n) == n)
		for (int i = 0; i < n; i++)
			add_statistic(device, names[i].name, (uint64_t)i);
	free(names);
}

static void find_ethtool(struct pause_device *device)
{
	if (device->interface[0] == '\0' ||
	    interface_stats_open(&device->ethtool, device->interface) != 0)
		return;
	for (uint32_t i = 0; i < device->ethtool.n; i++)
		add_statistic(device, device->ethtool.names[i], i);
	if (device->n_statistics == 0)
		interface_stats_close(&device->ethtool);
}

static void put(struct pause_device *device, unsigned priority, enum pause_figure figure,
		uint64_t value)
{
	uint64_t since = value - device->base[priority][figure];

	atomic_store_explicit(&device->since[priority][figure], since, memory_order_relaxed);
}

static void read_dcb(struct pause_device *device)
{
	struct dcb_pfc pfc;

	if (!dcb_pfc_get(device->interface, &pfc))
		return;
	for (unsigned i = 0; i < PFC_PRIORITIES; i++) {
		put(device, i, PAUSE_XOFF_SENT, pfc.sent[i]);
		put(device, i, PAUSE_XOFF_RECEIVED, pfc.received[i]);
	}
}

static void read_xstats(struct pause_device *device)
{
	for (unsigned i = 0; i < device->n_statistics; i++) {
		uint64_t value;

		if (rte_eth_xstats_get_by_id(device->port_id, &device->statistics[i].id, &value,
					     1) == 1)
			put(device, device->statistics[i].priority,
			    (enum pause_figure)device->statistics[i].figure, value);
	}
}

static void read_ethtool(struct pause_device *device)
{
	if (interface_stats_read(&device->ethtool, device->interface) != 0)
		return;
	for (unsigned i = 0; i < device->n_statistics; i++)
		put(device, device->statistics[i].priority,
		    (enum pause_figure)device->statistics[i].figure,
		    device->ethtool.values[device->statistics[i].id]);
}

void pause_device_read(struct pause_device *device)
{
	switch (device->source) {
	case PAUSE_DEVICE_ETHTOOL:
		read_ethtool(device);
		break;
	case PAUSE_DEVICE_XSTATS:
		read_xstats(device);
		break;
	case PAUSE_DEVICE_DCB:
		read_dcb(device);
		break;
	case PAUSE_DEVICE_NONE:
		break;
	}
}

static enum pause_device_source find_source(struct pause_device *device)
{
	find_ethtool(device);
	if (device->n_statistics > 0)
		return PAUSE_DEVICE_ETHTOOL;
	find_xstats(device);
	if (device->n_statistics > 0)
		return PAUSE_DEVICE_XSTATS;
	return device->kernel_knows ? PAUSE_DEVICE_DCB : PAUSE_DEVICE_NONE;
}

void pause_device_open(struct pause_device *device, uint16_t port_id)
{
	struct dcb_pfc pfc;

	memset(device, 0, sizeof(*device));
	device->port_id = port_id;
	find_interface(device);
	device->kernel_knows = device->interface[0] != '\0' && dcb_pfc_get(device->interface, &pfc);
	if (device->kernel_knows)
		device->kernel_priorities = pfc.enabled;
	device->source = find_source(device);
	pause_device_read(device);
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		for (unsigned figure = 0; figure < PAUSE_N_FIGURES; figure++)
			device->base[i][figure] = atomic_exchange(&device->since[i][figure], 0);
}

void pause_device_close(struct pause_device *device)
{
	interface_stats_close(&device->ethtool);
	device->source = PAUSE_DEVICE_NONE;
}

static uint64_t figure_of(const struct pause_device *device, unsigned priority,
			  enum pause_figure figure)
{
	return atomic_load_explicit(&device->since[priority % PFC_PRIORITIES][figure],
				    memory_order_relaxed);
}

void pause_device_counters(const struct pause_device *device, unsigned priority,
			   struct pause_counters *counters)
{
	*counters = (struct pause_counters){
		.xoff_sent = figure_of(device, priority, PAUSE_XOFF_SENT),
		.xon_sent = figure_of(device, priority, PAUSE_XON_SENT),
		.xoff_received = figure_of(device, priority, PAUSE_XOFF_RECEIVED),
		.xon_received = figure_of(device, priority, PAUSE_XON_RECEIVED),
		.paused_ns = figure_of(device, priority, PAUSE_PAUSED_US) * NS_PER_US,
		.pausing_ns = figure_of(device, priority, PAUSE_PAUSING_US) * NS_PER_US,
	};
}
