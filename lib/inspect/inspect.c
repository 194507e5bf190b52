// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "inspect/inspect_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/pattern.h"

#define TEXT_SIZE 256
// Gaps per set that are reported individually; of further gaps only the number is.
#define GAPS_REPORTED 10
// Bytes of payload from which a fragment can be recognised as generated: its seed word.
#define MINIMUM_VOTER 8

static const char *const KIND_NAMES[] = {
	[INSPECT_UNKNOWN] = "unknown", [INSPECT_MEP] = "mep",         [INSPECT_MFP] = "mfp",
	[INSPECT_MDF] = "mdf",         [INSPECT_CAPTURE] = "capture",
};

const char *inspect_kind_name(enum inspect_kind kind)
{
	return KIND_NAMES[kind];
}

struct inspect *inspect_open(const struct inspect_options *options,
			     const struct inspect_visitor *visitor)
{
	struct inspect *inspect = calloc(1, sizeof(*inspect));

	if (!inspect)
		return NULL;
	inspect->options = *options;
	inspect->visitor = *visitor;
	inspect->payload = options->payload;
	return inspect;
}

void inspect_close(struct inspect *inspect)
{
	if (!inspect)
		return;
	id_ranges_fini(&inspect->ids);
	free(inspect);
}

void inspect_report(struct inspect *inspect, uint64_t offset, uint64_t packet,
		    enum wire_error reason, const char *format, ...)
{
	char text[TEXT_SIZE];
	struct inspect_problem problem = {
		.path = inspect->file.path,
		.offset = offset,
		.packet = packet,
		.reason = reason,
		.text = text,
	};
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	inspect->summary.problems++;
	if (inspect->visitor.problem)
		inspect->visitor.problem(inspect->visitor.context, &problem);
}

bool inspect_wanted(const struct inspect *inspect, bool has_id, uint64_t first, uint64_t n)
{
	uint64_t id = inspect->options.event_id;

	if (!inspect->options.one_event)
		return true;
	return has_id && id >= first && (id - first < n || id == first);
}

void inspect_begin_event(struct inspect *inspect, const struct inspect_event *event)
{
	inspect->n_visited++;
	if (inspect->visitor.event)
		inspect->visitor.event(inspect->visitor.context, event);
}

void inspect_end_event(struct inspect *inspect)
{
	if (inspect->visitor.event_end)
		inspect->visitor.event_end(inspect->visitor.context);
}

void inspect_add_ids(struct inspect *inspect, uint64_t set, uint64_t offset, uint64_t first,
		     uint64_t n)
{
	uint64_t repeated;

	if (!inspect->options.verify || !n || first == MFP_END_OF_RUN)
		return;
	if (id_ranges_add(&inspect->ids, set, first, n, &repeated)) {
		inspect_report(inspect, offset, 0, WIRE_OK, "out of memory for event ids");
		return;
	}
	if (!repeated)
		return;
	inspect->summary.repeated_event_ids += repeated;
	inspect_report(inspect, offset, 0, WIRE_BAD_EVENT,
		       "%" PRIu64 " of the event ids %" PRIu64 "..%" PRIu64 " were there before",
		       repeated, first, first + n - 1);
}

void inspect_vote(struct inspect_vote *vote, uint8_t type, const uint8_t *payload, uint16_t size,
		  uint16_t source_id)
{
	if (size < MINIMUM_VOTER || type == MFP_TYPE_ODIN)
		return;
	if (pattern_check(payload, size, source_id))
		vote->generated++;
	else
		vote->other++;
}

void inspect_decide(struct inspect *inspect, const struct inspect_vote *vote)
{
	if (inspect->payload != INSPECT_PAYLOAD_AUTO || vote->generated + vote->other == 0)
		return;
	inspect->payload =
	    vote->generated > vote->other ? INSPECT_PAYLOAD_GENERATED : INSPECT_PAYLOAD_ANY;
}

static bool is_capture(uint32_t magic)
{
	return magic == 0xa1b2c3d4 || magic == 0xd4c3b2a1 || magic == 0xa1b23c4d ||
	       magic == 0x4d3cb2a1 || magic == 0x0a0d0d0a;
}

static enum inspect_kind kind_of_content(const uint8_t *bytes, uint64_t size)
{
	if (size >= 4 && is_capture(load_le32(bytes)))
		return INSPECT_CAPTURE;
	if (size >= 12 && load_le32(bytes) >= MDF_HEADER_SIZE &&
	    load_le32(bytes) == load_le32(bytes + 4) && load_le32(bytes) == load_le32(bytes + 8))
		return INSPECT_MDF;
	if (size >= 2 && load_le16(bytes) == MEP_MAGIC)
		return INSPECT_MEP;
	if (size >= 2 && load_le16(bytes) == MFP_MAGIC)
		return INSPECT_MFP;
	return INSPECT_UNKNOWN;
}

static enum inspect_kind kind_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (int i = INSPECT_MEP; dot && i <= INSPECT_MDF; i++)
		if (!strcmp(dot + 1, KIND_NAMES[i]))
			return (enum inspect_kind)i;
	return INSPECT_UNKNOWN;
}

static void look(struct inspect *inspect)
{
	inspect->file.kind = kind_of_content(inspect->bytes, inspect->file.size);
	if (inspect->file.kind == INSPECT_UNKNOWN)
		inspect->file.kind = kind_of_name(inspect->file.path);
	inspect->n_visited = 0;
	inspect->stopped = false;
	inspect->summary.bytes += inspect->file.size;
	if (inspect->visitor.file)
		inspect->visitor.file(inspect->visitor.context, &inspect->file);
	switch (inspect->file.kind) {
	case INSPECT_MEP:
		inspect_mep_file(inspect);
		break;
	case INSPECT_MFP:
		inspect_mfp_file(inspect);
		break;
	case INSPECT_MDF:
		inspect_mdf_file(inspect);
		break;
	case INSPECT_CAPTURE:
		inspect_capture_file(inspect);
		break;
	case INSPECT_UNKNOWN:
		inspect_report(inspect, 0, 0, WIRE_BAD_MAGIC,
			       "neither MEP, MFP, MDF, pcap nor pcapng");
		break;
	}
}

static int open_mapped(const char *path, const uint8_t **bytes, uint64_t *size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *mapped = NULL;
	int error = 0;

	if (file < 0)
		return errno;
	if (fstat(file, &status))
		error = errno;
	else if (!S_ISREG(status.st_mode))
		error = S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
	else if (status.st_size)
		mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (mapped == MAP_FAILED)
		error = errno;
	close(file);
	if (error)
		return error;
	*bytes = mapped;
	*size = (uint64_t)status.st_size;
	return 0;
}

int inspect_read(struct inspect *inspect, const char *path, char *error)
{
	uint64_t size = 0;
	int result = open_mapped(path, &inspect->bytes, &size);

	if (result) {
		snprintf(error, INSPECT_ERROR_SIZE, "%s: %s", path, strerror(result));
		inspect->summary.unread++;
		return -1;
	}
	inspect->file =
	    (struct inspect_file){ .path = path, .size = size, .bytes = inspect->bytes };
	look(inspect);
	inspect->summary.files++;
	if (size)
		munmap((void *)(uintptr_t)inspect->bytes, size);
	inspect->bytes = NULL;
	return 0;
}

void inspect_stop(struct inspect *inspect)
{
	inspect->stopped = true;
}

// The walk over the ranges of all sets.
struct gaps {
	struct inspect *inspect;
	struct id_range last; // the previous range
	uint64_t n;           // gaps of its set so far
	bool any;             // there is a previous range
};

static void report_gap(struct inspect *inspect, uint64_t set, uint64_t first, uint64_t last)
{
	char of[32] = "", source[MFP_SOURCE_NAME_SIZE];

	if (set < INSPECT_MEP_IDS) {
		mfp_source_name((uint16_t)set, source);
		snprintf(of, sizeof(of), "source %s: ", source);
	} else if (set > INSPECT_MEP_IDS) {
		snprintf(of, sizeof(of), "run %" PRIu64 ": ", set - INSPECT_MDF_IDS(0));
	}
	inspect_report(inspect, inspect->file.size, 0, WIRE_BAD_EVENT,
		       "%sevent ids %" PRIu64 "..%" PRIu64 " are missing", of, first, last);
}

static void end_set(struct gaps *gaps)
{
	if (!gaps->inspect->options.allow_gaps && gaps->n > GAPS_REPORTED)
		inspect_report(gaps->inspect, gaps->inspect->file.size, 0, WIRE_BAD_EVENT,
			       "and %" PRIu64 " gaps more of event ids", gaps->n - GAPS_REPORTED);
	gaps->n = 0;
}

static void judge_gap(void *context, const struct id_range *range)
{
	struct gaps *gaps = context;
	struct inspect *inspect = gaps->inspect;

	if (!gaps->any || gaps->last.set != range->set) {
		end_set(gaps);
	} else {
		uint64_t first = gaps->last.last + 1, last = range->first - 1;

		inspect->summary.missing_event_ids += last - first + 1;
		if (++gaps->n <= GAPS_REPORTED && !inspect->options.allow_gaps)
			report_gap(inspect, range->set, first, last);
	}
	gaps->last = *range;
	gaps->any = true;
}

void inspect_finish(struct inspect *inspect, struct inspect_summary *summary)
{
	struct gaps gaps = { .inspect = inspect };

	if (inspect->options.verify && !inspect->options.one_event) {
		id_ranges_walk(&inspect->ids, judge_gap, &gaps);
		end_set(&gaps);
	}
	*summary = inspect->summary;
}
