// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What DPDK's af_xdp driver requires in addition to its profile: steering (xdp.h), as many tx
// queues as rx queues, mbufs of one page each in one piece of memory, and sent packets that consist
// of one buffer each. Control thread, unless stated otherwise.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/port.h"

struct af_xdp;
struct xdp;
struct xdp_rules;

bool af_xdp_is_driver(const struct profile *profile);

// Sets port->af_xdp. To be called before the device is created. A port whose options contain an
// `xdp_prog` is not steered by evb. Returns 0, or -1 with one line in error[PORT_ERROR_SIZE].
int af_xdp_prepare(struct port *port, const struct port_traffic *traffic, char *error);

// The object file for the driver's argument xdp_prog; NULL: none.
const char *af_xdp_program_path(const struct port *port);

// As port_pool_create(), with mbufs of exactly the size that the driver needs.
struct rte_mempool *af_xdp_pool_create(const char *name, uint32_t mbufs, uint32_t cache,
				       uint32_t buffer, int numa_node);

// Checks that the driver can use the port's pool. Returns as af_xdp_prepare().
int af_xdp_check_pool(const struct port *port, char *error);

// Replaces the error by the kernel's reason. To be called after the driver refused the queues.
void af_xdp_explain(const struct port *port, char *error);

// Adds the port's own addresses, except those that the kernel has on the interface: the kernel
// replies for these itself.
void af_xdp_add_addresses(struct xdp_rules *rules, const struct port_settings *port);

// Begins steering. To be called after the queues were created. Returns as af_xdp_prepare().
int af_xdp_start(struct port *port, const struct port_traffic *traffic, char *error);

// Whether the kernel, and not evb, replies to ARP and ICMP echo for the port's address.
bool af_xdp_kernel_replies(const struct port *port);

// The steering of the port, valid from af_xdp_start() to af_xdp_close(); NULL if evb does not steer
// it. Any thread.
const struct xdp *af_xdp_steering(const struct port *port);

// Lost packets that the driver does not count. Any thread.
uint64_t af_xdp_missed(const struct port *port);

// Ends steering. To be called before the device is closed. Does nothing to a port that was not
// prepared.
void af_xdp_close(struct port *port);
