// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keys of the event manager.
#include "config/key_macros.h"

// clang-format off

static const struct config_key event_manager_keys[] = {
	{ .name = "mode", WORDS("static", "push", "pull"), FIELD(config_event_manager, mode),
	  .standard = "push",
	  .help = "static: a formula names the builder of an event, without messages; push: the "
		  "manager grants and the sources send; pull: the manager grants and the builder "
		  "asks each source." },
	{ .name = "start", WORDS("auto", "manual"), FIELD(config_event_manager, start),
	  .standard = "auto",
	  .help = "auto: the run starts when all nodes are there; manual: when `evb ctl start` says "
		  "so." },
	{ .name = "policy", WORDS("round-robin", "occupancy", "weighted", "random"),
	  FIELD(config_event_manager, policy), .standard = "round-robin",
	  .help = "Who builds the next event: round-robin, the next builder; occupancy, the one with "
		  "most free slots; weighted, round-robin by weight; random, to see what that costs." },
	{ .name = "strict", .type = CONFIG_TYPE_BOOLEAN, FIELD(config_event_manager, strict),
	  .standard = "false",
	  .help = "Of policy round-robin: whether a builder without a free slot is waited for, for a "
		  "bounded time; else it is skipped." },
	{ .name = "distance", WHOLE(COUNT), RANGE(0, EVB_MAX_SYSTEM_BUILDERS - 1),
	  OR_AUTO(CONFIG_AUTO), FIELD(config_event_manager, distance), .standard = "auto",
	  .help = "Grants within which no congestion group comes again; auto: the lesser of groups - "
		  "1 and the sources that send at once." },
	{ .name = "relax_after", WHOLE(TIME), RANGE(0, 10 * SECOND),
	  FIELD(config_event_manager, relax_after_ns), .standard = "100us",
	  .help = "Waiting time after which the distance yields by one." },
	{ .name = "shaping", WORDS("none", "linear-shift", "timed-shift", "credit-window"),
	  FIELD(config_event_manager, shaping), .standard = "linear-shift",
	  .help = "none: all send at once; linear-shift: in each phase every source sends to another "
		  "builder; timed-shift: the same by the clock; credit-window: linear shift within "
		  "parallel_sends and credits." },
	{ .name = "barrier", .type = CONFIG_TYPE_BOOLEAN, FIELD(config_event_manager, barrier),
	  .standard = "false",
	  .help = "Of shaping linear-shift: whether a phase begins only when all have ended the "
		  "last." },
	{ .name = "parallel_sends", WHOLE(COUNT), RANGE(1, 65535),
	  FIELD(config_event_manager, parallel_sends), .standard = "4",
	  .help = "Sources that send for one event at a time." },
	{ .name = "credits", WHOLE(COUNT), RANGE(0, 65536), FIELD(config_event_manager, credits),
	  .standard = "0",
	  .help = "Events in flight of a builder; 0: as many as it has slots." },
	{ .name = "send_window", WHOLE(TIME), RANGE(MICROSECOND, 10 * SECOND),
	  FIELD(config_event_manager, send_window_ns), .standard = "1ms",
	  .help = "Of shaping timed-shift: time to send in a phase." },
	{ .name = "idle_window", WHOLE(TIME), RANGE(0, 10 * SECOND),
	  FIELD(config_event_manager, idle_window_ns), .standard = "100us",
	  .help = "Of shaping timed-shift: time without sending behind it." },
	{ .name = "target_utilisation", .type = CONFIG_TYPE_REAL, RANGE(0, 1),
	  FIELD(config_event_manager, target_utilisation), .standard = "0.9",
	  .help = "Share of the link rate of a builder's port that grants fill." },
	{ .name = "window", WHOLE(SIZE), RANGE(0, TIB), FIELD(config_event_manager, window),
	  .standard = "0",
	  .help = "Bytes in flight to a builder's port; 0: not limited." },
	{ .name = "queue", WHOLE(COUNT), RANGE(64, 1048576), .power_of_two = true,
	  FIELD(config_event_manager, queue), .standard = "65536",
	  .help = "Events that may wait for a grant, a power of two." },
	{ .name = "throttle_level", WORDS("none", "25%", "50%", "75%", "87.5%"),
	  FIELD(config_event_manager, throttle_level), .standard = "75%",
	  .help = "How full that queue is when the sources are told to throttle; none: never." },
	{ .name = "heartbeat", WHOLE(TIME), RANGE(MILLISECOND, 60 * SECOND),
	  FIELD(config_event_manager, heartbeat_ns), .standard = "20ms",
	  .help = "Time between two signs of life of a node." },
	{ .name = "heartbeat_timeout", WHOLE(TIME), RANGE(2 * MILLISECOND, HOUR),
	  FIELD(config_event_manager, heartbeat_timeout_ns), .standard = "200ms",
	  .help = "Silence after which a node is taken for dead." },
	{ .name = "on_source_silent", WORDS("continue", "pause"),
	  FIELD(config_event_manager, on_source_silent), .standard = "continue",
	  .help = "When a source is silent: continue without it, events incomplete; or pause until "
		  "it is back." },
	{ .name = "source_buffer", WHOLE(COUNT), RANGE(1, 1048576),
	  FIELD(config_event_manager, source_buffer), .standard = "256",
	  .help = "MFPs that a source holds until they are released." },
	{ .name = "control_port", WHOLE(COUNT), RANGE(1, 65535),
	  FIELD(config_event_manager, control_port), .standard = "19521",
	  .help = "UDP port of the control messages." },
	{ .name = "control_dscp", WHOLE(COUNT), RANGE(0, 63),
	  FIELD(config_event_manager, control_dscp), .standard = "48",
	  .help = "DSCP of the control messages." },
	{ .name = "control_priority", WHOLE(COUNT), RANGE(0, 7),
	  FIELD(config_event_manager, control_priority), .standard = "6",
	  .help = "802.1p priority of the control messages, which is never paused." },
	{ .name = "data_dscp", WHOLE(COUNT), RANGE(0, 63), FIELD(config_event_manager, data_dscp),
	  .standard = "26",
	  .help = "DSCP of the data." },
	{ .name = "data_priority", WHOLE(COUNT), RANGE(0, 7),
	  FIELD(config_event_manager, data_priority), .standard = "3",
	  .help = "802.1p priority of the data." },
};
OBJECT(config_event_manager_object, event_manager_keys);
