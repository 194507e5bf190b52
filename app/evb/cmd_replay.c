// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "compose.h"
#include "replay_roce.h"
#include "source/capture_learn.h"
#include "wire/net.h"
#include "wire/roce.h"

#define DEADLINE_DEFAULT UINT64_C(1000000000) // ns
#define LOOK_AT          10000 // packets, among which one of RoCE makes a capture one of RoCE

struct arguments {
	struct replay_roce roce; // the capture and where it is sent
	const char *directory;
	const char *source_map;
	bool mdf;
	struct overrides overrides;
	struct session_options session;
};

static void take_speed(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;
	char *end;

	arguments->roce.speed = strtod(text, &end);
	if (*text == '\0' || *end != '\0' || !(arguments->roce.speed >= 0))
		argp_error(state, "--speed: \"%s\" is no factor", text);
}

static const struct arguments_option options[] = {
	{ "out", 'o', "DIRECTORY", INTO(TEXT, directory), "where the event files go" },
	{ "mdf", 0, NULL, INTO(FLAG, mdf), "write .mdf files instead of .mep" },
	{ "source-map", 0, "FILE", INTO(TEXT, source_map), "give banks their own source ids back" },
	{ "speed", 0, "FACTOR", TAKE(take_speed),
	  "of the captured speed; default: as fast as it goes" },
	{ "deadline", 0, "TIME", INTO(TIME, roce.deadline_ns),
	  "how long an event waits for missing data (default 1s)" },
	{ "summary", 0, "FILE", INTO(TEXT, session.summary), "write the final account as JSON" },
	{ "set", 0, "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key of the composed configuration" },
	{ "strict", 0, NULL, INTO(FLAG, session.strict), "exit with 2 if anything was lost" },
	{ "quiet", 'q', NULL, INTO(FLAG, session.quiet), "show only the final account" },
	{ .help = "Captures of RoCE, to another appliance instead of --out" },
	{ "to", 0, "ADDRESS", INTO(TEXT, roce.to),
	  "receiver: connects by RDMA CM, and sends the messages" },
	{ "to-mac", 0, "MAC", INTO(TEXT, roce.to_mac), "receiver's, instead of asking by ARP" },
	{ "profile", 0, "NAME", INTO(TEXT, roce.profile), "driver profile (default af_packet)" },
	{ "device", 0, "NAME", INTO(TEXT, roce.device), "interface, PCI address" },
	{ "address", 0, "ADDRESS/PREFIX", INTO(TEXT, roce.address), "to send from" },
	{ "gateway", 0, "ADDRESS", INTO(TEXT, roce.gateway),
	  "router to receivers in other networks" },
	{ "mtu", 0, "BYTES", INTO(TEXT, roce.mtu),
	  "of the path (default 1500), or auto: of the interface" },
	{ ARGUMENT(TEXT, roce.capture) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;
	const struct replay_roce *roce = &arguments->roce;

	if (roce->capture == NULL || (arguments->directory == NULL) == (roce->to == NULL))
		argp_error(state, "name a capture file, and a directory with --out or, for RoCE, a "
				  "receiver with --to");
	if (roce->to == NULL &&
	    (roce->device != NULL || roce->address != NULL || roce->profile != NULL ||
	     roce->mtu != NULL || roce->to_mac != NULL || roce->gateway != NULL))
		argp_error(state, "--device and its like are of use with --to only");
	if (roce->to != NULL && (roce->device == NULL || roce->address == NULL))
		argp_error(state, "--to needs a --device to send from, and its --address");
	if (roce->to != NULL && (arguments->mdf || arguments->source_map != NULL))
		argp_error(state, "--to writes no files: --mdf and --source-map are of use with "
				  "--out only");
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "CAPTURE",
	.help =
	    "Builds events from a pcap or pcapng file, without a configuration: a first pass over "
	    "the capture learns ports, sources and packing, the second builds. Incomplete events "
	    "are written too, flagged. Of a capture of RoCE the messages are sent again, over "
	    "connections of their own: into files, or to another appliance.",
};

static void compose_writer(cJSON *root, const struct arguments *arguments)
{
	compose_text(root, "writers[0].name", "files");
	compose_text(root, "writers[0].directory", arguments->directory);
	compose_text(root, "writers[0].format", arguments->mdf ? "mdf" : "mep");
	compose_text(root, "writers[0].source_map", arguments->source_map);
}

static cJSON *compose(const struct arguments *arguments, const struct capture_summary *learned)
{
	uint32_t mtu = learned->largest_frame < 1500 ? 1500 : learned->largest_frame;
	cJSON *root = compose_make("replay");

	compose_text(root, "ports[0].name", "wire");
	compose_text(root, "ports[0].profile", "ring");
	compose_number(root, "ports[0].mtu", mtu);
	if (learned->n_udp_ports == 0) {
		compose_text(root, "transport.kind", "eth");
	} else {
		uint16_t first = learned->udp_ports[0];

		compose_number(root, "transport.udp_port", first);
		compose_number(root, "transport.udp_ports",
			       learned->udp_ports[learned->n_udp_ports - 1] - first + 1);
	}
	compose_ids(root, learned->source_ids, learned->n_sources);
	compose_number(root, "sources.packing", learned->packing);
	compose_text(root, "sources.payload", learned->has_mfps ? "mfp" : "opaque");
	replay_compose_builder(root, &arguments->roce, learned->largest_event,
			       learned->largest_open, learned->n_sources, learned->packing);
	replay_compose_generator(root, &arguments->roce, "pcap");
	compose_writer(root, arguments);
	return root;
}

static void print_learned(const struct capture_summary *learned, const char *path)
{
	printf("%s: %llu packets, %llu segments of %u sources, %llu events, ", path,
	       (unsigned long long)learned->packets, (unsigned long long)learned->segments,
	       learned->n_sources, (unsigned long long)learned->events);
	if (learned->n_udp_ports == 1)
		printf("UDP port %u, ", learned->udp_ports[0]);
	else if (learned->n_udp_ports > 1)
		printf("UDP ports %u..%u, ", learned->udp_ports[0],
		       learned->udp_ports[learned->n_udp_ports - 1]);
	else
		printf("EtherType 0x%04x, ", NET_TYPE_EVB);
	if (learned->has_mfps)
		printf("MFPs of %u fragments\n", learned->packing);
	else
		printf("opaque blocks\n");
}

// Prints what the capture lacks; true if anything.
static bool print_lacks(const char *path, const char *problem, uint64_t cut)
{
	if (problem[0] != '\0')
		fprintf(stderr, "evb: %s: going on with what comes before\n", problem);
	if (cut > 0)
		fprintf(stderr,
			"evb: %s: %llu packets are left out: the capture has only their first "
			"bytes (snap length)\n",
			path, (unsigned long long)cut);
	return problem[0] != '\0' || cut > 0;
}

static int replay_roce(struct arguments *arguments)
{
	char error[SOURCE_ERROR_SIZE];
	struct roce_capture *capture;
	cJSON *root;

	if (roce_capture_read(&capture, arguments->roce.capture, ROCE_UDP_PORT, error) != 0) {
		fprintf(stderr, "evb: %s\n", error);
		return 1;
	}
	arguments->session.input_lacks =
	    print_lacks(arguments->roce.capture, capture->problem, capture->cut);
	if (!arguments->session.quiet)
		replay_roce_print(capture, arguments->roce.capture);
	if (replay_roce_print_lost(capture, arguments->roce.capture))
		arguments->session.input_lacks = true;
	root = replay_roce_compose(&arguments->roce, capture);
	roce_capture_free(capture);
	if (root == NULL)
		return 1;
	if (arguments->directory != NULL)
		compose_writer(root, arguments);
	return compose_run(root, "replay", &arguments->overrides, &arguments->session);
}

int cmd_replay(int argc, char **argv)
{
	struct arguments arguments = { .roce = { .deadline_ns = DEADLINE_DEFAULT } };
	struct capture_summary *learned;
	char error[SOURCE_ERROR_SIZE];
	int status;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	arguments.session.must_build = arguments.directory != NULL;
	arguments.session.is_replay = true;
	if (arguments.roce.to != NULL ||
	    roce_capture_is(arguments.roce.capture, ROCE_UDP_PORT, LOOK_AT))
		return replay_roce(&arguments);
	if (capture_learn(&learned, arguments.roce.capture, error) != 0) {
		// Its messages may come after many other packets.
		if (roce_capture_is(arguments.roce.capture, ROCE_UDP_PORT, UINT64_MAX))
			return replay_roce(&arguments);
		fprintf(stderr, "evb: %s\n", error);
		return 1;
	}
	arguments.session.input_lacks =
	    print_lacks(arguments.roce.capture, learned->problem, learned->cut_segments);
	arguments.session.input_packets = learned->packets;
	if (!arguments.session.quiet)
		print_learned(learned, arguments.roce.capture);
	status = compose_run(compose(&arguments, learned), "replay", &arguments.overrides,
			     &arguments.session);
	capture_summary_free(learned);
	return status;
}
