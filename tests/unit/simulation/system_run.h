// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A simulation of traffic kind `system`, from the text of a file to its result.
#pragma once

#include "sim_system/from_config.h"
#include "simulation/simulation.h"

// Node "m" is the manager. NULL: refused, with one line in error[SIM_ERROR_SIZE].
struct simulation_result *system_run(const char *text, const char *const *overrides,
				     unsigned n_overrides, char *error);
// The same without the parameters of the system.
struct simulation_result *system_run_alone(const char *text, char *error);
// Fails the test instead of returning NULL.
struct simulation_result *system_run_well(const char *text, const char *const *overrides,
					  unsigned n_overrides);
