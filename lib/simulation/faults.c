// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Hosts that pause their switch, and links that are slow or down. A pause frame lasts for a limited
// time, so it is repeated after half of that, as network cards do.
#include "simulation/internal.h"

#define QUANTA UINT16_MAX
#define ALL    1u // the only priority

static uint64_t repeat_time(const struct simulation_faults *faults)
{
	return QUANTA * SIM_QUANTUM_BITS * (SIM_SECOND / 1000000) /
	       (faults->configuration->link_rate / 1000000) / 2;
}

static void send(const struct simulation_faults *faults, uint32_t host, uint16_t quanta)
{
	const uint16_t times[SIM_MAX_PRIORITIES] = { quanta };

	sim_host_pause(faults->fabric, faults->places[host], ALL, times);
}

// Pauses, repeats the pause, or ends it, and comes back when the next of these is due.
static void on_pause(void *context, uint32_t i, uint32_t data)
{
	struct simulation_faults *faults = context;
	const struct config_fabric_pause *pause = &faults->configuration->pauses[i];
	const uint64_t now = sim_now(faults->engine);
	const uint64_t end = pause->length_ns == 0
				 ? SIM_NEVER
				 : faults->begun[i] + pause->length_ns * SIM_NANOSECOND;
	uint64_t next = now + repeat_time(faults);

	(void)data;
	if (now < end) {
		send(faults, pause->host, QUANTA);
		next = next < end ? next : end;
	} else {
		send(faults, pause->host, 0);
		if (pause->period_ns == 0)
			return;
		faults->begun[i] += pause->period_ns * SIM_NANOSECOND;
		next = faults->begun[i];
	}
	sim_at(faults->engine, next, faults->pause_handler, i, 0);
}

// `ends` is 1 at the end of the time in which the link is slow.
static void on_link(void *context, uint32_t i, uint32_t ends)
{
	struct simulation_faults *faults = context;
	const struct config_fabric_slow_link *slow = &faults->configuration->slow_links[i];

	sim_link_rate(faults->fabric, slow->link,
		      ends ? faults->configuration->link_rate : slow->rate);
	if (!ends && slow->length_ns > 0)
		sim_at(faults->engine, sim_now(faults->engine) + slow->length_ns * SIM_NANOSECOND,
		       faults->link_handler, i, 1);
}

static bool check(const struct simulation_faults *faults, char *error)
{
	const struct config_fabric *fabric = faults->configuration;

	for (unsigned i = 0; i < fabric->n_pauses; i++) {
		if (fabric->pauses[i].host < faults->n_hosts)
			continue;
		snprintf(error, SIM_ERROR_SIZE,
			 "fabric.pauses[%u].host: %u, and there are %u hosts", i,
			 fabric->pauses[i].host, faults->n_hosts);
		return false;
	}
	for (unsigned i = 0; i < fabric->n_slow_links; i++) {
		if (fabric->slow_links[i].link < faults->n_links)
			continue;
		snprintf(error, SIM_ERROR_SIZE,
			 "fabric.slow_links[%u].link: %u, and there are %u links", i,
			 fabric->slow_links[i].link, faults->n_links);
		return false;
	}
	return true;
}

bool simulation_faults_begin(struct simulation_faults *faults, char *error)
{
	const struct config_fabric *fabric = faults->configuration;

	if (!check(faults, error))
		return false;
	faults->pause_handler = sim_engine_handler(faults->engine, on_pause, faults);
	faults->link_handler = sim_engine_handler(faults->engine, on_link, faults);
	for (unsigned i = 0; i < fabric->n_pauses; i++) {
		faults->begun[i] = fabric->pauses[i].begin_ns * SIM_NANOSECOND;
		sim_at(faults->engine, faults->begun[i], faults->pause_handler, i, 0);
	}
	for (unsigned i = 0; i < fabric->n_slow_links; i++)
		sim_at(faults->engine, fabric->slow_links[i].begin_ns * SIM_NANOSECOND,
		       faults->link_handler, i, 0);
	return true;
}
