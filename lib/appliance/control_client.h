// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A client of control sockets (control_socket.h). Any thread.
#pragma once

#include "appliance/control_socket.h"

// Connects, sends the request and waits for the answer, 5 s at most. Returns the answer, an object
// whose "ok" is true, to be freed by the caller; or NULL with one line in
// error[CONTROL_SOCKET_ERROR_SIZE], also where the appliance refuses the request: its line then.
cJSON *control_client_ask(const char *path, const cJSON *request, char *error);
