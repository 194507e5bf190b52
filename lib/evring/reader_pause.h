// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How long a reader sleeps between two polls while it waits for events. To wake up for each event
// costs the CPU more than most events do, and the CPU may be the builder's. So a pause becomes
// longer while few events come in it, and shorter before they could fill the ring.
//
// Any thread.
#pragma once

#include <stdint.h>

#define READER_PAUSE_LEAST_NS 50000u
#define READER_PAUSE_MOST_NS  500000u
#define READER_WAIT_MOST_NS   1000000u // pause in a long wait
#define READER_MANY_EVENTS    16u      // in a pause: it becomes shorter if more come

static inline uint64_t reader_within(uint64_t number, uint64_t least, uint64_t most)
{
	return number < least ? least : number > most ? most : number;
}

// The next pause, ns, after one of `pause` ns in which `found` events came. slots: of the ring that
// has the fewest, at least 1.
static inline uint64_t reader_next_pause(uint64_t pause, uint64_t found, uint64_t slots)
{
	const uint64_t half = slots / 2;
	const uint64_t many = half < READER_MANY_EVENTS ? half : READER_MANY_EVENTS;

	if (found >= half)
		return READER_PAUSE_LEAST_NS;
	if (found > many)
		pause /= 2;
	else if (2 * found < many)
		pause *= 2;
	return reader_within(pause, READER_PAUSE_LEAST_NS, READER_PAUSE_MOST_NS);
}

// The sleep before the next poll, ns, of a reader that has waited for `waited` ns: an event comes
// later by at most a hundredth of the wait, or by a pause.
static inline uint64_t reader_sleep(uint64_t pause, uint64_t waited)
{
	return reader_within(waited / 100, pause, READER_WAIT_MOST_NS);
}
