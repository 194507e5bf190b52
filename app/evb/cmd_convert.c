// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb convert: files of built events to HDF5, and back.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "account_text.h"
#include "arguments.h"
#include "base/tick_clock.h"
#include "cmd.h"
#include "convert/convert.h"
#include "stop.h"
#include "version/build.h"

#define FIRST_PROGRESS_S 2 // what is done by then shows none
#define PROGRESS_S       0.5
#define LEAST_LEVEL      1
#define MOST_LEVEL       9
#define PROGRAM_SIZE     128

struct arguments {
	const char *input, *output;
	enum convert_compression compression;
	uint64_t level;
	bool quiet;
};

struct progress {
	bool shows;
	uint64_t begin_ns;
	double shown; // seconds since the begin of the last line
};

static void take_compression(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;

	if (!strcmp(text, "none"))
		arguments->compression = CONVERT_PLAIN;
	else if (!strcmp(text, "deflate"))
		arguments->compression = CONVERT_DEFLATE;
	else if (!strcmp(text, "zstd"))
		arguments->compression = CONVERT_ZSTD;
	else
		argp_error(state, "--compression is none, deflate or zstd, not %s", text);
}

static const struct arguments_option options[] = {
	{ "compression", 'c', "none|deflate|zstd", TAKE(take_compression),
	  "compression of the HDF5 file (none)" },
	{ "level", 'l', "N", INTO(COUNT, level), "level of compression, 1 to 9 (1)" },
	{ "quiet", 'q', NULL, INTO(FLAG, quiet), "only errors" },
	{ ARGUMENT(TEXT, input) },
	{ ARGUMENT(TEXT, output) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (!arguments->input)
		argp_error(state, "which file?");
	if (!arguments->output)
		argp_error(state, "where to? Name the output behind %s", arguments->input);
	if (arguments->level < LEAST_LEVEL || arguments->level > MOST_LEVEL)
		argp_error(state, "--level is %d to %d", LEAST_LEVEL, MOST_LEVEL);
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "FILE FILE",
	.help = "Converts a file of built events, .mep or .mdf, to HDF5, and such an HDF5 file "
		"back to the same bytes. The content of the first file tells which."
		"\vThe second file must not exist. docs/files.md has the layout.",
};

static double seconds_since(uint64_t begin_ns)
{
	return (double)(tick_clock_monotonic_ns() - begin_ns) * 1e-9;
}

static bool go_on(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	double seconds, share = total ? (double)done / (double)total : 1;

	if (!progress->shows)
		return stop_signal == 0;
	seconds = seconds_since(progress->begin_ns);
	if (seconds < FIRST_PROGRESS_S || seconds < progress->shown + PROGRESS_S)
		return stop_signal == 0;
	progress->shown = seconds;
	fprintf(stderr, "\r\033[K%6.0f s  %.0f %%, %.0f s left", seconds, 100 * share,
		seconds / share - seconds);
	account_print_rate(stderr, "  ", (double)done / seconds, "B/s");
	return stop_signal == 0;
}

static void print_result(const struct arguments *arguments, const struct convert_result *result,
			 double seconds)
{
	const uint64_t bytes = result->to_hdf5 ? result->input_bytes : result->output_bytes;
	const bool mep = result->kind == INSPECT_MEP;

	printf("%s: %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " bytes from %" PRIu64 " bytes",
	       arguments->output, result->events, mep ? "MEPs" : "MDF records", result->fragments,
	       mep ? "fragments" : "banks", result->output_bytes, result->input_bytes);
	printf(", in %.2f s", seconds);
	if (seconds > 0)
		account_print_rate(stdout, ", ", (double)bytes / seconds, "B/s");
	printf("\n");
}

int cmd_convert(int argc, char **argv)
{
	const struct build *build = build_get();
	struct arguments arguments = { .level = LEAST_LEVEL };
	char program[PROGRAM_SIZE], error[CONVERT_ERROR_SIZE];
	struct progress progress = { 0 };
	struct convert_options how = {
		.program = program,
		.go_on = go_on,
		.context = &progress,
	};
	struct convert_result result = { 0 };
	int status;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	snprintf(program, sizeof(program), "evb %s (%s)", build->version, build->commit);
	how.input = arguments.input;
	how.output = arguments.output;
	how.compression = arguments.compression;
	how.level = (unsigned)arguments.level;
	progress.shows = isatty(STDERR_FILENO) && !arguments.quiet;
	progress.begin_ns = tick_clock_monotonic_ns();
	stop_catch_signals();
	status = convert(&how, &result, error);
	if (progress.shown > 0)
		fprintf(stderr, "\r\033[K");
	if (status == CONVERT_STOPPED)
		fprintf(stderr, "evb convert: stopped: %s is not written\n", arguments.output);
	else if (status)
		fprintf(stderr, "evb convert: %s\n", error);
	else if (!arguments.quiet)
		print_result(&arguments, &result, seconds_since(progress.begin_ns));
	return status ? 1 : 0;
}
