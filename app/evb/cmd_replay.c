// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "builder/assembly.h"
#include "compose.h"
#include "source/capture_learn.h"
#include "wire/mep.h"
#include "wire/net.h"

#define SLOTS_SPARE      64u // beyond twice the events that the capture has open at a time
#define SLOTS_MOST       4096u
#define RING_BYTES       (2048ull << 20) // that the slots may take
#define SLOT_SIZE_LEAST  (64u << 10)
#define DEADLINE_DEFAULT "1s"

struct arguments {
	const char *capture;
	const char *directory;
	const char *deadline;
	const char *source_map;
	double speed;
	bool mdf;
	struct overrides overrides;
	struct session_options session;
};

enum {
	OPTION_MDF = 256,
	OPTION_DEADLINE,
	OPTION_SPEED,
	OPTION_SOURCE_MAP,
	OPTION_SUMMARY,
	OPTION_SET,
	OPTION_STRICT,
};

static const struct argp_option options[] = {
	{ "out", 'o', "DIRECTORY", 0, "where the event files go", 0 },
	{ "mdf", OPTION_MDF, NULL, 0, "write .mdf files instead of .mep", 0 },
	{ "source-map", OPTION_SOURCE_MAP, "FILE", 0, "give banks their own source ids back", 0 },
	{ "speed", OPTION_SPEED, "FACTOR", 0, "of the captured speed; default: as fast as it goes",
	  0 },
	{ "deadline", OPTION_DEADLINE, "TIME", 0,
	  "how long an event waits for missing data (default " DEADLINE_DEFAULT ")", 0 },
	{ "summary", OPTION_SUMMARY, "FILE", 0, "write the final account as JSON", 0 },
	{ "set", OPTION_SET, "PATH=VALUE", 0, "override a key of the composed configuration", 0 },
	{ "strict", OPTION_STRICT, NULL, 0, "exit with 2 if anything was lost", 0 },
	{ "quiet", 'q', NULL, 0, "show only the final account", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	char *end;

	switch (key) {
	case 'o':
		arguments->directory = argument;
		return 0;
	case OPTION_MDF:
		arguments->mdf = true;
		return 0;
	case OPTION_SOURCE_MAP:
		arguments->source_map = argument;
		return 0;
	case OPTION_SPEED:
		arguments->speed = strtod(argument, &end);
		if (*argument == '\0' || *end != '\0' || !(arguments->speed >= 0))
			argp_error(state, "--speed: \"%s\" is no factor", argument);
		return 0;
	case OPTION_DEADLINE:
		arguments->deadline = argument;
		return 0;
	case OPTION_SUMMARY:
		arguments->session.summary = argument;
		return 0;
	case OPTION_SET:
		return overrides_add(&arguments->overrides, argument) == 0 ? 0 : EINVAL;
	case OPTION_STRICT:
		arguments->session.strict = true;
		return 0;
	case 'q':
		arguments->session.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->capture != NULL)
			return ARGP_ERR_UNKNOWN;
		arguments->capture = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->capture == NULL || arguments->directory == NULL)
			argp_error(state, "name a capture file, and a directory with --out");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "CAPTURE",
	.doc =
	    "Builds events from a pcap or pcapng file, without a configuration: a first pass over "
	    "the capture learns ports, sources and packing, the second builds. Incomplete events "
	    "are written too, flagged.",
};

static uint64_t choose_slot_size(const struct capture_summary *learned)
{
	uint64_t size = learned->largest_event +
			learned->n_sources * (uint64_t)(MFP_HEADER_SIZE + MEP_DEFAULT_ALIGN) +
			assembly_smallest_slot(learned->n_sources, learned->packing);

	return size < SLOT_SIZE_LEAST ? SLOT_SIZE_LEAST : size;
}

static uint64_t choose_slots(const struct capture_summary *learned, uint64_t slot_size)
{
	uint64_t slots = 2 * learned->largest_open + SLOTS_SPARE;

	if (slots > SLOTS_MOST)
		slots = SLOTS_MOST;
	if (slots > RING_BYTES / slot_size)
		slots = RING_BYTES / slot_size;
	return slots > 0 ? slots : 1;
}

static cJSON *compose_transport(const struct capture_summary *learned)
{
	cJSON *transport = cJSON_CreateObject();

	if (learned->n_udp_ports == 0) {
		cJSON_AddStringToObject(transport, "kind", "eth");
		return transport;
	}
	cJSON_AddNumberToObject(transport, "udp_port", learned->udp_ports[0]);
	cJSON_AddNumberToObject(transport, "udp_ports",
				learned->udp_ports[learned->n_udp_ports - 1] -
				    learned->udp_ports[0] + 1);
	return transport;
}

static cJSON *compose(const struct arguments *arguments, const struct capture_summary *learned)
{
	uint64_t slot_size = choose_slot_size(learned);
	uint32_t mtu = learned->largest_frame < 1500 ? 1500 : learned->largest_frame;
	cJSON *root = cJSON_CreateObject(), *part;
	char name[CONFIG_NAME_SIZE];

	snprintf(name, sizeof(name), "replay-%d", (int)getpid());
	cJSON_AddStringToObject(root, "name", name);
	part = compose_element(root, "ports");
	cJSON_AddStringToObject(part, "name", "wire");
	cJSON_AddStringToObject(part, "profile", "ring");
	cJSON_AddNumberToObject(part, "mtu", mtu);
	cJSON_AddItemToObject(root, "transport", compose_transport(learned));

	part = cJSON_AddObjectToObject(root, "sources");
	cJSON_AddItemToObject(part, "ids", compose_ids(learned->source_ids, learned->n_sources));
	cJSON_AddNumberToObject(part, "packing", learned->packing);
	cJSON_AddStringToObject(part, "payload",
				learned->payload == CONFIG_PAYLOAD_MFP ? "mfp" : "opaque");

	part = compose_element(root, "builders");
	cJSON_AddStringToObject(part, "name", "b0");
	cJSON_AddNumberToObject(part, "slots", (double)choose_slots(learned, slot_size));
	cJSON_AddNumberToObject(part, "slot_size", (double)slot_size);
	part = cJSON_AddObjectToObject(root, "events");
	cJSON_AddStringToObject(part, "deadline", arguments->deadline);

	part = compose_element(root, "generators");
	cJSON_AddStringToObject(part, "name", "capture");
	cJSON_AddStringToObject(part, "port", "wire");
	cJSON_AddStringToObject(part, "kind", "pcap");
	cJSON_AddStringToObject(part, "file", arguments->capture);
	cJSON_AddNumberToObject(part, "speed", arguments->speed);

	part = compose_element(root, "writers");
	cJSON_AddStringToObject(part, "name", "files");
	cJSON_AddStringToObject(part, "directory", arguments->directory);
	cJSON_AddStringToObject(part, "format", arguments->mdf ? "mdf" : "mep");
	if (arguments->source_map != NULL)
		cJSON_AddStringToObject(part, "source_map", arguments->source_map);
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
	if (learned->payload == CONFIG_PAYLOAD_MFP)
		printf("MFPs of %u fragments\n", learned->packing);
	else
		printf("opaque blocks\n");
}

int cmd_replay(int argc, char **argv)
{
	struct arguments arguments = { .deadline = DEADLINE_DEFAULT };
	struct capture_summary *learned;
	char error[SOURCE_ERROR_SIZE];
	int status;

	argp_err_exit_status = 1;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return 1;
	if (capture_learn(&learned, arguments.capture, error) != 0) {
		fprintf(stderr, "evb: %s\n", error);
		return 1;
	}
	if (learned->problem[0] != '\0')
		fprintf(stderr, "evb: %s: going on with what comes before\n", learned->problem);
	if (!arguments.session.quiet)
		print_learned(learned, arguments.capture);
	status = compose_run(compose(&arguments, learned), "replay", &arguments.overrides,
			     &arguments.session);
	capture_summary_free(learned);
	return status;
}
