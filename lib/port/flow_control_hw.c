// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/flow_control_hw.h"

#include <errno.h>

#include <rte_ethdev.h>

#define DEFAULT_HIGH_WATER 128u
#define DEFAULT_LOW_WATER  64u

static struct rte_eth_fc_conf settings(const struct flow_control_parameters *parameters)
{
	bool given = parameters->hw_high_water != 0;

	return (struct rte_eth_fc_conf){
		.high_water = given ? parameters->hw_high_water : DEFAULT_HIGH_WATER,
		.low_water = given ? parameters->hw_low_water : DEFAULT_LOW_WATER,
		.pause_time = parameters->pause.quanta,
		.send_xon = 1,
		.mode = RTE_ETH_FC_FULL,
	};
}

static void priorities_off(uint16_t port_id, uint8_t priorities)
{
	for (uint8_t i = 0; i < PFC_PRIORITIES; i++) {
		struct rte_eth_pfc_conf off = { .fc.mode = RTE_ETH_FC_NONE, .priority = i };

		// If the NIC refuses, closing the port resets it.
		if (priorities >> i & 1)
			(void)rte_eth_dev_priority_flow_ctrl_set(port_id, &off);
	}
}

static int priorities_on(const struct flow_control_parameters *parameters)
{
	struct rte_eth_pfc_conf on = { .fc = settings(parameters) };
	uint8_t done = 0;

	for (uint8_t i = 0; i < PFC_PRIORITIES; i++) {
		int result;

		if (!(parameters->pause.priorities >> i & 1))
			continue;
		on.priority = i;
		result = rte_eth_dev_priority_flow_ctrl_set(parameters->port_id, &on);
		if (result != 0) {
			priorities_off(parameters->port_id, done);
			return result;
		}
		done |= (uint8_t)(1u << i);
	}
	return done != 0 ? 0 : -EINVAL;
}

int flow_control_hw_on(const struct flow_control_parameters *parameters)
{
	struct rte_eth_fc_conf pause = settings(parameters);

	if (!parameters->pause.use_pause)
		return priorities_on(parameters);
	return rte_eth_dev_flow_ctrl_set(parameters->port_id, &pause);
}

void flow_control_hw_off(const struct flow_control_parameters *parameters)
{
	struct rte_eth_fc_conf off = { .mode = RTE_ETH_FC_NONE };

	if (parameters->pause.use_pause)
		(void)rte_eth_dev_flow_ctrl_set(parameters->port_id, &off);
	else
		priorities_off(parameters->port_id, parameters->pause.priorities);
}

bool flow_control_hw_forward(uint16_t port_id)
{
	struct rte_eth_fc_conf forward;

	if (rte_eth_dev_flow_ctrl_get(port_id, &forward) != 0)
		return false;
	forward.mode = RTE_ETH_FC_NONE;
	forward.mac_ctrl_frame_fwd = 1;
	return rte_eth_dev_flow_ctrl_set(port_id, &forward) == 0;
}
