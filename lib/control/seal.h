// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The seal of a frame with CTRL_KEYED: its last CTRL_SEAL_SIZE bytes, a u64 number and the tag of
// all bytes before the tag.
//
// The tag is SipHash-2-4 with 128 bits (Aumasson, Bernstein 2012). Its key is the keyed BLAKE2b
// (RFC 7693) of 16 bytes, by a key of the system, of these 33 bytes:
//
//   "evb control 1" | u16 sender | u16 receiver | u64 session | u64 peer session
//
// with the fields of the frame's header, little endian. So frames of other sessions, of another
// direction or to another node have other keys. The functions are those of libsodium.
#pragma once

#include <stdbool.h>

#include "control/keys.h"
#include "wire/ctrl.h"

#define SEAL_KEY_SIZE 16u

struct seal_key {
	uint8_t bytes[SEAL_KEY_SIZE];
};

// The key of the frames with this header's nodes and sessions, by a key of the system.
struct seal_key seal_derive(const uint8_t key[CONTROL_KEY_SIZE], const struct ctrl_header *header);

// Writes number and tag to the end of an encoded frame of `size` bytes.
void seal_put(uint8_t *bytes, size_t size, uint64_t number, const struct seal_key *key);

// The number of a frame; of the frame that seal_is_intact() accepts it is the sender's.
static inline uint64_t seal_number(const struct ctrl_frame *frame)
{
	return load_le64(frame->bytes + frame->size - CTRL_SEAL_SIZE);
}

// Whether the frame, with CTRL_KEYED, was sealed with this key. The time that it takes does not
// depend on the tag.
bool seal_is_intact(const struct ctrl_frame *frame, const struct seal_key *key);
