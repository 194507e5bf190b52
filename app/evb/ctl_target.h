// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The node that `evb ctl` sends its request to: the one that was named, or the event manager's.
// Where several nodes of this machine can be elected, it is the node in office.
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

// Sends the request. A command waits while the nodes elect an event manager, or while the new one
// does not know all nodes yet: three heartbeat timeouts at most, and at least 2 s. Where the term
// of the event manager ends before it has the command, the next one gets it. Returns the response,
// which the caller frees; or NULL after one line on stderr.
cJSON *ctl_target_request(const struct ctl_target *target, const cJSON *request);
