// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Generators that send the built events of other appliances.
#include "appliance/parts.h"
#include "store/event_store.h"

int event_rings_make_store(struct appliance *appliance, unsigned index, char *error)
{
	const struct config *config = appliance->config;
	const struct config_generator *generator = &config->generators[index];
	const struct config_egress *egress = &generator->egress;
	const struct event_store_parameters parameters = {
		.appliance = egress->appliance,
		.group = egress->group,
		.directory = egress->directory[0] != '\0' ? egress->directory : NULL,
		.id = config_source_set(config, generator).ids,
		.packing = config->sources.packing,
		.max_event = egress->max_event,
		.events = config->event_manager.source_buffer,
		.is_shared = config->cluster.shares_source,
		.by_id = egress->number_by == CONFIG_NUMBER_BY_EVENT_ID,
		.first_event = generator->first_event,
		.deadline_cycles = ns_to_cycles(config->events.deadline_ns),
	};

	appliance->stores[index] = event_store_create(&parameters);
	return appliance->stores[index] != NULL
		   ? 0
		   : appliance_fail(error, "generator %s: out of memory", generator->name);
}

static void watch(struct appliance *appliance, unsigned index)
{
	const struct plan *plan = appliance->plan;
	const struct config_generator *generator = &appliance->config->generators[index];
	const char *from = generator->egress.appliance;
	unsigned port = plan->roles[plan_role_of_generator(plan, index)].port;
	char why[EVENT_STORE_ERROR_SIZE];

	switch (event_store_watch(appliance->stores[index], appliance->ports[port].id, why)) {
	case EVENT_STORE_OPENED:
		notice(appliance, "generator %s: sends the built events of appliance %s",
		       generator->name, from);
		break;
	case EVENT_STORE_CLOSED:
		notice(appliance, "generator %s: appliance %s has died; all that it built is sent",
		       generator->name, from);
		break;
	case EVENT_STORE_WAITS:
		notice(appliance, "generator %s: waits for the built events of appliance %s: %s",
		       generator->name, from, why);
		break;
	case EVENT_STORE_AHEAD:
		notice(appliance,
		       "generator %s: appliance %s is at event %s, far ahead of this run: restart "
		       "it",
		       generator->name, from, why);
		break;
	case EVENT_STORE_NOTHING_NEW:
		break;
	}
}

void event_rings_watch(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (appliance->config->generators[i].kind == GENERATOR_EVENT_RING)
			watch(appliance, i);
}
