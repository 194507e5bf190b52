// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the commands that take a configuration share: `CONFIG`, `--set PATH=VALUE`, `--node NAME`.
#pragma once

#include "appliance/plan.h"
#include "config/config.h"

#define LOAD_MAX_OVERRIDES 64

struct overrides {
	const char *list[LOAD_MAX_OVERRIDES];
	unsigned n;
};

// Keeps one --set argument; says so on stderr and returns -1 if there are too many.
int overrides_add(struct overrides *overrides, const char *text);

// Loads and plans; on failure prints one line to stderr and returns -1. The caller frees the plan
// with free() and the configuration with config_free(). `node`: see config_load(), or NULL.
int load(const char *path, const char *node, const struct overrides *overrides,
	 struct config **config, struct plan **plan);

// Plans a configuration that is loaded already.
int load_plan(const struct config *config, struct plan **plan);
