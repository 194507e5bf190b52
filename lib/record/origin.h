// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The origin of an event in a chain of systems: the event of the first stage that is its block, the
// block of its block, and so on (docs/stages.md).
#pragma once

#include "evring/evb_mep.h"
#include "evring/evb_reader.h"

// Stages, at most: a block of any bytes could look like a built event.
#define ORIGIN_STAGES 8u

// Sets *event_id to that of the origin. An event of several blocks has that of the first one.
// Returns false if the block is missing or is no built event. The event must not change meanwhile.
// Any thread.
bool origin_of(const struct evb_event *event, uint64_t *event_id);
