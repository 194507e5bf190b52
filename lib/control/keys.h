// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The keys that the nodes of a system share, and the file that holds them:
//
//   # a comment
//   64 hexadecimal digits, as `openssl rand -hex 32` writes them
//
// one key a line, CONTROL_MAX_KEYS at most. A node seals its frames with the first key and accepts
// frames with any of them, so that keys can be changed while the nodes run: a new key is added
// behind the old one in all files, then moved in front of it in all files, then the old one is
// removed.
//
// Keys are never part of a message. Functions here may be called by any thread.
#pragma once

#include <stdint.h>

#define CONTROL_KEY_SIZE   32u // bytes
#define CONTROL_MAX_KEYS   4u
#define CONTROL_KEYS_ERROR 512

struct control_keys {
	unsigned n; // 0: frames are not authenticated
	uint8_t keys[CONTROL_MAX_KEYS][CONTROL_KEY_SIZE];
};

// Reads the file, which users other than its owner and group must not be able to read or write.
// Returns 0, or -1 with one line in error[CONTROL_KEYS_ERROR]; *keys is then as it was.
int control_keys_read(struct control_keys *keys, const char *path, char *error);

// A session for a new endpoint that nobody can guess.
uint64_t control_new_session(void);

// Overwrites the keys, so that they do not stay in memory that is freed.
void control_keys_wipe(struct control_keys *keys);
