// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/top.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top/screen.h"
#include "top/view.h"
#include "web/monitor.h"

#define WAIT_MS 100 // for a key, between two looks at what the monitor has

struct top {
	const struct top_options *options;
	struct monitor *monitor;
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

static double number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static void take_sample(struct top *top, struct model_node *node)
{
	char *text = monitor_node(top->monitor, node->name);
	cJSON *root = text != NULL ? cJSON_Parse(text) : NULL;
	const cJSON *snapshot = cJSON_GetObjectItemCaseSensitive(root, "snapshot");
	struct sample sample;

	if (cJSON_IsObject(snapshot)) {
		if (sample_take(&sample, snapshot, number(root, "time_ms")))
			model_sample(node, &sample);
		else
			sample_free(&sample);
	}
	cJSON_Delete(root);
	free(text);
}

static void take_node(struct top *top, const cJSON *status)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(status, "name"));
	const char *error = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(status, "error"));
	struct model_node *node = name != NULL ? model_node(&top->model, name) : NULL;

	if (node == NULL)
		return; // out of memory: the next pass may have some
	if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(status, "up")))
		model_down(node, error != NULL ? error : "", top->model.clock);
	else if (!node->has_now || number(status, "time_ms") > node->now.time_ms)
		take_sample(top, node);
	else
		node->up = true;
}

static bool is_listed(const cJSON *nodes, const char *name)
{
	const cJSON *status;

	cJSON_ArrayForEach(status, nodes)
	{
		const char *listed =
		    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(status, "name"));

		if (listed != NULL && strcmp(listed, name) == 0)
			return true;
	}
	return false;
}

// Takes over what the monitor has.
static void update(struct top *top)
{
	char *text = monitor_nodes(top->monitor);
	cJSON *root = text != NULL ? cJSON_Parse(text) : NULL;
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes"), *status;

	set_clock(&top->model);
	cJSON_ArrayForEach(status, nodes)
	{
		take_node(top, status);
	}
	for (unsigned i = top->model.n_nodes; cJSON_IsArray(nodes) && i-- > 0;)
		if (!is_listed(nodes, top->model.nodes[i]->name))
			model_forget(&top->model, i);
	cJSON_Delete(root);
	free(text);
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
	char cause[MONITOR_ERROR_SIZE];
	struct top top = { .options = options, .model.interval_ms = options->interval_ms };

	view_make(&top.view);
	if (screen_open(&top.screen, options->in, options->out, options->ascii, options->colours,
			cause) != 0) {
		snprintf(error, TOP_ERROR_SIZE, "%s", cause);
		return -1;
	}
	top.monitor = monitor_start(options->names, options->n_names, options->interval_ms, cause);
	if (top.monitor != NULL)
		loop(&top);
	screen_close();
	monitor_stop(top.monitor);
	model_free(&top.model);
	if (top.monitor == NULL) {
		snprintf(error, TOP_ERROR_SIZE, "%s", cause);
		return -1;
	}
	return 0;
}
