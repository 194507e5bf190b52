// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control protocol of a node: what node/control_role.c does on the data plane.
#include "sim_system/internal.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error_line.h"

#define RENEWALS   2u // of the contents of heartbeats per interval
#define NS_PER_US  1000u
#define BURST      32u // packets that a node handles before it does anything else
#define LOOPS_MOST 64u // of a node that is awake, without time passing

static bool manages(const struct sim_node *node)
{
	return node->cluster.manager == node->number;
}

// --- the endpoint ---

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct sim_node *node = context;
	const uint64_t now = sim_system_ns(node->system);

	if (node->manager != NULL)
		cluster_manager_record(node->manager, peer, record, now);
	cluster_node_record(node->node, peer, record, now);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct sim_node *node = context;

	if (node->manager != NULL)
		cluster_manager_event(node->manager, peer, event, sim_system_ns(node->system));
	cluster_node_event(node->node, peer, event);
}

static bool make_endpoint(struct sim_node *node, char *error)
{
	const struct sim_system_parameters *p = &node->system->parameters;
	struct control_parameters parameters = cluster_endpoint_parameters(
	    node->cluster.n_nodes, node->cluster.nodes[node->number].mtu);
	const char *reason = NULL;
	uint16_t peers[EVB_MAX_NODES];
	unsigned n = 0;

	for (unsigned i = 0; i < node->cluster.n_nodes; i++)
		if (i != node->number)
			peers[n++] = (uint16_t)i;
	parameters.handlers =
	    (struct control_handlers){ node, deliver, on_event, sim_wire_frame, NULL, NULL };
	parameters.peers = peers;
	parameters.node = (uint16_t)node->number;
	parameters.leads = manages(node);
	parameters.epoch = manages(node) ? ++node->system->epoch : 0;
	parameters.session = random_next(&node->system->random) | 1;
	parameters.heartbeat_interval = p->heartbeat_ns;
	parameters.heartbeat_timeout = p->heartbeat_timeout_ns;
	parameters.now = sim_system_ns(node->system);
	node->endpoint = control_create(&parameters, &reason);
	if (node->endpoint == NULL)
		(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "control endpoint of node %u: %s",
				 node->number, reason);
	return node->endpoint != NULL;
}

// --- messages ---

void sim_node_tell(void *context, const struct message *message)
{
	struct sim_node_builder *builder = context;
	struct sim_node *node = builder->node;

	if (!array_reserve(&node->outbox, &node->outbox_size, node->n_outbox + 1,
			   sizeof(*node->outbox))) {
		node->system->is_broken = true;
		return;
	}
	node->outbox[node->n_outbox++] = (struct sim_outgoing){ *message, builder->index };
	sim_node_wake(node, sim_now(node->system->parameters.engine));
}

// What builders say meanwhile is behind what they have said.
static void take_messages(struct sim_node *node, uint64_t now)
{
	for (size_t i = 0; i < node->n_outbox; i++) {
		const struct sim_outgoing outgoing = node->outbox[i];

		cluster_node_builder_message(node->node, outgoing.builder, &outgoing.message, now);
	}
	node->n_outbox = 0;
}

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	struct sim_node *node = context;

	if (!sim_builder_message(&node->builders[builder].builder, message,
				 sim_system_ns(node->system)))
		node->system->is_broken = true;
	return true;
}

static bool to_readout(void *context, unsigned index, const struct message *message)
{
	struct sim_node *node = context;
	struct sim_readout *readout = &node->readouts[index];
	const uint64_t now = sim_system_ns(node->system);

	if (message->kind == MESSAGE_RUN && message->run != readout->logic.run)
		readout->announced = message->event;
	readout_logic_message(&readout->logic, message, now);
	readout_logic_adapt(&readout->logic, now);
	sim_readout_wake(readout, sim_now(node->system->parameters.engine));
	return true;
}

// --- polls ---

// The node of the manager reports to the manager and to itself.
static void beat_self(struct sim_node *node, const struct ctrl_heartbeat *beat, uint64_t now)
{
	uint8_t bytes[CTRL_HEARTBEAT_MOST];
	const size_t size = ctrl_put_heartbeat(bytes, sizeof(bytes), beat);
	struct ctrl_record record;

	if (ctrl_record_at(bytes, size, &record) != WIRE_OK)
		return;
	cluster_manager_record(node->manager, node->number, &record, now);
	cluster_node_record(node->node, node->number, &record, now);
}

static void renew_heartbeat(struct sim_node *node, uint64_t now)
{
	struct ctrl_heartbeat beat;

	if (now < node->next_beat)
		return;
	node->next_beat = now + node->system->parameters.heartbeat_ns / RENEWALS;
	beat = cluster_node_heartbeat(node->node);
	beat.time = now;
	if (node->manager != NULL)
		beat.waits = cluster_manager_waits(node->manager);
	(void)control_set_heartbeat(node->endpoint, &beat);
	if (node->manager != NULL)
		beat_self(node, &beat, now);
}

// The ticks of readouts are ns.
static void share_clock(struct sim_node *node, uint64_t now)
{
	struct message message = { .kind = MESSAGE_CLOCK, .event = now };
	struct control_clock_estimate clock;

	if (node->n_readouts == 0 || !readout_logic_is_timed(&node->readouts[0].logic) ||
	    !control_clock(node->endpoint, cluster_node_manager(node->node), now, &clock))
		return;
	message.bytes = (uint32_t)(now / NS_PER_US) + clock.offset_us;
	for (unsigned i = 0; i < node->n_readouts; i++)
		readout_logic_message(&node->readouts[i].logic, &message, now);
}

static void poll_parts(struct sim_node *node, uint64_t now)
{
	for (unsigned i = 0; i < node->n_builders; i++)
		sim_builder_poll(&node->builders[i].builder, now);
	take_messages(node, now);
	for (unsigned i = 0; i < node->n_readouts; i++)
		readout_logic_tend(&node->readouts[i].logic, now);
}

static void poll_logic(struct sim_node *node, uint64_t now)
{
	if (manages(node) && !node->connected_self) {
		node->connected_self = true;
		cluster_node_event(node->node, node->number, CONTROL_CONNECTED);
	}
	renew_heartbeat(node, now);
	share_clock(node, now);
	cluster_node_poll(node->node, now);
	if (node->manager != NULL)
		cluster_manager_poll(node->manager, now);
	if (cluster_node_accepts_data(node->node))
		cluster_node_opened(node->node);
	(void)control_poll(node->endpoint, now);
}

static void wake_at(struct sim_node *node, uint64_t at)
{
	sim_wake_at(node->system, &node->wake, node->system->poll_handler, node->number, at);
}

void sim_node_wake(struct sim_node *node, uint64_t at)
{
	if (sim_sleeps(node->system))
		node->has_work |= at <= sim_now(node->system->parameters.engine);
	else
		wake_at(node, at);
}

// The nodes do not poll in step.
void sim_node_start(struct sim_node *node)
{
	struct sim_system *system = node->system;
	const uint64_t period = sim_sleeps(system) ? system->parameters.sleep_ns : SIM_POLL_NS;

	wake_at(node, sim_now(system->parameters.engine) +
			  random_next(&system->random) % (period * SIM_NANOSECOND));
}

// Whether the CPU has to work first for what arrived while the node slept, at most one burst; the
// node wakes when that is done.
static bool must_work(struct sim_node *node)
{
	const size_t n = node->n_arrived < BURST ? node->n_arrived : BURST;
	const uint64_t cost = sim_wire_cost(node, n);

	if (node->n_working > 0 || n == 0)
		return false;
	node->n_working = n;
	wake_at(node, sim_node_work(node->system, &node->cpu_free, cost));
	return true;
}

// A node that sleeps, at the end of a sleep: it does all that there is to do, and sleeps again.
static void wake_and_sleep(struct sim_node *node)
{
	struct sim_system *system = node->system;
	const uint64_t sleep = system->parameters.sleep_ns * SIM_NANOSECOND;
	uint64_t late, now;

	if (system->has_costs && must_work(node))
		return;
	late = random_next(&system->random) % (SIM_LATE_NS * SIM_NANOSECOND);
	now = sim_system_ns(system);
	sim_wire_receive(node, node->n_working > 0 ? node->n_working : node->n_arrived);
	node->n_working = 0;
	for (unsigned i = 0; i == 0 || (node->has_work && i < LOOPS_MOST); i++) {
		node->has_work = false;
		poll_parts(node, now);
		poll_logic(node, now);
		for (unsigned j = 0; j < node->n_readouts; j++)
			sim_readout_send(&node->readouts[j]);
	}
	// A node with a CPU that is busy, or with packets that came meanwhile, does not sleep yet.
	if (system->has_costs &&
	    (node->n_arrived > 0 || node->cpu_free > sim_now(system->parameters.engine)))
		wake_at(node, node->cpu_free);
	else
		wake_at(node, sim_now(system->parameters.engine) + sleep + late);
}

void sim_node_poll(void *context, uint32_t index, uint32_t number)
{
	struct sim_system *system = context;
	struct sim_node *node = &system->nodes[index];
	const uint64_t now = sim_system_ns(system);
	uint64_t next = now + SIM_POLL_NS;

	if (number != node->wake.number || node->node == NULL)
		return;
	node->wake.at = SIM_NEVER;
	if (sim_sleeps(system)) {
		wake_and_sleep(node);
		return;
	}
	if (system->has_costs && sim_node_queues(system, node->cpu_free, &node->turn)) {
		wake_at(node, node->turn);
		return;
	}
	poll_parts(node, now);
	poll_logic(node, now);
	for (unsigned i = 0; i < node->n_builders; i++) {
		const struct sim_builder *builder = &node->builders[i].builder;

		if (builder->due < next && !builder->is_paused)
			next = builder->due;
	}
	if (next <= now)
		next = now + 1;
	wake_at(node, (next - 1) * SIM_NANOSECOND);
}

// --- creation ---

static bool make_manager(struct sim_node *node, char *error)
{
	struct cluster_manager_parameters parameters = node->system->parameters.manager;
	char cause[SCHED_ERROR_SIZE];

	if (!manages(node))
		return true;
	parameters.cluster.system = parameters.wire.system = &node->cluster;
	parameters.transport = cluster_transport_of(node->endpoint);
	parameters.now = sim_system_ns(node->system);
	if (cluster_manager_check(&parameters, cause) != 0) {
		(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "event_manager: %s", cause);
		return false;
	}
	node->manager = cluster_manager_create(&parameters);
	return node->manager != NULL;
}

bool sim_node_begin(struct sim_node *node, char *error)
{
	const struct sim_system_parameters *p = &node->system->parameters;
	struct cluster_node_parameters parameters = {
		.cluster = p->manager.cluster,
		.n_readouts = node->n_readouts,
		.lease_ns = p->heartbeat_timeout_ns,
		.now = sim_system_ns(node->system),
		.context = node,
		.to_builder = to_builder,
		.to_readout = to_readout,
	};

	node->wake.at = SIM_NEVER;
	node->connected_self = false;
	node->next_beat = 0;
	parameters.cluster.system = &node->cluster;
	if (!make_endpoint(node, error))
		return false;
	(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "out of memory");
	parameters.transport = cluster_transport_of(node->endpoint);
	node->node = cluster_node_create(&parameters);
	return node->node != NULL && make_manager(node, error);
}

void sim_node_end(struct sim_node *node)
{
	cluster_manager_destroy(node->manager);
	cluster_node_destroy(node->node);
	control_destroy(node->endpoint);
	node->manager = NULL;
	node->node = NULL;
	node->endpoint = NULL;
	free(node->outbox);
	node->outbox = NULL;
	node->n_outbox = node->outbox_size = 0;
	free(node->arrived);
	node->arrived = NULL;
	node->n_arrived = node->arrived_size = node->n_handled = node->n_working = 0;
	node->cpu_free = node->turn = 0;
	node->life++;
}
