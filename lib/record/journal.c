// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAGIC        "evb-jnl1"
#define BOOT_ID_SIZE 40

struct journal_page {
	char magic[8];
	char boot_id[BOOT_ID_SIZE];
	struct journal_entry entry;
};

struct event_identity event_identity_of(const struct evb_event *event)
{
	return (struct event_identity){
		.event_id = event->event_id,
		.sequence = event->sequence,
		.first_ns = event->first_ns,
		.complete_ns = event->complete_ns,
		.run_number = event->run_number,
		.builder = event->builder,
	};
}

bool event_identity_equal(const struct event_identity *a, const struct event_identity *b)
{
	return a->event_id == b->event_id && a->sequence == b->sequence &&
	       a->first_ns == b->first_ns && a->complete_ns == b->complete_ns &&
	       a->run_number == b->run_number && a->builder == b->builder;
}

// The kernel's id of this boot; empty if it cannot be read.
static void read_boot_id(char boot_id[BOOT_ID_SIZE])
{
	int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t length = 0;

	memset(boot_id, 0, BOOT_ID_SIZE);
	if (file < 0)
		return;
	length = read(file, boot_id, BOOT_ID_SIZE - 1);
	if (length < 0)
		memset(boot_id, 0, BOOT_ID_SIZE);
	close(file);
}

int journal_write(int file, const struct journal_entry *entry)
{
	static _Thread_local char boot_id[BOOT_ID_SIZE];
	struct journal_page page;
	ssize_t written;

	if (!boot_id[0])
		read_boot_id(boot_id);
	memset(&page, 0, sizeof(page));
	memcpy(page.magic, MAGIC, sizeof(page.magic));
	memcpy(page.boot_id, boot_id, BOOT_ID_SIZE);
	page.entry = *entry;
	written = pwrite(file, &page, sizeof(page), 0);
	if (written == (ssize_t)sizeof(page))
		return 0;
	return written < 0 ? -errno : -ENOSPC;
}

bool journal_read(int file, struct journal_entry *entry)
{
	char boot_id[BOOT_ID_SIZE];
	struct journal_page page;

	read_boot_id(boot_id);
	if (pread(file, &page, sizeof(page), 0) != (ssize_t)sizeof(page))
		return false;
	if (memcmp(page.magic, MAGIC, sizeof(page.magic)) || !boot_id[0] ||
	    memcmp(page.boot_id, boot_id, BOOT_ID_SIZE))
		return false;
	*entry = page.entry;
	return true;
}
