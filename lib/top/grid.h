// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The content of a screen: rows of cells, each with a character and a style. The views draw it, and
// screen.h shows it. Parts that do not fit are cut off.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// The meaning of a cell. No information depends on a style alone, as some terminals show none.
enum grid_style {
	GRID_PLAIN,
	GRID_DIM,   // of less interest
	GRID_BOLD,  // headings and important figures
	GRID_TITLE, // a bar across the screen
	GRID_GOOD,
	GRID_WARN,
	GRID_BAD,
	GRID_CHOSEN, // the row on which keys act
	GRID_PLOT,   // history
	GRID_HEAD,   // titles of columns
	GRID_SORTED, // title of the column that the lines are sorted by
	GRID_N_STYLES,
};

struct grid_cell {
	uint32_t code; // Unicode
	uint8_t style;
};

struct grid {
	unsigned rows, columns;
	bool ascii; // only ASCII characters may be used
	struct grid_cell *cells;
};

// A blank screen. Returns false if memory ran out. To be freed with grid_free(), also then.
bool grid_make(struct grid *grid, unsigned rows, unsigned columns, bool ascii);
void grid_free(struct grid *grid);

// Sets one cell; ignores cells outside of the screen.
void grid_put(struct grid *grid, unsigned row, unsigned column, uint32_t code,
	      enum grid_style style);

// Writes a text in at most `width` cells. Bytes other than printable ASCII are shown as '?'.
// Returns the column behind the text.
unsigned grid_text(struct grid *grid, unsigned row, unsigned column, unsigned width,
		   enum grid_style style, const char *text);

// The same, aligned to the right of the `width` cells.
void grid_right(struct grid *grid, unsigned row, unsigned column, unsigned width,
		enum grid_style style, const char *text);

// Fills `width` cells.
void grid_fill(struct grid *grid, unsigned row, unsigned column, unsigned width, uint32_t code,
	       enum grid_style style);

// A bar of `width` cells: the share `first` is full, the share `second` marked, the rest empty.
void grid_bar(struct grid *grid, unsigned row, unsigned column, unsigned width, double first,
	      double second, enum grid_style style);

// Bars, `height` rows high with the lowest in row + height - 1, of the last `width` of n values,
// scaled to `most`. Values that are NAN are blank.
void grid_chart(struct grid *grid, unsigned row, unsigned column, unsigned height, unsigned width,
		const double *values, unsigned n, double most, enum grid_style style);

// A line across, "-- title ------".
void grid_rule(struct grid *grid, unsigned row, unsigned column, unsigned width, const char *title);
