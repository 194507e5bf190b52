// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE as a handler of the rx role (rx/handler.h). It passes packets to the endpoint of the port
// (roce_port.h). Responses to packets that this process sends by RoCE go to the sending role.
#pragma once

#include "pipeline/link.h"
#include "rdma/roce_port.h"
#include "rx/handler.h"

struct roce_handler_parameters {
	struct roce_port *port; // endpoint of the port, owned by the rx role; NULL: this port
				// receives no data by RoCE
	struct link *responses; // to the role that sends by RoCE on the port; NULL: none
	uint16_t udp_port;      // RoCE's
	bool takes_feroce;      // also accept the UDP port of FERoCE's connection messages
	// Which packets are for the sending role: in a cluster those whose queue pair number has
	// QP_NUMBER_SIDE set, otherwise all with the opcode of a response or CNP.
	bool in_cluster;
};

struct roce_handler {
	struct roce_handler_parameters parameters;
	double ns_per_cycle;
	uint64_t burst_cycles, burst_ns; // of the latest burst
};

// `handler` outlives the rx role.
struct rx_handler roce_handler_make(struct roce_handler *handler,
				    const struct roce_handler_parameters *parameters);
