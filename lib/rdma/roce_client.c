// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_client.h"

#include <rte_random.h>

#define RESPONSE_NS 200000000u // of connection messages
#define RETRIES     7

struct cm *roce_client_create_cm(const struct roce_client_parameters *parameters)
{
	const struct config_roce *config = parameters->config;
	const struct cm_parameters cm = {
		.table = parameters->table,
		.address = qp_address_ipv4(parameters->address),
		.guid = rte_rand(),
		.seed = rte_rand(),
		.response_timeout = RESPONSE_NS,
		.accept_timeout = RESPONSE_NS,
		.connections = parameters->table->mask + 1,
		.half_open = 2 * ROCE_CLIENT_CONNECTING,
		.half_open_of_peer = 2 * ROCE_CLIENT_CONNECTING,
		.of_peer = parameters->table->mask + 1,
		.path_mtu = parameters->path_mtu,
		.retries = RETRIES,
		.timeout_code = config->timeout,
		.retry_count = config->retry_count,
		.rnr_retry = config->rnr_retry,
		.max_reads = parameters->max_reads,
	};

	return cm_create(&cm);
}
