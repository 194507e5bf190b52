// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tokens of one builder. A token is the builder's promise to the event manager of one free slot
// for an event; the control protocol names it by a number. Which slot of the ring the event uses is
// decided by the builder when the data arrives, except with RDMA WRITE, where slot and token have
// the same number. There are fewer tokens than slots, see cluster_spare().
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctrl.h"

#define TOKEN_NONE UINT32_MAX

enum token_state {
	TOKEN_FREE,      // its credit has been sent to the manager, or is about to be
	TOKEN_GRANTED,   // the builder waits for the data of its event, or builds it
	TOKEN_BUILT,     // the builder holds the built event; DONE has been sent
	TOKEN_SETTLED,   // PUBLISH has been received, or the permission to publish has been used
	TOKEN_PUBLISHED, // consumers have the event
	TOKEN_WITHDRAWN, // the event is given up; the builder has not dropped it yet
};

struct token {
	uint64_t event;
	uint64_t bytes;
	uint32_t generation; // incremented each time that the token becomes free
	uint32_t slot;       // slot of the ring; valid from TOKEN_BUILT on
	uint32_t chain;      // next token of the same bucket, or TOKEN_NONE
	uint32_t rate_kbps;  // from the grant; requests carry it
	// Free and not credited yet: time at which consumers released the slot; 0: the event was
	// not published, or the credit is a repeated one
	uint64_t released_ns;
	uint16_t attempt;
	uint8_t state;      // enum token_state
	bool expected;      // MESSAGE_EXPECT has been sent to the builder
	uint16_t n_missing; // sources without data; valid from TOKEN_BUILT on
	bool credited;      // the token's credit has been sent to the manager
	bool permitted;     // PUBLISH is not needed; see node_builders_end_permissions()
	bool unasked;       // the permission has been used
	bool requests;      // the builder requests the event's data, see node_requests.c
};

struct tokens {
	struct token *tokens;
	uint32_t n;
	// Bit sets of the readouts, by rank: see tokens_requested() and tokens_responded().
	uint64_t *readouts;
	unsigned words;    // of a bit set
	uint32_t *buckets; // first token of each bucket of events, or TOKEN_NONE
	unsigned shift;    // 64 - log2(number of buckets)
	uint32_t mask;     // of uncredited
	// Free tokens whose credit has not been sent to the manager; FIFO.
	uint32_t *uncredited;
	uint32_t uncredited_head, n_uncredited;
	uint32_t n_free;
};

// Words of a bit set of n_readouts readouts, at least 1.
static inline unsigned tokens_words(unsigned n_readouts)
{
	return n_readouts > 0 ? (n_readouts + 63) / 64 : 1;
}

// Makes n tokens, all free, of generation 1 and uncredited, in a system with n_readouts readout
// nodes. Returns false if memory ran out.
bool tokens_make(struct tokens *tokens, uint32_t n, unsigned n_readouts);
void tokens_free(struct tokens *tokens);

// The token that is granted to an event, or TOKEN_NONE. If several are, the first granted one.
uint32_t tokens_find(const struct tokens *tokens, uint64_t event);

// The readouts to which a request for the token's event was sent. Empty when it is granted.
static inline uint64_t *tokens_requested(const struct tokens *tokens, uint32_t token)
{
	return &tokens->readouts[2 * (size_t)token * tokens->words];
}

// The readouts that have sent the data for such a request.
static inline uint64_t *tokens_responded(const struct tokens *tokens, uint32_t token)
{
	return tokens_requested(tokens, token) + tokens->words;
}

// The report of a token's event.
static inline struct ctrl_held tokens_held(const struct tokens *tokens, uint32_t token,
					   enum ctrl_holding holding)
{
	const struct token *at = &tokens->tokens[token];

	return (struct ctrl_held){
		.event = at->event,
		.slot = token,
		.generation = at->generation,
		.attempt = at->attempt,
		.n_missing = holding == CTRL_HOLDS_BUILT ? at->n_missing : 0,
		.holding = (uint8_t)holding,
	};
}

// Grants a free token to an event.
void tokens_grant(struct tokens *tokens, uint32_t token, uint64_t event, uint16_t attempt);

// Frees a token and increments its generation.
void tokens_release(struct tokens *tokens, uint32_t token);

// Marks all free tokens as uncredited, so that their credits are sent to the manager again.
void tokens_uncredit(struct tokens *tokens);

// Returns the next uncredited token and marks it as credited; TOKEN_NONE if there is none.
uint32_t tokens_next_credit(struct tokens *tokens);
