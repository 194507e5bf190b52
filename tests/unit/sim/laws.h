// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Laws that fabrics obey, each compared with a simulation. The unit tests check that all hold; each
// mutant breaks the one that its patch names.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network.h"

#define LAW_MESSAGE 256u

struct law {
	const char *name;
	// True: it holds. Else `message` says what was expected, and what came.
	bool (*check)(char message[LAW_MESSAGE]);
};

extern const struct law laws_of_queues[], laws_of_switches[], laws_of_links[], laws_of_routes[];
extern const struct law laws_of_buffers[];
extern const size_t n_laws_of_queues, n_laws_of_switches, n_laws_of_links, n_laws_of_routes;
extern const size_t n_laws_of_buffers;

// Whether `value` is within this share of `expected`.
bool law_near(const char *what, double value, double expected, double share,
	      char message[LAW_MESSAGE]);
bool law_equal(const char *what, uint64_t value, uint64_t expected, char message[LAW_MESSAGE]);

// NULL: no law has this name.
const struct law *law_find(const char *name);
