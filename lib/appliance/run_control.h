// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Run control from outside: what the commands of the control socket (control_socket.h) do.
//
//   start, pause, resume, drain, stop      to the event manager, which must be on this node;
//   exclude, include {"node": NAME}        without a system drain and stop are as SIGTERM
//   status                                 of this appliance, and on the manager's node of all
//
// docs/run-control.md has the answers. Threads: the control thread.
#pragma once

#include "appliance/appliance.h"

// Begins to serve. Returns 0, or -1 with one line in error[APPLIANCE_ERROR_SIZE]: the appliance
// runs without.
int run_control_start(struct appliance *appliance, char *error);
void run_control_stop(struct appliance *appliance);

// Waits `ms` milliseconds at most, or until a command or a signal has come; carries it out. Where
// run_control_start() failed it only waits.
void run_control_serve(struct appliance *appliance, unsigned ms);

// Whether a command has asked for the end of an appliance that no event manager leads.
bool run_control_asks_for_end(const struct appliance *appliance);
