// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/hangup.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct hangup_entry {
	int file; // -1: free
	time_t end;
};

struct hangup {
	pthread_t thread;
	pthread_mutex_t lock; // of all below
	pthread_cond_t wake;
	bool stop;
	unsigned seconds;
	unsigned most;
	struct hangup_entry entries[];
};

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static void *watch(void *context)
{
	struct hangup *hangup = context;

	pthread_mutex_lock(&hangup->lock);
	while (!hangup->stop) {
		struct timespec next = { .tv_sec = now() + 1 };

		(void)pthread_cond_timedwait(&hangup->wake, &hangup->lock, &next);
		for (unsigned i = 0; i < hangup->most; i++)
			// The server sees the end of the connection, and closes the socket.
			if (hangup->entries[i].file >= 0 && now() >= hangup->entries[i].end)
				(void)shutdown(hangup->entries[i].file, SHUT_RDWR);
	}
	pthread_mutex_unlock(&hangup->lock);
	return NULL;
}

static bool start_thread(struct hangup *hangup)
{
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&hangup->lock, NULL);
	pthread_cond_init(&hangup->wake, &clock);
	pthread_condattr_destroy(&clock);
	return pthread_create(&hangup->thread, NULL, watch, hangup) == 0;
}

struct hangup *hangup_start(unsigned most, unsigned seconds)
{
	struct hangup *hangup = calloc(1, sizeof(*hangup) + most * sizeof(*hangup->entries));

	if (hangup == NULL)
		return NULL;
	hangup->most = most;
	hangup->seconds = seconds;
	for (unsigned i = 0; i < most; i++)
		hangup->entries[i].file = -1;
	if (start_thread(hangup))
		return hangup;
	free(hangup);
	return NULL;
}

void hangup_stop(struct hangup *hangup)
{
	if (hangup == NULL)
		return;
	pthread_mutex_lock(&hangup->lock);
	hangup->stop = true;
	pthread_cond_signal(&hangup->wake);
	pthread_mutex_unlock(&hangup->lock);
	pthread_join(hangup->thread, NULL);
	pthread_cond_destroy(&hangup->wake);
	pthread_mutex_destroy(&hangup->lock);
	free(hangup);
}

struct hangup_entry *hangup_begin(struct hangup *hangup, int file)
{
	struct hangup_entry *entry = NULL;

	pthread_mutex_lock(&hangup->lock);
	for (unsigned i = 0; i < hangup->most && entry == NULL; i++)
		if (hangup->entries[i].file < 0)
			entry = &hangup->entries[i];
	if (entry != NULL)
		*entry = (struct hangup_entry){ file, now() + hangup->seconds };
	pthread_mutex_unlock(&hangup->lock);
	return entry;
}

void hangup_renew(struct hangup *hangup, struct hangup_entry *entry)
{
	if (entry == NULL)
		return;
	pthread_mutex_lock(&hangup->lock);
	entry->end = now() + hangup->seconds;
	pthread_mutex_unlock(&hangup->lock);
}

void hangup_end(struct hangup *hangup, struct hangup_entry *entry)
{
	if (entry == NULL)
		return;
	pthread_mutex_lock(&hangup->lock);
	entry->file = -1;
	pthread_mutex_unlock(&hangup->lock);
}
