// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/prepare.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/change.h"

#define LINE_SIZE 1024

struct work {
	const struct host_system *system;
	const char *state_path;
	struct state state;
	prepare_tell *tell;
	void *context;
	int failed;
	char *error;
};

static void say(struct work *work, enum prepare_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct work *work, enum prepare_outcome outcome, const char *format, ...)
{
	char line[LINE_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (outcome == PREPARE_FAILED)
		work->failed++;
	work->tell(work->context, outcome, line);
}

// "mtu eth1"; of a file just its path.
static void name_setting(enum host_change_kind kind, const char *target, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", kind == HOST_CHANGE_WRITE ? "" : change_kind_name(kind),
		 kind == HOST_CHANGE_WRITE ? "" : " ", target);
}

static void remove_leftovers(struct work *work, const struct host_change *change)
{
	int n = change_remove(work->system, change->kind, change->target);

	if (n < 0)
		say(work, PREPARE_FAILED, "leftovers in %s: %s", change->target, strerror(-n));
	else
		say(work, PREPARE_DONE, "%d leftover%s removed from %s", n, n == 1 ? "" : "s",
		    change->target);
}

// Notes the change before it is made: a crash between the two must not lose what was there.
// Returns 0, or -1 with an error.
static int note(struct work *work, const struct host_change *change, const char *before)
{
	struct state_entry *entry = state_find(&work->state, change->kind, change->target);

	if (entry != NULL)
		snprintf(entry->after, sizeof(entry->after), "%s", change->value);
	else if (state_add(&work->state, change->kind, change->target, before, change->value) ==
		 NULL) {
		snprintf(work->error, STATE_ERROR_SIZE, "out of memory");
		return -1;
	}
	return state_save(&work->state, work->state_path, work->error);
}

static void forget(struct work *work, const struct host_change *change)
{
	const struct state_entry *entry = state_find(&work->state, change->kind, change->target);

	if (entry != NULL)
		state_remove(&work->state, (unsigned)(entry - work->state.entries));
}

// Returns 0, or -1 with an error.
static int make(struct work *work, const struct host_change *change)
{
	char before[HOST_VALUE_SIZE], after[HOST_VALUE_SIZE], name[LINE_SIZE / 2];
	struct state_entry *entry;
	int result = change_get(work->system, change->kind, change->target, before);
	bool is_new;

	name_setting(change->kind, change->target, name, sizeof(name));
	if (result == 0 && strcmp(before, change->value) == 0)
		return 0;
	if (result != 0) {
		say(work, PREPARE_FAILED, "%s: %s", name, strerror(-result));
		return 0;
	}
	is_new = state_find(&work->state, change->kind, change->target) == NULL;
	if (note(work, change, before) != 0)
		return -1;
	result = change_set(work->system, change->kind, change->target, change->value);
	if (change_get(work->system, change->kind, change->target, after) != 0)
		snprintf(after, sizeof(after), "%s", change->value);
	entry = state_find(&work->state, change->kind, change->target);
	if (entry != NULL)
		snprintf(entry->after, sizeof(entry->after), "%s", after);
	if (is_new && strcmp(before, after) == 0)
		forget(work, change);
	if (result != 0)
		say(work, PREPARE_FAILED, "%s: %s to %s: %s", name, before, change->value,
		    strerror(-result));
	else if (strcmp(after, change->value) != 0)
		say(work, PREPARE_PARTLY, "%s: %s to %s, the kernel gave %s", name, before,
		    change->value, after);
	else
		say(work, PREPARE_DONE, "%s: %s to %s", name, before, after);
	return state_save(&work->state, work->state_path, work->error);
}

int host_prepare(const struct host_system *system, const struct host_report *report,
		 const char *state_path, prepare_tell *tell, void *context, char *error)
{
	struct work work = {
		.system = system,
		.state_path = state_path,
		.tell = tell,
		.context = context,
		.error = error,
	};
	int result = 0;

	if (report->n_changes == 0)
		return 0;
	result = state_open(&work.state, state_path, error);
	for (unsigned i = 0; i < report->n_changes && result == 0; i++) {
		const struct host_change *change = &report->changes[i];

		if (change_is_setting(change->kind))
			result = make(&work, change);
		else
			remove_leftovers(&work, change);
	}
	if (result == 0)
		result = state_save(&work.state, state_path, error);
	state_close(&work.state);
	return result == 0 ? work.failed : -1;
}

// Returns whether there is nothing more to put back.
static bool put_back(struct work *work, const struct state_entry *entry)
{
	char now[HOST_VALUE_SIZE], name[LINE_SIZE / 2];
	int result = change_get(work->system, entry->kind, entry->target, now);

	name_setting(entry->kind, entry->target, name, sizeof(name));
	if (result == -ENODEV || result == -ENOENT) {
		say(work, PREPARE_LEFT, "%s: is gone", name);
		return true;
	}
	if (result == 0 && strcmp(now, entry->before) == 0)
		return true;
	if (result == 0 && strcmp(now, entry->after) != 0) {
		say(work, PREPARE_LEFT, "%s: is %s by now, left alone (was %s, set to %s)", name,
		    now, entry->before, entry->after);
		return true;
	}
	if (result == 0)
		result = change_set(work->system, entry->kind, entry->target, entry->before);
	if (result != 0) {
		say(work, PREPARE_FAILED, "%s: back to %s: %s", name, entry->before,
		    strerror(-result));
		return false;
	}
	if (change_get(work->system, entry->kind, entry->target, now) == 0 &&
	    strcmp(now, entry->before) != 0) {
		say(work, PREPARE_FAILED, "%s: back to %s, the kernel has %s", name, entry->before,
		    now);
		return false;
	}
	say(work, PREPARE_DONE, "%s: back to %s", name, entry->before);
	return true;
}

int host_restore(const struct host_system *system, const char *state_path, prepare_tell *tell,
		 void *context, char *error)
{
	struct work work = {
		.system = system,
		.state_path = state_path,
		.tell = tell,
		.context = context,
		.error = error,
	};
	int result = state_open(&work.state, state_path, error);

	for (unsigned i = work.state.n; result == 0 && i-- > 0;)
		if (put_back(&work, &work.state.entries[i]))
			state_remove(&work.state, i);
	if (result == 0)
		result = state_save(&work.state, state_path, error);
	state_close(&work.state);
	return result == 0 ? work.failed : -1;
}
