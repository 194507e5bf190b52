// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/top.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "client/sampler.h"
#include "top/screen.h"
#include "top/view.h"

#define WAIT_MS 100 // for a key, between two looks at the sampler

struct top {
	const struct top_options *options;
	struct sampler *sampler;
	struct model model;
	struct view view;
	struct screen screen;
};

static void set_clock(struct model *model)
{
	time_t now = time(NULL);
	struct tm parts;

	if (localtime_r(&now, &parts) != NULL)
		strftime(model->clock, sizeof(model->clock), "%H:%M:%S", &parts);
}

// Brings the model up to date with the sampler.
static void update(struct top *top)
{
	struct model *model = &top->model;
	const struct sampler_node *sampled;

	set_clock(model);
	sampler_lock(top->sampler);
	for (unsigned i = 0; (sampled = sampler_node(top->sampler, i)) != NULL; i++) {
		struct model_node *node = model_node(model, sampled->name);

		if (node == NULL)
			continue; // memory ran out: the next pass may find some
		if (sampled->up)
			model_sample(node, sampled->reading);
		else
			model_down(node, sampled->state, sampled->error, model->clock);
	}
	for (unsigned i = model->n_nodes; i-- > 0;)
		if (sampler_find(top->sampler, model->nodes[i]->name) == NULL)
			model_forget(model, i);
	sampler_unlock(top->sampler);
}

static void show(const struct top *top)
{
	struct grid grid;

	if (grid_make(&grid, top->screen.rows, top->screen.columns, !top->screen.unicode)) {
		view_draw(&grid, &top->view, &top->model);
		screen_show(&grid);
	}
	grid_free(&grid);
}

static void loop(struct top *top)
{
	while (!top->view.quit && *top->options->stop == 0) {
		uint32_t key;

		if (!top->view.paused)
			update(top);
		show(top);
		key = screen_key(&top->screen, WAIT_MS);
		if (key != SCREEN_NO_KEY)
			view_key(&top->view, &top->model, key, top->screen.rows);
	}
}

int top_run(const struct top_options *options, char *error)
{
	char cause[SAMPLER_ERROR_SIZE] = "";
	struct top top = { .options = options };
	int result;

	view_make(&top.view);
	result = screen_open(&top.screen, options->in, options->out, options->ascii,
			     options->colours, cause);
	if (result == 0) {
		top.sampler =
		    sampler_start(options->names, options->n_names, options->interval_ms, cause);
		if (top.sampler != NULL)
			loop(&top);
		else
			result = -1;
		screen_close();
		sampler_stop(top.sampler);
		model_free(&top.model);
	}
	if (result != 0)
		snprintf(error, TOP_ERROR_SIZE, "%s", cause);
	return result;
}
