// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Telemetry: commands /evb/... on DPDK's own telemetry socket, for dpdk-telemetry.py, Telegraf, the
// Prometheus exporter of DPDK and evb's own clients. docs/telemetry.md lists them; their keys come
// from the tables of the groups (group.h).
//
// DPDK 22.11 cannot remove a command: after appliance_telemetry_stop() the commands stay and
// respond with {"state": "stopped"}.
#pragma once

#include "appliance/appliance.h"

// Control thread, when the appliance has been started. From then on DPDK's telemetry threads read
// the appliance. Returns 0, or a negative errno if a command could not be registered; then none of
// them reads it.
int appliance_telemetry_start(const struct appliance *appliance);

// Control thread, before appliance_stop(). Waits for responses that are being made; when it
// returns, no thread reads the appliance any more. It may be called without a start.
void appliance_telemetry_stop(void);
