// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Control records about slots and events: which are free, which are there, who builds what, and
// what became of it.
#include "wire/ctrl_internal.h"

static enum wire_error check_credit_range(const struct ctrl_credit_range *c)
{
	return ctrl_in_range(c->builder < CTRL_MAX_BUILDERS && c->n_slots >= 1 &&
			     c->n_slots <= CTRL_MAX_SLOTS &&
			     c->first_slot <= CTRL_MAX_SLOTS - c->n_slots);
}

size_t ctrl_put_credit_range(uint8_t *bytes, size_t capacity, const struct ctrl_credit_range *in)
{
	if (check_credit_range(in) ||
	    !ctrl_open(bytes, capacity, CTRL_CREDIT_RANGE, CTRL_CREDIT_RANGE_SIZE))
		return 0;
	store_le16(bytes + 4, in->builder);
	store_le32(bytes + 8, in->first_slot);
	store_le32(bytes + 12, in->n_slots);
	store_le32(bytes + 16, in->generation);
	return CTRL_CREDIT_RANGE_SIZE;
}

enum wire_error ctrl_get_credit_range(const struct ctrl_record *record,
				      struct ctrl_credit_range *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_CREDIT_RANGE, CTRL_CREDIT_RANGE_SIZE);

	if (error)
		return error;
	out->builder = load_le16(bytes + 4);
	out->first_slot = load_le32(bytes + 8);
	out->n_slots = load_le32(bytes + 12);
	out->generation = load_le32(bytes + 16);
	return check_credit_range(out);
}

size_t ctrl_put_credit_list(uint8_t *bytes, size_t capacity, uint16_t builder,
			    const struct ctrl_credit *credits, unsigned n)
{
	const size_t size = CTRL_CREDIT_LIST_SIZE((size_t)n);

	for (unsigned i = 0; i < n; i++)
		if (credits[i].slot >= CTRL_MAX_SLOTS)
			return 0;
	if (builder >= CTRL_MAX_BUILDERS || n == 0 ||
	    !ctrl_open(bytes, capacity, CTRL_CREDIT_LIST, size))
		return 0;
	store_le16(bytes + 4, builder);
	store_le16(bytes + 6, (uint16_t)n);
	for (unsigned i = 0; i < n; i++) {
		store_le32(bytes + CTRL_CREDIT_LIST_SIZE(i), credits[i].slot);
		store_le32(bytes + CTRL_CREDIT_LIST_SIZE(i) + 4, credits[i].generation);
	}
	return size;
}

enum wire_error ctrl_get_credit_list(const struct ctrl_record *record, struct ctrl_credit_list *out)
{
	enum wire_error error = ctrl_expect(record, CTRL_CREDIT_LIST, CTRL_CREDIT_LIST_SIZE(0));

	if (error)
		return error;
	out->builder = load_le16(record->bytes + 4);
	out->n = load_le16(record->bytes + 6);
	out->credits = record->bytes + CTRL_CREDIT_LIST_SIZE(0);
	if (out->n == 0 || CTRL_CREDIT_LIST_SIZE(out->n) > record->size)
		return WIRE_BAD_LENGTH;
	for (unsigned i = 0; i < out->n; i++)
		if (ctrl_credit_at(out, i).slot >= CTRL_MAX_SLOTS)
			return WIRE_UNSUPPORTED;
	return ctrl_in_range(out->builder < CTRL_MAX_BUILDERS);
}

struct ctrl_credit ctrl_credit_at(const struct ctrl_credit_list *list, unsigned index)
{
	const uint8_t *bytes = list->credits + 8 * (size_t)index;

	return (struct ctrl_credit){ load_le32(bytes), load_le32(bytes + 4) };
}

static enum wire_error check_announce(const struct ctrl_announce *a)
{
	if (a->first_source > a->last_source)
		return WIRE_BAD_SOURCE;
	return a->begin > a->end ? WIRE_BAD_EVENT : WIRE_OK;
}

size_t ctrl_put_announce(uint8_t *bytes, size_t capacity, const struct ctrl_announce *in)
{
	if (check_announce(in) || !ctrl_open(bytes, capacity, CTRL_ANNOUNCE, CTRL_ANNOUNCE_SIZE))
		return 0;
	store_le16(bytes + 4, in->first_source);
	store_le16(bytes + 6, in->last_source);
	store_le64(bytes + 8, in->begin);
	store_le64(bytes + 16, in->end);
	store_le32(bytes + 24, in->run);
	store_le32(bytes + 28, in->mean_bytes);
	store_le16(bytes + 32, in->flags);
	return CTRL_ANNOUNCE_SIZE;
}

enum wire_error ctrl_get_announce(const struct ctrl_record *record, struct ctrl_announce *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_ANNOUNCE, CTRL_ANNOUNCE_SIZE);

	if (error)
		return error;
	out->first_source = load_le16(bytes + 4);
	out->last_source = load_le16(bytes + 6);
	out->begin = load_le64(bytes + 8);
	out->end = load_le64(bytes + 16);
	out->run = load_le32(bytes + 24);
	out->mean_bytes = load_le32(bytes + 28);
	out->flags = load_le16(bytes + 32);
	return check_announce(out);
}

static enum wire_error check_grant(const struct ctrl_grant *g)
{
	return ctrl_in_range(g->node < CTRL_MAX_NODES && g->builder < CTRL_MAX_BUILDERS &&
			     g->slot < CTRL_MAX_SLOTS && g->position < g->n_positions);
}

// Behind the record's header GRANT and REQUEST have the same layout.
static void put_grant(uint8_t *bytes, const struct ctrl_grant *in)
{
	store_le16(bytes + 4, in->node);
	store_le16(bytes + 6, in->builder);
	store_le64(bytes + 8, in->event);
	store_le32(bytes + 16, in->slot);
	store_le32(bytes + 20, in->generation);
	store_le64(bytes + 24, in->address);
	store_le64(bytes + 32, in->size);
	store_le32(bytes + 40, in->rkey);
	store_le32(bytes + 44, in->rate_kbps);
	store_le32(bytes + 48, in->round);
	store_le16(bytes + 52, in->position);
	store_le16(bytes + 54, in->n_positions);
	store_le16(bytes + 56, in->attempt);
	store_le16(bytes + 58, in->flags);
	store_le32(bytes + 60, in->run);
}

static void get_grant(const uint8_t *bytes, struct ctrl_grant *out)
{
	out->node = load_le16(bytes + 4);
	out->builder = load_le16(bytes + 6);
	out->event = load_le64(bytes + 8);
	out->slot = load_le32(bytes + 16);
	out->generation = load_le32(bytes + 20);
	out->address = load_le64(bytes + 24);
	out->size = load_le64(bytes + 32);
	out->rkey = load_le32(bytes + 40);
	out->rate_kbps = load_le32(bytes + 44);
	out->round = load_le32(bytes + 48);
	out->position = load_le16(bytes + 52);
	out->n_positions = load_le16(bytes + 54);
	out->attempt = load_le16(bytes + 56);
	out->flags = load_le16(bytes + 58);
	out->run = load_le32(bytes + 60);
}

size_t ctrl_put_grant(uint8_t *bytes, size_t capacity, const struct ctrl_grant *in)
{
	if (check_grant(in) || !ctrl_open(bytes, capacity, CTRL_GRANT, CTRL_GRANT_SIZE))
		return 0;
	put_grant(bytes, in);
	return CTRL_GRANT_SIZE;
}

enum wire_error ctrl_get_grant(const struct ctrl_record *record, struct ctrl_grant *out)
{
	enum wire_error error = ctrl_expect(record, CTRL_GRANT, CTRL_GRANT_SIZE);

	if (error)
		return error;
	get_grant(record->bytes, out);
	return check_grant(out);
}

static enum wire_error check_request(const struct ctrl_request *r)
{
	return r->n_words > CTRL_MASK_WORDS ? WIRE_BAD_LENGTH : check_grant(&r->grant);
}

size_t ctrl_put_request(uint8_t *bytes, size_t capacity, const struct ctrl_request *in)
{
	const size_t size = CTRL_REQUEST_SIZE((size_t)in->n_words);

	if (check_request(in) || !ctrl_open(bytes, capacity, CTRL_REQUEST, size))
		return 0;
	put_grant(bytes, &in->grant);
	store_le16(bytes + 64, in->n_words);
	if (in->n_words > 0)
		memcpy(bytes + CTRL_REQUEST_SIZE(0), in->mask, 8 * (size_t)in->n_words);
	return size;
}

enum wire_error ctrl_get_request(const struct ctrl_record *record, struct ctrl_request *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_REQUEST, CTRL_REQUEST_SIZE(0));

	if (error)
		return error;
	get_grant(bytes, &out->grant);
	out->n_words = load_le16(bytes + 64);
	out->mask = bytes + CTRL_REQUEST_SIZE(0);
	if (CTRL_REQUEST_SIZE((size_t)out->n_words) > record->size)
		return WIRE_BAD_LENGTH;
	return check_request(out);
}

static unsigned count_bits(const uint8_t *mask, unsigned n_words)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_words; i++)
		n += (unsigned)__builtin_popcountll(load_le64(mask + 8 * (size_t)i));
	return n;
}

static enum wire_error check_done(const struct ctrl_done *d)
{
	if (d->n_words > CTRL_MASK_WORDS || d->n_missing > CTRL_MAX_SOURCES)
		return WIRE_BAD_LENGTH;
	if (d->n_words > 0 && count_bits(d->missing, d->n_words) != d->n_missing)
		return WIRE_BAD_SOURCE;
	return ctrl_in_range(d->builder < CTRL_MAX_BUILDERS && d->slot < CTRL_MAX_SLOTS &&
			     d->outcome >= CTRL_COMPLETE && d->outcome < CTRL_N_OUTCOMES);
}

size_t ctrl_put_done(uint8_t *bytes, size_t capacity, const struct ctrl_done *in)
{
	const size_t size = CTRL_DONE_SIZE((size_t)in->n_words);

	if (check_done(in) || !ctrl_open(bytes, capacity, CTRL_DONE, size))
		return 0;
	store_le16(bytes + 4, in->builder);
	bytes[6] = in->outcome;
	store_le64(bytes + 8, in->event);
	store_le32(bytes + 16, in->slot);
	store_le32(bytes + 20, in->generation);
	store_le64(bytes + 24, in->bytes);
	store_le16(bytes + 32, in->attempt);
	store_le16(bytes + 34, in->n_words);
	store_le32(bytes + 36, in->n_missing);
	store_le32(bytes + 40, in->run);
	if (in->n_words > 0)
		memcpy(bytes + CTRL_DONE_SIZE(0), in->missing, 8 * (size_t)in->n_words);
	return size;
}

enum wire_error ctrl_get_done(const struct ctrl_record *record, struct ctrl_done *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_DONE, CTRL_DONE_SIZE(0));

	if (error)
		return error;
	out->builder = load_le16(bytes + 4);
	out->outcome = bytes[6];
	out->event = load_le64(bytes + 8);
	out->slot = load_le32(bytes + 16);
	out->generation = load_le32(bytes + 20);
	out->bytes = load_le64(bytes + 24);
	out->attempt = load_le16(bytes + 32);
	out->n_words = load_le16(bytes + 34);
	out->n_missing = load_le32(bytes + 36);
	out->run = load_le32(bytes + 40);
	out->missing = bytes + CTRL_DONE_SIZE(0);
	if (CTRL_DONE_SIZE((size_t)out->n_words) > record->size)
		return WIRE_BAD_LENGTH;
	return check_done(out);
}

size_t ctrl_put_release(uint8_t *bytes, size_t capacity, const struct ctrl_release *in)
{
	if (!ctrl_open(bytes, capacity, CTRL_RELEASE, CTRL_RELEASE_SIZE))
		return 0;
	store_le32(bytes + 4, in->run);
	store_le64(bytes + 8, in->event);
	return CTRL_RELEASE_SIZE;
}

enum wire_error ctrl_get_release(const struct ctrl_record *record, struct ctrl_release *out)
{
	enum wire_error error = ctrl_expect(record, CTRL_RELEASE, CTRL_RELEASE_SIZE);

	if (error)
		return error;
	out->run = load_le32(record->bytes + 4);
	out->event = load_le64(record->bytes + 8);
	return WIRE_OK;
}

static bool held_in_range(const struct ctrl_held *held)
{
	return held->slot < CTRL_MAX_SLOTS && held->holding >= CTRL_HOLDS_GRANTED &&
	       held->holding < CTRL_N_HOLDINGS;
}

size_t ctrl_put_adopt(uint8_t *bytes, size_t capacity, const struct ctrl_adopt *in,
		      const struct ctrl_held *entries)
{
	const size_t size = CTRL_ADOPT_SIZE((size_t)in->n);

	for (unsigned i = 0; i < in->n; i++)
		if (!held_in_range(&entries[i]))
			return 0;
	if (in->builder >= CTRL_MAX_BUILDERS || !ctrl_open(bytes, capacity, CTRL_ADOPT, size))
		return 0;
	store_le16(bytes + 4, in->builder);
	store_le16(bytes + 6, in->n);
	store_le32(bytes + 8, in->run);
	store_le16(bytes + 12, in->flags);
	for (unsigned i = 0; i < in->n; i++) {
		uint8_t *at = bytes + CTRL_ADOPT_SIZE((size_t)i);

		store_le64(at, entries[i].event);
		store_le32(at + 8, entries[i].slot);
		store_le32(at + 12, entries[i].generation);
		store_le16(at + 16, entries[i].attempt);
		at[18] = entries[i].holding;
	}
	return size;
}

enum wire_error ctrl_get_adopt(const struct ctrl_record *record, struct ctrl_adopt *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_ADOPT, CTRL_ADOPT_SIZE(0));

	if (error)
		return error;
	out->builder = load_le16(bytes + 4);
	out->n = load_le16(bytes + 6);
	out->run = load_le32(bytes + 8);
	out->flags = load_le16(bytes + 12);
	out->entries = bytes + CTRL_ADOPT_SIZE(0);
	if (CTRL_ADOPT_SIZE((size_t)out->n) > record->size)
		return WIRE_BAD_LENGTH;
	for (unsigned i = 0; i < out->n; i++) {
		const struct ctrl_held held = ctrl_held_at(out, i);

		if (!held_in_range(&held))
			return WIRE_UNSUPPORTED;
	}
	return ctrl_in_range(out->builder < CTRL_MAX_BUILDERS);
}

struct ctrl_held ctrl_held_at(const struct ctrl_adopt *adopt, unsigned index)
{
	const uint8_t *bytes = adopt->entries + CTRL_HELD_SIZE * (size_t)index;

	return (struct ctrl_held){
		.event = load_le64(bytes),
		.slot = load_le32(bytes + 8),
		.generation = load_le32(bytes + 12),
		.attempt = load_le16(bytes + 16),
		.holding = bytes[18],
	};
}
