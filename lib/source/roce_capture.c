// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/roce_capture.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error_line.h"
#include "source/capture.h"
#include "source/roce_capture_internal.h"
#include "source/roce_capture_runs.h"
#include "wire/icrc.h"
#include "wire/mfp.h"

// What makes a connection different from others. It has no padding: compared by memcmp().
struct stream_key {
	uint8_t source[16], destination[16];
	uint32_t qpn, source_qpn, service;
};

struct known_stream {
	struct stream_key key;
	uint32_t index; // into roce_capture.streams
	struct roce_runs runs;
};

struct reader {
	struct roce_reading reading;
	uint16_t udp_port;
	void *streams; // of tsearch(): struct known_stream
	void *numbers; // of roce_runs_add()
	size_t stream_room, record_room, bytes_room;
};

enum sight { SIGHT_NOTHING, SIGHT_CUT, SIGHT_DAMAGED, SIGHT_OTHER, SIGHT_REQUEST };

static enum sight look(const struct capture_packet *packet, uint16_t udp_port,
		       struct net_frame *frame, struct roce_packet *roce)
{
	const uint8_t *bth;
	size_t at_hand;

	if (net_parse(packet->bytes, packet->captured, packet->length, 0, frame) != WIRE_OK ||
	    (frame->kind != NET_UDP4 && frame->kind != NET_UDP6) ||
	    frame->destination_port != udp_port)
		return SIGHT_NOTHING;
	if (packet->captured < frame->payload_offset)
		return SIGHT_CUT;
	bth = packet->bytes + frame->payload_offset;
	at_hand = packet->captured - frame->payload_offset;
	if (at_hand < frame->payload_size)
		return SIGHT_CUT;
	if (roce_parse(bth, frame->payload_size, frame->payload_size, roce) != WIRE_OK)
		return SIGHT_NOTHING;
	if (!icrc_verify(packet->bytes, frame))
		return SIGHT_DAMAGED;
	return roce->flags & ROCE_REQUEST && roce->flags & (ROCE_SEND | ROCE_WRITE) &&
		       roce->destination_qpn > 1
		   ? SIGHT_REQUEST
		   : SIGHT_OTHER;
}

static struct stream_key key_of(const uint8_t *frame, const struct net_frame *parsed,
				const struct roce_packet *packet)
{
	struct stream_key key = {
		.qpn = packet->destination_qpn,
		.source_qpn = packet->service == ROCE_UD ? packet->deth.source_qpn : 0,
		.service = packet->service,
	};
	const uint8_t *ip = frame + parsed->l3_offset;

	if (parsed->kind == NET_UDP6) {
		memcpy(key.source, ip + 8, sizeof(key.source));
		memcpy(key.destination, ip + 24, sizeof(key.destination));
		return key;
	}
	key.source[10] = key.source[11] = 0xFF;
	key.destination[10] = key.destination[11] = 0xFF;
	memcpy(key.source + 12, ip + 12, 4);
	memcpy(key.destination + 12, ip + 16, 4);
	return key;
}

static int by_key(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct stream_key));
}

static struct known_stream *add_stream(struct reader *reader, const struct stream_key *key,
				       uint32_t first_psn)
{
	struct roce_capture *capture = reader->reading.capture;
	struct known_stream *known = malloc(sizeof(*known));
	struct roce_stream *stream;

	if (known == NULL || !array_reserve(&capture->streams, &reader->stream_room,
					    capture->n_streams + 1u, sizeof(*capture->streams))) {
		free(known);
		return NULL;
	}
	*known = (struct known_stream){ .key = *key, .index = capture->n_streams };
	if (tsearch(known, &reader->streams, by_key) == NULL) {
		free(known);
		return NULL;
	}
	stream = &capture->streams[capture->n_streams++];
	*stream = (struct roce_stream){
		.qpn = key->qpn,
		.source_qpn = key->source_qpn,
		.first_psn = first_psn,
		.service = (uint8_t)key->service,
	};
	memcpy(stream->source, key->source, sizeof(stream->source));
	memcpy(stream->destination, key->destination, sizeof(stream->destination));
	return known;
}

// The stream of a packet, made if the packet is its first. NULL if memory ran out.
static struct known_stream *find_stream(struct reader *reader, const uint8_t *frame,
					const struct net_frame *parsed,
					const struct roce_packet *packet)
{
	struct stream_key key = key_of(frame, parsed, packet);
	struct known_stream **found = tfind(&key, &reader->streams, by_key);

	return found != NULL ? *found : add_stream(reader, &key, packet->psn);
}

static bool add_record(struct reader *reader, const struct capture_packet *captured,
		       const struct net_frame *frame, const struct roce_packet *packet)
{
	struct roce_reading *reading = &reader->reading;
	struct known_stream *stream = find_stream(reader, captured->bytes, frame, packet);
	const uint8_t *payload = captured->bytes + frame->payload_offset + packet->payload_offset;

	if (stream == NULL ||
	    !array_reserve(&reading->records, &reader->record_room, reading->n_records + 1,
			   sizeof(*reading->records)) ||
	    !array_reserve(&reading->bytes, &reader->bytes_room,
			   reading->n_bytes + packet->payload_size, 1))
		return false;
	reading->records[reading->n_records] = (struct roce_record){
		.stream = stream->index,
		.flags = packet->flags,
		.order = reading->n_records,
		.time_ns = captured->time_ns,
		.at = reading->n_bytes,
		.size = packet->payload_size,
		.immediate = packet->flags & ROCE_HAS_IMM ? packet->immediate : 0,
		.address = packet->flags & ROCE_HAS_RETH ? packet->reth.address : 0,
		.solicited = packet->solicited,
	};
	reading->n_records++;
	if (packet->payload_size > 0)
		memcpy(reading->bytes + reading->n_bytes, payload, packet->payload_size);
	reading->n_bytes += packet->payload_size;
	return roce_runs_add(&stream->runs, &reader->numbers, reading, packet->psn,
			     packet->service != ROCE_UD);
}

static bool read_packet(struct reader *reader, const struct capture_packet *packet)
{
	struct roce_capture *capture = reader->reading.capture;
	struct roce_packet roce;
	struct net_frame frame;

	capture->packets++;
	switch (look(packet, reader->udp_port, &frame, &roce)) {
	case SIGHT_NOTHING:
		break;
	case SIGHT_CUT:
		capture->cut++;
		break;
	case SIGHT_DAMAGED:
		capture->damaged++;
		break;
	case SIGHT_OTHER:
		capture->others++;
		break;
	case SIGHT_REQUEST:
		capture->requests++;
		return add_record(reader, packet, &frame, &roce);
	}
	return true;
}

static int out_of_memory(const char *path, char *error)
{
	return error_line(error, SOURCE_ERROR_SIZE, "capture %s: out of memory", path);
}

static int read_packets(struct reader *reader, const char *path, char *error)
{
	struct roce_capture *into = reader->reading.capture;
	struct capture_packet packet;
	struct capture *capture;
	bool done = true;

	if (capture_open(&capture, path, error))
		return -1;
	while (done && capture_next(capture, &packet))
		done = read_packet(reader, &packet);
	if (done && capture_problem(capture))
		snprintf(into->problem, sizeof(into->problem), "%s", capture_problem(capture));
	capture_close(capture);
	return done ? 0 : out_of_memory(path, error);
}

// Writes the reason why the capture has no message.
static int explain(const struct roce_capture *capture, const char *path, uint16_t udp_port,
		   char *error)
{
	unsigned long long packets = capture->packets, lost = 0;

	for (unsigned i = 0; i < capture->n_streams; i++)
		lost += capture->streams[i].lost_messages;
	if (capture->requests > 0)
		return error_line(
		    error, SOURCE_ERROR_SIZE,
		    "capture %s: no message is whole: of each of %llu a packet is missing", path,
		    lost);
	if (capture->cut > 0)
		return error_line(
		    error, SOURCE_ERROR_SIZE,
		    "capture %s: of %llu RoCE packets only the first bytes are there: capture "
		    "whole packets (tcpdump -s 0)",
		    path, (unsigned long long)capture->cut);
	if (capture->damaged > 0)
		return error_line(
		    error, SOURCE_ERROR_SIZE,
		    "capture %s: %llu packets to UDP port %u, and not one with a right ICRC", path,
		    (unsigned long long)capture->damaged, udp_port);
	if (capture->others > 0)
		return error_line(error, SOURCE_ERROR_SIZE,
				  "capture %s: %llu RoCE packets, and no SEND or WRITE among them",
				  path, (unsigned long long)capture->others);
	return error_line(error, SOURCE_ERROR_SIZE,
			  "capture %s: there are no RoCE packets (UDP port %u) among its %llu "
			  "packets%s%.200s",
			  path, udp_port, packets, capture->problem[0] ? "; " : "",
			  capture->problem);
}

int roce_capture_read(struct roce_capture **capture, const char *path, uint16_t udp_port,
		      char *error)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct roce_capture *made = calloc(1, sizeof(*made));
	int result = -1;

	if (reader == NULL || made == NULL) {
		free(reader);
		free(made);
		return out_of_memory(path, error);
	}
	reader->reading.capture = made;
	reader->udp_port = udp_port;
	if (read_packets(reader, path, error) == 0) {
		if (!roce_capture_assemble(&reader->reading))
			(void)out_of_memory(path, error);
		else
			result = made->n_messages > 0 ? 0 : explain(made, path, udp_port, error);
	}
	free(reader->reading.records);
	free(reader->reading.bytes);
	tdestroy(reader->streams, free);
	roce_runs_fini(&reader->numbers);
	free(reader);
	if (result == 0)
		*capture = made;
	else
		roce_capture_free(made);
	return result;
}

void roce_capture_free(struct roce_capture *capture)
{
	if (capture == NULL)
		return;
	free(capture->streams);
	free(capture->messages);
	free(capture->bytes);
	free(capture);
}

bool roce_capture_is(const char *path, uint16_t udp_port, uint64_t most)
{
	char error[SOURCE_ERROR_SIZE];
	struct capture_packet packet;
	struct roce_packet roce;
	struct net_frame frame;
	struct capture *capture;
	bool found = false;

	if (capture_open(&capture, path, error))
		return false;
	for (uint64_t i = 0; i < most && !found && capture_next(capture, &packet); i++)
		found = look(&packet, udp_port, &frame, &roce) == SIGHT_REQUEST;
	capture_close(capture);
	return found;
}
