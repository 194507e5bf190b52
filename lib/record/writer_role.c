// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/writer_role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tick_clock.h"

#define EVENTS_PER_POLL 4          // a write takes long, and other roles of the lcore must run
#define RETRY_NS        100000000u // pause after a failed write

struct writer {
	struct role role;
	struct recorder *recorder; // NULL after the end of the run
	uint64_t retry_ns;         // CLOCK_MONOTONIC of the next try to write; 0: at once
	struct writer_counters counters __rte_cache_aligned;
};

static struct writer *writer_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct writer, role));
}

static void publish_counters(struct writer *writer)
{
	struct event_file_counters file = recorder_counters(writer->recorder).file;
	struct writer_counters *to = &writer->counters;

	__atomic_store_n(&to->events, file.events, __ATOMIC_RELAXED);
	__atomic_store_n(&to->bytes, file.bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&to->files, file.files, __ATOMIC_RELAXED);
	__atomic_store_n(&to->pauses, file.pauses, __ATOMIC_RELAXED);
	__atomic_store_n(&to->failures, file.failures, __ATOMIC_RELAXED);
	__atomic_store_n(&to->lost, file.lost, __ATOMIC_RELAXED);
	__atomic_store_n(&to->paused, file.paused, __ATOMIC_RELAXED);
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
		result = recorder_poll(writer->recorder, 0, now_ns);
		if (result == -EBADMSG || result == -ENOTSUP) {
			counter_add(&writer->counters.refused, 1);
			(void)recorder_skip(writer->recorder); // cannot fail: it holds the event
		} else if (result != 1) {
			break;
		}
	}
	if (result == -EAGAIN) {
		writer->retry_ns = now_ns + RETRY_NS;
		writer->role.backpressured = true;
	} else {
		*over = n < EVENTS_PER_POLL && result < 0;
	}
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

	(void)now;
	if (writer->recorder != NULL)
		publish_counters(writer);
}

static void finish(struct writer *writer)
{
	if (writer->recorder == NULL)
		return;
	// A notice has reported why the file could not be finished.
	(void)recorder_finish(writer->recorder);
	publish_counters(writer);
	(void)recorder_close(writer->recorder);
	writer->recorder = NULL;
}

static bool writer_drain(struct role *role, uint64_t now)
{
	struct writer *writer = writer_of(role);
	bool over;

	(void)now;
	(void)work(writer, &over);
	if (over)
		finish(writer);
	return over;
}

static void writer_fini(struct role *role)
{
	struct writer *writer = writer_of(role);

	finish(writer);
	free(writer);
}

static const struct role_operations writer_operations = {
	.kind = "writer",
	.poll = writer_poll,
	.housekeep = writer_housekeep,
	.drain = writer_drain,
	.fini = writer_fini,
};

uint64_t writer_role_memory(enum file_format format)
{
	return sizeof(struct writer) + recorder_memory(format);
}

struct role *writer_role_create(const char *name, const struct recorder_parameters *parameters,
				char *error)
{
	struct writer *writer = NULL;

	if (posix_memalign((void **)&writer, RTE_CACHE_LINE_SIZE, sizeof(*writer)) != 0) {
		snprintf(error, EVENT_FILE_ERROR_SIZE, "out of memory");
		return NULL;
	}
	memset(writer, 0, sizeof(*writer));
	writer->role.operations = &writer_operations;
	snprintf(writer->role.name, sizeof(writer->role.name), "%s", name);
	if (recorder_open(&writer->recorder, parameters, error) == 0)
		return &writer->role;
	free(writer);
	return NULL;
}

const struct writer_counters *writer_role_counters(const struct role *role)
{
	return &writer_of(role)->counters;
}
