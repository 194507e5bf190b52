// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "ctrl_again.h"

#include "wire/ctrl.h"

#define MOST_CREDITS 8191u
#define MOST_HELD    2730u
#define MOST_BLOCKS  4093u

// A case of a record that has no list.
#define AGAIN(type, name, put)                                                    \
	case type: {                                                              \
		struct ctrl_##name out;                                           \
		error = ctrl_get_##name(record, &out);                            \
		*size = error ? 0 : ctrl_put_##put(bytes, CTRL_AGAIN_SIZE, &out); \
		return error;                                                     \
	}

static enum wire_error credits_again(const struct ctrl_record *record, uint8_t *bytes, size_t *size)
{
	struct ctrl_credit credits[MOST_CREDITS];
	struct ctrl_credit_list list;
	enum wire_error error = ctrl_get_credit_list(record, &list);

	if (error)
		return error;
	for (unsigned i = 0; i < list.n; i++)
		credits[i] = ctrl_credit_at(&list, i);
	*size = ctrl_put_credit_list(bytes, CTRL_AGAIN_SIZE, list.builder, credits, list.n);
	return WIRE_OK;
}

static enum wire_error adopt_again(const struct ctrl_record *record, uint8_t *bytes, size_t *size)
{
	struct ctrl_held entries[MOST_HELD];
	struct ctrl_adopt adopt;
	enum wire_error error = ctrl_get_adopt(record, &adopt);

	if (error)
		return error;
	for (unsigned i = 0; i < adopt.n; i++)
		entries[i] = ctrl_held_at(&adopt, i);
	*size = ctrl_put_adopt(bytes, CTRL_AGAIN_SIZE, &adopt, entries);
	return WIRE_OK;
}

static enum wire_error offer_again(const struct ctrl_record *record, uint8_t *bytes, size_t *size)
{
	struct ctrl_block blocks[MOST_BLOCKS];
	struct ctrl_offer offer;
	enum wire_error error = ctrl_get_offer(record, &offer);

	if (error)
		return error;
	for (unsigned i = 0; i < offer.n; i++)
		blocks[i] = ctrl_block_at(&offer, i);
	*size = ctrl_put_offer(bytes, CTRL_AGAIN_SIZE, &offer, blocks);
	return WIRE_OK;
}

enum wire_error ctrl_again(const struct ctrl_record *record, uint8_t bytes[CTRL_AGAIN_SIZE],
			   size_t *size)
{
	enum wire_error error;

	*size = 0;
	switch (record->type) {
		AGAIN(CTRL_REGISTER, register, register)
		AGAIN(CTRL_WELCOME, welcome, welcome)
		AGAIN(CTRL_BUILDER, builder, builder)
		AGAIN(CTRL_CREDIT_RANGE, credit_range, credit_range)
		AGAIN(CTRL_ANNOUNCE, announce, announce)
		AGAIN(CTRL_GRANT, grant, grant)
		AGAIN(CTRL_REQUEST, request, request)
		AGAIN(CTRL_DONE, done, done)
		AGAIN(CTRL_RELEASE, release, release)
		AGAIN(CTRL_HEARTBEAT, heartbeat, heartbeat)
		AGAIN(CTRL_EXCLUDE, member, exclude)
		AGAIN(CTRL_INCLUDE, member, include)
		AGAIN(CTRL_THROTTLE, throttle, throttle)
		AGAIN(CTRL_RUN_COMMAND, run_command, run_command)
		AGAIN(CTRL_RUN_STATE, run_report, run_report)
		AGAIN(CTRL_BYE, bye, bye)
		AGAIN(CTRL_PROGRESS, progress, progress)
	case CTRL_CREDIT_LIST:
		return credits_again(record, bytes, size);
	case CTRL_ADOPT:
		return adopt_again(record, bytes, size);
	case CTRL_OFFER:
		return offer_again(record, bytes, size);
	default:
		return WIRE_UNSUPPORTED;
	}
}
