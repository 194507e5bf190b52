// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Faults for the tests: where the library is compiled with CLUSTER_MUTATION, the test sets
// cluster_mutation to the number of the fault that it wants to see caught. Elsewhere there is none.
#pragma once

#ifdef CLUSTER_MUTATION
extern unsigned cluster_mutation;
#define CLUSTER_MUTANT(number, good, bad) (cluster_mutation == (number) ? (bad) : (good))
#else
#define CLUSTER_MUTANT(number, good, bad) (good)
#endif
