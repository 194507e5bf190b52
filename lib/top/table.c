// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "top/numbers.h"

#define MARK          2 // cells for the severity before a line
#define LAST_PRIORITY 9

double table_value(const struct table_line *line, unsigned field)
{
	return line->now->values[field];
}

double table_rate(const struct table_line *line, unsigned field)
{
	if (line->before == NULL || line->seconds <= 0)
		return (double)NAN;
	return (line->now->values[field] - line->before->values[field]) / line->seconds;
}

// --- lines ---------------------------------------------------------------------------------------

static bool passes(const struct sample_item *item, const char *filter)
{
	return filter[0] == '\0' || strcasestr(item->name, filter) != NULL ||
	       strcasestr(item->note, filter) != NULL || strcasestr(item->cause, filter) != NULL;
}

// What qsort() is to compare by. One thread draws.
static const struct table *sorted_table;
static const struct table_order *sorted_by;

static double sort_key(const struct table_line *line)
{
	const struct table_column *column;

	if (sorted_by->column < 0)
		return sorted_table->badness != NULL ? sorted_table->badness(line) : 0;
	column = &sorted_table->columns[sorted_by->column];
	return column->value != NULL ? column->value(line) : 0;
}

static int compare_text(const struct table_line *a, const struct table_line *b)
{
	const struct table_column *column;

	if (sorted_by->column < 0)
		return 0;
	column = &sorted_table->columns[sorted_by->column];
	return column->text != NULL ? strcmp(column->text(a), column->text(b)) : 0;
}

// The largest number first, text from A to Z, and else as the appliance lists them.
static int compare(const void *left, const void *right)
{
	const struct table_line *a = left, *b = right;
	double of_a = sort_key(a), of_b = sort_key(b);
	int result = (of_a < of_b) - (of_a > of_b);

	if (isnan(of_a) || isnan(of_b))
		result = isnan(of_a) - isnan(of_b);
	if (sorted_by->column < 0 && a->severity != b->severity)
		result = a->severity < b->severity ? 1 : -1;
	if (result == 0)
		result = compare_text(a, b);
	if (sorted_by->reverse)
		result = -result;
	return result != 0 ? result : (a->now > b->now) - (a->now < b->now);
}

static struct table_line line_of(const struct model_node *node, enum sample_group group,
				 unsigned index)
{
	const struct sample_item *item = &node->now.groups[group].items[index];

	return (struct table_line){
		.node = node,
		.now = item,
		.before = node->has_before
			      ? sample_find(&node->before.groups[group], item->name, index)
			      : NULL,
		.seconds = model_seconds(node),
	};
}

unsigned table_severity(const struct table *table, const struct model_node *node,
			enum sample_group group)
{
	unsigned worst = 0;

	for (unsigned i = 0; i < node->now.groups[group].n; i++) {
		const struct table_line line = line_of(node, group, i);
		unsigned severity = table->severity(&line);

		worst = severity > worst ? severity : worst;
	}
	return worst;
}

struct table_line *table_lines(const struct table *table, const struct model_node *node,
			       enum sample_group group, const struct table_order *order,
			       unsigned *n)
{
	const struct sample_list *list = &node->now.groups[group];
	struct table_line *lines = calloc(list->n > 0 ? list->n : 1, sizeof(*lines));
	unsigned kept = 0;
	double leader;

	*n = 0;
	if (lines == NULL)
		return NULL;
	for (unsigned i = 0; i < list->n; i++)
		lines[i] = line_of(node, group, i);
	leader = table->leader != NULL ? table->leader(lines, list->n) : 0;
	for (unsigned i = 0; i < list->n; i++) {
		lines[i].leader = leader;
		lines[i].severity = table->severity(&lines[i]);
		if (passes(lines[i].now, order->filter))
			lines[kept++] = lines[i];
	}
	sorted_table = table;
	sorted_by = order;
	qsort(lines, kept, sizeof(*lines), compare);
	*n = kept;
	return lines;
}

// --- drawing -------------------------------------------------------------------------------------

// Chooses the columns that fit, the important ones first. Returns the cells that are left over.
static unsigned fit(const struct table *table, unsigned width, bool *shown)
{
	unsigned used = 0;

	for (unsigned limit = LAST_PRIORITY + 1; limit-- > 0;) {
		used = MARK;
		for (unsigned i = 0; i < table->n_columns; i++) {
			shown[i] = table->columns[i].priority <= limit;
			used += shown[i] ? table->columns[i].width + 1u : 0;
		}
		// Behind the last one no cell is left free.
		if (used <= width + 1)
			return width + 1 - used;
	}
	return 0;
}

static void format(const struct table_column *column, double value, char text[NUMBERS_SIZE])
{
	if (column->kind == TABLE_SHARE)
		numbers_share(value, text);
	else if (column->kind == TABLE_TIME)
		numbers_time(value, text);
	else
		numbers_count(value, text);
}

static void draw_cell(struct grid *grid, const struct table_column *column,
		      const struct table_line *line, unsigned row, unsigned at, unsigned width,
		      enum grid_style style)
{
	char text[NUMBERS_SIZE];

	if (column->kind == TABLE_TEXT) {
		(void)grid_text(grid, row, at, width, style, column->text(line));
	} else if (column->kind == TABLE_BAR) {
		grid_bar(grid, row, at, width, column->value(line),
			 column->second != NULL ? column->second(line) : 0,
			 style == GRID_PLAIN ? GRID_GOOD : style);
	} else {
		format(column, column->value(line), text);
		grid_right(grid, row, at, width, style, text);
	}
}

static enum grid_style style_of(unsigned severity, bool faded)
{
	if (faded)
		return GRID_DIM;
	return severity == 2 ? GRID_BAD : severity == 1 ? GRID_WARN : GRID_PLAIN;
}

static void draw_heading(struct grid *grid, const struct table_column *column, unsigned row,
			 unsigned at, unsigned width, bool sorted)
{
	enum grid_style style = sorted ? GRID_SORTED : GRID_HEAD;

	if (column->kind == TABLE_TEXT || column->kind == TABLE_BAR)
		(void)grid_text(grid, row, at, width, style, column->title);
	else
		grid_right(grid, row, at, width, style, column->title);
}

void table_draw(struct grid *grid, const struct table *table, const struct table_line *lines,
		unsigned n, unsigned first, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct table_order *order, bool faded)
{
	bool shown[TABLE_MOST_COLUMNS] = { false };
	unsigned left = fit(table, width, shown), at = column + MARK;

	grid_fill(grid, row, column, width, ' ', GRID_HEAD);
	for (unsigned i = 0; i < table->n_columns; i++) {
		const struct table_column *one = &table->columns[i];
		unsigned cells = one->width + (one->flexible ? left : 0);

		if (!shown[i])
			continue;
		if (at + cells > column + width)
			cells = at < column + width ? column + width - at : 0;
		draw_heading(grid, one, row, at, cells, order->column == (int)i);
		for (unsigned j = 0; j + 1 < height && first + j < n; j++)
			draw_cell(grid, one, &lines[first + j], row + 1 + j, at, cells,
				  style_of(lines[first + j].severity, faded));
		at += cells + 1;
	}
	for (unsigned j = 0; j + 1 < height && first + j < n; j++)
		if (lines[first + j].severity > 0)
			grid_put(grid, row + 1 + j, column,
				 lines[first + j].severity == 2 ? '!' : '*',
				 style_of(lines[first + j].severity, faded));
}
