// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The evb control protocol, spoken between event manager, builders and sources. One frame is one
// UDP datagram; it carries records. All numbers are little endian. The protocol is ours:
// docs/control-protocol.md describes its use, lib/control/endpoint.h implements its transport.
//
//   frame   64 bytes of header | records, each a multiple of 8 bytes | u32 CRC-32C of all before it
//   with CTRL_KEYED ... | u64 number of the frame | 16 bytes: tag of all before it
//   header  0 u32 magic, the bytes "evbC" | 4 u8 version 1 | 6 u16 bytes of the frame, all included
//   record  0 u16 type | 2 u16 bytes of the record, these included, a multiple of 8 | 4 ...
//
// ctrl_records.def has all other fields of the header and of the records. A record of an unknown
// type is skipped. A record of a known type may be longer than defined there: the bytes behind are
// ignored.
//
// An event is named by its index: the event id of its first fragment / packing. A range of events
// [begin, end) ends before `end`. The generation of a slot is any number that differs from one use
// of the slot to the next.
//
// Decoders check lengths and ranges and refuse the rest: TRUNCATED for a record that is too short,
// BAD_LENGTH for a count beyond the record or its limit, BAD_SOURCE or BAD_EVENT for numbers that
// contradict each other, UNSUPPORTED for a number outside its range. Encoders (ctrl_put_...) write
// a whole record and return its size, or 0 if it does not fit or a field is outside its range.
#pragma once

#include "wire/wire.h"

#define CTRL_MAGIC        0x43627665u // "evbC"
#define CTRL_VERSION      1
#define CTRL_HEADER_SIZE  64u
#define CTRL_CRC_SIZE     4u
#define CTRL_OVERHEAD     (CTRL_HEADER_SIZE + CTRL_CRC_SIZE)
#define CTRL_TAG_SIZE     16u
#define CTRL_SEAL_SIZE    (8u + CTRL_TAG_SIZE) // number and tag, in the place of the CRC
#define CTRL_MIN_MAX_SIZE 1228u                // bytes; every node accepts frames of this size
#define CTRL_MAX_SIZE     65484u // bytes of a frame: 8 n + 4, in a UDP datagram over IPv4
#define CTRL_DEFAULT_SIZE 1468u  // bytes; fits an MTU of 1500

#define CTRL_NO_SESSION 1u // of a sender that does not tell its own

#define CTRL_MAX_NODES    1024u
#define CTRL_MAX_BUILDERS 64u   // of a node
#define CTRL_MAX_SOURCES  4096u // of a system; the bits of a mask
#define CTRL_MAX_SLOTS    65536u
#define CTRL_MAX_PORTS    16u
#define CTRL_MAX_WINDOW   64u // frames
#define CTRL_MASK_WORDS   (CTRL_MAX_SOURCES / 64)
#define CTRL_TEXT_SIZE    64u    // with the closing 0
#define CTRL_PATH_SIZE    256u   // the same, of a path and of the reason not to use its file
#define CTRL_FULL_SHARE   10000u // shares are in units of 1/10000
#define CTRL_MAX_LEVEL    8u     // levels of a queue are eighths

enum ctrl_flag {
	CTRL_SEQUENCED = 1, // has its place in the sequence; is sent until it is acknowledged
	CTRL_ASK = 2, // requests one frame at once, to learn whether the peer's session is alive
	CTRL_OCCUPIED = 4, // the sender is in session with another process of the receiver's number
	CTRL_KEYED = 8,    // ends in number and tag (control/seal.h) instead of the CRC
	CTRL_SHARED = 16,  // sent by multicast; `destination` is the sender, see PLACES
	CTRL_PROCESS_ENDED = 32, // the last will of the sender's process, which has ended
};

enum ctrl_type {
	CTRL_REGISTER = 1,
	CTRL_WELCOME = 2,
	CTRL_BUILDER = 3, // 4 is not used
	CTRL_CREDIT_LIST = 5,
	CTRL_ANNOUNCE = 6,
	CTRL_GRANT = 7,
	CTRL_REQUEST = 8,
	CTRL_DONE = 9,
	CTRL_RELEASE = 10,
	CTRL_HEARTBEAT = 11,
	CTRL_EXCLUDE = 12,
	CTRL_INCLUDE = 13,
	CTRL_THROTTLE = 14,
	CTRL_RUN_COMMAND = 15,
	CTRL_RUN_STATE = 16,
	CTRL_ADOPT = 17,
	CTRL_BYE = 18,
	CTRL_PROGRESS = 19,
	CTRL_OFFER = 20,
	CTRL_DECISIONS = 21,
	CTRL_EVENTS = 22,
	CTRL_RESULTS = 23,
	CTRL_GRANTS = 24,
	CTRL_BUILT = 25,
	CTRL_STEPS = 26,
	CTRL_PLACES = 27,
	CTRL_NEXT_SHARED = 28,
	CTRL_CONFIGURATION = 29,
	CTRL_AGREEMENT = 30,
	CTRL_PHASE = 31,
	CTRL_N_TYPES
};

enum ctrl_role {
	CTRL_ROLE_SOURCE = 1, // holds events of one or more sources, and sends them
	CTRL_ROLE_BUILDER = 2,
	CTRL_ROLE_MANAGER = 4,
	CTRL_ROLE_CONTROL = 8, // commands runs
};

// Whether a node asks for the votes of the others, by which an event manager is in office.
enum ctrl_office { CTRL_OFFICE_NONE, CTRL_OFFICE_ASKED, CTRL_OFFICE_HELD, CTRL_N_OFFICES };

#define CTRL_NO_VOTE 0xFFFFu

enum ctrl_run_state {
	CTRL_IDLE = 0, // no run
	CTRL_CONFIGURED = 1,
	CTRL_RUNNING = 2,
	CTRL_PAUSED = 3,   // nothing new is granted; events already granted are built
	CTRL_DRAINING = 4, // as paused, and the run ends when nothing is outstanding
	CTRL_STOPPED = 5,
	CTRL_FAILED = 6,
	CTRL_READY = 7, // accepted by the manager, and no run yet
	CTRL_N_RUN_STATES
};

enum ctrl_register_flag {
	CTRL_EXCLUDED = 1, // the operator has excluded this node, as the manager stated last
	// Its sources still have the events that are not released, also if an earlier process of
	// the node announced them.
	CTRL_RESUMES = 2,
	// Also in WELCOME: the sender decodes GRANTS, BUILT and STEPS.
	CTRL_LISTS = 4,
	// The node is in no run, and `run` is the number of the next one that it is prepared for.
	CTRL_PREPARED = 8,
	// Its builders obey CTRL_PERMITTED: they respond to WITHDRAW of such a grant with DONE and
	// the outcome CTRL_UNBUILT, or else with BUILT and CTRL_ALREADY_PUBLISHED.
	CTRL_OBEYS_PERMISSION = 16,
	// The sender receives frames that are sent by multicast.
	CTRL_MULTICAST = 32,
};

enum ctrl_verdict {
	CTRL_ACCEPTED = 0,
	CTRL_REFUSED_CONFIG = 1, // another configuration
	CTRL_REFUSED_NODE = 2,   // no such node in the configuration
	CTRL_REFUSED_ROLES = 3,  // roles, builders or sources are not those of the configuration
	CTRL_REFUSED_NOT_MANAGER = 4,
	CTRL_REFUSED_NOT_NOW = 5, // the node waits for INCLUDE
	CTRL_N_VERDICTS
};

enum ctrl_announce_flag {
	CTRL_END_OF_RUN = 1, // no event of id `end` or above will come in this run
	// Where source nodes share their source. From the manager: the next events of the node are
	// the events [begin, end). From a node, behind REGISTER: it has had such events below
	// `end`.
	CTRL_ASSIGNED = 2,
};

enum ctrl_phase_flag {
	CTRL_OF_ALL = 1, // from the manager: its own node also gets what this node has reported
};

enum ctrl_grant_flag {
	CTRL_PLACED = 1,  // address, size and rkey name the place for RDMA WRITE
	CTRL_BARRIER = 2, // its phase begins as PHASE of the manager allows
	// The builder may publish the event without PUBLISH (cluster/manager.h); only for nodes
	// that have CTRL_OBEYS_PERMISSION.
	CTRL_PERMITTED = 4,
};

enum ctrl_built_flag {
	CTRL_ALREADY_PUBLISHED = 1, // by permission of the grants: PUBLISHED will not follow
};

enum ctrl_outcome {
	CTRL_COMPLETE = 1,
	CTRL_INCOMPLETE = 2, // without some sources, and flagged
	CTRL_DISCARDED = 3,  // incomplete, and discarded
	CTRL_UNBUILT = 4,    // the builder cannot build it: grant it to another
	CTRL_N_OUTCOMES
};

enum ctrl_subject {
	CTRL_SUBJECT_NODE = 1,
	CTRL_SUBJECT_BUILDER = 2,
	CTRL_SUBJECT_SOURCES = 3,
	CTRL_N_SUBJECTS
};

enum ctrl_reason {
	CTRL_REASON_OPERATOR = 1,
	CTRL_REASON_SILENT = 2,
	CTRL_REASON_ERROR = 3,
	CTRL_REASON_SLOW = 4,
	CTRL_REASON_BACK = 5, // it was excluded and has registered again
	CTRL_N_REASONS
};

enum ctrl_command {
	CTRL_CONFIGURE = 1,
	CTRL_START = 2,
	CTRL_PAUSE = 3,
	CTRL_RESUME = 4,
	CTRL_DRAIN = 5,
	CTRL_STOP = 6,
	CTRL_N_COMMANDS
};

enum ctrl_holding {
	CTRL_HOLDS_GRANTED = 1, // no data of it has come yet
	CTRL_HOLDS_OPEN = 2,    // under construction, or built and waiting for PUBLISH
	CTRL_HOLDS_BUILT = 3,   // published; consumers may still hold the slot
	CTRL_N_HOLDINGS
};

enum ctrl_adopt_flag {
	CTRL_LAST = 1, // the last record of this builder
};

enum ctrl_bye_reason {
	CTRL_BYE_END = 1, // shut down on purpose
	CTRL_BYE_RESTART = 2,
	CTRL_BYE_ERROR = 3,
	CTRL_N_BYE_REASONS
};

enum ctrl_step {
	CTRL_STEP_SENT = 1,      // source to builder (pull): all blocks of the event have left
	CTRL_STEP_PUBLISH = 2,   // manager to builder: this builder's event counts, publish it
	CTRL_STEP_WITHDRAW = 3,  // manager to builder: it is built elsewhere, discard it
	CTRL_STEP_PUBLISHED = 4, // builder to manager: consumers have it
	// manager to source nodes that send built events, before RELEASE: the event was discarded
	CTRL_STEP_UNPUBLISHED = 5,
	CTRL_N_STEPS
};

enum ctrl_progress_flag {
	CTRL_REPEATED = 1, // PUBLISH, UNPUBLISHED: the event may have been published before
};

enum ctrl_decisions_flag {
	CTRL_DECISIONS_LAST = 1, // the run is over, and the node has no more decisions
};

enum ctrl_events_flag {
	CTRL_EVENTS_LAST = 1, // the run is over, and no more events follow
};

enum ctrl_place_kind {
	CTRL_PLACE_SEQUENCE = 1,        // sequence number of the frame for the node
	CTRL_PLACE_ACKNOWLEDGEMENT = 2, // as in the header of a frame to the node
	CTRL_N_PLACE_KINDS
};

enum ctrl_results_flag {
	// EVENTS has reported the first event, and `next` is the next one to report. Without this
	// flag
	// `next` is behind the last event that an earlier process wrote to its file, 0: none.
	CTRL_RESULTS_BEGUN = 1,
	CTRL_RESULTS_OVER = 2, // the run is over, and all that arrived is written
};

// In EVENTS:
#define CTRL_UNPUBLISHED 0xFFFFu // no builder has published the event, and none will
#define CTRL_NOT_KNOWN   0xFFFEu // a manager that has ended knew it

// "idle", "configured", ...
const char *ctrl_run_state_name(unsigned state);

// "configure", "start", ...
const char *ctrl_command_name(unsigned command);

// --- the structs: ctrl_header, and one for each record and each entry of a list ---

#define CTRL_RECORD(name, size)          struct ctrl_##name {
#define CTRL_PART(name, size)            CTRL_RECORD(name, size)
#define CTRL_FIELD(bits, at, name)       uint##bits##_t name;
#define CTRL_RANGE(bits, at, name, a, b) CTRL_FIELD(bits, at, name)
#define CTRL_TEXT(size, at, name)        char name[size];
#define CTRL_ZERO(size, at)
#define CTRL_SKIP(size, at)
#define CTRL_MEMBER(declaration) declaration;
#define CTRL_END(name) \
	}              \
	;
#include "wire/ctrl_records.def"

#define CTRL_REGISTER_SIZE         80u
#define CTRL_WELCOME_SIZE          96u
#define CTRL_BUILDER_SIZE          48u
#define CTRL_CREDIT_LIST_SIZE(n)   (8u + 8u * (n))
#define CTRL_ANNOUNCE_SIZE         40u
#define CTRL_GRANT_SIZE            64u
#define CTRL_REQUEST_SIZE(n_words) (72u + 8u * (n_words))
#define CTRL_DONE_SIZE(n_words)    (48u + 8u * (n_words))
#define CTRL_RELEASE_SIZE          16u
#define CTRL_HEARTBEAT_SIZE(n)     (32u + 24u * (n)) // without a lease
#define CTRL_LEASE_SIZE            40u
#define CTRL_HEARTBEAT_MOST        (CTRL_HEARTBEAT_SIZE(CTRL_MAX_PORTS) + CTRL_LEASE_SIZE)
#define CTRL_MEMBER_SIZE           32u
#define CTRL_THROTTLE_SIZE         16u
#define CTRL_RUN_COMMAND_SIZE      32u
#define CTRL_RUN_REPORT_SIZE       96u
#define CTRL_ADOPT_SIZE(n)         (16u + 24u * (n))
#define CTRL_BYE_SIZE              72u
#define CTRL_PROGRESS_SIZE         32u
#define CTRL_OFFER_SIZE(n)         (32u + 16u * (n))
#define CTRL_DECISIONS_SIZE(n)     (24u + 24u * (n))
#define CTRL_EVENTS_SIZE(n)        (24u + 8u * (n))
#define CTRL_RESULTS_SIZE          56u
#define CTRL_GRANTS_SIZE(n)        (32u + 8u * (n))
#define CTRL_BUILT_SIZE(n)         (24u + 16u * (n))
#define CTRL_STEPS_SIZE(n)         (24u + 8u * (n))
#define CTRL_PLACES_SIZE(n_words)  (8u + 8u * (n_words)) // without places
#define CTRL_PLACE_SIZE            8u
#define CTRL_NEXT_SHARED_SIZE      16u
#define CTRL_CONFIGURATION_SIZE    272u
#define CTRL_AGREEMENT_SIZE        272u
#define CTRL_PHASE_SIZE            16u

// Bit of ctrl_granted.offset: the grant is of the round behind that of the grant before it.
#define CTRL_NEXT_ROUND 0x8000u

// --- frames ---

// A checked frame; `bytes` are those that were decoded.
struct ctrl_frame {
	struct ctrl_header header;
	const uint8_t *bytes;
	size_t size;         // of the frame, all included
	size_t records_size; // of its records
};

// A record of a checked frame, or one that ctrl_record_at() accepted.
struct ctrl_record {
	const uint8_t *bytes; // its header first
	uint16_t type;        // enum ctrl_type, or one that is not known here
	uint16_t size;        // bytes, header included
};

// Decodes and checks a datagram: that it has the frame's size, the CRC, the ranges of the header,
// that its records follow each other to its end. The tag of a frame with CTRL_KEYED is not checked.
// Errors: TRUNCATED, BAD_MAGIC, BAD_VERSION,
// BAD_LENGTH, BAD_CHECKSUM, BAD_ALIGNMENT (a record's size), UNSUPPORTED (a header field).
enum wire_error ctrl_frame_decode(const uint8_t *bytes, size_t length, struct ctrl_frame *frame);

// The node that a datagram names as its sender, read before anything but magic number and length is
// checked; CTRL_MAX_NODES or above: none.
unsigned ctrl_frame_node(const uint8_t *bytes, size_t length);

// The flags (enum ctrl_flag) of an encoded frame.
static inline uint8_t ctrl_frame_flags(const uint8_t *bytes)
{
	return bytes[5];
}

// Closes a frame whose records, `records_size` bytes of them, lie at bytes + CTRL_HEADER_SIZE:
// writes header and CRC around them and returns the frame's size. `bytes` has room for it;
// records_size is a multiple of 8 and at most CTRL_MAX_SIZE - CTRL_OVERHEAD; the header's fields
// are in their ranges. With CTRL_KEYED the caller writes the last CTRL_SEAL_SIZE bytes, and
// records_size is at most CTRL_MAX_SIZE - CTRL_HEADER_SIZE - CTRL_SEAL_SIZE.
size_t ctrl_frame_encode(uint8_t *bytes, const struct ctrl_header *header, size_t records_size);

// Walks the records of a checked frame. Start with *offset = 0; false after the last.
bool ctrl_next_record(const struct ctrl_frame *frame, size_t *offset, struct ctrl_record *record);

// The record that begins at `bytes`. Errors: TRUNCATED, BAD_ALIGNMENT.
enum wire_error ctrl_record_at(const uint8_t *bytes, size_t length, struct ctrl_record *record);

// --- records ---

// ctrl_put_X() encodes a record. ctrl_get_X() decodes a record of this type; another type is
// refused as BAD_MAGIC. Decoded texts are closed with a 0, and bytes that cannot be printed are
// replaced by '?'. Pointers in a decoded struct point into the record's bytes.
#define CTRL_CODERS(name)                                                                      \
	size_t ctrl_put_##name(uint8_t *bytes, size_t capacity, const struct ctrl_##name *in); \
	enum wire_error ctrl_get_##name(const struct ctrl_record *record, struct ctrl_##name *out)

CTRL_CODERS(register);
CTRL_CODERS(welcome);
CTRL_CODERS(builder);
CTRL_CODERS(announce);
CTRL_CODERS(grant);
CTRL_CODERS(request); // in->mask is not used if in->n_words is 0
CTRL_CODERS(done);    // nor is in->missing
CTRL_CODERS(release);
CTRL_CODERS(heartbeat);
CTRL_CODERS(throttle);
CTRL_CODERS(run_command);
CTRL_CODERS(run_report);
CTRL_CODERS(bye);
CTRL_CODERS(progress);
CTRL_CODERS(results);
CTRL_CODERS(next_shared);
CTRL_CODERS(configuration);
CTRL_CODERS(agreement);
CTRL_CODERS(phase);

// PLACES: in->mask and in->places are encoded already. The decoder checks the places.
CTRL_CODERS(places);
void ctrl_put_place(uint8_t bytes[CTRL_PLACE_SIZE], const struct ctrl_place *place);
struct ctrl_place ctrl_place_at(const struct ctrl_places *list, unsigned index);
bool ctrl_places_has(const struct ctrl_places *list, unsigned node);

// EXCLUDE and INCLUDE: `type` is one of them; the decoder accepts both.
size_t ctrl_put_member(uint8_t *bytes, size_t capacity, enum ctrl_type type,
		       const struct ctrl_member *in);
enum wire_error ctrl_get_member(const struct ctrl_record *record, struct ctrl_member *out);

// Records with a list of in->n entries. ctrl_ENTRY_at(): an entry of a decoded list, index < n.
#define CTRL_LIST_CODERS(name, entry)                                                         \
	size_t ctrl_put_##name(uint8_t *bytes, size_t capacity, const struct ctrl_##name *in, \
			       const struct ctrl_##entry *entries);                           \
	enum wire_error ctrl_get_##name(const struct ctrl_record *record,                     \
					struct ctrl_##name *out);                             \
	struct ctrl_##entry ctrl_##entry##_at(const struct ctrl_##name *list, unsigned index)

CTRL_LIST_CODERS(credit_list, credit);
CTRL_LIST_CODERS(adopt, held);
CTRL_LIST_CODERS(offer, block);
CTRL_LIST_CODERS(decisions, decision);
CTRL_LIST_CODERS(events, published);
CTRL_LIST_CODERS(grants, granted);
CTRL_LIST_CODERS(built, built_event);
CTRL_LIST_CODERS(steps, step_event);

// The event of an entry of BUILT or STEPS.
static inline uint64_t ctrl_event_at(uint64_t first, uint16_t offset)
{
	return first + (uint64_t)(int64_t)(int16_t)offset;
}

// An entry of a decoded STEPS, index < list->n, as the record PROGRESS that says the same.
struct ctrl_progress ctrl_progress_at(const struct ctrl_steps *list, unsigned index);
