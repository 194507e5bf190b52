// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The decision about an event that a member of a group after the deciding one has read.
#pragma once

#include "evring/evb_reader.h"
#include "packet/decision.h"

static inline struct decision_result result_of(const struct evb_event *event,
					       uint16_t first_builder)
{
	const uint64_t us = event->decided_ns > event->complete_ns
				? (event->decided_ns - event->complete_ns) / 1000
				: 0;

	return (struct decision_result){
		.event_id = event->event_id,
		.lines = event->decision.lines,
		.tag = event->decision.tag,
		.decide_us = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX,
		.builder = (uint16_t)(first_builder + event->builder),
		.decider = (uint8_t)event->decider,
		.flags =
		    (uint8_t)((event->decision.accept ? DECISION_ACCEPTED : 0) |
			      ((event->flags & EVB_EVENT_UNDECIDED) != 0 ? DECISION_UNDECIDED : 0)),
	};
}
