// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Commands on DPDK's telemetry socket for the steering of AF_XDP ports: which senders are admitted,
// and what they sent. The counters of the port are in telemetry/xdp.c. docs/ports.md has the keys.
//
//   /evb/xdp/source,PORT,ID         counters of an admitted source
//   /evb/xdp/strangers,PORT         senders that were refused most recently
//   /evb/xdp/admit,PORT,WHO         admits or refuses WHO, which is the id of a source or an IPv4
//   /evb/xdp/refuse,PORT,WHO        address, while the port runs
//
// The control thread calls the functions below; telemetry threads respond to the commands.
#pragma once

#include "port/xdp.h"

// Adds a port; the first call registers the commands.
void xdp_telemetry_add(struct xdp *xdp);

// Removes a port, if it was added. After the return no telemetry thread uses `xdp`.
void xdp_telemetry_remove(const struct xdp *xdp);
