// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A client of a running appliance's telemetry socket, without DPDK: DPDK's telemetry protocol
// version 2, https://doc.dpdk.org/guides/howto/telemetry.html. The socket is looked for where DPDK
// puts it: under RUNTIME_DIRECTORY, for root /var/run, else XDG_RUNTIME_DIR or /tmp, as
// dpdk/evb-NAME/dpdk_telemetry.v2.
//
// One thread a client. A call waits for the appliance no longer than its patience allows, 5 s
// unless the client was opened with another.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define STAT_CLIENT_ERROR_SIZE   384
#define STAT_CLIENT_NAME_SIZE    64
#define STAT_CLIENT_REQUEST_SIZE 1024 // with the closing 0: DPDK's limit

struct stat_client;

// Connects to the appliance of this name; NULL: to the only one that runs. Returns NULL with one
// line in error[STAT_CLIENT_ERROR_SIZE].
struct stat_client *stat_client_open(const char *name, char *error);
struct stat_client *stat_client_open_for(const char *name, unsigned patience_ms, char *error);
void stat_client_close(struct stat_client *client);

const char *stat_client_name(const struct stat_client *client);
pid_t stat_client_pid(const struct stat_client *client);

// Sends "/COMMAND" or "/COMMAND,PARAMETERS". Returns the answer as it came, a JSON object of one
// member /COMMAND, to be freed by the caller; or NULL with one line in
// error[STAT_CLIENT_ERROR_SIZE].
char *stat_client_ask(struct stat_client *client, const char *request, char *error);

// Names of the appliances that run, sorted: writes up to `most` and returns how many there are.
unsigned stat_client_running(char (*names)[STAT_CLIENT_NAME_SIZE], unsigned most);
