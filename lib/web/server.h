// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A small HTTP/1.1 server (libmicrohttpd) that shows the appliances of a sampler. It is read-only:
// it accepts GET and HEAD.
//
//   /                          one page that contains all that it needs
//   /metrics                   OpenMetrics 1.0, or Prometheus' text format, as the client accepts
//   /api/nodes                 appliances, and whether they respond
//   /api/nodes/NAME            the latest snapshot of one appliance
//   /api/nodes/NAME/PART       a part of it: info, summary, or a group of things
//   /api/nodes/NAME/history    numbers of the last 900 samples; ?since=MS: only those after
//
// At most 64 connections are open, 16 of one address. Each may be idle for 15 s, and has 15 s for a
// request and the reading of the response. On a loopback address, only requests
// whose Host is "localhost" or an IP address are accepted: otherwise a web site could read the data
// through a host name that it makes resolve to this address (DNS rebinding).
#pragma once

#include <sys/socket.h>

#include "web/api.h"

#define WEB_ERROR_SIZE   384
#define WEB_ADDRESS_SIZE 64

struct web_server;

// Parses ADDRESS:PORT, [ADDRESS]:PORT or PORT (on 127.0.0.1; 0: any free port). Returns 0, or -1
// with one line in error[WEB_ERROR_SIZE].
int web_address_parse(const char *text, struct sockaddr_storage *address, char *error);

// Starts the threads of the server. The sampler must outlive the server. Returns NULL with one line
// in error[WEB_ERROR_SIZE].
struct web_server *web_server_start(const struct sockaddr_storage *address, struct sampler *sampler,
				    char *error);
void web_server_stop(struct web_server *server);

// The address of the listening socket: "127.0.0.1:8080".
const char *web_server_address(const struct web_server *server);
