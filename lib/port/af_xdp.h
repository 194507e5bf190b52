// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What DPDK's af_xdp driver wants of a port beyond its profile: steering (xdp.h), as many tx queues
// as rx queues, mbufs that fill a page each in one piece of memory, and packets to send that are
// in one piece. Control thread, unless said otherwise.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "port/port.h"

struct af_xdp;
struct xdp;

bool af_xdp_is_driver(const struct profile *profile);

// Bytes that the kernel takes off an mbuf's room before a packet.
uint32_t af_xdp_headroom(void);

// Before the device is made: sets port->af_xdp. A port whose options name an `xdp_prog` of their
// own is not steered. Returns 0, or -1 with one line in error[PORT_ERROR_SIZE].
int af_xdp_prepare(struct port *port, const struct port_traffic *traffic, char *error);

// The object file for the driver's argument xdp_prog; NULL: none.
const char *af_xdp_program_path(const struct port *port);

// As port_pool_create(), each mbuf as large as the driver needs it and not larger.
struct rte_mempool *af_xdp_pool_create(const char *name, uint32_t mbufs, uint32_t cache,
				       uint32_t buffer, int numa_node);

// Whether the pool is what the driver can use. Returns as af_xdp_prepare().
int af_xdp_check_pool(const struct port *port, char *error);

// After the driver refused the queues: replaces the error by what the kernel says.
void af_xdp_explain(const struct port *port, char *error);

// Once the queues are there: steering begins. Returns as af_xdp_prepare().
int af_xdp_start(struct port *port, const struct port_traffic *traffic, char *error);

// Whether the kernel, and not evb, answers for the port's address.
bool af_xdp_kernel_answers(const struct port *port);

// What steers the port, from af_xdp_start() to af_xdp_close(); NULL: nothing of evb's. Any thread.
const struct xdp *af_xdp_steering(const struct port *port);

// Packets that the port lost and the driver does not count. Any thread.
uint64_t af_xdp_missed(const struct port *port);

// Steering ends; to be called before the device is closed. Does nothing if it was not prepared.
void af_xdp_close(struct port *port);
