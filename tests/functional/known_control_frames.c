// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// known_frames: frames of the control protocol. What is drawn, encoded, decoded and told of a
// record is made from the table of the protocol.
#include <stdio.h>
#include <stdlib.h>

#include "known_frames.h"
#include "wire/ctrl.h"

#define PORT        20000
#define MOST        3u // entries of a list, words of a mask
#define TRY_LIMIT   1000u
#define UNUSED_TYPE 4u // see enum ctrl_type

static void draw_text(char *text, size_t size)
{
	const size_t length = (size_t)draw_from(0, size - 1);

	for (size_t i = 0; i < length; i++)
		text[i] = (char)draw_from('a', 'z');
	text[length] = '\0';
}

// X_draw(): a struct with random fields within their ranges; X_tell(): its fields.
#define CTRL_RECORD(name, size)                     \
	static struct ctrl_##name name##_draw(void) \
	{                                           \
		struct ctrl_##name drawn = { 0 }, *const s = &drawn;
#define CTRL_PART(name, size)            CTRL_RECORD(name, size)
#define CTRL_FIELD(bits, at, name)       s->name = (uint##bits##_t)draw();
#define CTRL_RANGE(bits, at, name, a, b) s->name = (uint##bits##_t)draw_from(a, b);
#define CTRL_TEXT(size, at, name)        draw_text(s->name, size);
#define CTRL_ZERO(size, at)
#define CTRL_SKIP(size, at)
#define CTRL_MEMBER(declaration)
#define CTRL_END(name) \
	return drawn;  \
	}
#include "wire/ctrl_records.def"

#define CTRL_RECORD(name, size)                              \
	static void name##_tell(const struct ctrl_##name *s) \
	{                                                    \
		static const char record[] = "evb_control." #name;
#define CTRL_PART(name, size)            CTRL_RECORD(name, size)
#define CTRL_FIELD(bits, at, name)       tell(record, #name, s->name);
#define CTRL_RANGE(bits, at, name, a, b) tell(record, #name, s->name);
#define CTRL_TEXT(size, at, name)        tell_text(record, #name, s->name);
#define CTRL_ZERO(size, at)
#define CTRL_SKIP(size, at)
#define CTRL_MEMBER(declaration)
#define CTRL_END(name) }
#include "wire/ctrl_records.def"

static uint8_t mask[8 * MOST];

static unsigned draw_mask(unsigned n_words)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 8 * n_words; i++) {
		mask[i] = (uint8_t)draw();
		n += (unsigned)__builtin_popcount(mask[i]);
	}
	return n;
}

static void tell_mask(const uint8_t *words, unsigned n_words)
{
	for (unsigned i = 0; i < n_words; i++)
		tell("evb_control", "mask", load_le64(words + 8 * (size_t)i));
}

// Type, name of struct and coders, and of the entries of a list.
#define RECORDS(PLAIN, LIST)                        \
	PLAIN(CTRL_REGISTER, register)              \
	PLAIN(CTRL_WELCOME, welcome)                \
	PLAIN(CTRL_BUILDER, builder)                \
	PLAIN(CTRL_ANNOUNCE, announce)              \
	PLAIN(CTRL_GRANT, grant)                    \
	PLAIN(CTRL_RELEASE, release)                \
	PLAIN(CTRL_THROTTLE, throttle)              \
	PLAIN(CTRL_RUN_COMMAND, run_command)        \
	PLAIN(CTRL_RUN_STATE, run_report)           \
	PLAIN(CTRL_BYE, bye)                        \
	PLAIN(CTRL_PROGRESS, progress)              \
	PLAIN(CTRL_RESULTS, results)                \
	PLAIN(CTRL_NEXT_SHARED, next_shared)        \
	PLAIN(CTRL_CONFIGURATION, configuration)    \
	PLAIN(CTRL_AGREEMENT, agreement)            \
	PLAIN(CTRL_PHASE, phase)                    \
	LIST(CTRL_CREDIT_LIST, credit_list, credit) \
	LIST(CTRL_ADOPT, adopt, held)               \
	LIST(CTRL_OFFER, offer, block)              \
	LIST(CTRL_DECISIONS, decisions, decision)   \
	LIST(CTRL_EVENTS, events, published)        \
	LIST(CTRL_GRANTS, grants, granted)          \
	LIST(CTRL_BUILT, built, built_event)        \
	LIST(CTRL_STEPS, steps, step_event)

static size_t make_request(uint8_t *bytes)
{
	struct ctrl_request request = request_draw();

	request.grant = grant_draw();
	request.n_words = (uint16_t)draw_from(0, MOST);
	draw_mask(request.n_words);
	request.mask = mask;
	return ctrl_put_request(bytes, FRAME_ROOM, &request);
}

static size_t make_done(uint8_t *bytes)
{
	struct ctrl_done done = done_draw();

	done.n_words = (uint16_t)draw_from(0, MOST);
	done.n_missing = draw_mask(done.n_words);
	done.missing = mask;
	return ctrl_put_done(bytes, FRAME_ROOM, &done);
}

static size_t make_heartbeat(uint8_t *bytes)
{
	struct ctrl_heartbeat heartbeat = heartbeat_draw();

	heartbeat.n_ports = (uint8_t)draw_from(0, MOST);
	for (unsigned i = 0; i < heartbeat.n_ports; i++)
		heartbeat.ports[i] = port_draw();
	heartbeat.has_lease = draw() % 2;
	heartbeat.lease = lease_draw();
	return ctrl_put_heartbeat(bytes, FRAME_ROOM, &heartbeat);
}

static size_t make_places(uint8_t *bytes)
{
	uint8_t list[MOST * CTRL_PLACE_SIZE];
	struct ctrl_places places = places_draw();

	places.n_words = (uint16_t)draw_from(0, MOST);
	places.n = (uint16_t)draw_from(0, MOST);
	draw_mask(places.n_words);
	places.mask = mask;
	places.places = list;
	for (unsigned i = 0; i < places.n; i++) {
		struct ctrl_place place = place_draw();

		ctrl_put_place(list + i * CTRL_PLACE_SIZE, &place);
	}
	return ctrl_put_places(bytes, FRAME_ROOM, &places);
}

static size_t make_member(uint8_t *bytes, enum ctrl_type type)
{
	struct ctrl_member member = member_draw();

	return ctrl_put_member(bytes, FRAME_ROOM, type, &member);
}

#define MAKE_PLAIN(TYPE, name)                                  \
	case TYPE: {                                            \
		struct ctrl_##name it = name##_draw();          \
		return ctrl_put_##name(bytes, FRAME_ROOM, &it); \
	}
#define MAKE_LIST(TYPE, name, entry)                                     \
	case TYPE: {                                                     \
		struct ctrl_##entry entries[MOST];                       \
		struct ctrl_##name it = name##_draw();                   \
		it.n = (uint16_t)draw_from(1, MOST);                     \
		for (unsigned i = 0; i < MOST; i++)                      \
			entries[i] = entry##_draw();                     \
		return ctrl_put_##name(bytes, FRAME_ROOM, &it, entries); \
	}

// The size of the record; 0: its fields contradict each other, or there is no such type.
static size_t make_record(uint8_t *bytes, unsigned type)
{
	switch (type) {
		RECORDS(MAKE_PLAIN, MAKE_LIST)
	case CTRL_REQUEST:
		return make_request(bytes);
	case CTRL_DONE:
		return make_done(bytes);
	case CTRL_HEARTBEAT:
		return make_heartbeat(bytes);
	case CTRL_PLACES:
		return make_places(bytes);
	case CTRL_EXCLUDE:
	case CTRL_INCLUDE:
		return make_member(bytes, type);
	default:
		return 0;
	}
}

static void check(enum wire_error error)
{
	if (error) {
		fprintf(stderr, "a record of known_frames is refused: %s\n", wire_reason(error));
		abort();
	}
}

static void tell_heartbeat(const struct ctrl_record *record)
{
	struct ctrl_heartbeat heartbeat;

	check(ctrl_get_heartbeat(record, &heartbeat));
	heartbeat_tell(&heartbeat);
	for (unsigned i = 0; i < heartbeat.n_ports; i++)
		port_tell(&heartbeat.ports[i]);
	if (heartbeat.has_lease)
		lease_tell(&heartbeat.lease);
}

static void tell_request(const struct ctrl_record *record)
{
	struct ctrl_request request;

	check(ctrl_get_request(record, &request));
	request_tell(&request);
	grant_tell(&request.grant);
	tell_mask(request.mask, request.n_words);
}

static void tell_done(const struct ctrl_record *record)
{
	struct ctrl_done done;

	check(ctrl_get_done(record, &done));
	done_tell(&done);
	tell_mask(done.missing, done.n_words);
}

static void tell_places(const struct ctrl_record *record)
{
	struct ctrl_places places;

	check(ctrl_get_places(record, &places));
	places_tell(&places);
	tell_mask(places.mask, places.n_words);
	for (unsigned i = 0; i < places.n; i++) {
		const struct ctrl_place place = ctrl_place_at(&places, i);

		place_tell(&place);
	}
}

static void tell_member(const struct ctrl_record *record)
{
	struct ctrl_member member;

	check(ctrl_get_member(record, &member));
	member_tell(&member);
}

#define TELL_PLAIN(TYPE, name)                       \
	case TYPE: {                                 \
		struct ctrl_##name it;               \
                                                     \
		check(ctrl_get_##name(record, &it)); \
		name##_tell(&it);                    \
		return;                              \
	}
#define TELL_LIST(TYPE, name, entry)                                              \
	case TYPE: {                                                              \
		struct ctrl_##name it;                                            \
                                                                                  \
		check(ctrl_get_##name(record, &it));                              \
		name##_tell(&it);                                                 \
		for (unsigned i = 0; i < it.n; i++) {                             \
			const struct ctrl_##entry at = ctrl_##entry##_at(&it, i); \
                                                                                  \
			entry##_tell(&at);                                        \
		}                                                                 \
		return;                                                           \
	}

static void tell_record(const struct ctrl_record *record)
{
	tell("evb_control.record", "type", record->type);
	tell("evb_control.record", "size", record->size);
	switch (record->type) {
		RECORDS(TELL_PLAIN, TELL_LIST)
	case CTRL_REQUEST:
		tell_request(record);
		break;
	case CTRL_DONE:
		tell_done(record);
		break;
	case CTRL_HEARTBEAT:
		tell_heartbeat(record);
		break;
	case CTRL_PLACES:
		tell_places(record);
		break;
	default:
		tell_member(record);
	}
}

static void one_frame(unsigned type)
{
	static uint8_t bytes[FRAME_ROOM];
	struct ctrl_header header;
	struct ctrl_record record;
	struct ctrl_frame frame;
	size_t size = 0, offset = 0;

	for (unsigned i = 0; i < TRY_LIMIT && size == 0; i++)
		size = make_record(bytes + CTRL_HEADER_SIZE, type);
	if (size == 0) {
		fprintf(stderr, "known_frames makes no record of type %u: add it to RECORDS\n",
			type);
		abort();
	}
	header = header_draw();
	header.flags = (uint8_t)draw_from(0, 2 * CTRL_PROCESS_ENDED - 1);
	size = ctrl_frame_encode(bytes, &header, size);
	put_frame(bytes, size, PORT);
	check(ctrl_frame_decode(bytes, size, &frame));
	header_tell(&frame.header);
	while (ctrl_next_record(&frame, &offset, &record))
		tell_record(&record);
}

void control_frames(void)
{
	for (unsigned type = 1; type < CTRL_N_TYPES; type++)
		if (type != UNUSED_TYPE)
			one_frame(type);
}
