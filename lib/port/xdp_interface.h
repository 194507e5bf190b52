// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the kernel says of a network interface. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Its MTU in bytes; 0 if there is no such interface.
uint32_t interface_mtu(const char *interface);

// Its receive queues; 1 where the driver does not tell.
unsigned interface_rx_queues(const char *interface);

// Whether the kernel has this address on it: IPv4 in host order, IPv6 as on the wire.
bool interface_has_address(const char *interface, uint32_t address);
bool interface_has_address6(const char *interface, const uint8_t address[16]);

// The Ethernet address of an IPv4 neighbour (host order) on it, as the kernel's ARP finds it:
// false if nobody answered yet. The first call makes the kernel ask.
bool interface_neighbour(const char *interface, uint32_t address, uint8_t mac[6]);
