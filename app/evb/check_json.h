// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Plans as JSON, for `evb check --json`.
#pragma once

#include <cjson/cJSON.h>

#include "plan/plan.h"

// The plan as an object, for the caller to delete; NULL if memory ran out.
cJSON *check_json(const struct plan *plan);
