// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/latency_window.h"

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
	return node->has_before ? (node->now.reading->time_ms - node->before.reading->time_ms) / 1e3
				: 0;
}

double model_value(const struct model_node *node, const char *key)
{
	return node->has_now ? reading_number(node->now.reading, key) : (double)NAN;
}

double model_rate(const struct model_node *node, const char *key)
{
	if (!node->has_before)
		return (double)NAN;
	return (model_value(node, key) - reading_number(node->before.reading, key)) /
	       model_seconds(node);
}

double model_sum(const struct model_node *node, enum sample_group group, const char *metric)
{
	const struct sample_list *list = &node->now.groups[group];
	double sum = 0;

	for (unsigned i = 0; i < list->n; i++)
		sum += sample_metric(&list->items[i], metric);
	return sum;
}

double model_growth(const struct model_node *node, enum sample_group group,
		    const struct sample_item *item, const char *metric)
{
	const struct sample_list *before = &node->before.groups[group];
	unsigned index = (unsigned)(item - node->now.groups[group].items);
	const struct sample_item *old =
	    node->has_before ? sample_find(before, item->name, index) : NULL;

	return old != NULL ? sample_metric(item, metric) - sample_metric(old, metric) : (double)NAN;
}

double model_latency(const struct model_node *node, double share)
{
	return node->has_before ? latency_window_quantile(node->before.reading, node->now.reading,
							  "latency_complete_ns", share)
				: (double)NAN;
}

double model_completeness(const struct model_node *node)
{
	double complete = model_rate(node, "events_complete");
	double all =
	    complete + model_rate(node, "events_incomplete") + model_rate(node, "events_discarded");

	return all > 0 ? complete / all : (double)NAN;
}

double model_losses(const struct model_node *node)
{
	return model_rate(node, "loss_total") + model_rate(node, "packets_missed") +
	       model_rate(node, "events_incomplete") + model_rate(node, "events_discarded");
}

double model_slots_used(const struct model_node *node)
{
	double slots = model_sum(node, SAMPLE_BUILDERS, "slots");

	return slots > 0 ? 1 - model_value(node, "slots_free") / slots : (double)NAN;
}

double model_busiest(const struct model_node *node)
{
	const struct sample_list *lcores = &node->now.groups[SAMPLE_LCORES];
	double most = (double)NAN;

	for (unsigned i = 0; i < lcores->n; i++) {
		const struct sample_item *lcore = &lcores->items[i];
		double busy = model_growth(node, SAMPLE_LCORES, lcore, "busy_cycles") +
			      model_growth(node, SAMPLE_LCORES, lcore, "backpressured_cycles");
		double idle = model_growth(node, SAMPLE_LCORES, lcore, "idle_cycles");

		if (busy + idle > 0)
			most = fmax(most, busy / (busy + idle)); // NAN is less than a number
	}
	return most;
}

// --- samples -------------------------------------------------------------------------------------

// Of all readouts, per second.
static double readout_rate(const struct model_node *node, const char *metric)
{
	const struct sample_list *readouts = &node->now.groups[SAMPLE_READOUTS];
	double sum = 0;

	for (unsigned i = 0; i < readouts->n; i++) {
		double grown = model_growth(node, SAMPLE_READOUTS, &readouts->items[i], metric);

		sum += isnan(grown) ? 0 : grown; // a new readout has no rate yet
	}
	return sum / model_seconds(node);
}

static void add_plots(struct model_node *node)
{
	double values[MODEL_N_PLOTS] = {
		[MODEL_LATENCY] = model_latency(node, 0.99),
		[MODEL_LOSSES] = model_losses(node),
		[MODEL_SLOTS] = model_slots_used(node),
	};
	bool full = node->n_plots == MODEL_HISTORY;
	unsigned last = full ? MODEL_HISTORY - 1 : node->n_plots++;
	double events, bytes;

	if (node->now.groups[SAMPLE_BUILDERS].n > 0) {
		events =
		    model_rate(node, "events_complete") + model_rate(node, "events_incomplete");
		bytes = model_rate(node, "bytes_built");
	} else if (node->now.groups[SAMPLE_READOUTS].n > 0) {
		events = readout_rate(node, "events");
		bytes = readout_rate(node, "payload_bytes");
	} else {
		events = model_rate(node, "sent_events");
		bytes = model_rate(node, "sent_bytes");
	}
	values[MODEL_EVENTS] = events;
	values[MODEL_BITS] = bytes * 8;
	for (unsigned plot = 0; plot < MODEL_N_PLOTS; plot++) {
		if (full)
			memmove(node->plots[plot], node->plots[plot] + 1, last * sizeof(double));
		node->plots[plot][last] = values[plot];
	}
}

void model_sample(struct model_node *node, struct reading *reading)
{
	struct sample sample;

	node->up = true;
	node->error[0] = '\0';
	if (node->has_now && reading->time_ms <= node->now.reading->time_ms)
		return;
	if (!sample_take(&sample, reading)) {
		sample_free(&sample); // memory ran out: the next reading may find some
		return;
	}
	sample_free(&node->before);
	node->before = node->now;
	node->now = sample;
	node->has_before = reading_follows(reading, node->before.reading);
	node->has_now = true;
	if (node->has_before)
		add_plots(node);
}

void model_down(struct model_node *node, enum sampler_state state, const char *error,
		const char *clock)
{
	node->state = state;
	if (node->up)
		snprintf(node->down_since, sizeof(node->down_since), "%s", clock);
	node->up = false;
	snprintf(node->error, sizeof(node->error), "%s", error);
}

const char *model_state(const struct model_node *node)
{
	if (node->up)
		return sample_text(&node->now, "info", "state");
	return node->state == SAMPLER_ENDED  ? "ended"
	       : node->state == SAMPLER_DIED ? "DIED"
					     : "DOWN";
}

bool model_has_ended(const struct model_node *node)
{
	return !node->up && node->state == SAMPLER_ENDED;
}
