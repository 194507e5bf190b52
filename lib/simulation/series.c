// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>
#include <string.h>

#include "simulation/internal.h"

static uint64_t lost_until_now(const struct series *series)
{
	const struct sim_totals totals = sim_totals(series->fabric);
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
		sum += totals.dropped[cause];
	return sum;
}

static uint64_t paused_until_now(const struct series *series)
{
	const uint32_t n = sim_n_ports(series->fabric);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += sim_port_view(series->fabric, i).paused;
	return sum;
}

bool series_make(struct series *series, const struct sim_fabric *fabric, uint32_t n_hosts)
{
	*series = (struct series){
		.fabric = fabric,
		.n_hosts = n_hosts,
		.received = calloc(2 * (size_t)n_hosts, sizeof(series->received[0])),
	};
	return series->received != NULL;
}

void series_free(struct series *series)
{
	free(series->received);
}

uint64_t *series_received(struct series *series)
{
	return series->received + series->n_hosts;
}

void series_begin(struct series *series, uint64_t now)
{
	memcpy(series->received, series_received(series),
	       series->n_hosts * sizeof(series->received[0]));
	series->time = now;
	series->paused = paused_until_now(series);
	series->lost = lost_until_now(series);
}

void series_add(struct series *series, uint64_t now, uint64_t queue_most,
		struct simulation_series *out)
{
	const uint64_t *received = series_received(series);
	const double seconds = (double)(now - series->time) / (double)SIM_SECOND;
	uint64_t sum = 0, least = UINT64_MAX, most = 0;

	if (out->n == SIMULATION_MAX_POINTS || now == series->time)
		return;
	for (uint32_t i = 0; i < series->n_hosts; i++) {
		const uint64_t bytes = received[i] - series->received[i];

		sum += bytes;
		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
	}
	out->points[out->n++] = (struct simulation_point){
		.time_ns = now / SIM_NANOSECOND,
		.mean = (double)sum * 8 / seconds / series->n_hosts,
		.least = (double)least * 8 / seconds,
		.most = (double)most * 8 / seconds,
		.queue_most = queue_most,
		.paused = (double)(paused_until_now(series) - series->paused) /
			  (double)(now - series->time) / sim_n_ports(series->fabric),
		.lost = lost_until_now(series) - series->lost,
	};
	series_begin(series, now);
}
