// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control socket that `evb ctl` asks: that of the node that was named, or the event manager's.
// Where several nodes of this machine can be elected, it is that of the node in office.
#pragma once

#include <stdbool.h>

#include "client/control_client.h"
#include "compose.h"

struct ctl_target {
	const char *target; // configuration file, or a socket
	const char *node;   // of the configuration; NULL: the event manager's
	const struct overrides *overrides;
	bool is_command; // to an event manager that knows its nodes; else: a question
};

// Writes the path of the socket. A command waits while the nodes elect an event manager, or while
// the new one does not know all nodes yet: three heartbeat timeouts at most, and at least 2 s.
// Returns 0, or -1 after one line on stderr.
int ctl_target_socket(const struct ctl_target *target, char path[CONTROL_SOCKET_PATH_SIZE]);
