// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/run_control.h"

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "appliance/control_socket.h"
#include "appliance/parts.h"

#define PATIENCE_S 2 // longest time for the event manager to respond

struct run_control {
	struct appliance *appliance;
	struct control_socket *socket;
	bool asked_for_end;
	bool configures;   // the current command is `configure`
	uint64_t asked_at; // TSC at the begin of the current command
};

static const struct {
	const char *name;
	enum cluster_command command;
} commands[] = {
	{ "start", CLUSTER_START },     { "pause", CLUSTER_PAUSE }, { "resume", CLUSTER_RESUME },
	{ "drain", CLUSTER_DRAIN },     { "stop", CLUSTER_STOP },   { "exclude", CLUSTER_EXCLUDE },
	{ "include", CLUSTER_INCLUDE },
};

static bool find_command(const char *name, enum cluster_command *command)
{
	for (size_t i = 0; i < RTE_DIM(commands); i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		*command = commands[i].command;
		return true;
	}
	return false;
}

static bool is_over(const struct run_control *control)
{
	const struct role *role = appliance_control(control->appliance);

	return atomic_load(&control->appliance->state) == APPLIANCE_STOPPED ||
	       atomic_load_explicit(&role->drained, memory_order_acquire);
}

// Without an event manager the run begins with the start; the only commands are those that end it.
static cJSON *command_alone(struct run_control *control, const char *name,
			    enum cluster_command command)
{
	if (command != CLUSTER_DRAIN && command != CLUSTER_STOP)
		return control_response_error(
		    "%s: there is no event manager, this appliance runs on "
		    "its own: it can be drained",
		    name);
	control->asked_for_end = true;
	return control_response_done();
}

// Finds the node that the command is for: *node is its number, or 0 for commands that are for no
// node. Returns NULL, or an error response.
static cJSON *find_node(const struct cluster_system *cluster, const char *name,
			enum cluster_command command, const cJSON *wanted, unsigned *node)
{
	*node = 0;
	if (command != CLUSTER_EXCLUDE && command != CLUSTER_INCLUDE)
		return NULL;
	if (!cJSON_IsString(wanted))
		return control_response_error("%s: which node?", name);
	while (*node < cluster->n_nodes &&
	       strcmp(cluster->nodes[*node].name, wanted->valuestring) != 0)
		(*node)++;
	if (*node == cluster->n_nodes)
		return control_response_error("%s: there is no node \"%.64s\"", name,
					      wanted->valuestring);
	return NULL;
}

static cJSON *command_system(struct run_control *control, const char *name,
			     enum cluster_command command, const cJSON *wanted, bool *later)
{
	struct role *role = appliance_control(control->appliance);
	enum control_role_answer answer;
	char error[CONTROL_ERROR_SIZE];
	unsigned node;
	cJSON *response =
	    find_node(&control->appliance->config->cluster, name, command, wanted, &node);

	if (response != NULL)
		return response;
	if (is_over(control))
		return control_response_error("%s: the run is over", name);
	answer = control_role_ask(role, command, node, error);
	if (answer == CONTROL_ROLE_NOT_MANAGER)
		return control_response_not_manager(control_response_error("%s: %s", name, error));
	if (answer == CONTROL_ROLE_REFUSED)
		return control_response_error("%s: %s", name, error);
	control->asked_at = rte_rdtsc();
	*later = true;
	return NULL;
}

// Whether the process serves several runs of a system of nodes.
static bool serves_several(const struct appliance *appliance)
{
	return appliance_control(appliance) != NULL &&
	       config_serves_several_runs(appliance->config);
}

// A start with the number of the run: all nodes prepare for a run of this number first.
static cJSON *start_numbered(struct run_control *control, const cJSON *run, bool *later)
{
	struct appliance *appliance = control->appliance;
	const struct role *role = appliance_control(appliance);
	struct cluster_manager_view view;

	if (!cJSON_IsNumber(run) || run->valuedouble < 1 || run->valuedouble > UINT32_MAX)
		return control_response_error("start: a run has a number from 1 to %u", UINT32_MAX);
	if (!serves_several(appliance))
		return control_response_error("start: with event_manager.runs one, the number is "
					      "that of the configuration: run_number");
	if (run->valuedouble == appliance->run || !control_role_manages(role))
		return command_system(control, "start", CLUSTER_START, NULL, later);
	control_role_manager_view(role, &view);
	if (view.state != CTRL_READY || is_over(control))
		return control_response_error("start: the system is not ready for another run");
	if (run->valuedouble < appliance->run)
		return control_response_error("start: run numbers grow: the next one is %u or more",
					      appliance->run);
	appliance->asked_run = (uint32_t)run->valuedouble;
	return control_response_done();
}

static cJSON *configure(struct run_control *control, const cJSON *file, bool *later)
{
	struct appliance *appliance = control->appliance;
	char error[APPLIANCE_ERROR_SIZE];
	bool is_same;

	if (!serves_several(appliance))
		return control_response_error("configure: the process serves one run: "
					      "event_manager.runs many is needed");
	if (!control_role_manages(appliance_control(appliance)))
		return control_response_not_manager(
		    control_response_error("configure: this node is not the event manager"));
	if (!cJSON_IsString(file))
		return control_response_error("configure: which file?");
	if (is_over(control))
		return control_response_error("configure: the run is over");
	if (configure_begin(appliance, file->valuestring, &is_same, error) != 0)
		return control_response_error("configure: %s", error);
	if (is_same)
		return control_response_done();
	control->configures = true;
	*later = true;
	return NULL;
}

static cJSON *begin(void *context, const cJSON *request, bool *later)
{
	struct run_control *control = context;
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(request, "command");
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(request, "node");
	const cJSON *run = cJSON_GetObjectItemCaseSensitive(request, "run");
	enum cluster_command command;

	if (!cJSON_IsString(name))
		return control_response_error("a request names its \"command\"");
	if (strcmp(name->valuestring, "status") == 0)
		return run_status(control->appliance);
	if (strcmp(name->valuestring, "start") == 0 && run != NULL)
		return start_numbered(control, run, later);
	control->configures = false;
	if (control->appliance->adopts)
		return control_response_error("%.64s: the system prepares for another file",
					      name->valuestring);
	if (strcmp(name->valuestring, "configure") == 0)
		return configure(control, cJSON_GetObjectItemCaseSensitive(request, "file"), later);
	if (!find_command(name->valuestring, &command))
		return control_response_error("there is no command \"%.64s\"", name->valuestring);
	return appliance_control(control->appliance) == NULL
		   ? command_alone(control, name->valuestring, command)
		   : command_system(control, name->valuestring, command, node, later);
}

static cJSON *finish(void *context)
{
	struct run_control *control = context;
	struct appliance *appliance = control->appliance;
	const bool configures = control->configures;
	char error[APPLIANCE_ERROR_SIZE];
	uint64_t waited = rte_rdtsc() - control->asked_at;

	switch (configures ? configure_finish(appliance, error)
			   : control_role_answer(appliance_control(appliance), error)) {
	case CONTROL_ROLE_DONE:
		return control_response_done();
	case CONTROL_ROLE_REFUSED:
		return control_response_error("%s%s", configures ? "configure: " : "", error);
	case CONTROL_ROLE_NOT_MANAGER:
		return control_response_not_manager(control_response_error("%s", error));
	case CONTROL_ROLE_WAITS:
		break;
	}
	if (is_over(control))
		return control_response_error("the run is over");
	if (!configures && waited > PATIENCE_S * rte_get_tsc_hz())
		return control_response_error("the event manager does not answer");
	return NULL;
}

int run_control_start(struct appliance *appliance, char *error)
{
	struct run_control *control = calloc(1, sizeof(*control));
	const struct control_socket_handler handler = {
		.context = control,
		.begin = begin,
		.finish = finish,
	};
	char path[CONTROL_SOCKET_PATH_SIZE], cause[CONTROL_SOCKET_ERROR_SIZE] = "out of memory";

	if (control != NULL) {
		control->appliance = appliance;
		if (control_socket_path(appliance->config->name, path, cause) == 0)
			control->socket = control_socket_open(path, &handler, cause);
	}
	if (control == NULL || control->socket == NULL) {
		free(control);
		return appliance_fail(error, "control socket: %s", cause);
	}
	appliance->run_control = control;
	return 0;
}

void run_control_stop(struct appliance *appliance)
{
	if (appliance->run_control == NULL)
		return;
	control_socket_close(appliance->run_control->socket);
	free(appliance->run_control);
	appliance->run_control = NULL;
}

void run_control_serve(struct appliance *appliance, unsigned ms)
{
	if (appliance->alive != NULL)
		appliance->alive(appliance->alive_context);
	control_socket_serve(appliance->run_control != NULL ? appliance->run_control->socket : NULL,
			     ms);
}

bool run_control_asks_for_end(const struct appliance *appliance)
{
	return appliance->run_control != NULL && appliance->run_control->asked_for_end;
}
