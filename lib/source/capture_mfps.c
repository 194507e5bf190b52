// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "source/capture_mfps.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error_line.h"
#include "source/capture_segment.h"
#include "source/mfp_file.h"
#include "source/roce_capture.h"
#include "wire/mfp.h"

#define N_SOURCES 65536u

// Bytes that grow.
struct buffer {
	uint8_t *bytes;
	size_t size, capacity;
};

// A segment of an MFP, or a whole one.
struct piece {
	uint64_t event;
	size_t at; // in `payloads`
	uint32_t offset, size, length;
	uint16_t source;
};

// A whole MFP: pieces that follow each other.
struct whole {
	uint64_t event;
	size_t first, n; // pieces
	uint32_t length;
	uint16_t source;
};

struct reading {
	const char *name;
	struct buffer payloads, pieces, wholes; // of struct piece, of struct whole
	struct buffer image;                    // an .mfp file
	bool seen[N_SOURCES];
	uint64_t missing; // error MFPs in the image
	bool no_memory;
};

// Room for `size` more bytes; NULL if memory ran out.
static uint8_t *extend(struct reading *reading, struct buffer *buffer, size_t size)
{
	if (!array_reserve(&buffer->bytes, &buffer->capacity, buffer->size + size, 1)) {
		reading->no_memory = true;
		return NULL;
	}
	buffer->size += size;
	return buffer->bytes + buffer->size - size;
}

// --- pieces ---

static void add_piece(struct reading *reading, struct piece piece, const uint8_t *bytes)
{
	uint8_t *payload, *entry;

	if (piece.event == MFP_END_OF_RUN || reading->no_memory)
		return;
	piece.at = reading->payloads.size;
	payload = extend(reading, &reading->payloads, piece.size);
	entry = extend(reading, &reading->pieces, sizeof(piece));
	if (payload == NULL || entry == NULL)
		return;
	memcpy(payload, bytes, piece.size);
	memcpy(entry, &piece, sizeof(piece));
}

static int read_segments(struct reading *reading, char *error)
{
	struct capture_packet packet;
	struct capture *capture;

	if (capture_open(&capture, reading->name, error) != 0)
		return -1;
	while (capture_next(capture, &packet)) {
		const struct capture_sight sight = capture_look(&packet);
		const struct ejfat_re *re = &sight.segment.re;
		const struct piece piece = {
			.event = re->event_number,
			.offset = re->offset,
			.size = sight.segment.payload_size,
			.length = re->length,
			.source = re->data_id,
		};

		// Of a packet that was cut short, nothing is used.
		if (sight.plausible && sight.captured >= sight.segment.payload_size)
			add_piece(reading, piece, sight.payload);
	}
	capture_close(capture);
	return 0;
}

static int read_messages(struct reading *reading, uint16_t udp_port, char *error)
{
	struct roce_capture *capture;

	if (roce_capture_read(&capture, reading->name, udp_port, error) != 0)
		return -1;
	for (uint64_t i = 0; i < capture->n_messages; i++) {
		const struct roce_message *message = &capture->messages[i];
		const uint8_t *bytes = capture->bytes + message->at;
		struct mfp_header header;

		if (mfp_decode_header(bytes, message->size, &header) != WIRE_OK)
			continue;
		add_piece(reading,
			  (struct piece){
			      .event = header.event_id,
			      .size = message->size,
			      .length = message->size,
			      .source = header.source_id,
			  },
			  bytes);
	}
	roce_capture_free(capture);
	return 0;
}

// --- whole MFPs ---

#define COMPARE(a, b, field)          \
	if ((a)->field != (b)->field) \
	return (a)->field < (b)->field ? -1 : 1

static int in_order(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	COMPARE(a, b, event);
	COMPARE(a, b, source);
	COMPARE(a, b, length);
	COMPARE(a, b, offset);
	COMPARE(a, b, at);
	return 0;
}

static const struct piece *pieces_of(const struct reading *reading)
{
	return (const struct piece *)reading->pieces.bytes;
}

// The number of pieces from `first` on that belong to one MFP.
static size_t group_at(const struct reading *reading, size_t first)
{
	const struct piece *pieces = pieces_of(reading);
	const size_t n = reading->pieces.size / sizeof(*pieces);
	size_t end = first + 1;

	while (end < n && pieces[end].event == pieces[first].event &&
	       pieces[end].source == pieces[first].source &&
	       pieces[end].length == pieces[first].length)
		end++;
	return end - first;
}

// Whether the pieces are the whole MFP, without a gap.
static bool has_all(const struct piece *pieces, size_t n)
{
	uint64_t next = 0;

	for (size_t i = 0; i < n && pieces[i].offset <= next; i++)
		if ((uint64_t)pieces[i].offset + pieces[i].size > next)
			next = (uint64_t)pieces[i].offset + pieces[i].size;
	return next == pieces[0].length;
}

static void join(const struct reading *reading, const struct whole *whole, uint8_t *bytes)
{
	const struct piece *pieces = pieces_of(reading) + whole->first;

	for (size_t i = 0; i < whole->n; i++)
		memcpy(bytes + pieces[i].offset, reading->payloads.bytes + pieces[i].at,
		       pieces[i].size);
}

static bool is_mfp(const uint8_t *bytes, const struct whole *whole)
{
	struct mfp mfp;

	return mfp_decode(bytes, whole->length, &mfp) == WIRE_OK &&
	       mfp.header.packet_size == whole->length && mfp.header.event_id == whole->event &&
	       mfp.header.source_id == whole->source;
}

static bool is_known(const struct reading *reading, const struct whole *whole)
{
	const size_t n = reading->wholes.size / sizeof(*whole);
	const struct whole *wholes = (const struct whole *)reading->wholes.bytes;

	return n > 0 && wholes[n - 1].event == whole->event &&
	       wholes[n - 1].source == whole->source;
}

// Adds an MFP if it is whole. The image is the scratch memory.
static void look_at(struct reading *reading, const struct whole *whole)
{
	uint8_t *bytes;

	if (is_known(reading, whole) || !has_all(pieces_of(reading) + whole->first, whole->n))
		return;
	reading->image.size = 0;
	bytes = extend(reading, &reading->image, whole->length);
	if (bytes == NULL)
		return;
	join(reading, whole, bytes);
	if (!is_mfp(bytes, whole))
		return;
	bytes = extend(reading, &reading->wholes, sizeof(*whole));
	if (bytes == NULL)
		return;
	memcpy(bytes, whole, sizeof(*whole));
	reading->seen[whole->source] = true;
}

static void find_wholes(struct reading *reading)
{
	const struct piece *pieces = pieces_of(reading);
	const size_t n = reading->pieces.size / sizeof(*pieces);
	size_t step;

	if (n == 0)
		return;
	qsort(reading->pieces.bytes, n, sizeof(*pieces), in_order);
	for (size_t first = 0; first < n && !reading->no_memory; first += step) {
		step = group_at(reading, first);
		look_at(reading, &(struct whole){
				     .event = pieces[first].event,
				     .first = first,
				     .n = step,
				     .length = pieces[first].length,
				     .source = pieces[first].source,
				 });
	}
}

// --- the image ---

static void write_missing(struct reading *reading, uint64_t event, uint16_t source,
			  uint32_t packing)
{
	const size_t size = mfp_error_size(packing);
	uint8_t *bytes = extend(reading, &reading->image, size);

	reading->missing++;
	if (bytes != NULL)
		(void)mfp_encode_error(bytes, size, event, source, packing,
				       MFP_TYPE_FRAGMENT_MISSING);
}

// Writes the MFPs of one event, of all sources; returns the number of whole ones.
static size_t write_event(struct reading *reading, const struct whole *wholes, size_t n,
			  uint32_t packing)
{
	const uint64_t event = wholes[0].event;
	size_t at = 0;

	for (uint32_t source = 0; source < N_SOURCES; source++) {
		const bool is_there =
		    at < n && wholes[at].event == event && wholes[at].source == source;
		uint8_t *bytes;

		if (!reading->seen[source])
			continue;
		if (!is_there) {
			write_missing(reading, event, (uint16_t)source, packing);
			continue;
		}
		bytes = extend(reading, &reading->image, wholes[at].length);
		if (bytes != NULL)
			join(reading, &wholes[at], bytes);
		at++;
	}
	return at;
}

static void write_image(struct reading *reading, uint32_t packing)
{
	const struct whole *wholes = (const struct whole *)reading->wholes.bytes;
	const size_t n = reading->wholes.size / sizeof(*wholes);
	size_t at = 0;

	reading->image.size = 0;
	while (at < n && !reading->no_memory)
		at += write_event(reading, &wholes[at], n - at, packing);
}

static int make_image(struct reading *reading, const struct source_set_parameters *parameters,
		      char *error)
{
	if ((parameters->kind == GENERATOR_ROCE
		 ? read_messages(reading, parameters->roce_port, error)
		 : read_segments(reading, error)) != 0)
		return -1;
	find_wholes(reading);
	if (!reading->no_memory)
		write_image(reading, parameters->packing);
	if (reading->no_memory)
		return error_line(error, SOURCE_ERROR_SIZE, "%s: out of memory", reading->name);
	if (reading->image.size == 0)
		return error_line(error, SOURCE_ERROR_SIZE, "%s: there is no whole MFP in it",
				  reading->name);
	return 0;
}

int capture_mfps_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		      char *error)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int result = -1;

	if (reading == NULL)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	reading->name = parameters->file;
	if (make_image(reading, parameters, error) == 0)
		result = mfp_file_open_bytes(maker, reading->image.bytes, reading->image.size,
					     parameters, error);
	else
		free(reading->image.bytes);
	if (result == 0) {
		(*maker)->once = true;
		(*maker)->missing = reading->missing;
	}
	free(reading->payloads.bytes);
	free(reading->pieces.bytes);
	free(reading->wholes.bytes);
	free(reading);
	return result;
}
