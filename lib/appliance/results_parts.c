// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The roles that write results, or send them to the node that does.
#include "appliance/parts.h"
#include "record/results_role.h"
#include "record/results_sender_role.h"

struct role *results_make_sender(struct appliance *appliance, const struct plan_role *plan,
				 char *error)
{
	const struct config *config = appliance->config;
	const struct config_results *results = &config->results[plan->object];
	const char *directory = config->event_ring.directory;
	const struct results_sender_parameters parameters = {
		.name = plan->name,
		.appliance = config->name,
		.reader = {
			.mode = EVB_READER_GROUP,
			.group = results->name,
			.directory = directory[0] != '\0' ? directory : NULL,
		},
		.first_builder = (uint16_t)config->cluster.nodes[config->cluster.self].first_builder,
		.origins = results->origin_packing > 0,
		.outbox = appliance->outboxes[results->system - 1],
	};

	return results_sender_role_create(&parameters, error);
}

// The ring has the directory and the rights of the event rings. `groups` are those of the results.
static struct evring_parameters ring_of(const struct appliance *appliance,
					const struct config_results *results,
					const char *const *groups)
{
	const struct config *config = appliance->config;
	const char *directory = config->event_ring.directory;

	return (struct evring_parameters){
		.name = results->ring.name,
		.directory = directory[0] != '\0' ? directory : NULL,
		.run_number = appliance->run,
		.slots = results->ring.slots,
		.groups = groups,
		.n_groups = results->ring.n_groups,
		.mode = ring_mode(config),
		.unix_group = config->event_ring.unix_group,
	};
}

struct role *results_make(struct appliance *appliance, const struct plan_role *plan, char *error)
{
	const struct config *config = appliance->config;
	const struct config_results *results = &config->results[plan->object];
	const struct config_group *group = config_group(config, results->group);
	const char *directory = config->event_ring.directory;
	const bool of_system = results->system > 0;
	const bool origins = results->origin_packing > 0;
	const bool granted = of_system && cluster_grants(config) && !origins;
	const bool has_input = results->from[0] != '\0';
	const uint32_t packing = config_results_packing(config, results);
	const char *groups[EVB_MAX_GROUPS];
	struct results_parameters parameters = {
		.name = plan->name,
		.appliance = config->n_builders > 0 && !(has_input && of_system) ? config->name : NULL,
		.first_builder = (uint16_t)(of_system
						? config->cluster.nodes[config->cluster.self]
						      .first_builder
						: 0),
		.inbox = of_system ? appliance->inboxes[results->system - 1] : NULL,
		.granted = granted,
		.origins = origins,
		.input = {
			.ring = has_input ? results->from : NULL,
			.group = results->name,
			.directory = directory[0] != '\0' ? directory : NULL,
			.run_number = appliance->run,
			.packing = packing,
		},
		.reader = {
			.mode = EVB_READER_GROUP,
			.group = results->name,
			.directory = directory[0] != '\0' ? directory : NULL,
		},
		.order = {
			.window = results->window,
			.packing = packing,
			.timeout_ns = results->timeout_ns,
			.accept_timed_out =
			    group == NULL || group->undecided == CONFIG_UNDECIDED_ACCEPT,
			.holds = granted,
		},
		.stream = {
			.directory = results->to == CONFIG_RESULTS_FILE ? results->directory : NULL,
			.prefix = results->prefix,
			.address = results->address,
			.port = results->udp_port,
			.run_number = appliance->run,
			.packing = packing,
			.resumes = granted && results->to == CONFIG_RESULTS_FILE,
		},
	};

	if (results->to == CONFIG_RESULTS_RING) {
		for (unsigned i = 0; i < results->ring.n_groups; i++)
			groups[i] = results->ring.groups[i];
		parameters.stream.ring = ring_of(appliance, results, groups);
	}
	return results_role_create(&parameters, error);
}

uint64_t results_finish(const struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	uint64_t held = 0;

	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == CONFIG_ROLE_RESULTS)
			held += results_role_finish(appliance->roles[i]);
	return held;
}
