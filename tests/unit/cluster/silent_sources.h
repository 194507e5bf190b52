// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stories of sources that are away, whose data is there when they are back, and of the manager that
// may not be there to say that they are waited for.
#pragma once

#include "farm.h"

void readout_and_manager_are_killed_and_back(struct farm *farm);
// Others miss a source, and nobody can tell them whether it is waited for.
void manager_dies_before_it_misses_a_readout(struct farm *farm);
// Nobody misses it, and it does not know what it has to send.
void readout_restarts_while_nobody_manages(struct farm *farm);
