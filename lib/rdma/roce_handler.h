// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE as a handler of the rx role (rx/handler.h): passes packets to the endpoint of the port
// (roce_port.h), and responses to what this process itself sends by RoCE to the role that sends.
#pragma once

#include "pipeline/link.h"
#include "rdma/roce_port.h"
#include "rx/handler.h"

struct roce_handler_parameters {
	struct roce_port
	    *port; // of the port, whose owner the rx role is; NULL: nothing is received
	struct link *responses; // to the role that sends by RoCE on the port; NULL: none
	uint16_t udp_port;      // RoCE's
	bool takes_feroce;      // also the port of FERoCE's connection messages
	// In a cluster the queue pair number of a packet states whether it is for the sending role
	// (QP_NUMBER_SIDE), else its opcode.
	bool in_cluster;
};

struct roce_handler {
	struct roce_handler_parameters parameters;
	double ns_per_cycle;
};

// `handler` outlives the rx role.
struct rx_handler roce_handler_make(struct roce_handler *handler,
				    const struct roce_handler_parameters *parameters);
