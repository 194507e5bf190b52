// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The overview: the headline, and as many lines of each table as fit.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/draw.h"
#include "top/numbers.h"

#define LABEL      9   // cells before a figure
#define PLOT_AT    22  // where sparklines begin
#define WIDE       120 // columns; a wider screen has two columns of panels
#define LEAST_PLOT 8
#define PLOT_ROWS  4 // of the history below the tables
#define MORE       7 // cells for "+123:5"
#define PANELS     SAMPLE_N_GROUPS

void draw_rate(double value, const char *unit, char text[24])
{
	char number[NUMBERS_SIZE];
	size_t length;

	numbers_count(value, number);
	for (length = 0; number[length] == '-' || number[length] == '.' || number[length] == '>' ||
			 (number[length] >= '0' && number[length] <= '9');
	     length++)
		;
	// The letter of the scale is part of the unit.
	snprintf(text, 24, "%.*s %s%s", (int)length, number, number + length, unit);
}

// --- headline ------------------------------------------------------------------------------------

double draw_greatest(const double *values, unsigned n)
{
	double most = 0;

	for (unsigned i = 0; i < n; i++)
		if (values[i] > most)
			most = values[i];
	return most;
}

static void draw_plot(struct grid *grid, const struct model_node *node, enum model_plot plot,
		      unsigned row, unsigned column, enum grid_style style)
{
	unsigned width = grid->columns > column + 1 ? grid->columns - column - 1 : 0;
	unsigned shown = node->n_plots < width ? node->n_plots : width;
	double most = plot == MODEL_SLOTS
			  ? 1
			  : draw_greatest(node->plots[plot] + node->n_plots - shown, shown);

	if (width >= LEAST_PLOT)
		grid_chart(grid, row, column, 1, width, node->plots[plot], node->n_plots, most,
			   node->up ? style : GRID_DIM);
}

static void draw_figure(struct grid *grid, const struct model_node *node, unsigned row,
			const char *label, const char *value, enum model_plot plot)
{
	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, label);
	(void)grid_text(grid, row, LABEL, PLOT_AT - LABEL - 1, node->up ? GRID_BOLD : GRID_DIM,
			value);
	draw_plot(grid, node, plot, row, PLOT_AT, GRID_PLOT);
}

// Draws "label value"; a pair that does not fit is left out. Returns the column behind it.
static unsigned pair(struct grid *grid, unsigned row, unsigned at, const char *label,
		     const char *value, enum grid_style style)
{
	if (at > 0)
		at += 2;
	if (at + strlen(label) + 1 + strlen(value) > grid->columns)
		return grid->columns;
	at = grid_text(grid, row, at, grid->columns, GRID_DIM, label);
	return grid_text(grid, row, at + 1, grid->columns, style, value);
}

static enum grid_style alarm(const struct model_node *node, bool bad)
{
	if (!node->up)
		return GRID_DIM;
	return bad ? GRID_BAD : GRID_PLAIN;
}

static void draw_completeness(struct grid *grid, const struct model_node *node, unsigned row)
{
	double lost = model_rate(node, "events_incomplete") + model_rate(node, "events_discarded");
	double dropped = model_rate(node, "loss_total"),
	       missed = model_rate(node, "packets_missed");
	char text[NUMBERS_SIZE];
	unsigned at;

	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "complete");
	numbers_share(model_completeness(node), text);
	at = grid_text(grid, row, LABEL, 8, node->up ? GRID_BOLD : GRID_DIM, text);
	at = at < PLOT_AT - 2 ? PLOT_AT - 2 : at;
	numbers_count(lost, text);
	at = pair(grid, row, at, lost > 0 ? "!incomplete/s" : "incomplete/s", text,
		  alarm(node, lost > 0));
	numbers_count(dropped, text);
	at = pair(grid, row, at, dropped > 0 ? "!dropped/s" : "dropped/s", text,
		  alarm(node, dropped > 0));
	numbers_count(missed, text);
	at = pair(grid, row, at, missed > 0 ? "!missed/s" : "missed/s", text,
		  alarm(node, missed > 0));
	numbers_count(model_value(node, "loss_total") + model_value(node, "packets_missed"), text);
	at = pair(grid, row, at, "in all", text, GRID_PLAIN);
	if (node->now.cause[0] != '\0')
		(void)pair(grid, row, at, "mostly", node->now.cause, GRID_PLAIN);
}

static void draw_latency(struct grid *grid, const struct model_node *node, unsigned row)
{
	double most = model_value(node, "latency_complete_max_ns");
	char text[NUMBERS_SIZE];
	unsigned at;

	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "latency");
	numbers_time(model_latency(node, 0.5), text);
	at = pair(grid, row, LABEL - 2, "p50", text, node->up ? GRID_BOLD : GRID_DIM);
	numbers_time(model_latency(node, 0.99), text);
	at = pair(grid, row, at, "p99", text, node->up ? GRID_BOLD : GRID_DIM);
	numbers_time(model_latency(node, 0.999), text);
	at = pair(grid, row, at, "p99.9", text, GRID_PLAIN);
	numbers_time(most > 0 ? most : (double)NAN, text); // 0: no event was complete
	at = pair(grid, row, at, "max", text, GRID_PLAIN);
	draw_plot(grid, node, MODEL_LATENCY, row, at + 2, GRID_PLOT);
}

static void draw_slots(struct grid *grid, const struct model_node *node, unsigned row)
{
	double slots = model_sum(node, SAMPLE_BUILDERS, "slots");
	double held = model_sum(node, SAMPLE_BUILDERS, "events_held");
	double free = model_value(node, "slots_free");
	double open = model_value(node, "events_open");
	char text[NUMBERS_SIZE], line[64];
	bool few = free < 0.1 * slots;
	unsigned at;

	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "slots");
	// The bar shows open events, and events that wait for consumers.
	grid_bar(grid, row, LABEL, PLOT_AT - LABEL - 2, open / slots, held / slots,
		 node->up ? GRID_GOOD : GRID_DIM);
	snprintf(line, sizeof(line), "%s%.0f of %.0f free", few ? "!" : "", free, slots);
	at = grid_text(grid, row, PLOT_AT, grid->columns, alarm(node, few), line);
	numbers_count(open, text);
	at = pair(grid, row, at, "open", text, GRID_PLAIN);
	numbers_count(held, text);
	(void)pair(grid, row, at, "held by consumers", text, GRID_PLAIN);
}

// The figures of the event manager; false if this node is not the event manager.
static bool draw_manager(struct grid *grid, const struct model_node *node, unsigned row)
{
	static const struct {
		const char *label, *key;
		bool is_rate;
	} figures[] = {
		{ "grants/s", "grants", true },
		{ "flying", "events_outstanding", false },
		{ "waiting", "events_waiting", false },
	};
	const struct sample_list *list = &node->now.groups[SAMPLE_SCHEDULER];
	const char *state = sample_text(&node->now, "sched", "state");
	const char *scarce = sample_text(&node->now, "sched", "scarce");
	char text[NUMBERS_SIZE];
	unsigned at;

	if (state[0] == '\0')
		return false;
	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "manager");
	at = grid_text(grid, row, LABEL, 12, GRID_BOLD, state);
	at = at < PLOT_AT - 2 ? PLOT_AT - 2 : at;
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const struct sample_item *item = sample_find(list, figures[i].key, 0);
		double value = (double)NAN;

		if (item != NULL)
			value = figures[i].is_rate
				    ? model_growth(node, SAMPLE_SCHEDULER, item, NULL) /
					  model_seconds(node)
				    : sample_metric(item, NULL);
		numbers_count(value, text);
		at = pair(grid, row, at, figures[i].label, text, GRID_PLAIN);
	}
	if (scarce[0] != '\0' && strcmp(scarce, "none") != 0)
		(void)pair(grid, row, at, "!scarce", scarce, alarm(node, true));
	return true;
}

// The most important figures, in at most `height` rows. Returns the number of rows used.
static unsigned draw_headline(struct grid *grid, const struct model_node *node, unsigned row,
			      unsigned height)
{
	bool builds = node->now.groups[SAMPLE_BUILDERS].n > 0;
	const double *events = node->plots[MODEL_EVENTS], *bits = node->plots[MODEL_BITS];
	unsigned last = node->n_plots > 0 ? node->n_plots - 1 : 0, used = 0;
	char text[24];

	if (height >= 1) {
		draw_rate(node->n_plots > 0 ? events[last] : (double)NAN, "ev/s", text);
		draw_figure(grid, node, row + used++, builds ? "events" : "sent", text,
			    MODEL_EVENTS);
	}
	if (height >= 2) {
		draw_rate(node->n_plots > 0 ? bits[last] : (double)NAN, "bit/s", text);
		draw_figure(grid, node, row + used++, builds ? "built" : "sent", text, MODEL_BITS);
	}
	if (builds && height >= 3)
		draw_completeness(grid, node, row + used++);
	if (builds && height >= 4)
		draw_latency(grid, node, row + used++);
	if (builds && height >= 5)
		draw_slots(grid, node, row + used++);
	if (height > used && draw_manager(grid, node, row + used))
		used++;
	return used;
}

// --- panels --------------------------------------------------------------------------------------

struct panel {
	enum sample_group group;
	unsigned wanted; // rows, with the heading
	unsigned given;
};

// The panels in the order of their importance, with the rows that they get first.
static const struct {
	enum sample_group group;
	unsigned rows;
} worth[PANELS] = {
	{ SAMPLE_LCORES, 5 },   { SAMPLE_SOURCES, 5 },    { SAMPLE_CREDITS, 5 },
	{ SAMPLE_BUILDERS, 4 }, { SAMPLE_PORTS, 3 },      { SAMPLE_READOUTS, 3 },
	{ SAMPLE_LINKS, 3 },    { SAMPLE_ROCE, 2 },       { SAMPLE_CONSUMERS, 2 },
	{ SAMPLE_WRITERS, 2 },  { SAMPLE_GENERATORS, 2 }, { SAMPLE_SCHEDULER, 0 },
};

// Every `step`th of the panels that the node has, from number `first` on.
static unsigned list_panels(const struct model_node *node, struct panel *panels, unsigned first,
			    unsigned step)
{
	unsigned n = 0, seen = 0;

	for (unsigned i = 0; i < PANELS; i++) {
		unsigned lines = node->now.groups[worth[i].group].n;

		// The many numbers of the event manager have a section and a headline only.
		if (worth[i].rows == 0)
			continue;
		if (lines > 0 && seen++ % step == first)
			panels[n++] = (struct panel){ worth[i].group, lines + 1, 0 };
	}
	return n;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static unsigned first_rows(enum sample_group group)
{
	for (unsigned i = 0; i < PANELS; i++)
		if (worth[i].group == group)
			return worth[i].rows;
	return 0;
}

// Each panel gets its first rows; then those that need more get one more row in turn.
static void share_rows(struct panel *panels, unsigned n, unsigned rows)
{
	bool more = true;

	for (unsigned i = 0; i < n && rows >= 2; i++) {
		panels[i].given = least(rows, least(panels[i].wanted, first_rows(panels[i].group)));
		rows -= panels[i].given;
	}
	while (rows > 0 && more) {
		more = false;
		for (unsigned i = 0; i < n && rows > 0; i++) {
			if (panels[i].given == 0 || panels[i].given >= panels[i].wanted)
				continue;
			panels[i].given++;
			rows--;
			more = true;
		}
	}
}

static void draw_panel(struct grid *grid, const struct view *view, const struct model_node *node,
		       const struct panel *panel, unsigned row, unsigned column, unsigned width)
{
	const struct table *table = &tables[panel->group];
	struct table_order order = { .column = -1, .filter = view->filter };
	unsigned n, shown = panel->given - 1;
	struct table_line *lines = table_lines(table, node, panel->group, &order, &n);
	char more[24];

	if (lines == NULL)
		return;
	// The heading shows the number of hidden lines, and the key of their section.
	if (n > shown && width > MORE) {
		grid_fill(grid, row, column + width - MORE, MORE, ' ', GRID_HEAD);
		snprintf(more, sizeof(more), "+%u:%c", n - shown,
			 draw_section_key(VIEW_GROUPS + panel->group));
		grid_right(grid, row, column + width - MORE, MORE, GRID_SORTED, more);
		width -= MORE;
	}
	table_draw(grid, table, lines, n, 0, row, column, panel->given, width, &order, !node->up);
	free(lines);
}

// Returns the number of rows used.
static unsigned draw_column(struct grid *grid, const struct view *view,
			    const struct model_node *node, unsigned first, unsigned step,
			    unsigned row, unsigned height, unsigned column, unsigned width)
{
	struct panel panels[PANELS];
	unsigned n = list_panels(node, panels, first, step), used = 0;

	share_rows(panels, n, height);
	for (unsigned i = 0; i < n; i++) {
		if (panels[i].given == 0)
			continue;
		draw_panel(grid, view, node, &panels[i], row + used, column, width);
		used += panels[i].given;
	}
	return used;
}

void draw_overview(struct grid *grid, const struct view *view, const struct model_node *node,
		   unsigned row, unsigned height)
{
	unsigned used = draw_headline(grid, node, row, height), half = grid->columns / 2, right;

	row += used;
	height -= used;
	if (grid->columns >= WIDE) {
		used = draw_column(grid, view, node, 0, 2, row, height, 0, half - 1);
		right = draw_column(grid, view, node, 1, 2, row, height, half + 1,
				    grid->columns - half - 1);
		used = right > used ? right : used;
	} else {
		used = draw_column(grid, view, node, 0, 1, row, height, 0, grid->columns);
	}
	// The history gets the remaining rows.
	if (height > used + 1)
		draw_history(grid, node, row + used + 1, height - used - 1, PLOT_ROWS);
}
