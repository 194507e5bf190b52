// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How full a store gets of data that come in spills and leave at a limited rate.
//
// `amount` comes evenly during `duration`, then nothing until `period` is over; the store sends at
// most at `rate`, and always if it has something. With an empty store at the beginning:
//
//   highest = amount - rate * duration       if amount / duration > rate, at the end of the spill
//             0                              otherwise: it leaves as it comes
//   empty   = amount / rate                  after the beginning of the spill, as the store always
//             duration                       sends until then; otherwise
//
// The store is empty when the next spill begins if rate * period >= amount: the links carry the
// mean. Otherwise it fills without end. This is the backlog of a burst behind a link of constant
// rate: the arrival curve of a leaky bucket and a constant-rate server (R. L. Cruz, "A calculus for
// network delay", IEEE Trans. Inf. Theory 37, 1991).
//
// Not counted: what is sent and waits for its RELEASE (rate times some milliseconds), and what a
// store gives back later because it releases blocks together (ring_store_room(),
// block_memory_capacity()). Pure; any unit of amounts, times in seconds.
#pragma once

#include <stdbool.h>

struct spill {
	double amount;
	double duration; // >= 0
	double period;   // > 0, >= duration
};

struct spill_fill {
	double highest; // amount
	double empty;   // seconds after the beginning of the spill
	bool carried;   // the rate is at least the mean; otherwise the others are of a first spill
};

// rate > 0, amount per second.
struct spill_fill spill_fill(const struct spill *spill, double rate);
