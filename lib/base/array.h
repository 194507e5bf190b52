// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Arrays that grow.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Makes room for n items of `size` bytes in an array of malloc(), where there is room for *room;
// 0: there is none yet. `array` is the address of the pointer to it. The room doubles, and is at
// least 64 items. False if memory ran out: the array is as it was.
bool array_reserve(void *array, size_t *room, size_t n, size_t size);
