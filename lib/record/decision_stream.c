// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/decision_stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/error_line.h"
#include "base/tick_clock.h"
#include "wire/wire.h"

#define FILE_UNITS 2048u // of the buffer of a file
#define MOST_FILES 10000u
#define NAME_SIZE  320

// Of an event ring:
#define BLOCK    4096u      // bytes of a slot
#define WATCH_NS 100000000u // between two looks at members and file
#define AT_ONCE  64u        // slots that are reclaimed at once

// The slots of an event ring that consumers have released.
struct free_slots {
	uint32_t n_slots, n;
	uint32_t first; // the slot to use next: the one that has been free for longest
	uint32_t *list; // [n_slots], circular, so that spies have time to read a block
};

struct decision_stream {
	struct decision_stream_parameters parameters;
	struct decision_stream_counters counters;
	char name[NAME_SIZE];
	int file;
	bool datagrams;
	struct evring *ring; // NULL: a file or datagrams
	struct free_slots slots;
	uint64_t watched_ns; // when the ring was looked at
	bool is_cut;         // a process that may write the ring's file has truncated it
	bool paused;
	struct decision_stream_tail tail;
	bool has_tail;
	uint64_t added;   // records, from the beginning
	unsigned n;       // units in the buffer
	unsigned headers; // those of them that are a header: the first, or none
	unsigned units;   // that fit
	uint8_t buffer[FILE_UNITS][DECISION_STREAM_UNIT];
};

_Static_assert((1 + DECISION_STREAM_PER_BLOCK) * DECISION_STREAM_UNIT == BLOCK, "");

static void add_header(struct decision_stream *stream)
{
	uint8_t *to = stream->buffer[stream->n++];

	memcpy(to, "EVBDECID", 8);
	store_le32(to + 8, 1);
	store_le32(to + 12, DECISION_STREAM_UNIT);
	store_le32(to + 16, stream->parameters.run_number);
	store_le32(to + 20, stream->parameters.packing);
	store_le64(to + 24, stream->added);
	stream->headers = 1;
}

static bool is_header(const uint8_t *bytes)
{
	return memcmp(bytes, "EVBDECID", 8) == 0 && load_le32(bytes + 12) == DECISION_STREAM_UNIT;
}

// Takes the last record of an open file, which follows that of the file before. A record that was
// not written as a whole does not count. A file of records from 0 on is that of a new run.
static void take_tail(struct decision_stream *stream, int file)
{
	uint8_t header[DECISION_STREAM_UNIT], record[DECISION_STREAM_UNIT];
	struct stat status;
	uint64_t n, first;

	if (fstat(file, &status) != 0 || pread(file, header, sizeof(header), 0) != sizeof(header) ||
	    !is_header(header))
		return; // its process ended before it began
	n = (uint64_t)status.st_size / DECISION_STREAM_UNIT - 1;
	first = load_le64(header + 24);
	stream->has_tail &= first > 0;
	if (n == 0 || pread(file, record, sizeof(record), (off_t)(n * DECISION_STREAM_UNIT)) !=
			  sizeof(record))
		return;
	stream->has_tail = true;
	stream->tail = (struct decision_stream_tail){ load_le64(record), first + n };
}

static void read_tail(struct decision_stream *stream)
{
	const int file = open(stream->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (file < 0)
		return;
	take_tail(stream, file);
	close(file);
}

static int open_file(struct decision_stream *stream, char *error)
{
	const struct decision_stream_parameters *p = &stream->parameters;

	for (unsigned i = 0; i < MOST_FILES; i++) {
		if (i > 0 && p->resumes)
			read_tail(stream);
		if (snprintf(stream->name, NAME_SIZE, "%s/%s-run%06u-%04u.decisions", p->directory,
			     p->prefix, p->run_number, i) >= NAME_SIZE)
			return error_line(error, DECISION_STREAM_ERROR_SIZE, "%s: too long",
					  p->directory);
		stream->file =
		    open(stream->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (stream->file >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return error_line(error, DECISION_STREAM_ERROR_SIZE, "%s: %s", stream->name,
			  strerror(errno));
}

static int open_socket(struct decision_stream *stream, char *error)
{
	const struct decision_stream_parameters *p = &stream->parameters;
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(p->port),
		.sin_addr.s_addr = htonl(p->address),
	};
	char text[INET_ADDRSTRLEN];

	snprintf(stream->name, NAME_SIZE, "udp://%s:%u",
		 inet_ntop(AF_INET, &to.sin_addr, text, sizeof(text)), p->port);
	stream->file = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (stream->file >= 0 &&
	    connect(stream->file, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return 0;
	error_line(error, DECISION_STREAM_ERROR_SIZE, "%s: %s", stream->name, strerror(errno));
	if (stream->file >= 0)
		close(stream->file);
	return -1;
}

// --- an event ring ---

static bool make_free_slots(struct free_slots *slots, uint32_t n)
{
	slots->list = malloc(n * sizeof(*slots->list));
	if (slots->list == NULL)
		return false;
	slots->n_slots = slots->n = n;
	for (uint32_t i = 0; i < n; i++)
		slots->list[i] = i;
	return true;
}

static int open_ring(struct decision_stream *stream, char *error)
{
	struct evring_parameters parameters = stream->parameters.ring;
	char why[EVRING_ERROR_SIZE] = "out of memory";

	parameters.memory = EVRING_SHM;
	parameters.builder = 0;
	parameters.n_builders = 1;
	parameters.slot_size = BLOCK;
	snprintf(stream->name, NAME_SIZE, "ring://%s", parameters.name);
	stream->file = -1;
	if (make_free_slots(&stream->slots, parameters.slots) &&
	    evring_create(&stream->ring, &parameters, why) == 0)
		return 0;
	free(stream->slots.list);
	return error_line(error, DECISION_STREAM_ERROR_SIZE, "event ring %s: %s", parameters.name,
			  why);
}

static void reclaim(struct decision_stream *stream)
{
	struct free_slots *slots = &stream->slots;
	uint32_t released[AT_ONCE], at;
	unsigned n;

	do {
		n = evring_reclaim(stream->ring, released, AT_ONCE);
		for (unsigned i = 0; i < n; i++) {
			at = slots->first + slots->n++;
			slots->list[at < slots->n_slots ? at : at - slots->n_slots] = released[i];
		}
	} while (n > 0);
}

static uint32_t take_slot(struct free_slots *slots)
{
	const uint32_t slot = slots->list[slots->first];

	slots->n--;
	slots->first = slots->first + 1 < slots->n_slots ? slots->first + 1 : 0;
	return slot;
}

// Publishes a block. False: groups hold all slots, or the ring has been cut.
static bool publish(struct decision_stream *stream, size_t length)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();
	const struct evring_event event = {
		.event_id = load_le64(stream->buffer[1]),
		.length = length,
		.first_ns = now_ns,
		.complete_ns = now_ns,
	};
	uint32_t slot;

	reclaim(stream);
	if (stream->slots.n == 0 || stream->is_cut)
		return false;
	slot = take_slot(&stream->slots);
	evring_begin(stream->ring, slot);
	memcpy(evring_slot(stream->ring, slot), stream->buffer, length);
	evring_publish(stream->ring, slot, &event);
	return true;
}

// Frees released slots. Returns the blocks that groups have not released. At most every 0.1 s it
// also looks for dead members, whose blocks go to others, and whether the ring has been cut.
static uint64_t watch(struct decision_stream *stream)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();

	if (now_ns - stream->watched_ns >= WATCH_NS) {
		stream->watched_ns = now_ns;
		(void)evring_reap(stream->ring);
		stream->is_cut |= evring_is_cut(stream->ring);
	}
	reclaim(stream);
	return stream->slots.n_slots - stream->slots.n;
}

// --- life ---

static int open_output(struct decision_stream *stream, char *error)
{
	if (stream->parameters.directory != NULL) {
		stream->units = FILE_UNITS;
		return open_file(stream, error);
	}
	if (stream->parameters.ring.name != NULL) {
		stream->units = DECISION_STREAM_PER_BLOCK + 1;
		return open_ring(stream, error);
	}
	stream->units = DECISION_STREAM_PER_DATAGRAM + 1;
	stream->datagrams = true;
	return open_socket(stream, error);
}

uint64_t decision_stream_memory(void)
{
	return sizeof(struct decision_stream);
}

uint64_t decision_stream_ring_memory(uint32_t slots)
{
	return evring_bytes(slots, BLOCK);
}

int decision_stream_open(struct decision_stream **stream,
			 const struct decision_stream_parameters *parameters, char *error)
{
	struct decision_stream *made = calloc(1, sizeof(*made));

	*stream = NULL;
	if (made == NULL)
		return error_line(error, DECISION_STREAM_ERROR_SIZE, "out of memory");
	made->parameters = *parameters;
	if (open_output(made, error) != 0) {
		free(made);
		return -1;
	}
	add_header(made);
	if (parameters->directory != NULL && !parameters->resumes)
		decision_stream_flush(made);
	*stream = made;
	return 0;
}

bool decision_stream_tail(const struct decision_stream *stream, struct decision_stream_tail *tail)
{
	*tail = stream->tail;
	return stream->has_tail;
}

void decision_stream_resume(struct decision_stream *stream, uint64_t records)
{
	stream->added = records;
	stream->n = 0;
	add_header(stream);
}

unsigned decision_stream_pending(const struct decision_stream *stream)
{
	return stream->n - stream->headers;
}

unsigned decision_stream_room(struct decision_stream *stream)
{
	if (stream->n == stream->units)
		decision_stream_flush(stream);
	return stream->units - stream->n;
}

void decision_stream_add(struct decision_stream *stream, const struct decision_result *result)
{
	uint8_t *to = stream->buffer[stream->n++];

	store_le64(to, result->event_id);
	store_le64(to + 8, result->lines);
	store_le32(to + 16, result->tag);
	store_le32(to + 20, result->decide_us);
	store_le16(to + 24, result->builder);
	to[26] = result->decider;
	to[27] = result->flags;
	store_le32(to + 28, 0);
	stream->added++;
}

// Writes the buffer. Returns the number of whole units that were written: a file system may be
// full, and a socket or a ring may have no room.
static unsigned write_buffer(struct decision_stream *stream)
{
	const size_t size = (size_t)stream->n * DECISION_STREAM_UNIT;
	size_t done = 0;
	ssize_t n;

	if (stream->ring != NULL)
		return publish(stream, size) ? stream->n : 0;
	do {
		n = write(stream->file, (const uint8_t *)stream->buffer + done, size - done);
		done += n > 0 ? (size_t)n : 0;
	} while (done < size && (n > 0 || (n < 0 && errno == EINTR)));
	// The next write begins at the unit of which only a part was written.
	if (done % DECISION_STREAM_UNIT != 0)
		(void)lseek(stream->file, -(off_t)(done % DECISION_STREAM_UNIT), SEEK_CUR);
	return (unsigned)(done / DECISION_STREAM_UNIT);
}

// Counts `n` records as lost, and begins the next block or datagram.
static void begin_block(struct decision_stream *stream, unsigned n)
{
	counter_add(&stream->counters.lost, n);
	stream->n = 0;
	add_header(stream);
}

// Whether what the output does not take stays in the buffer.
static bool waits(const struct decision_stream *stream)
{
	return !stream->datagrams && !stream->is_cut;
}

void decision_stream_flush(struct decision_stream *stream)
{
	const bool has_blocks = stream->datagrams || stream->ring != NULL;
	const unsigned n = stream->n, headers = stream->headers;
	unsigned written, left;

	if (stream->ring != NULL)
		(void)watch(stream);
	if (n == 0 || (has_blocks && n == headers))
		return;
	written = write_buffer(stream);
	left = n - written;
	if (written >= headers)
		counter_add(&stream->counters.records, written - headers);
	stream->headers = written >= headers ? 0 : headers;
	stream->n = left;
	if (left > 0 && waits(stream)) {
		counter_add(&stream->counters.pauses, !stream->paused);
		stream->paused = true;
		memmove(stream->buffer[0], stream->buffer[written],
			(size_t)left * DECISION_STREAM_UNIT);
		return;
	}
	stream->paused = false;
	if (has_blocks)
		begin_block(stream, written == 0 ? n - headers : 0);
}

const struct decision_stream_counters *decision_stream_counters(
    const struct decision_stream *stream)
{
	return &stream->counters;
}

const char *decision_stream_name(const struct decision_stream *stream)
{
	return stream->name;
}

const struct evring *decision_stream_ring(const struct decision_stream *stream)
{
	return stream->ring;
}

uint64_t decision_stream_finish(struct decision_stream *stream)
{
	decision_stream_flush(stream);
	if (stream->ring == NULL)
		return 0;
	if (decision_stream_pending(stream) == 0)
		evring_end(stream->ring);
	return watch(stream);
}

void decision_stream_close(struct decision_stream *stream)
{
	if (stream == NULL)
		return;
	decision_stream_flush(stream);
	counter_add(&stream->counters.lost, stream->n - stream->headers);
	evring_destroy(stream->ring);
	free(stream->slots.list);
	if (stream->file >= 0)
		close(stream->file);
	free(stream);
}
