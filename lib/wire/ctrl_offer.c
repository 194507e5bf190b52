// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control record of where blocks lie that a builder may read.
#include "wire/ctrl_internal.h"

#define BLOCKS_AT 32u

static enum wire_error check_offer(const struct ctrl_offer *o)
{
	return ctrl_in_range(o->builder < CTRL_MAX_BUILDERS);
}

size_t ctrl_put_offer(uint8_t *bytes, size_t capacity, const struct ctrl_offer *in,
		      const struct ctrl_block *blocks)
{
	if (check_offer(in) || in->n == 0 ||
	    !ctrl_open(bytes, capacity, CTRL_OFFER, CTRL_OFFER_SIZE((size_t)in->n)))
		return 0;
	store_le16(bytes + 4, in->builder);
	store_le16(bytes + 6, in->n);
	store_le64(bytes + 8, in->event);
	store_le32(bytes + 16, in->rkey);
	store_le32(bytes + 20, in->run);
	store_le16(bytes + 24, in->attempt);
	for (unsigned i = 0; i < in->n; i++) {
		uint8_t *at = bytes + CTRL_OFFER_SIZE(i);

		store_le64(at, blocks[i].address);
		store_le32(at + 8, blocks[i].length);
		store_le16(at + 12, blocks[i].source);
	}
	return CTRL_OFFER_SIZE(in->n);
}

enum wire_error ctrl_get_offer(const struct ctrl_record *record, struct ctrl_offer *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_OFFER, CTRL_OFFER_SIZE(1));

	if (error)
		return error;
	out->builder = load_le16(bytes + 4);
	out->n = load_le16(bytes + 6);
	out->event = load_le64(bytes + 8);
	out->rkey = load_le32(bytes + 16);
	out->run = load_le32(bytes + 20);
	out->attempt = load_le16(bytes + 24);
	out->blocks = bytes + BLOCKS_AT;
	if (out->n == 0 || CTRL_OFFER_SIZE((size_t)out->n) > record->size)
		return WIRE_BAD_LENGTH;
	return check_offer(out);
}

struct ctrl_block ctrl_block_at(const struct ctrl_offer *offer, unsigned index)
{
	const uint8_t *at = offer->blocks + CTRL_OFFER_SIZE(index) - BLOCKS_AT;

	return (struct ctrl_block){
		.address = load_le64(at),
		.length = load_le32(at + 8),
		.source = load_le16(at + 12),
	};
}
