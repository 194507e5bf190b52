// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Faults for the tests: where the library is compiled with SCHED_MUTATION, the test sets
// sched_mutation to the number of the fault that it wants to see caught. Elsewhere there is none.
#pragma once

#ifdef SCHED_MUTATION
extern unsigned sched_mutation;
#define SCHED_MUTANT(number, good, bad) (sched_mutation == (number) ? (bad) : (good))
#else
#define SCHED_MUTANT(number, good, bad) (good)
#endif
