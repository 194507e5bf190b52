// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stories of processes that end and whose last will arrives.
#pragma once

#include "farm.h"

// A node with a builder, or a readout, is killed: the others publish at once what they published
// with it.
void builder_leaves_a_will(struct farm *farm);
void readout_leaves_a_will(struct farm *farm);

// Nodes that had just come and gone again and again.
void nodes_leave_wills_at_once(struct farm *farm);
