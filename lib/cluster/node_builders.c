// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builders of a node: their tokens, and the steps of each event from its grant to its release.
#include "cluster/node_internal.h"

#include <stdlib.h>

static bool make_builder(const struct cluster_node *node, unsigned index)
{
	struct node_builder *builder = &node->builders[index];
	uint32_t slots = node_builder_of(node, index)->slots;

	builder->finished_size = cluster_finished(node->parameters.cluster.source_buffer);
	builder->finished = calloc(builder->finished_size, sizeof(*builder->finished));
	builder->early_size = cluster_spare(slots);
	builder->early = calloc(builder->early_size + 1, sizeof(*builder->early));
	builder->sources_due = calloc(node->words, sizeof(*builder->sources_due));
	return tokens_make(&builder->tokens, slots - cluster_spare(slots),
			   node->readouts_of_all.n) &&
	       builder->finished != NULL && builder->early != NULL && builder->sources_due != NULL;
}

bool node_builders_make(struct cluster_node *node)
{
	node->builders = calloc(node->n_builders + 1, sizeof(*node->builders));
	if (node->builders == NULL)
		return false;
	for (unsigned i = 0; i < node->n_builders; i++)
		if (!make_builder(node, i))
			return false;
	return true;
}

void node_builders_free(struct cluster_node *node)
{
	for (unsigned i = 0; node->builders != NULL && i < node->n_builders; i++) {
		tokens_free(&node->builders[i].tokens);
		free(node->builders[i].finished);
		free(node->builders[i].early);
		free(node->builders[i].sources_due);
	}
	free(node->builders);
}

static void send_to_builder(struct cluster_node *node, unsigned builder, enum message_kind kind,
			    unsigned flags, const struct token *token)
{
	const struct message message = {
		.kind = (uint16_t)kind,
		.flags = (uint16_t)flags,
		.event = token->event,
		.attempt = token->attempt,
		.slot = token->slot,
		.run = node->run,
	};

	// The mailbox has room for all messages that tokens can cause, so this is not expected.
	if (!node->parameters.to_builder(node->parameters.context, builder, &message))
		node->view.unknown++;
}

void node_builders_await(struct cluster_node *node)
{
	// The last events of the run wait for nobody.
	const uint16_t waits = node->ended ? 0 : node->waits;
	const struct message message = { .kind = MESSAGE_AWAIT, .state = waits % 2 };

	for (unsigned i = 0; i < node->n_builders; i++)
		if (node->builders[i].waits_sent != waits &&
		    node->parameters.to_builder(node->parameters.context, i, &message))
			node->builders[i].waits_sent = waits;
}

// --- sources that do not take part ---

// False while the mailbox of the builder is full.
static bool send_sources(struct cluster_node *node, unsigned index)
{
	uint64_t *due = node->builders[index].sources_due;

	for (unsigned word = 0; word < node->words; word++)
		while (due[word] != 0) {
			unsigned rank = 64 * word + (unsigned)__builtin_ctzll(due[word]);
			const struct message message = {
				.kind = MESSAGE_SOURCES,
				.event = node->source_from[rank],
				.node = node->readouts_of_all.nodes[rank],
			};

			if (!node->parameters.to_builder(node->parameters.context, index, &message))
				return false;
			due[word] &= due[word] - 1;
		}
	return true;
}

static bool is_due(const struct cluster_node *node, unsigned builder)
{
	uint64_t due = 0;

	for (unsigned word = 0; word < node->words; word++)
		due |= node->builders[builder].sources_due[word];
	return due != 0;
}

// --- grants ---

// Only BUILT can say that an event is published already.
static bool may_publish(const struct cluster_node *node, const struct token *token, uint32_t index)
{
	return token->permitted && node->now < node->permit_until && token->bytes <= UINT32_MAX &&
	       index <= UINT16_MAX;
}

static void publish(struct cluster_node *node, unsigned builder, struct token *token,
		    unsigned flags)
{
	token->state = TOKEN_SETTLED;
	send_to_builder(node, builder, MESSAGE_PUBLISH, flags, token);
}

static void make_built(struct cluster_node *node, unsigned builder, uint32_t index, uint32_t slot,
		       uint64_t bytes, uint16_t n_missing)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	token->slot = slot;
	token->bytes = bytes;
	token->n_missing = n_missing;
	node->view.built++;
	if (may_publish(node, token, index)) {
		token->unasked = true;
		publish(node, builder, token, 0);
		return;
	}
	// From now on the event needs PUBLISH: the manager expects that it is held.
	token->permitted = false;
	token->state = TOKEN_BUILT;
	node_send_done(node, builder, index);
}

// If the event of a new grant is complete already, DONE is sent at once.
static void use_early(struct cluster_node *node, unsigned index, uint32_t token)
{
	struct node_builder *builder = &node->builders[index];
	uint64_t event = builder->tokens.tokens[token].event;

	for (unsigned i = 0; i < builder->n_early; i++) {
		struct early early = builder->early[i];

		if (early.event != event)
			continue;
		builder->early[i] = builder->early[--builder->n_early];
		make_built(node, index, token, early.slot, early.bytes, 0);
		return;
	}
}

// Sends MESSAGE_EXPECT for a granted event. This waits while the builder still holds an earlier
// attempt of the same event.
static void expect(struct cluster_node *node, unsigned builder, uint64_t event)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint32_t index = tokens_find(tokens, event);
	struct token *token = &tokens->tokens[index];

	if (index == TOKEN_NONE || token->state != TOKEN_GRANTED || token->expected ||
	    !send_sources(node, builder))
		return;
	token->expected = true;
	send_to_builder(node, builder, MESSAGE_EXPECT, 0, token);
	use_early(node, builder, index);
}

// Releases a token whose slot is free. If its event has been granted again, the builder may now
// expect it.
static void release(struct cluster_node *node, unsigned builder, uint32_t index)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint64_t event = tokens->tokens[index].event;

	tokens_release(tokens, index);
	expect(node, builder, event);
}

void node_builders_set_source(struct cluster_node *node, unsigned rank, uint64_t from)
{
	if (node->source_from[rank] == from)
		return;
	node->source_from[rank] = from;
	for (unsigned i = 0; i < node->n_builders; i++)
		node->builders[i].sources_due[rank / 64] |= UINT64_C(1) << rank % 64;
	node_builders_send_sources(node);
}

void node_builders_send_sources(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		const struct tokens *tokens = &node->builders[i].tokens;

		if (!is_due(node, i) || !send_sources(node, i))
			continue;
		for (uint32_t j = 0; j < tokens->n; j++)
			if (tokens->tokens[j].state == TOKEN_GRANTED && !tokens->tokens[j].expected)
				expect(node, i, tokens->tokens[j].event);
	}
}

uint32_t node_builders_generation(const struct cluster_node *node, unsigned builder, uint32_t slot,
				  uint16_t low)
{
	const struct tokens *tokens = &node->builders[builder].tokens;

	return slot < tokens->n ? (tokens->tokens[slot].generation & ~(uint32_t)UINT16_MAX) | low
				: low;
}

void node_builders_grant(struct cluster_node *node, const struct ctrl_grant *grant)
{
	struct tokens *tokens;
	struct token *token;

	if (grant->builder >= node->n_builders || !node->registered) {
		node->view.unknown++;
		return;
	}
	tokens = &node->builders[grant->builder].tokens;
	token = grant->slot < tokens->n ? &tokens->tokens[grant->slot] : NULL;
	// A grant that is repeated for this node's readouts is counted as unknown here.
	if (token == NULL || token->state != TOKEN_FREE || token->generation != grant->generation) {
		node->view.unknown++;
		return;
	}
	node->view.grants++;
	tokens_grant(tokens, grant->slot, grant->event, grant->attempt);
	token->rate_kbps = grant->rate_kbps;
	token->permitted = (grant->flags & CTRL_PERMITTED) != 0;
	// If the builder still holds an earlier attempt of this event, it discards the data that
	// arrives before it has freed that attempt. The data is then requested from the readouts.
	token->requests = node->parameters.cluster.mode == SCHED_PULL ||
			  tokens_find(tokens, grant->event) != grant->slot;
	node->builders[grant->builder].requests |= token->requests;
	expect(node, grant->builder, grant->event);
}

static void remember_finished(struct cluster_node *node, struct node_builder *builder,
			      uint32_t index)
{
	const struct token *token = &builder->tokens.tokens[index];

	if (token->event < node->released)
		return;
	if (builder->n_finished == builder->finished_size) {
		builder->finished_head = (builder->finished_head + 1) % builder->finished_size;
		builder->n_finished--;
	}
	builder
	    ->finished[(builder->finished_head + builder->n_finished++) % builder->finished_size] =
	    tokens_held(&builder->tokens, index, CTRL_HOLDS_BUILT);
}

// Orders the builder to discard an event that it built without a grant.
static void discard_ungranted(struct cluster_node *node, unsigned builder, uint64_t event,
			      uint32_t slot)
{
	const struct token unknown = { .event = event, .slot = slot };

	send_to_builder(node, builder, MESSAGE_DISCARD, 0, &unknown);
}

// Discards the early events below an event.
static void drop_early(struct cluster_node *node, unsigned index, uint64_t below)
{
	struct node_builder *builder = &node->builders[index];
	unsigned n = 0;

	for (unsigned i = 0; i < builder->n_early; i++) {
		struct early early = builder->early[i];

		if (early.event >= below)
			builder->early[n++] = early;
		else
			discard_ungranted(node, index, early.event, early.slot);
	}
	builder->n_early = n;
}

void node_builders_released(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct node_builder *builder = &node->builders[i];

		drop_early(node, i, node->released);
		while (builder->n_finished > 0 &&
		       builder->finished[builder->finished_head].event < node->released) {
			builder->finished_head =
			    (builder->finished_head + 1) % builder->finished_size;
			builder->n_finished--;
		}
	}
}

static void withdraw(struct cluster_node *node, unsigned builder, uint32_t index)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	node->view.withdrawn++;
	if (!token->expected) {
		tokens_release(&node->builders[builder].tokens, index);
		return;
	}
	send_to_builder(node, builder, MESSAGE_DISCARD, MESSAGE_GRANTED, token);
	token->state = TOKEN_WITHDRAWN;
}

void node_builders_withdraw(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct tokens *tokens = &node->builders[i].tokens;

		drop_early(node, i, UINT64_MAX);
		for (uint32_t j = 0; j < tokens->n; j++)
			if (tokens->tokens[j].state == TOKEN_GRANTED ||
			    tokens->tokens[j].state == TOKEN_BUILT)
				withdraw(node, i, j);
	}
}

void node_builders_end_permissions(struct cluster_node *node)
{
	node->permit_until = 0;
	for (unsigned i = 0; i < node->n_builders; i++)
		for (uint32_t j = 0; j < node->builders[i].tokens.n; j++)
			node->builders[i].tokens.tokens[j].permitted = false;
}

bool node_builders_are_settled(const struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		const struct tokens *tokens = &node->builders[i].tokens;

		for (uint32_t j = 0; j < tokens->n; j++)
			if (tokens->tokens[j].state == TOKEN_SETTLED)
				return true;
	}
	return false;
}

static void take_sent(struct cluster_node *node, unsigned builder, unsigned from,
		      const struct ctrl_progress *p)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint32_t index = tokens_find(tokens, p->event);
	unsigned rank = node->readouts_of_all.of_node[from];

	if (index != TOKEN_NONE && tokens->tokens[index].attempt == p->attempt &&
	    rank != CLUSTER_NONE)
		tokens_responded(tokens, index)[rank / 64] |= UINT64_C(1) << rank % 64;
}

void node_builders_progress(struct cluster_node *node, unsigned from,
			    const struct ctrl_progress *progress)
{
	struct tokens *tokens;
	struct token *token;

	if (progress->step == CTRL_STEP_PUBLISHED)
		return; // only for the manager, which may run on this node
	if (progress->builder >= node->n_builders) {
		node->view.unknown++;
		return;
	}
	if (progress->step == CTRL_STEP_SENT) {
		take_sent(node, progress->builder, from, progress);
		return;
	}
	tokens = &node->builders[progress->builder].tokens;
	if (from != node->manager || progress->slot >= tokens->n)
		return;
	token = &tokens->tokens[progress->slot];
	if (token->generation != progress->generation || token->event != progress->event) {
		node->view.unknown++;
		return;
	}
	if (progress->step == CTRL_STEP_PUBLISH && token->state == TOKEN_BUILT) {
		publish(node, progress->builder, token,
			(progress->flags & CTRL_REPEATED) != 0 ? MESSAGE_REPEATED : 0);
	} else if (progress->step == CTRL_STEP_WITHDRAW &&
		   (token->state == TOKEN_BUILT || token->state == TOKEN_GRANTED)) {
		if (token->permitted)
			node_send_outcome(node, progress->builder, progress->slot, CTRL_UNBUILT);
		withdraw(node, progress->builder, progress->slot);
	} else {
		node->view.unknown++;
	}
}

// --- messages from a builder ---

// The data can arrive before the grant: a complete event then waits for the grant until the event
// is released.
static void take_ungranted(struct cluster_node *node, unsigned index, const struct message *message)
{
	struct node_builder *builder = &node->builders[index];

	if ((message->flags & MESSAGE_DISCARDED) != 0)
		return;
	if (message->n_missing > 0 || message->event < node->released || !node->registered ||
	    node->ended || builder->n_early == builder->early_size) {
		discard_ungranted(node, index, message->event, message->slot);
		return;
	}
	builder->early[builder->n_early++] = (struct early){
		.event = message->event,
		.bytes = message->bytes,
		.slot = message->slot,
	};
}

// The grant was in flight when the builder closed the event at its deadline: nothing was asked for
// what it lacks. With the next grant all of its data is sent again.
static void grant_again(struct cluster_node *node, unsigned builder, uint32_t index,
			const struct message *message)
{
	node_send_outcome(node, builder, index, CTRL_UNBUILT);
	if (!node->builders[builder].tokens.tokens[index].expected &&
	    (message->flags & MESSAGE_DISCARDED) == 0)
		discard_ungranted(node, builder, message->event, message->slot);
	withdraw(node, builder, index);
}

static void take_built(struct cluster_node *node, unsigned builder, uint32_t index,
		       const struct message *message)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	if (token->state == TOKEN_WITHDRAWN)
		return; // the builder has an order to discard it already
	if (token->state != TOKEN_GRANTED) {
		// The event was built again from repeated data.
		if ((message->flags & MESSAGE_DISCARDED) == 0)
			discard_ungranted(node, builder, message->event, message->slot);
		return;
	}
	if ((message->flags & MESSAGE_UNGRANTED) != 0 && message->n_missing > 0) {
		grant_again(node, builder, index, message);
		return;
	}
	if ((message->flags & MESSAGE_DISCARDED) == 0) {
		make_built(node, builder, index, message->slot, message->bytes, message->n_missing);
		return;
	}
	token->n_missing = message->n_missing;
	node_send_outcome(node, builder, index, CTRL_DISCARDED);
	release(node, builder, index);
}

static void take_refused(struct cluster_node *node, unsigned builder, uint32_t index)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];

	if (token->state != TOKEN_GRANTED && token->state != TOKEN_SETTLED)
		return;
	node_send_outcome(node, builder, index, CTRL_UNBUILT);
	release(node, builder, index);
}

static void take_freed(struct cluster_node *node, unsigned builder, uint32_t index,
		       const struct message *message)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	// Otherwise the slot is that of an attempt before, or of data that was sent again.
	if (token->state != TOKEN_PUBLISHED || token->slot != message->slot)
		return;
	token->released_ns = message->time;
	release(node, builder, index);
}

// Only the response to the token's own MESSAGE_DISCARD ends it: until then the builder may still
// expect the event for this attempt, and would discard the next one in its place.
static void take_dropped(struct cluster_node *node, unsigned builder, uint32_t index)
{
	if (node->builders[builder].tokens.tokens[index].state == TOKEN_WITHDRAWN)
		release(node, builder, index);
}

void cluster_node_builder_message(struct cluster_node *node, unsigned builder,
				  const struct message *message, uint64_t now)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint32_t index;

	node->now = now;
	if (message->kind == MESSAGE_OPEN) {
		node->builders[builder].is_open = message->state != 0;
		return;
	}
	index = tokens_find(tokens, message->event);
	if (index == TOKEN_NONE) {
		if (message->kind == MESSAGE_BUILT)
			take_ungranted(node, builder, message);
		return;
	}
	switch (message->kind) {
	case MESSAGE_BUILT:
		take_built(node, builder, index, message);
		break;
	case MESSAGE_PUBLISHED:
		if (tokens->tokens[index].state != TOKEN_SETTLED)
			break;
		tokens->tokens[index].state = TOKEN_PUBLISHED;
		node->view.published++;
		remember_finished(node, &node->builders[builder], index);
		node_send_published(node, builder, index);
		break;
	case MESSAGE_REFUSED:
		take_refused(node, builder, index);
		break;
	case MESSAGE_FREED:
		take_freed(node, builder, index, message);
		break;
	case MESSAGE_DROPPED:
		take_dropped(node, builder, index);
		break;
	default:
		break;
	}
}
