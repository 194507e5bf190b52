// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which group and which member hold the slots of a ring, by the claim words alone: evring_holds().
#pragma once

#include "evring_view.h"

void evring_view_holds(const struct evring_view *view, struct evring_hold holds[EVRING_MAX_GROUPS]);
