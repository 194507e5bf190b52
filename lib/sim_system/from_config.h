// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parameters of a simulated system, from the configuration with which its nodes run.
//
// Threads: any, one at a time.
#pragma once

#include "config/config.h"
#include "sim_system/system.h"

// The generators of all nodes, one node after the other.
struct sim_generators {
	struct sim_generator *list;
	unsigned n;
};

// Adds the generators of a node, config->cluster.self. Returns 0, or -1 with one line in
// error[SIM_SYSTEM_ERROR_SIZE]. The configuration is not needed any more afterwards.
int sim_generators_add(struct sim_generators *generators, const struct config *config, char *error);
void sim_generators_free(struct sim_generators *generators);

// What is equal on all nodes, from the configuration of any of them, which outlives the system. The
// engine, the generators, the consumer, the priorities, the hosts and the seed remain 0.
struct sim_system_parameters sim_system_configured(const struct config *config);
