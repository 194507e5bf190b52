// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Parts of the screen, shared by the views. Pure.
#pragma once

#include "top/view.h"

// The shown node; NULL: there is none.
const struct model_node *draw_node(const struct view *view, const struct model *model);

// The overview, in rows `row` to row + height - 1.
void draw_overview(struct grid *grid, const struct view *view, const struct model_node *node,
		   unsigned row, unsigned height);

// The nodes, one per line. Returns the number of rows used.
unsigned draw_nodes(struct grid *grid, const struct view *view, const struct model *model,
		    unsigned row, unsigned height);

// As many plots of the history as fit, with at least `least` rows each.
void draw_history(struct grid *grid, const struct model_node *node, unsigned row, unsigned height,
		  unsigned least);

void draw_help(struct grid *grid, unsigned row, unsigned height);

// Whether data is lost, or the run stands still, because of a finding; false for NULL.
bool draw_is_bad(const cJSON *finding);

// The latest value of a plot; NAN: there is none.
double draw_last(const struct model_node *node, enum model_plot plot);

// The greatest of n values; 0 if none is above 0.
double draw_greatest(const double *values, unsigned n);

// "12.3 Gb/s": a rate with its unit.
void draw_rate(double value, const char *unit, char text[24]);

// The table of a section; NULL: the section shows no group.
const struct table *draw_table(unsigned section);

// The key that shows a section.
char draw_section_key(unsigned section);
