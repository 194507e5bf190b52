// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/ctrl.h"

#include "wire/crc.h"

#define RECORD_HEADER 4u // type and size

// --- names ---

static const char *const run_state_names[CTRL_N_RUN_STATES] = {
	[CTRL_IDLE] = "idle",     [CTRL_CONFIGURED] = "configured", [CTRL_RUNNING] = "running",
	[CTRL_PAUSED] = "paused", [CTRL_DRAINING] = "draining",     [CTRL_STOPPED] = "stopped",
	[CTRL_FAILED] = "failed", [CTRL_READY] = "ready",
};

static const char *const command_names[CTRL_N_COMMANDS] = {
	[CTRL_CONFIGURE] = "configure", [CTRL_START] = "start", [CTRL_PAUSE] = "pause",
	[CTRL_RESUME] = "resume",       [CTRL_DRAIN] = "drain", [CTRL_STOP] = "stop",
};

static const char *name_of(const char *const *names, unsigned n, unsigned number)
{
	return number < n && names[number] ? names[number] : "unknown";
}

const char *ctrl_run_state_name(unsigned state)
{
	return name_of(run_state_names, CTRL_N_RUN_STATES, state);
}

const char *ctrl_command_name(unsigned command)
{
	return name_of(command_names, CTRL_N_COMMANDS, command);
}

// --- the table's code: for each struct ctrl_X X_layout, X_encode(), X_decode() and X_check() ---

static inline uint8_t load_le8(const uint8_t *p)
{
	return *p;
}

static inline void store_le8(uint8_t *p, uint8_t v)
{
	*p = v;
}

// `size` bytes: the text, closed with at least one 0, and zeros behind it.
static void put_text(uint8_t *bytes, const char *text, size_t size)
{
	size_t i = 0;

	for (; i < size - 1 && text[i] != '\0'; i++)
		bytes[i] = (uint8_t)text[i];
	memset(bytes + i, 0, size - i);
}

static void get_text(const uint8_t *bytes, char *text, size_t size)
{
	size_t i = 0;

	for (; i < size - 1 && bytes[i] != 0; i++)
		text[i] = (char)(bytes[i] >= 0x20 && bytes[i] < 0x7F ? bytes[i] : '?');
	memset(text + i, 0, size - i);
}

// The bytes as the table orders them, to check offsets and sizes against.
#define CTRL_RECORD(name, size)          CTRL_PART(name, size) uint8_t type_and_size[RECORD_HEADER];
#define CTRL_PART(name, size)            struct name##_layout {
#define CTRL_FIELD(bits, at, name)       uint##bits##_t name;
#define CTRL_RANGE(bits, at, name, a, b) CTRL_FIELD(bits, at, name)
#define CTRL_TEXT(size, at, name)        char name[size];
#define CTRL_ZERO(size, at)              uint8_t zero_##at[size];
#define CTRL_SKIP(size, at)              uint8_t skip_##at[size];
#define CTRL_MEMBER(declaration)
#define CTRL_END(name) \
	}              \
	__attribute__((packed));
#include "wire/ctrl_records.def"

// Everything but type and size of a record.
#define CTRL_RECORD(name, size) CTRL_PART(name, size)
#define CTRL_PART(name, size)                                                          \
	_Static_assert(sizeof(struct name##_layout) == (size), #name " has a gap");    \
	static inline void name##_encode(uint8_t *bytes, const struct ctrl_##name *in) \
	{                                                                              \
		typedef struct name##_layout layout;
#define PLACED(at, name)                 _Static_assert(offsetof(layout, name) == (at), #name);
#define CTRL_FIELD(bits, at, name)       PLACED(at, name) store_le##bits(bytes + (at), in->name);
#define CTRL_RANGE(bits, at, name, a, b) CTRL_FIELD(bits, at, name)
#define CTRL_TEXT(size, at, name)        PLACED(at, name) put_text(bytes + (at), in->name, size);
#define CTRL_ZERO(size, at)              PLACED(at, zero_##at) memset(bytes + (at), 0, size);
#define CTRL_SKIP(size, at)              PLACED(at, skip_##at)
#define CTRL_MEMBER(declaration)
#define CTRL_END(name) }
#include "wire/ctrl_records.def"

#define CTRL_RECORD(name, size) CTRL_PART(name, size)
#define CTRL_PART(name, size)                                                           \
	static inline void name##_decode(const uint8_t *bytes, struct ctrl_##name *out) \
	{
#define CTRL_FIELD(bits, at, name)       out->name = load_le##bits(bytes + (at));
#define CTRL_RANGE(bits, at, name, a, b) CTRL_FIELD(bits, at, name)
#define CTRL_TEXT(size, at, name)        get_text(bytes + (at), out->name, size);
#define CTRL_ZERO(size, at)
#define CTRL_SKIP(size, at)
#define CTRL_MEMBER(declaration)
#define CTRL_END(name) }
#include "wire/ctrl_records.def"

#define CTRL_RECORD(name, size) CTRL_PART(name, size)
#define CTRL_PART(name, size)                                                    \
	static inline enum wire_error name##_check(const struct ctrl_##name *in) \
	{                                                                        \
		(void)in;
#define CTRL_FIELD(bits, at, name)
#define CTRL_RANGE(bits, at, name, a, b)                                        \
	if ((uint64_t)in->name - (uint64_t)(a) > (uint64_t)(b) - (uint64_t)(a)) \
		return WIRE_UNSUPPORTED;
#define CTRL_TEXT(size, at, name)
#define CTRL_ZERO(size, at)
#define CTRL_SKIP(size, at)
#define CTRL_MEMBER(declaration)
#define CTRL_END(name)  \
	return WIRE_OK; \
	}
#include "wire/ctrl_records.def"

// --- frames ---

// Bytes behind the records.
static size_t closing_size(uint8_t flags)
{
	return flags & CTRL_KEYED ? CTRL_SEAL_SIZE : CTRL_CRC_SIZE;
}

enum wire_error ctrl_frame_decode(const uint8_t *bytes, size_t length, struct ctrl_frame *frame)
{
	size_t size, end;
	struct ctrl_record record;
	enum wire_error error;

	if (length < CTRL_OVERHEAD)
		return WIRE_TRUNCATED;
	if (load_le32(bytes) != CTRL_MAGIC)
		return WIRE_BAD_MAGIC;
	if (bytes[4] != CTRL_VERSION)
		return WIRE_BAD_VERSION;
	size = load_le16(bytes + 6);
	if (size > length || length < CTRL_HEADER_SIZE + closing_size(bytes[5]))
		return WIRE_TRUNCATED;
	end = length - closing_size(bytes[5]);
	if (size < length || end % 8 != 0)
		return WIRE_BAD_LENGTH;
	if (!(bytes[5] & CTRL_KEYED) && crc32c(0, bytes, end) != load_le32(bytes + end))
		return WIRE_BAD_CHECKSUM;
	header_decode(bytes, &frame->header);
	error = header_check(&frame->header);
	if (error)
		return error;
	for (size_t at = CTRL_HEADER_SIZE; at < end; at += record.size) {
		error = ctrl_record_at(bytes + at, end - at, &record);
		if (error)
			return error;
	}
	frame->bytes = bytes;
	frame->size = size;
	frame->records_size = end - CTRL_HEADER_SIZE;
	return WIRE_OK;
}

unsigned ctrl_frame_node(const uint8_t *bytes, size_t length)
{
	if (length < CTRL_OVERHEAD || load_le32(bytes) != CTRL_MAGIC)
		return CTRL_MAX_NODES;
	return load_le16(bytes + 8);
}

size_t ctrl_frame_encode(uint8_t *bytes, const struct ctrl_header *header, size_t records_size)
{
	const size_t end = CTRL_HEADER_SIZE + records_size;
	const size_t size = end + closing_size(header->flags);

	store_le32(bytes, CTRL_MAGIC);
	bytes[4] = CTRL_VERSION;
	store_le16(bytes + 6, (uint16_t)size);
	header_encode(bytes, header);
	if (!(header->flags & CTRL_KEYED))
		store_le32(bytes + end, crc32c(0, bytes, end));
	return size;
}

bool ctrl_next_record(const struct ctrl_frame *frame, size_t *offset, struct ctrl_record *record)
{
	const size_t end = frame->records_size;

	if (*offset >= end)
		return false;
	if (ctrl_record_at(frame->bytes + CTRL_HEADER_SIZE + *offset, end - *offset, record))
		return false;
	*offset += record->size;
	return true;
}

enum wire_error ctrl_record_at(const uint8_t *bytes, size_t length, struct ctrl_record *record)
{
	if (length < 8)
		return WIRE_TRUNCATED;
	record->bytes = bytes;
	record->type = load_le16(bytes);
	record->size = load_le16(bytes + 2);
	if (record->size < 8 || record->size % 8 != 0)
		return WIRE_BAD_ALIGNMENT;
	return record->size > length ? WIRE_TRUNCATED : WIRE_OK;
}

// --- records ---

// Begins a record with its type and size. False if it does not fit.
static bool begin(uint8_t *bytes, size_t capacity, enum ctrl_type type, size_t size)
{
	if (size > capacity || size > UINT16_MAX)
		return false;
	store_le16(bytes, (uint16_t)type);
	store_le16(bytes + 2, (uint16_t)size);
	return true;
}

static enum wire_error expect(const struct ctrl_record *record, enum ctrl_type type, size_t size)
{
	if (record->type != type)
		return WIRE_BAD_MAGIC;
	return record->size < size ? WIRE_TRUNCATED : WIRE_OK;
}

// The coders of a record of a fixed size. `relation` is the error of fields of `in` that contradict
// each other.
#define CODERS(TYPE, name, SIZE, relation)                                                         \
	size_t ctrl_put_##name(uint8_t *bytes, size_t capacity, const struct ctrl_##name *in)      \
	{                                                                                          \
		if ((relation) || name##_check(in) || !begin(bytes, capacity, TYPE, SIZE))         \
			return 0;                                                                  \
		name##_encode(bytes, in);                                                          \
		return SIZE;                                                                       \
	}                                                                                          \
	enum wire_error ctrl_get_##name(const struct ctrl_record *record, struct ctrl_##name *out) \
	{                                                                                          \
		const struct ctrl_##name *in = out;                                                \
		enum wire_error error = expect(record, TYPE, SIZE);                                \
                                                                                                   \
		if (error)                                                                         \
			return error;                                                              \
		name##_decode(record->bytes, out);                                                 \
		error = (relation);                                                                \
		return error ? error : name##_check(in);                                           \
	}

static enum wire_error announce_relation(const struct ctrl_announce *a)
{
	if (a->first_source > a->last_source)
		return WIRE_BAD_SOURCE;
	return a->begin > a->end ? WIRE_BAD_EVENT : WIRE_OK;
}

static enum wire_error grant_relation(const struct ctrl_grant *g)
{
	return g->position < g->n_positions ? WIRE_OK : WIRE_UNSUPPORTED;
}

CODERS(CTRL_REGISTER, register, CTRL_REGISTER_SIZE, WIRE_OK)
CODERS(CTRL_WELCOME, welcome, CTRL_WELCOME_SIZE, WIRE_OK)
CODERS(CTRL_BUILDER, builder, CTRL_BUILDER_SIZE, WIRE_OK)
CODERS(CTRL_ANNOUNCE, announce, CTRL_ANNOUNCE_SIZE, announce_relation(in))
CODERS(CTRL_GRANT, grant, CTRL_GRANT_SIZE, grant_relation(in))
CODERS(CTRL_RELEASE, release, CTRL_RELEASE_SIZE, WIRE_OK)
CODERS(CTRL_THROTTLE, throttle, CTRL_THROTTLE_SIZE, WIRE_OK)
CODERS(CTRL_RUN_COMMAND, run_command, CTRL_RUN_COMMAND_SIZE, WIRE_OK)
CODERS(CTRL_RUN_STATE, run_report, CTRL_RUN_REPORT_SIZE, WIRE_OK)
CODERS(CTRL_BYE, bye, CTRL_BYE_SIZE, WIRE_OK)
CODERS(CTRL_PROGRESS, progress, CTRL_PROGRESS_SIZE, WIRE_OK)
CODERS(CTRL_RESULTS, results, CTRL_RESULTS_SIZE, WIRE_OK)
CODERS(CTRL_NEXT_SHARED, next_shared, CTRL_NEXT_SHARED_SIZE, WIRE_OK)
CODERS(CTRL_CONFIGURATION, configuration, CTRL_CONFIGURATION_SIZE, WIRE_OK)
CODERS(CTRL_AGREEMENT, agreement, CTRL_AGREEMENT_SIZE, WIRE_OK)
CODERS(CTRL_PHASE, phase, CTRL_PHASE_SIZE, WIRE_OK)

size_t ctrl_put_member(uint8_t *bytes, size_t capacity, enum ctrl_type type,
		       const struct ctrl_member *in)
{
	if (in->first_source > in->last_source || member_check(in) ||
	    !begin(bytes, capacity, type, CTRL_MEMBER_SIZE))
		return 0;
	member_encode(bytes, in);
	return CTRL_MEMBER_SIZE;
}

enum wire_error ctrl_get_member(const struct ctrl_record *record, struct ctrl_member *out)
{
	const enum ctrl_type type = record->type == CTRL_INCLUDE ? CTRL_INCLUDE : CTRL_EXCLUDE;
	enum wire_error error = expect(record, type, CTRL_MEMBER_SIZE);

	if (error)
		return error;
	member_decode(record->bytes, out);
	return out->first_source > out->last_source ? WIRE_BAD_SOURCE : member_check(out);
}

// --- records with a mask ---

static enum wire_error request_relation(const struct ctrl_request *r)
{
	return grant_relation(&r->grant) ? WIRE_UNSUPPORTED : grant_check(&r->grant);
}

size_t ctrl_put_request(uint8_t *bytes, size_t capacity, const struct ctrl_request *in)
{
	const size_t size = CTRL_REQUEST_SIZE((size_t)in->n_words);

	if (request_relation(in) || request_check(in) ||
	    !begin(bytes, capacity, CTRL_REQUEST, size))
		return 0;
	grant_encode(bytes, &in->grant);
	request_encode(bytes, in);
	if (in->n_words > 0)
		memcpy(bytes + CTRL_REQUEST_SIZE(0), in->mask, 8 * (size_t)in->n_words);
	return size;
}

enum wire_error ctrl_get_request(const struct ctrl_record *record, struct ctrl_request *out)
{
	enum wire_error error = expect(record, CTRL_REQUEST, CTRL_REQUEST_SIZE(0));

	if (error)
		return error;
	grant_decode(record->bytes, &out->grant);
	request_decode(record->bytes, out);
	out->mask = record->bytes + CTRL_REQUEST_SIZE(0);
	if (CTRL_REQUEST_SIZE((size_t)out->n_words) > record->size || request_check(out))
		return WIRE_BAD_LENGTH;
	return request_relation(out);
}

static unsigned count_bits(const uint8_t *mask, unsigned n_words)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_words; i++)
		n += (unsigned)__builtin_popcountll(load_le64(mask + 8 * (size_t)i));
	return n;
}

static enum wire_error done_relation(const struct ctrl_done *d)
{
	if (d->n_words > CTRL_MASK_WORDS || d->n_missing > CTRL_MAX_SOURCES)
		return WIRE_BAD_LENGTH;
	if (d->n_words > 0 && count_bits(d->missing, d->n_words) != d->n_missing)
		return WIRE_BAD_SOURCE;
	return WIRE_OK;
}

size_t ctrl_put_done(uint8_t *bytes, size_t capacity, const struct ctrl_done *in)
{
	const size_t size = CTRL_DONE_SIZE((size_t)in->n_words);

	if (done_relation(in) || done_check(in) || !begin(bytes, capacity, CTRL_DONE, size))
		return 0;
	done_encode(bytes, in);
	if (in->n_words > 0)
		memcpy(bytes + CTRL_DONE_SIZE(0), in->missing, 8 * (size_t)in->n_words);
	return size;
}

enum wire_error ctrl_get_done(const struct ctrl_record *record, struct ctrl_done *out)
{
	enum wire_error error = expect(record, CTRL_DONE, CTRL_DONE_SIZE(0));

	if (error)
		return error;
	done_decode(record->bytes, out);
	out->missing = record->bytes + CTRL_DONE_SIZE(0);
	if (CTRL_DONE_SIZE((size_t)out->n_words) > record->size)
		return WIRE_BAD_LENGTH;
	error = done_relation(out);
	return error ? error : done_check(out);
}

// --- records with a list ---

size_t ctrl_put_heartbeat(uint8_t *bytes, size_t capacity, const struct ctrl_heartbeat *in)
{
	const size_t lease_at = CTRL_HEARTBEAT_SIZE(in->n_ports);
	const size_t size = lease_at + (in->has_lease ? CTRL_LEASE_SIZE : 0);

	if (in->n_ports > CTRL_MAX_PORTS || heartbeat_check(in) || lease_check(&in->lease) ||
	    !begin(bytes, capacity, CTRL_HEARTBEAT, size))
		return 0;
	heartbeat_encode(bytes, in);
	for (unsigned i = 0; i < in->n_ports; i++) {
		if (port_check(&in->ports[i]))
			return 0;
		port_encode(bytes + CTRL_HEARTBEAT_SIZE(i), &in->ports[i]);
	}
	if (in->has_lease)
		lease_encode(bytes + lease_at, &in->lease);
	return size;
}

enum wire_error ctrl_get_heartbeat(const struct ctrl_record *record, struct ctrl_heartbeat *out)
{
	enum wire_error error = expect(record, CTRL_HEARTBEAT, CTRL_HEARTBEAT_SIZE(0));

	if (error)
		return error;
	heartbeat_decode(record->bytes, out);
	if (out->n_ports > CTRL_MAX_PORTS || CTRL_HEARTBEAT_SIZE(out->n_ports) > record->size)
		return WIRE_BAD_LENGTH;
	memset(out->ports, 0, sizeof(out->ports));
	for (unsigned i = 0; i < out->n_ports; i++) {
		port_decode(record->bytes + CTRL_HEARTBEAT_SIZE(i), &out->ports[i]);
		if (port_check(&out->ports[i]))
			return WIRE_UNSUPPORTED;
	}
	out->lease = (struct ctrl_lease){ 0 };
	out->has_lease = record->size >= CTRL_HEARTBEAT_SIZE(out->n_ports) + CTRL_LEASE_SIZE;
	if (out->has_lease)
		lease_decode(record->bytes + CTRL_HEARTBEAT_SIZE(out->n_ports), &out->lease);
	return lease_check(&out->lease) ? WIRE_UNSUPPORTED : heartbeat_check(out);
}

// The coders of a record with `least` or more entries behind it.
#define LIST_CODERS(TYPE, name, SIZE, entry, least)                                                \
	struct ctrl_##entry ctrl_##entry##_at(const struct ctrl_##name *list, unsigned index)      \
	{                                                                                          \
		struct ctrl_##entry out;                                                           \
                                                                                                   \
		entry##_decode(list->entries + (SIZE((size_t)index) - SIZE(0)), &out);             \
		return out;                                                                        \
	}                                                                                          \
	size_t ctrl_put_##name(uint8_t *bytes, size_t capacity, const struct ctrl_##name *in,      \
			       const struct ctrl_##entry *entries)                                 \
	{                                                                                          \
		const size_t size = SIZE((size_t)in->n);                                           \
                                                                                                   \
		if (in->n < (least) || name##_check(in) || !begin(bytes, capacity, TYPE, size))    \
			return 0;                                                                  \
		name##_encode(bytes, in);                                                          \
		for (size_t i = 0; i < in->n; i++) {                                               \
			if (entry##_check(&entries[i]))                                            \
				return 0;                                                          \
			entry##_encode(bytes + SIZE(i), &entries[i]);                              \
		}                                                                                  \
		return size;                                                                       \
	}                                                                                          \
	enum wire_error ctrl_get_##name(const struct ctrl_record *record, struct ctrl_##name *out) \
	{                                                                                          \
		enum wire_error error = expect(record, TYPE, SIZE(0));                             \
                                                                                                   \
		if (error)                                                                         \
			return error;                                                              \
		name##_decode(record->bytes, out);                                                 \
		out->entries = record->bytes + SIZE(0);                                            \
		if (out->n < (least) || SIZE((size_t)out->n) > record->size)                       \
			return WIRE_BAD_LENGTH;                                                    \
		for (unsigned i = 0; i < out->n; i++) {                                            \
			struct ctrl_##entry at;                                                    \
                                                                                                   \
			entry##_decode(out->entries + (SIZE((size_t)i) - SIZE(0)), &at);           \
			if (entry##_check(&at))                                                    \
				return WIRE_UNSUPPORTED;                                           \
		}                                                                                  \
		return name##_check(out);                                                          \
	}

LIST_CODERS(CTRL_CREDIT_LIST, credit_list, CTRL_CREDIT_LIST_SIZE, credit, 1)
LIST_CODERS(CTRL_ADOPT, adopt, CTRL_ADOPT_SIZE, held, 0)
LIST_CODERS(CTRL_OFFER, offer, CTRL_OFFER_SIZE, block, 1)
LIST_CODERS(CTRL_DECISIONS, decisions, CTRL_DECISIONS_SIZE, decision, 0)
LIST_CODERS(CTRL_EVENTS, events, CTRL_EVENTS_SIZE, published, 0)
LIST_CODERS(CTRL_GRANTS, grants, CTRL_GRANTS_SIZE, granted, 1)
LIST_CODERS(CTRL_BUILT, built, CTRL_BUILT_SIZE, built_event, 1)
LIST_CODERS(CTRL_STEPS, steps, CTRL_STEPS_SIZE, step_event, 1)

struct ctrl_progress ctrl_progress_at(const struct ctrl_steps *list, unsigned index)
{
	const struct ctrl_step_event at = ctrl_step_event_at(list, index);

	return (struct ctrl_progress){
		.event = ctrl_event_at(list->first, at.offset),
		.slot = at.slot,
		.generation = at.generation,
		.run = list->run,
		.builder = list->builder,
		.attempt = list->attempt,
		.step = list->step,
	};
}

// --- the nodes of a shared frame ---

size_t ctrl_put_places(uint8_t *bytes, size_t capacity, const struct ctrl_places *in)
{
	const size_t mask_size = 8 * (size_t)in->n_words;
	const size_t size = CTRL_PLACES_SIZE(0) + mask_size + CTRL_PLACE_SIZE * (size_t)in->n;

	if (places_check(in) || !begin(bytes, capacity, CTRL_PLACES, size))
		return 0;
	places_encode(bytes, in);
	memcpy(bytes + CTRL_PLACES_SIZE(0), in->mask, mask_size);
	memcpy(bytes + CTRL_PLACES_SIZE(0) + mask_size, in->places,
	       CTRL_PLACE_SIZE * (size_t)in->n);
	return size;
}

enum wire_error ctrl_get_places(const struct ctrl_record *record, struct ctrl_places *out)
{
	enum wire_error error = expect(record, CTRL_PLACES, CTRL_PLACES_SIZE(0));

	if (error)
		return error;
	places_decode(record->bytes, out);
	if (places_check(out))
		return WIRE_UNSUPPORTED;
	out->mask = record->bytes + CTRL_PLACES_SIZE(0);
	out->places = out->mask + 8 * (size_t)out->n_words;
	if (CTRL_PLACES_SIZE((size_t)out->n_words) + CTRL_PLACE_SIZE * (size_t)out->n >
	    record->size)
		return WIRE_BAD_LENGTH;
	for (unsigned i = 0; i < out->n; i++) {
		const struct ctrl_place at = ctrl_place_at(out, i);

		if (place_check(&at))
			return WIRE_UNSUPPORTED;
	}
	return WIRE_OK;
}

void ctrl_put_place(uint8_t bytes[CTRL_PLACE_SIZE], const struct ctrl_place *place)
{
	place_encode(bytes, place);
}

struct ctrl_place ctrl_place_at(const struct ctrl_places *list, unsigned index)
{
	struct ctrl_place out;

	place_decode(list->places + CTRL_PLACE_SIZE * (size_t)index, &out);
	return out;
}

bool ctrl_places_has(const struct ctrl_places *list, unsigned node)
{
	return node / 64 < list->n_words &&
	       (load_le64(list->mask + 8 * (size_t)(node / 64)) >> node % 64 & 1) != 0;
}
