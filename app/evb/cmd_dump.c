// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb dump: shows and verifies files of events and captures.

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "cmd.h"
#include "dump_json.h"
#include "dump_text.h"

enum dump_key {
	KEY_ALLOW_GAPS = 0x100,
	KEY_HEX,
	KEY_PAYLOAD,
};

struct dump_arguments {
	struct inspect_options options;
	bool json;
	bool quiet;
	bool hex;
	char **files;
	int n_files;
};

static const struct argp_option OPTIONS[] = {
	{ "sources", 's', NULL, 0, "list the MFPs of each MEP", 0 },
	{ "fragments", 'f', NULL, 0, "list fragments and banks, too", 0 },
	{ "banks", 0, NULL, OPTION_ALIAS, NULL, 0 },
	{ "hex", KEY_HEX, NULL, 0, "show payloads, too", 0 },
	{ "json", 'j', NULL, 0, "one JSON object per line", 0 },
	{ "quiet", 'q', NULL, 0, "only problems and the summary", 0 },
	{ "verify", 'v', NULL, 0,
	  "check not only structure but checksums, generated payloads, and that event ids of MEPs "
	  "and MFPs are consecutive over all files",
	  0 },
	{ "payload", KEY_PAYLOAD, "auto|generated|any", 0,
	  "whether payloads must be those of the generator (default: if those of the first event "
	  "are)",
	  0 },
	{ "allow-gaps", KEY_ALLOW_GAPS, NULL, 0,
	  "missing event ids are no problem: the files hold a part of the events", 0 },
	{ "limit", 'n', "N", 0, "look at N events or packets of each file", 0 },
	{ "event", 'e', "ID", 0, "look only at what belongs to this event id", 0 },
	{ 0 },
};

static enum inspect_payload parse_payload(const char *text, struct argp_state *state)
{
	if (!strcmp(text, "generated"))
		return INSPECT_PAYLOAD_GENERATED;
	if (!strcmp(text, "any"))
		return INSPECT_PAYLOAD_ANY;
	if (strcmp(text, "auto"))
		argp_error(state, "--payload is auto, generated or any, not %s", text);
	return INSPECT_PAYLOAD_AUTO;
}

static const struct arguments_field fields[] = {
	{ 'j', ARGUMENTS_FLAG, offsetof(struct dump_arguments, json) },
	{ 'q', ARGUMENTS_FLAG, offsetof(struct dump_arguments, quiet) },
	{ 'v', ARGUMENTS_FLAG, offsetof(struct dump_arguments, options.verify) },
	{ KEY_ALLOW_GAPS, ARGUMENTS_FLAG, offsetof(struct dump_arguments, options.allow_gaps) },
	{ 'n', ARGUMENTS_COUNT, offsetof(struct dump_arguments, options.limit) },
	{ 0 },
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct dump_arguments *arguments = state->input;
	struct inspect_options *options = &arguments->options;

	switch (key) {
	case 's':
		options->sources = true;
		return 0;
	case KEY_HEX:
		arguments->hex = true;
		// fall through
	case 'f':
		options->sources = true;
		options->fragments = true;
		return 0;
	case KEY_PAYLOAD:
		options->payload = parse_payload(value, state);
		return 0;
	case 'e':
		options->one_event = true;
		options->event_id = arguments_quantity(UNITS_COUNT, value, state, "--event");
		return 0;
	case ARGP_KEY_ARGS:
		arguments->files = state->argv + state->next;
		arguments->n_files = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which files?");
		return 0;
	default:
		return arguments_store(fields, OPTIONS, key, value, state);
	}
}

static const struct argp ARGP = {
	.options = OPTIONS,
	.parser = parse_option,
	.args_doc = "FILE...",
	.doc = "Shows what is in .mep, .mfp, .mdf, pcap and pcapng files, and whether it is sound."
	       "\vExit status: 0 all is sound, 1 something is wrong.",
};

static void read_files(struct inspect *inspect, const struct dump_arguments *arguments)
{
	char error[INSPECT_ERROR_SIZE];

	for (int i = 0; i < arguments->n_files; i++) {
		if (!inspect_read(inspect, arguments->files[i], error))
			continue;
		fflush(stdout);
		fprintf(stderr, "evb dump: %s\n", error);
	}
}

int cmd_dump(int argc, char **argv)
{
	struct dump_arguments arguments = { 0 };
	struct dump_text text = { .out = stdout };
	struct dump_json json = { .out = stdout };
	struct inspect_visitor visitor;
	struct inspect_summary summary;
	struct inspect *inspect;

	if (arguments_parse(&ARGP, argc, argv, &arguments) != 0)
		return 1;
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
