// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The logic of a readout: it announces the events that its block store has, at most source_buffer
// events ahead of those that are released, and sends them as the event manager grants them, in the
// order of the linear shift and not faster than granted. An event is released to the store when the
// manager has released it and no message of it waits for an acknowledgement.
//
// A store that outlives its process has what an earlier one announced. Its grants may arrive before
// the store has taken these events again; then they wait.
//
// Within a round, in phase n this node sends the event n positions behind that of its rank: no
// two nodes send to one builder in the same phase while the nodes are in step.
//
// With a timed shift the node sends to each builder in the windows of a clock that all nodes share
// (pacing/shift_windows.h), and what a window does not hold in the next one. Events for builders of
// this process need no window. RoCE messages that have begun are sent to their end.
//
// With a barrier a phase begins when the other nodes have finished an earlier one
// (pacing/phase_gate.h). Until then the grant that is next is held: it is no longer in the queue.
//
// In static mode event e goes to builder (e mod builders) without a grant. Node x begins x events
// later within each round, which has as many events as there are builders. An event is released
// when it is sent. After an earlier process the node begins with the oldest one that is not.
//
// The logic is pure: the caller passes in the time, in ticks, and the messages of the control
// protocol, and the logic passes segments to an output. The readout role (node/readout_role.h) is
// an output of DPDK packets; libevb-sender (sender/evb_sender.h) is one of UDP sockets.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/production.h"
#include "pacing/phase_gate.h"
#include "pacing/readout_pace.h"
#include "pacing/send_queue.h"
#include "pacing/shift_windows.h"
#include "packet/message.h"
#include "readout/window_queue.h"
#include "store/block_store.h"
#include "wire/ctrl.h"

enum readout_reach {
	READOUT_SOUGHT, // the address of the builder's node is not known yet
	READOUT_REMOTE,
	READOUT_LOCAL, // a builder of the same process: its segments cross no link
};

// An output that sends events as messages, which are sent again until they are acknowledged: RoCE.
struct readout_messages {
	bool (*is_connected)(void *context); // to all builders
	// Of each grant before it is queued, each release, and of a new run or its end.
	void (*granted)(void *context, const struct message *grant);
	void (*released)(void *context, uint64_t event);
	void (*forget)(void *context);
	// Whether a packet may still be made of this event, or of any. The first is also true while
	// there is no place for the event's grant, because that of an older one needs it.
	bool (*holds)(void *context, uint64_t event);
	bool (*holds_any)(void *context);
	// One step of the current event, at readout_logic.cursor; false if nothing can be done now.
	// The event is sent when the source of the cursor is that behind the last.
	bool (*step)(void *context, uint64_t now);
};

// Where the segments go. The functions get the context of the parameters.
struct readout_output {
	// Looks up the builder of the current event, to which all segments go until the next call.
	enum readout_reach (*find)(void *context, unsigned builder);
	// Whether there is room for one more segment.
	bool (*may_send)(void *context, uint64_t now);
	// Sends `size` bytes of a block from at->offset on; false if there is no buffer.
	bool (*send)(void *context, const struct packet_segment *at,
		     const struct store_block *block, uint32_t size, uint64_t now);
	// Whether nothing of the current event waits that needs to know its builder.
	bool (*finish)(void *context);
	// Passes a message on to the control protocol; false if it must wait.
	bool (*to_control)(void *context, const struct message *message);
	const struct readout_messages *messages; // NULL: it sends segments to all builders
};

struct readout_logic_parameters {
	struct block_store *store;
	unsigned n_builders; // of the system
	unsigned n_nodes;    // of the system
	uint32_t rank;       // of this node among the nodes that have generators
	uint32_t n_senders;  // number of these nodes
	bool is_static;      // nobody grants
	uint32_t source_buffer;
	bool is_random;                       // the order of sending in a round
	uint64_t seed;                        // of that order
	struct phase_gate_parameters barrier; // ticks_per_second is filled in
	// send_ns 0: no timed shift. rank and ticks_per_second are filled in.
	struct shift_windows_parameters windows;
	struct readout_pace_parameters pace; // n_builders and ticks_per_second are filled in
	uint64_t events;                     // to send; 0: no end
	double rate;                         // events/s that are produced; 0: no limit
	struct production_spill spill;       // instead of the rate
	uint32_t segment_size;               // bytes of payload in a segment, at most
	uint32_t overhead; // bytes that a segment takes on the link beside its payload
	uint64_t ticks_per_second;
	const struct readout_output *output;
	void *context;
};

// Written by the thread of the logic, read by telemetry.
struct readout_counters {
	uint64_t events; // sent, each time that they were granted
	uint64_t blocks;
	uint64_t segments;
	uint64_t payload_bytes;
	uint64_t local_segments; // segments to builders of this process
	uint64_t no_buffer;      // polls that found no free mbuf
	uint64_t link_full;      // polls that found no room in the link of a local builder
	uint64_t held_pause;     // polls held back by a pause of the priority
	uint64_t held_pace;      // polls held back by the granted rate
	uint64_t unreachable;    // events not sent: the MAC address of the node is not known
	uint64_t gone;           // grants of events that are released or were never announced
	uint64_t full;           // times that the buffer became full, so that announcing stopped
	uint64_t throttled;      // polls in which the manager had stopped the announcing
	uint64_t held_window;    // polls in which the events that wait are for other windows
	uint64_t interrupted;    // times that the end of a window interrupted an event
	uint64_t held_phase;     // polls in which the barrier held the next phase
	uint64_t phase_timeouts; // phases that began although the barrier did not open
};

struct readout_logic {
	struct readout_logic_parameters parameters;
	struct send_queue queue;
	struct shift_windows windows;     // timed shift
	struct window_queue window_queue; // timed shift: instead of `queue`
	struct phase_gate gate;
	bool is_held;        // `grant` waits for the gate
	uint32_t phase;      // of `grant`, if it has one
	uint16_t *positions; // [n_builders]: of each builder's link
	uint16_t n_links;    // of the builders that were declared
	struct readout_pace pace;
	struct readout_counters *counters; // the caller's, who may align them

	// The run
	enum ctrl_run_state state;
	uint32_t run;
	uint64_t first;       // event with which this node began
	uint64_t run_end;     // first event behind the run once it drains; UINT64_MAX before
	uint64_t own_end;     // first event that the generator does not produce
	uint64_t released;    // events below are finished
	uint64_t freed;       // events below are released to the store
	bool begins;          // the store has not begun the run yet
	uint64_t announced;   // events below are announced
	uint64_t static_next; // static mode: first event that is not queued
	bool ended;           // the last event was announced as such
	bool unsent;          // static mode: with MESSAGE_UNSENT
	bool throttled;       // by the manager
	bool was_full;
	bool leaving;
	bool is_up;     // all builders can be reached, or that has been waited for
	uint64_t start; // ticks at the run's start
	struct production production;

	// The current event
	bool sending;
	struct message grant;
	struct packet_segment cursor; // next segment; its source is n_sources when all are sent
	struct store_block block;     // at the cursor, behind its first segment
	enum readout_reach reach;     // of its builder
	uint64_t sought_since;        // ticks
};

// Bytes that readout_logic_make() allocates.
uint64_t readout_logic_memory(unsigned n_builders, bool is_timed);

// False if memory ran out; call readout_logic_free() even then. `counters` outlive the logic.
bool readout_logic_make(struct readout_logic *logic,
			const struct readout_logic_parameters *parameters,
			struct readout_counters *counters, uint64_t now);
void readout_logic_free(struct readout_logic *logic);

// Declares that a builder shares the link of `first`, the first builder of that link, and whether
// it is a builder of this process. For all builders, in ascending order. Without this call each
// builder has a link of its own.
void readout_logic_set_builder(struct readout_logic *logic, unsigned builder, unsigned first,
			       bool is_local);

// Takes a message of the control protocol: MESSAGE_RUN, MESSAGE_SEND, MESSAGE_RELEASE,
// MESSAGE_CLOCK, MESSAGE_PHASE, MESSAGE_THROTTLE, MESSAGE_ASSIGN, MESSAGE_UNPUBLISHED. After the
// last one of a poll call readout_logic_adapt().
void readout_logic_message(struct readout_logic *logic, const struct message *message,
			   uint64_t now);
void readout_logic_adapt(struct readout_logic *logic, uint64_t now);

// Polls the store, begins a run in it, releases events to it that nothing sent refers to, announces
// the events that are new, and the end of the run. Once per poll.
void readout_logic_tend(struct readout_logic *logic, uint64_t now);

// One step of the events in the order of their grants, which sends at most one segment; false if
// nothing can be done now.
bool readout_logic_step(struct readout_logic *logic, uint64_t now);

// The run is over for this node: drops the grants that wait, and sends the current event to its
// end. To be called before each poll from then on.
void readout_logic_leave(struct readout_logic *logic);

static inline unsigned readout_logic_sources(const struct readout_logic *logic)
{
	return logic->parameters.store->n_sources;
}

// Whether all segments of the current event are sent.
static inline bool readout_logic_is_sent(const struct readout_logic *logic)
{
	return logic->cursor.source >= readout_logic_sources(logic);
}

static inline bool readout_logic_is_timed(const struct readout_logic *logic)
{
	return logic->parameters.windows.send_ns > 0;
}

// Grants that wait.
static inline uint32_t readout_logic_waiting(const struct readout_logic *logic)
{
	return readout_logic_is_timed(logic) ? logic->window_queue.n
					     : send_queue_length(&logic->queue) + logic->is_held;
}
