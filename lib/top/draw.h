// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Parts of the screen, shared by the views. Pure.
#pragma once

#include "top/view.h"

// The node that is shown; NULL: none is known.
const struct model_node *draw_node(const struct view *view, const struct model *model);

// The figures that matter most, in at most `height` rows. Returns how many it took.
unsigned draw_headline(struct grid *grid, const struct model_node *node, unsigned row,
		       unsigned height);

// All that there is room for, in rows `row` to row + height - 1.
void draw_overview(struct grid *grid, const struct view *view, const struct model_node *node,
		   unsigned row, unsigned height);

// Several nodes, one a line. Returns how many rows it took.
unsigned draw_nodes(struct grid *grid, const struct view *view, const struct model *model,
		    unsigned row, unsigned height);

// Plots of the history, of at least so many rows each: as many as there is room for.
void draw_history(struct grid *grid, const struct model_node *node, unsigned row, unsigned height,
		  unsigned least);

void draw_help(struct grid *grid, unsigned row, unsigned height);

// 0 if there is none above.
double draw_greatest(const double *values, unsigned n);

// "12.3 Gb/s": a rate with its unit.
void draw_rate(double value, const char *unit, char text[24]);

// What a section is called, and the key that it is reached by.
const char *draw_section_name(unsigned section);
char draw_section_key(unsigned section);
