// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_line.h"
#include "record/gather.h"
#include "record/mep_pack.h"
#include "record/mep_to_mdf.h"
#include "record/part_file.h"
#include "record/recovery.h"

#define PATH_SIZE (EVB_PATH_SIZE + FILE_NAME_SIZE)

struct event_file {
	struct event_file_parameters parameters;
	char directory_path[EVB_PATH_SIZE];
	int directory;
	struct gather gather;
	struct mep_pack pack;         // used for format mep
	struct mep_to_mdf *converter; // format mdf, else NULL
	struct file_name next;        // the first name that is tried for the next file
	bool numbered;                // next.sequence is above those of all files of next.run
	struct part_file part;        // valid while `open`
	bool open;
	bool distrusted; // a sync failed, and none has succeeded since
	uint64_t opened_ns;
	int paused;                      // negative errno that stopped writing, 0: not paused
	struct event_identity *in_doubt; // last events of recovered files; may arrive again
	size_t n_in_doubt;
	struct event_file_counters counters;
	char path[PATH_SIZE];
	char error[EVENT_FILE_ERROR_SIZE];
};

static void set_path(struct event_file *file, const struct file_name *name)
{
	char text[FILE_NAME_SIZE];

	file_name_format(name, FILE_NAME_WHOLE, text);
	snprintf(file->path, sizeof(file->path), "%s/%s", file->directory_path, text);
}

static void notify(struct event_file *file, struct event_file_notice notice)
{
	notice.path = file->path;
	if (file->parameters.notify)
		file->parameters.notify(file->parameters.notify_context, &notice);
}

// `lost`: events of the file that the disk may not have.
static void fail(struct event_file *file, const char *step, int error, uint64_t bytes,
		 uint64_t lost)
{
	snprintf(file->error, sizeof(file->error), "%s: %s: %s", file->path, step,
		 strerror(-error));
	file->counters.failures++;
	file->counters.lost += lost;
	notify(file, (struct event_file_notice){ .kind = EVENT_FILE_FAILED,
						 .bytes = bytes,
						 .events = lost,
						 .cause = file->error });
}

static void on_recovered(void *context, const struct recovered *recovered)
{
	struct event_file *file = context;
	struct event_file_notice notice = {
		.kind = recovered->size ? EVENT_FILE_RECOVERED : EVENT_FILE_REMOVED,
		.bytes = recovered->size,
		.cut = recovered->cut,
	};
	struct event_identity *more;

	set_path(file, &recovered->name);
	if (recovered->error) {
		fail(file, recovered->step, recovered->error, recovered->size, 0);
		return;
	}
	notify(file, notice);
	if (!recovered->in_doubt)
		return;
	more = realloc(file->in_doubt, (file->n_in_doubt + 1) * sizeof(*more));
	if (!more)
		return; // the event may then be written twice, which is better than losing it
	file->in_doubt = more;
	file->in_doubt[file->n_in_doubt++] = recovered->last;
}

static int open_directory(struct event_file *file, const char *path, char *error)
{
	if (strlen(path) >= sizeof(file->directory_path))
		return error_line(error, EVENT_FILE_ERROR_SIZE, "%.60s...: the path is too long",
				  path);
	strcpy(file->directory_path, path);
	if (mkdir(path, 0755) && errno != EEXIST)
		return error_line(error, EVENT_FILE_ERROR_SIZE, "%s: cannot be made: %s", path,
				  strerror(errno));
	file->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file->directory >= 0 && !faccessat(file->directory, ".", W_OK | X_OK, AT_EACCESS))
		return 0;
	return error_line(error, EVENT_FILE_ERROR_SIZE, "%s: cannot be written to: %s", path,
			  strerror(errno));
}

static int set_up(struct event_file *file, const struct event_file_parameters *parameters,
		  char *error)
{
	int reason;

	if (!file_name_prefix_ok(parameters->prefix))
		return error_line(
		    error, EVENT_FILE_ERROR_SIZE,
		    "a prefix of file names is 1 to %d letters, digits and \"_.-\" that does "
		    "not begin with a dot",
		    EVB_NAME_SIZE - 1);
	file->parameters = *parameters;
	file->parameters.directory = file->directory_path;
	file->parameters.prefix = file->next.prefix;
	file->parameters.source_map = NULL; // used only below; the string is the caller's
	strcpy(file->next.prefix, parameters->prefix);
	file->next.format = parameters->format;
	if (gather_init(&file->gather))
		return error_line(error, EVENT_FILE_ERROR_SIZE, "out of memory");
	if (parameters->format == FILE_FORMAT_MDF &&
	    mep_to_mdf_open(&file->converter, parameters->source_map, error, EVENT_FILE_ERROR_SIZE))
		return -1;
	if (open_directory(file, parameters->directory, error))
		return -1;
	reason = recovery_run(file->directory, file->next.prefix, on_recovered, file);
	if (!reason)
		return 0;
	return error_line(error, EVENT_FILE_ERROR_SIZE, "%s: cannot be read: %s",
			  parameters->directory, strerror(-reason));
}

uint64_t event_file_memory(enum file_format format)
{
	return sizeof(struct event_file) + GATHER_BUFFER +
	       (format == FILE_FORMAT_MDF ? mep_to_mdf_memory() : 0);
}

int event_file_open(struct event_file **file, const struct event_file_parameters *parameters,
		    char *error)
{
	struct event_file *made = calloc(1, sizeof(*made));

	*file = NULL;
	if (!made)
		return error_line(error, EVENT_FILE_ERROR_SIZE, "out of memory");
	made->directory = -1;
	if (set_up(made, parameters, error)) {
		event_file_close(made);
		return -1;
	}
	*file = made;
	return 0;
}

static void count_sequence(void *context, const struct file_name *name, enum file_name_stage stage)
{
	struct file_name *next = context;

	(void)stage;
	if (name->run == next->run && name->sequence >= next->sequence)
		next->sequence = name->sequence + 1;
}

static int open_next(struct event_file *file, uint32_t run, uint64_t now_ns)
{
	int error;

	if (!file->numbered || file->next.run != run) {
		file->next.run = run;
		file->next.sequence = 0;
		// Continues after the highest number of the run, so that names sort in the order of
		// writing. Without a listing part_file_create() still finds a free number.
		(void)file_name_list(file->directory, file->next.prefix, count_sequence,
				     &file->next);
		file->numbered = true;
	}
	set_path(file, &file->next);
	error = part_file_create(&file->part, file->directory, &file->next);
	if (error)
		return error;
	set_path(file, &file->next);
	file->next.sequence++;
	file->opened_ns = now_ns;
	file->open = true;
	return 0;
}

static void finish(struct event_file *file)
{
	const char *step;
	int error;

	if (!file->open)
		return;
	file->open = false;
	if (!file->part.whole.events) {
		part_file_discard(&file->part);
		return;
	}
	error = part_file_finish(&file->part, &step);
	set_path(file, &file->part.name);
	if (error) {
		file->distrusted = file->part.sync_failed;
		fail(file, step, error, file->part.whole.size,
		     file->part.sync_failed ? file->part.whole.events : 0);
		return;
	}
	file->counters.files++;
	notify(file, (struct event_file_notice){ .kind = EVENT_FILE_FINISHED,
						 .bytes = file->part.whole.size,
						 .events = file->part.whole.events });
}

// Reads and checks the event, and sets *size to its bytes in the file.
static int prepare(struct event_file *file, const struct evb_event *event, uint64_t *size)
{
	struct mep_to_mdf_event built = {
		.data = event->data,
		.length = event->length,
		.flags = event->flags,
		.run_number = event->run_number,
	};
	char cause[EVENT_FILE_ERROR_SIZE / 2];
	int error = 0;

	if (file->converter) {
		error = mep_to_mdf_begin(file->converter, &built, size, cause, sizeof(cause));
	} else {
		enum wire_error reason =
		    mep_pack_prepare(&file->pack, event->data, event->length, size);

		error = reason ? -EBADMSG : 0;
		snprintf(cause, sizeof(cause), "%s", wire_reason(reason));
	}
	if (error)
		snprintf(file->error, sizeof(file->error), "event %llu cannot be written: %s",
			 (unsigned long long)event->event_id, cause);
	return error;
}

static int put_records(struct event_file *file)
{
	size_t size;
	int error = 0;

	while (!error && (size = mep_to_mdf_next_size(file->converter))) {
		uint8_t *record = gather_reserve(&file->gather, size, &error);

		if (record)
			mep_to_mdf_next(file->converter, record);
	}
	return error;
}

// The events of the file were released when their sync failed.
static void leave(struct event_file *file, int error)
{
	file->open = false;
	part_file_leave(&file->part);
	fail(file, "sync", error, file->part.whole.size, file->part.whole.events);
}

// While the disk is distrusted, each event is synced before it counts as written.
static int put(struct event_file *file, const struct evb_event *event)
{
	struct event_identity identity = event_identity_of(event);
	uint64_t sync_size = file->distrusted ? 1 : file->parameters.sync_size;
	int error;

	gather_start(&file->gather, file->part.file, file->part.whole.size);
	error = file->converter ? put_records(file) : mep_pack_write(&file->pack, &file->gather);
	if (!error)
		error = gather_flush(&file->gather);
	if (!error)
		error = part_file_commit(&file->part, file->gather.position, &identity, sync_size);
	if (error)
		part_file_cut(&file->part);
	if (error && file->part.sync_failed && file->part.whole.events)
		leave(file, error);
	if (!error)
		file->distrusted = false;
	else if (file->part.sync_failed)
		file->distrusted = true;
	return error;
}

static bool must_rotate(const struct event_file *file, uint32_t run, uint64_t size)
{
	uint64_t limit = file->parameters.rotate_size;

	if (!file->open)
		return false;
	return file->part.name.run != run ||
	       (limit && file->part.whole.size && file->part.whole.size + size > limit);
}

static int store(struct event_file *file, const struct evb_event *event, uint64_t size,
		 uint64_t now_ns)
{
	int error = 0;

	event_file_tick(file, now_ns);
	if (must_rotate(file, event->run_number, size))
		finish(file);
	if (!file->open)
		error = open_next(file, event->run_number, now_ns);
	return error ? error : put(file, event);
}

static bool already_written(struct event_file *file, const struct evb_event *event)
{
	struct event_identity identity;

	if (!file->n_in_doubt)
		return false;
	identity = event_identity_of(event);
	for (size_t i = 0; i < file->n_in_doubt; i++) {
		if (!event_identity_equal(&identity, &file->in_doubt[i]))
			continue;
		file->in_doubt[i] = file->in_doubt[--file->n_in_doubt];
		return true;
	}
	return false;
}

static int pause_writing(struct event_file *file, int error)
{
	snprintf(file->error, sizeof(file->error), "%s: %s", file->path, strerror(-error));
	if (file->paused == error)
		return -EAGAIN;
	file->counters.pauses += !file->paused;
	file->paused = error;
	notify(file, (struct event_file_notice){
			 .kind = EVENT_FILE_PAUSED,
			 .bytes = file->open ? file->part.whole.size : 0,
			 .cause = file->error,
		     });
	return -EAGAIN;
}

int event_file_write(struct event_file *file, const struct evb_event *event, uint64_t now_ns)
{
	uint64_t size;
	int error;

	if (already_written(file, event)) {
		file->counters.repeated++;
		return 0;
	}
	error = prepare(file, event, &size);
	if (error)
		return error;
	error = store(file, event, size, now_ns);
	// The file has reached a size limit of the file system or the process: start a new one.
	if (error == -EFBIG && file->open && file->part.whole.events) {
		finish(file);
		error = prepare(file, event, &size);
		if (!error)
			error = store(file, event, size, now_ns);
	}
	if (error)
		return pause_writing(file, error);
	file->counters.events++;
	file->counters.bytes += size;
	if (file->paused) {
		file->paused = 0;
		notify(file, (struct event_file_notice){ .kind = EVENT_FILE_RESUMED,
							 .bytes = file->part.whole.size });
	}
	return 0;
}

void event_file_tick(struct event_file *file, uint64_t now_ns)
{
	uint64_t limit = file->parameters.rotate_time_ns;

	if (file->open && limit && now_ns - file->opened_ns >= limit)
		finish(file);
}

struct event_file_counters event_file_counters(const struct event_file *file)
{
	struct event_file_counters counters = file->counters;

	counters.paused = (uint64_t)-file->paused;
	return counters;
}

const char *event_file_path(const struct event_file *file)
{
	return file->path;
}

const char *event_file_error(const struct event_file *file)
{
	return file->error;
}

int event_file_finish(struct event_file *file)
{
	finish(file);
	return file->counters.failures ? -1 : 0;
}

int event_file_close(struct event_file *file)
{
	int result;

	if (!file)
		return 0;
	result = event_file_finish(file);
	if (file->directory >= 0)
		close(file->directory);
	gather_fini(&file->gather);
	mep_to_mdf_close(file->converter);
	free(file->in_doubt);
	free(file);
	return result;
}
