// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A screen as it is to look: rows of cells, each a character and a style. Drawn by the views,
// shown by whatever has a terminal. What does not fit is cut.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// What a cell means. Nothing is said by a style alone, for there are terminals without.
enum grid_style {
	GRID_PLAIN,
	GRID_DIM,   // of less interest
	GRID_BOLD,  // headings and figures that matter
	GRID_TITLE, // a bar across the screen
	GRID_GOOD,
	GRID_WARN,
	GRID_BAD,
	GRID_CHOSEN, // row or tab that keys act on
	GRID_PLOT,   // history
	GRID_HEAD,   // titles of columns
	GRID_SORTED, // of the one that is sorted by
	GRID_N_STYLES,
};

struct grid_cell {
	uint32_t code; // Unicode
	uint8_t style;
};

struct grid {
	unsigned rows, columns;
	bool ascii; // no character but those of ASCII may be used
	struct grid_cell *cells;
};

// A blank screen. Returns false if memory ran out. To be freed with grid_free(), also then.
bool grid_make(struct grid *grid, unsigned rows, unsigned columns, bool ascii);
void grid_free(struct grid *grid);

// One cell; nothing outside of the screen.
void grid_put(struct grid *grid, unsigned row, unsigned column, uint32_t code,
	      enum grid_style style);

// Text from a column on, in at most `width` cells. Bytes that are no printable ASCII are shown as
// '?'. Returns the column behind it.
unsigned grid_text(struct grid *grid, unsigned row, unsigned column, unsigned width,
		   enum grid_style style, const char *text);

// The same, ending at the right of its `width` cells.
void grid_right(struct grid *grid, unsigned row, unsigned column, unsigned width,
		enum grid_style style, const char *text);

// Fills `width` cells.
void grid_fill(struct grid *grid, unsigned row, unsigned column, unsigned width, uint32_t code,
	       enum grid_style style);

// A bar of `width` cells: `first` of it full, `second` marked, the rest empty; shares of 1.
void grid_bar(struct grid *grid, unsigned row, unsigned column, unsigned width, double first,
	      double second, enum grid_style style);

// The last `width` of n values as a line of bars, scaled to `most`. Values that are NAN are
// blank.
void grid_sparkline(struct grid *grid, unsigned row, unsigned column, unsigned width,
		    const double *values, unsigned n, double most, enum grid_style style);

// The same, `height` rows high, the lowest in row + height - 1.
void grid_chart(struct grid *grid, unsigned row, unsigned column, unsigned height, unsigned width,
		const double *values, unsigned n, double most, enum grid_style style);

// A line across, "-- title ------".
void grid_rule(struct grid *grid, unsigned row, unsigned column, unsigned width, const char *title);
