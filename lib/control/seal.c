// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "control/seal.h"

#include <sodium.h>

#define PURPOSE      "evb control 1"
#define PURPOSE_SIZE (sizeof(PURPOSE) - 1)

_Static_assert(crypto_shorthash_siphashx24_BYTES == CTRL_TAG_SIZE, "128 bits");
_Static_assert(crypto_verify_16_BYTES == CTRL_TAG_SIZE, "128 bits");
_Static_assert(crypto_shorthash_siphashx24_KEYBYTES == SEAL_KEY_SIZE, "128 bits");

struct seal_key seal_derive(const uint8_t key[CONTROL_KEY_SIZE], const struct ctrl_header *header)
{
	uint8_t bytes[PURPOSE_SIZE + 20];
	struct seal_key derived;

	memcpy(bytes, PURPOSE, PURPOSE_SIZE);
	store_le16(bytes + PURPOSE_SIZE, header->node);
	store_le16(bytes + PURPOSE_SIZE + 2, header->destination);
	store_le64(bytes + PURPOSE_SIZE + 4, header->session);
	store_le64(bytes + PURPOSE_SIZE + 12, header->peer_session);
	(void)crypto_generichash(derived.bytes, sizeof(derived.bytes), bytes, sizeof(bytes), key,
				 CONTROL_KEY_SIZE);
	return derived;
}

void seal_put(uint8_t *bytes, size_t size, uint64_t number, const struct seal_key *key)
{
	store_le64(bytes + size - CTRL_SEAL_SIZE, number);
	(void)crypto_shorthash_siphashx24(bytes + size - CTRL_TAG_SIZE, bytes, size - CTRL_TAG_SIZE,
					  key->bytes);
}

bool seal_is_intact(const struct ctrl_frame *frame, const struct seal_key *key)
{
	uint8_t tag[CTRL_TAG_SIZE];
	const size_t size = frame->size - CTRL_TAG_SIZE;

	(void)crypto_shorthash_siphashx24(tag, frame->bytes, size, key->bytes);
	return crypto_verify_16(tag, frame->bytes + size) == 0;
}
