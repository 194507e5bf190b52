// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sampler that `evb top` and `evb web` share: a thread takes a snapshot of each appliance at
// every interval, and stores the latest reading and the history of each. Readers hold the lock
// while they look; they never wait for an appliance, except in sampler_refresh().
//
// An appliance that is named is sampled for as long as the sampler lives. Where none is named, the
// sampler finds all that run here, and forgets an appliance when its history has become too old.
#pragma once

#include <stdbool.h>

#include "client/history.h"
#include "client/stat_client.h"

#define SAMPLER_ERROR_SIZE 384
#define SAMPLER_MAX_NODES  64
#define SAMPLER_HISTORY    900  // samples per appliance
#define SAMPLER_REFRESH_MS 2000 // at most, of a reader that waits for fresh readings

struct sampler;

enum sampler_state {
	SAMPLER_WAITS,  // it has not been there yet
	SAMPLER_UP,     // the latest request got a response
	SAMPLER_ENDED,  // it has ended in order
	SAMPLER_DIED,   // it crashed or was killed
	SAMPLER_SILENT, // its process is present and does not respond
};

// "waits", "up", "ended", "died", "silent".
const char *sampler_state_name(enum sampler_state state);

// An appliance. Written by the sampler's thread, with the lock; readers hold the lock.
struct sampler_node {
	char name[STAT_CLIENT_NAME_SIZE];
	bool up;                            // the latest request got a response
	enum sampler_state state;           // SAMPLER_UP if and only if `up`
	char error[STAT_CLIENT_ERROR_SIZE]; // why it is not up
	struct reading *reading;            // the latest; NULL: none yet
	struct history *history;
};

// Starts the thread. `names` holds n names of appliances; n == 0: all that run here. interval_ms:
// between two readings of an appliance. Returns NULL with one line in error[SAMPLER_ERROR_SIZE].
struct sampler *sampler_start(const char *const *names, unsigned n, unsigned interval_ms,
			      char *error);
void sampler_stop(struct sampler *sampler); // NULL is ignored

unsigned sampler_interval_ms(const struct sampler *sampler);

// Any thread. Pointers to nodes are valid only while the lock is held.
void sampler_lock(struct sampler *sampler);
void sampler_unlock(struct sampler *sampler);

// With the lock: node `index`, NULL behind the last one; and the node of this name, or NULL.
const struct sampler_node *sampler_node(const struct sampler *sampler, unsigned index);
const struct sampler_node *sampler_find(const struct sampler *sampler, const char *name);

// With the lock: waits until all nodes have been sampled after this call, or SAMPLER_REFRESH_MS.
void sampler_refresh(struct sampler *sampler);
