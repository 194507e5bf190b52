// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/node_internal.h"

void node_vote_make(struct cluster_node *node)
{
	node->manager = cluster_elects(node->cluster) ? CLUSTER_NONE : node->cluster->manager;
	node->voted_for = CLUSTER_NONE;
	vote_begin(&node->vote, node->parameters.lease_ns, node->parameters.now);
}

unsigned cluster_node_manager(const struct cluster_node *node)
{
	return node->manager;
}

uint32_t cluster_node_epoch(const struct cluster_node *node)
{
	return node->manager_epoch;
}

struct vote *cluster_node_vote(struct cluster_node *node)
{
	return &node->vote;
}

bool cluster_node_has_voted(struct cluster_node *node, unsigned *to)
{
	*to = node->voted_for;
	node->voted_for = CLUSTER_NONE;
	return *to != CLUSTER_NONE;
}

// To the nodes, a manager in a new epoch is one that has restarted: it knows nothing, and gets all
// reports again.
void cluster_node_follow(struct cluster_node *node, unsigned manager, uint32_t epoch)
{
	if (node->manager != CLUSTER_NONE && epoch <= node->manager_epoch)
		return;
	node->manager = manager;
	node->manager_epoch = epoch;
	node->view.take_overs++;
	node->view.followed_at = node->now;
	node->waits |= node->parameters.cluster.waits_for_sources;
	node_latency_forget_credits(node);
	node_reports_drop(node);
	node_send_register(node);
}

// A manager with another configuration refuses this node, which ends with the reason. It may just
// be about to take this node's configuration, as the others are: a process that has just started
// waits for as long as it does not vote.
static void join_to_be_refused(struct cluster_node *node, unsigned from,
			       const struct ctrl_lease *lease, uint64_t now)
{
	if (lease->office == CTRL_OFFICE_HELD && now >= node->vote.from)
		cluster_node_follow(node, from, lease->epoch);
}

void node_take_lease(struct cluster_node *node, unsigned from, const struct ctrl_lease *lease,
		     uint64_t now)
{
	if (!cluster_elects(node->cluster) || from == node_self(node) ||
	    from >= node->cluster->n_nodes || !node->cluster->nodes[from].manager)
		return;
	if (lease->config_hash != node->cluster->hash) {
		join_to_be_refused(node, from, lease, now);
		return;
	}
	if (vote_take(&node->vote, from, lease, now))
		node->voted_for = (uint16_t)from;
	if (lease->office == CTRL_OFFICE_HELD)
		cluster_node_follow(node, from, lease->epoch);
}
