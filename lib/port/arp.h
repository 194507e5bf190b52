// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Finding the MAC address of an IPv4 neighbour (RFC 826). Control thread, before the lcores start:
// it receives packets from the port's first rx queue and drops all but the reply.
#pragma once

#include <stdint.h>

#include "port/port.h"

// Sends a request every 100 ms until the neighbour replies or the port's link_timeout is over.
// Returns 0 with the address in mac[6], or -1.
int arp_resolve(const struct port *port, uint32_t own_address, uint32_t address, uint8_t *mac);
