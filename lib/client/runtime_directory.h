// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The directory that holds the sockets of appliances: DPDK's folder `dpdk` with those of telemetry,
// chosen as DPDK chooses it, and `evb` with those of control.
#pragma once

// $RUNTIME_DIRECTORY; else /var/run for root; else $XDG_RUNTIME_DIR, or /tmp. Never NULL or empty;
// valid until the environment changes.
const char *runtime_directory(void);
