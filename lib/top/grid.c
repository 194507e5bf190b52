// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EIGHTHS    8
#define BLOCK_1_8  0x2581u // the lowest eighth; those up to the full block follow
#define BLOCK_FULL 0x2588u
#define SHADE_DARK 0x2593u
#define SHADE_THIN 0x2591u
#define LINE       0x2500u

bool grid_make(struct grid *grid, unsigned rows, unsigned columns, bool ascii)
{
	*grid = (struct grid){ .rows = rows, .columns = columns, .ascii = ascii };
	grid->cells = calloc((size_t)rows * columns + 1, sizeof(*grid->cells));
	if (grid->cells == NULL)
		return false;
	for (unsigned row = 0; row < rows; row++)
		grid_fill(grid, row, 0, columns, ' ', GRID_PLAIN);
	return true;
}

void grid_free(struct grid *grid)
{
	free(grid->cells);
	*grid = (struct grid){ 0 };
}

void grid_put(struct grid *grid, unsigned row, unsigned column, uint32_t code,
	      enum grid_style style)
{
	if (row >= grid->rows || column >= grid->columns)
		return;
	grid->cells[row * grid->columns + column] =
	    (struct grid_cell){ .code = code, .style = (uint8_t)style };
}

void grid_fill(struct grid *grid, unsigned row, unsigned column, unsigned width, uint32_t code,
	       enum grid_style style)
{
	for (unsigned i = 0; i < width && column + i < grid->columns; i++)
		grid_put(grid, row, column + i, code, style);
}

unsigned grid_text(struct grid *grid, unsigned row, unsigned column, unsigned width,
		   enum grid_style style, const char *text)
{
	for (unsigned i = 0; i < width && text[i] != '\0'; i++, column++) {
		char c = text[i];

		grid_put(grid, row, column, c >= ' ' && c <= '~' ? (uint32_t)c : '?', style);
	}
	return column;
}

void grid_right(struct grid *grid, unsigned row, unsigned column, unsigned width,
		enum grid_style style, const char *text)
{
	unsigned length = (unsigned)strlen(text);

	if (length < width)
		column += width - length;
	(void)grid_text(grid, row, column, width, style, text);
}

static double within(double value)
{
	return value > 0 ? fmin(value, 1) : 0; // NAN counts as 0
}

void grid_bar(struct grid *grid, unsigned row, unsigned column, unsigned width, double first,
	      double second, enum grid_style style)
{
	unsigned full = (unsigned)lround(within(first) * width);
	unsigned marked = (unsigned)lround(within(within(first) + within(second)) * width);

	// A share above 0 gets at least one cell.
	if (full == 0 && first > 0.001 && width > 0)
		full = 1;
	if (marked <= full && second > 0.001 && full < width)
		marked = full + 1;
	for (unsigned i = 0; i < width; i++) {
		if (i < full)
			grid_put(grid, row, column + i, grid->ascii ? '#' : BLOCK_FULL, style);
		else if (i < marked)
			grid_put(grid, row, column + i, grid->ascii ? '!' : SHADE_DARK, GRID_WARN);
		else
			grid_put(grid, row, column + i, grid->ascii ? '.' : SHADE_THIN, GRID_DIM);
	}
}

// The character for the part of a bar that lies in one row, in eighths of a row.
static uint32_t bar_piece(const struct grid *grid, int eighths)
{
	static const char steps[] = " ._-=+*%#"; // the denser, the higher

	if (eighths <= 0)
		return ' ';
	if (eighths > EIGHTHS)
		eighths = EIGHTHS;
	return grid->ascii ? (uint32_t)steps[eighths] : BLOCK_1_8 + (uint32_t)eighths - 1;
}

void grid_chart(struct grid *grid, unsigned row, unsigned column, unsigned height, unsigned width,
		const double *values, unsigned n, double most, enum grid_style style)
{
	unsigned shown = n < width ? n : width;

	for (unsigned i = 0; i < shown; i++) {
		double value = values[n - shown + i];
		int eighths;

		if (isnan(value))
			continue;
		eighths =
		    most > 0 ? (int)lround(within(value / most) * (double)(height * EIGHTHS)) : 0;
		// A value above 0 is never blank.
		if (eighths == 0)
			eighths = value > 0;
		for (unsigned line = 0; line < height; line++)
			grid_put(grid, row + height - 1 - line, column + width - shown + i,
				 bar_piece(grid, eighths - (int)(line * EIGHTHS)), style);
	}
}

void grid_rule(struct grid *grid, unsigned row, unsigned column, unsigned width, const char *title)
{
	uint32_t line = grid->ascii ? '-' : LINE;
	unsigned end;

	grid_fill(grid, row, column, width, line, GRID_DIM);
	if (width < 6)
		return;
	grid_put(grid, row, column + 1, ' ', GRID_PLAIN);
	end = grid_text(grid, row, column + 2, width - 4, GRID_BOLD, title);
	grid_put(grid, row, end, ' ', GRID_PLAIN);
}
