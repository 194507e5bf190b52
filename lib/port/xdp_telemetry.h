// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The steering of AF_XDP ports on DPDK's telemetry socket: who sends, and who may. What became of
// the packets is told by the group of telemetry/xdp.c. docs/ports.md has the keys.
//
//   /evb/xdp/source,PORT,ID         counters of an admitted source
//   /evb/xdp/strangers,PORT         who was refused lately
//   /evb/xdp/admit,PORT,WHO         live changes: WHO is the id of a source, or an IPv4 address
//   /evb/xdp/refuse,PORT,WHO
//
// Control thread; telemetry threads answer.
#pragma once

#include "port/xdp.h"

// The commands are registered with the first port. `port` is copied.
void xdp_telemetry_add(const char *port, struct xdp *xdp);

// No answer uses it any more when this returns.
void xdp_telemetry_remove(const struct xdp *xdp);
