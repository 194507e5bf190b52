// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/draw.h"
#include "top/numbers.h"

#define NODES_SHOWN 8  // in the overview
#define NARROW      60 // columns; a narrower screen has a shorter title

const struct table *draw_table(unsigned section)
{
	return section >= VIEW_GROUPS && section < VIEW_GROUPS + SAMPLE_N_GROUPS
		   ? &tables[section - VIEW_GROUPS]
		   : NULL;
}

char draw_section_key(unsigned section)
{
	const struct table *table = draw_table(section);

	if (table != NULL)
		return table->key;
	return section == VIEW_OVERVIEW ? '0' : section == VIEW_HISTORY ? 'h' : 'n';
}

void view_make(struct view *view)
{
	*view = (struct view){ .section = VIEW_OVERVIEW };
	for (unsigned i = 0; i < VIEW_N_SECTIONS; i++)
		view->order[i].column = -1;
}

const struct model_node *draw_node(const struct view *view, const struct model *model)
{
	if (model->n_nodes == 0)
		return NULL;
	return model->nodes[view->node < model->n_nodes ? view->node : model->n_nodes - 1];
}

// --- title and footer ----------------------------------------------------------------------------

static void draw_title(struct grid *grid, const struct view *view, const struct model *model,
		       const struct model_node *node)
{
	char text[256], duration[NUMBERS_SIZE], run[NUMBERS_SIZE + 8] = "", nodes[32] = "";
	unsigned at;

	grid_fill(grid, 0, 0, grid->columns, ' ', GRID_TITLE);
	if (model->n_nodes > 1)
		snprintf(nodes, sizeof(nodes), "  %u/%u", view->node + 1, model->n_nodes);
	if (node == NULL) {
		snprintf(text, sizeof(text), " evb top");
	} else if (!node->has_now) {
		snprintf(text, sizeof(text), " evb top  %s%s", node->name, nodes);
	} else {
		numbers_duration(model_value(node, "uptime_seconds"), duration);
		if (!isnan(model_value(node, "run_number")) && grid->columns >= NARROW)
			snprintf(run, sizeof(run), "  run %.0f", model_value(node, "run_number"));
		snprintf(text, sizeof(text), " evb top  %s%s%s  %s %s", node->name, nodes, run,
			 model_state(node), duration);
	}
	at = grid_text(grid, 0, 0, grid->columns, GRID_TITLE, text);
	if (view->paused)
		at = grid_text(grid, 0, at + 2, grid->columns, GRID_TITLE, "PAUSED");
	if (at + strlen(model->clock) + 2 < grid->columns)
		grid_right(grid, 0, grid->columns - MODEL_CLOCK_SIZE, MODEL_CLOCK_SIZE - 1,
			   GRID_TITLE, model->clock);
}

// The reason why the node has no new samples.
static bool draw_alarm(struct grid *grid, const struct model_node *node, unsigned row)
{
	const bool ended = model_has_ended(node);
	char text[MODEL_ERROR_SIZE + 64];

	if (node->up)
		return false;
	snprintf(text, sizeof(text), "%s%s%s%s%s", ended ? "" : "! ",
		 !node->has_now ? ""
		 : ended        ? "ended at "
				: "down since ",
		 node->has_now ? node->down_since : "", node->has_now ? ": " : "", node->error);
	(void)grid_text(grid, row, 0, grid->columns, ended ? GRID_BOLD : GRID_BAD, text);
	return true;
}

// Writes a text in at most `most` rows, broken between words. Returns the number of rows.
static unsigned draw_wrapped(struct grid *grid, unsigned row, unsigned most, enum grid_style style,
			     const char *text)
{
	const unsigned width = grid->columns > 2 ? grid->columns - 2 : 0;
	unsigned used = 0;

	while (*text != '\0' && used < most && width > 0) {
		size_t length = strlen(text), end = length;

		if (length > width && used + 1 < most)
			for (end = width; end > 0 && text[end] != ' '; end--)
				;
		end = end > 0 ? end : width;
		(void)grid_text(grid, row + used++, 2, end < width ? (unsigned)end : width, style,
				text);
		text += end;
		text += *text == ' ';
	}
	return used;
}

// What is wrong with the node, and how to correct it. Returns the number of rows.
static unsigned draw_diagnosis(struct grid *grid, const struct model_node *node, unsigned row,
			       unsigned height)
{
	const cJSON *finding = node->up ? sample_diagnosis(&node->now) : NULL;
	const enum grid_style style = draw_is_bad(finding) ? GRID_BAD : GRID_WARN;
	unsigned used;

	if (finding == NULL || height < 6)
		return 0;
	grid_put(grid, row, 0, draw_is_bad(finding) ? '!' : '*', style);
	used = draw_wrapped(grid, row, 2, style, sample_key(finding, "sentence"));
	if (height >= 14)
		used +=
		    draw_wrapped(grid, row + used, 2, GRID_PLAIN, sample_key(finding, "remedy"));
	return used;
}

// The names of all sections in which something is lost.
static void draw_alerts(struct grid *grid, const struct model_node *node, unsigned row,
			unsigned column)
{
	char text[160] = "";
	size_t used = 0;

	for (unsigned group = 0; group < SAMPLE_N_GROUPS; group++)
		if (table_has_losses(node, (enum sample_group)group))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s",
						 tables[group].name);
	if (used > 0 && column + used + 2 < grid->columns) {
		grid_right(grid, row, column, grid->columns - column, GRID_BAD, text);
		grid_put(grid, row, grid->columns - (unsigned)used - 1, '!', GRID_BAD);
	}
}

static void draw_footer(struct grid *grid, const struct view *view, const struct model *model,
			const struct model_node *node)
{
	unsigned row = grid->rows - 1, at = 0;
	char text[VIEW_FILTER_SIZE + 32];

	if (view->typing || view->filter[0] != '\0') {
		snprintf(text, sizeof(text), "/%s%s", view->filter, view->typing ? "_" : "");
		at = grid_text(grid, row, 0, grid->columns, GRID_CHOSEN, text) + 2;
		(void)grid_text(grid, row, at, grid->columns, GRID_DIM,
				view->typing ? "Enter: keep  Esc: clear" : "Esc: clear");
		return;
	}
	if (draw_table(view->section) != NULL || view->section == VIEW_NODES)
		at = grid_text(grid, row, 0, grid->columns, GRID_DIM,
			       "s:sort r:reverse arrows:scroll 0:overview ");
	else if (grid->columns >= 72)
		at = grid_text(grid, row, 0, grid->columns, GRID_DIM,
			       "1-9:zoom h:history /:filter p:pause ");
	if (model->n_nodes > 1)
		at = grid_text(grid, row, at, grid->columns, GRID_DIM, "Tab:next node ");
	at = grid_text(grid, row, at, grid->columns, GRID_BOLD, "?:help q:quit");
	if (node != NULL && node->up)
		draw_alerts(grid, node, row, at);
}

// --- sections ------------------------------------------------------------------------------------

static void draw_group(struct grid *grid, const struct view *view, const struct model_node *node,
		       unsigned row, unsigned height)
{
	enum sample_group group = (enum sample_group)(view->section - VIEW_GROUPS);
	const struct table *table = draw_table(view->section);
	struct table_order order = view->order[view->section];
	struct table_line *lines;
	char title[96];
	unsigned n, first;

	order.filter = view->filter;
	lines = table_lines(node, group, &order, &n);
	if (lines == NULL || height < 2)
		goto end;
	snprintf(title, sizeof(title), "%s: %u, sorted by %s%s", table->name, n,
		 order.column >= 0                      ? table->columns[order.column].title
		 : table->badness[0].metrics[0] != NULL ? "the worst"
							: "place",
		 order.reverse ? ", reversed" : "");
	grid_rule(grid, row, 0, grid->columns, title);
	// The last page is full.
	first = n + 2 > height ? n + 2 - height : 0;
	first = view->scroll < first ? view->scroll : first;
	table_draw(grid, table, lines, n, first, row + 1, 0, height - 1, grid->columns, &order,
		   !node->up);
end:
	free(lines);
}

static void draw_section(struct grid *grid, const struct view *view, const struct model *model,
			 const struct model_node *node, unsigned row, unsigned height)
{
	if (view->section == VIEW_NODES)
		(void)draw_nodes(grid, view, model, row, height);
	else if (!node->has_now)
		return;
	else if (view->section == VIEW_OVERVIEW)
		draw_overview(grid, view, node, row, height);
	else if (view->section == VIEW_HISTORY)
		draw_history(grid, node, row, height, 2);
	else
		draw_group(grid, view, node, row, height);
}

void view_draw(struct grid *grid, const struct view *view, const struct model *model)
{
	const struct model_node *node = draw_node(view, model);
	unsigned row = 1, height, most;

	if (grid->rows < 3)
		return;
	height = grid->rows - 2;
	draw_title(grid, view, model, node);
	draw_footer(grid, view, model, node);
	if (view->help) {
		draw_help(grid, row, height);
		return;
	}
	if (node == NULL) {
		(void)grid_text(grid, 2, 2, grid->columns, GRID_PLAIN,
				"no appliance is running here; waiting for one");
		return;
	}
	if (model->n_nodes > 1 && view->section == VIEW_OVERVIEW && height > 8) {
		most = height / 3 < NODES_SHOWN ? height / 3 : NODES_SHOWN;
		most = draw_nodes(grid, view, model, row, most);
		row += most;
		height -= most;
	}
	if (draw_alarm(grid, node, row)) {
		row++;
		height--;
	}
	most = node->has_now ? draw_diagnosis(grid, node, row, height) : 0;
	row += most;
	height -= most;
	draw_section(grid, view, model, node, row, height);
}
