// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What `evb run` says besides its account: lines of text for people, or one JSON object a line for
// what collects logs. Goes to standard error. Any thread.
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "config/config.h"

enum log_level {
	LOG_LEVEL_INFO,    // as text these are for standard output: the caller prints them
	LOG_LEVEL_NOTICE,  // an operator should see it
	LOG_LEVEL_WARNING, // it goes on, but not as it should
	LOG_LEVEL_ERROR,   // it does not go on
};

// "text" or "json". Returns false if the name is neither. Text without this call.
bool log_choose(const char *name);

// Whether JSON lines were chosen: then nothing else may be printed.
bool log_is_json(void);

// From here on JSON lines name the appliance, and its node if the configuration describes several.
void log_name(const struct config *config);

// One line. As text it stands behind "evb: ".
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// One line that says itself where it comes from: as text it stands as it is.
void log_refusal(const char *line);

// One line with a value besides, of which the name is no other field's. JSON only. Takes the value.
void log_value(enum log_level level, const char *message, const char *name, cJSON *value);

// DPDK's own messages become lines, too, if JSON was chosen. Before DPDK is started.
void log_take_dpdk(void);
