// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The response to the command `status` of the control socket. docs/run-control.md has every key.
#pragma once

#include <cjson/cJSON.h>

#include "appliance/appliance.h"

// Returns the state of this appliance, of its node in the system, and, on the event manager's node,
// of all nodes. The caller frees it. NULL if memory ran out. Control thread.
cJSON *run_status(const struct appliance *appliance);
