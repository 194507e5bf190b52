// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of single cases share: two stations, 0 and 1, over a network without faults but
// those that the test makes.
#pragma once

#include <string.h>

#include "network.h"

#define DELAY (100 * US) // of each datagram

// After it a killed station counts as dead, so that its successor is accepted.
#define SILENCE (1150 * MS)

struct network_options pair_options(void);

// The stations know each other; the next heartbeats are 70 ms away.
void pair_open(struct network *network, const struct network_options *options);

// Station 0 sends n records to station 1, which takes them all.
void pair_send(struct network *network, unsigned n, size_t size);

void pair_cut(struct network *network, bool cut);

// Frames in sequence from station 0 to station 1, since pair_watch().
struct watched {
	unsigned n;      // retransmissions included
	uint64_t drop;   // bit i: frame i is lost
	uint64_t at[64]; // when they came
};
extern struct watched watched;

void pair_watch(struct network *network, uint64_t drop);
