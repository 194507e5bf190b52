// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Random changes of inputs, of the kinds at which decoders break: bits, numbers of all widths and
// both byte orders, cut and inserted bytes, parts of other inputs.
//
// Threads: one per generator.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define MUTATE_MAX_GROWTH 512u // bytes that mutate() may add

struct input {
	uint8_t *bytes;
	size_t size;
};

// Changes an input at one to eight places. Its memory has room for MUTATE_MAX_GROWTH bytes more.
// Parts are taken from `other`, which may have any size, also none.
void mutate(struct input *input, const struct input *other, struct random *random);
