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

#include "account_text.h"
#include "arguments.h"
#include "base/tick_clock.h"
#include "cmd.h"
#include "record/recorder.h"
#include "stop.h"

#define NS_PER_SECOND  UINT64_C(1000000000)
#define WAIT_MS        100
#define PAUSE_NS       100000000
#define DEFAULT_PREFIX "evb"
#define DEFAULT_SIZE   (UINT64_C(4) << 30)
#define MEGABYTE       1e6

struct arguments {
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

static void take_format(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;

	if (!strcmp(text, "mdf"))
		arguments->parameters.file.format = FILE_FORMAT_MDF;
	else if (strcmp(text, "mep"))
		argp_error(state, "--format is mep or mdf, not %s", text);
}

static void take_spy(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;

	(void)text;
	(void)state;
	arguments->parameters.reader.mode = EVB_READER_SPY;
}

static const struct arguments_option options[] = {
	{ "ring", 'r', "NAME", INTO(TEXT, parameters.appliance),
	  "the appliance whose events are recorded" },
	{ "out", 'o', "DIR", INTO(TEXT, parameters.file.directory),
	  "where files are written; made if it does not exist" },
	{ "group", 'g', "GROUP", INTO(TEXT, parameters.reader.group),
	  "join this group: each event goes to one of its members, and waits for it (default: "
	  "main)" },
	{ "spy", 0, NULL, TAKE(take_spy),
	  "record what can be seen, without holding the appliance back; events may be missed" },
	{ "format", 'f', "mep|mdf", TAKE(take_format), "format of the files (default: mep)" },
	{ "prefix", 'p', "NAME", INTO(TEXT, parameters.file.prefix),
	  "first part of the files' names (default: " DEFAULT_PREFIX ")" },
	{ "rotate-size", 0, "SIZE", INTO(SIZE, parameters.file.rotate_size),
	  "begin a new file rather than exceed this size, 0: never (default: 4GiB)" },
	{ "rotate-time", 0, "TIME", INTO(TIME, parameters.file.rotate_time_ns),
	  "begin a new file when one has been open for so long, 0: never (default)" },
	{ "source-map", 0, "FILE", INTO(TEXT, parameters.file.source_map),
	  "mdf: give banks back the source ids that they had before they were packed" },
	{ "sync", 0, "SIZE", INTO(SIZE, parameters.file.sync_size),
	  "force data to the disk whenever so much was written (default: at the end of a file)" },
	{ "events", 'n', "N", INTO(COUNT, events), "end after N built events" },
	{ "ring-directory", 0, "DIR", INTO(TEXT, parameters.reader.directory),
	  "where the event rings are (default: hugetlbfs mounts and /dev/shm are searched)" },
	{ NULL, 0, NULL, TAKE(arguments_refuse), NULL },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;
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

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "--ring NAME --out DIR",
	.help =
	    "Writes the built events of a running appliance into files."
	    " With --pcap FILE it captures what a port receives instead: evb record --pcap "
	    "FILE --help."
	    "\vSIZE and TIME take units: 64MiB, 1GB, 60s. Files are written under a hidden "
	    "temporary name and renamed when whole. If the disk is full, recording waits until "
	    "there is room. SIGINT and SIGTERM end the file and the program; a second one kills "
	    "it.",
};

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
		fprintf(stderr, "evb record: waiting, events stay in the ring: %s\n",
			notice->cause);
		break;
	case EVENT_FILE_RESUMED:
		fprintf(stderr, "evb record: writing again: %s\n", notice->path);
		break;
	case EVENT_FILE_FAILED:
		fprintf(stderr,
			"evb record: file left unfinished: %s; %" PRIu64 " of its MEPs are lost\n",
			notice->cause, notice->events);
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
	fprintf(stderr, "%" PRIu64 " MEPs, %.1f MB", counters.events,
		(double)counters.bytes / MEGABYTE);
	account_print_rate(stderr, ", ", (double)(counters.events - view->shown.events) / seconds,
			   "MEP/s");
	account_print_rate(stderr, ", ", (double)(counters.bytes - view->shown.bytes) * 8 / seconds,
			   "b/s");
	fprintf(stderr, "  %s", recorder_path(recorder));
	view->line = true;
	view->shown = counters;
	view->shown_ns = now;
}

// Records until a signal arrives or no event is left. Returns 0, or -1 after one line on stderr.
static int record(struct recorder *recorder, const struct arguments *arguments,
		  struct record_view *view)
{
	const struct timespec pause_time = { .tv_nsec = PAUSE_NS };
	uint64_t written = 0;

	view->shown_ns = tick_clock_monotonic_ns();
	while (stop_signal == 0 && (!arguments->events || written < arguments->events)) {
		uint64_t now = tick_clock_monotonic_ns();
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
	if (counters->file.lost)
		printf(", %" PRIu64 " LOST as their sync failed", counters->file.lost);
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
	struct arguments arguments = {
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
	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	stop_catch_signals();
	if (recorder_open(&recorder, &arguments.parameters, error)) {
		fprintf(stderr, "evb record: %s\n", error);
		return 1;
	}
	result = record(recorder, &arguments, &view);
	(void)recorder_finish(recorder);
	counters = recorder_counters(recorder);
	if (recorder_close(recorder))
		result = -1;
	print_account(&counters, arguments.parameters.reader.mode == EVB_READER_SPY);
	return result ? 1 : 0;
}
