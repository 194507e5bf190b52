// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The evb control protocol: what event manager, builders and sources say to each other. One frame
// is one UDP datagram; it holds records. All numbers are little endian. Ours;
// docs/control-protocol.md says how it is used, lib/control/endpoint.h speaks it.
//
//   frame   64 bytes of header | records, each a multiple of 8 bytes | u32 CRC-32C of all before it
//
//   header   0 u32 magic, the bytes "evbC"
//            4 u8  version 1
//            5 u8  flags: 1 sequenced, 2 ask; others 0
//            6 u16 bytes of the frame, from the magic to the CRC
//            8 u16 node number of the sender, 0 to 1023
//           10 u16 node number of the receiver
//           12 u32 epoch: of the manager that the sender obeys; 0: it knows none yet
//           16 u64 session: random number of the sender's life, not 0
//           24 u64 peer session: of the receiver, as the sender knows it; 0: it does not
//           32 u32 sequence number
//           36 u32 acknowledgement: the sequence number that the sender expects next
//           40 u64 acknowledgement bits: bit i is set if frame acknowledgement + 1 + i is there
//           48 u32 stamp: the sender's clock, microseconds, modulo 2^32
//           52 u32 echo: stamp of the frame that the sender heard last of the peer session
//           56 u32 echo age: microseconds between hearing that frame and sending this one
//           60 u16 window: frames from the acknowledgement on that the sender has room for, 1 to 64
//           62 u16 0
//
//   record   0 u16 type | 2 u16 bytes of the record, header included, a multiple of 8 | 4 ...
//
// A record of an unknown type is skipped. One of a known type may be longer than said here: what is
// behind is not looked at. Fields given as 0 are sent as 0 and not looked at.
//
// An event is named by its index: the event id of its first fragment / packing. A range of events
// [begin, end) ends before `end`. A slot's generation is any number that differs from one use of
// the slot to the next.
//
// Decoders check lengths and ranges and refuse the rest: TRUNCATED for a record that is too short,
// BAD_LENGTH for a count beyond it or its limit, BAD_SOURCE for a range of sources that ends before
// it begins, UNSUPPORTED for a number outside its range. Encoders (ctrl_put_...) write a whole
// record and return its size, or 0 if it does not fit or a field is outside its range.
#pragma once

#include "wire/wire.h"

#define CTRL_MAGIC        0x43627665u // "evbC"
#define CTRL_VERSION      1
#define CTRL_HEADER_SIZE  64u
#define CTRL_CRC_SIZE     4u
#define CTRL_OVERHEAD     (CTRL_HEADER_SIZE + CTRL_CRC_SIZE)
#define CTRL_MIN_MAX_SIZE 1228u  // bytes of the largest frame that every node must take
#define CTRL_MAX_SIZE     65484u // bytes of a frame: 8 n + 4, in a UDP datagram over IPv4
#define CTRL_DEFAULT_SIZE 1468u  // fits an MTU of 1500
#define CTRL_PORT         19521  // UDP destination port by default

#define CTRL_MAX_NODES    1024u
#define CTRL_MAX_BUILDERS 64u   // of a node
#define CTRL_MAX_SOURCES  4096u // of a system; the bits of a mask
#define CTRL_MAX_SLOTS    65536u
#define CTRL_MAX_PORTS    16u
#define CTRL_MAX_WINDOW   64u // frames
#define CTRL_MASK_WORDS   (CTRL_MAX_SOURCES / 64)
#define CTRL_NAME_SIZE    32u    // with the closing 0
#define CTRL_TEXT_SIZE    64u    // with the closing 0
#define CTRL_FULL_SHARE   10000u // shares are in units of 1/10000
#define CTRL_MAX_LEVEL    8u     // levels of a queue are eighths

enum ctrl_flag {
	CTRL_SEQUENCED = 1, // has its place in the sequence; is sent until it is acknowledged
	CTRL_ASK = 2,       // answer at once: is the session that I heard of alive?
};

struct ctrl_header {
	uint64_t session;
	uint64_t peer_session;
	uint64_t acknowledgement_bits;
	uint32_t epoch;
	uint32_t sequence; // see CTRL_SEQUENCED; the other frames have numbers of their own
	uint32_t acknowledgement;
	uint32_t stamp;    // us
	uint32_t echo;     // us; 0: none
	uint32_t echo_age; // us
	uint16_t node;
	uint16_t destination;
	uint16_t window; // frames, 1 to CTRL_MAX_WINDOW
	uint8_t flags;   // CTRL_SEQUENCED, CTRL_ASK
};

// A checked frame; `bytes` are those that were decoded.
struct ctrl_frame {
	struct ctrl_header header;
	const uint8_t *bytes;
	size_t size; // of the frame, header and CRC included
};

// A record of a checked frame, or one that ctrl_record_at() accepted.
struct ctrl_record {
	const uint8_t *bytes; // its header first
	uint16_t type;        // enum ctrl_type, or one that is not known here
	uint16_t size;        // bytes, header included
};

// Decodes and checks a datagram: that it has the frame's size, the CRC, the ranges of the header,
// that its records follow each other to its end. Errors: TRUNCATED, BAD_MAGIC, BAD_VERSION,
// BAD_LENGTH, BAD_CHECKSUM, BAD_ALIGNMENT (a record's size), UNSUPPORTED (a header field).
enum wire_error ctrl_frame_decode(const uint8_t *bytes, size_t length, struct ctrl_frame *frame);

// Closes a frame whose records, `records_size` bytes of them, lie at bytes + CTRL_HEADER_SIZE:
// writes header and CRC around them and returns the frame's size. `bytes` has room for it;
// records_size is a multiple of 8 and at most CTRL_MAX_SIZE - CTRL_OVERHEAD; the header's fields
// are in their ranges.
size_t ctrl_frame_encode(uint8_t *bytes, const struct ctrl_header *header, size_t records_size);

// Walks the records of a checked frame. Start with *offset = 0; false after the last.
bool ctrl_next_record(const struct ctrl_frame *frame, size_t *offset, struct ctrl_record *record);

// The record that begins at `bytes`. Errors: TRUNCATED, BAD_ALIGNMENT.
enum wire_error ctrl_record_at(const uint8_t *bytes, size_t length, struct ctrl_record *record);

enum ctrl_type {
	CTRL_REGISTER = 1,
	CTRL_WELCOME = 2,
	CTRL_BUILDER = 3,
	CTRL_CREDIT_RANGE = 4,
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
	CTRL_N_TYPES
};

// "register", "welcome", ...; "unknown" outside the range. Never NULL.
const char *ctrl_type_name(unsigned type);

enum ctrl_role {
	CTRL_ROLE_SOURCE = 1, // holds events of one or more sources, and sends them
	CTRL_ROLE_BUILDER = 2,
	CTRL_ROLE_MANAGER = 4,
	CTRL_ROLE_CONTROL = 8, // commands runs
};

enum ctrl_run_state {
	CTRL_IDLE = 0, // no run
	CTRL_CONFIGURED = 1,
	CTRL_RUNNING = 2,
	CTRL_PAUSED = 3,   // nothing new is granted; what was granted goes on
	CTRL_DRAINING = 4, // as paused, and the run ends when nothing is outstanding
	CTRL_STOPPED = 5,
	CTRL_FAILED = 6,
	CTRL_READY = 7, // accepted by the manager, and no run yet
	CTRL_N_RUN_STATES
};

// "idle", "configured", ...; "unknown" outside the range. Never NULL.
const char *ctrl_run_state_name(unsigned state);

enum ctrl_register_flag {
	CTRL_EXCLUDED = 1, // by the operator, as the manager has said last
};

// REGISTER, node to manager: who I am. First in each session, before anything else.
//    4 u32 roles, a sum of enum ctrl_role | 8 u64 hash of the configuration
//   16 u32 run number, 0: none | 20 u16 builders, 0 to 64 | 22 u16 sources, 0 to 4096
//   24 u64 bytes of events that the node can hold for its sources | 32 name, 32 bytes, 0-padded
//   64 u64 known from: builders of this node have had no event from here on of which this process
//   does not know | 72 u32 flags | 76 u32 0
struct ctrl_register {
	uint64_t config_hash;
	uint64_t buffer_bytes;
	uint64_t known_from; // event
	uint32_t roles;
	uint32_t flags; // enum ctrl_register_flag
	uint32_t run;
	uint16_t n_builders;
	uint16_t n_sources;
	char name[CTRL_NAME_SIZE];
};
#define CTRL_REGISTER_SIZE 80u

enum ctrl_verdict {
	CTRL_ACCEPTED = 0,
	CTRL_REFUSED_CONFIG = 1, // another configuration
	CTRL_REFUSED_NODE = 2,   // no such node in the configuration
	CTRL_REFUSED_ROLES = 3,  // roles, builders or sources are not those of the configuration
	CTRL_REFUSED_NOT_MANAGER = 4,
	CTRL_REFUSED_NOT_NOW = 5, // try again later
	CTRL_N_VERDICTS
};

// WELCOME, manager to node: the answer to REGISTER. A refused node says nothing further but
// REGISTER again, not more often than each heartbeat timeout.
//    4 u16 verdict | 6 u16 run state | 8 u64 hash of the manager's configuration
//   16 u32 run number | 20 u32 heartbeat interval, us | 24 u32 heartbeat timeout, us | 28 u32 0
//   32 text, 64 bytes: the reason in words
struct ctrl_welcome {
	uint64_t config_hash;
	uint32_t run;
	uint32_t heartbeat_interval; // us
	uint32_t heartbeat_timeout;  // us
	uint16_t verdict;            // enum ctrl_verdict
	uint16_t run_state;          // enum ctrl_run_state
	char text[CTRL_TEXT_SIZE];
};
#define CTRL_WELCOME_SIZE 96u

// BUILDER, node to manager: one builder of the node and where its slots lie. Its credits follow.
//    4 u16 builder, 0 to 63 | 6 u16 congestion group | 8 u32 slots, 1 to 65536
//   12 u32 generation of all slots | 16 u64 bytes of a slot
//   24 u64 address of slot 0, for RDMA WRITE | 32 u64 bytes from slot to slot | 40 u32 rkey
//   44 u32 rate of its link, Mbit/s, 0: unknown
struct ctrl_builder {
	uint64_t slot_size;
	uint64_t address;
	uint64_t stride;
	uint32_t slots;
	uint32_t generation;
	uint32_t rkey;
	uint32_t link_mbps;
	uint16_t builder;
	uint16_t group;
};
#define CTRL_BUILDER_SIZE 48u

// CREDIT_RANGE, builder to manager: consecutive slots are free, all of one generation.
//    4 u16 builder | 6 u16 0 | 8 u32 first slot | 12 u32 slots, >= 1 | 16 u32 generation | 20 u32 0
struct ctrl_credit_range {
	uint32_t first_slot; // first_slot + n_slots <= CTRL_MAX_SLOTS
	uint32_t n_slots;
	uint32_t generation;
	uint16_t builder;
};
#define CTRL_CREDIT_RANGE_SIZE 24u

// CREDIT_LIST, builder to manager: these slots are free.
//    4 u16 builder | 6 u16 n, >= 1 | 8 { u32 slot, u32 generation }[n]
struct ctrl_credit {
	uint32_t slot; // < CTRL_MAX_SLOTS
	uint32_t generation;
};

struct ctrl_credit_list {
	const uint8_t *credits; // see ctrl_credit_at()
	uint16_t builder;
	uint16_t n;
};
#define CTRL_CREDIT_LIST_SIZE(n) (8u + 8u * (n))

enum ctrl_announce_flag {
	CTRL_END_OF_RUN = 1, // no event of id `end` or above will come in this run
};

// ANNOUNCE, source node to manager: these sources hold the events [begin, end).
//    4 u16 first source id | 6 u16 last source id | 8 u64 begin: oldest event still held
//   16 u64 end: first event not there yet | 24 u32 run number
//   28 u32 bytes: mean of one event of all these sources together
//   32 u16 flags | 34 u16 0 | 36 u32 0
struct ctrl_announce {
	uint64_t begin; // <= end
	uint64_t end;
	uint32_t run;
	uint32_t mean_bytes;
	uint16_t first_source; // <= last_source; source ids, not indices
	uint16_t last_source;
	uint16_t flags; // enum ctrl_announce_flag
};
#define CTRL_ANNOUNCE_SIZE 40u

enum ctrl_grant_flag {
	CTRL_PLACED = 1,  // address, size and rkey say where RDMA WRITE is to put it
	CTRL_BARRIER = 2, // begin a phase only when all have finished the one before
};

// GRANT, manager to source node: send this event's blocks there, in this order and not faster.
// A grant of the same event with a higher attempt takes the place of the one before.
//    4 u16 builder node | 6 u16 builder | 8 u64 event | 16 u32 slot | 20 u32 generation
//   24 u64 address | 32 u64 bytes at that address | 40 u32 rkey | 44 u32 rate, kbit/s, 0: any
//   48 u32 round | 52 u16 position | 54 u16 positions | 56 u16 attempt, from 0 | 58 u16 flags
//   60 u32 run number
// A round is `positions` events that are sent at the same time. In phase n of a round the source of
// index x sends the event at position (n + x) mod positions.
struct ctrl_grant {
	uint64_t event;
	uint64_t address;
	uint64_t size;
	uint32_t slot;
	uint32_t generation;
	uint32_t rkey;
	uint32_t rate_kbps;
	uint32_t round;
	uint32_t run;
	uint16_t node;
	uint16_t builder;
	uint16_t position; // < n_positions
	uint16_t n_positions;
	uint16_t attempt;
	uint16_t flags; // enum ctrl_grant_flag
};
#define CTRL_GRANT_SIZE 64u

// REQUEST, builder to source node (pull): send me this event's blocks. GRANT's layout, then
//   64 u16 words of the mask, 0 to 64; 0: all sources of the node | 66 u16 0 | 68 u32 0
//   72 u64 mask[words]: bit i of word w is the source of index 64 w + i, in the order of their ids
struct ctrl_request {
	struct ctrl_grant grant;
	const uint8_t *mask; // see ctrl_mask_bit()
	uint16_t n_words;
};
#define CTRL_REQUEST_SIZE(words) (72u + 8u * (words))

enum ctrl_outcome {
	CTRL_COMPLETE = 1,
	CTRL_INCOMPLETE = 2, // without some sources, and flagged
	CTRL_DISCARDED = 3,  // incomplete, and thrown away
	CTRL_UNBUILT = 4,    // the builder cannot: grant it to another
	CTRL_N_OUTCOMES
};

// DONE, builder to manager: what became of a granted event. See PROGRESS for what follows; the
// slot is free when a credit says so.
//    4 u16 builder | 6 u8 outcome | 7 u8 0 | 8 u64 event | 16 u32 slot | 20 u32 generation
//   24 u64 bytes built | 32 u16 attempt | 34 u16 words of the mask, 0 to 64
//   36 u32 missing sources | 40 u32 run number | 44 u32 0
//   48 u64 missing[words]: as the mask of REQUEST
struct ctrl_done {
	uint64_t event;
	uint64_t bytes;
	const uint8_t *missing; // see ctrl_mask_bit()
	uint32_t slot;
	uint32_t generation;
	uint32_t n_missing; // <= CTRL_MAX_SOURCES
	uint32_t run;
	uint16_t builder;
	uint16_t attempt;
	uint16_t n_words;
	uint8_t outcome; // enum ctrl_outcome
};
#define CTRL_DONE_SIZE(words) (48u + 8u * (words))

// RELEASE, manager to source node: events below this one need not be held any longer.
//    4 u32 run number | 8 u64 event
struct ctrl_release {
	uint64_t event;
	uint32_t run;
};
#define CTRL_RELEASE_SIZE 16u

// HEARTBEAT, any to any, at each heartbeat interval, in an unsequenced frame.
//    4 u8 run state | 5 u8 ports, 0 to 16 | 6 u16 0 | 8 u32 run number | 12 u32 free slots
//   16 u32 events under construction | 20 u32 events waiting | 24 u64 sender's clock, ns since 1970
//   32 ports, 24 bytes each:
//     0 u8 number | 1 u8 paused: bit p is set if the link partner has paused priority p here
//     2 u8 pausing: bit p is set if this node has paused priority p of its link partner | 3 u8 0
//     4 u16 share of the time since the last heartbeat in which any priority was paused, 1/10000
//     6 u16 occupancy of its receive buffers, 1/10000
//     8 u64 pause frames received since start | 16 u64 packets with an ECN mark since start
struct ctrl_port {
	uint64_t pause_frames;
	uint64_t ecn_marks;
	uint16_t paused_share; // <= CTRL_FULL_SHARE
	uint16_t occupancy;    // <= CTRL_FULL_SHARE
	uint8_t number;
	uint8_t paused;
	uint8_t pausing;
};
#define CTRL_PORT_SIZE 24u

struct ctrl_heartbeat {
	uint64_t time; // ns
	uint32_t run;
	uint32_t slots_free;
	uint32_t events_open;
	uint32_t events_waiting;
	uint8_t run_state; // enum ctrl_run_state
	uint8_t n_ports;
	struct ctrl_port ports[CTRL_MAX_PORTS];
};
#define CTRL_HEARTBEAT_SIZE(ports) (32u + CTRL_PORT_SIZE * (ports))

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
	CTRL_REASON_BACK = 5, // it was excluded and has registered anew
	CTRL_N_REASONS
};

// EXCLUDE and INCLUDE, manager to all: who takes part from an event on.
//    4 u8 subject | 5 u8 reason | 6 u16 node | 8 u16 builder, if it is the subject
//   10 u16 first source id | 12 u16 last source id, if they are the subject | 14 u16 0
//   16 u64 event
struct ctrl_member {
	uint64_t event;
	uint16_t node;
	uint16_t builder;
	uint16_t first_source;
	uint16_t last_source;
	uint8_t subject; // enum ctrl_subject
	uint8_t reason;  // enum ctrl_reason
};
#define CTRL_MEMBER_SIZE 24u

// THROTTLE, manager to source nodes: how fast events may be read out.
//    4 u16 share of the full rate, 1/10000: 10000 free, 0 stop
//    6 u16 level of the manager's queue, in eighths, 0 to 8
//    8 u32 us for which it holds unless renewed, 0: until the next | 12 u32 run number
struct ctrl_throttle {
	uint32_t hold; // us
	uint32_t run;
	uint16_t share; // <= CTRL_FULL_SHARE
	uint16_t level; // <= CTRL_MAX_LEVEL
};
#define CTRL_THROTTLE_SIZE 16u

enum ctrl_command {
	CTRL_CONFIGURE = 1,
	CTRL_START = 2,
	CTRL_PAUSE = 3,
	CTRL_RESUME = 4,
	CTRL_DRAIN = 5,
	CTRL_STOP = 6,
	CTRL_N_COMMANDS
};

// "configure", "start", ...; "unknown" outside the range. Never NULL.
const char *ctrl_command_name(unsigned command);

// RUN_COMMAND, control to manager, manager to all. Answered by RUN_STATE.
//    4 u8 command | 5 u8 0 | 6 u16 0 | 8 u32 run number | 12 u32 request: any number, comes back
//   16 u64 hash of the configuration | 24 u64 event: start: the first; drain: the first that is not
//   built any more, 2^64-1: as the sources have it; else 0
struct ctrl_run_command {
	uint64_t config_hash;
	uint64_t event;
	uint32_t run;
	uint32_t request;
	uint8_t command; // enum ctrl_command
};
#define CTRL_RUN_COMMAND_SIZE 32u

// RUN_STATE, to whom commands, and unasked when the state changes.
//    4 u8 state | 5 u8 command that is answered, 0: none | 6 u16 result: 0 done, else refused or
//   failed, see the text | 8 u32 run number | 12 u32 request that is answered
//   16 u64 hash of the configuration | 24 u64 events: sent, built or granted in this run
//   32 text, 64 bytes
struct ctrl_run_report {
	uint64_t config_hash;
	uint64_t events;
	uint32_t run;
	uint32_t request;
	uint16_t result;
	uint8_t state;   // enum ctrl_run_state
	uint8_t command; // enum ctrl_command or 0
	char text[CTRL_TEXT_SIZE];
};
#define CTRL_RUN_REPORT_SIZE 96u

enum ctrl_holding {
	CTRL_HOLDS_GRANTED = 1, // nothing of it has come yet
	CTRL_HOLDS_OPEN = 2,    // under construction, or built and waiting for PUBLISH
	CTRL_HOLDS_BUILT = 3,   // published; consumers hold the slot, or it may not be known yet
	CTRL_N_HOLDINGS
};

enum ctrl_adopt_flag {
	CTRL_LAST = 1, // of this builder's
};

// ADOPT, builder to a manager that restarted, between BUILDER and the credits: what its slots that
// are not free hold. One record, perhaps without entries, has CTRL_LAST.
//    4 u16 builder | 6 u16 n, >= 0 | 8 u32 run number | 12 u16 flags | 14 u16 0
//   16 entries, 24 bytes each:
//     0 u64 event | 8 u32 slot | 12 u32 generation | 16 u16 attempt
//    18 u8 holding | 19 u8 0 | 20 u32 0
struct ctrl_held {
	uint64_t event;
	uint32_t slot; // < CTRL_MAX_SLOTS
	uint32_t generation;
	uint16_t attempt;
	uint8_t holding; // enum ctrl_holding
};
#define CTRL_HELD_SIZE 24u

struct ctrl_adopt {
	const uint8_t *entries; // see ctrl_held_at()
	uint32_t run;
	uint16_t builder;
	uint16_t n;
	uint16_t flags; // enum ctrl_adopt_flag
};
#define CTRL_ADOPT_SIZE(n) (16u + CTRL_HELD_SIZE * (n))

enum ctrl_bye_reason {
	CTRL_BYE_END = 1, // shut down on purpose
	CTRL_BYE_RESTART = 2,
	CTRL_BYE_ERROR = 3,
	CTRL_N_BYE_REASONS
};

// BYE, any to any: the sender goes away and expects nothing more.
//    4 u16 reason | 6 u16 0 | 8 text, 64 bytes
struct ctrl_bye {
	uint16_t reason; // enum ctrl_bye_reason
	char text[CTRL_TEXT_SIZE];
};
#define CTRL_BYE_SIZE 72u

enum ctrl_step {
	CTRL_STEP_SENT = 1,     // source to builder (pull): all blocks of the event have left
	CTRL_STEP_PUBLISH = 2,  // manager to builder: the event counts as built by you: hand it out
	CTRL_STEP_WITHDRAW = 3, // manager to builder: it is, or will be, built elsewhere: forget it
	CTRL_STEP_PUBLISHED = 4, // builder to manager: consumers have it
	CTRL_N_STEPS
};

enum ctrl_progress_flag {
	CTRL_REPEATED = 1, // of PUBLISH: it may have been handed out before
};

// PROGRESS: how far an event is. A builder holds what it has built: it says DONE, the manager
// answers PUBLISH or WITHDRAW, and the builder PUBLISHED. So an event that was granted again, when
// its builder was thought dead, is handed out once.
//    4 u16 builder | 6 u16 step | 8 u64 event | 16 u32 slot | 20 u32 generation | 24 u16 attempt
//   26 u16 flags | 28 u32 run number
struct ctrl_progress {
	uint64_t event;
	uint32_t slot;
	uint32_t generation;
	uint32_t run;
	uint16_t builder;
	uint16_t attempt;
	uint16_t step;  // enum ctrl_step
	uint16_t flags; // enum ctrl_progress_flag
};
#define CTRL_PROGRESS_SIZE 32u

// OFFER, source node to builder (pull by RDMA READ): the answer to REQUEST, before PROGRESS `sent`:
// these blocks of the event lie here, until RELEASE.
//    4 u16 builder | 6 u16 n, >= 1 | 8 u64 event | 16 u32 rkey | 20 u32 run number | 24 u16 attempt
//   26 u16 0 | 28 u32 0
//   32 blocks, 16 bytes each: 0 u64 address | 8 u32 bytes | 12 u16 source id | 14 u16 0
struct ctrl_block {
	uint64_t address;
	uint32_t length;
	uint16_t source; // id
};

struct ctrl_offer {
	const uint8_t *blocks; // see ctrl_block_at()
	uint64_t event;
	uint32_t rkey;
	uint32_t run;
	uint16_t builder;
	uint16_t attempt;
	uint16_t n;
};
#define CTRL_OFFER_SIZE(n) (32u + 16u * (n))

size_t ctrl_put_register(uint8_t *bytes, size_t capacity, const struct ctrl_register *in);
size_t ctrl_put_welcome(uint8_t *bytes, size_t capacity, const struct ctrl_welcome *in);
size_t ctrl_put_builder(uint8_t *bytes, size_t capacity, const struct ctrl_builder *in);
size_t ctrl_put_credit_range(uint8_t *bytes, size_t capacity, const struct ctrl_credit_range *in);
size_t ctrl_put_credit_list(uint8_t *bytes, size_t capacity, uint16_t builder,
			    const struct ctrl_credit *credits, unsigned n);
size_t ctrl_put_announce(uint8_t *bytes, size_t capacity, const struct ctrl_announce *in);
size_t ctrl_put_grant(uint8_t *bytes, size_t capacity, const struct ctrl_grant *in);
// The mask is in->mask, or none if in->n_words is 0; so are the missing sources of DONE.
size_t ctrl_put_request(uint8_t *bytes, size_t capacity, const struct ctrl_request *in);
size_t ctrl_put_done(uint8_t *bytes, size_t capacity, const struct ctrl_done *in);
size_t ctrl_put_release(uint8_t *bytes, size_t capacity, const struct ctrl_release *in);
size_t ctrl_put_heartbeat(uint8_t *bytes, size_t capacity, const struct ctrl_heartbeat *in);
size_t ctrl_put_exclude(uint8_t *bytes, size_t capacity, const struct ctrl_member *in);
size_t ctrl_put_include(uint8_t *bytes, size_t capacity, const struct ctrl_member *in);
size_t ctrl_put_throttle(uint8_t *bytes, size_t capacity, const struct ctrl_throttle *in);
size_t ctrl_put_run_command(uint8_t *bytes, size_t capacity, const struct ctrl_run_command *in);
size_t ctrl_put_run_report(uint8_t *bytes, size_t capacity, const struct ctrl_run_report *in);
size_t ctrl_put_adopt(uint8_t *bytes, size_t capacity, const struct ctrl_adopt *in,
		      const struct ctrl_held *entries);
size_t ctrl_put_bye(uint8_t *bytes, size_t capacity, const struct ctrl_bye *in);
size_t ctrl_put_progress(uint8_t *bytes, size_t capacity, const struct ctrl_progress *in);
size_t ctrl_put_offer(uint8_t *bytes, size_t capacity, const struct ctrl_offer *in,
		      const struct ctrl_block *blocks);

// Each decodes a record of its type (of both, EXCLUDE and INCLUDE, for ctrl_get_member()); another
// type is refused as BAD_MAGIC. Texts and names are closed with a 0, and what cannot be printed is
// replaced by '?'. Pointers in what is returned lead into the record's bytes.
enum wire_error ctrl_get_register(const struct ctrl_record *record, struct ctrl_register *out);
enum wire_error ctrl_get_welcome(const struct ctrl_record *record, struct ctrl_welcome *out);
enum wire_error ctrl_get_builder(const struct ctrl_record *record, struct ctrl_builder *out);
enum wire_error ctrl_get_credit_range(const struct ctrl_record *record,
				      struct ctrl_credit_range *out);
enum wire_error ctrl_get_credit_list(const struct ctrl_record *record,
				     struct ctrl_credit_list *out);
enum wire_error ctrl_get_announce(const struct ctrl_record *record, struct ctrl_announce *out);
enum wire_error ctrl_get_grant(const struct ctrl_record *record, struct ctrl_grant *out);
enum wire_error ctrl_get_request(const struct ctrl_record *record, struct ctrl_request *out);
enum wire_error ctrl_get_done(const struct ctrl_record *record, struct ctrl_done *out);
enum wire_error ctrl_get_release(const struct ctrl_record *record, struct ctrl_release *out);
enum wire_error ctrl_get_heartbeat(const struct ctrl_record *record, struct ctrl_heartbeat *out);
enum wire_error ctrl_get_member(const struct ctrl_record *record, struct ctrl_member *out);
enum wire_error ctrl_get_throttle(const struct ctrl_record *record, struct ctrl_throttle *out);
enum wire_error ctrl_get_run_command(const struct ctrl_record *record,
				     struct ctrl_run_command *out);
enum wire_error ctrl_get_run_report(const struct ctrl_record *record, struct ctrl_run_report *out);
enum wire_error ctrl_get_adopt(const struct ctrl_record *record, struct ctrl_adopt *out);
enum wire_error ctrl_get_bye(const struct ctrl_record *record, struct ctrl_bye *out);
enum wire_error ctrl_get_progress(const struct ctrl_record *record, struct ctrl_progress *out);
enum wire_error ctrl_get_offer(const struct ctrl_record *record, struct ctrl_offer *out);

// Entries of a decoded list, index < n.
struct ctrl_credit ctrl_credit_at(const struct ctrl_credit_list *list, unsigned index);
struct ctrl_held ctrl_held_at(const struct ctrl_adopt *adopt, unsigned index);
struct ctrl_block ctrl_block_at(const struct ctrl_offer *offer, unsigned index);

// Is the bit of a source's index set in a mask of n words? Bits beyond the mask are not.
static inline bool ctrl_mask_bit(const uint8_t *mask, unsigned n_words, unsigned index)
{
	return index / 64 < n_words && (load_le64(mask + index / 64 * 8) >> index % 64 & 1) != 0;
}

// Sets it in a mask of which CTRL_MASK_WORDS words are zeroed memory. index < CTRL_MAX_SOURCES.
static inline void ctrl_mask_set(uint8_t *mask, unsigned index)
{
	mask[index / 8] |= (uint8_t)(1u << index % 8);
}
