// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb dump: shows and verifies files of events and captures.

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "cmd.h"
#include "dump.h"

struct arguments {
	struct inspect_options options;
	bool json;
	bool quiet;
	bool hex;
	struct arguments_rest files;
};

static void take_payload(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;

	if (!strcmp(text, "generated"))
		arguments->options.payload = INSPECT_PAYLOAD_GENERATED;
	else if (!strcmp(text, "any"))
		arguments->options.payload = INSPECT_PAYLOAD_ANY;
	else if (!strcmp(text, "auto"))
		arguments->options.payload = INSPECT_PAYLOAD_AUTO;
	else
		argp_error(state, "--payload is auto, generated or any, not %s", text);
}

static void take_event(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;

	arguments->options.one_event = true;
	arguments->options.event_id = arguments_quantity(UNITS_COUNT, text, state, "--event");
}

static const struct arguments_option options[] = {
	{ "sources", 's', NULL, INTO(FLAG, options.sources), "list the MFPs of each MEP" },
	{ "fragments", 'f', NULL, INTO(FLAG, options.fragments), "list fragments and banks, too" },
	{ .name = "banks", .kind = ARGUMENTS_ALIAS },
	{ "hex", 0, NULL, INTO(FLAG, hex), "show payloads, too" },
	{ "json", 'j', NULL, INTO(FLAG, json), "one JSON object per line" },
	{ "quiet", 'q', NULL, INTO(FLAG, quiet), "only problems and the summary" },
	{ "verify", 'v', NULL, INTO(FLAG, options.verify),
	  "check not only structure but checksums, generated payloads, and that event ids of MEPs "
	  "and MFPs are consecutive over all files" },
	{ "payload", 0, "auto|generated|any", TAKE(take_payload),
	  "whether payloads must be those of the generator (default: if those of the first event "
	  "are)" },
	{ "allow-gaps", 0, NULL, INTO(FLAG, options.allow_gaps),
	  "missing event ids are no problem: the files hold a part of the events" },
	{ "limit", 'n', "N", INTO(COUNT, options.limit),
	  "look at N events or packets of each file" },
	{ "event", 'e', "ID", TAKE(take_event), "look only at what belongs to this event id" },
	{ ARGUMENT(REST, files) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->files.n == 0)
		argp_error(state, "which files?");
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "FILE...",
	.help = "Shows what is in .mep, .mfp, .mdf, pcap and pcapng files, and whether it is sound."
		"\vExit status: 0 all is sound, 1 something is wrong.",
};

static void read_files(struct inspect *inspect, const struct arguments *arguments)
{
	char error[INSPECT_ERROR_SIZE];

	for (int i = 0; i < arguments->files.n; i++) {
		if (!inspect_read(inspect, arguments->files.list[i], error))
			continue;
		fflush(stdout);
		fprintf(stderr, "evb dump: %s\n", error);
	}
}

int cmd_dump(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct dump_text text = { .out = stdout };
	struct dump_json json = { .out = stdout };
	struct inspect_visitor visitor;
	struct inspect_summary summary;
	struct inspect *inspect;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	arguments.options.fragments |= arguments.hex;
	arguments.options.sources |= arguments.options.fragments;
	text.quiet = json.quiet = arguments.quiet;
	text.hex = json.hex = arguments.hex;
	json.sources = arguments.options.sources;
	json.fragments = arguments.options.fragments;
	visitor = arguments.json ? dump_json_visitor(&json) : dump_text_visitor(&text);
	inspect = inspect_open(&arguments.options, &visitor);
	if (!inspect) {
		fprintf(stderr, "evb dump: out of memory\n");
		return 1;
	}
	read_files(inspect, &arguments);
	inspect_finish(inspect, &summary);
	inspect_close(inspect);
	if (arguments.json)
		dump_json_summary(&json, &summary);
	else
		dump_text_summary(&text, &summary);
	if (fflush(stdout) || json.failed) {
		fprintf(stderr, "evb dump: the output is not complete\n");
		return 1;
	}
	return summary.unread || summary.problems ? 1 : 0;
}
