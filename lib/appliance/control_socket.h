// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The server's side of an appliance's control socket; client/control_client.h says where the socket
// is and what its messages are. The server responds to root and to the user as whom the appliance
// runs, and to nobody else, whatever the mode of the socket's file.
//
// Nobody is waited for: who does not take an answer is hung up on. All is bounded: clients, sizes,
// one request under way.
//
// Threads: one, the control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "client/control_client.h"

#define CONTROL_SOCKET_CLIENTS 16

struct control_socket;

// Answers are objects of the caller of these; NULL stands for "out of memory" where it is not said
// otherwise.
struct control_socket_handler {
	void *context;
	// Takes a request, an object. Returns the answer; or NULL after it has set *later: it comes
	// from finish().
	cJSON *(*begin)(void *context, const cJSON *request, bool *later);
	// Called a thousand times a second at most. NULL: not yet.
	cJSON *(*finish)(void *context);
};

// Listens there; makes the folder if it is missing. NULL with one line in
// error[CONTROL_SOCKET_ERROR_SIZE].
struct control_socket *control_socket_open(const char *path,
					   const struct control_socket_handler *handler,
					   char *error);
void control_socket_close(struct control_socket *control);

// Serves whoever asks; waits for that up to `ms` milliseconds, less if a signal comes.
void control_socket_serve(struct control_socket *control, unsigned ms);

// {"ok": true}, and {"ok": false, "error": ...}. NULL if memory ran out.
cJSON *control_answer_done(void);
cJSON *control_answer_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
