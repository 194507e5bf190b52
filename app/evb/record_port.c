// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "client/runtime_directory.h"
#include "cmd.h"
#include "port/port_capture.h"
#include "stop.h"

struct arguments {
	const char *device, *profile;
	struct port_settings port;
	struct port_capture_parameters capture;
};

static void take_mtu(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;
	uint64_t mtu = arguments_quantity(UNITS_SIZE, text, state, "--mtu");

	if (mtu < 64 || mtu > 65500)
		argp_error(state, "--mtu: %s is out of range 64..65500", text);
	arguments->port.mtu = (uint32_t)mtu;
}

static const struct arguments_option options[] = {
	{ "pcap", 0, "FILE", INTO(TEXT, capture.path), "the pcapng file" },
	{ "device", 0, "NAME", INTO(TEXT, device), "interface, memif socket, PCI address" },
	{ "profile", 0, "NAME", INTO(TEXT, profile), "driver profile (default: af_packet)" },
	{ "mtu", 0, "SIZE", TAKE(take_mtu), "of the path (default: 1500)" },
	{ "packets", 'n', "N", INTO(COUNT, capture.packets), "end after so many packets" },
	{ "duration", 'd', "TIME", INTO(TIME, capture.duration_ns), "end after this time" },
	{ "limit", 0, "SIZE", INTO(SIZE, capture.limit_bytes), "end after so many bytes" },
	{ NULL, 0, NULL, TAKE(arguments_refuse), NULL },
	{ 0 },
};

static void check_length(const char *text, size_t size, const struct argp_state *state)
{
	if (strlen(text) >= size)
		argp_error(state, "\"%s\" is longer than %zu characters", text, size - 1);
}

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->device == NULL || arguments->device[0] == '\0')
		argp_error(state, "name the --device to capture at");
	else
		check_length(arguments->device, sizeof(arguments->port.device), state);
	check_length(arguments->profile, sizeof(arguments->port.profile), state);
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "--pcap FILE --device NAME",
	.help = "Writes the packets that a port receives to a pcapng file, until a limit, SIGINT "
		"or SIGTERM. TIME and SIZE take units: 10s, 1GiB.",
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
		.profile = "af_packet",
		.port = { .mtu = 1500, .link_timeout_ns = 1000000000 },
		.capture = { .stop = &stop_signal },
	};
	struct port_capture_counters counters = { 0 };
	char error[PORT_CAPTURE_ERROR_SIZE];

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	strcpy(arguments.port.device, arguments.device);
	strcpy(arguments.port.profile, arguments.profile);
	snprintf(arguments.port.name, sizeof(arguments.port.name), "record-%d", (int)getpid());
	arguments.capture.port = &arguments.port;
	stop_catch_signals();
	runtime_directory_make();
	if (port_capture(&arguments.capture, &counters, error) != 0) {
		fprintf(stderr, "evb record: %s\n", error);
		return 1;
	}
	printf("captured %" PRIu64 " packets, %" PRIu64 " bytes in %s; the port missed %" PRIu64
	       "\n",
	       counters.packets, counters.bytes, arguments.capture.path, counters.missed);
	return 0;
}
