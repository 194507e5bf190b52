// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A source of events: the real logic of a readout over a block store that has the sizes of blocks
// and no bytes.
#include "sim_system/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "readout/segment_head.h"
#include "wire/net.h"

#define STEPS_MOST 1024u // without time passing, before others have their turn

// --- the block store ---

static struct store_block find_block(struct block_store *store, uint64_t event, unsigned source)
{
	const struct sim_readout *readout = (const struct sim_readout *)store;
	const size_t cycle = event % readout->n_cycle;

	return (struct store_block){ .size = readout->sizes[cycle * store->n_sources + source] };
}

static const struct block_store_operations store_operations = { .find = find_block };

// --- the output of the logic ---

static enum readout_reach find_builder(void *context, unsigned builder)
{
	struct sim_readout *readout = context;

	readout->builder = builder;
	return readout->node->system->builders[builder].node == readout->node ? READOUT_LOCAL
									      : READOUT_REMOTE;
}

static bool may_send(void *context, uint64_t now)
{
	const struct sim_readout *readout = context;
	const struct sim_node *node = readout->node;

	(void)now;
	return readout->held == POOL_NONE &&
	       (node->system->parameters.costs.send == 0 ||
		node->cpu_free <= sim_now(node->system->parameters.engine));
}

static bool send_segment(void *context, const struct packet_segment *at,
			 const struct store_block *block, uint32_t size, uint64_t now)
{
	struct sim_readout *readout = context;
	struct sim_system *system = readout->node->system;
	struct sim_node_builder *builder = &system->builders[readout->builder];
	const uint32_t number = pool_take(&system->segments);

	if (number == POOL_NONE) {
		system->is_broken = true;
		return false;
	}
	*(struct sim_segment *)pool_at(&system->segments, number) = (struct sim_segment){
		.event = at->event,
		.size = size,
		.length = block->size,
		.offset = at->offset,
		.source = readout->sources[at->source],
		.builder = (uint16_t)readout->builder,
	};
	if (builder->node == readout->node) {
		readout->node->view.local_segments++;
		sim_builder_segment(&builder->builder, 1, number, now);
		return true;
	}
	if (!sim_wire_segment(readout->node, number))
		readout->held = number;
	if (system->has_costs)
		sim_node_work(system, &readout->node->cpu_free, system->parameters.costs.send);
	return true;
}

static bool finish(void *context)
{
	(void)context;
	return true;
}

static bool to_control(void *context, const struct message *message)
{
	struct sim_readout *readout = context;
	struct sim_system *system = readout->node->system;

	if (message->kind == MESSAGE_ANNOUNCE)
		sim_account_announced(readout, message->event);
	cluster_node_readout_message(readout->node->node, readout->index, message,
				     sim_system_ns(system));
	sim_node_wake(readout->node, sim_now(system->parameters.engine));
	return true;
}

static const struct readout_output output = {
	.find = find_builder,
	.may_send = may_send,
	.send = send_segment,
	.finish = finish,
	.to_control = to_control,
};

// --- time ---

void sim_readout_wake(struct sim_readout *readout, uint64_t at)
{
	struct sim_system *system = readout->node->system;

	if (sim_sleeps(system))
		readout->node->has_work |= at <= sim_now(system->parameters.engine);
	else
		sim_wake_at(system, &readout->wake, system->readout_handler, readout->number, at);
}

// When the logic can go on by itself, ns; UINT64_MAX: not before something arrives.
static uint64_t goes_on_at(struct sim_readout *readout)
{
	const struct readout_logic *logic = &readout->logic;

	if (logic->sending && !readout_logic_is_sent(logic))
		return readout_pace_ready_at(&logic->pace);
	if (readout_logic_is_timed(logic) && readout_logic_waiting(logic) > 0)
		return logic->windows.ends;
	return UINT64_MAX;
}

void sim_readout_send(struct sim_readout *readout)
{
	struct sim_system *system = readout->node->system;
	const uint64_t now = sim_system_ns(system);
	uint64_t next;
	unsigned n = 0;

	if (system->parameters.costs.send > 0 && !sim_sleeps(system) &&
	    sim_node_queues(system, readout->node->cpu_free, &readout->turn)) {
		sim_readout_wake(readout, readout->turn);
		return;
	}
	if (readout->held != POOL_NONE) {
		if (!sim_wire_segment(readout->node, readout->held))
			return;
		readout->held = POOL_NONE;
	}
	while (n < STEPS_MOST && readout_logic_step(&readout->logic, now))
		n++;
	if (readout->held != POOL_NONE)
		return; // the fabric tells when there is room
	next = n == STEPS_MOST ? now : goes_on_at(readout);
	if (next == UINT64_MAX)
		return;
	if (next <= now)
		next = now + (n < STEPS_MOST);
	sim_readout_wake(readout, (next - 1) * SIM_NANOSECOND);
}

void sim_readout_poll(void *context, uint32_t index, uint32_t number)
{
	struct sim_system *system = context;
	struct sim_readout *readout = &system->readouts[index];

	if (number != readout->wake.number)
		return;
	readout->wake.at = SIM_NEVER;
	sim_readout_send(readout);
}

// --- creation ---

// The index in the system of a source of the node.
static uint16_t index_of(const struct sim_node *node, uint16_t id)
{
	const struct cluster_system *system = &node->cluster;
	unsigned i = system->nodes[node->number].first_source;

	while (i + 1 < system->n_sources && system->source_ids[i] != id)
		i++;
	return (uint16_t)i;
}

static bool make_store(struct sim_readout *readout, const struct source_sizes *sizes)
{
	const size_t n_blocks = (size_t)sizes->n_cycle * sizes->n_sources;

	readout->n_cycle = sizes->n_cycle;
	readout->sizes = malloc(n_blocks * sizeof(*readout->sizes));
	readout->sources = malloc(sizes->n_sources * sizeof(*readout->sources));
	if (readout->sizes == NULL || readout->sources == NULL)
		return false;
	memcpy(readout->sizes, sizes->sizes, n_blocks * sizeof(*readout->sizes));
	for (unsigned i = 0; i < sizes->n_sources; i++)
		readout->sources[i] = index_of(readout->node, sizes->ids[i]);
	readout->store = (struct block_store){
		.operations = &store_operations,
		.n_sources = sizes->n_sources,
		.packing = readout->node->system->parameters.packing,
		.capacity = UINT64_MAX,
		.ready = UINT64_MAX,
		.end = sizes->once ? sizes->n_cycle : UINT64_MAX,
	};
	return true;
}

static struct readout_logic_parameters parameters_of(struct sim_readout *readout,
						     const struct sim_generator *generator)
{
	const struct sim_system *system = readout->node->system;
	const struct sim_system_parameters *p = &system->parameters;
	const struct cluster_system_node *node = &p->system->nodes[readout->node->number];
	struct readout_logic_parameters parameters = {
		.store = &readout->store,
		.n_builders = p->system->n_builders,
		.n_nodes = p->system->n_nodes,
		.rank = cluster_readouts_below(p->system, readout->node->number),
		.n_senders = cluster_readouts_below(p->system, p->system->n_nodes),
		.source_buffer = p->manager.cluster.source_buffer,
		.is_random = p->manager.cluster.shaping == SCHED_RANDOM_ORDER,
		.seed = p->manager.sched.seed,
		.barrier = { .distance = p->manager.sched.phase_barrier,
			     .longest_wait_ns = phase_gate_longest_wait(p->heartbeat_timeout_ns,
									p->manager.deadline_ns) },
		.windows = p->windows,
		.pace = p->pace,
		.events = generator->events,
		.rate = generator->rate,
		.spill = generator->spill,
		.segment_size = node->mtu - (system->headers - NET_ETH_SIZE),
		.overhead = system->headers + NET_ETH_BESIDE,
		.ticks_per_second = SIM_NS_PER_SECOND,
		.output = &output,
		.context = readout,
	};

	parameters.pace.n_sources = readout->store.n_sources;
	parameters.pace.node_sources = node->n_sources;
	parameters.pace.system_sources = p->system->n_sources;
	parameters.pace.mtu = node->mtu;
	return parameters;
}

bool sim_readout_make(struct sim_readout *readout, const struct sim_generator *generator,
		      char *error)
{
	const struct sim_system *system = readout->node->system;
	const struct cluster_system *cluster = system->parameters.system;
	struct readout_logic_parameters parameters;

	readout->held = POOL_NONE;
	readout->wake.at = SIM_NEVER;
	(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "out of memory");
	if (!make_store(readout, &generator->sizes))
		return false;
	parameters = parameters_of(readout, generator);
	if (!readout_logic_make(&readout->logic, &parameters, &readout->counters,
				sim_system_ns(system)))
		return false;
	for (unsigned i = 0; i < cluster->n_builders; i++)
		readout_logic_set_builder(&readout->logic, i,
					  cluster_link_of(cluster, i).first_builder,
					  cluster->builders[i].node == readout->node->number);
	return true;
}

void sim_readout_free(struct sim_readout *readout)
{
	readout_logic_free(&readout->logic);
	free(readout->sizes);
	free(readout->sources);
}
