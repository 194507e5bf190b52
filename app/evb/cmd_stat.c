// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb stat: sends requests to a running appliance, and prints the responses for people or programs.
#include "cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "arguments.h"
#include "client/snapshot.h"
#include "client/stat_client.h"
#include "diagnosis/diagnosis.h"
#include "openmetrics/openmetrics.h"

#define SUMMARY     "/evb/summary"
#define DIAGNOSIS   "/evb/diagnosis"
#define WRONG       2 // exit status of --diagnosis
#define NUMBER_SIZE 32

struct arguments {
	struct arguments_names names;
	bool json;
	bool list;
	bool diagnosis;
	bool openmetrics;
	bool prometheus;
	struct arguments_rest requests;
};

static const struct arguments_option options[] = {
	{ "name", 'n', "NAME", INTO(NAME, names),
	  "the appliance that is meant, where several run" },
	{ "json", 'j', NULL, INTO(FLAG, json), "print answers as they come" },
	{ "list", 'l', NULL, INTO(FLAG, list), "list the appliances that run" },
	{ "diagnosis", 'd', NULL, INTO(FLAG, diagnosis),
	  "print what is wrong and how to correct it; exit status 2 if data is lost or the run "
	  "stands still" },
	{ "openmetrics", 0, NULL, INTO(FLAG, openmetrics),
	  "print all metrics of the appliances named, or of all that run, as OpenMetrics 1.0" },
	{ "prometheus", 0, NULL, INTO(FLAG, prometheus),
	  "the same in Prometheus' text format, as for the textfile collector of node_exporter" },
	{ ARGUMENT(REST, requests) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;
	bool metrics = arguments->openmetrics || arguments->prometheus;

	if (metrics && arguments->requests.n > 0)
		argp_error(state, "metrics are of all commands: name none");
	else if (arguments->diagnosis && arguments->requests.n > 0)
		argp_error(state, "--diagnosis asks for no other command");
	else if (!metrics && arguments->names.n > 1)
		argp_error(state, "several names need --openmetrics or --prometheus");
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "[/COMMAND[,PARAMETERS]]...",
	.help = "Asks a running appliance for its counters. Without a command: " SUMMARY "."
		"\vExamples: evb stat; evb stat /evb/builder/list; evb stat /evb/builder/info,b0; "
		"evb stat --json /evb/drops; evb stat --openmetrics --name ru1 --name bu1. The "
		"command / lists all commands, docs/telemetry.md explains them. Exit status: 0 "
		"answered, 1 not; with --diagnosis 2 if something is wrong.",
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

// A large value in the unit that its key names, for people; "" if the number itself is readable.
static void format_approximately(const char *key, double value, char text[NUMBER_SIZE])
{
	static const char *const times[] = { "ns", "us", "ms", "s" };
	static const char *const sizes[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	bool is_time = ends_with(key, "_ns");
	bool is_size = ends_with(key, "bytes") || strncmp(key, "bytes_", strlen("bytes_")) == 0;
	unsigned last = is_time ? 3 : 5, i = 0;

	text[0] = '\0';
	if ((!is_time && !is_size) || value < 1000)
		return;
	for (; value >= 1000 && i < last; i++)
		value /= 1000;
	snprintf(text, NUMBER_SIZE, "%.4g %s", value, is_time ? times[i] : sizes[i]);
}

// Keys that are left out while they are 0.
static bool is_left_out(const cJSON *item)
{
	static const char *const prefixes[] = { "packet_drop_", "segment_drop_", "sent_",
						"written_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(item->string, prefixes[i], strlen(prefixes[i])) == 0)
			return item->valuedouble == 0;
	return false;
}

static const cJSON *next_shown(const cJSON *item)
{
	while (item != NULL && is_left_out(item))
		item = item->next;
	return item;
}

// Whether two keys belong to different groups: their first words, in the singular, differ.
static bool are_apart(const char *a, const char *b)
{
	size_t n = strcspn(a, "_"), m = strcspn(b, "_");

	n -= n > 0 && a[n - 1] == 's';
	m -= m > 0 && b[m - 1] == 's';
	return n != m || strncmp(a, b, n) != 0;
}

static void print_list(const cJSON *list, const char *separator)
{
	for (const cJSON *item = list->child; item != NULL; item = item->next) {
		if (cJSON_IsString(item))
			printf("%s", item->valuestring);
		else
			printf("%.0f", item->valuedouble);
		printf("%s", item->next != NULL ? separator : "");
	}
}

static void print_object(const cJSON *object, int indent);

static void print_member(const cJSON *item, int indent, int width)
{
	char approximately[NUMBER_SIZE];

	if (cJSON_IsObject(item)) {
		printf("%*s%s\n", indent, "", item->string);
		print_object(item, indent + 2);
		return;
	}
	printf("%*s%-*s  ", indent, "", width, item->string);
	if (cJSON_IsArray(item)) {
		print_list(item, ", ");
		putchar('\n');
	} else if (cJSON_IsString(item)) {
		printf("%s\n", item->valuestring);
	} else {
		format_approximately(item->string, item->valuedouble, approximately);
		printf(approximately[0] != '\0' ? "%16.0f  %s\n" : "%16.0f\n", item->valuedouble,
		       approximately);
	}
}

// The summary in paragraphs: one per group of keys, and one for all keys without a group.
static void print_paragraphs(const cJSON *object, int width)
{
	const cJSON *before = NULL, *item = next_shown(object->child), *after;
	bool was_alone = true;

	for (; item != NULL; before = item, item = after) {
		bool begins = before == NULL || are_apart(before->string, item->string), alone;

		after = next_shown(item->next);
		alone = begins && (after == NULL || are_apart(item->string, after->string));
		if (before != NULL && begins && !(alone && was_alone))
			putchar('\n');
		print_member(item, 0, width);
		was_alone = alone;
	}
}

static int key_width(const cJSON *object)
{
	int width = 0;

	for (const cJSON *item = object->child; item != NULL; item = item->next)
		if (!cJSON_IsObject(item) && (int)strlen(item->string) > width)
			width = (int)strlen(item->string);
	return width;
}

static void print_object(const cJSON *object, int indent)
{
	int width = key_width(object);

	for (const cJSON *item = object->child; item != NULL; item = item->next)
		print_member(item, indent, width);
}

static void print_response(const cJSON *value)
{
	if (cJSON_IsObject(value) && strcmp(value->string, SUMMARY) == 0)
		print_paragraphs(value, key_width(value));
	else if (cJSON_IsObject(value))
		print_object(value, 0);
	else if (!cJSON_IsArray(value))
		printf("%s\n", cJSON_IsString(value) ? value->valuestring : "");
	else if (value->child != NULL) {
		print_list(value, "\n");
		putchar('\n');
	}
}

// The value of the response; NULL after one line on stderr with the reason.
static const cJSON *find_value(const cJSON *root, const char *request)
{
	const cJSON *value = root != NULL ? root->child : NULL;
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(value, "error");

	if (cJSON_IsString(error)) {
		fprintf(stderr, "evb stat: %s: %s\n", request, error->valuestring);
		return NULL;
	}
	if (value == NULL || cJSON_IsNull(value)) {
		fprintf(stderr,
			"evb stat: %s: no such command, or not with these parameters: "
			"evb stat / lists all\n",
			request);
		return NULL;
	}
	return value;
}

static int request_one(struct stat_client *client, const char *request,
		       const struct arguments *arguments)
{
	char error[STAT_CLIENT_ERROR_SIZE];
	char *response = stat_client_request(client, request, error);
	const cJSON *value;
	cJSON *root;

	if (response == NULL) {
		fprintf(stderr, "evb stat: %s: %s\n", request, error);
		return 1;
	}
	root = cJSON_Parse(response);
	value = find_value(root, request);
	if (arguments->json) {
		printf("%s\n", response);
	} else if (value != NULL) {
		if (arguments->requests.n > 1)
			printf("%s\n", request);
		print_response(value);
	}
	cJSON_Delete(root);
	free(response);
	return value != NULL ? 0 : 1;
}

// The names of the appliances: those given, or all that run.
static struct arguments_names find_names(const struct arguments_names *given)
{
	static char running[ARGUMENTS_MAX_NAMES][STAT_CLIENT_NAME_SIZE];
	struct arguments_names names = *given;

	if (names.n > 0)
		return names;
	names.n = stat_client_running(running, ARGUMENTS_MAX_NAMES);
	names.n = names.n < ARGUMENTS_MAX_NAMES ? names.n : ARGUMENTS_MAX_NAMES;
	for (unsigned i = 0; i < names.n; i++)
		names.list[i] = running[i];
	return names;
}

static int list_running(bool json)
{
	const struct arguments_names names = find_names(&(struct arguments_names){ 0 });
	cJSON *list = cJSON_CreateArray();
	char *text;

	for (unsigned i = 0; i < names.n; i++) {
		if (json)
			cJSON_AddItemToArray(list, cJSON_CreateString(names.list[i]));
		else
			printf("%s\n", names.list[i]);
	}
	text = json ? cJSON_PrintUnformatted(list) : NULL;
	if (text != NULL)
		printf("%s\n", text);
	free(text);
	cJSON_Delete(list);
	return 0;
}

static cJSON *take_snapshot(const char *name)
{
	char error[STAT_CLIENT_ERROR_SIZE];
	struct stat_client *client = stat_client_open(name, error);
	cJSON *snapshot = client != NULL ? snapshot_take(client, error) : NULL;

	stat_client_close(client);
	if (snapshot == NULL)
		fprintf(stderr, "evb stat: %s\n", error);
	return snapshot;
}

// The output also has the appliances that do not respond, as not up.
static int print_metrics(const struct arguments *arguments)
{
	static struct openmetrics_node nodes[ARGUMENTS_MAX_NAMES];
	static cJSON *snapshots[ARGUMENTS_MAX_NAMES];
	const struct arguments_names names = find_names(&arguments->names);
	int status = 0;

	for (unsigned i = 0; i < names.n; i++) {
		snapshots[i] = take_snapshot(names.list[i]);
		nodes[i] = (struct openmetrics_node){ names.list[i], snapshots[i], false };
		status |= snapshots[i] == NULL;
	}
	openmetrics_write(stdout, arguments->prometheus ? OPENMETRICS_TEXT_0_0_4 : OPENMETRICS_1_0,
			  nodes, names.n);
	for (unsigned i = 0; i < names.n; i++)
		cJSON_Delete(snapshots[i]);
	return status;
}

// The response to a request; NULL after one line on stderr.
static cJSON *take_response(struct stat_client *client, const char *request)
{
	char error[STAT_CLIENT_ERROR_SIZE];
	char *text = stat_client_request(client, request, error);
	cJSON *response = text != NULL ? cJSON_Parse(text) : NULL;

	if (text == NULL)
		fprintf(stderr, "evb stat: %s: %s\n", request, error);
	free(text);
	return response;
}

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text != NULL ? text : "";
}

// Prints the findings from this severity on. Returns the highest severity of all findings, or -1.
static int print_findings(struct stat_client *client, double from)
{
	cJSON *response = take_response(client, DIAGNOSIS "/all");
	const cJSON *list = response != NULL ? response->child : NULL, *finding;
	double highest = response != NULL ? 0 : -1;

	cJSON_ArrayForEach(finding, list)
	{
		const cJSON *severity = cJSON_GetObjectItemCaseSensitive(finding, "severity");

		if (!cJSON_IsNumber(severity))
			continue; // the number of findings
		highest = severity->valuedouble > highest ? severity->valuedouble : highest;
		if (severity->valuedouble >= from)
			printf("problem  %s\n         %s\n", text_of(finding, "sentence"),
			       text_of(finding, "remedy"));
	}
	cJSON_Delete(response);
	return (int)highest;
}

// Returns the exit status.
static int print_diagnosis(struct stat_client *client, const struct arguments *arguments)
{
	int severity;

	if (arguments->json)
		return request_one(client, DIAGNOSIS "/all", arguments);
	severity = print_findings(client, 0);
	if (severity < 0)
		return 1;
	if (severity == 0)
		printf("%s\n", DIAGNOSIS_WELL);
	return severity >= DIAGNOSIS_BAD ? WRONG : 0;
}

static int request_all(const struct arguments *arguments)
{
	const char *name = arguments->names.n > 0 ? arguments->names.list[0] : NULL;
	char error[STAT_CLIENT_ERROR_SIZE];
	struct stat_client *client = stat_client_open(name, error);
	int status = 0;

	if (client == NULL) {
		fprintf(stderr, "evb stat: %s\n", error);
		return 1;
	}
	if (arguments->diagnosis) {
		status = print_diagnosis(client, arguments);
	} else if (arguments->requests.n == 0) {
		if (!arguments->json && print_findings(client, DIAGNOSIS_BAD) >= DIAGNOSIS_BAD)
			putchar('\n');
		status = request_one(client, SUMMARY, arguments);
	}
	for (int i = 0; i < arguments->requests.n; i++)
		status |= request_one(client, arguments->requests.list[i], arguments);
	stat_client_close(client);
	return status;
}

int cmd_stat(int argc, char **argv)
{
	static struct arguments arguments;
	int status;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (arguments.list)
		status = list_running(arguments.json);
	else if (arguments.openmetrics || arguments.prometheus)
		status = print_metrics(&arguments);
	else
		status = request_all(&arguments);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "evb stat: the output is not complete\n");
		return 1;
	}
	return status;
}
