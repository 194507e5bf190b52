// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A small HTTP/1.1 server (libmicrohttpd) that shows what a sampler has. It only reads: GET and
// HEAD, nothing else.
//
//   /                          one page, with all that it needs in it
//   /metrics                   OpenMetrics 1.0, or Prometheus' text format, as the client accepts
//   /api/nodes                 appliances, and whether they answer
//   /api/nodes/NAME            the last snapshot of one
//   /api/nodes/NAME/PART       a part of it: info, summary, or a group of things
//   /api/nodes/NAME/history    numbers of the last 900 samples; ?since=MS: only those after
//
// Connections are at most 64; each may be idle for 15 s. On a loopback address only requests to
// "localhost" or to an IP address are answered, so that no web site can read along by way of a name
// that it makes point here.
#pragma once

#include <sys/socket.h>

#include "web/api.h"

#define WEB_ERROR_SIZE   384
#define WEB_ADDRESS_SIZE 64

struct web_server;

// Reads ADDRESS:PORT, [ADDRESS]:PORT or PORT (on 127.0.0.1; 0: one that is free). Returns 0, or -1
// with one line in error[WEB_ERROR_SIZE].
int web_address_parse(const char *text, struct sockaddr_storage *address, char *error);

// Starts threads that serve. The sampler has to outlive the server. Returns NULL with one line in
// error[WEB_ERROR_SIZE].
struct web_server *web_server_start(const struct sockaddr_storage *address, struct sampler *sampler,
				    char *error);
void web_server_stop(struct web_server *server);

// Where it listens: "127.0.0.1:8080".
const char *web_server_address(const struct web_server *server);
