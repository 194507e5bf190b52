// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The server's side of an appliance's control socket. client/control_client.h describes the path of
// the socket and its messages. The server responds only to root and to the user as whom the
// appliance runs, whatever the mode of the socket's file.
//
// The server never waits for a client: it closes the connection of a client that does not accept a
// response. The number of clients and the sizes of requests and responses are limited. The handler
// works on one request at a time.
//
// Threads: control thread.
#pragma once

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "client/control_client.h"

#define CONTROL_SOCKET_CLIENTS 16

struct control_socket;

// Carries out requests. The server becomes the owner of the responses, which are JSON objects.
struct control_socket_handler {
	void *context;
	// Begins a request, a JSON object. Returns the response. Returns NULL if it set *later:
	// finish() returns the response later; or else if memory ran out.
	cJSON *(*begin)(void *context, const cJSON *request, bool *later);
	// Called at most 1000 times/s after *later was set, until it returns the response. NULL:
	// the response is not ready.
	cJSON *(*finish)(void *context);
};

// Listens at `path`, and makes the folder of the path if it is missing. NULL with one line in
// error[CONTROL_SOCKET_ERROR_SIZE].
struct control_socket *control_socket_open(const char *path,
					   const struct control_socket_handler *handler,
					   char *error);
void control_socket_close(struct control_socket *control);

// Waits at most `ms` milliseconds for requests, less if a signal arrives, and serves them.
// control NULL: only waits.
void control_socket_serve(struct control_socket *control, unsigned ms);

// The responses {"ok": true} and {"ok": false, "error": TEXT}. NULL if memory ran out.
cJSON *control_response_done(void);
cJSON *control_response_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Adds "not_manager" to an error response, or to NULL, and returns it: this node carried out
// nothing, because it is not the event manager.
cJSON *control_response_not_manager(cJSON *response);
