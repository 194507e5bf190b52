// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The memory of a ring file, which the appliance and all readers on one machine share:
//
//   header | groups[8] | members[64] | queue[] | logs[4][] | descriptors[] | .. page .. | slots[]
//   '------------------- control area -------------------------------------------'
//
// Members of groups write to the control area. The slots are read-only for all readers.
//
// The path of an event. The builder fills a slot and writes the slot's descriptor. It stores
// READY(sequence) in the claim word of every active group, enters {sequence, slot} in the queue,
// and increments `head`. A member of a group reads the queue entry at its group's `cursor`, changes
// the slot's claim word from READY to CLAIMED by compare-and-swap, so that exactly one member gets
// the event, and advances the cursor. To release the event, the member changes CLAIMED to IDLE. A
// slot whose claim words are all IDLE belongs to the builder again.
//
// Decisions. A group may decide about its events, and other groups may come after it. The builder
// stores WAITING instead of READY for these. The member that holds the event in the deciding group
// writes its decision into the descriptor, with the decision's `word` as the last step. It then
// changes WAITING to READY in each group that gets the event, and to IDLE in the others, and enters
// the slot in the log of decisions, which is the queue of the groups after. To release the event is
// a step of its own.
//
// The protocol is safe against the death of a process between any two instructions:
//   - The state of an event in a group is one word, so that each step has either happened or not.
//   - The cursor is only a hint: any member may advance it past an entry that is no longer READY.
//   - A CLAIMED word contains the member that holds it. When the kernel has dropped the lock of a
//     dead member, its words are changed to RETURNED, and other members claim these events. If the
//     decision's word is written, the event is decided: its steps are repeated, which changes
//     nothing that is done, and the word becomes IDLE. A slot may then be in the log twice, of
//     which one entry finds the slot READY.
//
// The comment of each field names its only writer:
//   create   evring_create(), before the file gets its name; constant from then on
//   owner    the appliance's control thread
//   builder  the appliance's thread that owns the ring
//   member   any member of the group
//   reaper   the process that holds the lock of a dead member: the appliance or another member
//   table    the process that holds EVRING_LOCK_TABLE: the appliance, or a reader that joins
#pragma once

#include "evring.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>

#define EVRING_MAGIC          0x676e697262766521ull // "!evbring"
#define EVRING_LAYOUT_VERSION 3u
#define EVRING_CACHE_LINE     64
#define EVRING_MAX_BUILDERS   65536u

// Locks: F_OFD_SETLK of fcntl(2), exclusive, one byte each, far beyond the end of the file. The
// byte of the owner's lock on the ring file, and the magic at offset 0, are the same in every
// layout version, so that each version can distinguish the files of dead runs from those of live
// runs. Readers look at the owner's lock; a process that may only read a file can take shared locks
// on it, which do not count. The locks of the table and of the members are on the file members.N,
// those of the rings on the file `lock` (evring_place.h).
#define EVRING_LOCK_OWNER     ((int64_t)1 << 40)
#define EVRING_LOCK_TABLE     (EVRING_LOCK_OWNER + 1)
#define EVRING_LOCK_MEMBER(m) (EVRING_LOCK_OWNER + 2 + (int64_t)(m))
#define EVRING_LOCK_RING(b)   (EVRING_LOCK_OWNER + (int64_t)(b))

enum evring_run_state {
	EVRING_RUNNING = 1,
	EVRING_ENDED = 2,
	EVRING_BETWEEN_RUNS = 3, // the run is over, and its process may begin another one
};

enum evring_group_use {
	EVRING_GROUP_FREE = 0,
	EVRING_GROUP_USED = 1,
};

struct evring_group_area {
	_Atomic uint32_t use;        // table: enum evring_group_use
	uint32_t persistent;         // table: 1 if the configuration names the group
	char name[EVRING_NAME_SIZE]; // table
	// Index into the header's deciders + 1. 0: does not decide; gets events without a decision.
	uint32_t decider; // create
	uint32_t after;   // create
	// Sequence of the first event that no member has examined yet; `after` a decider the number
	// of the first entry of its log. It never decreases.
	alignas(EVRING_CACHE_LINE) _Atomic uint64_t cursor;   // member
	_Atomic uint64_t delivered;                           // member: events claimed
	alignas(EVRING_CACHE_LINE) _Atomic uint64_t released; // member: events released
	// Incremented after events may have become RETURNED, or IDLE without a release. A change
	// makes members search for returned events, and the builder for free slots.
	_Atomic uint64_t returns;  // reaper, table
	_Atomic uint64_t regained; // reaper: events of dead members that became RETURNED
};

// A deciding group.
struct evring_decider {
	uint32_t group;             // create
	uint32_t undecided_rejects; // create: 1: an event that is released undecided is rejected
	uint32_t on_accept;         // create: bit g: group g gets accepted events
	uint32_t on_reject;         // create: bit g: group g gets rejected events, too
	// Number of the next entry of the log. It begins at queue_size, so that empty memory, which
	// reads as number 0, is no entry.
	alignas(EVRING_CACHE_LINE) _Atomic uint64_t logged; // member, reaper
};

// A member's word: generation << 16 | group << 8 | 1 while the entry is in use.
struct evring_member_area {
	_Atomic uint32_t word; // written only by the holder of the lock EVRING_LOCK_MEMBER
	uint32_t pid;          // the same; for people
};

struct evring_header {
	uint64_t magic;              // create
	uint32_t layout_version;     // create
	uint32_t header_size;        // create: sizeof(struct evring_header)
	uint64_t file_size;          // create: bytes
	uint64_t queue_offset;       // create: bytes from the file's start, as all offsets
	uint64_t logs_offset;        // create
	uint64_t descriptors_offset; // create
	uint64_t slots_offset;       // create: also the size of the control area
	uint64_t slot_size;          // create: bytes
	uint32_t slots;              // create
	uint32_t queue_size;         // create: entries, a power of two >= slots
	uint64_t owner;              // create: random; the same in all rings of one run
	uint32_t owner_pid;          // create: for people
	uint32_t run_number;         // owner: of the present run, between runs of the last one
	uint32_t builder;            // create
	uint32_t n_builders;         // create
	uint32_t n_deciders;         // create
	char name[EVRING_NAME_SIZE]; // create

	alignas(EVRING_CACHE_LINE) _Atomic uint32_t state; // owner: enum evring_run_state
	_Atomic uint32_t active_groups;                    // table: bit g: group g gets events
	_Atomic uint64_t deaths;                           // reaper: members that died

	// Sequence of the next event to publish, which is the number of published events.
	alignas(EVRING_CACHE_LINE) _Atomic uint64_t head; // builder

	struct evring_group_area groups[EVRING_MAX_GROUPS];
	struct evring_decider deciders[EVRING_MAX_DECIDERS];
	struct evring_member_area members[EVRING_MAX_MEMBERS];
};

// Queue entry of sequence s, at queue[s & (queue_size - 1)]: s << 16 | slot. builder
#define EVRING_ENTRY_SLOT_BITS 16

// Log entry of number n of decider d, at logs[d * queue_size + (n & (queue_size - 1))]:
// n << 16 | slot. member, reaper

// The decision of one deciding group. Written by the member that holds the event in that group, or
// by the appliance for it. `word` is written last: only then is the event decided.
struct evring_decision {
	_Atomic uint64_t word; // sequence << 24 | member << 16 | flags; 0: none yet
	uint64_t lines;
	uint64_t decided_ns; // CLOCK_MONOTONIC
	uint32_t tag;
	uint32_t reserved;
};

enum evring_decision_flags {
	EVRING_DECIDED = 1,
	EVRING_DECIDED_ACCEPT = 2,
	EVRING_DECIDED_BY_RELEASE = 4, // the event was released undecided
};

struct evring_descriptor {
	// sequence + 1 of the event that the slot holds; 0 while the builder writes into the slot.
	_Atomic uint64_t filled;   // builder
	struct evring_event event; // builder
	uint32_t run_number;       // builder: of the event's run
	// The state of the event in each group: claim words, see below.
	alignas(EVRING_CACHE_LINE) _Atomic uint64_t claims[EVRING_MAX_GROUPS];
	// IDLE -> READY builder; READY -> IDLE builder, table (the group is dissolved);
	// READY, RETURNED -> CLAIMED and CLAIMED -> IDLE member; CLAIMED -> RETURNED, IDLE reaper
	// IDLE -> WAITING builder; WAITING -> READY, IDLE member or reaper of the deciding group
	alignas(EVRING_CACHE_LINE) struct evring_decision decisions[EVRING_MAX_DECIDERS];
};

static_assert(sizeof(struct evring_event) == 40, "the layout is shared between processes");
static_assert(sizeof(struct evring_group_area) == 192, "the layout is shared between processes");
static_assert(sizeof(struct evring_decider) == 128, "the layout is shared between processes");
static_assert(sizeof(struct evring_descriptor) == 256, "the layout is shared between processes");
static_assert(EVRING_MAX_SLOTS <= 1u << EVRING_ENTRY_SLOT_BITS, "a queue entry holds any slot");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "words shared between processes must be lock-free");

// Claim word: sequence (its low 40 bits) << 24 | member << 16 | generation (12 bits) << 4 | state.
// IDLE is the word 0. Sequences are compared modulo 2^40: at 1 M events/s, a word would have to
// remain unchanged for 12 days to be mistaken for that of a later event.
enum evring_claim {
	EVRING_IDLE = 0,
	EVRING_READY = 1,
	EVRING_CLAIMED = 2,
	EVRING_RETURNED = 3,
	EVRING_WAITING = 4, // for the decision of another group
};

#define EVRING_GENERATION_MASK 0xfffu
#define EVRING_SEQUENCE_MASK   ((UINT64_C(1) << 40) - 1)

static inline uint64_t evring_claim_word(enum evring_claim state, uint64_t sequence,
					 unsigned member, unsigned generation)
{
	return (sequence & EVRING_SEQUENCE_MASK) << 24 | (uint64_t)(member & 0xff) << 16 |
	       (uint64_t)(generation & EVRING_GENERATION_MASK) << 4 | (uint64_t)state;
}

static inline enum evring_claim evring_claim_state(uint64_t word)
{
	return (enum evring_claim)(word & 0xf);
}

// The sequence, modulo 2^40.
static inline uint64_t evring_claim_sequence(uint64_t word)
{
	return word >> 24;
}

// A CLAIMED word without its sequence: the same for all claims of one member.
static inline uint64_t evring_claim_holder(uint64_t word)
{
	return word & 0xffffffu;
}

// Whether a decision's word is that of the event with this sequence (modulo 2^40).
static inline bool evring_decision_is(uint64_t word, uint64_t sequence)
{
	return (word & EVRING_DECIDED) != 0 &&
	       evring_claim_sequence(word) == (sequence & EVRING_SEQUENCE_MASK);
}

static inline uint64_t evring_entry(uint64_t sequence, uint32_t slot)
{
	return sequence << EVRING_ENTRY_SLOT_BITS | slot;
}

static inline bool evring_entry_is(uint64_t entry, uint64_t sequence)
{
	return entry >> EVRING_ENTRY_SLOT_BITS ==
	       (sequence & (UINT64_MAX >> EVRING_ENTRY_SLOT_BITS));
}

static inline uint32_t evring_entry_slot(uint64_t entry)
{
	return entry & ((1u << EVRING_ENTRY_SLOT_BITS) - 1);
}

static inline uint32_t evring_member_word(unsigned group, unsigned generation, bool used)
{
	return (generation & EVRING_GENERATION_MASK) << 16 | (group & 0xff) << 8 | (used ? 1u : 0);
}

static inline bool evring_member_used(uint32_t word)
{
	return (word & 1) != 0;
}

static inline unsigned evring_member_group(uint32_t word)
{
	return word >> 8 & 0xff;
}

static inline unsigned evring_member_generation(uint32_t word)
{
	return word >> 16 & EVRING_GENERATION_MASK;
}
