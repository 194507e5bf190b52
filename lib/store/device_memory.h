// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Memory that DPDK did not allocate, and from which a port sends.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Maps memory that was registered by rte_extmem_register() for the device of a port, which must be
// able to write to it during the call. A device that needs no mapping accepts all memory. The
// mapping lasts until the device is closed. Control thread. False with rte_errno.
bool device_memory_map(void *address, size_t length, uint16_t port_id);
