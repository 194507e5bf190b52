// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/sampler.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/snapshot.h"

#define PATIENCE_MS  1000u // with one appliance: the others wait meanwhile
#define RETRY_MS     5000  // after a request that got no response in time
#define DISCOVERY_MS 3000  // at most, between two searches for new appliances

// A node with what only the sampler's thread uses.
struct target {
	struct sampler_node node;
	struct stat_client *client;
	double retry_ms; // no request before this time of the monotonic clock
};

struct sampler {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;    // the thread shall stop, or begin a pass at once
	pthread_cond_t sampled; // a pass is complete
	unsigned interval_ms;
	bool all; // every appliance that runs here, not only those named

	// With the lock. The thread alone changes the list, so it reads the list without the lock.
	bool stop;
	bool wanted;          // a reader waits for a pass
	uint64_t begun, done; // passes
	struct target *targets[SAMPLER_MAX_NODES];
	unsigned n_targets;

	double discovered_ms; // thread only
};

static double clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e3 + (double)(now.tv_nsec / 1000) / 1e3;
}

static struct timespec deadline(double ms)
{
	return (struct timespec){ .tv_sec = (time_t)(ms / 1e3),
				  .tv_nsec =
				      (long)((ms - (double)(time_t)(ms / 1e3) * 1e3) * 1e6) };
}

static double time_of(const struct target *target)
{
	return target->node.reading != NULL ? target->node.reading->time_ms : 0;
}

// --- the list ------------------------------------------------------------------------------------

static void free_target(struct target *target)
{
	if (target == NULL)
		return;
	stat_client_close(target->client);
	reading_unref(target->node.reading);
	history_destroy(target->node.history);
	free(target);
}

// With the lock. Returns false if there is no room.
static bool add_target(struct sampler *sampler, const char *name)
{
	struct target *target;

	if (sampler_find(sampler, name) != NULL)
		return true;
	if (sampler->n_targets == SAMPLER_MAX_NODES || strlen(name) >= sizeof(target->node.name))
		return false;
	target = calloc(1, sizeof(*target));
	if (target != NULL)
		target->node.history = history_create(SAMPLER_HISTORY);
	if (target == NULL || target->node.history == NULL) {
		free_target(target);
		return false;
	}
	strcpy(target->node.name, name);
	strcpy(target->node.error, "not asked yet");
	sampler->targets[sampler->n_targets++] = target;
	return true;
}

// With the lock: where the list is full, the node that has been down for longest is removed from
// it.
static void make_room(struct sampler *sampler)
{
	unsigned n = sampler->n_targets, longest = n;

	if (n < SAMPLER_MAX_NODES)
		return;
	for (unsigned i = 0; i < n; i++) {
		const struct target *target = sampler->targets[i];

		if (!target->node.up && time_of(target) > 0 &&
		    (longest == n || time_of(target) < time_of(sampler->targets[longest])))
			longest = i;
	}
	if (longest == n)
		return; // all are up
	free_target(sampler->targets[longest]);
	sampler->n_targets--;
	memmove(&sampler->targets[longest], &sampler->targets[longest + 1],
		(sampler->n_targets - longest) * sizeof(sampler->targets[0]));
}

static void discover(struct sampler *sampler)
{
	char names[SAMPLER_MAX_NODES][STAT_CLIENT_NAME_SIZE];
	double now = clock_ms(CLOCK_MONOTONIC);
	unsigned n;

	if (!sampler->all ||
	    now < sampler->discovered_ms + fmin(DISCOVERY_MS, 3.0 * sampler->interval_ms))
		return;
	sampler->discovered_ms = now;
	n = stat_client_running(names, SAMPLER_MAX_NODES);
	sampler_lock(sampler);
	for (unsigned i = 0; i < n && i < SAMPLER_MAX_NODES; i++) {
		if (sampler_find(sampler, names[i]) == NULL)
			make_room(sampler);
		(void)add_target(sampler, names[i]); // without room, the appliance is not shown
	}
	sampler_unlock(sampler);
}

// Removes appliances that nobody named and whose whole history is too old to be shown.
static void forget(struct sampler *sampler)
{
	double oldest = clock_ms(CLOCK_REALTIME) - (double)SAMPLER_HISTORY * sampler->interval_ms;
	unsigned n = 0;

	if (!sampler->all)
		return;
	sampler_lock(sampler);
	for (unsigned i = 0; i < sampler->n_targets; i++) {
		struct target *target = sampler->targets[i];

		if (target->node.up || time_of(target) > oldest)
			sampler->targets[n++] = target;
		else
			free_target(target);
	}
	sampler->n_targets = n;
	sampler_unlock(sampler);
}

// --- the thread ----------------------------------------------------------------------------------

// Takes a snapshot without the lock. NULL with an error.
static struct reading *take_reading(struct target *target, double now, char *error)
{
	cJSON *snapshot;

	if (target->client == NULL)
		target->client = stat_client_open_for(target->node.name, PATIENCE_MS, error);
	snapshot = target->client != NULL ? snapshot_take(target->client, error) : NULL;
	if (snapshot != NULL)
		return reading_make(snapshot, clock_ms(CLOCK_REALTIME),
				    stat_client_pid(target->client));
	stat_client_close(target->client);
	target->client = NULL;
	if (clock_ms(CLOCK_MONOTONIC) > now + PATIENCE_MS / 2)
		target->retry_ms = now + RETRY_MS; // the others shall not wait so long again
	return NULL;
}

const char *sampler_state_name(enum sampler_state state)
{
	static const char *const names[] = {
		[SAMPLER_WAITS] = "waits", [SAMPLER_UP] = "up",         [SAMPLER_ENDED] = "ended",
		[SAMPLER_DIED] = "died",   [SAMPLER_SILENT] = "silent",
	};

	return names[state];
}

// Why a node has no reading; rewrites the error of one that is known to have ended.
static enum sampler_state why(const struct target *target, char *error)
{
	switch (stat_client_why(target->node.name)) {
	case STAT_CLIENT_DIED:
		snprintf(error, STAT_CLIENT_ERROR_SIZE,
			 "appliance %s crashed or was killed: see its log", target->node.name);
		return SAMPLER_DIED;
	case STAT_CLIENT_NOBODY:
		if (target->node.reading == NULL)
			return SAMPLER_WAITS;
		snprintf(error, STAT_CLIENT_ERROR_SIZE, "appliance %s has ended in order",
			 target->node.name);
		return SAMPLER_ENDED;
	default:
		return SAMPLER_SILENT;
	}
}

static void sample(struct sampler *sampler, struct target *target)
{
	double now = clock_ms(CLOCK_MONOTONIC);
	struct sampler_node *node = &target->node;
	char error[STAT_CLIENT_ERROR_SIZE] = "";
	struct reading *reading, *old = NULL;
	enum sampler_state state = SAMPLER_UP;

	if (now < target->retry_ms)
		return;
	reading = take_reading(target, now, error);
	if (reading == NULL)
		state = why(target, error);
	sampler_lock(sampler);
	node->up = reading != NULL;
	node->state = state;
	strcpy(node->error, error);
	if (reading != NULL) {
		old = node->reading;
		node->reading = reading;
		// A reading out of turn (sampler_refresh) is not one of the history.
		if (reading->time_ms - history_latest(node->history) > 0.9 * sampler->interval_ms)
			history_add(node->history, reading);
	}
	sampler_unlock(sampler);
	reading_unref(old);
}

static void *run(void *argument)
{
	struct sampler *sampler = argument;
	double next = clock_ms(CLOCK_MONOTONIC);

	sampler_lock(sampler);
	while (!sampler->stop) {
		struct timespec until;

		sampler->wanted = false;
		sampler->begun++;
		sampler_unlock(sampler);
		discover(sampler);
		for (unsigned i = 0; i < sampler->n_targets; i++)
			sample(sampler, sampler->targets[i]);
		forget(sampler);
		sampler_lock(sampler);
		sampler->done = sampler->begun;
		pthread_cond_broadcast(&sampler->sampled);
		while (next <= clock_ms(CLOCK_MONOTONIC))
			next += sampler->interval_ms;
		until = deadline(next);
		while (!sampler->stop && !sampler->wanted &&
		       pthread_cond_timedwait(&sampler->wake, &sampler->lock, &until) != ETIMEDOUT)
			;
	}
	sampler_unlock(sampler);
	return NULL;
}

// --- for readers ---------------------------------------------------------------------------------

void sampler_lock(struct sampler *sampler)
{
	pthread_mutex_lock(&sampler->lock);
}

void sampler_unlock(struct sampler *sampler)
{
	pthread_mutex_unlock(&sampler->lock);
}

unsigned sampler_interval_ms(const struct sampler *sampler)
{
	return sampler->interval_ms;
}

const struct sampler_node *sampler_node(const struct sampler *sampler, unsigned index)
{
	return index < sampler->n_targets ? &sampler->targets[index]->node : NULL;
}

const struct sampler_node *sampler_find(const struct sampler *sampler, const char *name)
{
	for (unsigned i = 0; i < sampler->n_targets; i++)
		if (strcmp(sampler->targets[i]->node.name, name) == 0)
			return &sampler->targets[i]->node;
	return NULL;
}

void sampler_refresh(struct sampler *sampler)
{
	struct timespec until = deadline(clock_ms(CLOCK_MONOTONIC) + SAMPLER_REFRESH_MS);
	uint64_t pass = sampler->begun + 1;

	sampler->wanted = true;
	pthread_cond_signal(&sampler->wake);
	while (sampler->done < pass &&
	       pthread_cond_timedwait(&sampler->sampled, &sampler->lock, &until) != ETIMEDOUT)
		;
}

static int init_locks(struct sampler *sampler)
{
	pthread_condattr_t attributes;
	int result = pthread_condattr_init(&attributes);

	if (result != 0)
		return result;
	result = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (result == 0)
		result = pthread_cond_init(&sampler->wake, &attributes);
	if (result == 0)
		result = pthread_cond_init(&sampler->sampled, &attributes);
	if (result == 0)
		result = pthread_mutex_init(&sampler->lock, NULL);
	pthread_condattr_destroy(&attributes);
	return result;
}

static void destroy(struct sampler *sampler)
{
	for (unsigned i = 0; sampler != NULL && i < sampler->n_targets; i++)
		free_target(sampler->targets[i]);
	free(sampler);
}

struct sampler *sampler_start(const char *const *names, unsigned n, unsigned interval_ms,
			      char *error)
{
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	int result = sampler != NULL ? init_locks(sampler) : ENOMEM;

	if (result == 0) {
		sampler->interval_ms = interval_ms;
		sampler->all = n == 0;
		sampler->discovered_ms = -DISCOVERY_MS;
		for (unsigned i = 0; i < n; i++)
			if (!add_target(sampler, names[i]))
				result = E2BIG;
	}
	if (result == 0)
		result = pthread_create(&sampler->thread, NULL, run, sampler);
	if (result == 0)
		return sampler;
	snprintf(error, SAMPLER_ERROR_SIZE, "%s",
		 result == E2BIG ? "too many names, or one is too long" : strerror(result));
	destroy(sampler);
	return NULL;
}

void sampler_stop(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	sampler_lock(sampler);
	sampler->stop = true;
	pthread_cond_signal(&sampler->wake);
	sampler_unlock(sampler);
	pthread_join(sampler->thread, NULL);
	pthread_cond_destroy(&sampler->wake);
	pthread_cond_destroy(&sampler->sampled);
	pthread_mutex_destroy(&sampler->lock);
	destroy(sampler);
}
