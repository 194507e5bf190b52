// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The names of drivers' counters of pause frames. If a driver has one counter for all frames of a
// direction, they count as XOFF.
#include <string.h>

#include "port/pause_device.h"

// A name consists of a part before the digit of the priority and a part behind it.
static const struct {
	const char *before, *behind;
	enum pause_figure figure;
} names[] = {
	// mlx5 in the kernel (the driver of DPDK 22.11 has no counters per priority)
	{ "rx_prio", "_pause", PAUSE_XOFF_RECEIVED },
	{ "tx_prio", "_pause", PAUSE_XOFF_SENT },
	{ "rx_prio", "_pause_duration", PAUSE_PAUSED_US },
	{ "tx_prio", "_pause_duration", PAUSE_PAUSING_US },
	// ice in the kernel (the driver of DPDK 22.11 has no counters per priority)
	{ "rx_priority_", "_xoff.nic", PAUSE_XOFF_RECEIVED },
	{ "rx_priority_", "_xon.nic", PAUSE_XON_RECEIVED },
	{ "tx_priority_", "_xoff.nic", PAUSE_XOFF_SENT },
	{ "tx_priority_", "_xon.nic", PAUSE_XON_SENT },
	// i40e in the kernel
	{ "port.rx_priority_", "_xoff", PAUSE_XOFF_RECEIVED },
	{ "port.rx_priority_", "_xon", PAUSE_XON_RECEIVED },
	{ "port.tx_priority_", "_xoff", PAUSE_XOFF_SENT },
	{ "port.tx_priority_", "_xon", PAUSE_XON_SENT },
	// i40e and ixgbe in DPDK
	{ "rx_priority", "_xoff_packets", PAUSE_XOFF_RECEIVED },
	{ "rx_priority", "_xon_packets", PAUSE_XON_RECEIVED },
	{ "tx_priority", "_xoff_packets", PAUSE_XOFF_SENT },
	{ "tx_priority", "_xon_packets", PAUSE_XON_SENT },
	// bnxt in the kernel and in DPDK
	{ "rx_pfc_ena_frames_pri", "", PAUSE_XOFF_RECEIVED },
	{ "tx_pfc_ena_frames_pri", "", PAUSE_XOFF_SENT },
	{ "pfc_pri", "_rx_duration_us", PAUSE_PAUSED_US },
	{ "pfc_pri", "_tx_duration_us", PAUSE_PAUSING_US },
	// hns3 in DPDK
	{ "mac_rx_pfc_pri", "_pkt_num", PAUSE_XOFF_RECEIVED },
	{ "mac_tx_pfc_pri", "_pkt_num", PAUSE_XOFF_SENT },
};

bool pause_name_parse(const char *name, enum pause_figure *figure, unsigned *priority)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t before = strlen(names[i].before);
		char digit;

		if (strncmp(name, names[i].before, before) != 0)
			continue;
		digit = name[before];
		if (digit < '0' || digit > '7' || strcmp(name + before + 1, names[i].behind) != 0)
			continue;
		*figure = names[i].figure;
		*priority = (unsigned)(digit - '0');
		return true;
	}
	return false;
}
