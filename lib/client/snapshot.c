// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/snapshot.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN "/evb/"
#define END   "/all"

#define PAGES_MOST 65536u // of one group: the loop must end even if the responses make no sense

static cJSON *fail(char *error, const char *who, const char *request, const char *what)
{
	snprintf(error, STAT_CLIENT_ERROR_SIZE, "appliance %.63s: %.100s: %.150s", who, request,
		 what);
	return NULL;
}

// Requests a value and detaches it from the response; NULL with an error if it has another type.
static cJSON *request_value(struct stat_client *client, const char *request, bool array,
			    char *error)
{
	char *text = stat_client_request(client, request, error);
	cJSON *root, *value;

	if (text == NULL)
		return NULL;
	root = cJSON_Parse(text);
	free(text);
	value = root != NULL ? cJSON_DetachItemViaPointer(root, root->child) : NULL;
	cJSON_Delete(root);
	if (array ? cJSON_IsArray(value) : cJSON_IsObject(value))
		return value;
	cJSON_Delete(value);
	return fail(error, stat_client_name(client), request, "not the answer of an evb");
}

// Moves the things of a page to the list. Returns their number, or -1 if the appliance has stopped.
static int take_things(cJSON *list, cJSON *page, unsigned *count)
{
	const cJSON *number = cJSON_GetObjectItemCaseSensitive(page, "count");
	cJSON *item = page->child, *next;
	int n = 0;

	if (!cJSON_IsNumber(number) || number->valuedouble < 0 || number->valuedouble > UINT16_MAX)
		return -1;
	*count = (unsigned)number->valuedouble;
	for (; item != NULL; item = next) {
		next = item->next;
		if (!cJSON_IsObject(item))
			continue;
		cJSON_AddItemToArray(list, cJSON_DetachItemViaPointer(page, item));
		n++;
	}
	return n;
}

// Requests all things of one group. A thing that does not fit into any response is left out.
static cJSON *take_group(struct stat_client *client, const char *command, char *error)
{
	char request[STAT_CLIENT_REQUEST_SIZE];
	cJSON *list = cJSON_CreateArray(), *page;
	unsigned offset = 0, count = 1;
	int n;

	for (unsigned i = 0; offset < count && i < PAGES_MOST; i++) {
		snprintf(request, sizeof(request), "%s,%u", command, offset);
		page = request_value(client, request, false, error);
		n = page != NULL ? take_things(list, page, &count) : -1;
		if (n < 0) {
			if (page != NULL)
				(void)fail(error, stat_client_name(client), request,
					   "the run is over");
			cJSON_Delete(page);
			cJSON_Delete(list);
			return NULL;
		}
		cJSON_Delete(page);
		offset += n > 0 ? (unsigned)n : 1;
	}
	return list;
}

static bool is_group(const char *command)
{
	size_t length = strlen(command);

	return length > strlen(BEGIN END) && length < STAT_CLIENT_REQUEST_SIZE - 16 &&
	       strncmp(command, BEGIN, strlen(BEGIN)) == 0 &&
	       strcmp(command + length - strlen(END), END) == 0;
}

static int take_groups(struct stat_client *client, const cJSON *commands, cJSON *snapshot,
		       char *error)
{
	const cJSON *command;
	char name[STAT_CLIENT_REQUEST_SIZE];
	cJSON *list;

	cJSON_ArrayForEach(command, commands)
	{
		if (!cJSON_IsString(command) || !is_group(command->valuestring))
			continue;
		list = take_group(client, command->valuestring, error);
		if (list == NULL)
			return -1;
		snprintf(name, sizeof(name), "%.*s",
			 (int)(strlen(command->valuestring) - strlen(BEGIN END)),
			 command->valuestring + strlen(BEGIN));
		cJSON_AddItemToObject(snapshot, name, list);
	}
	return 0;
}

// The response to a command that appliances of older releases do not have.
static int take_if_there(struct stat_client *client, const cJSON *commands, const char *wanted,
			 cJSON *snapshot, char *error)
{
	const cJSON *command;
	cJSON *answer;

	cJSON_ArrayForEach(command, commands)
	{
		if (!cJSON_IsString(command) || strcmp(command->valuestring, wanted) != 0)
			continue;
		answer = request_value(client, wanted, false, error);
		if (answer == NULL)
			return -1;
		cJSON_AddItemToObject(snapshot, wanted + strlen(BEGIN), answer);
	}
	return 0;
}

cJSON *snapshot_take(struct stat_client *client, char *error)
{
	cJSON *commands = request_value(client, "/", true, error);
	cJSON *info = commands != NULL ? request_value(client, "/evb/info", false, error) : NULL;
	cJSON *summary = info != NULL ? request_value(client, "/evb/summary", false, error) : NULL;
	cJSON *snapshot = cJSON_CreateObject();
	int result = -1;

	if (summary != NULL) {
		cJSON_AddItemToObject(snapshot, "info", info);
		cJSON_AddItemToObject(snapshot, "summary", summary);
		result = take_if_there(client, commands, "/evb/build", snapshot, error);
		if (result == 0)
			result = take_groups(client, commands, snapshot, error);
	} else {
		cJSON_Delete(info);
	}
	cJSON_Delete(commands);
	if (result == 0)
		return snapshot;
	cJSON_Delete(snapshot);
	return NULL;
}
