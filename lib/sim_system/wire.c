// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packets of the system in the fabric. `user` of a packet is the number of a segment or of a frame,
// with one bit that says which.
#include "sim_system/internal.h"

#include <string.h>

#include "base/array.h"
#include "wire/net.h"

#define FCS_SIZE   4u
#define LEAST_SIZE 64u // of a frame with its FCS

static uint32_t frame_bytes(uint32_t size)
{
	return size + FCS_SIZE < LEAST_SIZE ? LEAST_SIZE : size + FCS_SIZE;
}

// --- sending ---

bool sim_wire_frame(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct sim_node *node = context;
	struct sim_system *system = node->system;
	const uint32_t number = frames_put(&system->frames, node->number, peer, bytes, size);
	const struct sim_packet packet = {
		.user = (uint64_t)number << 1 | SIM_IS_CONTROL,
		.source = node->host,
		.destination = system->nodes[peer].host,
		.flow = node->number * EVB_MAX_NODES + peer,
		.bytes = frame_bytes(NET_HEADERS_SIZE + (uint32_t)size),
		.priority = system->parameters.control_priority,
	};

	if (number == POOL_NONE) {
		system->is_broken = true;
		return false;
	}
	if (sim_send(system->fabric, &packet) != SIM_SENT) {
		frames_drop(&system->frames, number);
		return false;
	}
	if (system->has_costs)
		sim_node_work(system, &node->cpu_free, system->parameters.costs.control);
	node->view.control_sent++;
	node->view.control_sent_wire += sim_wire_bytes(&packet);
	system->packets.control_underway++;
	return true;
}

bool sim_wire_segment(struct sim_node *node, uint32_t number)
{
	struct sim_system *system = node->system;
	struct sim_segment *segment = pool_at(&system->segments, number);
	const struct sim_packet packet = {
		.user = (uint64_t)number << 1,
		.source = node->host,
		.destination = system->builders[segment->builder].node->host,
		.flow = (uint32_t)segment->source << 16 | segment->builder,
		.bytes = frame_bytes(system->headers + segment->size),
		.priority = system->parameters.data_priority,
		.may_mark = true,
	};

	segment->wire = sim_wire_bytes(&packet);
	if (sim_send(system->fabric, &packet) != SIM_SENT)
		return false;
	node->view.sent_segments++;
	node->view.sent_wire += segment->wire;
	system->packets.data_underway++;
	return true;
}

// --- what the fabric calls ---

static void lose_frame(struct sim_system *system, uint32_t number)
{
	system->packets.control_underway--;
	system->packets.control_lost++;
	frames_drop(&system->frames, number);
}

static void receive_frame(struct sim_node *node, uint32_t number)
{
	struct sim_system *system = node->system;
	const struct sim_frame *frame = frames_at(&system->frames, number);

	system->packets.control_underway--;
	node->view.control_received++;
	node->view.control_received_wire +=
	    frame_bytes(NET_HEADERS_SIZE + frame->size) + SIM_ETHERNET_OVERHEAD;
	(void)control_receive(node->endpoint, frame->bytes, frame->size, sim_system_ns(system));
	frames_drop(&system->frames, number);
	sim_node_wake(node, sim_now(system->parameters.engine));
}

static void receive_segment(struct sim_node *node, uint32_t number)
{
	struct sim_system *system = node->system;
	const struct sim_segment *segment = pool_at(&system->segments, number);

	system->packets.data_underway--;
	node->view.received_segments++;
	node->view.received_wire += segment->wire;
	sim_builder_segment(&system->builders[segment->builder].builder, 0, number,
			    sim_system_ns(system));
}

static void receive(struct sim_node *node, uint64_t user)
{
	if ((user & SIM_IS_CONTROL) != 0)
		receive_frame(node, (uint32_t)(user >> 1));
	else
		receive_segment(node, (uint32_t)(user >> 1));
}

// False: memory ran out.
static bool keep(struct sim_node *node, uint64_t user)
{
	if (!array_reserve(&node->arrived, &node->arrived_size, node->n_arrived + 1, sizeof(user)))
		return false;
	node->arrived[node->n_arrived++] = user;
	return true;
}

// Forgets those that have been handled.
static void remove_handled(struct sim_node *node)
{
	node->n_arrived -= node->n_handled;
	memmove(node->arrived, node->arrived + node->n_handled,
		node->n_arrived * sizeof(*node->arrived));
	node->n_handled = 0;
}

void sim_wire_receive(struct sim_node *node, size_t n)
{
	for (size_t i = 0; i < n; i++)
		receive(node, node->arrived[i]);
	node->n_handled = n;
	if (n > 0)
		remove_handled(node);
}

static uint64_t cost_of(const struct sim_system *system, uint64_t user)
{
	return (user & SIM_IS_CONTROL) != 0 ? system->parameters.costs.control
					    : system->parameters.costs.receive;
}

uint64_t sim_wire_cost(const struct sim_node *node, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cost_of(node->system, node->arrived[i]);
	return sum;
}

void sim_wire_handled(void *context, uint32_t index, uint32_t life)
{
	struct sim_system *system = context;
	struct sim_node *node = &system->nodes[index];

	if (life != (node->life & SIM_MAX_DATA) || node->node == NULL)
		return;
	receive(node, node->arrived[node->n_handled++]);
	if (node->n_handled > node->n_arrived / 2)
		remove_handled(node);
}

// The CPU of a node that polls handles a packet when it has done what it has to do already.
static void work_for(struct sim_node *node, uint64_t user)
{
	struct sim_system *system = node->system;
	const uint64_t at = sim_node_work(system, &node->cpu_free, cost_of(system, user));

	sim_at(system->parameters.engine, at, system->cpu_handler, node->number,
	       node->life & SIM_MAX_DATA);
}

void sim_wire_forget(struct sim_node *node)
{
	struct sim_system *system = node->system;

	for (size_t i = node->n_handled; i < node->n_arrived; i++)
		lose_frame(system, (uint32_t)(node->arrived[i] >> 1));
	system->packets.to_ended += node->n_arrived - node->n_handled;
	node->n_arrived = node->n_handled = 0;
}

static void deliver(void *context, uint32_t host, const struct sim_packet *packet)
{
	struct sim_system *system = context;
	struct sim_node *node = &system->nodes[system->nodes_of_hosts[host]];

	if (node->node == NULL) {
		lose_frame(system, (uint32_t)(packet->user >> 1));
		system->packets.to_ended++;
	} else if (!sim_sleeps(system) && !system->has_costs) {
		receive(node, packet->user);
	} else if (!keep(node, packet->user)) {
		system->is_broken = true;
	} else if (!sim_sleeps(system)) {
		work_for(node, packet->user);
	}
}

static void dropped(void *context, const struct sim_packet *packet, uint32_t port,
		    enum sim_cause cause)
{
	struct sim_system *system = context;
	const uint32_t number = (uint32_t)(packet->user >> 1);

	(void)port;
	system->packets.by_cause[cause]++;
	if ((packet->user & SIM_IS_CONTROL) != 0) {
		lose_frame(system, number);
	} else {
		system->packets.data_underway--;
		system->packets.data_lost++;
		pool_give_back(&system->segments, number);
	}
}

static void room(void *context, uint32_t host, unsigned priority)
{
	struct sim_system *system = context;
	struct sim_node *node = &system->nodes[system->nodes_of_hosts[host]];
	const uint64_t now = sim_now(system->parameters.engine);

	if (priority == system->parameters.control_priority)
		sim_node_wake(node, now);
	for (unsigned i = 0; i < node->n_readouts; i++)
		if (node->readouts[i].held != POOL_NONE)
			sim_wake_at(system, &node->readouts[i].wake, system->readout_handler,
				    node->readouts[i].number, now);
}

const struct sim_host_operations sim_system_operations = {
	.deliver = deliver,
	.room = room,
	.dropped = dropped,
};
