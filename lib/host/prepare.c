// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/prepare.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/change.h"

#define LINE_SIZE 1024

struct job {
	const struct host_system *system;
	const char *state_path;
	struct state state;
	prepare_report *report;
	void *context;
	int failed;
	char *error;
};

static void notify_line(struct job *job, enum prepare_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void notify_line(struct job *job, enum prepare_outcome outcome, const char *format, ...)
{
	char line[LINE_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (outcome == PREPARE_FAILED)
		job->failed++;
	job->report(job->context, outcome, line);
}

// "mtu eth1"; for a file only its path.
static void name_setting(enum host_change_kind kind, const char *target, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", kind == HOST_CHANGE_WRITE ? "" : change_kind_name(kind),
		 kind == HOST_CHANGE_WRITE ? "" : " ", target);
}

static void remove_leftovers(struct job *job, const struct host_change *change)
{
	int n = change_remove(job->system, change->kind, change->target);

	if (n < 0)
		notify_line(job, PREPARE_FAILED, "leftovers in %s: %s", change->target,
			    strerror(-n));
	else
		notify_line(job, PREPARE_DONE, "%d leftover%s removed from %s", n,
			    n == 1 ? "" : "s", change->target);
}

// Records a change before it is made, so that a crash between the two does not lose the value
// before. Returns 0, or -1 with an error.
static int record(struct job *job, const struct host_change *change, const char *before)
{
	struct state_entry *entry = state_find(&job->state, change->kind, change->target);

	if (entry != NULL)
		snprintf(entry->after, sizeof(entry->after), "%s", change->value);
	else if (state_add(&job->state, change->kind, change->target, before, change->value) ==
		 NULL) {
		snprintf(job->error, STATE_ERROR_SIZE, "out of memory");
		return -1;
	}
	return state_save(&job->state, job->state_path, job->error);
}

static void forget(struct job *job, const struct host_change *change)
{
	const struct state_entry *entry = state_find(&job->state, change->kind, change->target);

	if (entry != NULL)
		state_remove(&job->state, (unsigned)(entry - job->state.entries));
}

// Returns 0, or -1 with an error.
static int make(struct job *job, const struct host_change *change)
{
	char before[HOST_VALUE_SIZE], after[HOST_VALUE_SIZE], name[LINE_SIZE / 2];
	struct state_entry *entry;
	int result = change_get(job->system, change->kind, change->target, before);
	bool is_new;

	name_setting(change->kind, change->target, name, sizeof(name));
	if (result == 0 && strcmp(before, change->value) == 0)
		return 0;
	if (result != 0) {
		notify_line(job, PREPARE_FAILED, "%s: %s", name, strerror(-result));
		return 0;
	}
	is_new = state_find(&job->state, change->kind, change->target) == NULL;
	if (record(job, change, before) != 0)
		return -1;
	result = change_set(job->system, change->kind, change->target, change->value);
	if (change_get(job->system, change->kind, change->target, after) != 0)
		snprintf(after, sizeof(after), "%s", change->value);
	entry = state_find(&job->state, change->kind, change->target);
	if (entry != NULL)
		snprintf(entry->after, sizeof(entry->after), "%s", after);
	if (is_new && strcmp(before, after) == 0)
		forget(job, change);
	if (result != 0)
		notify_line(job, PREPARE_FAILED, "%s: %s to %s: %s", name, before, change->value,
			    strerror(-result));
	else if (strcmp(after, change->value) != 0)
		notify_line(job, PREPARE_PARTLY, "%s: %s to %s, the kernel gave %s", name, before,
			    change->value, after);
	else
		notify_line(job, PREPARE_DONE, "%s: %s to %s", name, before, after);
	return state_save(&job->state, job->state_path, job->error);
}

int host_prepare(const struct host_system *system, const struct host_report *report,
		 const char *state_path, prepare_report *notify, void *context, char *error)
{
	struct job job = {
		.system = system,
		.state_path = state_path,
		.report = notify,
		.context = context,
		.error = error,
	};
	int result = 0;

	if (report->n_changes == 0)
		return 0;
	result = state_open(&job.state, state_path, error);
	for (unsigned i = 0; i < report->n_changes && result == 0; i++) {
		const struct host_change *change = &report->changes[i];

		if (change_is_setting(change->kind))
			result = make(&job, change);
		else
			remove_leftovers(&job, change);
	}
	if (result == 0)
		result = state_save(&job.state, state_path, error);
	state_close(&job.state);
	return result == 0 ? job.failed : -1;
}

// Returns whether the entry is settled, so that it can be forgotten.
static bool put_back(struct job *job, const struct state_entry *entry)
{
	char now[HOST_VALUE_SIZE], name[LINE_SIZE / 2];
	int result = change_get(job->system, entry->kind, entry->target, now);

	name_setting(entry->kind, entry->target, name, sizeof(name));
	if (result == -ENODEV || result == -ENOENT) {
		notify_line(job, PREPARE_LEFT, "%s: is gone", name);
		return true;
	}
	if (result == 0 && strcmp(now, entry->before) == 0)
		return true;
	if (result == 0 && strcmp(now, entry->after) != 0) {
		notify_line(job, PREPARE_LEFT, "%s: is %s by now, left alone (was %s, set to %s)",
			    name, now, entry->before, entry->after);
		return true;
	}
	if (result == 0)
		result = change_set(job->system, entry->kind, entry->target, entry->before);
	if (result != 0) {
		notify_line(job, PREPARE_FAILED, "%s: back to %s: %s", name, entry->before,
			    strerror(-result));
		return false;
	}
	if (change_get(job->system, entry->kind, entry->target, now) == 0 &&
	    strcmp(now, entry->before) != 0) {
		notify_line(job, PREPARE_FAILED, "%s: back to %s, the kernel has %s", name,
			    entry->before, now);
		return false;
	}
	notify_line(job, PREPARE_DONE, "%s: back to %s", name, entry->before);
	return true;
}

int host_restore(const struct host_system *system, const char *state_path, prepare_report *notify,
		 void *context, char *error)
{
	struct job job = {
		.system = system,
		.state_path = state_path,
		.report = notify,
		.context = context,
		.error = error,
	};
	int result = state_open(&job.state, state_path, error);

	for (unsigned i = job.state.n; result == 0 && i-- > 0;)
		if (put_back(&job, &job.state.entries[i]))
			state_remove(&job.state, i);
	if (result == 0)
		result = state_save(&job.state, state_path, error);
	state_close(&job.state);
	return result == 0 ? job.failed : -1;
}
