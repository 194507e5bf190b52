// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/tokens.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_LOG 2                            // log2 of the buckets per token
#define GOLDEN      UINT64_C(0x9e3779b97f4a7c15) // 2^64 / golden ratio

// Multiples of the golden ratio lie almost evenly in the circle of the numbers modulo 1 (three-gap
// theorem), so events whose numbers follow on each other have buckets of their own: chains are
// rare, and the processor predicts their end. With a random hash many lookups would meet another
// event first. It needs no key: the event manager numbers the events, no sender of data does.
static uint32_t *bucket_of(const struct tokens *tokens, uint64_t event)
{
	return &tokens->buckets[event * GOLDEN >> tokens->shift];
}

bool tokens_make(struct tokens *tokens, uint32_t n, unsigned n_readouts)
{
	uint32_t places = 16, buckets;
	unsigned shift = 64 - 4 - BUCKETS_LOG;

	for (; places < n; places *= 2)
		shift--;
	buckets = places << BUCKETS_LOG;
	*tokens = (struct tokens){
		.n = n,
		.words = tokens_words(n_readouts),
		.mask = places - 1,
		.shift = shift,
		.n_free = n,
	};
	tokens->tokens = calloc(n, sizeof(*tokens->tokens));
	tokens->buckets = malloc(buckets * sizeof(*tokens->buckets));
	tokens->uncredited = malloc(places * sizeof(*tokens->uncredited));
	tokens->readouts = calloc(n, 2 * tokens->words * sizeof(*tokens->readouts));
	if (tokens->tokens == NULL || tokens->buckets == NULL || tokens->uncredited == NULL ||
	    tokens->readouts == NULL)
		return false;
	memset(tokens->buckets, 0xFF, buckets * sizeof(*tokens->buckets));
	for (uint32_t i = 0; i < n; i++)
		tokens->tokens[i].generation = 1;
	tokens_uncredit(tokens);
	return true;
}

void tokens_free(struct tokens *tokens)
{
	free(tokens->tokens);
	free(tokens->buckets);
	free(tokens->uncredited);
	free(tokens->readouts);
}

uint32_t tokens_find(const struct tokens *tokens, uint64_t event)
{
	uint32_t at = *bucket_of(tokens, event);

	while (at != TOKEN_NONE && tokens->tokens[at].event != event)
		at = tokens->tokens[at].chain;
	return at;
}

static void leave_credits(struct tokens *tokens, uint32_t token)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < tokens->n_uncredited; i++) {
		uint32_t other = tokens->uncredited[(tokens->uncredited_head + i) & tokens->mask];

		if (other != token)
			tokens->uncredited[(tokens->uncredited_head + n++) & tokens->mask] = other;
	}
	tokens->n_uncredited = n;
}

void tokens_grant(struct tokens *tokens, uint32_t token, uint64_t event, uint16_t attempt)
{
	struct token *at = &tokens->tokens[token];
	uint32_t *link = bucket_of(tokens, event);

	if (!at->credited)
		leave_credits(tokens, token); // the grant is based on a credit sent earlier
	*at = (struct token){
		.event = event,
		.attempt = attempt,
		.generation = at->generation,
		.state = TOKEN_GRANTED,
		.chain = TOKEN_NONE,
	};
	memset(tokens_requested(tokens, token), 0, 2 * tokens->words * sizeof(*tokens->readouts));
	while (*link != TOKEN_NONE)
		link = &tokens->tokens[*link].chain;
	*link = token;
	tokens->n_free--;
}

static void credit_later(struct tokens *tokens, uint32_t token)
{
	tokens->tokens[token].credited = false;
	tokens->uncredited[(tokens->uncredited_head + tokens->n_uncredited++) & tokens->mask] =
	    token;
}

void tokens_release(struct tokens *tokens, uint32_t token)
{
	struct token *at = &tokens->tokens[token];
	uint32_t *link = bucket_of(tokens, at->event);

	while (*link != token)
		link = &tokens->tokens[*link].chain;
	*link = at->chain;
	at->state = TOKEN_FREE;
	at->generation++;
	tokens->n_free++;
	credit_later(tokens, token);
}

void tokens_uncredit(struct tokens *tokens)
{
	tokens->uncredited_head = tokens->n_uncredited = 0;
	for (uint32_t i = 0; i < tokens->n; i++)
		if (tokens->tokens[i].state == TOKEN_FREE)
			credit_later(tokens, i);
}

uint32_t tokens_next_credit(struct tokens *tokens)
{
	uint32_t token;

	if (tokens->n_uncredited == 0)
		return TOKEN_NONE;
	token = tokens->uncredited[tokens->uncredited_head];
	tokens->uncredited_head = (tokens->uncredited_head + 1) & tokens->mask;
	tokens->n_uncredited--;
	tokens->tokens[token].credited = true;
	return token;
}
