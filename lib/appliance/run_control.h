// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Carries out the commands of the control socket (control_socket.h):
//
//   start, pause, resume, drain, stop   are passed to the event manager, which must be on this
//   exclude, include {"node": NAME}     node; without a system, drain and stop act like SIGTERM
//   start {"run": N}                    the same with the number of the run
//   configure {"file": PATH}            all nodes take another file for the next run, or none
//   status                              returns the state of this appliance, and on the event
//                                       manager's node the state of all nodes
//
// docs/run-control.md has the responses. Threads: control thread.
#pragma once

#include <cjson/cJSON.h>

#include "appliance/appliance.h"
#include "diagnosis/diagnosis.h"

// Opens the control socket. Returns 0, or -1 with one line in error[APPLIANCE_ERROR_SIZE]; the
// appliance then runs without the socket.
int run_control_start(struct appliance *appliance, char *error);
void run_control_stop(struct appliance *appliance);

// Waits at most `ms` milliseconds, less if a command or a signal arrives, and carries out commands.
// If run_control_start() failed it only waits.
void run_control_serve(struct appliance *appliance, unsigned ms);

// Whether a command has requested the end of the run. Always false where an event manager leads.
bool run_control_asks_for_end(const struct appliance *appliance);

// The response to the command `status`, in run_status.c. docs/run-control.md has every key.
// Returns the state of this appliance, of its node in the system, and, on the event manager's node,
// of all nodes. The caller frees it. NULL if memory ran out. Control thread.
cJSON *run_status(const struct appliance *appliance);

// Appends an item to a list, which owns it, and returns it. NULL if memory ran out.
static inline cJSON *run_status_append(cJSON *list, cJSON *item)
{
	if (cJSON_AddItemToArray(list, item))
		return item;
	cJSON_Delete(item);
	return NULL;
}

// Appends a finding of the diagnosis to a list. False if memory ran out.
bool run_status_add_finding(cJSON *list, const struct diagnosis_finding *finding);
