// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether this host is ready for an appliance. Each stage reads what it needs of the system and
// judges it against the plan, causes before their consequences. Nothing is changed here: change.h
// does that. Control thread; DPDK need not be started.
#pragma once

#include "host/report.h"
#include "host/system.h"
#include "plan/plan.h"

// Judges all stages. plan: NULL describes the host without a judgement.
void host_check(const struct host_system *system, const struct plan *plan,
		struct host_report *report);

// Judges what can stop a run, or spoil it, in a few milliseconds. The report ends with the first
// failure, which is returned; NULL if there is none.
const struct host_finding *host_preflight(const struct host_system *system, const struct plan *plan,
					  struct host_report *report);
