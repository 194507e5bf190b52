// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets of CPUs as Linux writes them: "0-3,8" (cpuset(7), list format). libnuma parses such lists
// too, but it refuses CPUs that this machine lacks, and prints its errors to stderr.
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define CPU_LIST_SIZE 256 // bytes of a text

// Returns false if the text is not a list; the set then holds the part that was understood. CPUs
// beyond CPU_SETSIZE are ignored.
bool cpu_list_parse(const char *text, cpu_set_t *set);

// A list that does not fit ends in "...".
void cpu_list_format(const cpu_set_t *set, char text[CPU_LIST_SIZE]);
