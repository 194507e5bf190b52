// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "port/port_capture.h"
#include "record_port.h"
#include "stop.h"

struct arguments {
	struct port_settings port;
	struct port_capture_parameters capture;
};

enum {
	KEY_PCAP = 256,
	KEY_PROFILE,
	KEY_DEVICE,
	KEY_MTU,
	KEY_LIMIT,
};

static const struct argp_option options[] = {
	{ "pcap", KEY_PCAP, "FILE", 0, "the pcapng file", 0 },
	{ "device", KEY_DEVICE, "NAME", 0, "interface, memif socket, PCI address", 0 },
	{ "profile", KEY_PROFILE, "NAME", 0, "driver profile (default: af_packet)", 0 },
	{ "mtu", KEY_MTU, "SIZE", 0, "of the path (default: 1500)", 0 },
	{ "packets", 'n', "N", 0, "end after so many packets", 0 },
	{ "duration", 'd', "TIME", 0, "end after this time", 0 },
	{ "limit", KEY_LIMIT, "SIZE", 0, "end after so many bytes", 0 },
	{ 0 },
};

static void copy_name(char *to, size_t size, const char *text, struct argp_state *state)
{
	if (strlen(text) >= size)
		argp_error(state, "\"%s\" is longer than %zu characters", text, size - 1);
	else
		strcpy(to, text);
}

static const struct arguments_field fields[] = {
	{ KEY_PCAP, ARGUMENTS_TEXT, offsetof(struct arguments, capture.path) },
	{ KEY_LIMIT, ARGUMENTS_SIZE, offsetof(struct arguments, capture.limit_bytes) },
	{ 'n', ARGUMENTS_COUNT, offsetof(struct arguments, capture.packets) },
	{ 'd', ARGUMENTS_TIME, offsetof(struct arguments, capture.duration_ns) },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	uint64_t mtu;

	switch (key) {
	case KEY_DEVICE:
		copy_name(arguments->port.device, sizeof(arguments->port.device), text, state);
		return 0;
	case KEY_PROFILE:
		copy_name(arguments->port.profile, sizeof(arguments->port.profile), text, state);
		return 0;
	case KEY_MTU:
		mtu = arguments_quantity(UNITS_SIZE, text, state, "--mtu");
		if (mtu < 64 || mtu > 65500)
			argp_error(state, "--mtu: %s is out of range 64..65500", text);
		arguments->port.mtu = (uint32_t)mtu;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: not expected here", text);
		return 0;
	case ARGP_KEY_END:
		if (arguments->port.device[0] == '\0')
			argp_error(state, "name the --device to capture at");
		return 0;
	default:
		return arguments_store(fields, options, key, text, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "--pcap FILE --device NAME",
	.doc = "Writes the packets that a port receives to a pcapng file, until a limit, SIGINT or "
	       "SIGTERM. TIME and SIZE take units: 10s, 1GiB.",
};

bool record_port_is_asked(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--pcap", 6) == 0)
			return true;
	return false;
}

int record_port(int argc, char **argv)
{
	struct arguments arguments = {
		.port = { .profile = "af_packet", .mtu = 1500, .link_timeout_ns = 1000000000 },
		.capture = { .stop = &stop_signal },
	};
	struct port_capture_counters counters = { 0 };
	char error[PORT_CAPTURE_ERROR_SIZE];

	if (arguments_parse(&argp, argc, argv, &arguments) != 0)
		return 1;
	snprintf(arguments.port.name, sizeof(arguments.port.name), "record-%d", (int)getpid());
	arguments.capture.port = &arguments.port;
	stop_catch_signals();
	if (port_capture(&arguments.capture, &counters, error) != 0) {
		fprintf(stderr, "evb record: %s\n", error);
		return 1;
	}
	printf("captured %" PRIu64 " packets, %" PRIu64 " bytes in %s; the port missed %" PRIu64
	       "\n",
	       counters.packets, counters.bytes, arguments.capture.path, counters.missed);
	return 0;
}
