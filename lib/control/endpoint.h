// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An endpoint of the evb control protocol (wire/ctrl.h): it carries records to and from up to 1024
// peers over datagrams that may be lost, doubled and reordered. Pure logic: time and datagrams are
// given to it, what is to be sent it hands out; no socket, no clock, no allocation after creation.
//
// What holds for each peer:
// - A record that control_send() took is delivered to the peer exactly once, and in the order of
//   sending, as long as neither side begins a new session (a restart, or control_forget()).
// - With a new session of the peer all that was queued for the old one is dropped, and
//   CONTROL_RESTARTED tells so before anything of the new session is delivered.
// - Loss, duplicates and reordering cost time only; a peer that is silent for heartbeat_timeout is
//   reported as CONTROL_LOST. Nothing is dropped then: if it comes back (CONTROL_BACK) in the same
//   session, the sequence goes on where it was. Who does not want that calls control_forget().
// - A frame of a lower epoch than the endpoint's is fenced: counted, answered with the endpoint's
//   epoch, otherwise without effect. A higher one is taken over: CONTROL_EPOCH.
//
// Peers are named by their node number. Which address has which node, and whether a datagram came
// from the right one, is the caller's business.
//
// Times are nanoseconds of any steady clock; `now` never goes back. Datagrams that have arrived go
// to control_receive() before control_poll() is called: after a stall no peer seems silent then
// that was not. Threads: one; the counters may be read by others at any time. The handlers
// deliver() and event() may call every function but control_receive(), control_poll() and
// control_destroy(); emit() may call none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctrl.h"

struct control_endpoint;

enum control_event {
	CONTROL_CONNECTED = 1, // the peer's first session is known; what was queued goes out
	CONTROL_RESTARTED,     // a new session of the peer; what was queued has been dropped
	CONTROL_LOST,          // nothing heard for heartbeat_timeout
	CONTROL_BACK,          // heard again, in the same session
	CONTROL_EPOCH,         // the peer knows a higher epoch, now also control_epoch()
};

// "connected", "restarted", ...; "unknown" outside the range. Never NULL.
const char *control_event_name(enum control_event event);

struct control_handlers {
	void *context;

	// A record from a peer. HEARTBEAT comes outside of the sequence, may be missing, but is
	// never older than the one before. Its bytes live until the handler returns.
	void (*deliver)(void *context, unsigned peer, const struct ctrl_record *record);

	// Something happened to a peer.
	void (*event)(void *context, unsigned peer, enum control_event event);

	// Sends a frame to a peer. The bytes live until the handler returns. False if it cannot be
	// sent now: control_poll() then returns and tries again when it is called again.
	bool (*emit)(void *context, unsigned peer, const uint8_t *bytes, size_t size);
};

struct control_parameters {
	struct control_handlers handlers;
	const uint16_t *peers; // node numbers < CTRL_MAX_NODES, each once, not `node`
	unsigned n_peers;      // 1 to CTRL_MAX_NODES - 1
	uint16_t node;         // own
	uint16_t window;       // frames for each peer and direction, 1 to CTRL_MAX_WINDOW
	uint32_t epoch;        // 0: learned from the peers
	uint64_t session;      // random, not 0, another one in each life
	uint32_t frame_size;   // bytes, CTRL_MIN_MAX_SIZE to CTRL_MAX_SIZE, rounded down to 8 n + 4
	uint64_t heartbeat_interval;
	uint64_t heartbeat_timeout; // > heartbeat_interval
	uint64_t ack_delay;         // longest that an acknowledgement waits for company
	uint64_t rto_min;           // bounds of the retransmission timeout, > ack_delay
	uint64_t rto_max;
	uint64_t now;
};

// Window 16, frames of CTRL_DEFAULT_SIZE, heartbeats each 100 ms, timeout 1 s, ack_delay 200 us,
// retransmission after 2 to 200 ms; the rest zero.
struct control_parameters control_defaults(void);

// Of one peer, since creation. One writer: the endpoint's thread.
// frames_received = sequenced + unsequenced + duplicates + out_of_window + foreign + fenced.
struct control_counters {
	uint64_t frames_sent; // retransmitted ones included
	uint64_t frames_received;
	uint64_t sequenced;     // taken into the sequence
	uint64_t unsequenced;   // heartbeats, acknowledgements, answers
	uint64_t duplicates;    // of sequenced frames
	uint64_t out_of_window; // sequenced, beyond what there is room for
	uint64_t foreign;       // of a session, or meant for one, that is not the current one
	uint64_t fenced;        // of a lower epoch
	uint64_t bad_checksum;  // frames that name the peer as sender, and are not counted else
	uint64_t retransmitted;
	uint64_t records_sent;      // taken by control_send()
	uint64_t records_delivered; // in sequence
	uint64_t records_dropped;   // were queued when the session ended
	uint64_t refused;           // by control_send() for want of room
	uint64_t lost;              // times that the peer was reported as such
	uint64_t restarts;          // of the peer
};

// Of the endpoint, for datagrams that belong to no peer.
struct control_totals {
	uint64_t malformed[WIRE_N_ERRORS]; // by reason
	uint64_t unknown_node;             // of no peer
	uint64_t misdirected;              // for another node
};

// What is known of a peer now.
struct control_state {
	bool connected; // its session is known
	bool lost;
	unsigned queued;   // frames with records that are not acknowledged yet, sent or not
	unsigned attempts; // how often the oldest of them has been sent; rises if none gets through
	uint64_t rtt;      // smoothed; 0: not measured yet
	uint64_t rto;      // retransmission timeout
	uint64_t heard_ago; // since the last frame of its session
};

// Bytes that an endpoint allocates, for the plan.
uint64_t control_memory(const struct control_parameters *parameters);

// NULL if memory ran out or a parameter is outside its range; *reason (may be NULL) is then one
// line that says which.
struct control_endpoint *control_create(const struct control_parameters *parameters,
					const char **reason);
void control_destroy(struct control_endpoint *endpoint);

// Queues a whole record (of ctrl_put_...()) for a peer; it goes out with the next control_poll().
// False if the peer's window is full (come again later), there is no such peer, or the record is
// none or longer than a frame. May be called before the peer is connected.
bool control_send(struct control_endpoint *endpoint, unsigned peer, const void *record,
		  size_t size);

// Bytes of records that control_send() still takes for a peer, in records of at most frame_size -
// CTRL_OVERHEAD bytes of which `largest` is the largest; what it takes may be more, never less.
size_t control_room(const struct control_endpoint *endpoint, unsigned peer, size_t largest);

// Takes a datagram. Calls deliver() and event(). WIRE_OK, or why it is malformed; a wrong node,
// session, epoch or sequence number is no error, only counted.
enum wire_error control_receive(struct control_endpoint *endpoint, const void *datagram,
				size_t size, uint64_t now);

// Emits what is due: new records, retransmissions, acknowledgements, answers, heartbeats; reports
// peers that have fallen silent. Returns how many frames it emitted. When nothing is due it costs
// one comparison, else a look at one number a peer and the work.
unsigned control_poll(struct control_endpoint *endpoint, uint64_t now);

// No later than when control_poll() will next have something to do, unless something is sent or
// received before.
uint64_t control_due(const struct control_endpoint *endpoint);

// What the next heartbeats say. Without it they are frames without a record. False if `heartbeat`
// is out of its ranges.
bool control_set_heartbeat(struct control_endpoint *endpoint,
			   const struct ctrl_heartbeat *heartbeat);

// For one peer, begins a new session, as if this endpoint had restarted: what is queued is dropped,
// the peer's session is forgotten. The peer sees CONTROL_RESTARTED, this endpoint
// CONTROL_CONNECTED when it is heard of again.
void control_forget(struct control_endpoint *endpoint, unsigned peer);

// Raises the epoch; a lower one than the present is ignored. Returns the epoch.
uint32_t control_set_epoch(struct control_endpoint *endpoint, uint32_t epoch);
uint32_t control_epoch(const struct control_endpoint *endpoint);

// False if there is no such peer.
bool control_state(const struct control_endpoint *endpoint, unsigned peer, uint64_t now,
		   struct control_state *state);

// NULL if there is no such peer. Read with relaxed atomic loads by other threads.
const struct control_counters *control_counters(const struct control_endpoint *endpoint,
						unsigned peer);
const struct control_totals *control_totals(const struct control_endpoint *endpoint);
