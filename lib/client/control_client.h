// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The client's side of an appliance's control socket, through which `evb ctl` commands it: a local
// SOCK_SEQPACKET socket with JSON objects as messages, and one response to each request:
//
//   {"command": "exclude", "node": "b"}      {"ok": true}
//   {"command": "begin"}                     {"ok": false, "error": "there is no command ..."}
//
// A node that refuses a command because it is not the event manager adds "not_manager": true. It
// has carried out nothing, so that the program can send the command to the event manager in office.
//
// The socket is NAME.ctl in the folder evb of the runtime directory (client/runtime_directory.h).
// appliance/control_socket.h is the server's side.
#pragma once

#include <stdbool.h>

#include <cjson/cJSON.h>

#define CONTROL_SOCKET_REQUEST_SIZE  4096u        // bytes, the largest request
#define CONTROL_SOCKET_RESPONSE_SIZE (128u << 10) // bytes, the largest response
#define CONTROL_SOCKET_PATH_SIZE     108          // of struct sockaddr_un
#define CONTROL_SOCKET_ERROR_SIZE    384

// Writes the path of an appliance's socket. Any thread. Returns 0, or -1 with one line in
// error[CONTROL_SOCKET_ERROR_SIZE].
int control_socket_path(const char *name, char path[CONTROL_SOCKET_PATH_SIZE], char *error);

// Connects, sends the request and waits for the response, 5 s at most. Any thread. Returns the
// response, an object whose "ok" is true, which the caller frees; or NULL with one line in
// error[CONTROL_SOCKET_ERROR_SIZE]. Where the appliance refuses the request, the line is the
// appliance's, and *not_manager says whether it refused because it is not the event manager
// (not_manager can be NULL).
cJSON *control_client_request(const char *path, const cJSON *request, bool *not_manager,
			      char *error);
