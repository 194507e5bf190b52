// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What stands for a readout: it announces what its boards have read, at most source_buffer ahead of
// what is released, and sends what it is told to.
#include "farm.h"

void sim_readout_open(struct farm_node *node, unsigned index)
{
	const struct farm *farm = node->farm;
	const struct cluster_system *cluster = &farm->configs[node->number]->cluster;

	node->readouts[index] = (struct sim_readout){
		.source = cluster->nodes[node->number].first_source + index,
		.end = UINT64_MAX,
	};
}

// Smaller than what may be told: the node has to come again.
bool sim_readout_message(struct farm_node *node, unsigned index, const struct message *message)
{
	return sim_messages_put(&node->readouts[index].in, 32, message);
}

static uint64_t *kept_of(struct farm_node *node, const struct sim_readout *readout)
{
	return &node->kept[readout - node->readouts];
}

static void take_run(struct farm_node *node, struct sim_readout *readout,
		     const struct message *message)
{
	if (message->run != readout->run) {
		if (message->state != CTRL_RUNNING)
			farm_broken(node->farm, "a readout is not told where to begin");
		readout->run = message->run;
		readout->first = readout->announced = message->event;
		readout->since = node->farm->now;
		readout->taken_at = node->farm->now + farm_below(node->farm, 5 * MS);
		readout->end = UINT64_MAX;
		readout->ended = false;
	}
	readout->state = (enum ctrl_run_state)message->state;
	if (readout->state != CTRL_DRAINING)
		return;
	readout->end = message->event;
	if (readout->announced > readout->end)
		readout->announced = readout->end;
	readout->ended = false;
}

static void take_message(struct farm_node *node, struct sim_readout *readout)
{
	struct message message = sim_messages_take(&readout->in);

	switch (message.kind) {
	case MESSAGE_RUN:
		take_run(node, readout, &message);
		break;
	case MESSAGE_RELEASE:
		if (message.event < readout->released)
			farm_broken(node->farm, "a release goes back");
		readout->released = message.event;
		break;
	case MESSAGE_THROTTLE:
		readout->throttled = message.state != 0;
		break;
	case MESSAGE_PHASE:
		readout->has_limit = true;
		readout->limit = (uint32_t)message.event;
		break;
	case MESSAGE_SEND:
		if ((message.flags & MESSAGE_BARRIER) != 0)
			readout->session = message.state;
		if (readout->n_sends < sizeof(readout->sends) / sizeof(readout->sends[0]))
			readout->sends[readout->n_sends++] = message;
		else
			farm_broken(node->farm, "too many sends under way");
		break;
	default:
		farm_broken(node->farm, "message %u to a readout", message.kind);
	}
}

static void announce(struct farm_node *node, struct sim_readout *readout)
{
	const struct farm *farm = node->farm;
	const struct config *config = farm->configs[node->number];
	double rate = farm->options.rate > 0 ? farm->options.rate : 500;
	uint64_t made =
	    readout->first + (uint64_t)((double)(farm->now - readout->since) * 1e-9 * rate);
	uint64_t last = farm->options.events > 0 ? farm->options.events : UINT64_MAX;
	uint64_t end = readout->released + config->event_manager.source_buffer;
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = readout->run };
	bool ended;

	if (last > readout->end)
		last = readout->end;
	if (made < end)
		end = made;
	if (last < end)
		end = last;
	if (readout->state != CTRL_RUNNING && readout->state != CTRL_DRAINING)
		return;
	if (readout->throttled && readout->state == CTRL_RUNNING)
		return;
	if (end < readout->announced)
		end = readout->announced;
	ended = end >= last;
	if (end == readout->announced && ended == readout->ended)
		return;
	message.event = end;
	message.flags = ended ? MESSAGE_LAST : 0;
	if (!sim_messages_put(&readout->out, 64, &message))
		return;
	readout->announced = end;
	readout->ended = ended;
	if (end > *kept_of(node, readout))
		*kept_of(node, readout) = end;
}

// One event; the order among those that wait is any.
static void send_one(struct farm_node *node, struct sim_readout *readout)
{
	struct farm *farm = node->farm;
	unsigned at = (unsigned)farm_below(farm, readout->n_sends);
	struct message message = readout->sends[at];

	readout->sends[at] = readout->sends[--readout->n_sends];
	readout->next_send = farm->now + farm_below(farm, 300 * US);
	if (message.event < readout->released || message.event < readout->first ||
	    message.event >= (farm->options.resumes ? *kept_of(node, readout) : readout->announced))
		farm->n_unknown_sends++;
	else
		network_data(farm, node->number, message.builder, readout->source, message.event);
	if ((message.flags & MESSAGE_REQUESTED) == 0)
		return;
	message.kind = MESSAGE_SENT;
	cluster_node_readout_message(node->node, (unsigned)(readout - node->readouts), &message,
				     farm->now);
}

// Static mode: nobody grants, and nobody releases.
static void send_statically(struct farm_node *node, struct sim_readout *readout)
{
	unsigned n_builders = node->farm->configs[0]->cluster.n_builders;

	for (; readout->static_next < readout->announced; readout->static_next++)
		network_data(node->farm, node->number,
			     (unsigned)(readout->static_next % n_builders), readout->source,
			     readout->static_next);
	readout->released = readout->static_next;
}

void sim_readout_poll(struct farm_node *node, unsigned index)
{
	struct sim_readout *readout = &node->readouts[index];

	while (readout->in.n > 0 && sim_looks(node->farm))
		take_message(node, readout);
	announce(node, readout);
	if (farm_is_static(node->farm))
		send_statically(node, readout);
	if (node->farm->options.resumes &&
	    (readout->run == 0 || node->farm->now < readout->taken_at))
		return; // what it resumes with is not there yet
	while (readout->n_sends > 0 && readout->next_send <= node->farm->now)
		send_one(node, readout);
	while (readout->out.n > 0 && sim_looks(node->farm)) {
		struct message message = sim_messages_take(&readout->out);

		cluster_node_readout_message(node->node, index, &message, node->farm->now);
	}
}
