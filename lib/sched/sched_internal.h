// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the parts of the scheduler share. The names of a part's functions begin with
// the name of the part:
//
//   events      the events from the oldest unfinished one on; choice of the next event
//   candidates  choice of the next builder, by policy and group rule
//   rounds      positions and phases of a round
//   holding     how long builders hold their slots
//   pace        rates, bytes in flight, port state; links, which the builders of a port share
//   sched       the functions of sched.h, which connect the parts
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/policy.h"
#include "sched/ranking.h"
#include "sched/sched.h"
#include "sched/set.h"

#define SCHED_NONE        UINT32_MAX
#define SCHED_ALIGNMENT   64u // a cache line
#define SCHED_ALLOCATIONS 13u

// The reasons (blocks) why a builder cannot get a grant. A builder without blocks is ready; a
// builder that is registered, not excluded and not suspended is live.
enum sched_block {
	SCHED_BLOCK_ABSENT = 1 << 0,    // not registered
	SCHED_BLOCK_EXCLUDED = 1 << 1,  // by sched_exclude()
	SCHED_BLOCK_CREDIT = 1 << 2,    // no slot is free
	SCHED_BLOCK_PAUSED = 1 << 3,    // its port is paused
	SCHED_BLOCK_EVENTS = 1 << 4,    // `credits` events are in flight
	SCHED_BLOCK_WINDOW = 1 << 5,    // the next event would exceed `window` bytes in flight
	SCHED_BLOCK_RATE = 1 << 6,      // the token bucket of its link is empty
	SCHED_BLOCK_ROUND = 1 << 7,     // its link has a position in this round
	SCHED_BLOCK_SUSPENDED = 1 << 8, // by sched_suspend()
};
#define SCHED_BLOCKS_LIFE (SCHED_BLOCK_ABSENT | SCHED_BLOCK_EXCLUDED | SCHED_BLOCK_SUSPENDED)
#define SCHED_BLOCKS_PACE (SCHED_BLOCK_EVENTS | SCHED_BLOCK_WINDOW | SCHED_BLOCK_RATE)

enum sched_slot_state {
	SCHED_SLOT_UNKNOWN, // not credited in this session
	SCHED_SLOT_FREE,
	SCHED_SLOT_GRANTED,
	SCHED_SLOT_USED, // its event is done; the next credit must have a newer generation
};

struct sched_slot {
	uint32_t generation; // generation of the last credit
	uint32_t next_free;  // next slot of the list of free slots; SCHED_NONE: the last one
	enum sched_slot_state state;
};

enum sched_event_state {
	SCHED_EVENT_NEW,   // never granted
	SCHED_EVENT_AGAIN, // waits for its next attempt
	SCHED_EVENT_GRANTED,
	SCHED_EVENT_FINISHED,
};

// An event of the ring, with its last grant if it has been granted.
struct sched_event {
	enum sched_event_state state;
	uint32_t attempt;
	uint32_t builder;
	uint32_t slot;
	uint32_t generation;
	// The list of the events in flight to one builder, by the time of their grants: places in
	// the ring, or SCHED_NONE.
	uint32_t next;
	uint32_t previous;
	bool is_sized; // `bytes` is from built events, not from event_bytes
	uint64_t round;
	uint64_t bytes; // estimated size
	uint64_t granted_ns;
} __attribute__((aligned(SCHED_ALIGNMENT)));

// The link of a port; see pace.c.
struct sched_link {
	uint64_t link_rate;   // bytes/s; 0: no limit
	uint64_t window;      // bytes; 0: no limit
	uint64_t in_flight;   // bytes to all builders of the port
	uint32_t granted;     // number of these events
	uint32_t first;       // the first builder of the port
	uint64_t turn_now;    // the latest time at which a turn began, see candidates.c
	uint64_t next_ns;     // time at which the token bucket has room again
	double next_fraction; // fraction of a ns, to be added to next_ns
	double ns_per_byte;
	uint64_t rate;       // bytes/s, after cuts; 0: no limit
	double share;        // share of the rate after cuts, 0 to 1
	uint64_t cut_at;     // time of the last cut
	uint64_t stepped_at; // time from which the next step of recovery counts
	bool was_cut;        // cut_at is valid
	bool calm;           // the last report had no congestion
};

// How long a builder holds its slots; see holding.c.
struct sched_holding {
	uint64_t began_at;   // time at which the period began
	uint64_t changed_at; // time of the last change of `slots`
	uint64_t held;       // from the begin of the period until then, slots x ns
	uint64_t freed;      // slots that became free in the period
	uint64_t mean;       // ns per slot, of the last complete period
	uint32_t slots;      // held now
};

struct sched_builder {
	uint32_t blocks; // enum sched_block
	uint32_t group;
	uint32_t rank; // number of the builder, counted group by group
	uint32_t weight;
	struct sched_link *link;
	struct sched_builder *next_on_link; // the next builder of the port, in a circle
	uint64_t turn_at; // time at which its next turn on the link is due; no unit
	uint64_t turn;    // time from one of its turns to the next
	// Slots, and events in flight
	struct sched_slot *slots;
	uint32_t first_free; // a free slot, or SCHED_NONE
	uint32_t most_slots; // largest number of slots that it may register
	uint32_t n_slots;    // number of slots that it has registered
	uint32_t free;       // number of free slots
	uint32_t ranked;     // number of free slots when it was ranked by occupancy
	uint32_t granted;    // number of events in flight
	uint32_t oldest;     // place of the oldest event in flight, or SCHED_NONE
	uint32_t newest;     // place of the newest event in flight, or SCHED_NONE
	uint64_t session;
	uint64_t grants;
	struct sched_holding holding;
	// Sizes, see pace.c
	uint64_t in_flight;  // bytes
	bool sized;          // mean_16 is from built events, not from event_bytes
	uint64_t mean_16;    // running mean of the event size, in 1/16 bytes
	double paused_share; // from the last report
};

enum candidates_kind {
	CANDIDATES_CREDIT, // live builders with a free slot
	CANDIDATES_HELD,   // builders that would be ready in the next round
	CANDIDATES_KINDS
};

struct sched_group {
	struct selector selector; // the ready builders, by rank
	uint32_t weight;          // sum of the weights of the live builders
	uint32_t n_ready;
	uint32_t n[CANDIDATES_KINDS]; // number of builders of each kind
	uint64_t last;                // number of its last grant; 0: none
};

struct sched_candidates {
	const struct policy *policy;
	struct sched_group *groups; // without a group rule, all builders are in one group
	uint32_t n_groups;
	uint32_t distance;
	uint64_t grants;                    // number of the last grant; the first grant is 1
	uint32_t n[CANDIDATES_KINDS];       // number of builders of each kind
	uint32_t n_fresh[CANDIDATES_KINDS]; // number of fresh groups with builders of each kind
	uint64_t
	    waits_since; // start of the wait of the group rule or a strict turn, or SCHED_NEVER
	struct selector fresh;   // the fresh groups with ready builders
	struct set fresh_ready;  // the members of `fresh`
	struct set ready;        // the members of all groups' selectors: ranks of ready builders
	struct set recent_ready; // recent groups with ready builders: last grant modulo SET_SIZE
	uint16_t used[SET_SIZE]; // group of each of the last grants, by its number modulo SET_SIZE
	uint16_t by_rank[SCHED_MAX_BUILDERS]; // builder of each rank
};

struct sched_events {
	struct sched_event *places; // a ring
	uint32_t mask;              // number of places - 1
	uint64_t released;          // all events below are finished
	uint64_t next;              // no event below is new
	uint64_t frontier;          // all events below are announced
	uint64_t ahead;             // number of events from `next` on that were adopted
	uint64_t again;             // number of events that wait again
	uint64_t first_again;       // no event below waits again; valid if again > 0
	uint64_t outstanding;       // number of events in flight
	uint32_t level;
	bool throttled;
};

struct sched_rounds {
	bool used;
	bool open; // a round has begun
	uint32_t n_positions;
	uint32_t position;    // number of positions that are used
	uint64_t number;      // number of the current round
	uint32_t outstanding; // number of events of the current round that are in flight
	uint32_t n_members;
	uint32_t *members; // builders with a grant in the current round
};

struct sched {
	struct sched_parameters parameters; // without `builders`
	uint64_t now;
	bool paused;
	struct sched_builder *builders;
	struct sched_link *links; // of the ports, by their first builders; [n_builders]
	uint64_t *announced;      // of each source: it has announced all events below
	struct ranking sources;   // included sources, by `announced`
	struct ranking throttled; // links whose token bucket is empty, by next_ns
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
// All events below `frontier` are announced.
void events_announced(struct sched *sched, uint64_t frontier);
// The event that is granted next; SCHED_NEVER if no event waits or `unfinished` is reached.
uint64_t events_next(struct sched *sched);
// The event that events_next() returned is granted.
void events_take(struct sched *sched, uint64_t event);
// An event that is not granted is adopted from an earlier manager, and is in flight.
void events_adopt(struct sched *sched, uint64_t event);
// A granted event waits again.
void events_again(struct sched *sched, uint64_t event);
// An event, granted or not, is finished.
void events_finish(struct sched *sched, uint64_t event);
// The event at a place of the ring.
uint64_t events_at(const struct sched *sched, uint32_t place);

// sched: updates the blocks of the other builders of a builder's port, after a grant or the end of
// an event.
void sched_update_shared(struct sched *sched, const struct sched_builder *builder);
static inline bool sched_shares_link(const struct sched_builder *builder)
{
	return builder->next_on_link != builder;
}
static inline void sched_update_others(struct sched *sched, const struct sched_builder *builder)
{
	if (sched_shares_link(builder))
		sched_update_shared(sched, builder);
}

// candidates: sets the blocks of a builder, whose number of free slots may also have changed.
void candidates_update(struct sched *sched, struct sched_builder *builder, uint32_t blocks);
// A builder of a group gets a grant. Returns the number of grants by which this is too early for
// the group rule; 0: the rule is observed.
uint32_t candidates_used(struct sched *sched, uint32_t group);

enum candidates_verdict {
	CANDIDATES_FOUND,
	CANDIDATES_NEXT_ROUND, // a builder would be ready in the next round
	CANDIDATES_WAIT,       // the group rule or a strict turn waits
	CANDIDATES_BLOCKED,    // the builders with credits are blocked
	CANDIDATES_NO_CREDIT,
};
enum candidates_verdict candidates_choose(struct sched *sched, uint64_t event,
					  struct sched_builder **builder);

// rounds: returns whether the round has a free position; if it is full, begins the next round.
bool rounds_ready(struct sched *sched);
// Ends the current round, even before it is full, and begins the next. Returns false if the next
// round cannot begin yet.
bool rounds_advance(struct sched *sched);
// A builder, and so its link, gets the next position. Returns the block of the link's builders.
uint32_t rounds_take(struct sched *sched, uint32_t builder, struct sched_grant *grant);
// An event of a round is no longer in flight.
void rounds_leave(struct sched *sched, uint64_t round);

// holding: a session of the builder begins, without a slot that is held.
void holding_begin(struct sched_holding *holding, uint64_t now);
// A slot is granted, or the credit of a slot that was granted has come.
void holding_take(struct sched_holding *holding, uint64_t now);
void holding_free(struct sched_holding *holding, uint64_t now);
// ns per slot, of the last complete period, or of this one if it should be over.
uint64_t holding_mean(const struct sched_holding *holding, uint64_t now);

// pace: the expected size of a builder's next event, bytes.
static inline uint64_t pace_estimate(const struct sched_builder *builder)
{
	return builder->mean_16 / 16;
}
// Starts the links, and assigns the builders to them.
void pace_start(struct sched *sched, const struct sched_builder_parameters *builders);
// A builder gets a grant for an event of this size.
void pace_granted(struct sched *sched, struct sched_builder *builder, uint64_t bytes);
// Returns those of SCHED_BLOCKS_PACE that hold now.
uint32_t pace_blocks(const struct sched *sched, const struct sched_builder *builder);
// A builder has built an event that it was granted; its size. To be called before part().
void pace_built(struct sched *sched, struct sched_builder *builder, const struct sched_event *event,
		uint64_t bytes);
void pace_port_state(struct sched *sched, struct sched_builder *builder,
		     const struct sched_port *port);
// Removes SCHED_BLOCK_RATE from the builders of links whose token bucket has room again.
void pace_refill(struct sched *sched);
