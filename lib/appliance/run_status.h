// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the control socket's command `status` answers; docs/run-control.md has every key.
#pragma once

#include <cjson/cJSON.h>

#include "appliance/appliance.h"

// The state of this appliance, of its node in the system, and, on the event manager's node, of all
// nodes. To be freed by the caller; NULL if memory ran out. Control thread.
cJSON *run_status(const struct appliance *appliance);
