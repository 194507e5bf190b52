// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The check of the host before a run.
#pragma once

#include <stdbool.h>

#include "appliance/plan.h"

// Logs the warnings, or the first failure, in one line each. Returns whether the plan can be run
// here.
bool preflight(const struct plan *plan);
