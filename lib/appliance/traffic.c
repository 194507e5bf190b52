// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/traffic.h"

#include "wire/feroce_cm.h"

struct port_udp_range traffic_segment_ports(const struct config *config)
{
	const struct config_transport *transport = &config->transport;
	bool in_cluster = config->cluster.n_nodes > 0;

	if (transport->kind != CONFIG_TRANSPORT_UDP)
		return (struct port_udp_range){ 0 };
	return (struct port_udp_range){
		.first = transport->udp_port,
		.count = in_cluster ? (uint16_t)config->n_builders : transport->udp_ports,
		.segments = true,
	};
}

static void add_ports(struct port_traffic *traffic, struct port_udp_range range)
{
	if (range.count > 0)
		traffic->ranges[traffic->n_ranges++] = range;
}

void traffic_make(struct port_traffic *traffic, const struct config *config)
{
	const struct config_transport *transport = &config->transport;

	*traffic = (struct port_traffic){
		.ids = config->sources.ids,
		.n_ids = config->sources.n_ids,
		.control_priority = config->event_manager.control_priority,
		.control_dscp = config->event_manager.control_dscp,
	};
	add_ports(traffic, traffic_segment_ports(config));
	if (transport->kind == CONFIG_TRANSPORT_ETH)
		traffic->ether_type = transport->ether_type;
	if (transport->kind == CONFIG_TRANSPORT_ROCE) {
		add_ports(traffic, (struct port_udp_range){ config->roce.udp_port, 1, false });
		if (config->roce.connection == ROCE_CONNECTION_FEROCE)
			add_ports(traffic, (struct port_udp_range){ FEROCE_CM_UDP_PORT, 1, false });
	}
	if (config->cluster.n_nodes > 0)
		add_ports(traffic,
			  (struct port_udp_range){ config->event_manager.control_port, 1, false });
}
