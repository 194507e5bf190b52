// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event manager: which builder builds which event, and when sources may send. Pure logic: time,
// credits, announcements, acknowledgements and port state go in, grants come out. No DPDK, no I/O,
// no clock, no allocation after sched_create().
//
// The life of an event: announced by all included sources, it waits; sched_poll() grants it to a
// free slot of a builder; sched_done() finishes it, or sends it back to wait, one attempt further.
// Events below sched_released() are finished without a gap: sources may forget them.
//
// The life of a slot: unknown; free, once sched_credit() names it; granted; used, until a credit of
// a newer generation frees it again. A builder counts up a slot's generation each time it frees it,
// so a credit may be sent any number of times.
//
// Times are nanoseconds of any steady clock, given as `now`; a time before the latest one seen
// counts as the latest. Builders and sources are dense indices, events are 64-bit indices that do
// not wrap.
//
// A grant, a credit and a done take, on average, a time that does not depend on the number of
// builders; where links have a rate it grows with its logarithm, as an announcement's does with
// that of the sources. sched_register(), sched_exclude() and sched_include() walk the slots of one
// builder.
//
// Threads: belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_MAX_BUILDERS  1024u
#define SCHED_MAX_SOURCES   4096u
#define SCHED_MAX_SLOTS     65536u // of a builder
#define SCHED_MAX_EVENTS    (1u << 24)
#define SCHED_MAX_WEIGHT    1024u
#define SCHED_DISTANCE_AUTO UINT32_MAX
#define SCHED_ERROR_SIZE    256
#define SCHED_NEVER         UINT64_MAX

struct sched;

enum sched_mode {
	SCHED_STATIC, // sched_static_builder() of the event; waits for that builder's credit
	SCHED_PUSH,   // grants go to the sources, which send as granted
	SCHED_PULL, // grants go to the builder, which asks the sources; the same decisions as push
};

// Under a group rule (distance > 0) a policy chooses a group, then a builder of that group.
enum sched_policy {
	SCHED_ROUND_ROBIN, // in turn; those without a credit are skipped, or waited for: `strict`
	SCHED_OCCUPANCY,   // most free slots; of equals the one that has had so many for longest
	SCHED_WEIGHTED,    // in turn, `weight` times a cycle
	SCHED_RANDOM,      // any: shows what bad scheduling costs
};

enum sched_shaping {
	SCHED_ALL_AT_ONCE,   // "none": every source sends at once, the incast reference
	SCHED_LINEAR_SHIFT,  // rounds, see sched_send_order()
	SCHED_TIMED_SHIFT,   // rounds whose phases are on the clock: grant.starts_ns
	SCHED_CREDIT_WINDOW, // rounds, with `credits` and `parallel_sends`
};

struct sched_builder_parameters {
	uint32_t slots;     // most that it may register, 1 to SCHED_MAX_SLOTS
	uint32_t group;     // congestion group, below SCHED_MAX_BUILDERS
	uint32_t weight;    // 1 to SCHED_MAX_WEIGHT
	uint64_t link_rate; // bytes a second; 0: not limited
	uint64_t window;    // bytes in flight; 0: not limited. One event is always allowed.
};

struct sched_parameters {
	enum sched_mode mode;
	enum sched_policy policy;
	enum sched_shaping shaping;
	bool strict;  // round-robin: wait for the builder whose turn it is, at most relax_after_ns
	bool barrier; // rounds: a round begins when all events of the one before are done
	const struct sched_builder_parameters *builders;
	uint32_t n_builders; // 1 to SCHED_MAX_BUILDERS
	uint32_t n_sources;  // 1 to SCHED_MAX_SOURCES; all are included at first
	// No group is used again within this many grants. SCHED_DISTANCE_AUTO: the smaller of
	// groups - 1 and n_sources. 0: no rule. Below the number of groups. The static mode has
	// none.
	uint32_t distance;
	// How long the group rule waits for groups that could satisfy it but are blocked, once
	// until one of them is granted again, and each strict turn for its builder.
	uint64_t relax_after_ns;
	uint32_t parallel_sends; // handed on in grants: sends in flight of an event; 0: no limit
	uint32_t credits;        // events in flight to one builder; 0: as many as it has slots
	uint64_t send_window_ns; // timed shift: a phase is a send window and an idle window
	uint64_t idle_window_ns;
	double target_utilisation; // of link_rate, above 0, at most 1
	uint64_t burst_ns; // token bucket's depth: what the link takes in that time, and an event
	uint32_t event_bytes; // expected size, until a builder has built some
	// Port state: a congested report multiplies the rate by cut, but not twice within cut_ns,
	// and not again for as long as a pause lasts; from a calm one on each recover_ns adds
	// `step`, up to 1.
	double cut;   // above 0, below 1
	double step;  // above 0, at most 1
	double floor; // the rate is never cut below; above 0, at most 1
	uint64_t cut_ns;
	uint64_t recover_ns;    // at least 1
	double congested_share; // paused share of time from which a port is congested
	double congested_fill;  // occupancy from which it is
	uint32_t queue;         // waiting events at which the level is 100 %
	// Events from the oldest unfinished to the newest granted, at most; a power of two. It
	// bounds what sources must keep.
	uint32_t unfinished;
	uint32_t throttle_level; // 1 to 4: 25, 50, 75, 87.5 % of queue; 0: never throttle
	uint32_t max_attempts; // an event whose attempt of that number fails is given up; 0: never
	uint64_t first_event;
	uint64_t seed; // of the random policy
};

// Everything at a value that runs: push, round-robin, linear shift, automatic distance, no link
// limits, no sources and builders yet.
struct sched_parameters sched_defaults(void);

struct sched_grant {
	uint64_t event;
	uint64_t round;
	uint64_t starts_ns; // timed shift: start of the round's phase 0; else when granted
	// Onto the builder's link, all sources together; 0: no limit.
	uint64_t rate_bytes_per_second;
	uint32_t builder;
	uint32_t slot;
	uint32_t generation;
	uint32_t attempt;        // 1 for the first
	uint32_t position;       // in the round
	uint32_t n_positions;    // phases of the round; 1 without rounds
	uint32_t parallel_sends; // as configured
	uint32_t relaxed;        // steps by which the group rule yielded
};

// What becomes of a message. All but SCHED_OK change nothing and are counted.
enum sched_result {
	SCHED_OK,
	SCHED_DUPLICATE, // already known
	SCHED_STALE,     // of an older generation, attempt or session
	SCHED_UNKNOWN,   // no such builder, slot, source or event, or not registered
	SCHED_N_RESULTS
};

enum sched_outcome {
	SCHED_COMPLETE,
	SCHED_INCOMPLETE, // built, with sources missing
	SCHED_FAILED,     // not built: granted again
	SCHED_N_OUTCOMES
};

enum sched_adopted {
	SCHED_ADOPT_OPEN,  // granted or under construction
	SCHED_ADOPT_BUILT, // finished
};

struct sched_port {
	bool paused;         // now: no grant until a report says otherwise
	double paused_share; // of the time since the report before, 0 to 1
	double occupancy;    // of the port's buffer, 0 to 1
	uint64_t marks;      // congestion marks since the report before
};

struct sched_counters {
	uint64_t grants;
	uint64_t regrants;                   // of them: a second or later attempt
	uint64_t adopted;                    // open events that were adopted
	uint64_t outcomes[SCHED_N_OUTCOMES]; // of granted and adopted events
	uint64_t adopted_built;
	uint64_t superseded; // open events whose adoption was replaced by a later attempt's
	uint64_t requeued;   // taken back from builders that were purged
	uint64_t given_up;   // failed in attempt max_attempts; finished, not built
	uint64_t credits[SCHED_N_RESULTS];
	// Credits taken = granted + purged + free now.
	uint64_t purged_credits;
	uint64_t dones[SCHED_N_RESULTS];
	uint64_t announcements[SCHED_N_RESULTS];
	uint64_t registrations;
	uint64_t relaxed;       // grants for which the group rule yielded
	uint64_t relaxed_steps; // sum of grant.relaxed
	uint64_t skips; // round-robin: turns that passed a builder or a group without a credit
	uint64_t strict_timeouts;
	uint64_t rounds;          // begun
	uint64_t empty_positions; // of rounds that ended before they were full
	uint64_t cuts;            // of rates
	uint64_t pauses;          // reports that a port has become paused
	// Polls that ended with events waiting, by what was missing
	uint64_t stalls_no_credit; // no builder had a credit
	uint64_t stalls_blocked;   // those that had one were paused, at their rate or window
	uint64_t stalls_group;     // the group rule or the strict turn waited
	uint64_t stalls_round;     // the barrier or the clock waited
	uint64_t stalls_window;    // `unfinished` was reached
};

struct sched_builder_view {
	bool registered;
	bool excluded;
	bool paused;
	uint64_t session;
	uint32_t slots;           // registered
	uint32_t free;            // credits
	uint32_t granted;         // events in flight
	uint64_t in_flight_bytes; // estimated
	uint64_t window;          // bytes, as configured
	uint64_t rate;            // bytes a second, as cut; 0: not limited
	double rate_share;        // 1: not cut
	double paused_share;      // of the last report
	uint64_t mean_bytes;      // running mean of the events it has built
	uint64_t grants;
	uint64_t skips;        // round-robin: its turns that passed without a grant
	uint64_t oldest_event; // in flight; SCHED_NEVER: none
	uint64_t oldest_since; // when that was granted
};

// Bytes that sched_create() will allocate; 0 if the parameters are wrong.
uint64_t sched_memory(const struct sched_parameters *parameters);

// Returns 0, -EINVAL for a wrong parameter or -ENOMEM, with one line in error[SCHED_ERROR_SIZE].
int sched_create(struct sched **sched, const struct sched_parameters *parameters, char *error);
void sched_destroy(struct sched *sched);

// A builder comes with n_slots slots, all unknown until credited. The session of a builder that was
// registered before: SCHED_DUPLICATE for the same session; a new one purges what the old one had,
// credits and grants, and lets its unfinished events wait again, ahead of newer ones. Messages of
// an older session are the caller's to discard. SCHED_UNKNOWN: too many slots, or none.
enum sched_result sched_register(struct sched *sched, uint32_t builder, uint64_t session,
				 uint32_t n_slots, uint64_t now);

// A slot is free. SCHED_DUPLICATE: the generation has been seen. SCHED_STALE: an older one has, or
// the slot's event is not done yet (the caller may send the credit again). The first credit of a
// session may have any generation; they are compared modulo 2^32.
enum sched_result sched_credit(struct sched *sched, uint32_t builder, uint32_t slot,
			       uint32_t generation, uint64_t now);

// Excluded, a builder loses its session, its credits and its unfinished events as above, and gets
// no grant. It may register and give credits again, which count once it is included.
void sched_exclude(struct sched *sched, uint32_t builder, uint64_t now);
void sched_include(struct sched *sched, uint32_t builder, uint64_t now);

// A source has all events below up_to. An event waits for a grant once all included sources have
// announced it. SCHED_STALE: it has announced more before.
enum sched_result sched_announce(struct sched *sched, uint32_t source, uint64_t up_to,
				 uint64_t now);

// Events need not be announced by an excluded source. What may be granted already stays so.
void sched_exclude_source(struct sched *sched, uint32_t source, uint64_t now);
void sched_include_source(struct sched *sched, uint32_t source, uint64_t now);

// For a manager that takes over from another: what a registered builder says of its slots. To be
// called, with sched_set_paused(), before anything is granted; first_event is then what the sources
// know as released, and builders tell of all events that they have built from there on. An event
// that two builders claim belongs to the one that has built it, else to the later attempt:
// SCHED_STALE for the other, which must drop it and credit the slot anew. Also stale is an open
// event in a slot that is known already. Adoption implies that the event, and those before it, had
// been announced. Slot, generation and attempt of built events are not looked at. SCHED_UNKNOWN:
// not registered, no such slot, or an event beyond `unfinished`.
enum sched_result sched_adopt(struct sched *sched, uint64_t event, uint32_t builder, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what,
			      uint64_t now);

// Fills at most max grants; returns how many. Events are granted in order, those that wait again
// first.
unsigned sched_poll(struct sched *sched, uint64_t now, struct sched_grant *grants, unsigned max);

// When a poll may grant more although nothing but time has changed; SCHED_NEVER if it cannot.
uint64_t sched_wake(const struct sched *sched);

// The builder is finished with an event. The slot is used until its next credit.
enum sched_result sched_done(struct sched *sched, uint32_t builder, uint64_t event, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes, uint64_t now);

// What a builder's switch port, or its NIC, reports.
void sched_port_state(struct sched *sched, uint32_t builder, const struct sched_port *port,
		      uint64_t now);

// Run control: no grants while paused. A new scheduler is not paused.
void sched_set_paused(struct sched *sched, bool paused);

// All events below are finished.
uint64_t sched_released(const struct sched *sched);
// All events below have been announced.
uint64_t sched_announced(const struct sched *sched);
// Granted or adopted and not done.
uint64_t sched_outstanding(const struct sched *sched);
// Announced and not granted, or to be granted again.
uint64_t sched_waiting(const struct sched *sched);

// Bits 0 to 3: 25, 50, 75, 87.5 % of `queue` have been reached since the last clear.
uint32_t sched_level(const struct sched *sched);
void sched_clear_level(struct sched *sched);
// Sources are to hold back: throttle_level was reached, and half of it has not been left since.
bool sched_throttled(const struct sched *sched);

uint32_t sched_distance(const struct sched *sched);
// Phases of a round: the larger of the numbers of builders and sources, so that neither two sources
// share a phase of a position nor two positions a builder. With more sources than builders some
// positions, and so phases, stay idle. 1 without rounds.
uint32_t sched_n_positions(const struct sched *sched);

const struct sched_counters *sched_counters(const struct sched *sched);
// builder < n_builders
void sched_view(const struct sched *sched, uint32_t builder, struct sched_builder_view *view);

// The static mode's formula: event mod n_builders, or the next builder that is not excluded.
// SCHED_MAX_BUILDERS if all are.
uint32_t sched_static_builder(const struct sched *sched, uint64_t event);

// The position that a source sends in a phase of a round: (phase + source) mod n_positions. In one
// phase no two sources of fewer than n_positions + 1 have the same; over n_positions phases each
// source sends each position once.
static inline uint32_t sched_send_order(uint32_t source, uint32_t phase, uint32_t n_positions)
{
	return (uint32_t)(((uint64_t)source + phase) % n_positions);
}
