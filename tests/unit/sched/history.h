// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Random histories of an event manager, held against the model at every step.
#pragma once

#include "model.h"

// Runs a history of so many calls, then a halt. The seed decides on everything: builders, groups,
// sources, shaping, limits, and what happens. It ends early if an invariant is broken: see
// model->broken. The model is overwritten.
void history_run(struct model *model, uint64_t seed, enum sched_policy policy, uint64_t steps);
