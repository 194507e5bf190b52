// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The scheduler of the event manager. It decides which builder builds which event, and when sources
// may send. It is pure logic: its input is time, credits, announcements, reports of finished events
// and port state; its output is grants. It uses no DPDK, no I/O and no clock, and allocates memory
// only in sched_create().
//
// The states of an event: it waits as soon as all included sources have announced it; sched_poll()
// grants it to a free slot of a builder; sched_done() finishes it, or lets it wait for its next
// attempt. All events below sched_released() are finished, so that sources may drop them.
//
// The states of a slot: it is unknown at first; it becomes free when sched_credit() names it, then
// granted, then used when its event is done; a credit of a newer generation makes it free again. A
// builder increments a slot's generation each time it frees the slot, so the same credit may be
// sent any number of times.
//
// Times are nanoseconds of any steady clock, passed as `now`. If `now` is earlier than in a
// previous call, the latest time of all calls is used. Builders and sources are numbered from 0
// without gaps; events are 64-bit indices that do not wrap.
//
// Cost: with the policies round-robin and random, and without link rates, the time of a grant, of a
// credit and of a finished event does not depend on the number of builders; otherwise it grows with
// the logarithm of this number. A grant and a finished event also visit the other builders of the
// same port. The time of an announcement grows with the logarithm of the number of sources.
// sched_register() and sched_exclude() visit all slots of one builder.
//
// Threads: one thread calls all functions of a scheduler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_MAX_BUILDERS      1024u
#define SCHED_MAX_SOURCES       4096u
#define SCHED_MAX_SLOTS         65536u // per builder
#define SCHED_MAX_EVENTS        (1u << 24)
#define SCHED_MAX_PHASE_BARRIER 65535u
#define SCHED_MAX_WEIGHT        1024u
#define SCHED_DISTANCE_AUTO     UINT32_MAX
#define SCHED_ERROR_SIZE        256
#define SCHED_NEVER             UINT64_MAX

struct sched;

enum sched_mode {
	// Builder number event mod n_builders, or the next one that is not excluded. The event
	// waits for a credit of this builder.
	SCHED_STATIC,
	SCHED_PUSH, // the sources get the grants too, and send the data as granted
	// Only the builder gets the grant, and requests the data from the sources. The scheduler
	// decides as in the mode push.
	SCHED_PULL,
};

// Under a group rule (distance > 0) a policy chooses a group, then a builder of that group.
enum sched_policy {
	// The builders in turn. If a builder has no credit, it is skipped; if `strict` is set, the
	// scheduler waits for it.
	SCHED_ROUND_ROBIN,
	// The builder with the most free slots; of equal builders the one whose number of free
	// slots has not changed for the longest time.
	SCHED_OCCUPANCY,
	SCHED_WEIGHTED, // the builders in turn, each `weight` times per cycle
	// A builder drawn at random, or the next one that can be granted. This policy is the
	// reference for the cost of bad scheduling.
	SCHED_RANDOM,
};

enum sched_shaping {
	SCHED_ALL_AT_ONCE,  // "none": every source sends at once; the reference for incast
	SCHED_LINEAR_SHIFT, // rounds: each port has at most one position in a round
	SCHED_TIMED_SHIFT,  // no rounds: nodes send by the windows of a clock that they share
	SCHED_RANDOM_ORDER, // rounds; each node sends a round in a random order of its own
};

// The fill level of the queue of waiting events at which the sources are to stop.
enum sched_throttle {
	SCHED_THROTTLE_NEVER,
	SCHED_THROTTLE_25, // percent of `queue`; so are the next
	SCHED_THROTTLE_50,
	SCHED_THROTTLE_75,
	SCHED_THROTTLE_87_5,
};

// Builders with the same port share its link: one token bucket, one window, and one position in a
// round. Builders that get nothing leave the whole link to the others.
struct sched_builder_parameters {
	uint32_t slots;  // largest number of slots that it may register, 1 to SCHED_MAX_SLOTS
	uint32_t group;  // congestion group, below SCHED_MAX_BUILDERS
	uint32_t weight; // 1 to SCHED_MAX_WEIGHT
	uint32_t port;   // below SCHED_MAX_BUILDERS
	// Equal for all builders of a port:
	uint64_t link_rate; // bytes/s; 0: no limit
	uint64_t window;    // bytes in flight; 0: no limit. One event is always allowed.
};

struct sched_parameters {
	enum sched_mode mode;
	enum sched_policy policy;
	enum sched_shaping shaping;
	bool strict;  // round-robin: waits at most relax_after_ns for the builder whose turn it is
	bool barrier; // rounds: a round begins when all events of the previous round are done
	// Rounds, in the mode push: the nodes begin a phase when all of them have finished the one
	// so many before it (phases.h); 0: at once. At most SCHED_MAX_PHASE_BARRIER.
	uint32_t phase_barrier;
	const struct sched_builder_parameters *builders;
	uint32_t n_builders; // 1 to SCHED_MAX_BUILDERS
	uint32_t n_sources;  // 1 to SCHED_MAX_SOURCES; all are included at first
	// The group rule: no group is used again within this number of grants. It is below the
	// number of groups; 0: no rule. SCHED_DISTANCE_AUTO: the smaller of groups - 1 and
	// n_sources. The static mode has no group rule.
	uint32_t distance;
	// The longest time that the group rule waits for a blocked group that would satisfy it.
	// After this time the rule yields, and does not wait again until such a group is granted.
	// A strict turn waits for its builder for the same time.
	uint64_t relax_after_ns;
	uint32_t credits; // events in flight to one builder; 0: as many as it has slots
	// Timed shift: nodes send over a link in this window of each phase, which is followed by
	// idle_window_ns, and in this share of the phases (above 0, at most 1).
	uint64_t send_window_ns;
	uint64_t idle_window_ns;
	double phase_share;
	double target_utilisation; // share of link_rate, above 0, at most 1
	// Depth of a port's token bucket: the bytes that the link transfers in this time, plus one
	// event.
	uint64_t burst_ns;
	uint32_t event_bytes; // expected size of an event until the builder has built one
	// Port state: a report of congestion cuts the rate at most once per cut_ns, and once per
	// pause. After a report without congestion, it rises by a step every recover_ns (pace.c).
	uint64_t cut_ns;
	uint64_t recover_ns; // at least 1
	uint32_t queue;      // number of waiting events at which the level is 100 %
	// The largest number of events from the oldest unfinished to the newest granted; a power of
	// two. It limits the data that sources have to store.
	uint32_t unfinished;
	enum sched_throttle throttle_level;
	uint64_t first_event;
	uint64_t seed; // for the random policy; nodes also use it for the random order
};

// Default values: push, round-robin, linear shift, automatic distance. The caller adds the sources
// and the builders with the limits of their links.
struct sched_parameters sched_defaults(void);

struct sched_grant {
	uint64_t event;
	uint64_t round;
	// The rate on the link of the builder's port, all sources together; 0: no limit.
	uint64_t rate_bytes_per_second;
	uint64_t bytes; // expected size of the event
	uint32_t builder;
	uint32_t slot;
	uint32_t generation;
	uint32_t attempt;     // 1 for the first attempt
	uint32_t position;    // in the round: that of the builder's port
	uint32_t n_positions; // number of phases of the round; 1 without rounds
	uint32_t relaxed;     // number of grants by which the group was used too early; 0: none
};

// The result of a message. A message with another result than SCHED_OK changes nothing; each result
// is counted.
enum sched_result {
	SCHED_OK,
	SCHED_DUPLICATE, // already known
	SCHED_STALE,     // from an older generation, attempt or session
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
	uint64_t requeued;   // unfinished events of ended sessions, which wait again
	uint64_t credits[SCHED_N_RESULTS];
	// Accepted credits = granted slots + purged credits + slots that are free now.
	uint64_t purged_credits;
	uint64_t dones[SCHED_N_RESULTS];
	uint64_t announcements[SCHED_N_RESULTS];
	uint64_t registrations;
	uint64_t relaxed;       // grants for which the group rule yielded
	uint64_t relaxed_steps; // sum of grant.relaxed
	uint64_t skips;         // round-robin: turns in which a builder or group was skipped
	uint64_t strict_timeouts;
	uint64_t rounds;          // rounds that began
	uint64_t empty_positions; // unused positions of rounds that ended before they were full
	uint64_t cuts;            // times that a rate was cut
	uint64_t pauses;          // reports that a port has become paused
	// Polls that ended while events waited, by cause:
	uint64_t stalls_no_credit; // no builder had a credit
	uint64_t stalls_blocked;   // the builders with credits were paused, or at a limit
	uint64_t stalls_group;     // the group rule or a strict turn waited
	uint64_t stalls_round;     // the next round had to wait for the barrier
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
	uint64_t window;          // bytes, as configured, of its port
	uint64_t rate;            // bytes/s of its port, after cuts; 0: no limit
	double rate_share;        // share of the rate after cuts; 1: not cut
	double paused_share;      // from the last report
	uint64_t mean_bytes;      // running mean size of the events that it has built
	uint64_t grants;
	uint64_t skips;        // round-robin: its turns without a grant
	uint64_t slot_ns;      // mean time from the grant of a slot to its credit; 0: none held
	uint64_t oldest_event; // oldest event in flight; SCHED_NEVER: none
	uint64_t oldest_since; // time at which this event was granted
};

// Checks the parameters. Returns 0, or -1 with one line in error[SCHED_ERROR_SIZE].
int sched_check(const struct sched_parameters *parameters, char *error);

// The bytes that sched_create() allocates. They depend on the builders, their slots, n_sources and
// unfinished.
uint64_t sched_memory(const struct sched_parameters *parameters);

// Checks the parameters as sched_check() does. Returns 0, or -1 with one line in
// error[SCHED_ERROR_SIZE].
int sched_create(struct sched **sched, const struct sched_parameters *parameters, char *error);
void sched_destroy(struct sched *sched);

// A builder registers with n_slots slots, which are unknown until they are credited. If the builder
// is registered already with the same session, the result is SCHED_DUPLICATE. With a new session,
// the credits and grants of the old session are discarded, and its unfinished events wait again,
// ahead of newer events. The caller discards messages of an older session. SCHED_UNKNOWN: n_slots
// is 0 or too large.
enum sched_result sched_register(struct sched *sched, uint32_t builder, uint64_t session,
				 uint32_t n_slots, uint64_t now);

// A builder reports that a slot is free. SCHED_DUPLICATE: this generation was credited before.
// SCHED_STALE: the generation is older than the credited one, or the slot's event is not done yet
// (the caller may send the credit again). The first credit of a session may have any generation;
// generations are compared modulo 2^32.
enum sched_result sched_credit(struct sched *sched, uint32_t builder, uint32_t slot,
			       uint32_t generation, uint64_t now);

// sched_exclude() ends the builder's session: its credits are discarded, its unfinished events wait
// again, and it gets no grants. An excluded builder may register and send credits again; they are
// used once it is included.
void sched_exclude(struct sched *sched, uint32_t builder, uint64_t now);
void sched_include(struct sched *sched, uint32_t builder, uint64_t now);

// A suspended builder gets no grants, and others take its turns. Its session goes on: credits and
// events in flight stay. It is no pause of its port, whose rate stays, too.
void sched_suspend(struct sched *sched, uint32_t builder, bool suspended, uint64_t now);

// A source reports that it has all events below up_to. An event waits for a grant once all included
// sources have announced it. SCHED_STALE: the source has announced a higher event before.
enum sched_result sched_announce(struct sched *sched, uint32_t source, uint64_t up_to,
				 uint64_t now);

// The announcement of an excluded source is not needed for an event to wait. When a source is
// included again, the events that already wait continue to wait.
void sched_exclude_source(struct sched *sched, uint32_t source, uint64_t now);
void sched_include_source(struct sched *sched, uint32_t source, uint64_t now);

// For a manager that takes over from another one: a registered builder reports an event that it
// holds or has built. The manager calls this while the scheduler is paused, before the first grant.
// In this case the parameter first_event is the highest event below which the sources know all
// events as released, and builders report all events from first_event on that they have built. If
// two builders claim an event, it belongs to the builder that has built it, otherwise to the later
// attempt; the other builder gets SCHED_STALE, and must drop the event and credit the slot again.
// An open event in a slot that is already known is stale, too. Adoption implies that the event, and
// all events before it, had been announced. Slot, generation and attempt of built events are
// ignored. SCHED_UNKNOWN: the builder is not registered, the slot does not exist, or the event lies
// beyond `unfinished`.
enum sched_result sched_adopt(struct sched *sched, uint64_t event, uint32_t builder, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what,
			      uint64_t now);

// Writes at most `max` grants and returns their number. Events are granted in ascending order;
// events that wait again come first.
unsigned sched_poll(struct sched *sched, uint64_t now, struct sched_grant *grants, unsigned max);

// A builder reports that it is done with an event. The slot is in the state used until its next
// credit. `bytes`: size of the event; it is ignored if the outcome is SCHED_FAILED.
enum sched_result sched_done(struct sched *sched, uint32_t builder, uint64_t event, uint32_t slot,
			     uint32_t generation, uint32_t attempt, enum sched_outcome outcome,
			     uint64_t bytes, uint64_t now);

// The state of a builder's port, as its switch or NIC reports it. A pause holds only this builder;
// the rate is that of the port. If several builders share the port, the caller reports its state
// for each of them.
void sched_port_state(struct sched *sched, uint32_t builder, const struct sched_port *port,
		      uint64_t now);

// The rate of the link of a builder's port has become known, or has changed; bytes/s, 0: no limit.
// It is that of all builders of the port.
void sched_set_link_rate(struct sched *sched, uint32_t builder, uint64_t bytes_per_second);

// Run control: no grants while paused. A new scheduler is not paused.
void sched_set_paused(struct sched *sched, bool paused);

// All events below the result are finished.
uint64_t sched_released(const struct sched *sched);
// All events below the result have been announced.
uint64_t sched_announced(const struct sched *sched);
// Whether an event is granted or adopted, and not done; if so, writes its builder and slot.
bool sched_in_flight(const struct sched *sched, uint64_t event, uint32_t *builder, uint32_t *slot);
// The number of events that are granted or adopted, and not done.
uint64_t sched_outstanding(const struct sched *sched);
// The number of events that are announced and not granted, or to be granted again.
uint64_t sched_waiting(const struct sched *sched);

// Bits 0 to 3 are set once 25, 50, 75 and 87.5 % of `queue` have been reached.
uint32_t sched_level(const struct sched *sched);
// Whether sources are to stop: throttle_level was reached, and since then the number of waiting
// events has not fallen below half of that level.
bool sched_throttled(const struct sched *sched);

const struct sched_counters *sched_counters(const struct sched *sched);
// Writes the state of a builder; `builder` is below n_builders.
void sched_view(const struct sched *sched, uint32_t builder, struct sched_builder_view *view);

// Finds the slow builder: the one that holds its slots for the longest time, if more than half of
// them are held, and for more than twice the mean time of the others. A builder that has few free
// slots because it is fast, and so gets many events, is not slow. Begin with a struct of zeros, add
// all builders; if one is found, its number is slow.builder.
struct sched_slow {
	uint32_t n; // registered builders
	uint32_t builder;
	uint64_t longest; // mean time for which it holds a slot, ns
	double sum;       // of these times of all builders
	bool is_short;    // of slots
};
void sched_slow_add(struct sched_slow *slow, uint32_t builder,
		    const struct sched_builder_view *view);
bool sched_slow_is_found(const struct sched_slow *slow);
