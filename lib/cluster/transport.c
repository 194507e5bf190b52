// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/cluster.h"
#include "wire/net.h"

#define QUEUE_SIZE  (256u << 10)
#define PATIENCE_NS 5000000000ull // after which a node that accepts nothing is given up
// Frames in flight to all nodes together, and to each at least. Each endpoint stores so many of
// each node that arrive out of order.
#define ALL_FRAMES   4096u
#define LEAST_FRAMES 16u

static void send_record(void *context, unsigned node, const void *record, size_t size)
{
	struct control_endpoint *endpoint = context;

	if (size > 0 && !control_send(endpoint, node, record, size))
		control_give_up(endpoint, node);
}

static void send_to_all(void *context, const uint16_t *nodes, unsigned n, const void *record,
			size_t size)
{
	if (size > 0)
		control_send_all(context, nodes, n, record, size);
}

static size_t room_for(void *context, unsigned node, size_t largest)
{
	return control_room(context, node, largest);
}

struct cluster_transport cluster_transport_of(struct control_endpoint *endpoint)
{
	return (struct cluster_transport){
		.context = endpoint,
		.send = send_record,
		.send_all = send_to_all,
		.room = room_for,
		.endpoint = endpoint,
	};
}

struct control_parameters cluster_endpoint_parameters(unsigned n_nodes, uint32_t mtu)
{
	struct control_parameters parameters = control_defaults();
	const uint32_t used = mtu < CLUSTER_MTU_MOST ? mtu : CLUSTER_MTU_MOST;
	unsigned window = ALL_FRAMES / n_nodes;

	parameters.n_peers = n_nodes - 1;
	if (window > CTRL_MAX_WINDOW)
		window = CTRL_MAX_WINDOW;
	parameters.window = (uint16_t)(window > LEAST_FRAMES ? window : LEAST_FRAMES);
	parameters.queue_size = QUEUE_SIZE;
	parameters.frame_size = used - NET_IPV4_SIZE - NET_UDP_SIZE;
	parameters.patience = PATIENCE_NS;
	return parameters;
}

unsigned cluster_node_at(const struct cluster_system *system, uint32_t address)
{
	for (unsigned i = 0; i < system->n_nodes; i++)
		if (system->nodes[i].address == address && i != system->self)
			return i;
	return CLUSTER_NONE;
}

unsigned cluster_sender_of(const struct cluster_system *system, uint32_t address, unsigned named)
{
	if (named >= CTRL_MAX_NODES)
		return cluster_node_at(system, address);
	return named < system->n_nodes && named != system->self &&
		       system->nodes[named].address == address
		   ? named
		   : CLUSTER_NONE;
}
