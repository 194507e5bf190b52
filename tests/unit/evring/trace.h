// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A child that goes forward step by step, so that a test can do something (or kill it) in between.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

// Whether this machine lets a parent trace its child.
bool trace_is_possible(void);

// Forks a child that is traced. In the parent, returns when the child has stopped itself by
// raise(SIGSTOP); in the child returns 0.
pid_t trace_fork(void);

// Lets the child go on for a number of steps: instructions (PTRACE_SINGLESTEP), or entries into
// and returns from the kernel (PTRACE_SYSCALL). Returns how many it did before it stopped itself
// again.
uint64_t trace_steps(pid_t child, int request, uint64_t steps);

// How far apart to stop a child that does `all` steps, so that doing it again for each stop takes
// seconds at most. 1: after each step.
uint64_t trace_stride(uint64_t all);

// Lets it run until it exits, which must be with status 0.
void trace_to_exit(pid_t child);
