// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stories: a farm, and one thing that goes wrong. Each is told in several layouts and modes;
// history number i of a story is told in layout and mode i % STORY_WAYS, with seed i / STORY_WAYS.
#pragma once

#include "farm.h"

#define STORY_WAYS 6u

// Where all events have to be complete: where builders and readouts do not die together at most.
enum story_complete { NEVER, SPLIT, ALWAYS };

struct story {
	const char *name;
	void (*happen)(struct farm *farm);
	enum story_complete complete;
	struct farm_options options; // that are not layout, mode or seed
};

extern const struct story stories[];
extern const unsigned n_stories;

// Leaves the farm closed; farm->broken says what did not hold.
void story_tell(struct farm *farm, const struct story *story, unsigned history);

// Some node with a readout, or with a builder, that is not the manager's.
unsigned some_readout(struct farm *farm);
unsigned other_builder(struct farm *farm);
