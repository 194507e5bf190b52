// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "load.h"

#include <stdlib.h>

#include "log.h"

int load_plan(const struct config *config, struct plan **plan)
{
	char error[PLAN_ERROR_SIZE] = "out of memory";

	*plan = malloc(sizeof(**plan));
	if (*plan == NULL || plan_make(*plan, config, error) != 0) {
		log_refusal(error);
		free(*plan);
		*plan = NULL;
		return -1;
	}
	return 0;
}

int load(const char *path, const char *node, const struct overrides *overrides,
	 struct config **config, struct plan **plan)
{
	char error[CONFIG_ERROR_SIZE];

	if (config_load(config, path, node, overrides->list, overrides->n, error) != 0) {
		log_refusal(error);
		return -1;
	}
	if (load_plan(*config, plan) != 0) {
		config_free(*config);
		return -1;
	}
	return 0;
}
