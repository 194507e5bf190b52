// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The connection manager of a role that connects to builders and sends by RoCE: generators
// (roce_source_role.h) and readouts of a system (readout_roce.h).
#pragma once

#include "config/config.h"
#include "roce/connection.h"

#define ROCE_CLIENT_CONNECTING 16u // queue pairs that are being connected at one time

struct roce_client_parameters {
	const struct config_roce *config;
	struct qp_table *table; // outlives the manager
	uint32_t address;       // IPv4, host order, of the port
	uint32_t path_mtu;      // bytes
	uint8_t max_reads;      // READs that a peer may have outstanding, 1 .. 255
};

// Control thread. NULL if memory ran out. To be destroyed by cm_destroy().
struct cm *roce_client_create_cm(const struct roce_client_parameters *parameters);
