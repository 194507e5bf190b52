// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb web: a page with live plots of running appliances, and their metrics for Prometheus.
#include "cmd.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>

#include "base/units.h"
#include "web/server.h"

#define DEFAULT_LISTEN "127.0.0.1:8080"
#define LEAST_NS       100000000ull // of the interval
#define MOST_NS        60000000000ull

struct arguments {
	const char *listen;
	const char *names[SAMPLER_MAX_NODES];
	unsigned n_names;
	uint64_t interval_ns;
};

static const struct argp_option options[] = {
	{ "listen", 'l', "ADDRESS:PORT", 0, "where to serve, " DEFAULT_LISTEN " by default", 0 },
	{ "name", 'n', "NAME", 0, "an appliance to show; may be repeated; all that run by default",
	  0 },
	{ "interval", 'i', "TIME", 0, "between two looks at an appliance, 1s by default", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	char error[UNITS_ERROR_SIZE];

	switch (key) {
	case 'l':
		arguments->listen = argument;
		return 0;
	case 'n':
		if (arguments->n_names == SAMPLER_MAX_NODES)
			argp_error(state, "more than %d names", SAMPLER_MAX_NODES);
		else
			arguments->names[arguments->n_names++] = argument;
		return 0;
	case 'i':
		if (units_parse(UNITS_TIME, argument, &arguments->interval_ns, error) != 0)
			argp_error(state, "--interval: %s", error);
		else if (arguments->interval_ns < LEAST_NS || arguments->interval_ns > MOST_NS)
			argp_error(state, "--interval: %s is out of range 100ms..1min", argument);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Serves a page with live plots of running appliances; /metrics is for Prometheus, "
	       "/api/nodes has the same data as JSON. Nobody can change anything by it."
	       "\vWhoever reaches the address can read all of it: there are no passwords. On "
	       "another machine, use ssh -L 8080:localhost:8080 HOST, or serve it behind a web "
	       "server that asks for them.",
};

// Serves until a signal comes; a second one kills.
static int serve(const struct arguments *arguments, const struct sockaddr_storage *address)
{
	char error[WEB_ERROR_SIZE];
	struct web_server *server = NULL;
	struct sampler *sampler;
	sigset_t signals;
	int number;

	// The threads inherit the mask: this one takes the signals.
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	sampler = sampler_start(arguments->names, arguments->n_names,
				(unsigned)(arguments->interval_ns / 1000000), error);
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
	struct arguments arguments = { .listen = DEFAULT_LISTEN, .interval_ns = 1000000000 };
	struct sockaddr_storage address;
	char error[WEB_ERROR_SIZE];

	argp_err_exit_status = 1;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return 1;
	if (web_address_parse(arguments.listen, &address, error) != 0) {
		fprintf(stderr, "evb web: --listen: %s\n", error);
		return 1;
	}
	return serve(&arguments, &address);
}
