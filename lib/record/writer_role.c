// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/writer_role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tick_clock.h"
#include "evring/evb_reader.h"

#define EVENTS_PER_POLL 4          // a write takes long, and other roles of the lcore must run
#define RETRY_NS        100000000u // pause after a failed write
#define TICK_NS         1000000000u

struct writer {
	struct role role;
	struct evb_reader *reader;
	struct event_file *file;
	struct evb_event event; // valid if has_event: taken from the ring, not written yet
	bool has_event;
	uint64_t retry_ns; // CLOCK_MONOTONIC of the next try to write; 0: at once
	uint64_t tick_ns;  // CLOCK_MONOTONIC of the last event_file_tick()
	struct writer_counters counters __rte_cache_aligned;
};

static struct writer *writer_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct writer, role));
}

static void publish_counters(struct writer *writer)
{
	struct event_file_counters file = event_file_counters(writer->file);
	struct writer_counters *to = &writer->counters;

	__atomic_store_n(&to->events, file.events, __ATOMIC_RELAXED);
	__atomic_store_n(&to->bytes, file.bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&to->files, file.files, __ATOMIC_RELAXED);
	__atomic_store_n(&to->pauses, file.pauses, __ATOMIC_RELAXED);
	__atomic_store_n(&to->failures, file.failures, __ATOMIC_RELAXED);
}

// Writes writer->event and releases it; false if the write must be repeated later.
static bool write_event(struct writer *writer, uint64_t now_ns)
{
	int result = event_file_write(writer->file, &writer->event, now_ns);

	if (result == -EAGAIN) {
		writer->retry_ns = now_ns + RETRY_NS;
		return false;
	}
	if (result != 0)
		counter_add(&writer->counters.refused, 1);
	writer->retry_ns = 0;
	writer->has_event = false;
	// Cannot fail: this reader holds the event.
	(void)evb_reader_release(writer->reader, &writer->event);
	return true;
}

// Returns the number of events written; sets *over if the run has ended and all are written.
static unsigned work(struct writer *writer, bool *over)
{
	uint64_t now_ns = tick_clock_monotonic_ns();
	unsigned n = 0;
	int result = 0;

	*over = false;
	if (writer->retry_ns > now_ns) {
		writer->role.backpressured = true;
		return 0;
	}
	for (; n < EVENTS_PER_POLL; n++) {
		if (!writer->has_event) {
			result = evb_reader_next(writer->reader, &writer->event, 0);
			if (result != 1)
				break;
			writer->has_event = true;
		}
		if (!write_event(writer, now_ns)) {
			writer->role.backpressured = true;
			break;
		}
	}
	*over = result < 0;
	if (n > 0)
		publish_counters(writer);
	return n;
}

static unsigned writer_poll(struct role *role, uint64_t now)
{
	bool over;

	(void)now;
	return work(writer_of(role), &over);
}

static void writer_housekeep(struct role *role, uint64_t now)
{
	struct writer *writer = writer_of(role);
	uint64_t now_ns = tick_clock_monotonic_ns();

	(void)now;
	if (now_ns - writer->tick_ns < TICK_NS)
		return;
	writer->tick_ns = now_ns;
	event_file_tick(writer->file, now_ns);
	publish_counters(writer);
}

static void finish_file(struct writer *writer)
{
	if (writer->file == NULL)
		return;
	publish_counters(writer);
	// A notice has reported why the file could not be finished.
	if (event_file_close(writer->file) != 0)
		counter_add(&writer->counters.failures, 1);
	else if (writer->counters.events > 0)
		counter_add(&writer->counters.files, 1);
	writer->file = NULL;
}

static bool writer_drain(struct role *role, uint64_t now)
{
	struct writer *writer = writer_of(role);
	bool over;

	(void)now;
	(void)work(writer, &over);
	if (over)
		finish_file(writer);
	return over;
}

static void writer_fini(struct role *role)
{
	struct writer *writer = writer_of(role);

	finish_file(writer);
	evb_reader_close(writer->reader);
	free(writer);
}

static const struct role_operations writer_operations = {
	.kind = "writer",
	.poll = writer_poll,
	.housekeep = writer_housekeep,
	.drain = writer_drain,
	.fini = writer_fini,
};

struct role *writer_role_create(const struct writer_parameters *parameters, char *error)
{
	const char *directory = parameters->ring_directory;
	struct evb_reader_options options = {
		.mode = EVB_READER_GROUP,
		.group = parameters->group,
		.directory = directory[0] != '\0' ? directory : NULL,
	};
	struct writer *writer = NULL;

	if (posix_memalign((void **)&writer, RTE_CACHE_LINE_SIZE, sizeof(*writer)) != 0) {
		snprintf(error, EVENT_FILE_ERROR_SIZE, "out of memory");
		return NULL;
	}
	memset(writer, 0, sizeof(*writer));
	writer->role.operations = &writer_operations;
	snprintf(writer->role.name, sizeof(writer->role.name), "%s", parameters->name);
	if (event_file_open(&writer->file, &parameters->file, error) != 0) {
		free(writer);
		return NULL;
	}
	if (evb_reader_open(&writer->reader, parameters->appliance, &options) != 0) {
		snprintf(error, EVENT_FILE_ERROR_SIZE, "%s",
			 writer->reader != NULL ? evb_reader_error(writer->reader)
						: "out of memory");
		writer_fini(&writer->role);
		return NULL;
	}
	return &writer->role;
}

const struct writer_counters *writer_role_counters(const struct role *role)
{
	return &writer_of(role)->counters;
}
