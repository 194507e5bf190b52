// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A snapshot of all telemetry of a running appliance, taken in one pass over its telemetry socket:
//
//   { "info": {...}, "summary": {...}, "build": {...}, "role": [{...}, ...], ... }
//
// Each command /evb/GROUP/all of the appliance makes a group: an array of dictionaries in the
// appliance's order. The first key of a dictionary names the thing that it describes. Appliances of
// older releases have no "build".
#pragma once

#include <cjson/cJSON.h>

#include "client/stat_client.h"

// Returns the snapshot, to be freed with cJSON_Delete(), or NULL with one line in
// error[STAT_CLIENT_ERROR_SIZE].
cJSON *snapshot_take(struct stat_client *client, char *error);
