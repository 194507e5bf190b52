// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "ctrl_again.h"

#include "wire/ctrl.h"

#define MOST_CREDITS 8191u
#define MOST_HELD    2730u
#define MOST_BLOCKS  4093u

// A case of a record that has no list.
#define AGAIN(type, name)                                                          \
	case type: {                                                               \
		struct ctrl_##name out;                                            \
		error = ctrl_get_##name(record, &out);                             \
		*size = error ? 0 : ctrl_put_##name(bytes, CTRL_AGAIN_SIZE, &out); \
		return error;                                                      \
	}

static enum wire_error member_again(const struct ctrl_record *record, uint8_t *bytes, size_t *size)
{
	struct ctrl_member member;
	enum wire_error error = ctrl_get_member(record, &member);

	if (error)
		return error;
	*size = ctrl_put_member(bytes, CTRL_AGAIN_SIZE, (enum ctrl_type)record->type, &member);
	return WIRE_OK;
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
	*size = ctrl_put_credit_list(bytes, CTRL_AGAIN_SIZE, &list, credits);
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

static enum wire_error decisions_again(const struct ctrl_record *record, uint8_t *bytes,
				       size_t *size)
{
	struct ctrl_decision entries[MOST_HELD];
	struct ctrl_decisions decisions;
	enum wire_error error = ctrl_get_decisions(record, &decisions);

	if (error)
		return error;
	for (unsigned i = 0; i < decisions.n; i++)
		entries[i] = ctrl_decision_at(&decisions, i);
	*size = ctrl_put_decisions(bytes, CTRL_AGAIN_SIZE, &decisions, entries);
	return WIRE_OK;
}

static enum wire_error events_again(const struct ctrl_record *record, uint8_t *bytes, size_t *size)
{
	struct ctrl_published entries[MOST_CREDITS];
	struct ctrl_events events;
	enum wire_error error = ctrl_get_events(record, &events);

	if (error)
		return error;
	for (unsigned i = 0; i < events.n; i++)
		entries[i] = ctrl_published_at(&events, i);
	*size = ctrl_put_events(bytes, CTRL_AGAIN_SIZE, &events, entries);
	return WIRE_OK;
}

#define LIST_AGAIN(name, entry)                                                               \
	static enum wire_error name##_again(const struct ctrl_record *record, uint8_t *bytes, \
					    size_t *size)                                     \
	{                                                                                     \
		struct ctrl_##entry entries[MOST_CREDITS];                                    \
		struct ctrl_##name list;                                                      \
		enum wire_error error = ctrl_get_##name(record, &list);                       \
                                                                                              \
		if (error)                                                                    \
			return error;                                                         \
		for (unsigned i = 0; i < list.n; i++)                                         \
			entries[i] = ctrl_##entry##_at(&list, i);                             \
		*size = ctrl_put_##name(bytes, CTRL_AGAIN_SIZE, &list, entries);              \
		return WIRE_OK;                                                               \
	}

LIST_AGAIN(grants, granted)
LIST_AGAIN(built, built_event)
LIST_AGAIN(steps, step_event)

enum wire_error ctrl_again(const struct ctrl_record *record, uint8_t bytes[CTRL_AGAIN_SIZE],
			   size_t *size)
{
	enum wire_error error;

	*size = 0;
	switch (record->type) {
		AGAIN(CTRL_REGISTER, register)
		AGAIN(CTRL_WELCOME, welcome)
		AGAIN(CTRL_BUILDER, builder)
		AGAIN(CTRL_ANNOUNCE, announce)
		AGAIN(CTRL_GRANT, grant)
		AGAIN(CTRL_REQUEST, request)
		AGAIN(CTRL_DONE, done)
		AGAIN(CTRL_RELEASE, release)
		AGAIN(CTRL_HEARTBEAT, heartbeat)
		AGAIN(CTRL_THROTTLE, throttle)
		AGAIN(CTRL_RUN_COMMAND, run_command)
		AGAIN(CTRL_RUN_STATE, run_report)
		AGAIN(CTRL_BYE, bye)
		AGAIN(CTRL_PROGRESS, progress)
		AGAIN(CTRL_RESULTS, results)
		AGAIN(CTRL_PLACES, places)
		AGAIN(CTRL_NEXT_SHARED, next_shared)
		AGAIN(CTRL_CONFIGURATION, configuration)
		AGAIN(CTRL_AGREEMENT, agreement)
		AGAIN(CTRL_PHASE, phase)
	case CTRL_EXCLUDE:
	case CTRL_INCLUDE:
		return member_again(record, bytes, size);
	case CTRL_CREDIT_LIST:
		return credits_again(record, bytes, size);
	case CTRL_ADOPT:
		return adopt_again(record, bytes, size);
	case CTRL_OFFER:
		return offer_again(record, bytes, size);
	case CTRL_DECISIONS:
		return decisions_again(record, bytes, size);
	case CTRL_EVENTS:
		return events_again(record, bytes, size);
	case CTRL_GRANTS:
		return grants_again(record, bytes, size);
	case CTRL_BUILT:
		return built_again(record, bytes, size);
	case CTRL_STEPS:
		return steps_again(record, bytes, size);
	default:
		return WIRE_UNSUPPORTED;
	}
}
