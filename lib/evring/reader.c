// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evb_reader.h"
#include "evring_place.h"
#include "reader_pause.h"
#include "reader_ring.h"
#include "reader_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/tick_clock.h"

#define DEFAULT_GROUP "main"
#define CHECK_NS      100000000 // between two checks for dead processes
#define NS_PER_MS     UINT64_C(1000000)

static_assert(EVB_EVENT_FLUSHED == 4 && EVB_EVENT_REPEATED == 8,
	      "flags are shared between processes");

struct evb_reader {
	struct evb_ring *rings;
	unsigned n_rings;
	unsigned turn; // ring to poll first
	uint64_t checked_ns;
	uint64_t pause_ns; // between two polls
	uint64_t n_before; // events that had been delivered before the last pause
	struct evb_reader_counters counters;
	char error[EVRING_ERROR_SIZE];
};

// An appliance of layout version 1 has no place; its file says which version it has.
static int check_old_file(const struct evring_directory *directory, const char *name,
			  unsigned builder, char *error)
{
	struct evring_header header = { 0 };
	char path[EVRING_OLD_PATH_SIZE], why[EVRING_ERROR_SIZE];
	uint64_t size;
	int file, rc;

	if (!evring_old_path(path, directory, name, builder))
		return -ENOENT;
	file = evring_open_file(path, O_RDONLY, &size);
	if (file < 0)
		return -ENOENT;
	(void)!pread(file, &header, sizeof(header), 0);
	rc = evring_layout_check(&header, size, why);
	close(file);
	return rc == 0 ? -ENOENT : evring_error(rc, error, "%s: %s", path, why);
}

// Opens one ring of the appliance in one directory, in the first place with a live ring. If there
// is none, the error is that of the first file found, and -ENOENT without a file.
static int open_in(struct evb_ring *ring, const struct evring_directory *directory,
		   const char *name, unsigned builder, bool writable, char *error)
{
	struct evring_place places[EVRING_MAX_PLACES];
	const unsigned n = evring_places(directory->path, name, places);
	int rc = -ENOENT;

	for (unsigned i = 0; i < n; i++) {
		char why[EVRING_ERROR_SIZE];
		const int found = evb_ring_open(ring, places[i].path, builder, writable, why);

		if (found == 0)
			return 0;
		if (rc == -ENOENT && found != -ENOENT)
			rc = evring_error(found, error, "%s", why);
	}
	return rc == -ENOENT ? check_old_file(directory, name, builder, error) : rc;
}

// Opens one ring of the appliance in the first directory with a live ring. If there is none, the
// error is that of the last file found.
static int open_ring(struct evb_reader *reader, struct evb_ring *ring, const char *name,
		     unsigned builder, const struct evring_directories *directories, bool writable)
{
	int rc = evring_error(-ENOENT, reader->error,
			      "no event ring of builder %u of an appliance %s", builder, name);
	for (unsigned i = 0; i < directories->count; i++) {
		char error[EVRING_ERROR_SIZE];
		const int found =
		    open_in(ring, &directories->list[i], name, builder, writable, error);

		if (found == 0)
			return 0;
		if (found != -ENOENT)
			rc = evring_error(found, reader->error, "%s", error);
	}
	return rc;
}

void evb_reader_end_with_run(struct evb_reader *reader)
{
	for (unsigned i = 0; i < reader->n_rings; i++)
		reader->rings[i].ends_with_run = true;
}

// All rings must be of the same run.
static int check_ring(struct evb_reader *reader, unsigned index)
{
	const struct evring_header *first = reader->rings[0].view.header;
	const struct evring_header *header = reader->rings[index].view.header;

	if (header->owner == first->owner && header->n_builders == first->n_builders &&
	    header->builder == index)
		return 0;
	return evring_error(-ENOENT, reader->error,
			    "the rings of %s belong to different runs: it is just starting",
			    first->name);
}

static int open_rings(struct evb_reader *reader, const char *name,
		      const struct evring_directories *directories, bool writable)
{
	struct evb_ring first = { 0 };
	unsigned n_builders;
	int rc = open_ring(reader, &first, name, 0, directories, writable);

	if (rc != 0)
		return rc;
	n_builders = first.n_builders;
	reader->rings = calloc(n_builders, sizeof(*reader->rings));
	if (reader->rings == NULL) {
		evb_ring_close(&first);
		return evring_error(-ENOMEM, reader->error, "%s", strerror(ENOMEM));
	}
	reader->rings[0] = first;
	reader->n_rings = 1;
	rc = check_ring(reader, 0);
	while (rc == 0 && reader->n_rings < n_builders) {
		rc = open_ring(reader, &reader->rings[reader->n_rings], name, reader->n_rings,
			       directories, writable);
		if (rc == 0)
			rc = check_ring(reader, reader->n_rings++);
	}
	return rc;
}

static void close_rings(struct evb_reader *reader)
{
	for (unsigned i = 0; i < reader->n_rings; i++)
		evb_ring_close(&reader->rings[i]);
	free(reader->rings);
	reader->rings = NULL;
	reader->n_rings = 0;
}

static int join_rings(struct evb_reader *reader, const struct evb_reader_options *options)
{
	const char *group = options->group != NULL ? options->group : DEFAULT_GROUP;
	int rc = 0;

	for (unsigned i = 0; i < reader->n_rings && rc == 0; i++) {
		if (options->mode == EVB_READER_SPY)
			evb_ring_spy(&reader->rings[i]);
		else
			rc = evb_ring_join(&reader->rings[i], group, reader->error);
	}
	return rc;
}

static int check_options(struct evb_reader *reader, const char *name,
			 const struct evb_reader_options *options)
{
	if (name == NULL || !evring_name_is_valid(name))
		return evring_error(
		    -EINVAL, reader->error,
		    "the appliance's name must be 1 to 31 characters of [A-Za-z0-9_-]");
	if (options->mode != EVB_READER_GROUP && options->mode != EVB_READER_SPY)
		return evring_error(-EINVAL, reader->error, "no such mode");
	if (options->mode == EVB_READER_GROUP && options->group != NULL &&
	    !evring_name_is_valid(options->group))
		return evring_error(-EINVAL, reader->error,
				    "the group's name must be 1 to 31 characters of [A-Za-z0-9_-]");
	return 0;
}

int evb_reader_open(struct evb_reader **reader, const char *name,
		    const struct evb_reader_options *options)
{
	static const struct evb_reader_options defaults = { 0 };
	struct evring_directories directories;
	struct evb_reader *new_reader = calloc(1, sizeof(*new_reader));
	int rc;

	*reader = new_reader;
	if (new_reader == NULL)
		return -ENOMEM;
	if (options == NULL)
		options = &defaults;
	rc = check_options(new_reader, name, options);
	if (rc == 0)
		rc = evring_directories_find(&directories, options->directory, new_reader->error);
	if (rc == 0)
		rc = open_rings(new_reader, name, &directories, options->mode == EVB_READER_GROUP);
	if (rc == 0)
		rc = join_rings(new_reader, options);
	if (rc != 0)
		close_rings(new_reader);
	else
		new_reader->error[0] = 0; // errors of directories without the ring do not matter
	return rc;
}

static bool poll_rings(struct evb_reader *reader, struct evb_event *event)
{
	for (unsigned i = 0; i < reader->n_rings; i++) {
		const unsigned index = reader->turn;

		reader->turn = index + 1 < reader->n_rings ? index + 1 : 0;
		if (evb_ring_next(&reader->rings[index], event, &reader->counters)) {
			event->builder = (uint16_t)index;
			return true;
		}
	}
	return false;
}

bool evb_reader_poll(struct evb_reader *reader, struct evb_event *event)
{
	return poll_rings(reader, event);
}

bool evb_reader_has_ended(const struct evb_reader *reader)
{
	for (unsigned i = 0; i < reader->n_rings; i++)
		if (!evb_ring_has_ended(&reader->rings[i]))
			return false;
	return true;
}

bool evb_reader_slots(const struct evb_reader *reader, unsigned index,
		      struct evb_reader_slots *slots)
{
	if (index >= reader->n_rings)
		return false;
	evb_ring_slots(&reader->rings[index], slots);
	return true;
}

bool evb_reader_watch(struct evb_reader *reader, struct evb_event *event)
{
	for (unsigned i = 0; i < reader->n_rings; i++)
		if (evb_ring_watch(&reader->rings[i], event)) {
			event->builder = (uint16_t)i;
			return true;
		}
	return false;
}

static void check_living(struct evb_reader *reader, uint64_t now)
{
	for (unsigned i = 0; i < reader->n_rings; i++)
		evb_ring_check_living(&reader->rings[i]);
	reader->checked_ns = now;
}

void evb_reader_bury(struct evb_reader *reader)
{
	check_living(reader, tick_clock_monotonic_ns());
}

static bool all_over(struct evb_reader *reader)
{
	bool over = true;

	for (unsigned i = 0; i < reader->n_rings; i++) {
		evb_ring_check_end(&reader->rings[i]);
		over = over && reader->rings[i].over;
	}
	return over;
}

static bool decisions_are_due(struct evb_reader *reader)
{
	for (unsigned i = 0; i < reader->n_rings; i++)
		if (evb_ring_waits_for_decisions(&reader->rings[i]))
			return true;
	return false;
}

// Called when no ring had an event. Returns 1 with an event that was found after all, -EPIPE at the
// end of the run, otherwise 0.
static int look_for_end(struct evb_reader *reader, struct evb_event *event, uint64_t now)
{
	if (!all_over(reader))
		return 0;
	// No event will be published any more; those of dead members are returned now.
	if (decisions_are_due(reader))
		return 0;
	check_living(reader, now);
	if (poll_rings(reader, event))
		return 1;
	return evring_error(-EPIPE, reader->error, "the run is over");
}

// Slots of the ring that has the fewest.
static uint64_t fewest_slots(const struct evb_reader *reader)
{
	uint64_t fewest = UINT64_MAX;

	for (unsigned i = 0; i < reader->n_rings; i++)
		if (reader->rings[i].view.n_slots < fewest)
			fewest = reader->rings[i].view.n_slots;
	return fewest;
}

static void doze(struct evb_reader *reader, uint64_t waited)
{
	const uint64_t found = reader->counters.events - reader->n_before;
	uint64_t ns;

	reader->n_before = reader->counters.events;
	reader->pause_ns = reader_next_pause(reader->pause_ns, found, fewest_slots(reader));
	ns = reader_sleep(reader->pause_ns, waited);
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

int evb_reader_next(struct evb_reader *reader, struct evb_event *event, int timeout_ms)
{
	uint64_t begin = 0, now;
	int rc;

	if (reader->n_rings == 0)
		return evring_error(-EPIPE, reader->error, "the reader is not open");
	for (;;) {
		if (poll_rings(reader, event))
			return 1;
		now = tick_clock_monotonic_ns();
		if (begin == 0)
			begin = now;
		if (now - reader->checked_ns >= CHECK_NS)
			check_living(reader, now);
		rc = look_for_end(reader, event, now);
		if (rc != 0)
			return rc;
		if (timeout_ms >= 0 && now - begin >= (uint64_t)timeout_ms * NS_PER_MS)
			return 0;
		doze(reader, now - begin);
	}
}

static int not_held(struct evb_reader *reader, const struct evb_event *event)
{
	return evring_error(-EINVAL, reader->error,
			    "event %" PRIu64 " of builder %u is not held by this reader",
			    event->event_id, event->builder);
}

int evb_reader_decide(struct evb_reader *reader, const struct evb_event *event,
		      const struct evb_decision *decision)
{
	int rc = -EINVAL;

	if (event->builder < reader->n_rings)
		rc = evb_ring_decide(&reader->rings[event->builder], event, decision,
				     tick_clock_monotonic_ns());
	if (rc == -EPERM)
		return evring_error(rc, reader->error,
				    "this reader's group is not declared as deciding");
	if (rc == -EALREADY)
		return evring_error(rc, reader->error,
				    "event %" PRIu64 " of builder %u is decided already",
				    event->event_id, event->builder);
	return rc == 0 ? 0 : not_held(reader, event);
}

int evb_reader_release(struct evb_reader *reader, const struct evb_event *event)
{
	if (event->builder < reader->n_rings &&
	    evb_ring_release(&reader->rings[event->builder], event) == 0)
		return 0;
	return not_held(reader, event);
}

bool evb_event_intact(const struct evb_reader *reader, const struct evb_event *event)
{
	return event->builder < reader->n_rings &&
	       evb_ring_is_intact(&reader->rings[event->builder], event);
}

struct evb_reader_counters evb_reader_counters(const struct evb_reader *reader)
{
	return reader->counters;
}

const char *evb_reader_error(const struct evb_reader *reader)
{
	return reader->error;
}

void evb_reader_close(struct evb_reader *reader)
{
	if (reader == NULL)
		return;
	close_rings(reader);
	free(reader);
}
