// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A session: an appliance that is run from the command line, with progress line, signals and final
// account. `evb run`, `gen` and `replay` differ only in their configuration.
#pragma once

#include <stdbool.h>

#include "plan/plan.h"

struct session_options {
	double duration;     // seconds; 0: until the run ends or a signal arrives
	const char *summary; // file for the account as JSON; NULL: none
	bool strict;         // exit status 2 if anything was lost
	// A capture is replayed: it may have packets for others, which are no loss, and the caller
	// has reported what it lacks.
	bool is_replay;
	bool input_lacks;       // what is to be sent was lost before the run: a loss, too
	uint64_t input_packets; // of the capture, for the progress; 0: unknown
	bool quiet;             // no plan, no progress
	bool must_build;        // exit status 1, and a line that says why, if no event was built
	// The configuration of the plan, and how another file is read as that was (appliance.h);
	// NULL: there is no file.
	struct config *config;
	int (*load)(void *context, const char *path, struct config **config, char *error);
	void *load_context;
};

// Runs the plan. Returns the exit status: 0 success, 1 refused or failed, 2 losses with `strict`.
int session_run(const struct plan *plan, const struct session_options *options);
