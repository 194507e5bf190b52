// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb record: writes the built events of a running appliance into files.

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "cmd.h"
#include "record/recorder.h"
#include "record_port.h"
#include "stop.h"

#define NS_PER_SECOND  UINT64_C(1000000000)
#define WAIT_MS        100
#define PAUSE_NS       100000000
#define DEFAULT_PREFIX "evb"
#define DEFAULT_SIZE   (UINT64_C(4) << 30)
#define MEGABYTE       1e6

enum record_key {
	KEY_RING_DIRECTORY = 0x100,
	KEY_ROTATE_SIZE,
	KEY_ROTATE_TIME,
	KEY_SOURCE_MAP,
	KEY_SPY,
	KEY_SYNC,
};

struct record_arguments {
	struct recorder_parameters parameters;
	uint64_t events; // to write; 0: all
};

// The state of the progress line.
struct record_view {
	bool terminal;
	bool line; // the progress line is on the terminal
	uint64_t shown_ns;
	struct event_file_counters shown;
};

static const struct argp_option OPTIONS[] = {
	{ "ring", 'r', "NAME", 0, "the appliance whose events are recorded", 0 },
	{ "out", 'o', "DIR", 0, "where files are written; made if it does not exist", 0 },
	{ "group", 'g', "GROUP", 0,
	  "join this group: each event goes to one of its members, and waits for it (default: "
	  "main)",
	  0 },
	{ "spy", KEY_SPY, NULL, 0,
	  "record what can be seen, without holding the appliance back; events may be missed", 0 },
	{ "format", 'f', "mep|mdf", 0, "format of the files (default: mep)", 0 },
	{ "prefix", 'p', "NAME", 0, "first part of the files' names (default: " DEFAULT_PREFIX ")",
	  0 },
	{ "rotate-size", KEY_ROTATE_SIZE, "SIZE", 0,
	  "begin a new file rather than exceed this size, 0: never (default: 4GiB)", 0 },
	{ "rotate-time", KEY_ROTATE_TIME, "TIME", 0,
	  "begin a new file when one has been open for so long, 0: never (default)", 0 },
	{ "source-map", KEY_SOURCE_MAP, "FILE", 0,
	  "mdf: give banks back the source ids that they had before they were packed", 0 },
	{ "sync", KEY_SYNC, "SIZE", 0,
	  "force data to the disk whenever so much was written (default: at the end of a file)",
	  0 },
	{ "events", 'n', "N", 0, "end after N built events", 0 },
	{ "ring-directory", KEY_RING_DIRECTORY, "DIR", 0,
	  "where the event rings are (default: hugetlbfs mounts and /dev/shm are searched)", 0 },
	{ 0 },
};

static void parse_format(const char *text, struct argp_state *state,
			 struct event_file_parameters *file)
{
	if (!strcmp(text, "mdf"))
		file->format = FILE_FORMAT_MDF;
	else if (strcmp(text, "mep"))
		argp_error(state, "--format is mep or mdf, not %s", text);
}

static void check_arguments(struct argp_state *state, const struct record_arguments *arguments)
{
	const struct recorder_parameters *parameters = &arguments->parameters;

	if (!parameters->appliance)
		argp_error(state, "--ring says which appliance");
	if (!parameters->file.directory)
		argp_error(state, "--out says where to");
	if (parameters->file.source_map && parameters->file.format != FILE_FORMAT_MDF)
		argp_error(state, "--source-map goes with --format mdf");
	if (parameters->reader.mode == EVB_READER_SPY && parameters->reader.group)
		argp_error(state, "a spy is in no group: --group or --spy");
}

static const struct arguments_field fields[] = {
	{ 'r', ARGUMENTS_TEXT, offsetof(struct record_arguments, parameters.appliance) },
	{ 'o', ARGUMENTS_TEXT, offsetof(struct record_arguments, parameters.file.directory) },
	{ 'g', ARGUMENTS_TEXT, offsetof(struct record_arguments, parameters.reader.group) },
	{ KEY_RING_DIRECTORY, ARGUMENTS_TEXT,
	  offsetof(struct record_arguments, parameters.reader.directory) },
	{ 'p', ARGUMENTS_TEXT, offsetof(struct record_arguments, parameters.file.prefix) },
	{ KEY_ROTATE_SIZE, ARGUMENTS_SIZE,
	  offsetof(struct record_arguments, parameters.file.rotate_size) },
	{ KEY_ROTATE_TIME, ARGUMENTS_TIME,
	  offsetof(struct record_arguments, parameters.file.rotate_time_ns) },
	{ KEY_SOURCE_MAP, ARGUMENTS_TEXT,
	  offsetof(struct record_arguments, parameters.file.source_map) },
	{ KEY_SYNC, ARGUMENTS_SIZE, offsetof(struct record_arguments, parameters.file.sync_size) },
	{ 'n', ARGUMENTS_COUNT, offsetof(struct record_arguments, events) },
	{ 0 },
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct record_arguments *arguments = state->input;
	struct evb_reader_options *reader = &arguments->parameters.reader;
	struct event_file_parameters *file = &arguments->parameters.file;

	switch (key) {
	case KEY_SPY:
		reader->mode = EVB_READER_SPY;
		return 0;
	case 'f':
		parse_format(value, state, file);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: not expected here", value);
		return 0;
	case ARGP_KEY_END:
		check_arguments(state, arguments);
		return 0;
	default:
		return arguments_store(fields, OPTIONS, key, value, state);
	}
}

static const struct argp ARGP = {
	.options = OPTIONS,
	.parser = parse_option,
	.args_doc = "--ring NAME --out DIR",
	.doc = "Writes the built events of a running appliance into files."
	       " With --pcap FILE it captures what a port receives instead: evb record --pcap FILE "
	       "--help."
	       "\vSIZE and TIME take units: 64MiB, 1GB, 60s. Files are written under a hidden "
	       "temporary name and renamed when whole. If the disk is full, recording waits until "
	       "there is room. SIGINT and SIGTERM end the file and the program; a second one kills "
	       "it.",
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void clear_line(struct record_view *view)
{
	if (view->line)
		fprintf(stderr, "\r\033[K");
	view->line = false;
}

static void on_notice(void *context, const struct event_file_notice *notice)
{
	struct record_view *view = context;

	clear_line(view);
	switch (notice->kind) {
	case EVENT_FILE_FINISHED:
		fprintf(stderr, "evb record: wrote %s: %" PRIu64 " MEPs, %" PRIu64 " bytes\n",
			notice->path, notice->events, notice->bytes);
		break;
	case EVENT_FILE_RECOVERED:
		fprintf(stderr,
			"evb record: recovered %s of a recorder that was killed: %" PRIu64
			" bytes, %" PRIu64 " bytes of an unfinished event cut off\n",
			notice->path, notice->bytes, notice->cut);
		break;
	case EVENT_FILE_REMOVED:
		fprintf(stderr,
			"evb record: removed the beginnings of %s of a recorder that was killed: "
			"no whole event in its %" PRIu64 " bytes\n",
			notice->path, notice->cut);
		break;
	case EVENT_FILE_PAUSED:
		fprintf(stderr, "evb record: waiting, nothing is lost: %s\n", notice->cause);
		break;
	case EVENT_FILE_RESUMED:
		fprintf(stderr, "evb record: writing again: %s\n", notice->path);
		break;
	case EVENT_FILE_FAILED:
		fprintf(stderr, "evb record: file left unfinished: %s\n", notice->cause);
		break;
	}
}

static void show_progress(struct record_view *view, const struct recorder *recorder, uint64_t now)
{
	struct event_file_counters counters;
	double seconds = (double)(now - view->shown_ns) / NS_PER_SECOND;

	if (!view->terminal || seconds < 1)
		return;
	counters = recorder_counters(recorder).file;
	clear_line(view);
	fprintf(stderr, "%" PRIu64 " MEPs, %.1f MB, %.0f MEP/s, %.1f MB/s  %s", counters.events,
		(double)counters.bytes / MEGABYTE,
		(double)(counters.events - view->shown.events) / seconds,
		(double)(counters.bytes - view->shown.bytes) / MEGABYTE / seconds,
		recorder_path(recorder));
	view->line = true;
	view->shown = counters;
	view->shown_ns = now;
}

// Records until a signal arrives or no event is left. Returns 0, or -1 after one line on stderr.
static int record(struct recorder *recorder, const struct record_arguments *arguments,
		  struct record_view *view)
{
	const struct timespec pause_time = { .tv_nsec = PAUSE_NS };
	uint64_t written = 0;

	view->shown_ns = clock_ns();
	while (stop_signal == 0 && (!arguments->events || written < arguments->events)) {
		uint64_t now = clock_ns();
		int result = recorder_poll(recorder, WAIT_MS, now);

		show_progress(view, recorder, now);
		if (result == -EPIPE)
			break;
		if (result == -EAGAIN) {
			nanosleep(&pause_time, NULL);
		} else if (result < 0) {
			clear_line(view);
			fprintf(stderr, "evb record: %s\n", recorder_error(recorder));
			return -1;
		}
		written += result == 1;
	}
	clear_line(view);
	return 0;
}

static void print_account(const struct recorder_counters *counters, bool spy)
{
	printf("recorded %" PRIu64 " MEPs, %" PRIu64 " bytes", counters->file.events,
	       counters->file.bytes);
	if (counters->file.repeated)
		printf(", %" PRIu64 " not written again as a recovered file has them",
		       counters->file.repeated);
	if (counters->file.pauses)
		printf(", waited %" PRIu64 " times for the disk", counters->file.pauses);
	if (spy)
		printf(", missed %" PRIu64, counters->reader.overruns + counters->overwritten);
	else if (counters->pending)
		printf(", 1 MEP given back to the group as it could not be written");
	printf("\n");
}

int cmd_record(int argc, char **argv)
{
	char error[EVENT_FILE_ERROR_SIZE];
	struct record_view view = { .terminal = isatty(STDERR_FILENO) };
	struct record_arguments arguments = {
		.parameters.file = {
			.prefix = DEFAULT_PREFIX,
			.rotate_size = DEFAULT_SIZE,
			.notify = on_notice,
			.notify_context = &view,
		},
	};
	struct recorder_counters counters;
	struct recorder *recorder;
	int result;

	if (record_port_is_asked(argc, argv))
		return record_port(argc, argv);
	if (arguments_parse(&ARGP, argc, argv, &arguments) != 0)
		return 1;
	stop_catch_signals();
	if (recorder_open(&recorder, &arguments.parameters, error)) {
		fprintf(stderr, "evb record: %s\n", error);
		return 1;
	}
	result = record(recorder, &arguments, &view);
	counters = recorder_counters(recorder);
	if (recorder_close(recorder))
		result = -1;
	print_account(&counters, arguments.parameters.reader.mode == EVB_READER_SPY);
	return result ? 1 : 0;
}
