// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames of the control protocol that cross the fabric: their bytes, in pools of a few sizes.
//
// Threads: one.
#pragma once

#include "sim_system/pool.h"

#define FRAMES_N_SIZES 8u // 128 bytes to 16 KiB

struct sim_frame {
	uint16_t from, to; // nodes
	uint32_t size;
	uint8_t bytes[];
};

struct frames {
	struct pool pools[FRAMES_N_SIZES];
};

void frames_init(struct frames *frames);
void frames_free(struct frames *frames);

// Copies a frame; returns its number, or POOL_NONE: there is no memory, or it is too large.
uint32_t frames_put(struct frames *frames, unsigned from, unsigned to, const uint8_t *bytes,
		    size_t size);
const struct sim_frame *frames_at(const struct frames *frames, uint32_t number);
void frames_drop(struct frames *frames, uint32_t number);

uint32_t frames_used(const struct frames *frames);
