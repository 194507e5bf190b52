// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Loads a configuration and makes its plan, from the arguments CONFIG, --set PATH=VALUE and --node
// NAME.
#pragma once

#include "appliance/plan.h"
#include "arguments.h"
#include "config/config.h"

// Loads a configuration and makes its plan. Returns 0, or -1 after one line on stderr. The caller
// frees the plan with free() and the configuration with config_free(). `node` is as in
// config_load().
int load(const char *path, const char *node, const struct overrides *overrides,
	 struct config **config, struct plan **plan);

// Makes the plan of a loaded configuration. Returns as load().
int load_plan(const struct config *config, struct plan **plan);
