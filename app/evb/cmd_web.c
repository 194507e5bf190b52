// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb web: a page with live plots of running appliances, and their metrics for Prometheus.
#include "cmd.h"

#include <signal.h>
#include <stdio.h>

#include "arguments.h"
#include "web/server.h"

#define DEFAULT_LISTEN "127.0.0.1:8080"

struct arguments {
	const char *listen;
	struct arguments_names names;
	unsigned interval_ms;
};

static const struct arguments_option options[] = {
	{ "listen", 'l', "ADDRESS:PORT", INTO(TEXT, listen),
	  "where to serve, " DEFAULT_LISTEN " by default" },
	{ "name", 'n', "NAME", INTO(NAME, names),
	  "an appliance to show; may be repeated; all that run by default" },
	{ "interval", 'i', "TIME", INTO(INTERVAL, interval_ms),
	  "between two looks at an appliance, 1s by default" },
	{ 0 },
};

static const struct arguments_command command = {
	.options = options,
	.help = "Serves a page with live plots of running appliances; /metrics is for Prometheus, "
		"/api/nodes has the same data as JSON. Nobody can change anything by it."
		"\vWhoever reaches the address can read all of it: there are no passwords. On "
		"another machine, use ssh -L 8080:localhost:8080 HOST, or serve it behind a web "
		"server that asks for them.",
};

// Serves until a signal arrives; a second one kills the process.
static int serve(const struct arguments *arguments, const struct sockaddr_storage *address)
{
	char error[WEB_ERROR_SIZE];
	struct web_server *server = NULL;
	struct sampler *sampler;
	sigset_t signals;
	int number;

	// The other threads inherit the mask: this thread receives the signals.
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	sampler =
	    sampler_start(arguments->names.list, arguments->names.n, arguments->interval_ms, error);
	if (sampler != NULL)
		server = web_server_start(address, sampler, error);
	if (server == NULL) {
		fprintf(stderr, "evb web: %s\n", error);
		sampler_stop(sampler);
		return 1;
	}
	printf("http://%s/\n", web_server_address(server));
	fflush(stdout);
	(void)sigwait(&signals, &number);
	(void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
	web_server_stop(server);
	sampler_stop(sampler);
	return 0;
}

int cmd_web(int argc, char **argv)
{
	struct arguments arguments = { .listen = DEFAULT_LISTEN, .interval_ms = 1000 };
	struct sockaddr_storage address;
	char error[WEB_ERROR_SIZE];

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (web_address_parse(arguments.listen, &address, error) != 0) {
		fprintf(stderr, "evb web: --listen: %s\n", error);
		return 1;
	}
	return serve(&arguments, &address);
}
