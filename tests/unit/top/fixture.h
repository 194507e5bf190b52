// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Snapshots of appliances that do not exist, and screens as text.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "top/view.h"

// An appliance `second` seconds after its start: 2 lcores, 2 builders, 12 sources. From second 5 on
// source 3 sends nothing, and a link is full. system: it is the event manager of a system. To
// be freed with cJSON_Delete().
cJSON *fixture_snapshot(unsigned second, bool system);

// A node with a sample of each second from first to last; of a system if its name begins with s.
struct model_node *fixture_node(struct model *model, const char *name, unsigned first,
				unsigned last);

// Adds the sample of one second.
void fixture_sample(struct model_node *node, unsigned second);

// The screen in UTF-8, rows without blanks at their ends; to be freed.
char *fixture_text(const struct grid *grid);

// Draws the view, and returns the screen as text.
char *fixture_draw(const struct view *view, const struct model *model, unsigned rows,
		   unsigned columns, bool ascii);
