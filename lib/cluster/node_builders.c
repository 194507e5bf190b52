// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builders' side of a node: tokens, and the way of each event from its grant to its release.
#include "cluster/node_internal.h"

#include <stdlib.h>

#define CREDITS_MOST  128u // in one record
#define ADOPTS_MOST   48u
#define REQUESTS_MOST 64u // in one poll

bool node_builders_make(struct cluster_node *node)
{
	node->builders = calloc(node->n_builders + 1, sizeof(*node->builders));
	if (node->builders == NULL)
		return false;
	for (unsigned i = 0; i < node->n_builders; i++)
		if (!tokens_make(&node->builders[i].tokens,
				 node->parameters.config->builders[i].slots))
			return false;
	return true;
}

void node_builders_free(struct cluster_node *node)
{
	for (unsigned i = 0; node->builders != NULL && i < node->n_builders; i++)
		tokens_free(&node->builders[i].tokens);
	free(node->builders);
}

static void tell_builder(struct cluster_node *node, unsigned builder, enum note_kind kind,
			 const struct token *token)
{
	const struct note note = {
		.kind = (uint16_t)kind,
		.event = token->event,
		.attempt = token->attempt,
		.slot = token->slot,
		.run = node->run,
	};

	// Its mailbox has room for all notes that tokens can cause.
	if (!node->parameters.to_builder(node->parameters.context, builder, &note))
		node->view.unknown++;
}

static void say_done(struct cluster_node *node, unsigned builder, uint32_t index, unsigned outcome)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];
	const struct ctrl_done done = {
		.event = token->event,
		.bytes = token->bytes,
		.slot = index,
		.generation = token->generation,
		.run = node->run,
		.builder = (uint16_t)builder,
		.attempt = token->attempt,
		.outcome = (uint8_t)outcome,
	};
	uint8_t bytes[CTRL_DONE_SIZE(0)];

	node_tell_manager(node, bytes, ctrl_put_done(bytes, sizeof(bytes), &done));
}

static void say_published(struct cluster_node *node, unsigned builder, uint32_t index)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];
	const struct ctrl_progress progress = {
		.event = token->event,
		.slot = index,
		.generation = token->generation,
		.run = node->run,
		.builder = (uint16_t)builder,
		.attempt = token->attempt,
		.step = CTRL_STEP_PUBLISHED,
	};
	uint8_t bytes[CTRL_PROGRESS_SIZE];

	node_tell_manager(node, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

// --- what a manager that does not know this builder is told ---

struct adopt_list {
	struct cluster_node *node;
	unsigned builder;
	struct ctrl_held held[ADOPTS_MOST];
	unsigned n;
};

static void send_adopts(struct adopt_list *list, bool last)
{
	const struct ctrl_adopt adopt = {
		.run = list->node->run,
		.builder = (uint16_t)list->builder,
		.n = (uint16_t)list->n,
		.flags = last ? CTRL_LAST : 0,
	};
	uint8_t bytes[CTRL_ADOPT_SIZE(ADOPTS_MOST)];

	node_tell_manager(list->node, bytes,
			  ctrl_put_adopt(bytes, sizeof(bytes), &adopt, list->held));
	list->n = 0;
}

static void add_adopt(struct adopt_list *list, const struct ctrl_held *held)
{
	if (list->n == ADOPTS_MOST)
		send_adopts(list, false);
	list->held[list->n++] = *held;
}

static void say_adopts(struct cluster_node *node, unsigned index)
{
	struct node_builder *builder = &node->builders[index];
	struct adopt_list list = { .node = node, .builder = index };

	for (unsigned i = 0; i < builder->n_finished; i++) {
		const struct finished *finished =
		    &builder->finished[(builder->finished_head + i) % FINISHED_SIZE];
		const struct ctrl_held held = {
			.event = finished->event,
			.slot = finished->token,
			.generation = finished->generation,
			.attempt = finished->attempt,
			.holding = CTRL_HOLDS_BUILT,
		};

		add_adopt(&list, &held);
	}
	for (uint32_t i = 0; i < builder->tokens.n; i++) {
		const struct token *token = &builder->tokens.tokens[i];
		const struct ctrl_held held = {
			.event = token->event,
			.slot = i,
			.generation = token->generation,
			.attempt = token->attempt,
			.holding = CTRL_HOLDS_OPEN,
		};

		if (token->state == TOKEN_GRANTED || token->state == TOKEN_BUILT)
			add_adopt(&list, &held);
	}
	send_adopts(&list, true);
}

void node_builders_report(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct tokens *tokens = &node->builders[i].tokens;
		const struct ctrl_builder record = {
			.slot_size = node->parameters.config->builders[i].slot_size,
			.slots = tokens->n,
			.generation = 1,
			.builder = (uint16_t)i,
		};
		uint8_t bytes[CTRL_BUILDER_SIZE];

		node_tell_manager(node, bytes, ctrl_put_builder(bytes, sizeof(bytes), &record));
		say_adopts(node, i);
		for (uint32_t j = 0; j < tokens->n; j++)
			if (tokens->tokens[j].state == TOKEN_BUILT)
				say_done(node, i, j,
					 tokens->tokens[j].incomplete ? CTRL_INCOMPLETE
								      : CTRL_COMPLETE);
		tokens_uncredit(tokens);
	}
}

// --- grants ---

void node_builders_grant(struct cluster_node *node, const struct ctrl_grant *grant)
{
	struct tokens *tokens;

	if (grant->builder >= node->n_builders || !node->registered) {
		node->view.unknown++;
		return;
	}
	tokens = &node->builders[grant->builder].tokens;
	if (grant->slot >= tokens->n || tokens->tokens[grant->slot].state != TOKEN_FREE ||
	    tokens->tokens[grant->slot].generation != grant->generation ||
	    tokens_find(tokens, grant->event) != TOKEN_NONE) {
		node->view.unknown++;
		return;
	}
	node->view.grants++;
	tokens_grant(tokens, grant->slot, grant->event, grant->attempt);
	tell_builder(node, grant->builder, NOTE_EXPECT, &tokens->tokens[grant->slot]);
}

static void remember_finished(struct cluster_node *node, struct node_builder *builder,
			      uint32_t index)
{
	const struct token *token = &builder->tokens.tokens[index];

	if (token->event < node->released)
		return;
	if (builder->n_finished == FINISHED_SIZE) {
		builder->finished_head = (builder->finished_head + 1) % FINISHED_SIZE;
		builder->n_finished--;
	}
	builder->finished[(builder->finished_head + builder->n_finished++) % FINISHED_SIZE] =
	    (struct finished){
		    .event = token->event,
		    .token = index,
		    .generation = token->generation,
		    .attempt = token->attempt,
	    };
}

void node_builders_released(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct node_builder *builder = &node->builders[i];

		// Events finish nearly in order: those that are not are dropped a little later.
		while (builder->n_finished > 0 &&
		       builder->finished[builder->finished_head].event < node->released) {
			builder->finished_head = (builder->finished_head + 1) % FINISHED_SIZE;
			builder->n_finished--;
		}
	}
}

static void withdraw(struct cluster_node *node, unsigned builder, uint32_t index)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	node->view.withdrawn++;
	tell_builder(node, builder, NOTE_DISCARD, token);
	token->state = TOKEN_WITHDRAWN;
}

void node_builders_withdraw(struct cluster_node *node)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct tokens *tokens = &node->builders[i].tokens;

		for (uint32_t j = 0; j < tokens->n; j++)
			if (tokens->tokens[j].state == TOKEN_GRANTED ||
			    tokens->tokens[j].state == TOKEN_BUILT)
				withdraw(node, i, j);
	}
}

static void take_sent(struct cluster_node *node, unsigned builder, const struct ctrl_progress *p)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint32_t index = tokens_find(tokens, p->event);

	if (index != TOKEN_NONE && tokens->tokens[index].attempt == p->attempt)
		tokens->tokens[index].answered++;
}

void node_builders_progress(struct cluster_node *node, unsigned from,
			    const struct ctrl_progress *progress)
{
	struct tokens *tokens;
	struct token *token;

	if (progress->builder >= node->n_builders) {
		node->view.unknown++;
		return;
	}
	if (progress->step == CTRL_STEP_SENT) {
		take_sent(node, progress->builder, progress);
		return;
	}
	tokens = &node->builders[progress->builder].tokens;
	if (from != node->cluster->manager || progress->slot >= tokens->n)
		return;
	token = &tokens->tokens[progress->slot];
	if (token->generation != progress->generation || token->event != progress->event) {
		node->view.unknown++;
		return;
	}
	if (progress->step == CTRL_STEP_PUBLISH && token->state == TOKEN_BUILT) {
		token->state = TOKEN_SETTLED;
		tell_builder(node, progress->builder, NOTE_PUBLISH, token);
		remember_finished(node, &node->builders[progress->builder], progress->slot);
	} else if (progress->step == CTRL_STEP_WITHDRAW &&
		   (token->state == TOKEN_BUILT || token->state == TOKEN_GRANTED)) {
		withdraw(node, progress->builder, progress->slot);
	} else {
		node->view.unknown++;
	}
}

// --- notes of a builder ---

static void take_built(struct cluster_node *node, unsigned builder, uint32_t index,
		       const struct note *note)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	if (token->state != TOKEN_GRANTED)
		return; // withdrawn in the meantime: it has been told
	token->slot = note->slot;
	token->bytes = note->bytes;
	token->incomplete = (note->flags & NOTE_INCOMPLETE) != 0;
	token->state = TOKEN_BUILT;
	node->view.built++;
	if ((note->flags & NOTE_DISCARDED) != 0) {
		token->state = TOKEN_WITHDRAWN; // its slot is free; NOTE_FREED follows
		say_done(node, builder, index, CTRL_DISCARDED);
	} else {
		say_done(node, builder, index, token->incomplete ? CTRL_INCOMPLETE : CTRL_COMPLETE);
	}
}

void cluster_node_builder_note(struct cluster_node *node, unsigned builder, const struct note *note)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint32_t index = tokens_find(tokens, note->event);
	struct token unknown = { .event = note->event, .slot = note->slot };

	if (index == TOKEN_NONE) {
		// Data of an event that was not granted, or no longer is, made it open one.
		if (note->kind == NOTE_BUILT && (note->flags & NOTE_DISCARDED) == 0)
			tell_builder(node, builder, NOTE_DISCARD, &unknown);
		return;
	}
	switch (note->kind) {
	case NOTE_BUILT:
		take_built(node, builder, index, note);
		break;
	case NOTE_PUBLISHED:
		tokens->tokens[index].state = TOKEN_PUBLISHED;
		node->view.published++;
		say_published(node, builder, index);
		break;
	case NOTE_REFUSED:
		if (tokens->tokens[index].state == TOKEN_GRANTED)
			say_done(node, builder, index, CTRL_UNBUILT);
		tokens_release(tokens, index);
		break;
	case NOTE_FREED:
		if (note->attempt == NOTE_ANY_ATTEMPT ||
		    note->attempt == tokens->tokens[index].attempt)
			tokens_release(tokens, index);
		break;
	default:
		break;
	}
}

// --- what is sent in each poll ---

static void say_credits(struct cluster_node *node, unsigned builder)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint8_t bytes[CTRL_CREDIT_LIST_SIZE(CREDITS_MOST)];

	while (tokens->n_uncredited > 0) {
		struct ctrl_credit credits[CREDITS_MOST];
		unsigned n = 0;

		while (n < CREDITS_MOST && tokens->n_uncredited > 0) {
			uint32_t token = tokens_next_credit(tokens);

			credits[n].slot = token;
			credits[n++].generation = tokens->tokens[token].generation;
		}
		node_tell_manager(
		    node, bytes,
		    ctrl_put_credit_list(bytes, sizeof(bytes), (uint16_t)builder, credits, n));
	}
}

// Asks the next readout, in an order that begins elsewhere for each builder.
static void request(struct cluster_node *node, unsigned builder, uint32_t index)
{
	const struct cluster_readouts *readouts = &node->readouts_of_all;
	struct token *token = &node->builders[builder].tokens.tokens[index];
	unsigned first = node->cluster->nodes[node_self(node)].first_builder + builder;
	unsigned to = readouts->nodes[(first + token->asked) % readouts->n];
	const struct cluster_post *post = &node->parameters.post;
	const struct ctrl_request record = {
		.grant = {
			.event = token->event,
			.slot = index,
			.generation = token->generation,
			.run = node->run,
			.node = (uint16_t)node_self(node),
			.builder = (uint16_t)builder,
			.n_positions = 1,
			.attempt = token->attempt,
		},
	};
	uint8_t bytes[CTRL_REQUEST_SIZE(0)];

	token->asked++;
	if (node->lost[to]) {
		token->answered++; // its data will be missing
		return;
	}
	node->view.requests++;
	post->send(post->context, to, bytes, ctrl_put_request(bytes, sizeof(bytes), &record));
}

static void say_requests(struct cluster_node *node, unsigned index)
{
	const struct config_event_manager *manager = &node->parameters.config->event_manager;
	struct node_builder *builder = &node->builders[index];
	unsigned left = REQUESTS_MOST;

	for (uint32_t i = 0; i < builder->tokens.n && left > 0; i++) {
		uint32_t at = (builder->pull_next + i) % builder->tokens.n;
		struct token *token = &builder->tokens.tokens[at];

		while (token->state == TOKEN_GRANTED && left > 0 &&
		       token->asked < node->readouts_of_all.n &&
		       token->asked - token->answered < (int)manager->parallel_sends) {
			request(node, index, at);
			left--;
		}
	}
	builder->pull_next = (builder->pull_next + 1) % builder->tokens.n;
}

void node_builders_poll(struct cluster_node *node)
{
	bool pulls = node->parameters.config->event_manager.mode == CONFIG_MODE_PULL;

	for (unsigned i = 0; i < node->n_builders; i++) {
		if (!node->leaving)
			say_credits(node, i);
		if (pulls)
			say_requests(node, i);
	}
}
