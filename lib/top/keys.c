// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <string.h>

#include "top/draw.h"

#define ESCAPE    27
#define ENTER     '\n'
#define RETURN    '\r'
#define DELETE    127
#define BACKSPACE 8
#define FAR       1000000L // lines, to scroll to the end

static void choose_section(struct view *view, unsigned section)
{
	view->section = section;
	view->scroll = 0;
	view->help = false;
}

static void type(struct view *view, uint32_t key)
{
	size_t length = strlen(view->filter);

	if (key == ENTER || key == RETURN) {
		view->typing = false;
	} else if (key == ESCAPE) {
		view->typing = false;
		view->filter[0] = '\0';
	} else if (key == VIEW_KEY_BACKSPACE || key == BACKSPACE || key == DELETE) {
		if (length > 0)
			view->filter[length - 1] = '\0';
	} else if (key >= ' ' && key <= '~' && length + 1 < sizeof(view->filter)) {
		view->filter[length] = (char)key;
		view->filter[length + 1] = '\0';
	}
	view->scroll = 0;
}

static void choose_node(struct view *view, const struct model *model, int step)
{
	if (model->n_nodes == 0)
		return;
	if (view->node >= model->n_nodes)
		view->node = model->n_nodes - 1;
	view->node = (view->node + model->n_nodes + (unsigned)step) % model->n_nodes;
	view->scroll = 0;
}

static unsigned columns_of(const struct view *view)
{
	const struct table *table = draw_table(view->section);

	return table != NULL ? table->n_columns : 0;
}

static void sort_by_next(struct view *view)
{
	int *column = &view->order[view->section].column;

	if (columns_of(view) == 0)
		return;
	*column = *column + 1 < (int)columns_of(view) ? *column + 1 : -1;
	view->scroll = 0;
}

static unsigned lines_of(const struct view *view, const struct model *model)
{
	const struct model_node *node = draw_node(view, model);

	if (node == NULL || columns_of(view) == 0)
		return 0;
	return node->now.groups[view->section - VIEW_GROUPS].n;
}

static void scroll(struct view *view, const struct model *model, long step, unsigned height)
{
	unsigned lines = lines_of(view, model);
	// Title, rule, heading and footer take four rows.
	long most = lines + 4 > height ? (long)(lines + 4 - height) : 0;
	long to = (long)view->scroll + step;

	if (to > most)
		to = most;
	view->scroll = to > 0 ? (unsigned)to : 0;
}

static void move(struct view *view, const struct model *model, uint32_t key, unsigned height)
{
	static const struct {
		uint32_t key;
		long lines, pages;
	} steps[] = {
		{ VIEW_KEY_UP, -1, 0 },       { VIEW_KEY_DOWN, 1, 0 },
		{ VIEW_KEY_PAGE_UP, 0, -1 },  { VIEW_KEY_HOME, -FAR, 0 },
		{ VIEW_KEY_PAGE_DOWN, 0, 1 }, { VIEW_KEY_END, FAR, 0 },
	};
	long page = height > 5 ? (long)height - 5 : 1;

	if (view->section == VIEW_NODES && (key == VIEW_KEY_UP || key == VIEW_KEY_DOWN)) {
		choose_node(view, model, key == VIEW_KEY_DOWN ? 1 : -1);
		return;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i].key == key)
			scroll(view, model, steps[i].lines + steps[i].pages * page, height);
}

static void escape(struct view *view)
{
	if (view->filter[0] != '\0' && !view->help)
		view->filter[0] = '\0';
	else
		choose_section(view, VIEW_OVERVIEW);
}

static bool zoom(struct view *view, uint32_t key)
{
	for (unsigned section = 0; section < VIEW_N_SECTIONS; section++)
		if (key == (uint32_t)draw_section_key(section)) {
			choose_section(view, section);
			return true;
		}
	return false;
}

void view_key(struct view *view, const struct model *model, uint32_t key, unsigned height)
{
	if (view->typing) {
		type(view, key);
		return;
	}
	if (zoom(view, key))
		return;
	switch (key) {
	case 'q':
	case 'Q':
		view->quit = true;
		break;
	case '?':
		view->help = !view->help;
		break;
	case ESCAPE:
		escape(view);
		break;
	case '\t':
	case VIEW_KEY_RIGHT:
		choose_node(view, model, 1);
		break;
	case VIEW_KEY_BACK_TAB:
	case VIEW_KEY_LEFT:
		choose_node(view, model, -1);
		break;
	case ENTER:
	case RETURN:
		if (view->section == VIEW_NODES)
			choose_section(view, VIEW_OVERVIEW);
		break;
	case 's':
		sort_by_next(view);
		break;
	case 'S':
		view->order[view->section].column = -1;
		view->order[view->section].reverse = false;
		break;
	case 'r':
		view->order[view->section].reverse = !view->order[view->section].reverse;
		break;
	case '/':
		view->typing = true;
		view->filter[0] = '\0';
		break;
	case 'p':
	case ' ':
		view->paused = !view->paused;
		break;
	default:
		move(view, model, key, height);
		break;
	}
}
