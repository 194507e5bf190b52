// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control socket of an appliance, through which `evb ctl` commands it: a local SOCK_SEQPACKET
// socket with JSON objects as messages, one answer to each request:
//
//   {"command": "exclude", "node": "b"}      {"ok": true}
//   {"command": "begin"}                     {"ok": false, "error": "there is no command ..."}
//
// It is NAME.ctl in the folder evb of the runtime directory, which is that of DPDK's telemetry
// socket: RUNTIME_DIRECTORY, for root /var/run, else XDG_RUNTIME_DIR or /tmp. Root is answered, and
// the user as whom the appliance runs; nobody else, whatever the mode of the file.
//
// Nobody is waited for: who does not take an answer is hung up on. All is bounded: clients, sizes,
// one request under way.
//
// Threads: one, the control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#define CONTROL_SOCKET_CLIENTS      16
#define CONTROL_SOCKET_REQUEST_SIZE 4096u
#define CONTROL_SOCKET_ANSWER_SIZE  (128u << 10)
#define CONTROL_SOCKET_PATH_SIZE    108 // of struct sockaddr_un
#define CONTROL_SOCKET_ERROR_SIZE   384

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

// Where the socket of an appliance is. Returns 0, or -1 with one line in
// error[CONTROL_SOCKET_ERROR_SIZE].
int control_socket_path(const char *name, char path[CONTROL_SOCKET_PATH_SIZE], char *error);

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
