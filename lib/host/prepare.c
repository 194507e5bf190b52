// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/change.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

// Returns 0, or -1 with an error.
static int make(struct job *job, const struct host_change *change)
{
	char before[HOST_VALUE_SIZE], after[HOST_VALUE_SIZE], name[LINE_SIZE / 2];
	bool is_new = state_find(&job->state, change->kind, change->target) == NULL;
	int result = change_get(job->system, change->kind, change->target, before);
	cJSON *entry;

	name_setting(change->kind, change->target, name, sizeof(name));
	if (result == 0 && strcmp(before, change->value) == 0)
		return 0;
	if (result != 0) {
		notify_line(job, PREPARE_FAILED, "%s: %s", name, strerror(-result));
		return 0;
	}
	// The change is recorded before it is made, so that a crash between the two does not lose
	// the value before.
	entry = state_record(&job->state, change->kind, change->target, before, change->value);
	if (entry == NULL) {
		snprintf(job->error, STATE_ERROR_SIZE, "out of memory");
		return -1;
	}
	if (state_save(&job->state, job->state_path, job->error) != 0)
		return -1;
	result = change_set(job->system, change->kind, change->target, change->value);
	if (change_get(job->system, change->kind, change->target, after) != 0)
		snprintf(after, sizeof(after), "%s", change->value);
	if (is_new && strcmp(before, after) == 0)
		state_remove(&job->state, entry);
	else
		(void)state_record(&job->state, change->kind, change->target, before, after);
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

// Returns as host_prepare().
static int finish(struct job *job, int result)
{
	if (result == 0)
		result = state_save(&job->state, job->state_path, job->error);
	state_close(&job->state);
	return result == 0 ? job->failed : -1;
}

int host_prepare(const struct host_system *system, const struct host_report *report,
		 const char *state_path, prepare_report *notify, void *context, char *error)
{
	struct job job = { system, state_path, { 0 }, notify, context, 0, error };
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
	return finish(&job, result);
}

// Returns whether the entry is settled, so that it can be forgotten.
static bool put_back(struct job *job, const cJSON *entry)
{
	enum host_change_kind kind = change_kind_of(state_text(entry, "kind"));
	const char *target = state_text(entry, "target");
	const char *before = state_text(entry, "before"), *after = state_text(entry, "after");
	char now[HOST_VALUE_SIZE], name[LINE_SIZE / 2];
	int result = change_get(job->system, kind, target, now);

	name_setting(kind, target, name, sizeof(name));
	if (result == -ENODEV || result == -ENOENT) {
		notify_line(job, PREPARE_LEFT, "%s: is gone", name);
		return true;
	}
	if (result == 0 && strcmp(now, before) == 0)
		return true;
	if (result == 0 && strcmp(now, after) != 0) {
		notify_line(job, PREPARE_LEFT, "%s: is %s by now, left alone (was %s, set to %s)",
			    name, now, before, after);
		return true;
	}
	if (result == 0)
		result = change_set(job->system, kind, target, before);
	if (result != 0) {
		notify_line(job, PREPARE_FAILED, "%s: back to %s: %s", name, before,
			    strerror(-result));
		return false;
	}
	if (change_get(job->system, kind, target, now) == 0 && strcmp(now, before) != 0) {
		notify_line(job, PREPARE_FAILED, "%s: back to %s, the kernel has %s", name, before,
			    now);
		return false;
	}
	notify_line(job, PREPARE_DONE, "%s: back to %s", name, before);
	return true;
}

int host_restore(const struct host_system *system, const char *state_path, prepare_report *notify,
		 void *context, char *error)
{
	struct job job = { system, state_path, { 0 }, notify, context, 0, error };
	int result = state_open(&job.state, state_path, error);

	for (int i = cJSON_GetArraySize(job.state.changes); result == 0 && i-- > 0;) {
		cJSON *entry = cJSON_GetArrayItem(job.state.changes, i);

		if (put_back(&job, entry))
			state_remove(&job.state, entry);
	}
	return finish(&job, result);
}
