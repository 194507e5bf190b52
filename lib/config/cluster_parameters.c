// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "config/config.h"

#include "pacing/phase_gate.h"

struct cluster_parameters config_cluster_parameters(const struct config *config)
{
	return (struct cluster_parameters){
		.system = &config->cluster,
		.mode = config->event_manager.sched.mode,
		.shaping = config->event_manager.sched.shaping,
		.source_buffer = config->event_manager.source_buffer,
		.parallel_sends = config->event_manager.parallel_sends,
		.waits_for_sources =
		    config->event_manager.on_source_silent == CONFIG_SOURCE_SILENT_PAUSE,
	};
}

unsigned config_senders_at_once(const struct config *config)
{
	const struct config_event_manager *manager = &config->event_manager;
	const struct cluster_system *system = &config->cluster;
	uint64_t n = (uint64_t)manager->sched.credits * manager->parallel_sends;
	unsigned most = 1; // builders of a node

	if (manager->sched.mode != SCHED_PULL)
		return 0;
	for (unsigned i = 0; i < system->n_nodes; i++)
		if (system->nodes[i].n_builders > most)
			most = system->nodes[i].n_builders;
	n *= most;
	return n < system->n_nodes ? (unsigned)n : 0;
}

struct readout_pace_parameters config_readout_pace(const struct config *config)
{
	const enum sched_shaping shaping = config->event_manager.sched.shaping;

	return (struct readout_pace_parameters){
		.node_sources = config->cluster.nodes[config->cluster.self].n_sources,
		.system_sources = config->cluster.n_sources,
		.n_at_once = config_senders_at_once(config),
		.paced = shaping != SCHED_ALL_AT_ONCE,
		.timed = shaping == SCHED_TIMED_SHIFT,
		.sleep_ns = config->idle.policy == CONFIG_IDLE_ADAPTIVE ? config->idle.sleep_ns : 0,
	};
}

struct shift_windows_parameters config_shift_windows(const struct config *config)
{
	const struct sched_parameters *sched = &config->event_manager.sched;
	const struct cluster_shift shift = cluster_shift_of(&config->cluster);

	return (struct shift_windows_parameters){
		.send_ns = sched->shaping == SCHED_TIMED_SHIFT ? sched->send_window_ns : 0,
		.idle_ns = sched->idle_window_ns,
		.n_positions = shift.n_positions,
		.is_folded = shift.is_folded,
	};
}

// The barrier of the phases. Distance 0: none.
static struct phase_gate_parameters phase_barrier(const struct config *config)
{
	const struct config_event_manager *manager = &config->event_manager;

	return (struct phase_gate_parameters){
		.distance = manager->sched.phase_barrier,
		.longest_wait_ns = phase_gate_longest_wait(manager->heartbeat_timeout_ns,
							   config->events.deadline_ns),
	};
}

struct readout_logic_parameters config_readout_logic(const struct config *config,
						     const struct config_generator *generator)
{
	const struct config_event_manager *manager = &config->event_manager;
	const struct cluster_system *system = &config->cluster;

	return (struct readout_logic_parameters){
		.n_builders = system->n_builders,
		.n_nodes = system->n_nodes,
		.rank = cluster_readouts_below(system, system->self),
		.n_senders = cluster_readouts_below(system, system->n_nodes),
		.is_static = manager->sched.mode == SCHED_STATIC,
		.source_buffer = manager->source_buffer,
		.is_random = manager->sched.shaping == SCHED_RANDOM_ORDER,
		.seed = manager->sched.seed,
		.barrier = phase_barrier(config),
		.windows = config_shift_windows(config),
		.pace = config_readout_pace(config),
		.events = generator->events,
		.rate = generator->rate,
		.spill = config_production(generator),
	};
}

static enum on_wire_transport transport_of(const struct config *config)
{
	if (config->transport.kind == CONFIG_TRANSPORT_ROCE)
		return ON_WIRE_ROCE;
	return config->transport.kind == CONFIG_TRANSPORT_ETH ? ON_WIRE_ETH : ON_WIRE_UDP;
}

struct on_wire_parameters config_on_wire_parameters(const struct config *config)
{
	return (struct on_wire_parameters){
		.system = &config->cluster,
		.transport = transport_of(config),
		.path_mtu = config->roce.path_mtu,
		.n_expected = config->sources.n_expected,
		.mode = config->event_manager.sched.mode,
		.keyed = config->event_manager.key_file[0] != '\0',
	};
}

static uint32_t largest_window(const struct cluster_system *system)
{
	uint32_t window = 0;

	for (unsigned i = 0; i < system->n_results; i++)
		if (system->results[i].window > window)
			window = system->results[i].window;
	return window;
}

struct cluster_manager_parameters config_manager_parameters(const struct config *config)
{
	const struct config_event_manager *in = &config->event_manager;

	return (struct cluster_manager_parameters){
		.cluster = config_cluster_parameters(config),
		.wire = config_on_wire_parameters(config),
		.sched = in->sched,
		.window = in->window,
		.deadline_ns = config->events.deadline_ns,
		.in_doubt_ns = in->in_doubt_ns,
		.run_number = config->run_number,
		.data_priority = in->data_priority,
		.autostart = in->start == CONFIG_START_AUTO,
		.remembered = largest_window(&config->cluster),
	};
}
