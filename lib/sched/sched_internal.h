// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the parts of the scheduler share. Each part has one file, and its functions begin with its
// name:
//
//   sources     what has been announced by all sources
//   events      events from the oldest unfinished one on; which one is next
//   credits     the slots of builders
//   candidates  which builders can be granted, by policy and group rule
//   rounds      positions and phases of a round
//   pace        rates, bytes in flight, port state
//   timers      builders that wait for their rate
//   sched       the calls of sched.h, which join the parts; in adopt.c those of a takeover, in
//               view.c those that only look
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/bitmap.h"
#include "sched/carver.h"
#include "sched/policy.h"
#include "sched/sched.h"

#define SCHED_NONE UINT32_MAX

// Why a builder cannot be granted. Without any it is ready.
enum sched_block {
	SCHED_BLOCK_ABSENT = 1 << 0,   // not registered
	SCHED_BLOCK_EXCLUDED = 1 << 1, // by sched_exclude()
	SCHED_BLOCK_CREDIT = 1 << 2,   // no free slot
	SCHED_BLOCK_PAUSED = 1 << 3,   // its port is
	SCHED_BLOCK_EVENTS = 1 << 4,   // `credits` events are in flight
	SCHED_BLOCK_WINDOW = 1 << 5,   // the next event would exceed the bytes in flight
	SCHED_BLOCK_RATE = 1 << 6,     // waits for its token bucket
	SCHED_BLOCK_ROUND = 1 << 7,    // has a position in this round
};
#define SCHED_BLOCKS_LIFE (SCHED_BLOCK_ABSENT | SCHED_BLOCK_EXCLUDED)

enum sched_slot_state {
	SCHED_SLOT_UNKNOWN, // not credited in this session
	SCHED_SLOT_FREE,
	SCHED_SLOT_GRANTED,
	SCHED_SLOT_USED, // its event is done; the next credit must be newer
};

struct sched_slot {
	uint32_t generation; // the last one seen
	enum sched_slot_state state;
};

enum sched_event_state {
	SCHED_EVENT_NEW, // not granted so far
	SCHED_EVENT_AGAIN,
	SCHED_EVENT_GRANTED,
	SCHED_EVENT_FINISHED,
};

// The last grant of an event, or none.
struct sched_event {
	enum sched_event_state state;
	uint32_t attempt;
	uint32_t builder;
	uint32_t slot;
	uint32_t generation;
	uint32_t next; // places of those granted to the same builder before and after
	uint32_t previous;
	uint64_t round;
	uint64_t bytes; // estimated
	uint64_t granted_ns;
} __attribute__((aligned(CARVER_ALIGNMENT)));

struct sched_builder {
	uint32_t blocks; // enum sched_block
	uint32_t group;
	uint32_t item; // in its group
	uint32_t weight;
	// credits
	struct sched_slot *slots;
	struct bitmap free_slots;
	uint32_t most_slots;
	uint32_t n_slots; // registered
	uint32_t free;
	uint32_t granted;
	uint32_t oldest; // place of the first event granted and not done
	uint32_t newest;
	uint64_t session;
	uint64_t grants;
	// pace
	uint64_t link_rate;
	uint64_t window;
	uint64_t in_flight;   // bytes
	bool sized;           // it has built an event
	uint64_t mean_16;     // bytes, times 16
	uint64_t next_ns;     // the token bucket has room again
	double next_fraction; // of a ns, beyond
	double ns_per_byte;
	uint64_t rate; // bytes a second, as cut; 0: not limited
	double share;  // of its rate, as cut
	double paused_share;
	uint64_t cut_at;
	uint64_t stepped_at;
	bool was_cut;
	bool calm; // by the last report
};

struct sched_group {
	uint32_t *builders; // of each item
	uint32_t weight;    // of the live ones
	uint32_t n_live;
	uint32_t n_credit; // live, with a free slot
	uint32_t n_ready;
	uint32_t n_held; // would be ready in the next round
	uint64_t last;   // number of its last grant; 0: none
	struct selector selector;
	struct bitmap live; // items
};

struct sched_sources {
	uint32_t n;
	uint32_t leaves; // a power of two
	uint64_t *announced;
	uint64_t *least; // tree, the root at 1: of included sources
	bool *excluded;
};

struct sched_events {
	struct sched_event *places;
	uint32_t mask;
	uint64_t released;
	uint64_t next;     // the first event that was never granted, save `ahead`
	uint64_t frontier; // all below are announced
	uint64_t ahead;    // events from `next` on that were adopted
	uint64_t again;    // events that wait again
	struct bitmap waits_again;
	uint64_t outstanding;
	uint32_t level;
	bool throttled;
};

struct sched_candidates {
	const struct policy *policy;
	struct sched_group *groups;
	uint32_t n_groups;
	uint32_t distance;
	uint64_t grants; // number of the last one
	// Groups that are not recent: not used within the last `distance` grants
	struct selector fresh;   // with ready builders
	struct bitmap live;      // groups with live builders, recent ones too
	uint32_t n_fresh;        // in `fresh`
	uint32_t n_fresh_credit; // with credits
	uint32_t n_fresh_held;   // with held builders
	uint32_t *used;          // group of each of the last grants
	uint32_t used_mask;
	struct bitmap
	    recent_ready;  // of `used`, at a recent group's last grant, if it has ready ones
	uint32_t n_credit; // builders
	uint32_t n_held;
	uint64_t waits_since;   // for the group rule or a strict turn; SCHED_NEVER: does not
	struct bitmap included; // builders
};

struct sched_rounds {
	bool used;
	bool open; // there is a current round
	uint32_t n_positions;
	uint32_t position; // the next
	uint64_t number;   // of the current round
	uint64_t begun;
	uint64_t starts_ns;
	uint64_t ends_ns;
	uint64_t phase_ns;
	uint32_t outstanding; // events of the current round
	uint32_t n_members;
	uint32_t *members; // builders with a position
};

struct sched_timers {
	uint32_t n;
	uint32_t *heap; // builders, the earliest next_ns first
};

struct sched {
	struct sched_parameters parameters; // `builders` is not kept
	uint64_t now;
	bool paused;
	bool more; // the last poll ended for want of room
	struct sched_builder *builders;
	struct sched_sources sources;
	struct sched_events events;
	struct sched_candidates candidates;
	struct sched_rounds rounds;
	struct sched_timers timers;
	struct sched_counters counters;
};

// Each part takes its memory and, where there is some, starts out.
void sources_layout(struct sched *sched, struct carver *carver);
void events_layout(struct sched *sched, struct carver *carver);
void credits_layout(struct sched *sched, struct carver *carver,
		    const struct sched_builder_parameters *builders);
void candidates_layout(struct sched *sched, struct carver *carver,
		       const struct sched_builder_parameters *builders);
void rounds_layout(struct sched *sched, struct carver *carver);
void pace_layout(struct sched *sched, const struct sched_builder_parameters *builders);
void timers_layout(struct sched *sched, struct carver *carver);

// sources: the number below which all included sources have announced; SCHED_NEVER if none is.
uint64_t sources_least(const struct sched *sched);
enum sched_result sources_announce(struct sched *sched, uint32_t source, uint64_t up_to);
void sources_exclude(struct sched *sched, uint32_t source, bool excluded);

// events
static inline struct sched_event *events_place(struct sched *sched, uint64_t event)
{
	return &sched->events.places[event & sched->events.mask];
}
static inline uint64_t events_waiting(const struct sched *sched)
{
	const struct sched_events *events = &sched->events;

	return events->frontier - events->next - events->ahead + events->again;
}
// All events below are announced.
void events_announced(struct sched *sched, uint64_t frontier);
// The event to be granted next; SCHED_NEVER if none waits or `unfinished` is reached.
uint64_t events_next(struct sched *sched);
// That event is granted.
void events_take(struct sched *sched, uint64_t event);
// An event that is not granted belongs to an attempt from before this manager's time.
void events_adopt(struct sched *sched, uint64_t event);
// A granted event waits again.
void events_again(struct sched *sched, uint64_t event);
// An event, granted or not, is finished.
void events_finish(struct sched *sched, uint64_t event);
// The event at a place of the ring.
uint64_t events_at(const struct sched *sched, uint32_t place);

// credits
enum sched_result credits_take(struct sched *sched, struct sched_builder *builder, uint32_t slot,
			       uint32_t generation);
// A free slot of a builder that has one: it is granted.
uint32_t credits_grant(struct sched *sched, struct sched_builder *builder);
// Forgets a builder's slots; its credits count as purged.
void credits_purge(struct sched *sched, struct sched_builder *builder);
// An event joins, or leaves, those that are in flight to a builder. Its slot is then used.
void credits_join(struct sched *sched, struct sched_builder *builder, uint64_t event);
void credits_part(struct sched *sched, struct sched_builder *builder, uint64_t event);

// candidates: a builder's blocks become these.
void candidates_block(struct sched *sched, struct sched_builder *builder, uint32_t blocks);
// A builder's number of free slots has changed.
void candidates_free_changed(struct sched *sched, struct sched_builder *builder);
// A group has been granted an event. Returns by how many steps that broke the group rule.
uint32_t candidates_used(struct sched *sched, uint32_t group);

enum candidates_verdict {
	CANDIDATES_FOUND,
	CANDIDATES_NEXT_ROUND, // there would be one in the next round
	CANDIDATES_WAIT,       // for the group rule, or a builder's turn
	CANDIDATES_BLOCKED,    // those with credits are blocked
	CANDIDATES_NO_CREDIT,
};
enum candidates_verdict candidates_choose(struct sched *sched, uint64_t event,
					  struct sched_builder **builder);

// rounds: whether a position is to be had now; begins a round if the last one is full.
bool rounds_ready(struct sched *sched);
// Ends the current round before it is full, and begins the next. False: it cannot begin yet.
bool rounds_advance(struct sched *sched);
// A builder takes the next position. Returns whether it may have no other in this round.
bool rounds_take(struct sched *sched, uint32_t builder, struct sched_grant *grant);
// An event of a round is not outstanding any more.
void rounds_leave(struct sched *sched, uint64_t round);

// pace: bytes that an event is expected to have.
static inline uint64_t pace_estimate(const struct sched_builder *builder)
{
	return builder->mean_16 / 16;
}
// An event is granted. Returns the blocks that follow.
uint32_t pace_granted(struct sched *sched, struct sched_builder *builder, uint64_t bytes);
// The block by the window, as it is now.
uint32_t pace_window(const struct sched_builder *builder);
// An event that was built had so many bytes.
void pace_built(struct sched_builder *builder, uint64_t bytes);
void pace_port_state(struct sched *sched, struct sched_builder *builder,
		     const struct sched_port *port);

// timers: a builder waits until its next_ns.
void timers_add(struct sched *sched, uint32_t builder);
// The first builder whose time has come, which waits no longer; SCHED_NONE.
uint32_t timers_expired(struct sched *sched);

// sched
void sched_advance_clock(struct sched *sched, uint64_t now);
// Of any number.
bool sched_is_registered(const struct sched *sched, uint32_t builder);
// The block by `credits`, as it is now.
uint32_t sched_events_block(const struct sched *sched, const struct sched_builder *builder);
// An event is in flight to a builder, in a slot that is granted; it is not any more.
void sched_join(struct sched *sched, struct sched_builder *builder, uint64_t event, uint32_t slot);
void sched_part(struct sched *sched, uint64_t event);
