// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes side by side, the history in large, and the help.
#include <math.h>
#include <stdio.h>

#include "top/draw.h"
#include "top/numbers.h"

#define NAME_WIDTH 14

// --- nodes ---------------------------------------------------------------------------------------

// A column shows the latest value of a plot, or a figure; the first one is the state.
static const struct node_column {
	const char *title;
	unsigned width;
	void (*format)(double value, char text[NUMBERS_SIZE]);
	double (*figure)(const struct model_node *node); // NULL: the plot
	enum model_plot plot;
} node_columns[] = {
	{ .title = "state", .width = 8 },
	{ "ev/s", 6, numbers_count, .plot = MODEL_EVENTS },
	{ "b/s", 6, numbers_count, .plot = MODEL_BITS },
	{ "compl.", 6, numbers_share, .figure = model_completeness },
	{ "lost/s", 6, numbers_count, .figure = model_losses },
	{ "p99", 6, numbers_time, .plot = MODEL_LATENCY },
	{ "slots", 6, numbers_share, .figure = model_slots_used },
	{ "lcore", 6, numbers_share, .figure = model_busiest },
};

#define N_COLUMNS (sizeof(node_columns) / sizeof(node_columns[0]))

bool draw_is_bad(const cJSON *finding)
{
	return sample_number(finding, "severity") >= 2;
}

double draw_last(const struct model_node *node, enum model_plot plot)
{
	return node->n_plots > 0 ? node->plots[plot][node->n_plots - 1] : (double)NAN;
}

// Draws the cells of a node, or the titles if node is NULL. Returns the column behind them; 0 if
// they do not fit.
static unsigned draw_cells(struct grid *grid, const struct model_node *node, unsigned row,
			   enum grid_style style)
{
	unsigned at = 2 + NAME_WIDTH + 1;

	for (const struct node_column *c = node_columns; c < node_columns + N_COLUMNS; c++) {
		char number[NUMBERS_SIZE] = "-";

		if (at + c->width > grid->columns)
			return 0;
		// The figures of a node that is down are old.
		if (node != NULL && node->up && c->format != NULL)
			c->format(c->figure != NULL ? c->figure(node) : draw_last(node, c->plot),
				  number);
		if (c == node_columns)
			(void)grid_text(grid, row, at, c->width, style,
					node == NULL ? c->title : model_state(node));
		else
			grid_right(grid, row, at, c->width, style,
				   node == NULL ? c->title : number);
		at += c->width + 1;
	}
	return at;
}

static void draw_node_line(struct grid *grid, const struct model_node *node, bool chosen,
			   unsigned row)
{
	const cJSON *finding = node->up ? sample_diagnosis(&node->now) : NULL;
	bool bad = draw_is_bad(finding) || (!node->up && !model_has_ended(node)) ||
		   (node->up && model_losses(node) > 0);
	enum grid_style style = bad                     ? GRID_BAD
				: finding != NULL       ? GRID_WARN
				: model_has_ended(node) ? GRID_DIM
							: GRID_PLAIN;
	unsigned at;

	grid_put(grid, row, 0, chosen ? '>' : ' ', GRID_BOLD);
	grid_put(grid, row, 1, bad ? '!' : finding != NULL ? '*' : ' ', style);
	(void)grid_text(grid, row, 2, NAME_WIDTH, chosen ? GRID_CHOSEN : style, node->name);
	at = draw_cells(grid, node, row, style);
	if (at > 0 && grid->columns > at + 8 && finding != NULL)
		(void)grid_text(grid, row, at, grid->columns - at, style,
				sample_key(finding, "sentence"));
	else if (at > 0 && grid->columns > at + 8)
		grid_chart(grid, row, at, 1, grid->columns - at - 1, node->plots[MODEL_EVENTS],
			   node->n_plots, draw_greatest(node->plots[MODEL_EVENTS], node->n_plots),
			   GRID_PLOT);
}

unsigned draw_nodes(struct grid *grid, const struct view *view, const struct model *model,
		    unsigned row, unsigned height)
{
	unsigned lines = height > 0 ? height - 1 : 0, first = 0;

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
	(void)draw_cells(grid, NULL, row, GRID_DIM);
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
	{ "events", "ev/s", MODEL_EVENTS },    { "built", "b/s", MODEL_BITS },
	{ "latency, p99", "", MODEL_LATENCY }, { "slots in use", "", MODEL_SLOTS },
	{ "lost", "/s", MODEL_LOSSES },
};

#define N_PLOTS (sizeof(plots) / sizeof(plots[0]))

static void name_plot(enum model_plot plot, const char *unit, double value, char text[24])
{
	char number[NUMBERS_SIZE];

	if (plot != MODEL_LATENCY && plot != MODEL_SLOTS) {
		draw_rate(value, unit, text);
		return;
	}
	if (plot == MODEL_LATENCY)
		numbers_time(value, number);
	else
		numbers_share(value, number);
	snprintf(text, 24, "%s", number);
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

		name_plot(plots[i].plot, plots[i].unit, draw_last(node, plots[i].plot), now);
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
	"c u o t     builders of the system, readouts, RoCE, steps of control",
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
