// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "compose.h"
#include "host/change.h"
#include "host/host.h"

#define STAGE_WIDTH 13

struct arguments {
	const char *verb;
	const char *config;
	const char *node;
	const char *state;
	struct overrides overrides;
	bool json;
};

static const struct arguments_option options[] = {
	{ "node", 'N', "NAME", INTO(TEXT, node),
	  "which node, of a configuration that describes several" },
	{ "set", 's', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key, as in builders[0].slots=16" },
	{ "json", 'j', NULL, INTO(FLAG, json), "check: print the findings as JSON" },
	{ "state", 'S', "FILE", INTO(TEXT, state), "what was changed (default " STATE_FILE ")" },
	{ ARGUMENT(TEXT, verb) },
	{ ARGUMENT(TEXT, config) },
	{ 0 },
};

static void check_arguments(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->verb == NULL ||
	    (strcmp(arguments->verb, "check") != 0 && strcmp(arguments->verb, "prepare") != 0 &&
	     strcmp(arguments->verb, "restore") != 0))
		argp_error(state, "say what to do: check, prepare or restore");
	if (arguments->json && strcmp(arguments->verb, "check") != 0)
		argp_error(state, "--json is of use with check only");
}

static const struct arguments_command command = {
	.options = options,
	.check = check_arguments,
	.arguments = "check [CONFIG]\nprepare [CONFIG]\nrestore",
	.help =
	    "Looks whether this host is ready for an appliance, one line for each thing that "
	    "matters, with what to do about it. `check` changes nothing; `prepare` makes the "
	    "changes that it can, and notes them; `restore` puts everything back.\vExit status: "
	    "0 ready, also with warnings; 1 not ready, or something could not be changed.",
};

// --- printing ------------------------------------------------------------------------------------

// The escape sequence of a verdict's colour, or of its end; "" without a terminal.
static const char *colour(enum host_verdict verdict, bool begin)
{
	static const char *const colours[] = { "\033[32m", "\033[33m", "\033[1;31m" };

	if (!isatty(STDOUT_FILENO) || getenv("NO_COLOR") != NULL)
		return "";
	return begin ? colours[verdict] : "\033[0m";
}

static void print_finding(const struct host_finding *finding)
{
	printf("%s%-4s%s  %-*s %s%s%s\n", colour(finding->verdict, true),
	       host_verdict_name(finding->verdict), colour(finding->verdict, false), STAGE_WIDTH,
	       finding->stage, finding->text, finding->remedy[0] != '\0' ? ": " : "",
	       finding->remedy);
}

static void print_report(const struct host_report *report, const struct arguments *arguments)
{
	unsigned warnings = report_count(report, HOST_WARN);
	unsigned failures = report_count(report, HOST_FAIL);

	for (unsigned i = 0; i < report->n_findings; i++)
		print_finding(&report->findings[i]);
	printf("%s: %u failure%s, %u warning%s", failures == 0 ? "ready" : "not ready", failures,
	       failures == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
	if (report->n_changes > 0)
		printf("; of these, evb host prepare%s%s%s%s can fix some",
		       arguments->config != NULL ? " " : "",
		       arguments->config != NULL ? arguments->config : "",
		       arguments->node != NULL ? " --node " : "",
		       arguments->node != NULL ? arguments->node : "");
	printf("\n");
}

// {"ready": true, "findings": [{"verdict": "ok", "stage": "folders", "text": ..., "remedy": ...}]}
static void print_json(const struct host_report *report)
{
	cJSON *root = cJSON_CreateObject(), *list;
	char *text;

	cJSON_AddBoolToObject(root, "ready", report_count(report, HOST_FAIL) == 0);
	list = cJSON_AddArrayToObject(root, "findings");
	for (unsigned i = 0; i < report->n_findings; i++) {
		const struct host_finding *finding = &report->findings[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "verdict", host_verdict_name(finding->verdict));
		cJSON_AddStringToObject(object, "stage", finding->stage);
		cJSON_AddStringToObject(object, "text", finding->text);
		cJSON_AddStringToObject(object, "remedy", finding->remedy);
		cJSON_AddItemToArray(list, object);
	}
	text = cJSON_Print(root);
	if (text != NULL)
		printf("%s\n", text);
	free(text);
	cJSON_Delete(root);
}

static void print_change(void *context, enum prepare_outcome outcome, const char *line)
{
	static const char *const words[] = { "done", "part", "left", "fail" };
	static const enum host_verdict verdicts[] = { HOST_OK, HOST_WARN, HOST_WARN, HOST_FAIL };

	(void)context;
	printf("%s%s%s  %s\n", colour(verdicts[outcome], true), words[outcome],
	       colour(verdicts[outcome], false), line);
}

// --- commands ------------------------------------------------------------------------------------

static int check(const struct plan *plan, const struct arguments *arguments)
{
	struct host_report report = { 0 };
	bool failed;

	host_check(&host_system_here, plan, &report);
	if (arguments->json)
		print_json(&report);
	else
		print_report(&report, arguments);
	failed = report.out_of_memory || report_count(&report, HOST_FAIL) > 0;
	if (report.out_of_memory)
		fprintf(stderr, "evb: out of memory\n");
	host_report_free(&report);
	return failed;
}

static int prepare(const struct plan *plan, const struct arguments *arguments)
{
	struct host_report report = { 0 };
	char error[STATE_ERROR_SIZE];
	int result;

	host_check(&host_system_here, plan, &report);
	if (report.n_changes == 0)
		printf("nothing to change\n");
	result =
	    host_prepare(&host_system_here, &report, arguments->state, print_change, NULL, error);
	host_report_free(&report);
	if (result < 0)
		fprintf(stderr, "evb: %s\n", error);
	printf("\n");
	return check(plan, arguments) != 0 || result != 0;
}

static int restore(const struct arguments *arguments)
{
	char error[STATE_ERROR_SIZE];
	int result = host_restore(&host_system_here, arguments->state, print_change, NULL, error);

	if (result < 0)
		fprintf(stderr, "evb: %s\n", error);
	return result != 0;
}

int cmd_host(int argc, char **argv)
{
	struct arguments arguments = { .state = STATE_FILE };
	struct config *config = NULL;
	struct plan *plan = NULL;
	int status;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (strcmp(arguments.verb, "restore") == 0)
		return restore(&arguments);
	if (arguments.config != NULL &&
	    load(arguments.config, arguments.node, &arguments.overrides, &config, &plan) != 0)
		return 1;
	status = strcmp(arguments.verb, "check") == 0 ? check(plan, &arguments)
						      : prepare(plan, &arguments);
	free(plan);
	config_free(config);
	return status;
}
