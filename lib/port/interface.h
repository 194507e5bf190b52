// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Properties of a network interface of the kernel. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define INTERFACE_STAT_NAME_SIZE 32 // with the zero at the end
#define INTERFACE_NAME_SIZE      16 // with the zero at the end

struct ifreq;

// Asks the kernel about the interface, or sets it (netdevice(7)); the reply is in *ifr. Returns 0
// or a negative errno.
int interface_ask(const char *interface, unsigned long request, struct ifreq *ifr);

// As interface_ask(); the command and its reply are a structure of linux/ethtool.h.
int interface_ask_ethtool(const char *interface, void *command);

// The interface's MTU in bytes; 0 if there is no such interface.
uint32_t interface_mtu(const char *interface);

// The rate of the interface's link in bits/s; 0: there is no such interface, its link is down, or
// its driver does not report the rate.
uint64_t interface_link_rate(const char *interface);

// Whether the interface is one end of a veth pair, whose other end is on the same machine (Linux,
// drivers/net/veth.c).
bool interface_is_veth(const char *interface);

// Finds the kernel's interface of a port's device: an interface itself, or that of a PCI device
// ("0000:3b:00.0") whose driver is the kernel's. False: there is none on this machine.
bool interface_of_device(const char *device, char name[INTERFACE_NAME_SIZE]);

// The interface's number of receive queues; 1 if its driver does not report it.
unsigned interface_rx_queues(const char *interface);

// Whether the interface has this address in the kernel: IPv4 in host order, IPv6 in wire order.
bool interface_has_address(const char *interface, uint32_t address);
bool interface_has_address6(const char *interface, const uint8_t address[16]);

// Finds the Ethernet address of an IPv4 neighbour (host order) of the interface by the kernel's
// ARP. The first call makes the kernel send a request. False until the neighbour has replied.
bool interface_neighbour(const char *interface, uint32_t address, uint8_t mac[6]);

// Promiscuous mode of the interface for as long as a socket is open: the kernel ends it with the
// process, however that ends, and for other programs it stays as it was (packet(7),
// PACKET_MR_PROMISC). Returns the socket, to be closed by close(), or -1 (errno). The socket
// receives nothing. It needs CAP_NET_RAW.
int interface_promiscuous(const char *interface);

// The statistics of the interface's driver, as `ethtool -S X` prints them. Each owned by one
// thread.
struct interface_stats {
	uint32_t n;
	char (*names)[INTERFACE_STAT_NAME_SIZE];
	uint64_t *values; // of the last successful read
};

// Returns 0, or -1 if the interface has none.
int interface_stats_open(struct interface_stats *stats, const char *interface);

// Reads the values. Returns 0, or a negative number if they cannot be read or their number has
// changed; then the values are unchanged.
int interface_stats_read(struct interface_stats *stats, const char *interface);

// Frees the lists. Does nothing to a structure of all zeros.
void interface_stats_close(struct interface_stats *stats);
