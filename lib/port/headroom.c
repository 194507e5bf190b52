// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sum follows the "buffer requirements" in the PFC annex of IEEE 802.1Q. It has no separate
// delays of interfaces, because the response time includes them.
#include "port/headroom.h"

#include <stddef.h>

#define NS_PER_METRE  5u // in fibre and copper: two thirds of the speed of light
#define QUANTUM_BITS  512u
#define GIGABIT       1000000000ull
#define NS_PER_SECOND 1000000000ull

// Response times of IEEE 802.3 31B.3.7, in quanta of 512 bit times, as listed in SONiC
// (cfgmgr/buffer_headroom_mellanox.lua). A speed that is not in the table uses the next higher one.
static const struct {
	uint64_t bits_per_second;
	uint32_t quanta;
} response_times[] = {
	{ GIGABIT / 10, 1 },    { GIGABIT, 2 },         { 10 * GIGABIT, 67 },
	{ 25 * GIGABIT, 80 },   { 40 * GIGABIT, 118 },  { 50 * GIGABIT, 147 },
	{ 100 * GIGABIT, 394 }, { 200 * GIGABIT, 453 }, { 400 * GIGABIT, 905 },
};

#define N_SPEEDS (sizeof(response_times) / sizeof(response_times[0]))

// The longest time for which a station may continue to send after it received a pause frame.
static uint64_t response_ns(uint64_t bits_per_second)
{
	size_t i = 0;
	uint64_t bits;

	while (i + 1 < N_SPEEDS && response_times[i].bits_per_second < bits_per_second)
		i++;
	bits = (uint64_t)response_times[i].quanta * QUANTUM_BITS;
	return (bits * NS_PER_SECOND + bits_per_second - 1) / bits_per_second;
}

// The bytes that arrive within a time, rounded up.
static uint64_t bytes_in(uint64_t ns, uint64_t bits_per_second)
{
	const uint64_t unit = 8 * NS_PER_SECOND;

	return (uint64_t)(((unsigned __int128)ns * bits_per_second + unit - 1) / unit);
}

uint64_t headroom_bytes(const struct headroom_parameters *parameters)
{
	uint64_t rate = parameters->bits_per_second;
	uint64_t in_cable = bytes_in(2ull * parameters->cable_metres * NS_PER_METRE, rate);
	uint64_t frames = 2ull * parameters->frame_bytes;

	return in_cable + frames + bytes_in(response_ns(rate), rate) +
	       bytes_in(parameters->poll_ns, rate);
}
