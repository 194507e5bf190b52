// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/control_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error_line.h"
#include "client/runtime_directory.h"

#define PATIENCE_S 5

#define fail(error, ...) error_line(error, CONTROL_SOCKET_ERROR_SIZE, __VA_ARGS__)

int control_socket_path(const char *name, char path[CONTROL_SOCKET_PATH_SIZE], char *error)
{
	int length =
	    snprintf(path, CONTROL_SOCKET_PATH_SIZE, "%s/evb/%s.ctl", runtime_directory(), name);

	if (length < 0 || length >= CONTROL_SOCKET_PATH_SIZE)
		return fail(error, "%.200s/evb/%.64s.ctl is too long for the path of a socket",
			    runtime_directory(), name);
	return 0;
}

static int connect_to(const char *path, char *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int client;

	if (strlen(path) >= sizeof(address.sun_path))
		return fail(error, "%.200s is too long for the path of a socket", path);
	strcpy(address.sun_path, path);
	client = runtime_connect(&address, PATIENCE_S * 1000);
	if (client == -ENOENT)
		return fail(error, "nobody listens at %s: the appliance is not running", path);
	if (client == -ECONNREFUSED)
		return fail(
		    error, "nobody listens at %s: the appliance crashed or was killed: see its log",
		    path);
	return client < 0 ? fail(error, "%s: %s", path, strerror(-client)) : client;
}

// Returns the text of the response, to be freed; NULL with an error.
static char *exchange(int client, const cJSON *request, char *error)
{
	char *text = cJSON_PrintUnformatted(request);
	char *response = malloc(CONTROL_SOCKET_RESPONSE_SIZE + 1);
	ssize_t length = -1;

	if (text == NULL || response == NULL) {
		(void)fail(error, "out of memory");
	} else {
		// The appliance refuses a user without permission before it reads the request: then
		// send() fails, and the response has the reason.
		(void)send(client, text, strlen(text), MSG_NOSIGNAL);
		length = recv(client, response, CONTROL_SOCKET_RESPONSE_SIZE, 0);
		if (length < 0 && errno == EAGAIN)
			(void)fail(error, "the appliance did not answer in %d s", PATIENCE_S);
		else if (length < 0)
			(void)fail(error, "the appliance did not answer: %s", strerror(errno));
		else if (length == 0)
			(void)fail(error, "the appliance hung up");
	}
	cJSON_free(text);
	if (length <= 0) {
		free(response);
		return NULL;
	}
	response[length] = '\0';
	return response;
}

// Returns the response if the request was accepted; otherwise frees it and sets the error.
static cJSON *judge(cJSON *response, bool *not_manager, char *error)
{
	const cJSON *reason = cJSON_GetObjectItemCaseSensitive(response, "error");

	if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(response, "ok")))
		return response;
	if (not_manager != NULL)
		*not_manager =
		    cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(response, "not_manager"));
	if (cJSON_IsString(reason))
		(void)fail(error, "%s", reason->valuestring);
	else
		(void)fail(error, "the answer is not understood: is this the control socket of an "
				  "appliance?");
	cJSON_Delete(response);
	return NULL;
}

cJSON *control_client_request(const char *path, const cJSON *request, bool *not_manager,
			      char *error)
{
	int client = connect_to(path, error);
	cJSON *response = NULL;
	char *text;

	if (not_manager != NULL)
		*not_manager = false;
	if (client < 0)
		return NULL;
	text = exchange(client, request, error);
	if (text != NULL)
		response = judge(cJSON_Parse(text), not_manager, error);
	free(text);
	close(client);
	return response;
}
