// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// AF_XDP ports that evb's BPF program steers, and the fates of the packets of their interfaces.
// port/xdp_telemetry.h has the commands for single sources.
#include "telemetry/group.h"

#include "port/af_xdp.h"
#include "port/xdp.h"

struct xdp_view {
	const char *name, *mode;
	uint64_t zero_copy;
};

static const struct metric xdp_metrics[] = {
	TEXT("name", xdp_view, name, "name of the port"),
	TEXT("mode", xdp_view, mode, "where the program runs: native, generic or offloaded"),
	GAUGE("zero_copy", xdp_view, zero_copy,
	      "1 if the interface writes into the port's buffers, 0 if the kernel copies"),
	{ 0 },
};

#define FATE(key, cause, help_)                                                         \
	COUNTER(key "_packets", xdp_counters, causes[cause].packets, "packets " help_), \
	    COUNTER(key "_bytes", xdp_counters, causes[cause].bytes, "bytes of packets " help_)

static const struct metric xdp_fates[] = {
	FATE("passed", STEER_PASSED, "left to the kernel"),
	FATE("redirected", STEER_REDIRECTED, "given to the port"),
	FATE("unknown_source", STEER_UNKNOWN_SOURCE, "dropped: the source is not admitted"),
	FATE("unknown_address", STEER_UNKNOWN_ADDRESS, "dropped: the address is not admitted"),
	FATE("too_long", STEER_TOO_LONG, "dropped: longer than the buffers of the port"),
	FATE("no_socket", STEER_NO_SOCKET, "dropped: on a receive queue that evb does not read"),
	COUNTER("ring_full_packets", xdp_counters, ring_full,
		"packets for the port that found no buffer and were lost"),
	{ 0 },
};

// The steering number `index`, and the port that it belongs to; NULL if there is none.
static const struct xdp *find(const struct appliance *appliance, unsigned index, unsigned *port)
{
	for (unsigned i = 0; i < appliance->n_ports; i++) {
		const struct xdp *xdp = af_xdp_steering(&appliance->ports[i]);

		if (xdp == NULL || index-- > 0)
			continue;
		*port = i;
		return xdp;
	}
	return NULL;
}

// If memory for reading the counters is short, the response lacks them.
static void view_port(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct xdp_counters counters;
	static _Thread_local struct xdp_view view;
	unsigned port = 0;
	const struct xdp *xdp = find(appliance, index, &port);

	if (xdp == NULL)
		return;
	view = (struct xdp_view){
		.name = appliance->ports[port].config->name,
		.mode = xdp_mode(xdp),
		.zero_copy = xdp->zero_copy,
	};
	bases[0] = &view;
	bases[1] = xdp_counters(xdp, &counters) ? &counters : NULL;
}

const struct telemetry_group telemetry_xdp = {
	.name = "xdp",
	.things = "ports that are steered by XDP",
	.help = "Steering of a port: mode, what became of the packets of its interface",
	.note = "[ports.md](ports.md#looking-and-changing-while-it-runs) has the commands for "
		"single sources,\n"
		"and the sum that holds.",
	.tables = { xdp_metrics, xdp_fates },
	.view = view_port,
};
