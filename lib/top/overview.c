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
#define PLOT_ROWS  4                     // of the history below the tables
#define MORE       7                     // cells for "+123:5"
#define PANELS     (SAMPLE_N_GROUPS - 1) // the event manager has a section and a headline only

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
			const char *label, const char *unit, enum model_plot plot)
{
	char text[24];

	draw_rate(draw_last(node, plot), unit, text);
	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, label);
	(void)grid_text(grid, row, LABEL, PLOT_AT - LABEL - 1, node->up ? GRID_BOLD : GRID_DIM,
			text);
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

typedef void numbers_format(double value, char text[NUMBERS_SIZE]);

static unsigned pair_number(struct grid *grid, unsigned row, unsigned at, const char *label,
			    numbers_format *format, double value, enum grid_style style)
{
	char text[NUMBERS_SIZE];

	format(value, text);
	return pair(grid, row, at, label, text, style);
}

static enum grid_style alarm(const struct model_node *node, bool bad)
{
	if (!node->up)
		return GRID_DIM;
	return bad ? GRID_BAD : GRID_PLAIN;
}

static void draw_completeness(struct grid *grid, const struct model_node *node, unsigned row)
{
	const struct {
		const char *label; // the first character is shown where the rate is above 0
		double value;
	} rates[] = {
		{ "!incomplete/s",
		  model_rate(node, "events_incomplete") + model_rate(node, "events_discarded") },
		{ "!dropped/s", model_rate(node, "loss_total") },
		{ "!missed/s", model_rate(node, "packets_missed") },
	};
	char text[NUMBERS_SIZE];
	unsigned at;

	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "complete");
	numbers_share(model_completeness(node), text);
	at = grid_text(grid, row, LABEL, 8, node->up ? GRID_BOLD : GRID_DIM, text);
	at = at < PLOT_AT - 2 ? PLOT_AT - 2 : at;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		bool bad = rates[i].value > 0;

		at = pair_number(grid, row, at, rates[i].label + (bad ? 0 : 1), numbers_count,
				 rates[i].value, alarm(node, bad));
	}
	at = pair_number(grid, row, at, "in all", numbers_count,
			 model_value(node, "loss_total") + model_value(node, "packets_missed"),
			 GRID_PLAIN);
	if (node->now.cause[0] != '\0')
		(void)pair(grid, row, at, "mostly", node->now.cause, GRID_PLAIN);
}

static void draw_latency(struct grid *grid, const struct model_node *node, unsigned row)
{
	enum grid_style style = node->up ? GRID_BOLD : GRID_DIM;
	double most = model_value(node, "latency_complete_max_ns");
	unsigned at;

	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "latency");
	at =
	    pair_number(grid, row, LABEL - 2, "p50", numbers_time, model_latency(node, 0.5), style);
	at = pair_number(grid, row, at, "p99", numbers_time, model_latency(node, 0.99), style);
	at = pair_number(grid, row, at, "p99.9", numbers_time, model_latency(node, 0.999),
			 GRID_PLAIN);
	// 0: no event was complete.
	at = pair_number(grid, row, at, "max", numbers_time, most > 0 ? most : (double)NAN,
			 GRID_PLAIN);
	draw_plot(grid, node, MODEL_LATENCY, row, at + 2, GRID_PLOT);
}

static void draw_slots(struct grid *grid, const struct model_node *node, unsigned row)
{
	double slots = model_sum(node, SAMPLE_BUILDERS, "slots");
	double held = model_sum(node, SAMPLE_BUILDERS, "events_held");
	double free = model_value(node, "slots_free");
	double open = model_value(node, "events_open");
	bool few = free < 0.1 * slots;
	char line[64];
	unsigned at;

	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "slots");
	// The bar shows open events, and events that wait for consumers.
	grid_bar(grid, row, LABEL, PLOT_AT - LABEL - 2, open / slots, held / slots,
		 node->up ? GRID_GOOD : GRID_DIM);
	snprintf(line, sizeof(line), "%s%.0f of %.0f free", few ? "!" : "", free, slots);
	at = grid_text(grid, row, PLOT_AT, grid->columns, alarm(node, few), line);
	at = pair_number(grid, row, at, "open", numbers_count, open, GRID_PLAIN);
	(void)pair_number(grid, row, at, "held by consumers", numbers_count, held, GRID_PLAIN);
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
		at = pair_number(grid, row, at, figures[i].label, numbers_count, value, GRID_PLAIN);
	}
	if (scarce[0] != '\0' && strcmp(scarce, "none") != 0)
		(void)pair(grid, row, at, "!scarce", scarce, alarm(node, true));
	return true;
}

// Which node is the event manager, and who can take over; false if it is not elected.
static bool draw_office(struct grid *grid, const struct model_node *node, unsigned row)
{
	const cJSON *own = sample_own_node(&node->now);
	const double votes = sample_number(own, "votes");
	const char *standby = sample_key(own, "standby");
	unsigned at;

	if (!(sample_number(own, "manager_epoch") > 0))
		return false;
	(void)grid_text(grid, row, 0, LABEL, GRID_DIM, "office");
	at = grid_text(grid, row, LABEL, 32, GRID_BOLD, sample_key(own, "manager"));
	at = at < PLOT_AT - 2 ? PLOT_AT - 2 : at;
	at = pair_number(grid, row, at, "since", numbers_time,
			 1e9 * sample_number(own, "office_seconds"), GRID_PLAIN);
	at = pair(grid, row, at, standby[0] != '\0' ? "standby" : "!standby",
		  standby[0] != '\0' ? standby : "none", alarm(node, standby[0] == '\0'));
	if (votes > 0)
		(void)pair_number(grid, row, at, "votes", numbers_count, votes, GRID_PLAIN);
	return true;
}

// The most important figures, in at most `height` rows. Returns the number of rows used.
static unsigned draw_headline(struct grid *grid, const struct model_node *node, unsigned row,
			      unsigned height)
{
	bool builds = node->now.groups[SAMPLE_BUILDERS].n > 0;
	unsigned used = 0;

	if (height >= 1)
		draw_figure(grid, node, row + used++, builds ? "events" : "sent", "ev/s",
			    MODEL_EVENTS);
	if (height >= 2)
		draw_figure(grid, node, row + used++, builds ? "built" : "sent", "b/s", MODEL_BITS);
	if (builds && height >= 3)
		draw_completeness(grid, node, row + used++);
	if (builds && height >= 4)
		draw_latency(grid, node, row + used++);
	if (builds && height >= 5)
		draw_slots(grid, node, row + used++);
	if (height > used && draw_manager(grid, node, row + used))
		used++;
	if (height > used && draw_office(grid, node, row + used))
		used++;
	return used;
}

// --- panels --------------------------------------------------------------------------------------

struct panel {
	enum sample_group group;
	unsigned first;  // rows that it gets before others get more
	unsigned wanted; // rows, with the heading
	unsigned given;
};

// The panels in the order of their importance.
static const enum sample_group worth[PANELS] = {
	SAMPLE_LCORES,   SAMPLE_SOURCES, SAMPLE_CREDITS,    SAMPLE_BUILDERS,  SAMPLE_PORTS,
	SAMPLE_READOUTS, SAMPLE_LINKS,   SAMPLE_ROCE,       SAMPLE_CONSUMERS, SAMPLE_DECISIONS,
	SAMPLE_STEPS,    SAMPLE_WRITERS, SAMPLE_GENERATORS,
};

// Every `step`th of the panels that the node has, from number `first` on.
static unsigned list_panels(const struct model_node *node, struct panel *panels, unsigned first,
			    unsigned step)
{
	unsigned n = 0, seen = 0;

	for (unsigned i = 0; i < PANELS; i++) {
		unsigned lines = node->now.groups[worth[i]].n;

		if (lines > 0 && seen++ % step == first)
			panels[n++] =
			    (struct panel){ worth[i], tables[worth[i]].rows, lines + 1, 0 };
	}
	return n;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

// Each panel gets its first rows; then those that need more get one more row in turn.
static void share_rows(struct panel *panels, unsigned n, unsigned rows)
{
	bool more = true;

	for (unsigned i = 0; i < n && rows >= 2; i++) {
		panels[i].given = least(rows, least(panels[i].wanted, panels[i].first));
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
	struct table_line *lines = table_lines(node, panel->group, &order, &n);
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
