// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A client of the telemetry socket of a running appliance, without DPDK. The protocol is version 2
// of DPDK's telemetry, https://doc.dpdk.org/guides/howto/telemetry.html; the socket is
// dpdk/evb-NAME/dpdk_telemetry.v2 below client/runtime_directory.h.
//
// Each client is used by one thread. A call waits for the appliance no longer than the patience of
// the client, 5 s unless it was opened with another one.
#pragma once

#include <sys/types.h>

#define STAT_CLIENT_ERROR_SIZE   384
#define STAT_CLIENT_NAME_SIZE    64
#define STAT_CLIENT_REQUEST_SIZE 1024 // with the closing 0: DPDK's limit

struct stat_client;

// Connects to the appliance of this name; NULL: to the only running one. Returns NULL with one line
// in error[STAT_CLIENT_ERROR_SIZE].
struct stat_client *stat_client_open(const char *name, char *error);
struct stat_client *stat_client_open_for(const char *name, unsigned patience_ms, char *error);
void stat_client_close(struct stat_client *client);

// Why an appliance does not respond.
enum stat_client_absence {
	STAT_CLIENT_THERE,  // a process listens to the socket: it is busy, or hangs
	STAT_CLIENT_NOBODY, // there is no socket: it was not started, or it has ended in order
	STAT_CLIENT_DIED,   // it has left its socket: it crashed or was killed
};
enum stat_client_absence stat_client_why(const char *name);

const char *stat_client_name(const struct stat_client *client);
pid_t stat_client_pid(const struct stat_client *client);

// Sends "/COMMAND" or "/COMMAND,PARAMETERS". Returns the text of the response, a JSON object with
// the one member /COMMAND, to be freed by the caller; or NULL with one line in
// error[STAT_CLIENT_ERROR_SIZE].
char *stat_client_request(struct stat_client *client, const char *request, char *error);

// Finds the running appliances: writes up to `most` names, sorted, and returns the number of all.
unsigned stat_client_running(char (*names)[STAT_CLIENT_NAME_SIZE], unsigned most);
