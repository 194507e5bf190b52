// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Plans for machines that the tests make up: which CPUs the process may use, on which NUMA node
// each lies, how many hugepages are free, and that interfaces exist that are called vethN, each an
// end of a veth pair, and ethN. The functions that ask the real machine are replaced
// when the tests are linked.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"

#define MIB (1024u * 1024u)

#define SOURCES  "\"sources\": {\"ids\": [\"1-8\"], \"packing\": 10}"
#define BUILDERS "\"builders\": [{\"name\": \"b0\"}, {\"name\": \"b1\"}]"

// A configuration with a generator g, a port wire, two builders and a writer w: five roles.
extern const char plan_five_roles[];

// CPUs 0 to n - 1, all on node 0, no hugepages; and then what is different.
void machine_make(unsigned n_cpus);
void machine_allow_cpu(unsigned cpu);
void machine_forbid_cpu(unsigned cpu);
void machine_put_cpu(unsigned cpu, int node); // -1: the machine does not say
void machine_set_hugepages(unsigned node, uint64_t bytes);

// The plan of a configuration, or the failure of the test with its error.
struct plan *plan_of(const char *text);
struct plan *plan_of_node(const char *text, const char *node);
void plan_free(struct plan *plan);
// Asserts that it is refused in these words. The configuration is called "x.json" in them.
void plan_refused(const char *text, const char *expected);
void plan_of_node_refused(const char *text, const char *node, const char *expected);
