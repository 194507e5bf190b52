// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The latency of control (cluster/latency.h): the steps of an event whose two ends this node sees.
#include "telemetry/group.h"

#include "builder/assembly.h"
#include "builder/builder_role.h"
#include "cluster/latency.h"

struct step_view {
	const char *name, *since;
	struct histogram latency;
};

static const struct metric step_metrics[] = {
	TEXT("name", step_view, name, "end of the step"),
	TEXT("since", step_view, since, "its begin"),
	LATENCY("latency", step_view, latency, "time that the step takes"),
	{ 0 },
};

// In the order of an event.
static const struct step {
	const char *name, *since;
	bool of_builders; // of all builders of the node; else of the control role
	size_t histogram; // offset in struct assembly_latency or cluster_latency
} steps[] = {
	{ "grant", "announcement", false, offsetof(struct cluster_latency, grant) },
	{ "first_segment", "grant", true, offsetof(struct assembly_latency, first_segment) },
	{ "complete", "first_segment", true, offsetof(struct assembly_latency, complete) },
	{ "published", "complete", true, offsetof(struct assembly_latency, published) },
	{ "released", "published", true, offsetof(struct assembly_latency, consumers) },
	{ "credit", "released", false, offsetof(struct cluster_latency, credit) },
};

#define N_STEPS (sizeof(steps) / sizeof(steps[0]))

// Readouts see the first step, builders all others.
static bool has_step(const struct config *config, size_t step)
{
	return step == 0 ? config->n_generators > 0 : config->n_builders > 0;
}

static void merge(const struct appliance *appliance, const struct step *step,
		  struct histogram *histogram)
{
	const char *base = (const char *)control_role_latency(appliance_control(appliance));

	if (!step->of_builders) {
		histogram_merge(histogram, (const void *)(base + step->histogram));
		return;
	}
	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		const struct role *role = appliance_role(appliance, CONFIG_ROLE_BUILDER, i);

		base = (const char *)assembly_latency(builder_role_assembly(role));
		histogram_merge(histogram, (const void *)(base + step->histogram));
	}
}

static void view_step(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct step_view view;
	size_t step = 0;

	if (!cluster_grants(appliance->config))
		return;
	while (step < N_STEPS && (!has_step(appliance->config, step) || index-- > 0))
		step++;
	if (step == N_STEPS)
		return;
	view = (struct step_view){ .name = steps[step].name, .since = steps[step].since };
	merge(appliance, &steps[step], &view.latency);
	bases[0] = &view;
}

const struct telemetry_group telemetry_step = {
	.name = "step",
	.things = "steps of control",
	.help = "A step of events of a system: how long it takes",
	.note =
	    "In modes push and pull. `grant` is on nodes with generators, the others are on nodes "
	    "with\n"
	    "builders. Both ends of a step are seen by one process:\n"
	    "\n"
	    "| step | from | to |\n"
	    "|---|---|---|\n"
	    "| `grant` | the node announces the event | its first grant (pull: request) arrives |\n"
	    "| `first_segment` | the builder has the grant | the first segment; 0 if that came "
	    "first |\n"
	    "| `complete` | the first segment | the last; complete events only |\n"
	    "| `published` | completion, or the grant if that came later | the event is "
	    "published |\n"
	    "| `released` | publication | the builder sees that all consumers have released it |\n"
	    "| `credit` | then | the manager has the credit, and its acknowledgement is back |",
	.tables = { step_metrics },
	.view = view_step,
};
