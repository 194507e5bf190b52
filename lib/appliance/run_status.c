// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/run_control.h"

#include <stdlib.h>
#include <unistd.h>

#include "appliance/account.h"
#include "appliance/control_socket.h"
#include "appliance/diagnosis_watch.h"
#include "wire/ctrl.h"

// cJSON stores numbers as doubles, which are exact up to 2^53.
static bool add(cJSON *to, const char *name, uint64_t value)
{
	return cJSON_AddNumberToObject(to, name, (double)value) != NULL;
}

static bool add_flag(cJSON *to, const char *name, bool value)
{
	return cJSON_AddBoolToObject(to, name, value) != NULL;
}

static bool add_text(cJSON *to, const char *name, const char *value)
{
	return cJSON_AddStringToObject(to, name, value) != NULL;
}

bool run_status_add_finding(cJSON *list, const struct diagnosis_finding *finding)
{
	cJSON *member = run_status_append(list, cJSON_CreateObject());

	return add_text(member, "rule", finding->rule) &&
	       add(member, "severity", finding->severity) &&
	       add_text(member, "subject", finding->subject) &&
	       add_text(member, "sentence", finding->sentence) &&
	       add_text(member, "remedy", finding->remedy);
}

static enum ctrl_run_state state_alone(const struct appliance *appliance)
{
	switch (atomic_load(&appliance->state)) {
	case APPLIANCE_STARTING:
		return CTRL_CONFIGURED;
	case APPLIANCE_RUNNING:
		return CTRL_RUNNING;
	case APPLIANCE_DRAINING:
		return CTRL_DRAINING;
	case APPLIANCE_STOPPED:
		break;
	}
	return CTRL_STOPPED;
}

// The event manager determines the state of a node, except while the node leaves the system.
static enum ctrl_run_state state_of(const struct appliance *appliance)
{
	const struct role *control = appliance_control(appliance);
	enum ctrl_run_state alone = state_alone(appliance);
	struct cluster_node_view view;

	if (control == NULL)
		return alone;
	control_role_node_view(control, &view);
	return alone == CTRL_RUNNING || view.state == CTRL_STOPPED ? view.state : alone;
}

static bool add_account(cJSON *to, const struct appliance *appliance)
{
	struct account *account = malloc(sizeof(*account));
	cJSON *events = cJSON_AddObjectToObject(to, "events");
	bool added;

	if (account == NULL)
		return false;
	account_take(appliance, account);
	added = add(events, "complete", account->built.events_complete) &&
		add(events, "incomplete", account->built.events_incomplete) &&
		add(events, "discarded", account->built.events_discarded) &&
		add(events, "withdrawn", account->built.events_withdrawn) &&
		add(events, "open", account->events_open) &&
		add(events, "sent", account->sent_events) &&
		add(to, "bytes_built", account->built.bytes_built) &&
		add(to, "lost_segments", account_losses(account)) &&
		add(to, "missed_packets", account->missed) &&
		add(to, "slots_free", account->free_slots);
	free(account);
	return added;
}

// Adds what is wrong, causes first.
static bool add_diagnosis(cJSON *to, const struct appliance *appliance)
{
	cJSON *list = cJSON_AddArrayToObject(to, "diagnosis");
	bool added = list != NULL;
	struct diagnosis diagnosis;

	appliance_diagnosis(appliance, &diagnosis);
	for (unsigned i = 0; i < diagnosis.n && added; i++)
		added = run_status_add_finding(list, &diagnosis.findings[i]);
	return added;
}

static bool add_node(cJSON *to, const struct appliance *appliance)
{
	const struct cluster_system *cluster = &appliance->config->cluster;
	cJSON *node = cJSON_AddObjectToObject(to, "node");
	struct cluster_node_view view;

	control_role_node_view(appliance_control(appliance), &view);
	return add_text(node, "name", cluster->nodes[cluster->self].name) &&
	       add_text(node, "manager",
			view.manager < cluster->n_nodes ? cluster->nodes[view.manager].name
							: "none") &&
	       add_flag(node, "registered", view.registered) &&
	       add_flag(node, "excluded", view.excluded) &&
	       add(node, "announced", view.announced) && add(node, "released", view.released) &&
	       add(node, "grants", view.grants) && add(node, "sends", view.sends) &&
	       add(node, "requests", view.requests) && add(node, "built", view.built) &&
	       add(node, "published", view.published) && add(node, "withdrawn", view.withdrawn) &&
	       add(node, "unknown", view.unknown) && add(node, "other_run", view.other_run) &&
	       add(node, "throttled", view.throttled) &&
	       add(node, "tokens_free", view.tokens_free) &&
	       add(node, "tokens_used", view.tokens_used);
}

static bool add_standbys(cJSON *office, const struct cluster_system *cluster,
			 const struct control_office_view *view)
{
	cJSON *list = cJSON_AddArrayToObject(office, "standbys");
	bool added = list != NULL;

	for (unsigned i = 0; i < view->n_standbys && added; i++) {
		const char *name = cluster->nodes[view->standbys[i]].name;

		added = run_status_append(list, cJSON_CreateString(name)) != NULL;
	}
	return added;
}

// Adds which node is in office, as this one knows, and how many votes its lease has, if it is this.
static bool add_office(cJSON *to, const struct appliance *appliance)
{
	const struct cluster_system *cluster = &appliance->config->cluster;
	const struct role *control = appliance_control(appliance);
	cJSON *office = cJSON_AddObjectToObject(to, "office");
	struct control_office_view view;

	control_role_office(control, &view);
	return add_text(office, "manager",
			view.manager < cluster->n_nodes ? cluster->nodes[view.manager].name
							: "none") &&
	       add(office, "epoch", view.epoch) &&
	       add(office, "since_us",
		   view.since > 0 ? control_role_wall_clock(control, view.since) / 1000 : 0) &&
	       add_standbys(office, cluster, &view) && add(office, "votes", view.own.votes) &&
	       add(office, "votes_needed", cluster->n_nodes / 2 + 1) &&
	       add(office, "terms", view.own.n_terms);
}

static bool add_member(cJSON *list, const struct cluster_system_node *node,
		       const struct cluster_node_state *state)
{
	cJSON *member = run_status_append(list, cJSON_CreateObject());

	return add_text(member, "name", node->name) &&
	       add_text(member, "state", ctrl_run_state_name(state->state)) &&
	       add_flag(member, "registered", state->registered) &&
	       add_flag(member, "lost", state->lost) &&
	       add_flag(member, "excluded", state->excluded) &&
	       add(member, "sources", node->n_sources) &&
	       add(member, "builders", node->n_builders) &&
	       add(member, "slots_free", state->slots_free);
}

static bool add_members(cJSON *to, const struct appliance *appliance)
{
	const struct cluster_system *cluster = &appliance->config->cluster;
	cJSON *list = cJSON_AddArrayToObject(to, "nodes");
	bool added = list != NULL;

	for (unsigned i = 0; i < cluster->n_nodes && added; i++) {
		struct cluster_node_state state;

		control_role_member(appliance_control(appliance), i, &state);
		added = add_member(list, &cluster->nodes[i], &state);
	}
	return added;
}

// Adds the counters of grants. In mode static no event is granted.
static bool add_grants(cJSON *system, const struct cluster_manager_view *view)
{
	return add(system, "released", view->released) &&
	       add(system, "outstanding", view->outstanding) &&
	       add(system, "waiting", view->waiting) && add(system, "complete", view->complete) &&
	       add(system, "incomplete", view->incomplete) &&
	       add(system, "discarded", view->discarded) && add(system, "missing", view->missing) &&
	       add(system, "repeated", view->repeated) && add(system, "in_doubt", view->in_doubt) &&
	       add(system, "excluded", view->excluded) && add(system, "stale", view->stale) &&
	       add(system, "grants_held", view->grants_held) && add(system, "level", view->level) &&
	       add_flag(system, "throttled", view->throttled);
}

static bool add_system(cJSON *to, const struct appliance *appliance)
{
	static const char *const modes[] = { "static", "push", "pull" };
	cJSON *system = cJSON_AddObjectToObject(to, "system");
	struct cluster_manager_view view;

	control_role_manager_view(appliance_control(appliance), &view);
	return add_text(system, "state", ctrl_run_state_name(view.state)) &&
	       add_text(system, "mode", modes[appliance->config->event_manager.sched.mode]) &&
	       add(system, "run", view.run) && add(system, "registered", view.n_registered) &&
	       add(system, "announced", view.announced) &&
	       (!cluster_grants(appliance->config) || add_grants(system, &view)) &&
	       add_members(system, appliance);
}

cJSON *run_status(const struct appliance *appliance)
{
	const struct config *config = appliance->config;
	const struct role *control = appliance_control(appliance);
	cJSON *response = control_response_done();

	if (response != NULL && add_text(response, "name", config->name) &&
	    add(response, "run", appliance->run) && add(response, "pid", (uint64_t)getpid()) &&
	    add_text(response, "state", ctrl_run_state_name(state_of(appliance))) &&
	    add_account(response, appliance) && add_diagnosis(response, appliance) &&
	    (control == NULL || add_node(response, appliance)) &&
	    (!cluster_elects(&config->cluster) || add_office(response, appliance)) &&
	    (control == NULL || !control_role_manages(control) || add_system(response, appliance)))
		return response;
	cJSON_Delete(response);
	return NULL;
}
