// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The ports of an appliance: their traffic, opening and closing, flow control.
#include <string.h>

#include <rte_cycles.h>

#include "appliance/parts.h"
#include "base/counter.h"
#include "port/unmap_guard.h"
#include "wire/feroce_cm.h"

#define LOOK_US 20 // between two looks at an lcore that may be in a burst

// NULL: no boards send to the port.
static const struct config_listen *listen_of(const struct config *config, unsigned port)
{
	unsigned listener = config_listener(config, port);

	return listener < config->n_generators ? &config->generators[listener].listen : NULL;
}

struct port_udp_range traffic_segment_ports(const struct config *config, unsigned port)
{
	const struct config_transport *transport = &config->transport;
	const struct config_listen *listen = listen_of(config, port);
	bool in_cluster = config->cluster.n_nodes > 0;

	if (listen != NULL)
		return (struct port_udp_range){
			.first = listen->udp_port,
			.count = listen->has_ether_type || listen->roce ? 0 : listen->udp_ports,
			.segments = true,
		};
	if (transport->kind != CONFIG_TRANSPORT_UDP)
		return (struct port_udp_range){ 0 };
	return (struct port_udp_range){
		.first = transport->udp_port,
		.count = in_cluster ? (uint16_t)config->n_builders : transport->udp_ports,
		.segments = true,
	};
}

uint16_t traffic_ether_type(const struct config *config, unsigned port)
{
	const struct config_listen *listen = listen_of(config, port);

	if (listen != NULL)
		return listen->has_ether_type && !listen->roce ? listen->ether_type : 0;
	return config->transport.kind == CONFIG_TRANSPORT_ETH ? config->transport.ether_type : 0;
}

static void add_ports(struct port_traffic *traffic, struct port_udp_range range)
{
	if (range.count > 0)
		traffic->ranges[traffic->n_ranges++] = range;
}

void traffic_make(struct port_traffic *traffic, const struct config *config, unsigned port)
{
	*traffic = (struct port_traffic){
		.ids = config->sources.ids,
		.n_ids = config->sources.n_ids,
		.control_priority = config->event_manager.control_priority,
		.control_dscp = config->event_manager.control_dscp,
		.ether_type = traffic_ether_type(config, port),
	};
	add_ports(traffic, traffic_segment_ports(config, port));
	if (config_has_roce(config, port)) {
		add_ports(traffic, (struct port_udp_range){ config->roce.udp_port, 1, false });
		if (config->roce.connection == ROCE_CONNECTION_FEROCE)
			add_ports(traffic, (struct port_udp_range){ FEROCE_CM_UDP_PORT, 1, false });
	}
	if (config->cluster.n_nodes > 0 && !config_is_for_boards(config, port))
		add_ports(traffic,
			  (struct port_udp_range){ config->event_manager.control_port, 1, false });
}

struct flow_control *appliance_flow_control(struct appliance *appliance, unsigned port)
{
	return appliance->config->ports[port].flow_control.mode != FLOW_CONTROL_OFF
		   ? &appliance->flow_controls[port]
		   : NULL;
}

static int open_flow_control(struct appliance *appliance, unsigned index, char *error)
{
	const struct port_settings *config = &appliance->config->ports[index];
	const struct flow_control_settings *wanted = &config->flow_control;
	const struct port *port = &appliance->ports[index];
	unsigned rx = plan_role_of(appliance->plan, CONFIG_ROLE_RX, index);
	struct flow_control_parameters parameters = {
		.port_name = config->name,
		.port_id = port->id,
		.tx_queue = rx != PLAN_NONE ? appliance->plan->roles[rx].tx_queue : -1,
		.numa_node = port->numa_node,
		.mode = wanted->mode,
		.pause = {
			.priority = wanted->priority,
			.high_water = (uint32_t)(wanted->high_water * PAUSE_FULL),
			.low_water = (uint32_t)(wanted->low_water * PAUSE_FULL),
			.quanta = wanted->pause_time,
			.bits_per_second = port_link_rate(port),
			.ticks_per_second = rte_get_tsc_hz(),
		},
	};
	char cause[FLOW_CONTROL_TEXT_SIZE];

	memcpy(parameters.mac, port->mac, sizeof(parameters.mac));
	if (flow_control_open(&appliance->flow_controls[index], &parameters, cause) != 0)
		return appliance_fail(error, "ports[%u].flow_control: %s", index, cause);
	return 0;
}

// Returns when no lcore is in the middle of a burst that began before the call.
static void wait_for_lcores(void *context)
{
	const struct appliance *appliance = context;

	for (unsigned i = 0; i < appliance->plan->n_lcores; i++) {
		const struct lcore *lcore = &appliance->lcores[i];
		const uint64_t loops = counter_read(&lcore->counters.loops);

		while (atomic_load(&lcore->running) &&
		       counter_read(&lcore->counters.loops) == loops)
			rte_delay_us_sleep(LOOK_US);
	}
}

int ports_open(struct appliance *appliance, char *error)
{
	unmap_guard_set(wait_for_lcores, appliance);
	for (unsigned i = 0; i < appliance->config->n_ports; i++) {
		const struct plan_port *plan = &appliance->plan->ports[i];
		struct port_traffic traffic;
		struct port_parameters parameters = {
			.config = &appliance->config->ports[i],
			.profile = &plan->profile,
			.traffic = &traffic,
			.n_rx_queues = plan->n_rx_queues,
			.n_tx_queues = plan->n_tx_queues,
			.pool_mbufs = plan->pool_mbufs,
			.pool_cache = PLAN_POOL_CACHE,
		};

		traffic_make(&traffic, appliance->config, i);
		appliance->n_ports++;
		if (port_open(&appliance->ports[i], &parameters, error) != 0 ||
		    (appliance_flow_control(appliance, i) != NULL &&
		     open_flow_control(appliance, i, error) != 0))
			return -1;
		if (parameters.config->link_rate_is_auto &&
		    port_link_rate(&appliance->ports[i]) == 0)
			notice(appliance,
			       "ports[%u].link_rate: %s does not report a rate for auto: what "
			       "is sent over the link is not paced",
			       i, parameters.config->device);
		if (appliance->ports[i].report[0] != '\0')
			notice(appliance, "%s", appliance->ports[i].report);
	}
	return 0;
}

void ports_close(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->n_ports; i++)
		if (appliance_flow_control(appliance, i) != NULL)
			flow_control_stop(&appliance->flow_controls[i]);
	for (unsigned i = appliance->n_ports; i-- > 0;) {
		appliance->ports[i].pool = NULL; // it stays, see appliance_stop()
		port_close(&appliance->ports[i]);
	}
	for (unsigned i = 0; i < appliance->n_ports; i++)
		if (appliance_flow_control(appliance, i) != NULL)
			flow_control_close(&appliance->flow_controls[i]);
	unmap_guard_set(NULL, NULL);
}
