// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include <stdlib.h>
#include <string.h>

#include "source/open_events.h"
#include "source/roce_capture_internal.h"
#include "source/sparse_array.h"
#include "wire/mfp.h"

#define ALIGNMENT 64u // of a message's bytes

// What the MFPs among the messages show.
struct learning {
	struct roce_capture *capture;
	struct sparse_array index_of; // uint32_t, by source id: index into source_ids + 1; 0: none
	struct sparse_array packings; // uint64_t, by number of fragments: MFPs
};

static int compare(const void *a, const void *b)
{
	const struct roce_record *x = a, *y = b;

	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

// Of packets with the same number the first one in the capture remains.
static void drop_repeated(struct roce_reading *reading)
{
	size_t n = 0;

	for (size_t i = 0; i < reading->n_records; i++) {
		const struct roce_record *record = &reading->records[i];

		if (n > 0 && record->stream == reading->records[n - 1].stream &&
		    record->number == reading->records[n - 1].number)
			reading->capture->repeated++;
		else
			reading->records[n++] = *record;
	}
	reading->n_records = n;
}

// The number of records from `first` on that make up a whole message, and its size in bytes; 0 if
// they do not.
static size_t measure(const struct roce_reading *reading, size_t first, uint64_t *size)
{
	const struct roce_record *begin = &reading->records[first];
	uint32_t kind = begin->flags & (ROCE_SEND | ROCE_WRITE);

	*size = 0;
	for (size_t i = first; i < reading->n_records; i++) {
		const struct roce_record *record = &reading->records[i];

		if (record->stream != begin->stream ||
		    record->number != begin->number + (i - first) || !(record->flags & kind) ||
		    (i > first) == ((record->flags & ROCE_BEGIN) != 0))
			return 0;
		*size += record->size;
		if (record->flags & ROCE_END)
			return *size <= UINT32_MAX ? i - first + 1 : 0;
	}
	return 0;
}

static void add_message(struct roce_reading *reading, size_t first, size_t n, uint64_t size)
{
	struct roce_capture *capture = reading->capture;
	const struct roce_record *begin = &reading->records[first];
	const struct roce_record *end = &reading->records[first + n - 1];
	struct roce_stream *stream = &capture->streams[begin->stream];
	struct roce_message *message = &capture->messages[capture->n_messages];
	uint8_t *to = capture->bytes + capture->n_bytes;

	*message = (struct roce_message){
		.time_ns = begin->time_ns,
		.at = capture->n_bytes,
		.offset = begin->address,
		.size = (uint32_t)size,
		.immediate = end->immediate,
		.is_write = begin->flags & ROCE_WRITE,
		.has_immediate = end->flags & ROCE_HAS_IMM,
		.solicited = end->solicited,
	};
	for (size_t i = first; i < first + n; i++) {
		memcpy(to, reading->bytes + reading->records[i].at, reading->records[i].size);
		to += reading->records[i].size;
	}
	if (stream->n_messages++ == 0)
		stream->first_message = capture->n_messages;
	capture->n_messages++;
	capture->n_bytes = round_up(capture->n_bytes + size, ALIGNMENT);
	if (message->size > capture->largest_message)
		capture->largest_message = message->size;
}

static size_t count_begins(const struct roce_reading *reading)
{
	size_t n = 0;

	for (size_t i = 0; i < reading->n_records; i++)
		n += (reading->records[i].flags & ROCE_BEGIN) != 0;
	return n;
}

static bool find_messages(struct roce_reading *reading)
{
	struct roce_capture *capture = reading->capture;
	size_t begins = count_begins(reading);
	bool inside = false; // a message that is not whole

	capture->messages = calloc(begins + 1, sizeof(*capture->messages));
	capture->bytes = aligned_alloc(ALIGNMENT, round_up(reading->n_bytes, ALIGNMENT) +
						      (begins + 1) * ALIGNMENT);
	if (capture->messages == NULL || capture->bytes == NULL)
		return false;
	for (size_t i = 0; i < reading->n_records;) {
		const struct roce_record *record = &reading->records[i];
		bool same = i > 0 && record->stream == record[-1].stream;
		uint64_t size;
		size_t n = record->flags & ROCE_BEGIN ? measure(reading, i, &size) : 0;

		if (n > 0)
			add_message(reading, i, n, size);
		else if (record->flags & ROCE_BEGIN || !inside || !same)
			capture->streams[record->stream].lost_messages++;
		inside = n == 0;
		i += n > 0 ? n : 1;
	}
	return true;
}

// Makes times relative to the first message, never decreasing within a stream, and addresses
// relative to the lowest of the stream.
static void make_relative(struct roce_capture *capture)
{
	uint64_t first = UINT64_MAX;

	for (uint64_t i = 0; i < capture->n_messages; i++)
		if (capture->messages[i].time_ns < first)
			first = capture->messages[i].time_ns;
	for (unsigned i = 0; i < capture->n_streams; i++) {
		const struct roce_stream *stream = &capture->streams[i];
		struct roce_message *messages = &capture->messages[stream->first_message];
		uint64_t lowest = UINT64_MAX, latest = first;

		for (uint64_t j = 0; j < stream->n_messages; j++)
			if (messages[j].is_write && messages[j].offset < lowest)
				lowest = messages[j].offset;
		for (uint64_t j = 0; j < stream->n_messages; j++) {
			if (messages[j].time_ns < latest)
				messages[j].time_ns = latest;
			latest = messages[j].time_ns;
			messages[j].time_ns -= first;
			messages[j].offset = messages[j].is_write ? messages[j].offset - lowest : 0;
		}
	}
}

// Whether a message is an MFP; *header is then set.
static bool is_mfp(const struct roce_capture *capture, const struct roce_message *message,
		   struct mfp_header *header)
{
	return mfp_decode_header(capture->bytes + message->at, message->size, header) == WIRE_OK &&
	       header->packet_size == message->size;
}

// Returns false if memory ran out.
static bool add_mfp(struct learning *learning, struct roce_stream *stream,
		    const struct mfp_header *header)
{
	uint32_t *index = sparse_array_use(&learning->index_of, header->source_id);
	uint64_t *packing = sparse_array_use(&learning->packings, header->n_fragments);

	if (index == NULL || packing == NULL)
		return false;
	if (stream->mfps++ == 0)
		stream->source_id = header->source_id;
	stream->is_mixed |= stream->source_id != header->source_id;
	*index = 1;
	*packing += header->event_id != MFP_END_OF_RUN;
	return true;
}

static void list_sources(struct learning *learning)
{
	struct roce_capture *capture = learning->capture;
	const uint64_t *mfps;
	uint32_t *index;
	uint64_t most = 0;

	for (uint32_t id = 0; (index = sparse_array_next(&learning->index_of, id, &id)) != NULL;
	     id++) {
		if (*index == 0)
			continue;
		capture->source_ids[capture->n_sources++] = (uint16_t)id;
		*index = capture->n_sources;
	}
	capture->packing = 1;
	for (uint32_t n = 1; (mfps = sparse_array_next(&learning->packings, n, &n)) != NULL; n++)
		if (*mfps > most) {
			most = *mfps;
			capture->packing = n;
		}
}

static int compare_times(const void *a, const void *b)
{
	const struct roce_message *const *x = a, *const *y = b;

	if ((*x)->time_ns != (*y)->time_ns)
		return (*x)->time_ns < (*y)->time_ns ? -1 : 1;
	return (*x)->at < (*y)->at ? -1 : 1;
}

// Counts the events, in the order of time.
static bool count_events(struct learning *learning)
{
	struct roce_capture *capture = learning->capture;
	const struct roce_message **by_time = malloc((capture->n_messages + 1) * sizeof(*by_time));
	struct open_events *open = open_events_new(capture->n_sources > 0 ? capture->n_sources : 1);
	struct open_events_result result = { 0 };
	struct mfp_header header;
	const uint32_t *index;
	bool done = by_time != NULL && open != NULL;

	for (uint64_t i = 0; done && i < capture->n_messages; i++)
		by_time[i] = &capture->messages[i];
	if (done && capture->n_messages > 0)
		qsort(by_time, capture->n_messages, sizeof(*by_time), compare_times);
	for (uint64_t i = 0; done && i < capture->n_messages; i++)
		if (is_mfp(capture, by_time[i], &header) && header.event_id != MFP_END_OF_RUN) {
			index = sparse_array_find(&learning->index_of, header.source_id);
			done = open_events_add(open, header.event_id, *index - 1,
					       by_time[i]->size) == 0;
		}
	done = done && open_events_finish(open, &result) == 0;
	open_events_free(open);
	free(by_time);
	capture->events = result.events;
	capture->largest_open = result.largest_open;
	capture->largest_event = result.largest_event;
	return done;
}

// Returns false if memory ran out.
static bool add_mfps(struct learning *learning, struct roce_stream *stream)
{
	const struct roce_message *messages = &learning->capture->messages[stream->first_message];
	struct mfp_header header;

	for (uint64_t i = 0; i < stream->n_messages; i++)
		if (is_mfp(learning->capture, &messages[i], &header) &&
		    !add_mfp(learning, stream, &header))
			return false;
	return true;
}

static bool learn(struct roce_capture *capture)
{
	struct learning learning = {
		.capture = capture,
		.index_of.item_size = sizeof(uint32_t),
		.packings.item_size = sizeof(uint64_t),
	};
	bool done = true;

	for (unsigned i = 0; done && i < capture->n_streams; i++)
		done = add_mfps(&learning, &capture->streams[i]);
	if (done) {
		list_sources(&learning);
		done = count_events(&learning);
	}
	sparse_array_free(&learning.index_of);
	sparse_array_free(&learning.packings);
	return done;
}

bool roce_capture_assemble(struct roce_reading *reading)
{
	if (reading->n_records > 0)
		qsort(reading->records, reading->n_records, sizeof(*reading->records), compare);
	drop_repeated(reading);
	if (!find_messages(reading))
		return false;
	make_relative(reading->capture);
	return learn(reading->capture);
}
