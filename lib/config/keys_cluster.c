// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of the event manager.
#include "config/key_macros.h"

// The member of a key that may change between two runs.
#define OF_RUN(member) FIELD(config_event_manager, member), BETWEEN_RUNS

// clang-format off

static const struct config_key event_manager_keys[] = {
	{ .name = "mode", WORDS("static", "push", "pull"), OF_RUN(sched.mode),
	  .standard = "push",
	  .help = "static: a formula determines the builder of an event; push: the manager "
		  "grants, the sources send; pull: the manager grants, the builder requests "
		  "the data." },
	{ .name = "start", WORDS("auto", "manual"), FIELD(config_event_manager, start),
	  .standard = "auto",
	  .help = "Start of the run: when all nodes have registered, or by `evb ctl start`." },
	{ .name = "runs", WORDS("one", "many"), FIELD(config_event_manager, runs),
	  .standard = "one",
	  .help = "one: the processes end with their run; many: `evb ctl start` starts the next "
		  "one in them." },
	{ .name = "policy", WORDS("round-robin", "occupancy", "weighted", "random"),
	  OF_RUN(sched.policy), .standard = "round-robin",
	  .help = "Builder of the next event: round-robin; occupancy, the one with most free "
		  "slots; weighted, round-robin by weight; random, for comparison." },
	{ .name = "strict", .type = CONFIG_TYPE_BOOLEAN, OF_RUN(sched.strict),
	  .standard = "false",
	  .help = "Policy round-robin: whether to wait for a builder without a free slot, up "
		  "to relax_after, instead of skipping it." },
	{ .name = "distance", WHOLE(COUNT), RANGE(0, EVB_MAX_SYSTEM_BUILDERS - 1),
	  OR_AUTO(SCHED_DISTANCE_AUTO), OF_RUN(sched.distance), .standard = "auto",
	  .help = "Grants between two of one congestion group; auto: the smaller of groups - "
		  "1 and the sources that send at once." },
	{ .name = "relax_after", WHOLE(TIME), RANGE(0, 10 * SECOND),
	  OF_RUN(sched.relax_after_ns), .standard = "100us",
	  .help = "Wait after which the distance is reduced by one." },
	{ .name = "shaping", WORDS("none", "linear-shift", "timed-shift", "random"),
	  OF_RUN(sched.shaping), .standard = "linear-shift",
	  .help = "none: all send at once; linear-shift: in each phase every source sends to "
		  "another builder; timed-shift: the same by the clock; random: in a random order, for "
		  "comparison." },
	{ .name = "barrier", .type = CONFIG_TYPE_BOOLEAN, OF_RUN(sched.barrier),
	  .standard = "false",
	  .help = "Whether a round begins only when the last one is built." },
	{ .name = "phase_barrier", WHOLE(COUNT), RANGE(0, SCHED_MAX_PHASE_BARRIER),
	  OF_RUN(sched.phase_barrier), .standard = "0",
	  .help = "A node begins a phase when all nodes have finished the one so many before it; "
		  "0: at once." },
	{ .name = "parallel_sends", WHOLE(COUNT), RANGE(1, 65535),
	  OF_RUN(parallel_sends), .standard = "4",
	  .help = "Sources that send for one event at a time." },
	{ .name = "credits", WHOLE(COUNT), RANGE(0, 65536), OF_RUN(sched.credits),
	  .standard = "0",
	  .help = "Events in flight per builder; 0: the number of its slots." },
	{ .name = "send_window", WHOLE(TIME), RANGE(MICROSECOND, 10 * SECOND),
	  OF_RUN(sched.send_window_ns), .standard = "1ms",
	  .help = "Shaping timed-shift: sending time of a phase." },
	{ .name = "idle_window", WHOLE(TIME), RANGE(0, 10 * SECOND),
	  OF_RUN(sched.idle_window_ns), .standard = "100us",
	  .help = "Shaping timed-shift: idle time behind it." },
	{ .name = "seed", WHOLE(COUNT), RANGE(0, UINT64_MAX), OF_RUN(sched.seed),
	  .standard = "0",
	  .help = "Seed of policy random and of shaping random." },
	{ .name = "target_utilisation", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  OF_RUN(sched.target_utilisation), .standard = "0.9",
	  .help = "Share of a builder port's link rate that grants fill." },
	{ .name = "window", WHOLE(SIZE), RANGE(0, TIB), OF_RUN(window),
	  .standard = "0",
	  .help = "Bytes in flight per builder port; 0: not limited." },
	{ .name = "queue", WHOLE(COUNT), RANGE(64, 1048576), .power_of_two = true,
	  OF_RUN(sched.queue), .standard = "65536",
	  .help = "Events that may wait for a grant." },
	{ .name = "throttle_level", WORDS("none", "25%", "50%", "75%", "87.5%"),
	  OF_RUN(sched.throttle_level), .standard = "75%",
	  .help = "Fill level of that queue at which sources throttle; none: never." },
	{ .name = "heartbeat", WHOLE(TIME), RANGE(MILLISECOND, 60 * SECOND),
	  OF_RUN(heartbeat_ns), .standard = "20ms",
	  .help = "Interval of a node's heartbeats." },
	{ .name = "heartbeat_timeout", WHOLE(TIME), RANGE(2 * MILLISECOND, HOUR),
	  OF_RUN(heartbeat_timeout_ns), .standard = "200ms",
	  .help = "Silence after which a node counts as dead." },
	{ .name = "in_doubt_timeout", WHOLE(TIME), RANGE(MILLISECOND, HOUR), OR_AUTO(0),
	  OF_RUN(in_doubt_ns), .standard = "auto",
	  .help = "Longest wait for a silent node: for its data, and for the events of its "
		  "builders, which others then build, flagged as repeated if they may be "
		  "published; auto: 2 heartbeat_timeout." },
	{ .name = "on_source_silent", WORDS("continue", "pause"),
	  OF_RUN(on_source_silent), .standard = "continue",
	  .help = "Continue with incomplete events, or pause until it is back." },
	{ .name = "source_buffer", WHOLE(COUNT), RANGE(1, 1048576),
	  OF_RUN(source_buffer), .standard = "256",
	  .help = "MFPs that a source retains until their release." },
	{ .name = "control_port", WHOLE(COUNT), RANGE(1, 65535),
	  FIELD(config_event_manager, control_port), .standard = "19521",
	  .help = "UDP port of the control messages." },
	{ .name = "multicast", .type = CONFIG_TYPE_IPV4, OPTIONAL(config_event_manager, multicast),
	  .help = "Group, such as \"239.255.19.1\", to which the manager sends grants and "
		  "releases. Without it: to each source." },
	{ .name = "key_file", TEXT_OR_EMPTY, FIELD(config_event_manager, key_file),
	  .is_local = true,
	  .help = "File of the key that authenticates control messages; empty: none." },
	{ .name = "control_dscp", WHOLE(COUNT), RANGE(0, 63),
	  FIELD(config_event_manager, control_dscp), .standard = "48",
	  .help = "DSCP of the control messages." },
	{ .name = "control_priority", WHOLE(COUNT), RANGE(0, 7),
	  FIELD(config_event_manager, control_priority), .standard = "6",
	  .help = "802.1p priority of the control messages." },
	{ .name = "data_dscp", WHOLE(COUNT), RANGE(0, 63), FIELD(config_event_manager, data_dscp),
	  .standard = "26",
	  .help = "DSCP of the data." },
	{ .name = "data_priority", WHOLE(COUNT), RANGE(0, 7),
	  FIELD(config_event_manager, data_priority), .standard = "3",
	  .help = "802.1p priority of the data." },
};
OBJECT(config_event_manager_object, event_manager_keys);
