// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>

#include "simulation/internal.h"

struct simulation_samples {
	const struct sim_fabric *fabric;
	uint32_t n_ports;
	uint64_t n;    // samples
	uint64_t most; // bytes for a port, since simulation_samples_queue()
	struct sim_port *begin;
	struct histogram *queues; // bytes, though the histogram is made for times
};

struct simulation_samples *simulation_samples_create(const struct sim_fabric *fabric)
{
	struct simulation_samples *samples = calloc(1, sizeof(*samples));

	if (samples == NULL)
		return NULL;
	samples->fabric = fabric;
	samples->n_ports = sim_n_ports(fabric);
	samples->begin = calloc(samples->n_ports, sizeof(samples->begin[0]));
	samples->queues = calloc(samples->n_ports, sizeof(samples->queues[0]));
	if (samples->begin != NULL && samples->queues != NULL)
		return samples;
	simulation_samples_destroy(samples);
	return NULL;
}

void simulation_samples_destroy(struct simulation_samples *samples)
{
	if (samples == NULL)
		return;
	free(samples->begin);
	free(samples->queues);
	free(samples);
}

void simulation_samples_begin(struct simulation_samples *samples)
{
	samples->n = 0;
	samples->most = 0;
	for (uint32_t i = 0; i < samples->n_ports; i++) {
		samples->begin[i] = sim_port_view(samples->fabric, i);
		samples->queues[i] = (struct histogram){ 0 };
	}
}

void simulation_sample(struct simulation_samples *samples)
{
	samples->n++;
	for (uint32_t i = 0; i < samples->n_ports; i++) {
		const uint64_t queued = sim_port_view(samples->fabric, i).queued;

		histogram_add(&samples->queues[i], queued);
		if (queued > samples->most)
			samples->most = queued;
	}
}

uint64_t simulation_samples_queue(struct simulation_samples *samples)
{
	const uint64_t most = samples->most;

	samples->most = 0;
	return most;
}

struct simulation_port simulation_samples_port(const struct simulation_samples *samples,
					       uint32_t port)
{
	const struct sim_port *begin = &samples->begin[port];
	const struct histogram *queue = &samples->queues[port];
	struct simulation_port out = { .view = sim_port_view(samples->fabric, port) };

	out.peer = sim_port_view(samples->fabric, out.view.peer).node;
	out.view.packets -= begin->packets;
	out.view.bytes -= begin->bytes;
	out.view.busy -= begin->busy;
	out.view.paused -= begin->paused;
	out.view.pauses -= begin->pauses;
	out.view.marked -= begin->marked;
	out.view.refused -= begin->refused;
	out.view.repeated -= begin->repeated;
	out.view.waited -= begin->waited;
	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
		out.view.drops[cause] -= begin->drops[cause];
	out.queue_mean = samples->n > 0 ? queue->sum / samples->n : 0;
	out.queue_p99 = histogram_quantile(queue, 0.99);
	return out;
}
