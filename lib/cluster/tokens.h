// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tokens of one builder: what it has promised the event manager. A token is a slot's name in
// the control protocol; which of the ring's slots an event really lies in, the builder decides when
// the data comes, save for RDMA WRITE. There are fewer tokens than slots, see cluster_spare().
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define TOKEN_NONE      UINT32_MAX
#define TOKEN_ASK_WORDS (EVB_MAX_NODES / 64)

enum token_state {
	TOKEN_FREE,      // credited, or about to be
	TOKEN_GRANTED,   // its event is awaited or under construction
	TOKEN_BUILT,     // held by the builder; DONE has been said
	TOKEN_SETTLED,   // the manager has said publish
	TOKEN_PUBLISHED, // consumers have it
	TOKEN_WITHDRAWN, // given up; the builder has been told
};

struct token {
	uint64_t event;
	uint64_t bytes;
	uint32_t generation; // counted up each time that it becomes free
	uint32_t slot;       // of the ring, from TOKEN_BUILT on
	uint32_t chain;      // next of the same bucket
	uint32_t rate_kbps;  // of its grant, handed on in requests
	uint16_t attempt;
	uint8_t state; // enum token_state
	bool told;     // to the builder: an event that it has to forget before is expected later
	uint16_t n_missing; // sources, from TOKEN_BUILT on
	uint8_t stale;      // slots with data of the event that came again, and are being freed
	bool credited;      // free, and the manager has been told
	bool asks; // for its event's data: in pull, and where that may have been thrown away
	// Pull: readouts, by rank, that were asked, and that have sent
	uint64_t asked[TOKEN_ASK_WORDS], answered[TOKEN_ASK_WORDS];
};

struct tokens {
	struct token *tokens;
	uint32_t n;
	uint32_t *buckets; // by event
	uint32_t mask;
	// Free tokens of which the manager has not been told: first in, first out.
	uint32_t *uncredited;
	uint32_t uncredited_head, n_uncredited;
	uint32_t n_free;
};

// All free, of generation 1 and uncredited. False if memory ran out.
bool tokens_make(struct tokens *tokens, uint32_t n);
void tokens_free(struct tokens *tokens);

// The token of an event that is not free, the one granted first of several, or TOKEN_NONE.
uint32_t tokens_find(const struct tokens *tokens, uint64_t event);

// A free token is granted to an event.
void tokens_grant(struct tokens *tokens, uint32_t token, uint64_t event, uint16_t attempt);

// A token becomes free, with the next generation.
void tokens_release(struct tokens *tokens, uint32_t token);

// The manager is to be told of all free tokens again.
void tokens_uncredit(struct tokens *tokens);

// Takes the next free token that the manager is to be told of, or TOKEN_NONE.
uint32_t tokens_next_credit(struct tokens *tokens);
