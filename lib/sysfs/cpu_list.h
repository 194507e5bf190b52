// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets of CPUs as Linux writes them: "0-3,8".
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define CPU_LIST_SIZE 256 // of a text

// False if the text is none; the set is what was understood of it then.
bool cpu_list_parse(const char *text, cpu_set_t *set);

// What does not fit ends in "...".
void cpu_list_format(const cpu_set_t *set, char text[CPU_LIST_SIZE]);
