// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stories of nodes that die, and of how soon the others go on.
#pragma once

#include "farm.h"

// A builder dies, or a readout, and is missed after a while.
void others_go_on(struct farm *farm);
void builders_go_on(struct farm *farm);

// The same with a last will: the others publish at once what they published
// with it.
void builder_leaves_a_will(struct farm *farm);
void readout_leaves_a_will(struct farm *farm);

// Nodes that had just come and gone again and again.
void nodes_leave_wills_at_once(struct farm *farm);
