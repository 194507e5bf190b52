// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Plays the MFPs of a file into a producer ring, again and again with new event ids, and goes on
// where an earlier producer of the ring ended:
//
//   player APPLIANCE RING FILE N END
//
// FILE has N events, of each the MFPs of the same sources in the same order, packing 1: event e of
// the ring has the MFPs of event e % N of the file. Events below the number in the file END are
// played; as long as there is no such file, without end.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evb_producer.h"
#include "wire/mfp.h"

struct block {
	const uint8_t *bytes;
	struct mfp_header header;
};

struct recording {
	struct block *blocks; // [n_events * n_sources]
	size_t n_events;
	size_t n_sources;
};

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	long end = -1;

	if (file != NULL && fseek(file, 0, SEEK_END) == 0)
		end = ftell(file);
	if (end > 0)
		bytes = malloc((size_t)end);
	if (bytes != NULL) {
		rewind(file);
		*size = fread(bytes, 1, (size_t)end, file);
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}

static bool load(struct recording *recording, const uint8_t *bytes, size_t size, size_t n_events)
{
	struct mfp_header header;
	size_t n = 0;

	recording->blocks = calloc(size / MFP_HEADER_SIZE + 1, sizeof(*recording->blocks));
	for (size_t at = 0; recording->blocks != NULL && at < size; at += header.packet_size) {
		if (mfp_decode_header(bytes + at, size - at, &header) != WIRE_OK ||
		    header.packet_size > size - at)
			return false;
		recording->blocks[n++] = (struct block){ bytes + at, header };
	}
	recording->n_events = n_events;
	recording->n_sources = n_events > 0 ? n / n_events : 0;
	return recording->n_sources > 0 && n == n_events * recording->n_sources;
}

// Returns 0, or a negative errno.
static int play_block(struct evb_producer *producer, const struct block *block, uint64_t event)
{
	const uint16_t source = block->header.source_id;
	const uint32_t size = block->header.packet_size;
	uint64_t last;
	void *room;
	int rc;

	if (evb_producer_last(producer, source, &last) == 1 && event <= last)
		return 0; // committed by an earlier one
	while ((rc = evb_producer_reserve(producer, source, size, &room)) < 0)
		if ((rc != -EAGAIN && rc != -ENOTCONN) ||
		    (rc = evb_producer_wait(producer, size, -1)) < 0)
			return rc;
	memcpy(room, block->bytes, size);
	memcpy((uint8_t *)room + offsetof(struct mfp_header, event_id), &event, sizeof(event));
	return evb_producer_commit(producer, event, size, 0);
}

// The number in the file, if there is one.
static uint64_t end_of_play(const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t end = UINT64_MAX;

	if (file == NULL)
		return UINT64_MAX;
	if (fscanf(file, "%" SCNu64, &end) != 1)
		end = UINT64_MAX;
	fclose(file);
	return end;
}

static int play(struct evb_producer *producer, const struct recording *recording, const char *path)
{
	uint64_t end = UINT64_MAX;
	int rc = 0;

	for (uint64_t event = 0; rc == 0; event++) {
		const struct block *blocks =
		    recording->blocks + event % recording->n_events * recording->n_sources;

		if (end == UINT64_MAX)
			end = end_of_play(path);
		if (event >= end)
			return evb_producer_finish(producer);
		for (size_t i = 0; i < recording->n_sources && rc == 0; i++)
			rc = play_block(producer, &blocks[i], event);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct evb_producer *producer = NULL;
	struct recording recording = { 0 };
	size_t size = 0;
	uint8_t *bytes;
	int rc;

	if (argc != 6) {
		fprintf(stderr, "usage: player APPLIANCE RING FILE N END\n");
		return 2;
	}
	bytes = read_file(argv[3], &size);
	if (bytes == NULL || !load(&recording, bytes, size, strtoul(argv[4], NULL, 10))) {
		fprintf(stderr, "player: %s: not MFPs of %s events\n", argv[3], argv[4]);
		rc = -EBADMSG;
	} else {
		rc = evb_producer_open(&producer, argv[1], argv[2], NULL);
		if (rc == 0)
			rc = play(producer, &recording, argv[5]);
		if (rc != 0)
			fprintf(stderr, "player: %s; %s\n", strerror(-rc),
				producer != NULL ? evb_producer_error(producer) : "");
	}
	evb_producer_close(producer);
	free(recording.blocks);
	free(bytes);
	return rc != 0;
}
