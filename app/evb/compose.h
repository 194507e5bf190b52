// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Commands without a configuration file (gen, replay) compose one and go the same way from there:
// the same parser, the same checks, the same plan.
#pragma once

#include <stdint.h>

#include <cjson/cJSON.h>

#include "load.h"
#include "session.h"

// A list of source ids as the configuration takes it.
cJSON *compose_ids(const uint16_t *ids, unsigned n_ids);

// A number from text; what is none stays text, for the parser to refuse with reason.
cJSON *compose_number(const char *text);

// Adds an object to the list `key` of root, which is made if need be, and returns it.
cJSON *compose_element(cJSON *root, const char *key);

// Parses the composed configuration; frees root. `name` stands for the file in messages. Prints
// one line and returns -1 on failure. The caller frees the configuration with config_free().
int compose_config(cJSON *root, const char *name, const struct overrides *overrides,
		   struct config **config);

// The same, and runs it. Returns the exit status.
int compose_run(cJSON *root, const char *name, const struct overrides *overrides,
		const struct session_options *options);
