// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb ctl: commands a running appliance, or the system that it is a node of.
#include "cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/control_client.h"
#include "ctl_target.h"

struct arguments {
	const char *target; // configuration or socket
	const char *command;
	const char *about; // node to exclude or include, file to configure
	const char *node;  // node that receives the command
	struct overrides overrides;
	double run; // number of the run to start; 0: the next one
	bool json;
};

static const struct arguments_option options[] = {
	{ "json", 'j', NULL, INTO(FLAG, json), "print the answer as it came" },
	{ "node", 'N', "NAME", INTO(TEXT, node),
	  "whom to ask, of a system of nodes; the event manager's without" },
	{ "run", 'r', "N", INTO(POSITIVE, run),
	  "start: the number of the run, where the processes serve several" },
	{ "set", 's', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key of CONFIG, as `evb run` was given" },
	{ ARGUMENT(TEXT, target) },
	{ ARGUMENT(TEXT, command) },
	{ ARGUMENT(TEXT, about) },
	{ 0 },
};

// A command, and the key of the request that says what it is about.
static const struct ctl_command {
	const char *name, *about;
} commands[] = {
	{ "status", NULL },    { "start", NULL }, { "pause", NULL },
	{ "resume", NULL },    { "drain", NULL }, { "exclude", "node" },
	{ "include", "node" }, { "stop", NULL },  { "configure", "file" },
};

static const struct ctl_command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void check_arguments(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;
	const char *name = arguments->command;
	const struct ctl_command *found = name != NULL ? find_command(name) : NULL;

	if (name == NULL)
		argp_error(state, "name a configuration or a control socket, and a command");
	else if (found == NULL)
		argp_error(state, "there is no command \"%s\"", name);
	else if (found->about != NULL && arguments->about == NULL)
		argp_error(state, "%s: which %s?", name, found->about);
	else if (arguments->run != 0 && strcmp(name, "start") != 0)
		argp_error(state, "--run is the number of a run to start");
	else if (found->about == NULL && arguments->about != NULL)
		argp_error(state, "%s is not about a node: \"%s\" is too much", name,
			   arguments->about);
}

static const struct arguments_command command = {
	.options = options,
	.check = check_arguments,
	.arguments = "CONFIG|SOCKET status|start [--run N]|pause|resume|drain|stop\n"
		     "CONFIG|SOCKET exclude|include NODE\nCONFIG|SOCKET configure FILE",
	.help = "Commands the run of a system of nodes, or drains an appliance on its own; status "
		"shows the state. The appliance has to run on this machine."
		"\vCommands but status say nothing when they are done. Exit status: 0 done, 1 "
		"refused; one line then says why.",
};

// --- printing the status ---

static const char *text_of(const cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

	return text != NULL ? text : "?";
}

static double number_of(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool is_set(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static const char *state_of_member(const cJSON *member)
{
	if (is_set(member, "excluded"))
		return "excluded";
	if (!is_set(member, "registered"))
		return "not there";
	if (is_set(member, "lost"))
		return "silent";
	return text_of(member, "state");
}

static void print_events(const cJSON *system)
{
	double in_doubt = number_of(system, "in_doubt");

	printf("events   %.0f announced, %.0f waiting, %.0f in flight, %.0f released\n",
	       number_of(system, "announced"), number_of(system, "waiting"),
	       number_of(system, "outstanding"), number_of(system, "released"));
	printf("         %.0f complete, %.0f incomplete, %.0f discarded\n",
	       number_of(system, "complete"), number_of(system, "incomplete"),
	       number_of(system, "discarded"));
	if (is_set(system, "throttled"))
		printf("         the sources are throttled\n");
	if (in_doubt > 0)
		printf("         %.0f node(s) are silent: what became of their events is not "
		       "known yet\n",
		       in_doubt);
}

static void print_members(const cJSON *nodes, const char *self)
{
	int width = sizeof("node") - 1;
	const cJSON *member;

	cJSON_ArrayForEach(member, nodes)
	{
		int length = (int)strlen(text_of(member, "name"));

		width = length > width ? length : width;
	}
	printf("\n  %-*s  %-10s  %7s  %8s  %10s\n", width, "node", "state", "sources", "builders",
	       "slots free");
	cJSON_ArrayForEach(member, nodes)
	{
		const char *name = text_of(member, "name");

		printf("%c %-*s  %-10s  %7.0f  %8.0f  %10.0f\n",
		       strcmp(name, self) == 0 ? '*' : ' ', width, name, state_of_member(member),
		       number_of(member, "sources"), number_of(member, "builders"),
		       number_of(member, "slots_free"));
	}
}

static void print_system(const cJSON *system, const char *self)
{
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(system, "nodes");

	printf("system   mode %s, %.0f of %d nodes are there\n", text_of(system, "mode"),
	       number_of(system, "registered"), cJSON_GetArraySize(nodes));
	if (cJSON_HasObjectItem(system, "released"))
		print_events(system);
	print_members(nodes, self);
}

static void print_node(const cJSON *node)
{
	const char *name = text_of(node, "name"), *manager = text_of(node, "manager");

	printf("node     %s; %s", name, is_set(node, "excluded") ? "excluded by " : "");
	if (strcmp(name, manager) == 0)
		printf("the event manager\n");
	else if (is_set(node, "excluded"))
		printf("the event manager, node %s\n", manager);
	else
		printf("%s at the event manager, node %s\n",
		       is_set(node, "registered") ? "registered" : "not registered", manager);
	printf("tokens   %.0f free, %.0f in use; %.0f grants, %.0f built, %.0f published, %.0f "
	       "withdrawn\n",
	       number_of(node, "tokens_free"), number_of(node, "tokens_used"),
	       number_of(node, "grants"), number_of(node, "built"), number_of(node, "published"),
	       number_of(node, "withdrawn"));
}

// Where the event manager is elected.
static void print_office(const cJSON *office)
{
	const double since = number_of(office, "since_us") * 1e-6;
	const cJSON *standbys = cJSON_GetObjectItemCaseSensitive(office, "standbys"), *name;
	const char *before = "; standby: ";

	printf("office   ");
	if (since > 0)
		printf("node %s for %.0f s, epoch %.0f", text_of(office, "manager"),
		       difftime(time(NULL), (time_t)since), number_of(office, "epoch"));
	else
		printf("no event manager has been elected yet");
	if (number_of(office, "votes") > 0)
		printf(", %.0f votes (%.0f needed)", number_of(office, "votes"),
		       number_of(office, "votes_needed"));
	cJSON_ArrayForEach(name, standbys)
	{
		printf("%s%s", before, cJSON_GetStringValue(name));
		before = ", ";
	}
	printf("%s\n", cJSON_GetArraySize(standbys) == 0 ? "; nobody stands by" : "");
}

static void print_diagnosis(const cJSON *findings)
{
	const cJSON *finding;

	cJSON_ArrayForEach(finding, findings)
	{
		printf("problem  %s\n         %s\n", text_of(finding, "sentence"),
		       text_of(finding, "remedy"));
	}
}

static void print_status(const cJSON *response)
{
	const cJSON *office = cJSON_GetObjectItemCaseSensitive(response, "office");
	const cJSON *events = cJSON_GetObjectItemCaseSensitive(response, "events");
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(response, "node");
	const cJSON *system = cJSON_GetObjectItemCaseSensitive(response, "system");

	printf("%s: %s, run %.0f\n", text_of(response, "name"), text_of(response, "state"),
	       number_of(response, "run"));
	print_diagnosis(cJSON_GetObjectItemCaseSensitive(response, "diagnosis"));
	if (node != NULL)
		print_node(node);
	if (office != NULL)
		print_office(office);
	printf("here     %.0f events complete, %.0f incomplete, %.0f discarded, %.0f open; %.0f "
	       "segments lost\n",
	       number_of(events, "complete"), number_of(events, "incomplete"),
	       number_of(events, "discarded"), number_of(events, "open"),
	       number_of(response, "lost_segments"));
	if (system != NULL)
		print_system(system, text_of(node, "name"));
}

// --- requests ---

// Adds what the command is about. The nodes have other working directories.
static bool add_about(cJSON *request, const char *key, const char *about)
{
	char *directory, *path;
	bool is_added = false;

	if (strcmp(key, "file") != 0 || about[0] == '/')
		return cJSON_AddStringToObject(request, key, about) != NULL;
	directory = getcwd(NULL, 0);
	if (directory != NULL && asprintf(&path, "%s/%s", directory, about) >= 0) {
		is_added = cJSON_AddStringToObject(request, key, path) != NULL;
		free(path);
	}
	free(directory);
	return is_added;
}

static cJSON *make_request(const struct arguments *arguments)
{
	const char *about = find_command(arguments->command)->about;
	cJSON *request = cJSON_CreateObject();

	if (cJSON_AddStringToObject(request, "command", arguments->command) != NULL &&
	    (arguments->run == 0 ||
	     cJSON_AddNumberToObject(request, "run", arguments->run) != NULL) &&
	    (about == NULL || add_about(request, about, arguments->about)))
		return request;
	cJSON_Delete(request);
	return NULL;
}

static void print_response(const struct arguments *arguments, const cJSON *response)
{
	char *text = arguments->json ? cJSON_PrintUnformatted(response) : NULL;

	if (text != NULL)
		printf("%s\n", text);
	else if (strcmp(arguments->command, "status") == 0)
		print_status(response);
	cJSON_free(text);
}

int cmd_ctl(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct ctl_target target;
	cJSON *request, *response;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	target = (struct ctl_target){
		.target = arguments.target,
		.node = arguments.node,
		.overrides = &arguments.overrides,
		.is_command = strcmp(arguments.command, "status") != 0,
	};
	request = make_request(&arguments);
	if (request == NULL) {
		fprintf(stderr, "evb ctl: out of memory\n");
		return 1;
	}
	response = ctl_target_request(&target, request);
	cJSON_Delete(request);
	if (response == NULL)
		return 1;
	print_response(&arguments, response);
	cJSON_Delete(response);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "evb ctl: the output is not complete\n");
		return 1;
	}
	return 0;
}
