// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A group consumer that writes down all that it gets, in the order of publication, before it gives
// it back: what a process of evb has published is known to the last event, however it ends.
//
//   event_tap NAME GROUP FILE MICROSECONDS [heads]
//
// FILE gets, for each event, 16 bytes (u64 event id, u32 flags, u32 length) and, without `heads`,
// the MEP, in one write(2). After each it sleeps so long. It ends, with status 0, when the run is
// over or its process dead, and nothing is left.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "evb_reader.h"

#define PAUSE_US 2000 // between two looks: waking up would be most of a waiting test's CPU time

struct head {
	uint64_t event_id;
	uint32_t flags;
	uint32_t length;
};

static bool only_heads;

static bool note(int file, const struct evb_event *event)
{
	struct head head = { event->event_id, event->flags, (uint32_t)event->length };
	const struct iovec parts[] = { { &head, sizeof(head) },
				       { (void *)(uintptr_t)event->data, event->length } };

	if (only_heads)
		return write(file, &head, sizeof(head)) == (ssize_t)sizeof(head);
	return writev(file, parts, 2) == (ssize_t)(sizeof(head) + event->length);
}

// Returns what ended it.
static int consume(struct evb_reader *reader, int file, unsigned microseconds)
{
	struct evb_event event;
	int result;

	for (;;) {
		result = evb_reader_next(reader, &event, 0);
		if (result < 0)
			return result;
		if (result == 0) {
			usleep(PAUSE_US);
			continue;
		}
		if (!note(file, &event))
			return -EIO;
		if (microseconds > 0)
			usleep(microseconds);
		result = evb_reader_release(reader, &event);
		if (result != 0)
			return result;
	}
}

int main(int argc, char **argv)
{
	struct evb_reader_options options = { .mode = EVB_READER_GROUP };
	struct evb_reader *reader = NULL;
	int file, result;

	only_heads = argc == 6 && strcmp(argv[5], "heads") == 0;
	if (argc != 5 && !only_heads) {
		fprintf(stderr, "usage: %s NAME GROUP FILE MICROSECONDS [heads]\n", argv[0]);
		return 1;
	}
	options.group = argv[2];
	file = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0) {
		perror(argv[3]);
		return 1;
	}
	if (evb_reader_open(&reader, argv[1], &options) != 0) {
		fprintf(stderr, "open: %s\n",
			reader != NULL ? evb_reader_error(reader) : "out of memory");
		close(file);
		return 1;
	}
	printf("joined\n");
	fflush(stdout);
	result = consume(reader, file, (unsigned)strtoul(argv[4], NULL, 10));
	if (result != -EPIPE)
		fprintf(stderr, "%s\n",
			result == -EIO ? "the file takes no more" : evb_reader_error(reader));
	evb_reader_close(reader);
	close(file);
	return result == -EPIPE ? 0 : 1;
}
