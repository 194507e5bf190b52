// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A decision of a consumer about a built event, as roles pass it on.
#pragma once

#include <stdint.h>

enum decision_flags {
	DECISION_ACCEPTED = 0x1,
	DECISION_UNDECIDED = 0x2, // a member released the event without a decision
	DECISION_TIMED_OUT = 0x4, // nobody decided in time
};

struct decision_result {
	uint64_t event_id;
	uint64_t lines;
	uint32_t tag;
	uint32_t decide_us; // from the event's completion to the decision; UINT32_MAX: or longer
	uint16_t builder;   // of the process; in a system of nodes: system-wide number
	uint8_t decider;    // member of the ring
	uint8_t flags;      // enum decision_flags
};
