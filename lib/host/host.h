// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Is this host ready for an appliance? A list of stages, each of which reads what it needs of the
// system and judges it against the plan; in the order of causes, so that the first failure is not
// the consequence of a later one. Nothing is changed here: prepare.h does that.
//
// Control thread; no DPDK is started for it.
#pragma once

#include "appliance/plan.h"
#include "host/report.h"
#include "host/system.h"

// Looks at everything. plan: NULL, and the host is described without being judged.
void host_check(const struct host_system *system, const struct plan *plan,
		struct host_report *report);

// Looks at what can stop a run, or spoil it, and ends with the first stage that fails. Takes a few
// milliseconds. Returns the failure, or NULL if there is none.
const struct host_finding *host_preflight(const struct host_system *system, const struct plan *plan,
					  struct host_report *report);
