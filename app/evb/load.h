// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the arguments CONFIG, --set PATH=VALUE and --node NAME to a plan.
#pragma once

#include "appliance/plan.h"
#include "arguments.h"
#include "config/config.h"

// Loads and plans a configuration. Returns 0, or -1 after one line on stderr. The caller frees the
// plan with free() and the configuration with config_free(). `node`: see config_load(), or NULL.
int load(const char *path, const char *node, const struct overrides *overrides,
	 struct config **config, struct plan **plan);

// Plans a configuration that is loaded already.
int load_plan(const struct config *config, struct plan **plan);
