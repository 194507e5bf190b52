// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct model_node *model_node(struct model *model, const char *name)
{
	struct model_node **nodes, *node;

	for (unsigned i = 0; i < model->n_nodes; i++)
		if (strcmp(model->nodes[i]->name, name) == 0)
			return model->nodes[i];
	if (model->n_nodes == model->room) {
		unsigned room = model->room > 0 ? 2 * model->room : 8;

		nodes = realloc(model->nodes, room * sizeof(struct model_node *));
		if (nodes == NULL)
			return NULL;
		model->nodes = nodes;
		model->room = room;
	}
	node = calloc(1, sizeof(*node));
	if (node == NULL)
		return NULL;
	snprintf(node->name, sizeof(node->name), "%s", name);
	snprintf(node->error, sizeof(node->error), "not asked yet");
	model->nodes[model->n_nodes++] = node;
	return node;
}

static void free_node(struct model_node *node)
{
	sample_free(&node->now);
	sample_free(&node->before);
	free(node);
}

void model_forget(struct model *model, unsigned index)
{
	free_node(model->nodes[index]);
	model->n_nodes--;
	memmove(&model->nodes[index], &model->nodes[index + 1],
		(model->n_nodes - index) * sizeof(struct model_node *));
}

void model_free(struct model *model)
{
	for (unsigned i = 0; i < model->n_nodes; i++)
		free_node(model->nodes[i]);
	free(model->nodes);
	*model = (struct model){ 0 };
}

// --- figures -------------------------------------------------------------------------------------

double model_seconds(const struct model_node *node)
{
	return node->has_before ? (node->now.time_ms - node->before.time_ms) / 1e3 : 0;
}

double model_value(const struct model_node *node, unsigned key)
{
	return node->has_now ? node->now.summary[key] : (double)NAN;
}

double model_rate(const struct model_node *node, unsigned key)
{
	double seconds = model_seconds(node);

	return seconds > 0 ? (node->now.summary[key] - node->before.summary[key]) / seconds
			   : (double)NAN;
}

double model_latency(const struct model_node *node, double share)
{
	double ns = -1;

	if (node->has_before)
		ns = latency_window_quantile(&node->before.latency, &node->now.latency, share);
	return ns >= 0 ? ns : (double)NAN;
}

double model_completeness(const struct model_node *node)
{
	double complete = model_rate(node, SUMMARY_COMPLETE);
	double all =
	    complete + model_rate(node, SUMMARY_INCOMPLETE) + model_rate(node, SUMMARY_DISCARDED);

	return all > 0 ? complete / all : (double)NAN;
}

double model_losses(const struct model_node *node)
{
	return model_rate(node, SUMMARY_LOSSES) + model_rate(node, SUMMARY_MISSED) +
	       model_rate(node, SUMMARY_INCOMPLETE) + model_rate(node, SUMMARY_DISCARDED);
}

double model_slots(const struct model_node *node)
{
	const struct sample_list *builders = &node->now.groups[SAMPLE_BUILDERS];
	double slots = 0;

	for (unsigned i = 0; i < builders->n; i++)
		slots += builders->items[i].values[BUILDER_SLOTS];
	return slots;
}

double model_slots_used(const struct model_node *node)
{
	double slots = model_slots(node);

	return slots > 0 ? 1 - model_value(node, SUMMARY_SLOTS_FREE) / slots : (double)NAN;
}

double model_busiest(const struct model_node *node)
{
	const struct sample_list *lcores = &node->now.groups[SAMPLE_LCORES];
	double most = (double)NAN;

	for (unsigned i = 0; node->has_before && i < lcores->n; i++) {
		const struct sample_item *now = &lcores->items[i];
		const struct sample_item *before =
		    sample_find(&node->before.groups[SAMPLE_LCORES], now->name, i);
		double busy, idle;

		if (before == NULL)
			continue;
		busy = now->values[LCORE_BUSY] + now->values[LCORE_HELD] -
		       before->values[LCORE_BUSY] - before->values[LCORE_HELD];
		idle = now->values[LCORE_IDLE] - before->values[LCORE_IDLE];
		if (busy + idle > 0 && !(busy / (busy + idle) < most))
			most = busy / (busy + idle);
	}
	return most;
}

// --- samples -------------------------------------------------------------------------------------

// Of all readouts, a second.
static double readout_rate(const struct model_node *node, unsigned field)
{
	const struct sample_list *now = &node->now.groups[SAMPLE_READOUTS];
	double sum = 0, seconds = model_seconds(node);

	for (unsigned i = 0; i < now->n; i++) {
		const struct sample_item *before =
		    sample_find(&node->before.groups[SAMPLE_READOUTS], now->items[i].name, i);

		if (before != NULL && seconds > 0)
			sum += (now->items[i].values[field] - before->values[field]) / seconds;
	}
	return sum;
}

static bool builds(const struct model_node *node)
{
	return node->now.groups[SAMPLE_BUILDERS].n > 0;
}

static void add_plots(struct model_node *node)
{
	bool reads_out = node->now.groups[SAMPLE_READOUTS].n > 0;
	double events = model_rate(node, SUMMARY_SENT_EVENTS);
	double bytes = model_rate(node, SUMMARY_SENT_BYTES);
	double values[MODEL_N_PLOTS] = {
		[MODEL_LATENCY] = model_latency(node, 0.99),
		[MODEL_LOSSES] = model_losses(node),
		[MODEL_SLOTS] = model_slots_used(node),
	};

	if (builds(node)) {
		events = model_rate(node, SUMMARY_COMPLETE) + model_rate(node, SUMMARY_INCOMPLETE);
		bytes = model_rate(node, SUMMARY_BUILT_BYTES);
	} else if (reads_out) {
		events = readout_rate(node, READOUT_EVENTS);
		bytes = readout_rate(node, READOUT_BYTES);
	}
	values[MODEL_EVENTS] = events;
	values[MODEL_BITS] = bytes * 8;
	if (!node->has_before)
		return;
	for (unsigned plot = 0; plot < MODEL_N_PLOTS; plot++) {
		if (node->n_plots == MODEL_HISTORY)
			memmove(node->plots[plot], node->plots[plot] + 1,
				(MODEL_HISTORY - 1) * sizeof(double));
		node->plots[plot][node->n_plots < MODEL_HISTORY ? node->n_plots
								: MODEL_HISTORY - 1] = values[plot];
	}
	if (node->n_plots < MODEL_HISTORY)
		node->n_plots++;
}

// Another run has the name now: its counters began anew.
static bool is_another_run(const struct sample *before, const struct sample *now)
{
	return now->summary[SUMMARY_UPTIME] < before->summary[SUMMARY_UPTIME] ||
	       now->summary[SUMMARY_RUN] != before->summary[SUMMARY_RUN] ||
	       now->summary[SUMMARY_PACKETS] < before->summary[SUMMARY_PACKETS] ||
	       now->summary[SUMMARY_COMPLETE] < before->summary[SUMMARY_COMPLETE];
}

void model_sample(struct model_node *node, struct sample *sample)
{
	node->up = true;
	node->error[0] = '\0';
	if (node->has_now && sample->time_ms <= node->now.time_ms) {
		sample_free(sample);
		return;
	}
	sample_free(&node->before);
	node->before = node->now;
	node->now = *sample;
	*sample = (struct sample){ 0 };
	node->has_before = node->has_now && !is_another_run(&node->before, &node->now);
	node->has_now = true;
	add_plots(node);
}

void model_down(struct model_node *node, const char *error, const char *clock)
{
	if (node->up)
		snprintf(node->down_since, sizeof(node->down_since), "%s", clock);
	node->up = false;
	snprintf(node->error, sizeof(node->error), "%s", error);
}
