// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include <stdio.h>
#include <string.h>

const struct telemetry_group *const telemetry_groups[] = {
	&telemetry_diagnosis,
	&telemetry_role,
	&telemetry_link,
	&telemetry_builder,
	&telemetry_source,
	&telemetry_stranger,
	&telemetry_port,
	&telemetry_lcore,
	&telemetry_generator,
	&telemetry_readout,
	&telemetry_writer,
	&telemetry_decision,
	&telemetry_decision_member,
	&telemetry_results,
	&telemetry_results_node,
	&telemetry_pfc,
	&telemetry_xdp,
	&telemetry_roce,
	&telemetry_qp,
	&telemetry_sched,
	&telemetry_credits,
	&telemetry_control,
	&telemetry_step,
	NULL,
};

static bool manages(const struct appliance *appliance)
{
	const struct role *control = appliance_control(appliance);

	return control != NULL && control_role_manages(control);
}

bool telemetry_view(const struct telemetry_group *group, const struct appliance *appliance,
		    unsigned index, telemetry_bases bases)
{
	memset(bases, 0, sizeof(telemetry_bases));
	group->view(appliance, index, bases);
	return bases[0] != NULL;
}

unsigned telemetry_count(const struct telemetry_group *group, const struct appliance *appliance)
{
	const struct config *config = appliance->config;
	// The generators of a node of a system are readouts, which have a group of their own.
	unsigned n_readouts = config->cluster.n_nodes > 0 ? config->n_generators : 0;
	unsigned n_managers = manages(appliance);
	const struct {
		const struct telemetry_group *group;
		unsigned n;
	} counts[] = {
		{ &telemetry_role, appliance->plan->n_roles },
		{ &telemetry_link, appliance->n_links },
		{ &telemetry_builder, config->n_builders },
		{ &telemetry_source, appliance->sources.n_expected },
		{ &telemetry_port, appliance->n_ports },
		{ &telemetry_lcore, appliance->plan->n_lcores },
		{ &telemetry_generator, config->n_generators - n_readouts },
		{ &telemetry_readout, n_readouts },
		{ &telemetry_writer, config->n_writers },
		{ &telemetry_results, config->n_results },
		{ &telemetry_sched, n_managers },
		{ &telemetry_credits, n_managers * config->cluster.n_builders },
		{ &telemetry_control, config->cluster.n_nodes },
	};
	telemetry_bases bases;
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].group == group)
			return counts[i].n;
	// The things of other groups are searched.
	while (telemetry_view(group, appliance, n, bases))
		n++;
	return n;
}

bool telemetry_has_names(const struct telemetry_group *group)
{
	return group->tables[0]->kind == METRIC_TEXT;
}

void telemetry_group_command(const struct telemetry_group *group, enum telemetry_verb verb,
			     char command[TELEMETRY_MAX_COMMAND], char help[TELEMETRY_MAX_HELP])
{
	static const char *const verbs[TELEMETRY_N_VERBS] = {
		[TELEMETRY_LIST] = "list",
		[TELEMETRY_INFO] = "info",
		[TELEMETRY_ALL] = "all",
	};
	const char *called = telemetry_has_names(group) ? "Names" : "Numbers";

	snprintf(command, TELEMETRY_MAX_COMMAND, "/evb/%s/%s", group->name, verbs[verb]);
	if (verb == TELEMETRY_LIST)
		snprintf(help, TELEMETRY_MAX_HELP,
			 "%s of the %s, a page of at most COUNT from OFFSET", called,
			 group->things);
	else if (verb == TELEMETRY_INFO)
		snprintf(help, TELEMETRY_MAX_HELP, "%s", group->help);
	else
		snprintf(help, TELEMETRY_MAX_HELP,
			 "All metrics of the %s from OFFSET on, as many as fit into a response",
			 group->things);
}

static void add_metrics(struct telemetry_place *place, const struct metric *table)
{
	unsigned n = 0;

	while (place->metrics[n] != NULL)
		n++;
	for (; table->name != NULL && n < TELEMETRY_MAX_METRICS; table++)
		place->metrics[n++] = table;
}

static void place_group(struct telemetry_place *place, const struct telemetry_group *group,
			bool nested)
{
	place->group = group;
	place->nested = nested;
	snprintf(place->name, sizeof(place->name), "%s%s%s", group->name, nested ? "/" : "",
		 nested ? group->nested : "");
	snprintf(place->prefix, sizeof(place->prefix), "evb_%s%s%s", group->name, nested ? "_" : "",
		 nested ? group->nested : "");
	if (nested)
		add_metrics(place, group->nested_table);
	for (unsigned i = 0; !nested && i < TELEMETRY_MAX_TABLES && group->tables[i] != NULL; i++)
		add_metrics(place, group->tables[i]);
}

bool telemetry_place(unsigned index, struct telemetry_place *place)
{
	*place = (struct telemetry_place){ .prefix = "evb" };
	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++) {
		if (index-- > 0)
			continue;
		place->whole = whole;
		if (whole->prefix != NULL)
			snprintf(place->prefix, sizeof(place->prefix), "%s", whole->prefix);
		add_metrics(place, whole->table);
		snprintf(place->name, sizeof(place->name), "%s", strrchr(whole->command, '/') + 1);
		return true;
	}
	for (unsigned i = 0; telemetry_groups[i] != NULL; i++) {
		unsigned n = telemetry_groups[i]->nested != NULL ? 2 : 1;

		if (index < n) {
			place_group(place, telemetry_groups[i], index == 1);
			return true;
		}
		index -= n;
	}
	return false;
}
