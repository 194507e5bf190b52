// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Faults on a time line: each begins, ends after its length, and comes again after its period.
#include "simulation/internal.h"

#define QUANTA UINT16_MAX
#define DATA   1u // bitmap: the priority of data, the only one that is paused

enum { BEGINS, ENDS, REPEATS_PAUSE };

static uint32_t host_of(const struct simulation_faults *faults, const struct config_fault *fault)
{
	return faults->places[fault->host];
}

static uint32_t link_of(const struct simulation_faults *faults, const struct config_fault *fault)
{
	return fault->has_link ? fault->link
			       : sim_port_view(faults->fabric, host_of(faults, fault)).link;
}

static uint64_t rate_of(const struct simulation_faults *faults, const struct config_fault *fault)
{
	return faults->topology->links[link_of(faults, fault)].bits_per_second;
}

// A pause frame lasts for a limited time, so it is repeated after half of that, as network cards
// do.
static uint64_t repeat_time(const struct simulation_faults *faults,
			    const struct config_fault *fault)
{
	return QUANTA * SIM_QUANTUM_BITS * (SIM_SECOND / 1000000) /
	       (rate_of(faults, fault) / 1000000) / 2;
}

// How far a node is from the hosts: by its level, and by its number where that is the same.
static uint64_t height(const struct sim_topology *topology, uint32_t node)
{
	if (node < topology->n_hosts)
		return 0;
	return (uint64_t)topology->level[node - topology->n_hosts] << 32 | node;
}

// The end of a link that is a switch; of two switches, that which is further from the hosts.
static uint32_t switch_port(const struct simulation_faults *faults, uint32_t link)
{
	const struct sim_fabric *fabric = faults->fabric;
	uint32_t port = 0;
	struct sim_port view, peer;

	while (sim_port_view(fabric, port).link != link)
		port++;
	view = sim_port_view(fabric, port);
	peer = sim_port_view(fabric, view.peer);
	return height(faults->topology, view.node) > height(faults->topology, peer.node)
		   ? port
		   : view.peer;
}

static void pause_switch(const struct simulation_faults *faults, uint32_t i, bool is_on)
{
	const struct config_fault *fault = &faults->configuration->faults[i];
	const uint16_t times[SIM_MAX_PRIORITIES] = { is_on ? QUANTA : 0 };

	sim_host_pause(faults->fabric, host_of(faults, fault), DATA, times);
	if (is_on)
		sim_at(faults->engine, sim_now(faults->engine) + repeat_time(faults, fault),
		       faults->handler, i, REPEATS_PAUSE);
}

static void apply(struct simulation_faults *faults, uint32_t i, bool is_on)
{
	const struct config_fabric *fabric = faults->configuration;
	const struct config_fault *fault = &fabric->faults[i];

	faults->is_on[i] = is_on;
	switch (fault->kind) {
	case CONFIG_FAULT_SILENT:
		sim_link_loss(faults->fabric, link_of(faults, fault), is_on ? 1 : fabric->loss);
		break;
	case CONFIG_FAULT_LINK:
		sim_link_rate(faults->fabric, link_of(faults, fault),
			      is_on ? fault->rate : rate_of(faults, fault));
		break;
	case CONFIG_FAULT_HOST_PAUSE:
		pause_switch(faults, i, is_on);
		break;
	case CONFIG_FAULT_SWITCH_PAUSE:
		sim_port_storm(faults->fabric, switch_port(faults, link_of(faults, fault)), DATA,
			       is_on);
		break;
	case CONFIG_FAULT_BUILDER_PAUSE:
		sim_system_pause_builders(faults->system, fault->host, is_on);
		break;
	case CONFIG_FAULT_SLOW_CONSUMER:
		sim_system_set_consumers(faults->system, fault->host,
					 is_on ? fault->consumer_time_ns
					       : fabric->traffic.consumer_time_ns);
		break;
	case CONFIG_FAULT_MANAGER_RESTART:
		if (is_on)
			sim_system_end_manager(faults->system);
		else
			sim_system_begin_manager(faults->system);
		break;
	}
}

static void on_fault(void *context, uint32_t i, uint32_t step)
{
	struct simulation_faults *faults = context;
	const struct config_fault *fault = &faults->configuration->faults[i];
	const uint64_t now = sim_now(faults->engine);

	if (step == REPEATS_PAUSE) {
		// A pause that began in the meantime is repeated by itself.
		if (faults->is_on[i] && now - faults->begun[i] >= repeat_time(faults, fault))
			pause_switch(faults, i, true);
		return;
	}
	apply(faults, i, step == BEGINS);
	if (step == BEGINS)
		faults->begun[i] = now;
	if (step == BEGINS && fault->length_ns > 0)
		sim_at(faults->engine, now + fault->length_ns * SIM_NANOSECOND, faults->handler, i,
		       ENDS);
	else if (step == ENDS && fault->period_ns > 0)
		sim_at(faults->engine, faults->begun[i] + fault->period_ns * SIM_NANOSECOND,
		       faults->handler, i, BEGINS);
}

static bool check(const struct simulation_faults *faults, char *error)
{
	const struct config_fabric *fabric = faults->configuration;

	for (unsigned i = 0; i < fabric->n_faults; i++) {
		const struct config_fault *fault = &fabric->faults[i];

		if (fault->has_host && fault->host >= faults->n_hosts) {
			snprintf(error, SIM_ERROR_SIZE,
				 "fabric.faults[%u].host: %u, and there are %u %s", i, fault->host,
				 faults->n_hosts, faults->system != NULL ? "nodes" : "hosts");
			return false;
		}
		if (fault->has_link && fault->link >= faults->topology->n_links) {
			snprintf(error, SIM_ERROR_SIZE,
				 "fabric.faults[%u].link: %u, and there are %u links", i,
				 fault->link, faults->topology->n_links);
			return false;
		}
	}
	return true;
}

bool simulation_faults_begin(struct simulation_faults *faults, char *error)
{
	const struct config_fabric *fabric = faults->configuration;

	if (!check(faults, error))
		return false;
	faults->handler = sim_engine_handler(faults->engine, on_fault, faults);
	for (unsigned i = 0; i < fabric->n_faults; i++)
		sim_at(faults->engine, fabric->faults[i].begin_ns * SIM_NANOSECOND, faults->handler,
		       i, BEGINS);
	return true;
}
