// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ordinary memory: what is allocated neither by DPDK nor as a file in shared memory.
#include "plan/plan.h"

#include <rte_common.h>

#include "builder/assembly.h"
#include "node/control_role.h"
#include "packet/decision_queue.h"
#include "rdma/roce_port.h"
#include "readout/readout_logic.h"
#include "record/decision_input.h"
#include "record/decision_order.h"
#include "record/decision_stream.h"
#include "record/writer_role.h"
#include "roce/requester.h"
#include "roce/responder.h"
#include "store/block_assembly.h"
#include "store/event_store.h"
#include "store/file_store.h"
#include "store/ring_store.h"

static void plan_assemblies(struct plan *plan)
{
	const struct config *config = plan->config;

	for (unsigned i = 0; i < config->n_builders; i++)
		plan->assembly_bytes +=
		    assembly_memory(config->builders[i].slots, config->sources.n_expected);
}

// Of a file without a list of ids, the number of sources is known when it is read.
static unsigned sources_of(const struct config *config, const struct source_set_parameters *set)
{
	return set->n_ids > 0 ? set->n_ids : config->sources.n_expected;
}

// The blocks of a store that was filled beforehand count as DPDK's memory.
static uint64_t store_memory(const struct config *config, const struct config_generator *generator)
{
	const struct source_set_parameters set = config_source_set(config, generator);

	if (generator->kind == GENERATOR_PRODUCER)
		return ring_store_memory(set.n_ids);
	if (generator->kind == GENERATOR_PORT)
		return block_assembly_memory(set.n_ids);
	if (generator->kind == GENERATOR_EVENT_RING)
		return event_store_memory(config->event_manager.source_buffer,
					  generator->egress.number_by == CONFIG_NUMBER_BY_EVENT_ID);
	return file_store_is_for(&set) ? file_store_memory(sources_of(config, &set)) : 0;
}

static void plan_readouts(struct plan *plan)
{
	const struct config *config = plan->config;

	for (unsigned i = 0; i < config->n_generators; i++) {
		plan->store_bytes += store_memory(config, &config->generators[i]);
		if (config->cluster.n_nodes > 0)
			plan->readout_bytes += readout_logic_memory(
			    config->cluster.n_builders,
			    config->event_manager.sched.shaping == SCHED_TIMED_SHIFT);
	}
}

static void plan_writers(struct plan *plan)
{
	for (unsigned i = 0; i < plan->config->n_writers; i++)
		plan->writer_bytes += writer_role_memory(plan->config->writers[i].format);
}

static void plan_endpoint(struct plan *plan)
{
	const struct cluster_system *cluster = &plan->config->cluster;

	if (cluster->n_nodes > 0)
		plan->endpoint_bytes =
		    control_role_memory(cluster->nodes[cluster->self].mtu, cluster->n_nodes);
}

static void plan_manager(struct plan *plan)
{
	const struct config *config = plan->config;
	const struct cluster_manager_parameters manager = config_manager_parameters(config);

	if (config->cluster.n_nodes > 0 && config->cluster.nodes[config->cluster.self].manager)
		plan->sched_bytes = cluster_manager_sched_memory(&manager);
}

// Plans the memory for decisions, of the roles and queues that make_results() and
// make_decision_queues() make.
static void plan_results(struct plan *plan)
{
	const struct config *config = plan->config;

	for (unsigned i = 0; i < config->n_results; i++) {
		const struct config_results *results = &config->results[i];

		if (config_results_are_sent(config, results)) {
			plan->decision_bytes += decision_outbox_memory(results->window);
			continue;
		}
		plan->decision_bytes +=
		    decision_order_memory(results->window) + decision_stream_memory();
		if (results->to == CONFIG_RESULTS_RING)
			plan->decision_bytes += decision_stream_ring_memory(results->ring.slots);
		if (results->from[0] != '\0')
			plan->decision_bytes += decision_input_memory();
		if (results->system > 0)
			plan->decision_bytes +=
			    decision_inbox_memory(results->window, config->cluster.n_nodes);
	}
}

// Counts the memory of queue pairs for `n_flows` senders, each with `depth` work requests.
static void use_senders(struct plan *plan, uint32_t n_flows, uint32_t depth)
{
	uint32_t n_qps = RTE_MAX(2u, rte_align32pow2(2 * n_flows));

	plan->roce_bytes += qp_table_memory(n_qps) + requester_memory(n_qps, depth);
}

// Plans the memory of the queue pairs of ports, and of generators, which have one per peer.
static void plan_roce(struct plan *plan)
{
	const struct config *config = plan->config;
	uint32_t n_qps = RTE_MAX(config->roce.max_queue_pairs, 2u);
	bool in_system = config->cluster.n_nodes > 0;

	for (unsigned i = 0; i < config->n_ports; i++) {
		bool for_boards = config_is_for_boards(config, i);

		if (plan->ports[i].roce_mbufs == 0 || (config->n_builders == 0 && !for_boards))
			continue;
		plan->roce_bytes += qp_table_memory(n_qps) + responder_memory(n_qps, 1);
		if (plan_offers(config) > 0 && !for_boards)
			plan->roce_bytes += requester_memory(n_qps, ROCE_DEPTH);
	}
	for (unsigned i = 0;
	     i < config->n_generators && config->transport.kind == CONFIG_TRANSPORT_ROCE; i++) {
		const struct config_generator *generator = &config->generators[i];
		uint32_t n_sources =
		    generator->n_ids > 0 ? generator->n_ids : config->sources.n_ids;
		uint32_t depth = RTE_MIN(rte_align32pow2(2 * n_sources), ROCE_DEPTH_MOST);

		use_senders(plan, in_system ? config->cluster.n_builders : n_sources,
			    in_system ? RTE_MAX(depth, ROCE_DEPTH) : ROCE_DEPTH);
	}
}

void plan_ordinary(struct plan *plan)
{
	plan_assemblies(plan);
	plan_readouts(plan);
	plan_writers(plan);
	plan_endpoint(plan);
	plan_manager(plan);
	plan_results(plan);
	plan_roce(plan);
}

uint64_t plan_ordinary_bytes(const struct plan *plan)
{
	return plan->assembly_bytes + plan->store_bytes + plan->readout_bytes + plan->writer_bytes +
	       plan->endpoint_bytes + plan->sched_bytes + plan->decision_bytes + plan->roce_bytes;
}
