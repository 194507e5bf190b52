// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Numbers of the request packets of a capture. A connection may begin again with the queue pair and
// the packet numbers of an earlier one, for example if a board with static queue pairs is started a
// second time. This is the case when a packet has the number of an earlier one and other content: a
// packet that is sent again has the same. The new run begins with the first of the packets that
// lead to this one with consecutive numbers. Its numbers continue behind those of the run before.
#pragma once

#include "source/roce_capture_internal.h"

// Of a stream; zero-initialised.
struct roce_runs {
	uint64_t newest;   // number of the packet with the largest PSN of this run, without `shift`
	uint64_t shift;    // what the numbers of this run are larger than their PSNs
	uint64_t top;      // largest number of all runs
	size_t n_previous; // records up to the previous one of this stream; 0: none
};

// Sets the number of a new record, the last of reading->records, with this PSN (ordered: false for
// datagrams, which keep the order of the capture), and changes those of earlier records of its
// stream if a run begins with them. `numbers` belongs to the whole reading, and is NULL at first.
// Returns false if memory ran out.
bool roce_runs_add(struct roce_runs *runs, void **numbers, struct roce_reading *reading,
		   uint32_t psn, bool ordered);

// Frees what roce_runs_add() has stored.
void roce_runs_fini(void **numbers);
