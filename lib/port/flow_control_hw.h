// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Flow control by the NIC. In DPDK 22.11 the drivers axgbe, hns3, ixgbe and txgbe support
// priority-based flow control; many drivers support 802.3x PAUSE. Control thread.
#pragma once

#include "port/flow_control.h"

// Switches flow control on for all priorities of the parameters, or for none. Returns 0 or a
// negative errno; -ENOTSUP or -ENOSYS if the driver does not support it.
int flow_control_hw_on(const struct flow_control_parameters *parameters);

void flow_control_hw_off(const struct flow_control_parameters *parameters);

// Makes the NIC pass received pause frames on to software and send none itself. False if its driver
// does not support this.
bool flow_control_hw_forward(uint16_t port_id);
