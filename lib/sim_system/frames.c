// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_system/frames.h"

#include <string.h>

#define LEAST_SIZE 128u

void frames_init(struct frames *frames)
{
	for (unsigned i = 0; i < FRAMES_N_SIZES; i++)
		pool_init(&frames->pools[i], LEAST_SIZE << i);
}

void frames_free(struct frames *frames)
{
	for (unsigned i = 0; i < FRAMES_N_SIZES; i++)
		pool_free(&frames->pools[i]);
}

uint32_t frames_put(struct frames *frames, unsigned from, unsigned to, const uint8_t *bytes,
		    size_t size)
{
	struct sim_frame *frame;
	unsigned which = 0;
	uint32_t number;

	while (which < FRAMES_N_SIZES && sizeof(*frame) + size > frames->pools[which].size)
		which++;
	if (which == FRAMES_N_SIZES)
		return POOL_NONE;
	number = pool_take(&frames->pools[which]);
	if (number == POOL_NONE)
		return POOL_NONE;
	frame = pool_at(&frames->pools[which], number);
	*frame = (struct sim_frame){ (uint16_t)from, (uint16_t)to, (uint32_t)size };
	memcpy(frame->bytes, bytes, size);
	return number * FRAMES_N_SIZES + which;
}

const struct sim_frame *frames_at(const struct frames *frames, uint32_t number)
{
	return pool_at(&frames->pools[number % FRAMES_N_SIZES], number / FRAMES_N_SIZES);
}

void frames_drop(struct frames *frames, uint32_t number)
{
	pool_give_back(&frames->pools[number % FRAMES_N_SIZES], number / FRAMES_N_SIZES);
}

uint32_t frames_used(const struct frames *frames)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < FRAMES_N_SIZES; i++)
		n += frames->pools[i].n_used;
	return n;
}
