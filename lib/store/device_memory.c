// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/device_memory.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

bool device_memory_map(void *address, size_t length, uint16_t port_id)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port_id, &info) != 0 || info.device == NULL)
		return true;
	return rte_dev_dma_map(info.device, address, (uintptr_t)address, length) == 0 ||
	       rte_errno == ENOTSUP;
}
