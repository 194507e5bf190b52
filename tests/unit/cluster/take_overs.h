// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stories of farms that elect their manager: something happens to the one in office, and a standby
// takes over within the time in which it has to.
#pragma once

#include "farm.h"

void manager_in_office_is_killed(struct farm *farm);
void manager_in_office_sleeps(struct farm *farm);
void manager_in_office_is_cut_off(struct farm *farm);
// No time is required of these.
void manager_in_office_is_lost_in_noise(struct farm *farm);
void successor_is_lost_too(struct farm *farm);
void manager_in_office_is_killed_in_the_drain(struct farm *farm);
void drain_reaches_one_node(struct farm *farm);
void drain_ends_before_what_a_silent_node_has(struct farm *farm);
void manager_returns_with_another_configuration(struct farm *farm);
