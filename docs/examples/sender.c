// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sends the MFPs of a file (`evb gen --out FILE`). Killed and started again, it goes on.
//     cc sender.c $(pkg-config --cflags --libs libevb-sender) -o sender
//     ./sender FILE CONFIGURATION NODE | FILE ADDRESS:PORT SOURCE PACKING
#include <evb_sender.h>
#include <stdio.h>
#include <stdlib.h>

struct mfp_header { // little-endian, without its last two bytes
	uint16_t magic, n_fragments;
	uint32_t size; // bytes, header included
	uint64_t event_id;
	uint16_t source_id;
} __attribute__((packed));

static union {
	struct mfp_header header;
	char bytes[1 << 20];
} block;

static int send_file(struct evb_sender *sender, FILE *file)
{
	const struct mfp_header *mfp = &block.header;
	uint64_t last;
	int rc = 0;

	while (rc == 0 && fread(&block, sizeof(*mfp), 1, file) == 1) {
		if (mfp->size < sizeof(*mfp) || mfp->size > sizeof(block) ||
		    fread(block.bytes + sizeof(*mfp), mfp->size - sizeof(*mfp), 1, file) != 1)
			return -1;
		if (evb_sender_last(sender, mfp->source_id, &last) != 1 || mfp->event_id > last)
			rc = evb_sender_put(sender, mfp->source_id, mfp->event_id, mfp, mfp->size,
					    -1);
	}
	return rc == 0 ? evb_sender_finish(sender, -1) : rc;
}

int main(int argc, char **argv)
{
	const uint16_t source = argc == 5 ? (uint16_t)atoi(argv[3]) : 0;
	struct evb_sender_options options = { .n_sources = 1, .sources = &source };
	FILE *file = argc >= 4 ? fopen(argv[1], "rb") : NULL;
	struct evb_sender *sender = NULL;
	int rc;

	if (argc == 4)
		options.configuration = argv[2], options.node = argv[3];
	options.receivers = (const char *const *)&argv[2];
	options.n_receivers = argc == 5;
	options.packing = argc == 5 ? (uint32_t)atoi(argv[4]) : 1;
	rc = file != NULL ? evb_sender_open(&sender, &options) : -1;
	rc = rc == 0 ? send_file(sender, file) : rc;
	if (rc != 1)
		fprintf(stderr, "sender: %s\n",
			sender ? evb_sender_error(sender) : "no such file, or too few arguments");
	evb_sender_close(sender);
	return rc != 1;
}
