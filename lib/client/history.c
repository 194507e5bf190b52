// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/history.h"

#include <math.h>
#include <stdlib.h>

#include "client/latency_window.h"

// Numbers of the summary.
static const char *const keys[] = {
	"events_complete", "events_incomplete",      "events_discarded", "events_open",
	"bytes_built",     "packets_received",       "packets_missed",   "loss_total",
	"blocks_missing",  "packets_received_bytes", "slots_free",       "sent_packets",
	"written_bytes",
};

static const struct window {
	const char *name;
	const char *histogram;
	double share;
} windows[] = {
	{ "complete_p50_ns", "latency_complete_ns", 0.5 },
	{ "complete_p99_ns", "latency_complete_ns", 0.99 },
	{ "complete_p999_ns", "latency_complete_ns", 0.999 },
	{ "released_p50_ns", "latency_released_ns", 0.5 },
	{ "released_p99_ns", "latency_released_ns", 0.99 },
};

#define N_KEYS    (sizeof(keys) / sizeof(keys[0]))
#define N_WINDOWS (sizeof(windows) / sizeof(windows[0]))

struct sample {
	double time_ms;
	double values[N_KEYS + N_WINDOWS]; // NAN: unknown
};

struct history {
	unsigned most, n, next;
	struct reading *latest; // NULL: none
	struct sample samples[];
};

struct history *history_create(unsigned samples)
{
	struct history *history =
	    calloc(1, sizeof(*history) + samples * sizeof(history->samples[0]));

	if (history != NULL)
		history->most = samples;
	return history;
}

void history_destroy(struct history *history)
{
	if (history != NULL)
		reading_unref(history->latest);
	free(history);
}

static const struct sample *sample_at(const struct history *history, unsigned index)
{
	return &history
		    ->samples[(history->next + history->most - history->n + index) % history->most];
}

void history_add(struct history *history, struct reading *reading)
{
	struct sample *sample = &history->samples[history->next];
	bool comparable = reading_follows(reading, history->latest);

	sample->time_ms = reading->time_ms;
	for (size_t i = 0; i < N_KEYS; i++)
		sample->values[i] = reading_number(reading, keys[i]);
	for (size_t i = 0; i < N_WINDOWS; i++)
		sample->values[N_KEYS + i] =
		    comparable ? latency_window_quantile(history->latest, reading,
							 windows[i].histogram, windows[i].share)
			       : (double)NAN;
	reading_unref(history->latest);
	history->latest = reading_ref(reading);
	history->next = (history->next + 1) % history->most;
	if (history->n < history->most)
		history->n++;
}

double history_latest(const struct history *history)
{
	return history->n > 0 ? sample_at(history, history->n - 1)->time_ms : 0;
}

static void add_column(cJSON *root, const struct history *history, unsigned first, const char *name,
		       int index)
{
	cJSON *column = cJSON_AddArrayToObject(root, name);

	for (unsigned i = first; i < history->n; i++) {
		const struct sample *sample = sample_at(history, i);
		double value = index < 0 ? sample->time_ms : sample->values[index];

		cJSON_AddItemToArray(column,
				     isnan(value) ? cJSON_CreateNull() : cJSON_CreateNumber(value));
	}
}

cJSON *history_json(const struct history *history, double since_ms)
{
	cJSON *root = cJSON_CreateObject();
	unsigned first = 0;

	while (first < history->n && sample_at(history, first)->time_ms <= since_ms)
		first++;
	add_column(root, history, first, "time_ms", -1);
	for (size_t i = 0; i < N_KEYS; i++)
		add_column(root, history, first, keys[i], (int)i);
	for (size_t i = 0; i < N_WINDOWS; i++)
		add_column(root, history, first, windows[i].name, (int)(N_KEYS + i));
	return root;
}
