// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Flow control by the NIC. Of the drivers of DPDK 22.11 priority-based flow control can be had of
// axgbe, hns3, ixgbe and txgbe; 802.3x PAUSE of many.
// Control thread.
#pragma once

#include "port/flow_control.h"

// Switches it on for all of the parameters' priorities, or for none. Returns 0 or a negative errno:
// -ENOTSUP or -ENOSYS from drivers that cannot.
int flow_control_hw_on(const struct flow_control_parameters *parameters);

void flow_control_hw_off(const struct flow_control_parameters *parameters);

// Has the NIC pass pause frames on to software, and send none itself. False if its driver cannot.
bool flow_control_hw_forward(uint16_t port_id);
