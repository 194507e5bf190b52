// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "log.h"

#include <rte_log.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 2048 // longer messages are cut

static const char *const level_names[] = {
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_NOTICE] = "notice",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_ERROR] = "error",
};

// Set before the first thread starts.
static bool json;
static char appliance_name[EVB_NAME_SIZE], node_name[EVB_NAME_SIZE];

bool log_choose(const char *name)
{
	json = strcmp(name, "json") == 0;
	return json || strcmp(name, "text") == 0;
}

bool log_is_json(void)
{
	return json;
}

void log_name(const struct config *config)
{
	const struct cluster_system *cluster = &config->cluster;

	snprintf(appliance_name, sizeof(appliance_name), "%s", config->name);
	if (cluster->n_nodes > 0)
		snprintf(node_name, sizeof(node_name), "%s", cluster->nodes[cluster->self].name);
}

// UTC, to the millisecond: "2026-07-01T12:00:00.000Z".
static void format_time(char text[32])
{
	struct timespec now;
	struct tm parts;
	size_t length;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	length = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + length, 32 - length, ".%03ldZ", now.tv_nsec / 1000000);
}

void log_value(enum log_level level, const char *message, const char *name, cJSON *value)
{
	cJSON *line = cJSON_CreateObject();
	char now[32], *text;

	format_time(now);
	cJSON_AddStringToObject(line, "time", now);
	cJSON_AddStringToObject(line, "level", level_names[level]);
	if (appliance_name[0] != '\0')
		cJSON_AddStringToObject(line, "appliance", appliance_name);
	if (node_name[0] != '\0')
		cJSON_AddStringToObject(line, "node", node_name);
	cJSON_AddStringToObject(line, "message", message);
	if (value != NULL)
		cJSON_AddItemToObject(line, name, value);
	text = cJSON_PrintUnformatted(line);
	// If memory ran out, the message is printed as plain text.
	fprintf(stderr, "%s\n", text != NULL ? text : message);
	free(text);
	cJSON_Delete(line);
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[LINE_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (json)
		log_value(level, line, NULL, NULL);
	else
		fprintf(stderr, "%sevb: %s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
			level == LOG_LEVEL_WARNING ? "warning: " : "", line);
}

void log_refusal(const char *line)
{
	if (json)
		log_value(LOG_LEVEL_ERROR, line, NULL, NULL);
	else
		fprintf(stderr, "%s\n", line);
}

// DPDK writes one message at a time, which is nearly always a whole line.
static ssize_t write_dpdk(void *cookie, const char *text, size_t size)
{
	size_t length = size;

	(void)cookie;
	while (length > 0 && text[length - 1] == '\n')
		length--;
	if (length > 0)
		log_line(LOG_LEVEL_WARNING, "%s%.*s", json ? "" : "DPDK: ", (int)length, text);
	return (ssize_t)size;
}

void log_take_dpdk(void)
{
	static const cookie_io_functions_t functions = { .write = write_dpdk };
	FILE *stream;

	stream = fopencookie(NULL, "w", functions);
	if (stream == NULL)
		return; // if it fails, DPDK's messages stay as they are
	setvbuf(stream, NULL, _IOLBF, 0);
	(void)rte_openlog_stream(stream); // cannot fail
}
