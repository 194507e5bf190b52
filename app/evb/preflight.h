// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The look at the host before a run.
#pragma once

#include <stdbool.h>

#include "appliance/plan.h"

// Tells warnings, and the first failure, by one line each, on the standard error. Returns whether
// the plan can be run here.
bool preflight(const struct plan *plan);
