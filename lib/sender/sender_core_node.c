// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <string.h>
#include <time.h>

#include "sender/sender_core_internal.h"

#define POLL_NS   20000u // between two polls of the logic while nothing arrives
#define RENEWALS  2u     // of the contents of heartbeats per interval
#define NS_PER_US 1000u

static const struct cluster_system *system_of(const struct sender_core *core)
{
	return core->parameters.cluster.system;
}

// --- the endpoint ---

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct sender_core *core = context;

	cluster_node_record(core->node, peer, record, core->now);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct sender_core *core = context;

	if (event == CONTROL_OCCUPIED)
		core->occupied = true;
	if (event == CONTROL_CONNECTED)
		core->occupied = false;
	cluster_node_event(core->node, peer, event);
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	const struct sender_core *core = context;

	return core->parameters.wire.send_frame(core->parameters.wire.context, peer, bytes, size);
}

static bool make_endpoint(struct sender_core *core, const char **reason)
{
	const struct sender_core_parameters *p = &core->parameters;
	const struct cluster_system *system = system_of(core);
	struct control_parameters parameters = cluster_endpoint_parameters(system->n_nodes, p->mtu);
	uint16_t peers[EVB_MAX_NODES];
	unsigned n = 0;

	for (unsigned i = 0; i < system->n_nodes; i++)
		if (i != system->self)
			peers[n++] = (uint16_t)i;
	parameters.handlers =
	    (struct control_handlers){ core, deliver, on_event, emit, NULL, NULL };
	parameters.peers = peers;
	parameters.node = (uint16_t)system->self;
	parameters.session = control_new_session();
	parameters.keys = p->keys;
	parameters.heartbeat_interval = p->heartbeat_ns;
	parameters.heartbeat_timeout = p->heartbeat_timeout_ns;
	parameters.now = core->now;
	core->endpoint = control_create(&parameters, reason);
	return core->endpoint != NULL;
}

// --- the node ---

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	(void)context;
	(void)builder;
	(void)message;
	return true; // there is none
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	struct sender_core *core = context;

	(void)readout;
	readout_logic_message(&core->logic, message, core->now);
	readout_logic_adapt(&core->logic, core->now);
	return true;
}

// Declares the builders of the system to the logic.
static void declare_builders(struct sender_core *core)
{
	const struct cluster_system *system = system_of(core);

	for (unsigned i = 0; i < system->n_builders; i++)
		readout_logic_set_builder(&core->logic, i, cluster_link_of(system, i).first_builder,
					  false);
}

bool sender_node_make(struct sender_core *core, const char **reason)
{
	struct cluster_node_parameters parameters = {
		.cluster = core->parameters.cluster,
		.n_readouts = 1,
		.resumes = core->parameters.readout.store->resumes,
		.lease_ns = core->parameters.heartbeat_timeout_ns,
		.now = core->now,
		.context = core,
		.to_builder = to_builder,
		.to_readout = to_readout,
	};

	if (!make_endpoint(core, reason))
		return false;
	parameters.transport = cluster_transport_of(core->endpoint);
	core->node = cluster_node_create(&parameters);
	*reason = "out of memory";
	declare_builders(core);
	return core->node != NULL;
}

void sender_node_free(struct sender_core *core)
{
	cluster_node_destroy(core->node);
	control_destroy(core->endpoint);
}

static void renew_heartbeat(struct sender_core *core)
{
	struct ctrl_heartbeat beat;
	struct timespec now;
	unsigned voted_for;

	if (cluster_node_has_voted(core->node, &voted_for))
		control_hasten_heartbeat(core->endpoint, voted_for);
	else if (core->now < core->next_beat)
		return;
	beat = cluster_node_heartbeat(core->node);
	core->next_beat = core->now + core->parameters.heartbeat_ns / RENEWALS;
	beat.events_waiting += core->n > core->first;
	clock_gettime(CLOCK_REALTIME, &now); // vDSO, no system call
	beat.time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	(void)control_set_heartbeat(core->endpoint, &beat);
}

// The ticks of the logic are ns.
static void share_clock(struct sender_core *core)
{
	struct message message = { .kind = MESSAGE_CLOCK, .event = core->now };
	struct control_clock_estimate clock;

	if (!readout_logic_is_timed(&core->logic) ||
	    !control_clock(core->endpoint, cluster_node_manager(core->node), core->now, &clock))
		return;
	message.bytes = (uint32_t)(core->now / NS_PER_US) + clock.offset_us;
	readout_logic_message(&core->logic, &message, core->now);
}

void sender_node_poll(struct sender_core *core)
{
	if (core->now < core->next_poll)
		return;
	core->next_poll = core->now + POLL_NS;
	renew_heartbeat(core);
	share_clock(core);
	cluster_node_poll(core->node, core->now);
	(void)control_poll(core->endpoint, core->now);
}

void sender_core_receive(struct sender_core *core, uint32_t address, const void *datagram,
			 size_t size, uint64_t now)
{
	const unsigned node =
	    cluster_sender_of(system_of(core), address, ctrl_frame_node(datagram, size));

	core->now = now;
	if (node == CLUSTER_NONE)
		core->foreign++;
	else if (control_receive(core->endpoint, datagram, size, now) != WIRE_OK)
		core->malformed++;
	core->next_poll = 0;
}
