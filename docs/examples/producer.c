// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Plays an .mfp file (`evb gen --out FILE` makes one, also from an MDF file) into a producer ring,
// and goes on where it or another producer ended.
//     cc producer.c $(pkg-config --cflags --libs libevb-producer) -o producer
//     ./producer APPLIANCE RING FILE
#include <evb_producer.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct mfp_header { // its members stand where the bytes do, in little-endian order
	uint16_t magic, n_fragments;
	uint32_t size; // bytes, header included
	uint64_t event_id;
	uint16_t source_id;
	uint8_t align_log2, version;
} __attribute__((packed));

// Commits one MFP whose header was read. Returns 0 or a negative errno.
static int play(struct evb_producer *producer, const struct mfp_header *header, FILE *file)
{
	const size_t rest = header->size - sizeof(*header);
	uint64_t last;
	void *block;
	int rc;

	if (evb_producer_last(producer, header->source_id, &last) == 1 && header->event_id <= last)
		return fseek(file, (long)rest, SEEK_CUR); // committed before
	while ((rc = evb_producer_reserve(producer, header->source_id, header->size, &block)) < 0)
		if ((rc != -EAGAIN && rc != -ENOTCONN) ||
		    (rc = evb_producer_wait(producer, header->size, -1)) < 0)
			return rc;
	memcpy(block, header, sizeof(*header));
	if (fread((char *)block + sizeof(*header), 1, rest, file) < rest)
		return -EIO;
	return evb_producer_commit(producer, header->event_id, header->size, 0);
}

int main(int argc, char **argv)
{
	FILE *file = argc == 4 ? fopen(argv[3], "rb") : NULL;
	struct evb_producer *producer = NULL;
	struct mfp_header header;
	int rc = file != NULL ? evb_producer_open(&producer, argv[1], argv[2], NULL) : -EINVAL;

	while (rc == 0 && fread(&header, sizeof(header), 1, file) == 1)
		rc = header.magic == 0x40ce && header.size >= sizeof(header)
			 ? play(producer, &header, file)
			 : -EBADMSG;
	if (rc == 0)
		rc = evb_producer_finish(producer);
	if (rc != 0)
		fprintf(stderr, "producer: %s; %s\n", strerror(-rc),
			producer != NULL ? evb_producer_error(producer) : "APPLIANCE RING FILE?");
	evb_producer_close(producer);
	return rc != 0;
}
