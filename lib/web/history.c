// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "web/history.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "web/latency_window.h"

// Numbers of the summary that are kept.
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
	struct latency_counts latest[N_WINDOWS];
	bool has_latest;
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
	free(history);
}

void history_restart(struct history *history)
{
	history->has_latest = false;
}

static const struct sample *sample_at(const struct history *history, unsigned index)
{
	return &history
		    ->samples[(history->next + history->most - history->n + index) % history->most];
}

void history_add(struct history *history, double time_ms, const cJSON *snapshot)
{
	const cJSON *summary = cJSON_GetObjectItemCaseSensitive(snapshot, "summary");
	struct sample *sample = &history->samples[history->next];

	sample->time_ms = time_ms;
	for (size_t i = 0; i < N_KEYS; i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(summary, keys[i]);

		sample->values[i] = cJSON_IsNumber(value) ? value->valuedouble : NAN;
	}
	for (size_t i = 0; i < N_WINDOWS; i++) {
		struct latency_counts now;
		double quantile = -1;

		latency_counts_take(&now, snapshot, windows[i].histogram);
		if (history->has_latest)
			quantile =
			    latency_window_quantile(&history->latest[i], &now, windows[i].share);
		sample->values[N_KEYS + i] = quantile >= 0 ? quantile : NAN;
		history->latest[i] = now;
	}
	history->has_latest = true;
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
