// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A story of processes that serve several runs, one after the other.
#pragma once

#include "farm.h"

// The processes serve several runs, of which some are stopped midway and some drained. Nodes die
// and come back as other processes: one between two runs, the manager in a run and between two.
void run_follows_run(struct farm *farm);
