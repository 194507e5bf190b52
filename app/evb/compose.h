// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The configuration and the plan of a command. Commands with the argument CONFIG load them.
// Commands without a configuration file (gen, replay) compose a configuration, which then passes
// the same parser, checks and plan as any other. A path names a key: "generators[0].size.law". The
// objects and lists of the path are created if they are missing; lists have one element.
#pragma once

#include <stdint.h>

#include <cjson/cJSON.h>

#include "arguments.h"
#include "config/config.h"
#include "plan/plan.h"
#include "session.h"

// Loads a configuration and makes its plan. Returns 0, or -1 after one line on stderr. The caller
// frees the plan with free() and the configuration with config_free(). `node` is as in
// config_load().
int load(const char *path, const char *node, const struct overrides *overrides,
	 struct config **config, struct plan **plan);

// Creates a configuration in which the appliance's name is PREFIX-PID.
cJSON *compose_make(const char *prefix);

// Each sets a key. If the text is NULL, the key is not set. compose_quantity() sets a number if the
// text is a number, and else the text itself, which the parser reads as a quantity or refuses.
void compose_set(cJSON *root, const char *path, cJSON *value); // takes ownership of the value
void compose_text(cJSON *root, const char *path, const char *text);
void compose_quantity(cJSON *root, const char *path, const char *text);
void compose_number(cJSON *root, const char *path, double value);
void compose_ids(cJSON *root, const uint16_t *ids, unsigned n_ids); // sources.ids

// Parses the composed configuration and frees root. Messages contain `name` instead of a file's
// path. Prints one line and returns -1 on failure. The caller frees the configuration with
// config_free().
int compose_config(cJSON *root, const char *name, const struct overrides *overrides,
		   struct config **config);

// Parses the composed configuration, frees root, and runs the appliance. Returns the exit status.
int compose_run(cJSON *root, const char *name, const struct overrides *overrides,
		const struct session_options *options);
