// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The appliances that are shown: of each the latest two samples, and a history of some figures.
// Figures that are not known are NAN. Pure.
#pragma once

#include "client/sampler.h"
#include "top/sample.h"

#define MODEL_NAME_SIZE  64
#define MODEL_ERROR_SIZE 384
#define MODEL_CLOCK_SIZE 16
#define MODEL_HISTORY    512 // samples

enum model_plot {
	MODEL_EVENTS,  // published events/s; sent events/s where nothing is built
	MODEL_BITS,    // bit/s of built events; of sent packets where nothing is built
	MODEL_LATENCY, // ns that 99 % of the events since the sample before did not exceed
	MODEL_LOSSES,  // packets, segments and events lost per second
	MODEL_SLOTS,   // share of the slots in use
	MODEL_N_PLOTS,
};

struct model_node {
	char name[MODEL_NAME_SIZE];
	bool up;
	enum sampler_state state;
	char error[MODEL_ERROR_SIZE];      // why the node is not up
	char down_since[MODEL_CLOCK_SIZE]; // clock; empty: it has never been up
	bool has_now, has_before;          // samples; `before` only if it is of the same run
	struct sample now, before;
	double plots[MODEL_N_PLOTS][MODEL_HISTORY]; // the oldest first
	unsigned n_plots;
};

struct model {
	struct model_node **nodes;
	unsigned n_nodes, room;
	char clock[MODEL_CLOCK_SIZE]; // "12:34:56"
};

// The node of this name, made if there is none. NULL if memory ran out.
struct model_node *model_node(struct model *model, const char *name);

// The appliance responded with this reading; a reading that is not newer than the last is ignored.
void model_sample(struct model_node *node, struct reading *reading);

// The appliance does not respond, for this reason.
void model_down(struct model_node *node, enum sampler_state state, const char *error,
		const char *clock);

// The state in one word: that of the appliance, "ended", "DIED" or "DOWN".
const char *model_state(const struct model_node *node);

// Whether it has ended without anything wrong.
bool model_has_ended(const struct model_node *node);

// Removes the node.
void model_forget(struct model *model, unsigned index);
void model_free(struct model *model);

// Seconds between the latest two samples; 0 if there are no two.
double model_seconds(const struct model_node *node);

// A number of the appliance's summary (docs/metrics.md), and its growth per second.
double model_value(const struct model_node *node, const char *key);
double model_rate(const struct model_node *node, const char *key);

// The sum of a metric over the items of a group; an unknown value makes the sum unknown.
double model_sum(const struct model_node *node, enum sample_group group, const char *metric);

// Growth of a metric of an item of `now` since the sample before; NAN: unknown.
double model_growth(const struct model_node *node, enum sample_group group,
		    const struct sample_item *item, const char *metric);

// Time in ns that this share of the events since the sample before did not exceed; NAN: no events.
double model_latency(const struct model_node *node, double share);

// Share of the events since the sample before that were complete; NAN: no events.
double model_completeness(const struct model_node *node);

// Packets missed by ports, packets and segments dropped, and events not complete, per second.
double model_losses(const struct model_node *node);

// Share of all slots in use.
double model_slots_used(const struct model_node *node);

// Share of the time that the busiest lcore was not idle.
double model_busiest(const struct model_node *node);
