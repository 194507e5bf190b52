// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event manager decides which builder builds which event, and when sources may send. It is pure
// logic: its input is time, credits, announcements, reports of finished events and port state, its
// output is grants. It uses no DPDK, no I/O and no clock, and allocates in sched_create() only.
//
// The life of an event: it waits as soon as all included sources have announced it; sched_poll()
// grants it to a free slot of a builder; sched_done() finishes it, or lets it wait for its next
// attempt. All events below sched_released() are finished, so that sources may drop them.
//
// The life of a slot: it is unknown; free, once sched_credit() names it; granted; used, until a
// credit of a newer generation frees it again. A builder increments a slot's generation each time
// it frees the slot, so a credit may be sent any number of times.
//
// Times are nanoseconds of any steady clock, given as `now`; a time before the latest one seen
// counts as the latest. Builders and sources are dense indices, events are 64-bit indices that do
// not wrap.
//
// The time of a grant, of a credit and of a finished event does not depend on the number of
// builders with the policies round-robin and random, and grows with its logarithm with the others
// and where links have a rate. The time of an announcement grows with the logarithm of the number
// of sources. sched_register() and sched_exclude() walk the slots of one builder.
//
// Threads: a scheduler belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_MAX_BUILDERS  1024u
#define SCHED_MAX_SOURCES   4096u
#define SCHED_MAX_SLOTS     65536u // per builder
#define SCHED_MAX_EVENTS    (1u << 24)
#define SCHED_MAX_WEIGHT    1024u
#define SCHED_DISTANCE_AUTO UINT32_MAX
#define SCHED_ERROR_SIZE    256
#define SCHED_NEVER         UINT64_MAX

struct sched;

enum sched_mode {
	// Builder number event mod n_builders, or the next one that is not excluded. The event
	// waits for a credit of this builder.
	SCHED_STATIC,
	SCHED_PUSH, // grants go to the sources, which send as granted
	// Grants go to the builder, which requests the data from the sources. The decisions are
	// those of push.
	SCHED_PULL,
};

// Under a group rule (distance > 0) a policy chooses a group, then a builder of that group.
enum sched_policy {
	// Builders in turn. A builder without a credit is skipped or, if `strict` is set, waited
	// for.
	SCHED_ROUND_ROBIN,
	// The builder with the most free slots; of equal builders the one that has had its number
	// of free slots for longest.
	SCHED_OCCUPANCY,
	SCHED_WEIGHTED, // builders in turn, each `weight` times per cycle
	// A builder that is drawn, or the next one that can be granted: shows what bad scheduling
	// costs.
	SCHED_RANDOM,
};

enum sched_shaping {
	SCHED_ALL_AT_ONCE,   // "none": every source sends at once, the incast reference
	SCHED_LINEAR_SHIFT,  // rounds, see sched_send_order()
	SCHED_TIMED_SHIFT,   // rounds whose phases are on the clock: grant.starts_ns
	SCHED_CREDIT_WINDOW, // rounds, with `credits` and `parallel_sends`
};

// How full the queue of waiting events is when the sources are to hold back.
enum sched_throttle {
	SCHED_THROTTLE_NEVER,
	SCHED_THROTTLE_25, // percent of `queue`
	SCHED_THROTTLE_50,
	SCHED_THROTTLE_75,
	SCHED_THROTTLE_87_5,
};

struct sched_builder_parameters {
	uint32_t slots;     // largest number that it may register, 1 to SCHED_MAX_SLOTS
	uint32_t group;     // congestion group, below SCHED_MAX_BUILDERS
	uint32_t weight;    // 1 to SCHED_MAX_WEIGHT
	uint64_t link_rate; // bytes/s; 0: not limited
	uint64_t window;    // bytes in flight; 0: not limited. One event is always allowed.
};

struct sched_parameters {
	enum sched_mode mode;
	enum sched_policy policy;
	enum sched_shaping shaping;
	bool strict;  // round-robin: wait for the builder whose turn it is, at most relax_after_ns
	bool barrier; // rounds: a round begins when all events of the previous round are done
	const struct sched_builder_parameters *builders;
	uint32_t n_builders; // 1 to SCHED_MAX_BUILDERS
	uint32_t n_sources;  // 1 to SCHED_MAX_SOURCES; all are included at first
	// No group is used again within this many grants. SCHED_DISTANCE_AUTO: the smaller of
	// groups - 1 and n_sources. 0: no rule. Below the number of groups. The static mode has no
	// group rule.
	uint32_t distance;
	// How long the group rule waits for groups that could satisfy it but are blocked, once
	// until one of them is granted again, and each strict turn for its builder.
	uint64_t relax_after_ns;
	uint32_t parallel_sends; // copied to grants: sends in flight per event; 0: no limit
	uint32_t credits;        // events in flight to one builder; 0: as many as it has slots
	uint64_t send_window_ns; // timed shift: a phase is a send window and an idle window
	uint64_t idle_window_ns;
	double target_utilisation; // of link_rate, above 0, at most 1
	// Depth of the token bucket: what the link transfers in this time, plus one event.
	uint64_t burst_ns;
	uint32_t event_bytes; // expected size, until a builder has built an event
	// Port state: a report of congestion multiplies the rate's share by `cut`, but not twice
	// within cut_ns, and not again while a pause lasts. After a report without congestion each
	// recover_ns adds `step` to the share, up to 1.
	double cut;   // above 0, below 1
	double step;  // above 0, at most 1
	double floor; // the rate is never cut below; above 0, at most 1
	uint64_t cut_ns;
	uint64_t recover_ns;    // at least 1
	double congested_share; // paused share of time from which a port is congested
	double congested_fill;  // occupancy from which a port is congested
	uint32_t queue;         // waiting events at which the level is 100 %
	// Events from the oldest unfinished to the newest granted, at most; a power of two. It
	// bounds what sources must store.
	uint32_t unfinished;
	enum sched_throttle throttle_level;
	uint32_t max_attempts; // an event is given up when this attempt fails; 0: never
	uint64_t first_event;
	uint64_t seed; // of the random policy
};

// Values with which a scheduler runs: push, round-robin, linear shift, automatic distance, no
// limits of links. The caller adds the sources and builders.
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
	uint32_t relaxed;        // by how many steps the group rule yielded
};

// The result of a message. A message with another result than SCHED_OK changes nothing; each result
// is counted.
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
	bool paused;         // no grant until a report without this flag
	double paused_share; // of the time since the previous report, 0 to 1
	double occupancy;    // of the port's buffer, 0 to 1
	uint64_t marks;      // congestion marks since the previous report
};

struct sched_counters {
	uint64_t grants;
	uint64_t regrants;                   // grants in a second or later attempt
	uint64_t adopted;                    // open events that were adopted
	uint64_t outcomes[SCHED_N_OUTCOMES]; // of granted and adopted events
	uint64_t adopted_built;
	uint64_t superseded; // adopted open events that another builder's claim replaced
	uint64_t requeued;   // events that builders lost with their session, and that wait again
	uint64_t given_up;   // events that failed in attempt max_attempts: finished, not built
	uint64_t credits[SCHED_N_RESULTS];
	// Accepted credits = granted + purged + free now.
	uint64_t purged_credits;
	uint64_t dones[SCHED_N_RESULTS];
	uint64_t announcements[SCHED_N_RESULTS];
	uint64_t registrations;
	uint64_t relaxed;       // grants for which the group rule yielded
	uint64_t relaxed_steps; // sum of grant.relaxed
	uint64_t skips; // round-robin: turns that passed a builder or a group without a credit
	uint64_t strict_timeouts;
	uint64_t rounds;          // rounds that began
	uint64_t empty_positions; // of rounds that ended before they were full
	uint64_t cuts;            // of rates
	uint64_t pauses;          // reports that a port has become paused
	// Polls that ended while events waited, by cause
	uint64_t stalls_no_credit; // no builder had a credit
	uint64_t stalls_blocked;   // builders with credits were paused, at their rate or window
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
	uint64_t rate;            // bytes/s, as cut; 0: not limited
	double rate_share;        // by congestion; 1: not cut
	double paused_share;      // of the last report
	uint64_t mean_bytes;      // running mean size of the events that it has built
	uint64_t grants;
	uint64_t skips;        // round-robin: its turns that passed without a grant
	uint64_t oldest_event; // in flight; SCHED_NEVER: none
	uint64_t oldest_since; // when the oldest event was granted
};

// Bytes that sched_create() allocates; of the parameters the builders with their slots, n_sources
// and unfinished count.
uint64_t sched_memory(const struct sched_parameters *parameters);

// Returns 0, -EINVAL for a wrong parameter or -ENOMEM, with one line in error[SCHED_ERROR_SIZE].
int sched_create(struct sched **sched, const struct sched_parameters *parameters, char *error);
void sched_destroy(struct sched *sched);

// A builder registers with n_slots slots, all unknown until credited. If the builder is registered
// already: the same session returns SCHED_DUPLICATE; a new session discards the credits and grants
// of the old one, whose unfinished events wait again, ahead of newer ones. The caller discards
// messages of an older session. SCHED_UNKNOWN: too many slots, or none.
enum sched_result sched_register(struct sched *sched, uint32_t builder, uint64_t session,
				 uint32_t n_slots, uint64_t now);

// A slot is free. SCHED_DUPLICATE: this generation was credited before. SCHED_STALE: the generation
// is older than the credited one, or the slot's event is not done yet (the caller may send the
// credit again). The first credit of a session may have any generation; generations are compared
// modulo 2^32.
enum sched_result sched_credit(struct sched *sched, uint32_t builder, uint32_t slot,
			       uint32_t generation, uint64_t now);

// An excluded builder loses its session, its credits and its unfinished events as above, and gets
// no grant. It may register and send credits again; they count once it is included.
void sched_exclude(struct sched *sched, uint32_t builder, uint64_t now);
void sched_include(struct sched *sched, uint32_t builder, uint64_t now);

// A source has all events below up_to. An event waits for a grant once all included sources have
// announced it. SCHED_STALE: the source has announced more before.
enum sched_result sched_announce(struct sched *sched, uint32_t source, uint64_t up_to,
				 uint64_t now);

// Events wait without the announcement of an excluded source. Events that wait already are not
// withdrawn when a source is included.
void sched_exclude_source(struct sched *sched, uint32_t source, uint64_t now);
void sched_include_source(struct sched *sched, uint32_t source, uint64_t now);

// For a manager that takes over from another one: what a registered builder reports of its slots.
// It is called, while the scheduler is paused, before anything is granted. first_event is then the
// event below which sources know all as released, and builders report all events from there on that
// they have built. If two builders claim an event, it belongs to the builder that has built it,
// else to the later attempt; the other builder gets SCHED_STALE, and must drop the event and credit
// the slot anew. An open event in a slot that is known already is stale, too. Adoption implies that
// the event, and all events before it, had been announced. Slot, generation and attempt of built
// events are ignored. SCHED_UNKNOWN: the builder is not registered, the slot does not exist, or the
// event lies beyond `unfinished`.
enum sched_result sched_adopt(struct sched *sched, uint64_t event, uint32_t builder, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what,
			      uint64_t now);

// Writes at most max grants and returns their number. Events are granted in order, events that wait
// again first.
unsigned sched_poll(struct sched *sched, uint64_t now, struct sched_grant *grants, unsigned max);

// The builder is finished with an event. The slot is used until its next credit.
enum sched_result sched_done(struct sched *sched, uint32_t builder, uint64_t event, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes, uint64_t now);

// A report of a builder's switch port or NIC.
void sched_port_state(struct sched *sched, uint32_t builder, const struct sched_port *port,
		      uint64_t now);

// Run control: no grants while paused. A new scheduler is not paused.
void sched_set_paused(struct sched *sched, bool paused);

// All events below are finished.
uint64_t sched_released(const struct sched *sched);
// All events below have been announced.
uint64_t sched_announced(const struct sched *sched);
// The number of events that are granted or adopted, and not done.
uint64_t sched_outstanding(const struct sched *sched);
// The number of events that are announced and not granted, or to be granted again.
uint64_t sched_waiting(const struct sched *sched);

// Bits 0 to 3: 25, 50, 75, 87.5 % of `queue` have been reached.
uint32_t sched_level(const struct sched *sched);
// Whether sources are to hold back: throttle_level was reached, and since then the number of
// waiting events has not fallen below half of it.
bool sched_throttled(const struct sched *sched);

const struct sched_counters *sched_counters(const struct sched *sched);
// builder < n_builders
void sched_view(const struct sched *sched, uint32_t builder, struct sched_builder_view *view);
