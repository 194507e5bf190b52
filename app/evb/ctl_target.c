// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "ctl_target.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/tick_clock.h"

#define LEAST_PATIENCE_NS 2000000000u
#define POLL_NS           20000000

// What a node that can be the event manager says of the office.
enum office {
	OFFICE_UNKNOWN, // the node does not run here
	OFFICE_OTHER,   // another node is the event manager
	OFFICE_VACANT,
	OFFICE_NEW, // the node is the event manager, and does not know all nodes yet
	OFFICE_HELD,
};

// Finds the socket of a node of a configuration, which the caller frees. NULL after one line on
// stderr.
static struct config *load_node(const struct ctl_target *target, const char *node,
				char path[CONTROL_SOCKET_PATH_SIZE])
{
	char error[CONTROL_SOCKET_ERROR_SIZE], refused[CONFIG_ERROR_SIZE];
	struct config *config;

	if (config_load(&config, target->target, node, target->overrides->list,
			target->overrides->n, refused) != 0) {
		fprintf(stderr, "%s\n", refused);
		return NULL;
	}
	if (control_socket_path(config->name, path, error) == 0)
		return config;
	fprintf(stderr, "evb ctl: %s\n", error);
	config_free(config);
	return NULL;
}

static bool is_set(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static bool knows_all_nodes(const cJSON *system)
{
	const cJSON *node;

	cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(
				     system, "nodes")) if (!is_set(node, "registered") &&
							   !is_set(node, "lost") &&
							   !is_set(node, "excluded")) return false;
	return true;
}

static enum office judge(const cJSON *status, const char *name)
{
	const cJSON *system = cJSON_GetObjectItemCaseSensitive(status, "system");
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(status, "node");
	const char *manager =
	    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(node, "manager"));

	if (system != NULL)
		return knows_all_nodes(system) ? OFFICE_HELD : OFFICE_NEW;
	return manager != NULL && manager[0] != '\0' && strcmp(manager, name) != 0 ? OFFICE_OTHER
										   : OFFICE_VACANT;
}

static enum office ask(const char *path, const char *name)
{
	char error[CONTROL_SOCKET_ERROR_SIZE];
	cJSON *request = cJSON_CreateObject(), *status = NULL;
	enum office office = OFFICE_UNKNOWN;

	if (cJSON_AddStringToObject(request, "command", "status") != NULL)
		status = control_client_request(path, request, NULL, error);
	if (status != NULL)
		office = judge(status, name);
	cJSON_Delete(request);
	cJSON_Delete(status);
	return office;
}

// Asks the nodes of this machine that can be the event manager. Writes the path of the one that is;
// else the path stays. Returns what the node says that knows most.
static enum office find_elected(const struct ctl_target *target,
				const struct cluster_system *system,
				char path[CONTROL_SOCKET_PATH_SIZE])
{
	char other[CONTROL_SOCKET_PATH_SIZE];
	enum office found = OFFICE_UNKNOWN;
	bool is_silent = false; // a node that has a socket here does not respond

	for (unsigned i = 0; i < system->n_nodes && found < OFFICE_NEW; i++) {
		struct config *config = NULL;
		enum office office;

		if (system->nodes[i].manager)
			config = load_node(target, system->nodes[i].name, other);
		if (config == NULL)
			continue;
		config_free(config);
		office = ask(other, system->nodes[i].name);
		if (office == OFFICE_UNKNOWN && access(other, F_OK) == 0)
			is_silent = true;
		if (office >= OFFICE_NEW)
			strcpy(path, other);
		if (office > found)
			found = office;
	}
	// A node that died stays the event manager for the others until its term is over.
	return found == OFFICE_OTHER && is_silent ? OFFICE_VACANT : found;
}

static void pause_between_polls(void)
{
	static const struct timespec pause = { .tv_nsec = POLL_NS };

	nanosleep(&pause, NULL);
}

// Until `end`, of the monotonic clock. Returns what find_elected() found last.
static enum office wait_for_elected(const struct ctl_target *target,
				    const struct cluster_system *system, uint64_t end,
				    char path[CONTROL_SOCKET_PATH_SIZE])
{
	for (;;) {
		const enum office office = find_elected(target, system, path);

		if (!target->is_command || (office != OFFICE_VACANT && office != OFFICE_NEW) ||
		    tick_clock_monotonic_ns() >= end)
			return office;
		pause_between_polls();
	}
}

static cJSON *ask_elected(const struct ctl_target *target, const struct config *config,
			  char path[CONTROL_SOCKET_PATH_SIZE], const cJSON *request, char *error)
{
	const uint64_t wanted = 3 * config->event_manager.heartbeat_timeout_ns;
	const uint64_t end =
	    tick_clock_monotonic_ns() + (wanted > LEAST_PATIENCE_NS ? wanted : LEAST_PATIENCE_NS);

	for (;;) {
		const enum office office = wait_for_elected(target, &config->cluster, end, path);
		bool not_manager;
		cJSON *response = control_client_request(path, request, &not_manager, error);

		// Where the event manager is on another machine, the refusal names its node.
		if (!not_manager || office == OFFICE_OTHER || tick_clock_monotonic_ns() >= end)
			return response;
		pause_between_polls();
	}
}

static bool is_socket(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 && S_ISSOCK(found.st_mode);
}

cJSON *ctl_target_request(const struct ctl_target *target, const cJSON *request)
{
	const char *node = target->node != NULL ? target->node : CONFIG_MANAGER_NODE;
	char path[CONTROL_SOCKET_PATH_SIZE], error[CONTROL_SOCKET_ERROR_SIZE];
	struct config *config = NULL;
	cJSON *response;

	if (!is_socket(target->target)) {
		config = load_node(target, node, path);
		if (config == NULL)
			return NULL;
	} else if (strlen(target->target) < sizeof(path)) {
		strcpy(path, target->target);
	} else {
		fprintf(stderr, "evb ctl: %s is too long for the path of a socket\n",
			target->target);
		return NULL;
	}
	if (config != NULL && target->node == NULL && cluster_elects(&config->cluster))
		response = ask_elected(target, config, path, request, error);
	else
		response = control_client_request(path, request, NULL, error);
	config_free(config);
	if (response == NULL)
		fprintf(stderr, "evb ctl: %s\n", error);
	return response;
}
