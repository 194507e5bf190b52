// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is known of the appliances that are watched: of each the last two samples, and a history of
// some figures. Pure.
#pragma once

#include "top/sample.h"

#define MODEL_NAME_SIZE  64
#define MODEL_ERROR_SIZE 384
#define MODEL_CLOCK_SIZE 16
#define MODEL_HISTORY    512 // samples

enum model_plot {
	MODEL_EVENTS,  // published events a second; sent ones where nothing is built
	MODEL_BITS,    // of built events a second; of sent packets where nothing is built
	MODEL_LATENCY, // ns that 99 % of the events since the last sample took at most
	MODEL_LOSSES,  // packets, segments and events a second
	MODEL_SLOTS,   // share that is in use
	MODEL_N_PLOTS,
};

struct model_node {
	char name[MODEL_NAME_SIZE];
	bool up;
	char error[MODEL_ERROR_SIZE];      // why it is not
	char down_since[MODEL_CLOCK_SIZE]; // clock; empty: it never was up
	bool has_now, has_before;          // samples
	struct sample now, before;
	double plots[MODEL_N_PLOTS][MODEL_HISTORY]; // the oldest first
	unsigned n_plots;
};

struct model {
	struct model_node **nodes;
	unsigned n_nodes, room;
	char clock[MODEL_CLOCK_SIZE]; // "12:34:56"
	unsigned interval_ms;         // between samples
};

// The node of this name, made if there is none. NULL if memory ran out.
struct model_node *model_node(struct model *model, const char *name);

// Takes a sample over, and the samples with it. One that is not newer is dropped.
void model_sample(struct model_node *node, struct sample *sample);

// The appliance does not answer.
void model_down(struct model_node *node, const char *error, const char *clock);

// Forgets the node.
void model_forget(struct model *model, unsigned index);
void model_free(struct model *model);

// Seconds between the last two samples; 0 if there are none.
double model_seconds(const struct model_node *node);

// Of the summary: the value, and its growth a second. NAN: unknown.
double model_value(const struct model_node *node, unsigned key);
double model_rate(const struct model_node *node, unsigned key);

// Time in ns that this share of the events since the last sample took at most; NAN: there were
// none.
double model_latency(const struct model_node *node, double share);

// Of the events since the last sample, the share that was complete; NAN: there were none.
double model_completeness(const struct model_node *node);

// Packets that ports missed, packets and segments dropped, and events not complete, a second.
double model_losses(const struct model_node *node);

// Share of all slots that are in use.
double model_slots_used(const struct model_node *node);
double model_slots(const struct model_node *node);

// Largest share of an lcore's time that was not idle.
double model_busiest(const struct model_node *node);
