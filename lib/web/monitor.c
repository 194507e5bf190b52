// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/snapshot.h"
#include "client/stat_client.h"
#include "web/history.h"

#define PATIENCE_MS  1000u // with an appliance: others wait meanwhile
#define RETRY_MS     5000  // after one that did not answer in time
#define DISCOVERY_MS 3000  // between looks for new appliances

struct node {
	char name[STAT_CLIENT_NAME_SIZE];

	// The monitor's thread only.
	struct stat_client *client;
	pid_t pid; // of the run before
	double retry_ms;

	// Written by the monitor's thread, with the lock; readers hold the lock.
	bool up;
	char error[STAT_CLIENT_ERROR_SIZE];
	double time_ms; // of the snapshot
	cJSON *snapshot;
	struct history *history;
};

struct monitor {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;    // the thread: to stop, or for a pass out of turn
	pthread_cond_t sampled; // readers: a pass is over
	unsigned interval_ms;
	bool all; // all that run, not only those named

	// With the lock.
	bool stop;
	bool wanted; // a pass out of turn
	uint64_t begun, done;
	struct node *nodes[MONITOR_MAX_NODES];
	unsigned n_nodes;

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

static struct node *find_node(const struct monitor *monitor, const char *name)
{
	for (unsigned i = 0; i < monitor->n_nodes; i++)
		if (strcmp(monitor->nodes[i]->name, name) == 0)
			return monitor->nodes[i];
	return NULL;
}

static void free_node(struct node *node)
{
	if (node == NULL)
		return;
	stat_client_close(node->client);
	cJSON_Delete(node->snapshot);
	history_destroy(node->history);
	free(node);
}

// With the lock. Returns false if there is no room.
static bool add_node(struct monitor *monitor, const char *name)
{
	struct node *node;

	if (find_node(monitor, name) != NULL)
		return true;
	if (monitor->n_nodes == MONITOR_MAX_NODES || strlen(name) >= sizeof(node->name))
		return false;
	node = calloc(1, sizeof(*node));
	if (node != NULL)
		node->history = history_create(MONITOR_MAX_SAMPLES);
	if (node == NULL || node->history == NULL) {
		free_node(node);
		return false;
	}
	strcpy(node->name, name);
	strcpy(node->error, "not asked yet");
	monitor->nodes[monitor->n_nodes++] = node;
	return true;
}

// With the lock, where all are shown: who has not answered for longest makes room for those that
// run.
static void make_room(struct monitor *monitor)
{
	unsigned n = monitor->n_nodes, longest = n;

	if (n < MONITOR_MAX_NODES)
		return;
	for (unsigned i = 0; i < n; i++) {
		const struct node *node = monitor->nodes[i];

		if (!node->up && node->time_ms > 0 &&
		    (longest == n || node->time_ms < monitor->nodes[longest]->time_ms))
			longest = i;
	}
	if (longest == n)
		return; // all run
	free_node(monitor->nodes[longest]);
	monitor->n_nodes--;
	memmove(&monitor->nodes[longest], &monitor->nodes[longest + 1],
		(monitor->n_nodes - longest) * sizeof(monitor->nodes[0]));
}

static void discover(struct monitor *monitor, double now)
{
	static _Thread_local char names[MONITOR_MAX_NODES][STAT_CLIENT_NAME_SIZE];
	unsigned n;

	if (!monitor->all || now < monitor->discovered_ms + DISCOVERY_MS)
		return;
	monitor->discovered_ms = now;
	n = stat_client_running(names, MONITOR_MAX_NODES);
	pthread_mutex_lock(&monitor->lock);
	for (unsigned i = 0; i < n && i < MONITOR_MAX_NODES; i++) {
		if (find_node(monitor, names[i]) == NULL)
			make_room(monitor);
		(void)add_node(monitor, names[i]); // what finds no room is not shown
	}
	pthread_mutex_unlock(&monitor->lock);
}

// Forgets appliances that nobody named and of which no sample would be shown any more.
static void forget(struct monitor *monitor)
{
	double oldest =
	    clock_ms(CLOCK_REALTIME) - (double)MONITOR_MAX_SAMPLES * monitor->interval_ms;
	unsigned kept = 0;

	if (!monitor->all)
		return;
	pthread_mutex_lock(&monitor->lock);
	for (unsigned i = 0; i < monitor->n_nodes; i++) {
		struct node *node = monitor->nodes[i];

		if (node->up || node->time_ms > oldest)
			monitor->nodes[kept++] = node;
		else
			free_node(node);
	}
	monitor->n_nodes = kept;
	pthread_mutex_unlock(&monitor->lock);
}

// Asks one appliance, without the lock.
static cJSON *ask(struct node *node, double now, char *error)
{
	cJSON *snapshot;

	if (node->client == NULL)
		node->client = stat_client_open_for(node->name, PATIENCE_MS, error);
	snapshot = node->client != NULL ? snapshot_take(node->client, error) : NULL;
	if (snapshot != NULL)
		return snapshot;
	stat_client_close(node->client);
	node->client = NULL;
	if (clock_ms(CLOCK_MONOTONIC) > now + PATIENCE_MS / 2)
		node->retry_ms = now + RETRY_MS; // it took its time to say nothing
	return NULL;
}

static void sample(struct monitor *monitor, struct node *node)
{
	double now = clock_ms(CLOCK_MONOTONIC), time_ms;
	char error[STAT_CLIENT_ERROR_SIZE] = "";
	cJSON *snapshot, *old = NULL;

	if (now < node->retry_ms)
		return;
	snapshot = ask(node, now, error);
	time_ms = clock_ms(CLOCK_REALTIME);
	pthread_mutex_lock(&monitor->lock);
	node->up = snapshot != NULL;
	strcpy(node->error, error);
	if (snapshot != NULL) {
		if (stat_client_pid(node->client) != node->pid)
			history_restart(node->history);
		node->pid = stat_client_pid(node->client);
		old = node->snapshot;
		node->snapshot = snapshot;
		node->time_ms = time_ms;
		if (time_ms - history_latest(node->history) > 0.9 * monitor->interval_ms)
			history_add(node->history, time_ms, snapshot);
	}
	pthread_mutex_unlock(&monitor->lock);
	cJSON_Delete(old);
}

static void take_pass(struct monitor *monitor)
{
	discover(monitor, clock_ms(CLOCK_MONOTONIC));
	// Only this thread changes the list, so it may read it without the lock.
	for (unsigned i = 0; i < monitor->n_nodes; i++)
		sample(monitor, monitor->nodes[i]);
	forget(monitor);
}

static void *run(void *argument)
{
	struct monitor *monitor = argument;
	double next = clock_ms(CLOCK_MONOTONIC);

	pthread_mutex_lock(&monitor->lock);
	while (!monitor->stop) {
		struct timespec until;

		monitor->wanted = false;
		monitor->begun++;
		pthread_mutex_unlock(&monitor->lock);
		take_pass(monitor);
		pthread_mutex_lock(&monitor->lock);
		monitor->done = monitor->begun;
		pthread_cond_broadcast(&monitor->sampled);
		while (next <= clock_ms(CLOCK_MONOTONIC))
			next += monitor->interval_ms;
		until = deadline(next);
		while (!monitor->stop && !monitor->wanted &&
		       pthread_cond_timedwait(&monitor->wake, &monitor->lock, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&monitor->lock);
	return NULL;
}

// Waits for a pass that begins after this call. With the lock.
static void await_pass(struct monitor *monitor)
{
	struct timespec until = deadline(clock_ms(CLOCK_MONOTONIC) + MONITOR_FRESH_MS);
	uint64_t pass = monitor->begun + 1;

	monitor->wanted = true;
	pthread_cond_signal(&monitor->wake);
	while (monitor->done < pass &&
	       pthread_cond_timedwait(&monitor->sampled, &monitor->lock, &until) != ETIMEDOUT)
		;
}

static int init_locks(struct monitor *monitor)
{
	pthread_condattr_t attributes;
	int result = pthread_condattr_init(&attributes);

	if (result != 0)
		return result;
	result = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (result == 0)
		result = pthread_cond_init(&monitor->wake, &attributes);
	if (result == 0)
		result = pthread_cond_init(&monitor->sampled, &attributes);
	if (result == 0)
		result = pthread_mutex_init(&monitor->lock, NULL);
	pthread_condattr_destroy(&attributes);
	return result;
}

struct monitor *monitor_start(const char *const *names, unsigned n, unsigned interval_ms,
			      char *error)
{
	struct monitor *monitor = calloc(1, sizeof(*monitor));
	int result = monitor != NULL ? init_locks(monitor) : ENOMEM;

	if (result == 0) {
		monitor->interval_ms = interval_ms;
		monitor->all = n == 0;
		monitor->discovered_ms = -DISCOVERY_MS;
		for (unsigned i = 0; i < n; i++)
			if (!add_node(monitor, names[i]))
				result = E2BIG;
	}
	if (result == 0)
		result = pthread_create(&monitor->thread, NULL, run, monitor);
	if (result == 0)
		return monitor;
	snprintf(error, MONITOR_ERROR_SIZE, "%s",
		 result == E2BIG ? "too many names, or one is too long" : strerror(result));
	for (unsigned i = 0; monitor != NULL && i < monitor->n_nodes; i++)
		free_node(monitor->nodes[i]);
	free(monitor);
	return NULL;
}

void monitor_stop(struct monitor *monitor)
{
	if (monitor == NULL)
		return;
	pthread_mutex_lock(&monitor->lock);
	monitor->stop = true;
	pthread_cond_signal(&monitor->wake);
	pthread_mutex_unlock(&monitor->lock);
	pthread_join(monitor->thread, NULL);
	for (unsigned i = 0; i < monitor->n_nodes; i++)
		free_node(monitor->nodes[i]);
	pthread_cond_destroy(&monitor->wake);
	pthread_cond_destroy(&monitor->sampled);
	pthread_mutex_destroy(&monitor->lock);
	free(monitor);
}

static void add_status(cJSON *to, const struct node *node)
{
	cJSON_AddStringToObject(to, "name", node->name);
	cJSON_AddBoolToObject(to, "up", node->up);
	cJSON_AddStringToObject(to, "error", node->error);
	cJSON_AddNumberToObject(to, "time_ms", node->time_ms);
}

static char *print(cJSON *root)
{
	char *text = cJSON_PrintUnformatted(root);

	cJSON_Delete(root);
	return text;
}

char *monitor_nodes(struct monitor *monitor)
{
	cJSON *root = cJSON_CreateObject(), *nodes;

	cJSON_AddNumberToObject(root, "interval_ms", monitor->interval_ms);
	nodes = cJSON_AddArrayToObject(root, "nodes");
	pthread_mutex_lock(&monitor->lock);
	for (unsigned i = 0; i < monitor->n_nodes; i++) {
		cJSON *node = cJSON_CreateObject();

		add_status(node, monitor->nodes[i]);
		cJSON_AddItemToArray(nodes, node);
	}
	pthread_mutex_unlock(&monitor->lock);
	return print(root);
}

char *monitor_node(struct monitor *monitor, const char *name)
{
	cJSON *root = cJSON_CreateObject();
	const struct node *node;
	char *text = NULL;

	pthread_mutex_lock(&monitor->lock);
	node = find_node(monitor, name);
	if (node != NULL) {
		add_status(root, node);
		if (node->snapshot != NULL)
			cJSON_AddItemReferenceToObject(root, "snapshot", node->snapshot);
		else
			cJSON_AddNullToObject(root, "snapshot");
		text = cJSON_PrintUnformatted(root);
	}
	pthread_mutex_unlock(&monitor->lock);
	cJSON_Delete(root);
	return text;
}

char *monitor_part(struct monitor *monitor, const char *name, const char *part)
{
	const struct node *node;
	const cJSON *found;
	char *text = NULL;

	pthread_mutex_lock(&monitor->lock);
	node = find_node(monitor, name);
	found = node != NULL ? cJSON_GetObjectItemCaseSensitive(node->snapshot, part) : NULL;
	if (found != NULL)
		text = cJSON_PrintUnformatted(found);
	pthread_mutex_unlock(&monitor->lock);
	return text;
}

char *monitor_history(struct monitor *monitor, const char *name, double since_ms)
{
	const struct node *node;
	cJSON *root = NULL;

	pthread_mutex_lock(&monitor->lock);
	node = find_node(monitor, name);
	if (node != NULL)
		root = history_json(node->history, since_ms);
	pthread_mutex_unlock(&monitor->lock);
	return root != NULL ? print(root) : NULL;
}

char *monitor_metrics(struct monitor *monitor, enum openmetrics_format format, size_t *size)
{
	struct openmetrics_node nodes[MONITOR_MAX_NODES];
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (out == NULL)
		return NULL;
	pthread_mutex_lock(&monitor->lock);
	await_pass(monitor);
	for (unsigned i = 0; i < monitor->n_nodes; i++) {
		const struct node *node = monitor->nodes[i];

		nodes[i] =
		    (struct openmetrics_node){ node->name, node->up ? node->snapshot : NULL };
	}
	openmetrics_write(out, format, nodes, monitor->n_nodes);
	pthread_mutex_unlock(&monitor->lock);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
