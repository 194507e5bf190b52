// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stand-ins for telemetry sockets of appliances, in a temporary runtime directory of the test.
#pragma once

#include <stdbool.h>

// Makes a temporary directory and lets RUNTIME_DIRECTORY point to it; removes it again, and joins
// all servers.
void servers_begin(void);
void servers_end(void);

const char *servers_directory(void);

// Listens as appliance `name` in a thread of its own. To each client it sends the greeting, if it
// is not NULL, and then one answer to each request: the answer, or, where that is NULL, the request
// itself as {"/COMMAND": "REQUEST"}. A greeting of NULL makes it hang up at once.
void server_start(const char *name, const char *greeting, const char *answer);

// What is answered to a request; the last one has a request of NULL, and its answer is for all
// others. An answer of NULL: none, ever.
struct server_answer {
	const char *request;
	const char *answer;
};

// The same with an answer for each request. The table has to outlive the server.
void server_start_answers(const char *name, const char *greeting,
			  const struct server_answer *answers);

// A socket that nobody listens to any more, as a killed process leaves it.
void server_leave_dead(const char *name);
