// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Everything that a running appliance tells, taken in one pass over its telemetry socket:
//
//   { "info": {...}, "summary": {...}, "role": [{...}, ...], "link": [{...}, ...], ... }
//
// A group of things is whatever the appliance has a command /evb/GROUP/all for: it becomes an array
// of dictionaries, in the appliance's order, the first key of which names the thing.
#pragma once

#include <cjson/cJSON.h>

#include "client/stat_client.h"

// Returns the snapshot, to be freed with cJSON_Delete(), or NULL with one line in
// error[STAT_CLIENT_ERROR_SIZE].
cJSON *snapshot_take(struct stat_client *client, char *error);
