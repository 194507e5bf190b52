// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/group.h"

#include "record/writer_role.h"

struct writer_view {
	const char *format;
};

static const struct metric writer_metrics[] = {
	TEXT("name", config_writer, name, "name of the writer"),
	TEXT("group", config_writer, group, "group of consumers that the writer belongs to"),
	TEXT("directory", config_writer, directory, "directory of its files"),
	{ 0 },
};

static const struct metric format_metrics[] = {
	TEXT("format", writer_view, format, "format of its files: mep or mdf"),
	{ 0 },
};

static const struct metric writer_counter_metrics[] = {
	COUNTER("events", writer_counters, events, "events written to files"),
	COUNTER("bytes", writer_counters, bytes, "bytes of events written to files"),
	COUNTER("files", writer_counters, files, "files finished"),
	COUNTER("refused", writer_counters, refused, "events that the file format cannot hold"),
	COUNTER("pauses", writer_counters, pauses,
		"times that the writer waited for room on the disk"),
	GAUGE("paused", writer_counters, paused,
	      "error number (errno) because of which the writer cannot write now, or 0"),
	COUNTER("failures", writer_counters, failures, "files that failed"),
	COUNTER("lost", writer_counters, lost, "events in files whose sync failed"),
	{ 0 },
};

static void view_writer(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct writer_view view;
	const struct config_writer *writer = &appliance->config->writers[index];

	view.format = writer->format == FILE_FORMAT_MDF ? "mdf" : "mep";
	bases[0] = writer;
	bases[1] = &view;
	bases[2] = writer_role_counters(appliance_role(appliance, CONFIG_ROLE_WRITER, index));
}

const struct telemetry_group telemetry_writer = {
	.name = "writer",
	.things = "writers",
	.help = "A writer: what is in its files",
	.tables = { writer_metrics, format_metrics, writer_counter_metrics },
	.view = view_writer,
};
