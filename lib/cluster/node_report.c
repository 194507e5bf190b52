// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Records to the manager about a node's builders: the steps of their events, their free tokens,
// and, after a registration, all events that they hold.
#include "cluster/node_internal.h"

#define CREDITS_MOST 128u // credits in one record
#define ADOPTS_MOST  48u  // events in one record

// The manager takes the steps of an event after the report that names the event. Before, it would
// order the builder to give up the event, and then adopt it.
static bool is_reported(const struct cluster_node *node)
{
	return !node->registering && !node->report_due;
}

void node_send_outcome(struct cluster_node *node, unsigned builder, uint32_t index,
		       enum ctrl_outcome outcome)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];
	const struct ctrl_done done = {
		.event = token->event,
		.bytes = token->bytes,
		.slot = index,
		.generation = token->generation,
		.run = node->run,
		.n_missing = token->n_missing,
		.builder = (uint16_t)builder,
		.attempt = token->attempt,
		.outcome = (uint8_t)outcome,
	};
	uint8_t bytes[CTRL_DONE_SIZE(0)];

	if (is_reported(node))
		node_send_to_manager(node, bytes, ctrl_put_done(bytes, sizeof(bytes), &done));
}

// --- lists ---

void node_reports_drop(struct cluster_node *node)
{
	node->reports.built.n = node->reports.published.n = 0;
}

void node_reports_flush(struct cluster_node *node)
{
	struct node_reports *reports = &node->reports;
	uint8_t bytes[CTRL_BUILT_SIZE(REPORTS_MOST)];

	if (reports->built.n > 0)
		node_send_now(
		    node, bytes,
		    ctrl_put_built(bytes, sizeof(bytes), &reports->built, reports->built_events));
	if (reports->published.n > 0)
		node_send_now(node, bytes,
			      ctrl_put_steps(bytes, sizeof(bytes), &reports->published,
					     reports->published_events));
	node_reports_drop(node);
}

// Whether an event is near enough to the first one of a list.
static bool is_near(uint64_t first, uint64_t event)
{
	return ctrl_event_at(first, (uint16_t)(event - first)) == event;
}

static void add_built(struct cluster_node *node, unsigned builder, uint32_t index, uint16_t flags)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];
	struct ctrl_built *list = &node->reports.built;

	if (list->n == REPORTS_MOST ||
	    (list->n > 0 && (list->builder != builder || list->flags != flags ||
			     !is_near(list->first, token->event))))
		node_reports_flush(node);
	if (list->n == 0) {
		list->builder = (uint16_t)builder;
		list->flags = flags;
		list->first = token->event;
		list->run = node->run;
	}
	node->reports.built_events[list->n++] = (struct ctrl_built_event){
		.offset = (uint16_t)(token->event - list->first),
		.slot = (uint16_t)index,
		.generation = token->generation,
		.bytes = (uint32_t)token->bytes,
		.attempt = token->attempt,
		.n_missing = token->n_missing,
	};
}

void node_send_done(struct cluster_node *node, unsigned builder, uint32_t index)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];

	if (!is_reported(node))
		return;
	if (node->manager_takes_lists && token->bytes <= UINT32_MAX && index <= UINT16_MAX)
		add_built(node, builder, index, 0);
	else
		node_send_outcome(node, builder, index,
				  token->n_missing > 0 ? CTRL_INCOMPLETE : CTRL_COMPLETE);
}

static void send_one_published(struct cluster_node *node, unsigned builder, uint32_t index)
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

	node_send_to_manager(node, bytes, ctrl_put_progress(bytes, sizeof(bytes), &progress));
}

void node_send_published(struct cluster_node *node, unsigned builder, uint32_t index)
{
	const struct token *token = &node->builders[builder].tokens.tokens[index];
	struct ctrl_steps *list = &node->reports.published;

	if (token->unasked) {
		add_built(node, builder, index, CTRL_ALREADY_PUBLISHED);
		return;
	}
	if (!node->manager_takes_lists || index > UINT16_MAX) {
		send_one_published(node, builder, index);
		return;
	}
	if (list->n == REPORTS_MOST ||
	    (list->n > 0 && (list->builder != builder || list->attempt != token->attempt ||
			     !is_near(list->first, token->event))))
		node_reports_flush(node);
	if (list->n == 0) {
		list->builder = (uint16_t)builder;
		list->step = CTRL_STEP_PUBLISHED;
		list->first = token->event;
		list->run = node->run;
		list->attempt = token->attempt;
	}
	node->reports.published_events[list->n++] = (struct ctrl_step_event){
		.offset = (uint16_t)(token->event - list->first),
		.slot = (uint16_t)index,
		.generation = token->generation,
	};
}

// --- the report after a registration ---

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

	node_send_to_manager(list->node, bytes,
			     ctrl_put_adopt(bytes, sizeof(bytes), &adopt, list->held));
	list->n = 0;
}

static void add_adopt(struct adopt_list *list, struct ctrl_held held)
{
	if (list->n == ADOPTS_MOST)
		send_adopts(list, false);
	list->held[list->n++] = held;
}

static void report_held(struct cluster_node *node, unsigned index)
{
	const struct node_builder *builder = &node->builders[index];
	const struct tokens *tokens = &builder->tokens;
	struct adopt_list list = { .node = node, .builder = index };

	for (unsigned i = 0; i < builder->n_finished; i++)
		add_adopt(&list,
			  builder->finished[(builder->finished_head + i) % builder->finished_size]);
	for (uint32_t i = 0; i < tokens->n; i++)
		if (tokens->tokens[i].state == TOKEN_GRANTED ||
		    tokens->tokens[i].state == TOKEN_BUILT)
			add_adopt(&list, tokens_held(tokens, i, CTRL_HOLDS_OPEN));
	send_adopts(&list, true);
}

void node_builders_report(struct cluster_node *node)
{
	node->report_due = false;
	for (unsigned i = 0; i < node->n_builders; i++) {
		struct tokens *tokens = &node->builders[i].tokens;
		const struct placement *placement = node_placement(node, i);
		const struct ctrl_builder record = {
			.slot_size = node_builder_of(node, i)->slot_size,
			.slots = tokens->n,
			.generation = 1,
			.builder = (uint16_t)i,
			.address = placement->address,
			.stride = placement->stride,
			.rkey = placement->rkey,
			.link_mbps = (uint32_t)(node->parameters.link_rate / 1000000),
		};
		uint8_t bytes[CTRL_BUILDER_SIZE];

		node_send_to_manager(node, bytes, ctrl_put_builder(bytes, sizeof(bytes), &record));
		report_held(node, i);
		for (uint32_t j = 0; j < tokens->n; j++)
			if (tokens->tokens[j].state == TOKEN_BUILT)
				node_send_done(node, i, j);
		tokens_uncredit(tokens);
	}
}

static void send_credits(struct cluster_node *node, unsigned builder)
{
	struct tokens *tokens = &node->builders[builder].tokens;
	uint8_t bytes[CTRL_CREDIT_LIST_SIZE(CREDITS_MOST)];

	while (tokens->n_uncredited > 0) {
		struct ctrl_credit_list list = { .builder = (uint16_t)builder };
		struct ctrl_credit credits[CREDITS_MOST];
		uint64_t released[CREDITS_MOST];
		unsigned n_released = 0;

		while (list.n < CREDITS_MOST && tokens->n_uncredited > 0) {
			uint32_t token = tokens_next_credit(tokens);
			struct token *at = &tokens->tokens[token];

			credits[list.n].slot = token;
			credits[list.n++].generation = at->generation;
			released[n_released] = at->released_ns;
			n_released += at->released_ns != 0;
			at->released_ns = 0;
		}
		node_send_to_manager(node, bytes,
				     ctrl_put_credit_list(bytes, sizeof(bytes), &list, credits));
		node_latency_credited(node, released, n_released);
	}
}

void node_builders_poll(struct cluster_node *node)
{
	// The report waits until no event is about to be published.
	if (node->report_due && node_builders_are_settled(node))
		return;
	if (node->report_due)
		node_builders_report(node);
	for (unsigned i = 0; i < node->n_builders; i++) {
		send_credits(node, i);
		if (node->builders[i].requests)
			node_send_requests(node, i);
	}
}
