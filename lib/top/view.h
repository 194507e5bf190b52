// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which part of the model the screen shows, how it is drawn, and the effect of keys. Pure.
#pragma once

#include "top/grid.h"
#include "top/model.h"
#include "top/table.h"

#define VIEW_FILTER_SIZE 32

// The first is the overview, the next ones are groups of a sample.
enum view_section {
	VIEW_OVERVIEW,
	VIEW_GROUPS, // + enum sample_group
	VIEW_HISTORY = VIEW_GROUPS + SAMPLE_N_GROUPS,
	VIEW_NODES,
	VIEW_N_SECTIONS,
};

// Keys other than characters.
enum view_key {
	VIEW_KEY_UP = 0x110000, // above all of Unicode
	VIEW_KEY_DOWN,
	VIEW_KEY_LEFT,
	VIEW_KEY_RIGHT,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_BACKSPACE,
	VIEW_KEY_BACK_TAB,
};

struct view {
	unsigned section;
	unsigned node; // index of the shown node
	unsigned scroll;
	struct table_order order[VIEW_N_SECTIONS]; // without the filter
	char filter[VIEW_FILTER_SIZE];
	bool typing; // keys are characters of the filter
	bool help;
	bool paused; // the model is not updated
	bool quit;
};

// Sets the initial view.
void view_make(struct view *view);

// Handles a key: a character, or one of enum view_key. height: rows of the screen.
void view_key(struct view *view, const struct model *model, uint32_t key, unsigned height);

// Draws the whole screen on a blank grid.
void view_draw(struct grid *grid, const struct view *view, const struct model *model);
