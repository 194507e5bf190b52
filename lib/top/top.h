// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The dashboard: samples appliances, shows them, and handles keys until it shall end.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#define TOP_ERROR_SIZE 512

struct top_options {
	const char *const *names; // of appliances; none: all that run here
	unsigned n_names;
	unsigned interval_ms;
	FILE *in, *out; // the terminal
	bool ascii;
	bool colours;
	const volatile sig_atomic_t *stop; // not 0: the dashboard shall end
};

// Returns 0 at the end, or -1 with one line in error[TOP_ERROR_SIZE]. Restores the terminal.
int top_run(const struct top_options *options, char *error);
