// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The directory that holds the sockets of appliances: DPDK's folder `dpdk` with those of telemetry,
// chosen as DPDK chooses it, and `evb` with those of control.
#pragma once

#include <stdbool.h>
#include <sys/un.h>

// $RUNTIME_DIRECTORY; else /var/run for root; else $XDG_RUNTIME_DIR, or /tmp. Where /tmp/dpdk
// belongs to another user, who used DPDK first, it is /tmp/evb-UID instead, unless that belongs to
// another user too. Never NULL or empty; valid until the environment changes.
const char *runtime_directory(void);

// Whether the directory is /tmp/evb-UID.
bool runtime_directory_is_own(void);

// Makes the directory if it is /tmp/evb-UID, and has DPDK use it by $XDG_RUNTIME_DIR. Before the
// first thread and the start of DPDK. If it fails, DPDK reports that its directory is missing.
void runtime_directory_make(void);

// Connects to the socket of an appliance, of type SOCK_SEQPACKET. Each send and receive waits
// patience_ms at most, and then fails with EAGAIN. Any thread. Returns the socket or a negative
// errno.
int runtime_connect(const struct sockaddr_un *address, unsigned patience_ms);
