// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builders' side of a node: tokens, and the way of each event from its grant to its release.
#include "cluster/mutant.h"
#include "cluster/node_internal.h"

#include <stdlib.h>

#define CREDITS_MOST  128u // in one record
#define ADOPTS_MOST   48u
#define REQUESTS_MOST 64u // in one poll

static bool make_builder(const struct cluster_node *node, unsigned index)
{
	struct node_builder *builder = &node->builders[index];
	uint32_t slots = node->parameters.config->builders[index].slots;

	// Events finish nearly in order; those that are not leave the list a little later.
	builder->finished_size = 2 * cluster_unfinished(node->parameters.config);
	builder->finished = calloc(builder->finished_size, sizeof(*builder->finished));
	builder->early_size = cluster_spare(slots);
	builder->early = calloc(builder->early_size + 1, sizeof(*builder->early));
	return tokens_make(&builder->tokens, slots - cluster_spare(slots)) &&
	       builder->finished != NULL && builder->early != NULL;
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
	}
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
		    &builder->finished[(builder->finished_head + i) % builder->finished_size];
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

// Refuses a grant: another builder, or this one under another token, is to build the event.
static void refuse(struct cluster_node *node, const struct ctrl_grant *grant)
{
	const struct ctrl_done done = {
		.event = grant->event,
		.slot = grant->slot,
		.generation = grant->generation,
		.run = node->run,
		.builder = grant->builder,
		.attempt = grant->attempt,
		.outcome = CTRL_UNBUILT,
	};
	uint8_t bytes[CTRL_DONE_SIZE(0)];

	node_tell_manager(node, bytes, ctrl_put_done(bytes, sizeof(bytes), &done));
	tokens_renew(&node->builders[grant->builder].tokens, grant->slot);
}

static void make_built(struct cluster_node *node, unsigned builder, uint32_t index, uint32_t slot,
		       uint64_t bytes, bool incomplete)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	token->slot = slot;
	token->bytes = bytes;
	token->incomplete = incomplete;
	token->state = TOKEN_BUILT;
	node->view.built++;
	say_done(node, builder, index, incomplete ? CTRL_INCOMPLETE : CTRL_COMPLETE);
}

// Where the event is ready already, that is said at once.
static void use_early(struct cluster_node *node, unsigned index, uint32_t token)
{
	struct node_builder *builder = &node->builders[index];
	uint64_t event = builder->tokens.tokens[token].event;

	for (unsigned i = 0; i < builder->n_early; i++) {
		struct early early = builder->early[i];

		if (early.event != event)
			continue;
		builder->early[i] = builder->early[--builder->n_early];
		make_built(node, index, token, early.slot, early.bytes, false);
		return;
	}
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
	// Repeated for this node's readouts, it is known here.
	if (token == NULL || token->state != TOKEN_FREE || token->generation != grant->generation) {
		node->view.unknown++;
		return;
	}
	if (CLUSTER_MUTANT(3, tokens_find(tokens, grant->event) != TOKEN_NONE, false)) {
		refuse(node, grant); // it was withdrawn here, and its slot is not free yet
		return;
	}
	node->view.grants++;
	tokens_grant(tokens, grant->slot, grant->event, grant->attempt);
	token->rate_kbps = grant->rate_kbps;
	tell_builder(node, grant->builder, NOTE_EXPECT, token);
	use_early(node, grant->builder, grant->slot);
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
	    (struct finished){
		    .event = token->event,
		    .token = index,
		    .generation = token->generation,
		    .attempt = token->attempt,
	    };
}

// An event that is built without a grant.
static void discard_ungranted(struct cluster_node *node, unsigned builder, uint64_t event,
			      uint32_t slot)
{
	const struct token unknown = { .event = event, .slot = slot };

	tell_builder(node, builder, NOTE_DISCARD, &unknown);
}

static void drop_early(struct cluster_node *node, unsigned index)
{
	struct node_builder *builder = &node->builders[index];
	unsigned n = 0;

	for (unsigned i = 0; i < builder->n_early; i++) {
		struct early early = builder->early[i];

		if (early.event >= node->released)
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

		drop_early(node, i);
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
		tokens->tokens[index].answered[rank / 64] |= UINT64_C(1) << rank % 64;
}

void node_builders_progress(struct cluster_node *node, unsigned from,
			    const struct ctrl_progress *progress)
{
	struct tokens *tokens;
	struct token *token;

	if (progress->step == CTRL_STEP_PUBLISHED)
		return; // for the manager, on this node too
	if (progress->builder >= node->n_builders) {
		node->view.unknown++;
		return;
	}
	if (progress->step == CTRL_STEP_SENT) {
		take_sent(node, progress->builder, from, progress);
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

// Data can overtake the grant: a complete event waits for it until it is released.
static void take_ungranted(struct cluster_node *node, unsigned index, const struct note *note)
{
	struct node_builder *builder = &node->builders[index];

	if ((note->flags & NOTE_DISCARDED) != 0)
		return;
	if ((note->flags & NOTE_INCOMPLETE) != 0 || note->event < node->released ||
	    builder->n_early == builder->early_size || CLUSTER_MUTANT(4, false, true)) {
		discard_ungranted(node, index, note->event, note->slot);
		return;
	}
	builder->early[builder->n_early++] = (struct early){
		.event = note->event,
		.bytes = note->bytes,
		.slot = note->slot,
	};
}

static void take_built(struct cluster_node *node, unsigned builder, uint32_t index,
		       const struct note *note)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];

	if (token->state != TOKEN_GRANTED) {
		// Withdrawn in the meantime, or built once more from data that came again.
		if ((note->flags & NOTE_DISCARDED) == 0) {
			token->stale++;
			discard_ungranted(node, builder, note->event, note->slot);
		}
		return;
	}
	if ((note->flags & NOTE_DISCARDED) == 0) {
		make_built(node, builder, index, note->slot, note->bytes,
			   (note->flags & NOTE_INCOMPLETE) != 0);
		return;
	}
	token->state = TOKEN_WITHDRAWN; // its slot is free; NOTE_FREED follows
	say_done(node, builder, index, CTRL_DISCARDED);
}

static void take_refused(struct cluster_node *node, unsigned builder, uint32_t index)
{
	struct tokens *tokens = &node->builders[builder].tokens;

	if (tokens->tokens[index].state == TOKEN_GRANTED)
		say_done(node, builder, index, CTRL_UNBUILT);
	tokens_release(tokens, index);
}

static void take_freed(struct cluster_node *node, unsigned builder, uint32_t index)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	struct token *token = &tokens->tokens[index];

	if (token->stale > 0)
		token->stale--;
	else if (token->state == TOKEN_PUBLISHED || token->state == TOKEN_WITHDRAWN)
		tokens_release(tokens, index);
	// Else it is the slot of an event that was given up before it was granted again here.
}

void cluster_node_builder_note(struct cluster_node *node, unsigned builder, const struct note *note)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint32_t index = tokens_find(tokens, note->event);

	if (index == TOKEN_NONE) {
		if (note->kind == NOTE_BUILT)
			take_ungranted(node, builder, note);
		return;
	}
	switch (note->kind) {
	case NOTE_BUILT:
		take_built(node, builder, index, note);
		break;
	case NOTE_PUBLISHED:
		if (tokens->tokens[index].state != TOKEN_SETTLED)
			break;
		tokens->tokens[index].state = TOKEN_PUBLISHED;
		node->view.published++;
		say_published(node, builder, index);
		break;
	case NOTE_REFUSED:
		take_refused(node, builder, index);
		break;
	case NOTE_FREED:
		take_freed(node, builder, index);
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

void node_builders_ask_again(struct cluster_node *node, unsigned rank)
{
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct tokens *tokens = &node->builders[i].tokens;

		for (uint32_t j = 0; j < tokens->n; j++)
			tokens->tokens[j].asked[rank / 64] &=
			    tokens->tokens[j].answered[rank / 64] | ~(UINT64_C(1) << rank % 64);
	}
}

// The next readout to be asked for an event, in an order that begins elsewhere for each builder, or
// CLUSTER_NONE: there is none, or enough are sending. Those that are lost are asked when they are
// back.
static unsigned next_to_ask(const struct cluster_node *node, unsigned builder,
			    const struct token *token)
{
	unsigned most = node->parameters.config->event_manager.parallel_sends;
	unsigned n = node->readouts_of_all.n, sending = 0;
	unsigned first = node->cluster->nodes[node_self(node)].first_builder + builder;

	for (unsigned i = 0; i < TOKEN_ASK_WORDS; i++)
		sending += (unsigned)__builtin_popcountll(token->asked[i] & ~token->answered[i] &
							  ~node->lost[i]);
	for (unsigned i = 0; i < n && sending < most; i++) {
		unsigned rank = (first + i) % n;

		if (((token->asked[rank / 64] | node->lost[rank / 64]) >> rank % 64 & 1) == 0)
			return rank;
	}
	return CLUSTER_NONE;
}

static void request(struct cluster_node *node, unsigned builder, uint32_t index, unsigned rank)
{
	struct token *token = &node->builders[builder].tokens.tokens[index];
	const struct cluster_post *post = &node->parameters.post;
	const struct ctrl_request record = {
		.grant = {
			.event = token->event,
			.slot = index,
			.generation = token->generation,
			.rate_kbps = token->rate_kbps,
			.run = node->run,
			.node = (uint16_t)node_self(node),
			.builder = (uint16_t)builder,
			.n_positions = 1,
			.attempt = token->attempt,
		},
	};
	uint8_t bytes[CTRL_REQUEST_SIZE(0)];

	token->asked[rank / 64] |= UINT64_C(1) << rank % 64;
	node->view.requests++;
	post->send(post->context, node->readouts_of_all.nodes[rank], bytes,
		   ctrl_put_request(bytes, sizeof(bytes), &record));
}

static void say_requests(struct cluster_node *node, unsigned index)
{
	struct node_builder *builder = &node->builders[index];
	unsigned left = REQUESTS_MOST;

	for (uint32_t i = 0; i < builder->tokens.n && left > 0; i++) {
		uint32_t at = (builder->pull_next + i) % builder->tokens.n;
		const struct token *token = &builder->tokens.tokens[at];

		while (token->state == TOKEN_GRANTED && left > 0) {
			unsigned rank = next_to_ask(node, index, token);

			if (rank == CLUSTER_NONE)
				break;
			request(node, index, at, rank);
			left--;
		}
	}
	builder->pull_next = (builder->pull_next + 1) % builder->tokens.n;
}

void node_builders_poll(struct cluster_node *node)
{
	bool pulls = node->parameters.config->event_manager.mode == CONFIG_MODE_PULL;

	for (unsigned i = 0; i < node->n_builders; i++) {
		say_credits(node, i);
		if (pulls)
			say_requests(node, i);
	}
}
