// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A builder requests the data of its events from the readouts. In pull mode it does so for each
// granted event. In push mode it does so only for an event that was granted again while the builder
// still held an earlier attempt, because the pushed data may have been discarded.
#include "cluster/node_internal.h"

#define REQUESTS_MOST 64u // requests of one builder in one poll

void node_builders_request_again(struct cluster_node *node, unsigned rank)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct tokens *tokens = &node->builders[i].tokens;

		for (uint32_t j = 0; j < tokens->n; j++)
			tokens_requested(tokens, j)[rank / 64] &=
			    tokens_responded(tokens, j)[rank / 64] | ~(UINT64_C(1) << rank % 64);
	}
}

// The first rank of `from` to before `end` that is connected and not in `requested`.
static unsigned first_clear(const struct cluster_node *node, const uint64_t *requested,
			    unsigned from, unsigned end)
{
	while (from < end) {
		const unsigned word = from / 64;
		const uint64_t clear = ~(requested[word] | node->lost[word]) >> from % 64;

		if (clear != 0) {
			from += (unsigned)__builtin_ctzll(clear);
			return from < end ? from : CLUSTER_NONE;
		}
		from = 64 * (word + 1);
	}
	return CLUSTER_NONE;
}

// The rank of the readout from which an event is to be requested next. Each builder begins with
// another readout, and so does each of its events: if all began with the same ones, only
// parallel_sends readouts would send to the builder, each at its share of the link. CLUSTER_NONE:
// all requests are sent, or as many readouts are sending as parallel_sends allows. A lost readout
// gets its requests when it is connected again.
static unsigned next_to_request(const struct cluster_node *node, unsigned builder, uint32_t token)
{
	const struct tokens *tokens = &node->builders[builder].tokens;
	const uint64_t *requested = tokens_requested(tokens, token);
	const uint64_t *responded = tokens_responded(tokens, token);
	const unsigned most = node->parameters.cluster.parallel_sends, n = node->readouts_of_all.n;
	const unsigned number = node->cluster->nodes[node_self(node)].first_builder + builder;
	unsigned sending = 0, first, rank;

	for (unsigned i = 0; i < node->words; i++)
		sending +=
		    (unsigned)__builtin_popcountll(requested[i] & ~responded[i] & ~node->lost[i]);
	if (n == 0 || sending >= most)
		return CLUSTER_NONE;
	first = (unsigned)((number + (uint64_t)token * most) % n);
	rank = first_clear(node, requested, first, n);
	return rank != CLUSTER_NONE ? rank : first_clear(node, requested, 0, first);
}

static void request(struct cluster_node *node, unsigned builder, uint32_t index, unsigned rank)
{
	const struct tokens *tokens = &node->builders[builder].tokens;
	const struct token *token = &tokens->tokens[index];
	const struct placement *placement = node_placement(node, builder);
	const struct ctrl_request record = {
		.grant = {
			.event = token->event,
			.slot = index,
			.generation = token->generation,
			.rate_kbps = cluster_share(&node->parameters.cluster, node_self(node),
						   node->readouts_of_all.nodes[rank],
						   token->rate_kbps),
			.run = node->run,
			.node = (uint16_t)node_self(node),
			.builder = (uint16_t)builder,
			.n_positions = 1,
			.attempt = token->attempt,
			.address = placement_of_slot(placement, index),
			.size = placement->slot_size,
			.rkey = placement->rkey,
			.flags = placement->rkey != 0 ? CTRL_PLACED : 0,
		},
	};
	uint8_t bytes[CTRL_REQUEST_SIZE(0)];

	tokens_requested(tokens, index)[rank / 64] |= UINT64_C(1) << rank % 64;
	node->view.requests++;
	cluster_send(&node->parameters.transport, node->readouts_of_all.nodes[rank], bytes,
		     ctrl_put_request(bytes, sizeof(bytes), &record));
}

void node_builders_offer(struct cluster_node *node, unsigned from, const struct ctrl_offer *offer)
{
	const struct tokens *tokens;
	uint32_t index;

	if (offer->builder >= node->n_builders || node->parameters.to_port == NULL) {
		node->view.unknown++;
		return;
	}
	tokens = &node->builders[offer->builder].tokens;
	index = tokens_find(tokens, offer->event);
	if (index == TOKEN_NONE || tokens->tokens[index].state != TOKEN_GRANTED ||
	    tokens->tokens[index].attempt != offer->attempt) {
		node->view.unknown++;
		return;
	}
	for (unsigned i = 0; i < offer->n; i++) {
		const struct ctrl_block block = ctrl_block_at(offer, i);
		const struct message message = {
			.kind = MESSAGE_READ,
			.event = offer->event,
			.builder = offer->builder,
			.node = (uint16_t)from,
			.source = block.source,
			.address = block.address,
			.size = block.length,
			.rkey = offer->rkey,
		};

		if (!node->parameters.to_port(node->parameters.context, &message))
			node->view.unknown++;
	}
}

void node_send_requests(struct cluster_node *node, unsigned index)
{
	struct node_builder *builder = &node->builders[index];
	unsigned left = REQUESTS_MOST;

	builder->requests = false;
	for (uint32_t i = 0; i < builder->tokens.n && left > 0; i++) {
		uint32_t at = (builder->pull_next + i) % builder->tokens.n;
		const struct token *token = &builder->tokens.tokens[at];

		builder->requests |= token->state == TOKEN_GRANTED && token->requests;
		while (token->state == TOKEN_GRANTED && token->expected && token->requests &&
		       left > 0) {
			unsigned rank = next_to_request(node, index, at);

			if (rank == CLUSTER_NONE)
				break;
			request(node, index, at, rank);
			left--;
		}
	}
	builder->requests |= left == 0; // the remaining tokens were not examined
	builder->pull_next = (builder->pull_next + 1) % builder->tokens.n;
}
