// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/xdp.h"

#include "port/xdp_interface.h"
#include "wire/feroce_cm.h"

static void add_ports(struct xdp_rules *rules, uint16_t first, uint16_t count, bool segments)
{
	if (rules->n_ranges < STEER_MAX_RANGES)
		rules->ranges[rules->n_ranges++] = (struct steer_range){
			.first = first,
			.count = count,
			.segments = segments,
		};
}

void xdp_rules_make(struct xdp_rules *rules, const struct config *config,
		    const struct config_port *port, uint32_t largest_frame)
{
	const struct config_transport *transport = &config->transport;

	*rules = (struct xdp_rules){
		.largest_frame = largest_frame,
		.ids = config->sources.ids,
		.n_ids = config->sources.n_ids,
	};
	switch (transport->kind) {
	case CONFIG_TRANSPORT_UDP:
		add_ports(rules, transport->udp_port, transport->udp_ports, true);
		break;
	case CONFIG_TRANSPORT_ETH:
		rules->ether_type = transport->ether_type;
		break;
	case CONFIG_TRANSPORT_ROCE:
		add_ports(rules, config->roce.udp_port, 1, false);
		if (config->roce.connection == ROCE_CONNECTION_FEROCE)
			add_ports(rules, FEROCE_CM_UDP_PORT, 1, false);
		break;
	}
	if (config->cluster.n_nodes > 0)
		add_ports(rules, config->event_manager.control_port, 1, false);
	// What the kernel has for its own, the kernel answers for.
	if (port->has_address && !interface_has_address(port->device, port->address))
		rules->own_address = port->address;
}

const char *xdp_cause_name(enum steer_cause cause)
{
	static const char *const names[STEER_N_CAUSES] = {
		[STEER_PASSED] = "passed",
		[STEER_REDIRECTED] = "redirected",
		[STEER_UNKNOWN_SOURCE] = "unknown_source",
		[STEER_UNKNOWN_ADDRESS] = "unknown_address",
		[STEER_TOO_LONG] = "too_long",
		[STEER_NO_SOCKET] = "no_socket",
	};

	return cause < STEER_N_CAUSES ? names[cause] : "unknown";
}
