// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "top/numbers.h"

#define MARK          2 // cells for the severity before a line
#define LAST_PRIORITY 9

// --- values --------------------------------------------------------------------------------------

static double sum(const struct table_line *line, const char *const metrics[TABLE_MAX_METRICS],
		  bool rate)
{
	double result = 0;
	unsigned i = 0;

	if (rate && (line->before == NULL || line->seconds <= 0))
		return (double)NAN;
	// An item that is itself a number has a metric without a name.
	do {
		double value = sample_metric(line->now, metrics[i]);

		result += rate ? (value - sample_metric(line->before, metrics[i])) / line->seconds
			       : value;
	} while (++i < TABLE_MAX_METRICS && metrics[i] != NULL);
	return result;
}

static double measure(const struct table_line *line, const struct table_measure *of)
{
	double result;

	if (of->known != NULL && !(sample_metric(line->now, of->known) > 0))
		return (double)NAN;
	if (of->share != 0)
		return line->before != NULL
			   ? sample_quantile(line->before, line->now, of->metrics[0], of->share)
			   : (double)NAN;
	result = sum(line, of->metrics, of->rate);
	if (of->of[0] != NULL)
		result /= sum(line, of->of, of->rate);
	if (of->complement)
		result = 1 - result;
	if (of->behind)
		result = line->largest - result;
	return of->scale != 0 ? result * of->scale : result;
}

// The text of a column, or NULL if it shows a number.
static const char *text_of(const struct table_line *line, const struct table_column *column)
{
	switch (column->show) {
	case TABLE_NAME:
		return line->now->name;
	case TABLE_NOTE:
		return line->now->note;
	case TABLE_CAUSE:
		return line->now->cause[0] != '\0' ? line->now->cause : "-";
	case TABLE_LINK:
		return measure(line, &column->measure) == 0 ? "down" : "up";
	default:
		return NULL;
	}
}

static enum table_severity judge(const struct table *table, const struct table_line *line)
{
	enum table_severity worst = TABLE_WELL;

	for (unsigned i = 0; i < TABLE_MAX_RULES && table->rules[i].severity != TABLE_WELL; i++) {
		const struct table_rule *rule = &table->rules[i];

		if (rule->severity > worst && measure(line, &rule->measure) > rule->above)
			worst = rule->severity;
	}
	return worst;
}

// --- lines ---------------------------------------------------------------------------------------

static bool passes(const struct sample_item *item, const char *filter)
{
	return filter[0] == '\0' || strcasestr(item->name, filter) != NULL ||
	       strcasestr(item->note, filter) != NULL || strcasestr(item->cause, filter) != NULL;
}

static void set_keys(const struct table *table, struct table_line *line,
		     const struct table_order *order)
{
	const struct table_column *column;
	const char *text;

	line->text = "";
	if (order->column < 0) {
		line->keys[0] = line->severity;
		for (unsigned i = 0; i < TABLE_MAX_BADNESS && table->badness[i].metrics[0]; i++)
			line->keys[1 + i] = measure(line, &table->badness[i]);
		return;
	}
	column = &table->columns[order->column];
	text = text_of(line, column);
	if (text != NULL)
		line->text = text;
	else
		line->keys[0] = measure(line, &column->measure);
}

// The largest number first, unknown ones last.
static int compare_numbers(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

// For qsort_r(): by keys, then by text from A to Z, and else in the appliance's order.
static int compare(const void *left, const void *right, void *order)
{
	const struct table_line *a = left, *b = right;
	int result = 0;

	for (unsigned i = 0; i < TABLE_MAX_KEYS && result == 0; i++)
		result = compare_numbers(a->keys[i], b->keys[i]);
	if (result == 0)
		result = strverscmp(a->text, b->text);
	if (((const struct table_order *)order)->reverse)
		result = -result;
	return result != 0 ? result : (a->now > b->now) - (a->now < b->now);
}

static struct table_line line_of(const struct model_node *node, enum sample_group group,
				 unsigned index)
{
	const struct sample_item *item = &node->now.groups[group].items[index];

	return (struct table_line){
		.now = item,
		.before = node->has_before
			      ? sample_find(&node->before.groups[group], item->name, index)
			      : NULL,
		.seconds = model_seconds(node),
	};
}

bool table_has_losses(const struct model_node *node, enum sample_group group)
{
	for (unsigned i = 0; i < node->now.groups[group].n; i++) {
		const struct table_line line = line_of(node, group, i);

		if (judge(&tables[group], &line) == TABLE_LOST)
			return true;
	}
	return false;
}

// The largest value, over all lines, of what a rule compares.
static double find_largest(const struct table *table, const struct table_line *lines, unsigned n)
{
	double largest = 0;

	for (unsigned rule = 0; rule < TABLE_MAX_RULES; rule++)
		for (unsigned i = 0; table->rules[rule].measure.behind && i < n; i++)
			largest = fmax(largest,
				       sum(&lines[i], table->rules[rule].measure.metrics, false));
	return largest;
}

struct table_line *table_lines(const struct model_node *node, enum sample_group group,
			       const struct table_order *order, unsigned *n)
{
	const struct table *table = &tables[group];
	const struct sample_list *list = &node->now.groups[group];
	struct table_line *lines = calloc(list->n + 1u, sizeof(*lines));
	struct table_order by = *order;
	double largest;

	*n = 0;
	if (lines == NULL)
		return NULL;
	for (unsigned i = 0; i < list->n; i++)
		lines[i] = line_of(node, group, i);
	largest = find_largest(table, lines, list->n);
	for (unsigned i = 0; i < list->n; i++) {
		lines[i].largest = largest;
		lines[i].severity = judge(table, &lines[i]);
		set_keys(table, &lines[i], order);
		if (passes(lines[i].now, order->filter))
			lines[(*n)++] = lines[i];
	}
	qsort_r(lines, *n, sizeof(*lines), compare, &by);
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

static void draw_cell(struct grid *grid, const struct table_column *column,
		      const struct table_line *line, unsigned row, unsigned at, unsigned width,
		      enum grid_style style)
{
	const char *text = text_of(line, column);
	double value = text == NULL ? measure(line, &column->measure) : 0;
	char number[NUMBERS_SIZE];

	if (text != NULL) {
		(void)grid_text(grid, row, at, width, style, text);
		return;
	}
	if (column->show == TABLE_BAR) {
		grid_bar(grid, row, at, width, value,
			 column->second.metrics[0] != NULL ? measure(line, &column->second) : 0,
			 style == GRID_PLAIN ? GRID_GOOD : style);
		return;
	}
	if (column->show == TABLE_SHARE)
		numbers_share(value, number);
	else if (column->show == TABLE_TIME)
		numbers_time(value, number);
	else
		numbers_count(value, number);
	grid_right(grid, row, at, width, style, number);
}

static enum grid_style style_of(enum table_severity severity, bool faded)
{
	if (faded)
		return GRID_DIM;
	return severity == TABLE_LOST ? GRID_BAD : severity == TABLE_LOOK ? GRID_WARN : GRID_PLAIN;
}

static void draw_heading(struct grid *grid, const struct table_column *column, unsigned row,
			 unsigned at, unsigned width, bool sorted)
{
	enum grid_style style = sorted ? GRID_SORTED : GRID_HEAD;

	if (column->show <= TABLE_LINK || column->show == TABLE_BAR)
		(void)grid_text(grid, row, at, width, style, column->title);
	else
		grid_right(grid, row, at, width, style, column->title);
}

void table_draw(struct grid *grid, const struct table *table, const struct table_line *lines,
		unsigned n, unsigned first, unsigned row, unsigned column, unsigned height,
		unsigned width, const struct table_order *order, bool faded)
{
	bool shown[TABLE_MAX_COLUMNS] = { false };
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
		if (lines[first + j].severity != TABLE_WELL)
			grid_put(grid, row + 1 + j, column,
				 lines[first + j].severity == TABLE_LOST ? '!' : '*',
				 style_of(lines[first + j].severity, faded));
}
