// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes side by side, the history in large, and the help.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "top/draw.h"
#include "top/numbers.h"

#define NAME_WIDTH 14

// --- nodes ---------------------------------------------------------------------------------------

struct node_column {
	const char *title;
	unsigned width;
};

static const struct node_column node_columns[] = {
	{ "state", 8 },  { "ev/s", 6 }, { "bit/s", 6 }, { "compl.", 6 },
	{ "lost/s", 6 }, { "p99", 6 },  { "slots", 6 }, { "lcore", 6 },
};

#define N_COLUMNS (sizeof(node_columns) / sizeof(node_columns[0]))

static double last_plot(const struct model_node *node, enum model_plot plot)
{
	return node->n_plots > 0 ? node->plots[plot][node->n_plots - 1] : (double)NAN;
}

static void format_cell(const struct model_node *node, size_t column, char text[24])
{
	char number[NUMBERS_SIZE] = "-";

	// The figures of a node that is down are old.
	switch (node->up || column == 0 ? column : N_COLUMNS) {
	case 0:
		snprintf(text, 24, "%s",
			 node->up ? sample_text(&node->now, "info", "state") : "DOWN");
		return;
	case 1:
		numbers_count(last_plot(node, MODEL_EVENTS), number);
		break;
	case 2:
		numbers_count(last_plot(node, MODEL_BITS), number);
		break;
	case 3:
		numbers_share(model_completeness(node), number);
		break;
	case 4:
		numbers_count(model_losses(node), number);
		break;
	case 5:
		numbers_time(last_plot(node, MODEL_LATENCY), number);
		break;
	case 6:
		numbers_share(model_slots_used(node), number);
		break;
	case 7:
		numbers_share(model_busiest(node), number);
		break;
	default:
		break;
	}
	snprintf(text, 24, "%s", number);
}

static void draw_node_line(struct grid *grid, const struct model_node *node, bool chosen,
			   unsigned row)
{
	bool bad = !node->up || model_losses(node) > 0;
	enum grid_style style = bad ? GRID_BAD : GRID_PLAIN;
	unsigned at = 2 + NAME_WIDTH + 1;
	char text[24];

	grid_put(grid, row, 0, chosen ? '>' : ' ', GRID_BOLD);
	grid_put(grid, row, 1, bad ? '!' : ' ', style);
	(void)grid_text(grid, row, 2, NAME_WIDTH, chosen ? GRID_CHOSEN : style, node->name);
	for (size_t i = 0; i < N_COLUMNS; i++) {
		if (at + node_columns[i].width > grid->columns)
			return;
		format_cell(node, i, text);
		if (i == 0)
			(void)grid_text(grid, row, at, node_columns[i].width, style, text);
		else
			grid_right(grid, row, at, node_columns[i].width, style, text);
		at += node_columns[i].width + 1;
	}
	if (grid->columns > at + 8)
		grid_chart(grid, row, at, 1, grid->columns - at - 1, node->plots[MODEL_EVENTS],
			   node->n_plots, draw_greatest(node->plots[MODEL_EVENTS], node->n_plots),
			   GRID_PLOT);
}

unsigned draw_nodes(struct grid *grid, const struct view *view, const struct model *model,
		    unsigned row, unsigned height)
{
	unsigned at = 2 + NAME_WIDTH + 1, lines = height > 0 ? height - 1 : 0, first = 0;

	if (lines == 0)
		return 0;
	if (lines > model->n_nodes)
		lines = model->n_nodes;
	// The shown node is always among the lines.
	if (view->node >= lines)
		first = view->node - lines + 1;
	if (first + lines > model->n_nodes)
		first = model->n_nodes - lines;
	(void)grid_text(grid, row, 2, NAME_WIDTH, GRID_DIM, "node");
	for (size_t i = 0; i < N_COLUMNS && at + node_columns[i].width <= grid->columns; i++) {
		if (i == 0)
			(void)grid_text(grid, row, at, node_columns[i].width, GRID_DIM,
					node_columns[i].title);
		else
			grid_right(grid, row, at, node_columns[i].width, GRID_DIM,
				   node_columns[i].title);
		at += node_columns[i].width + 1;
	}
	for (unsigned i = 0; i < lines; i++)
		draw_node_line(grid, model->nodes[first + i], first + i == view->node, row + 1 + i);
	return lines + 1;
}

// --- history -------------------------------------------------------------------------------------

static const struct {
	const char *title;
	const char *unit;
	enum model_plot plot;
} plots[] = {
	{ "events", "ev/s", MODEL_EVENTS },    { "built", "bit/s", MODEL_BITS },
	{ "latency, p99", "", MODEL_LATENCY }, { "slots in use", "", MODEL_SLOTS },
	{ "lost", "/s", MODEL_LOSSES },
};

#define N_PLOTS (sizeof(plots) / sizeof(plots[0]))

static void name_plot(enum model_plot plot, const char *unit, double value, char text[24])
{
	char number[NUMBERS_SIZE];

	if (plot == MODEL_LATENCY) {
		numbers_time(value, number);
		snprintf(text, 24, "%s", number);
	} else if (plot == MODEL_SLOTS) {
		numbers_share(value, number);
		snprintf(text, 24, "%s", number);
	} else {
		draw_rate(value, unit, text);
	}
}

void draw_history(struct grid *grid, const struct model_node *node, unsigned row, unsigned height,
		  unsigned least)
{
	unsigned n = height / least < N_PLOTS ? height / least : N_PLOTS;
	unsigned each = n > 0 ? height / n : 0;

	for (unsigned i = 0; i < n; i++) {
		const double *values = node->plots[plots[i].plot];
		unsigned width = grid->columns > 2 ? grid->columns - 2 : 0;
		unsigned shown = node->n_plots < width ? node->n_plots : width;
		char now[24], most[24], title[96];
		double highest = draw_greatest(values + node->n_plots - shown, shown);

		name_plot(plots[i].plot, plots[i].unit, last_plot(node, plots[i].plot), now);
		name_plot(plots[i].plot, plots[i].unit, highest, most);
		snprintf(title, sizeof(title), "%s: %s, at most %s", plots[i].title, now, most);
		grid_rule(grid, row, 0, grid->columns, title);
		grid_chart(grid, row + 1, 1, each - 1, width, values, node->n_plots,
			   plots[i].plot == MODEL_SLOTS ? 1 : highest,
			   node->up ? GRID_PLOT : GRID_DIM);
		row += each;
	}
}

// --- help ----------------------------------------------------------------------------------------

static const char *const help[] = {
	"0 Esc       overview",
	"1 ... 9     lcores, links, builders, consumers, sources,",
	"            ports, generators, writers, scheduler",
	"c u o       builders of the system, readouts, RoCE",
	"h n         history, all nodes",
	"Tab, left, right   next or previous node",
	"s r         sort by the next column, reverse; S: the usual order",
	"/           show only lines that contain a text: name, role, cause",
	"arrows, PgUp, PgDn, Home, End   scroll",
	"p space     hold the screen, resume",
	"q           quit",
	"",
	"! something is lost, * worth a look, - not known.",
	"Rates are averages since the sample before.",
	"backpressured (lcores): time in which a role could not go on, since",
	"  the link to its consumer was full; links name the slow consumer.",
	"lag (sources): events behind the source that is furthest ahead.",
	"lost (sources): blocks missing or malformed, segments dropped.",
	"PFC< PFC>: pause frames received and sent per second.",
	"flying (system): events granted and not finished.",
};

void draw_help(struct grid *grid, unsigned row, unsigned height)
{
	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]) && i < height; i++)
		(void)grid_text(grid, row + (unsigned)i, 2, grid->columns, GRID_PLAIN, help[i]);
}
