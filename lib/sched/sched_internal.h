// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the parts of the scheduler share. The functions of a part begin with its name:
//
//   events      events from the oldest unfinished one on, and which of them is next
//   candidates  which builder is granted next, by policy and group rule
//   rounds      positions and phases of a round
//   pace        rates, bytes in flight, port state
//   sched       the calls of sched.h, which join the parts
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/policy.h"
#include "sched/ranking.h"
#include "sched/sched.h"
#include "sched/set.h"

#define SCHED_NONE        UINT32_MAX
#define SCHED_ALIGNMENT   64u // a cache line
#define SCHED_ALLOCATIONS 12u

// Why a builder cannot be granted. A builder without blocks is ready.
enum sched_block {
	SCHED_BLOCK_ABSENT = 1 << 0,   // not registered
	SCHED_BLOCK_EXCLUDED = 1 << 1, // by sched_exclude()
	SCHED_BLOCK_CREDIT = 1 << 2,   // no slot is free
	SCHED_BLOCK_PAUSED = 1 << 3,   // its port is paused
	SCHED_BLOCK_EVENTS = 1 << 4,   // `credits` events are in flight
	SCHED_BLOCK_WINDOW = 1 << 5,   // the next event would exceed the bytes in flight
	SCHED_BLOCK_RATE = 1 << 6,     // its token bucket is empty
	SCHED_BLOCK_ROUND = 1 << 7,    // it has a position in this round
};
#define SCHED_BLOCKS_LIFE   (SCHED_BLOCK_ABSENT | SCHED_BLOCK_EXCLUDED)
#define SCHED_BLOCKS_FLIGHT (SCHED_BLOCK_EVENTS | SCHED_BLOCK_WINDOW)

enum sched_slot_state {
	SCHED_SLOT_UNKNOWN, // not credited in this session
	SCHED_SLOT_FREE,
	SCHED_SLOT_GRANTED,
	SCHED_SLOT_USED, // its event is done; the next credit must be newer
};

struct sched_slot {
	uint32_t generation; // the last one that was credited
	uint32_t next_free;
	enum sched_slot_state state;
};

enum sched_event_state {
	SCHED_EVENT_NEW, // never granted
	SCHED_EVENT_AGAIN,
	SCHED_EVENT_GRANTED,
	SCHED_EVENT_FINISHED,
};

// The last grant of an event, if it has been granted.
struct sched_event {
	enum sched_event_state state;
	uint32_t attempt;
	uint32_t builder;
	uint32_t slot;
	uint32_t generation;
	uint32_t next; // places of the events granted to the same builder after and before
	uint32_t previous;
	uint64_t round;
	uint64_t bytes; // estimated
	uint64_t granted_ns;
} __attribute__((aligned(SCHED_ALIGNMENT)));

struct sched_builder {
	uint32_t blocks; // enum sched_block
	uint32_t group;
	uint32_t rank; // number in the order of groups: the builders of a group are adjacent
	uint32_t weight;
	// slots and events in flight
	struct sched_slot *slots;
	uint32_t first_free; // slot; SCHED_NONE: none
	uint32_t most_slots;
	uint32_t n_slots; // registered
	uint32_t free;
	uint32_t ranked; // number of free slots when it was ranked by occupancy
	uint32_t granted;
	uint32_t oldest; // place of the first event that is granted and not done; SCHED_NONE
	uint32_t newest;
	uint64_t session;
	uint64_t grants;
	// pace
	uint64_t link_rate;   // bytes/s
	uint64_t window;      // bytes
	uint64_t in_flight;   // bytes
	bool sized;           // it has built an event
	uint64_t mean_16;     // bytes, times 16
	uint64_t next_ns;     // the token bucket has room again
	double next_fraction; // of a ns, beyond next_ns
	double ns_per_byte;
	uint64_t rate; // bytes/s, as cut; 0: not limited
	double share;  // of its rate, as cut
	double paused_share;
	uint64_t cut_at;
	uint64_t stepped_at;
	bool was_cut;
	bool calm; // by the last report
};

enum candidates_kind {
	CANDIDATES_CREDIT, // live, with a free slot
	CANDIDATES_HELD,   // would be ready in the next round
	CANDIDATES_KINDS
};

struct sched_group {
	struct selector selector; // ready builders, by rank
	uint32_t weight;          // sum of its live builders'
	uint32_t n_ready;
	uint32_t n[CANDIDATES_KINDS]; // builders of each kind
	uint64_t last;                // number of its last grant; 0: none
};

struct sched_candidates {
	const struct policy *policy;
	struct sched_group *groups; // without a group rule a single one
	uint32_t n_groups;
	uint32_t distance;
	uint64_t grants;                    // number of the last one
	uint32_t n[CANDIDATES_KINDS];       // builders of each kind
	uint32_t n_fresh[CANDIDATES_KINDS]; // fresh groups with builders of each kind
	uint64_t waits_since;               // for the group rule or a strict turn; SCHED_NEVER
	struct selector fresh;              // fresh groups with ready builders
	struct set fresh_ready;             // the same
	struct set ready;                   // ranks of ready builders
	struct set recent_ready;            // numbers of grants, modulo SET_SIZE
	uint16_t used[SET_SIZE];            // groups of the last grants, by these numbers
	uint16_t by_rank[SCHED_MAX_BUILDERS];
};

struct sched_events {
	struct sched_event *places;
	uint32_t mask;
	uint64_t released;
	uint64_t next;        // the first event that was never granted, except for `ahead`
	uint64_t frontier;    // all events below are announced
	uint64_t ahead;       // adopted events from `next` on
	uint64_t again;       // events that wait again
	uint64_t first_again; // none of them is below
	uint64_t outstanding;
	uint32_t level;
	bool throttled;
};

struct sched_rounds {
	bool used;
	bool open; // a round has begun
	uint32_t n_positions;
	uint32_t position; // the next
	uint64_t number;   // of the current round
	uint64_t starts_ns;
	uint64_t ends_ns;
	uint64_t phase_ns;
	uint32_t outstanding; // events of the current round
	uint32_t n_members;
	uint32_t *members; // builders with a position
};

struct sched {
	struct sched_parameters parameters; // without `builders`
	uint64_t now;
	bool paused;
	struct sched_builder *builders;
	uint64_t *announced;      // by each source: all events below
	struct ranking sources;   // the same, of included sources
	struct ranking throttled; // builders whose token bucket is empty, by next_ns
	struct sched_events events;
	struct sched_candidates candidates;
	struct sched_rounds rounds;
	struct sched_counters counters;
	void *allocations[SCHED_ALLOCATIONS];
	unsigned n_allocations;
};

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
// The event that events_next() returned is granted.
void events_take(struct sched *sched, uint64_t event);
// An event that is not granted belongs to a grant of an earlier manager.
void events_adopt(struct sched *sched, uint64_t event);
// A granted event waits again.
void events_again(struct sched *sched, uint64_t event);
// An event, granted or not, is finished.
void events_finish(struct sched *sched, uint64_t event);
// The event at a place of the ring.
uint64_t events_at(const struct sched *sched, uint32_t place);

// candidates: the blocks of a builder become these, and its number of free slots may have changed.
void candidates_update(struct sched *sched, struct sched_builder *builder, uint32_t blocks);
// A group has been granted an event. Returns by how many steps that broke the group rule.
uint32_t candidates_used(struct sched *sched, uint32_t group);

enum candidates_verdict {
	CANDIDATES_FOUND,
	CANDIDATES_NEXT_ROUND, // a builder would be ready in the next round
	CANDIDATES_WAIT,       // for the group rule, or a builder's turn
	CANDIDATES_BLOCKED,    // the builders with credits are blocked
	CANDIDATES_NO_CREDIT,
};
enum candidates_verdict candidates_choose(struct sched *sched, uint64_t event,
					  struct sched_builder **builder);

// rounds: whether the round has a position left; begins a round if the last one is full.
bool rounds_ready(struct sched *sched);
// Ends the current round before it is full, and begins the next. False: it cannot begin yet.
bool rounds_advance(struct sched *sched);
// A builder gets the next position. Returns its block.
uint32_t rounds_take(struct sched *sched, uint32_t builder, struct sched_grant *grant);
// An event of a round is not outstanding any more.
void rounds_leave(struct sched *sched, uint64_t round);

// pace: bytes that an event is expected to have.
static inline uint64_t pace_estimate(const struct sched_builder *builder)
{
	return builder->mean_16 / 16;
}
void pace_start(struct sched *sched, struct sched_builder *builder,
		const struct sched_builder_parameters *parameters);
// An event is granted. Returns the block by its rate.
uint32_t pace_granted(struct sched *sched, struct sched_builder *builder, uint64_t bytes);
// The blocks by events and bytes in flight, as they are now.
uint32_t pace_in_flight(const struct sched *sched, const struct sched_builder *builder);
// A builder has built an event of this size.
void pace_built(struct sched_builder *builder, uint64_t bytes);
void pace_port_state(struct sched *sched, struct sched_builder *builder,
		     const struct sched_port *port);
// Builders whose token bucket has room again lose their block.
void pace_refill(struct sched *sched);
