// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Finding the MAC address of an IPv4 neighbour (RFC 826). Control thread, before the lcores start:
// it takes packets from the port's first rx queue and drops all but the answer.
#pragma once

#include <stdint.h>

#include "port/port.h"

// Asks ten times a second until somebody answers or the port's link_timeout is over. Returns 0
// with the address in mac[6], or -1.
int arp_resolve(const struct port *port, uint32_t own_address, uint32_t address, uint8_t *mac);
