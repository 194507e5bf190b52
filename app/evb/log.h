// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The messages of `evb run` besides its account: lines of text for people, or one JSON object per
// line for collectors of logs. They go to standard error. Any thread.
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "config/config.h"

enum log_level {
	LOG_LEVEL_INFO,    // as text, the caller prints these to standard output
	LOG_LEVEL_NOTICE,  // an operator should see it
	LOG_LEVEL_WARNING, // the appliance continues with a problem
	LOG_LEVEL_ERROR,   // the appliance ends
};

// Chooses the form, "text" or "json". Returns false for another name. Without this call: text.
bool log_choose(const char *name);

// Whether JSON lines were chosen: then no other output is allowed.
bool log_is_json(void);

// JSON lines after this call contain the appliance's name, and that of its node if there are
// several.
void log_name(const struct config *config);

// Writes one line. As text it begins with "evb: ", a warning with "evb: warning: ".
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Writes one line that names its origin itself: as text it has no prefix.
void log_refusal(const char *line);

// Writes one line with an additional field. JSON only. Takes ownership of the value.
void log_value(enum log_level level, const char *message, const char *name, cJSON *value);

// Turns DPDK's own messages into lines, as text with "DPDK: " before them. To be called before DPDK
// is started.
void log_take_dpdk(void);
