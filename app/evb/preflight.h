// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The check of the host before a run.
#pragma once

#include <stdbool.h>

#include "appliance/plan.h"

// Checks the host. Logs one line per warning, or one line for the first failure. Returns whether
// this host can run the plan.
bool preflight(const struct plan *plan);
