// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Telemetry: commands /evb/... on DPDK's own telemetry socket, so that dpdk-telemetry.py, Telegraf
// and the Prometheus exporter of DPDK work as they are. docs/telemetry.md lists them all;
// the tables of the groups (group.h) are where their keys come from.
//
// DPDK 22.11 has no way to take a command back: after appliance_telemetry_stop() the commands stay
// and answer {"state": "stopped"}.
#pragma once

#include "appliance/appliance.h"

// Control thread, when the appliance has been started. From then on DPDK's telemetry threads read
// the appliance. Returns 0, or a negative errno if a command could not be registered; then none of
// them reads it.
int appliance_telemetry_start(const struct appliance *appliance);

// Control thread, before appliance_stop(). Waits for answers under way; nobody reads the appliance
// any more when it returns. May be called without a start.
void appliance_telemetry_stop(void);
