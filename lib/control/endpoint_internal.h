// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of an endpoint share: endpoint.c (creation, queueing),
// endpoint_session.c, endpoint_receive.c, endpoint_poll.c, endpoint_send.c, endpoint_seal.c and
// endpoint_shared.c (frames by multicast). Users of lib/control do not include this header.
//
// Records for a peer wait in its queue until they are acknowledged. A frame is formed when it is
// sent for the first time: it is a range of the queue, and stays the same when it is sent again.
// Sequence numbers are compared modulo 2^32: the frames [first, next) have been sent and are not
// all acknowledged; their records are the queue from its head to `unsent`. Of the frames from a
// peer, all before `expected` have been delivered; received_bits has bit i set if frame
// expected + 1 + i is stored until the missing frames before it have come.
#pragma once

#include "control/clock.h"
#include "control/endpoint.h"
#include "control/queue.h"
#include "control/seal.h"

#define NEVER            UINT64_MAX
#define FAST_RETRANSMIT  3u // a frame is lost once the third frame after it is acknowledged
#define MAX_BACKOFF      6u // doublings of the retransmission timeout, at most
#define NS_IN_US         1000u
#define NOT_A_PEER       UINT16_MAX
#define ACK_EVERY_FRAMES 2u
#define DUE_BLOCK        32u

struct sent_frame {
	uint64_t sent_at;
	uint64_t due;          // time at which it is sent again
	uint32_t position;     // position of its first record in the queue
	uint32_t records_size; // bytes
	uint16_t n_records;
	uint32_t next_shared; // number of the shared frame that would have the next sequence number
	uint8_t transmissions;
	bool acknowledged;
	bool shared; // sent by multicast first
};

// A response that is due to a session of the peer that is not, or not yet, the present one.
struct session_response {
	struct ctrl_header header; // peer_session 0: no response is due
	uint64_t received_at;      // time at which the frame arrived that it responds to
	uint64_t due;
};

// What authenticates the frames from and to a peer.
struct peer_seals {
	uint64_t number; // of the last frame sent; never used again
	bool named_none; // the last heartbeat named no session of the peer
	// The keys of the sessions `session` and `peer_session`, by the endpoint's keys of this
	// generation.
	uint64_t session, peer_session;
	uint32_t generation; // 0: none yet
	struct seal_key sending;
	struct seal_key receiving[CONTROL_MAX_KEYS];
	uint64_t newest; // number of a frame received in the present sessions
	uint64_t seen;   // bit i: frame newest - i has been received, or is too old
	// The keys of the shared frames of this session, by the keys of this generation.
	uint64_t shared_session;
	uint32_t shared_generation;
	struct seal_key shared[CONTROL_MAX_KEYS];
};

// What an endpoint knows of the shared frames to and from a peer. The sequence number of a shared
// frame is its number + an offset. The offset changes with each frame to the peer alone (+ 1) and
// with each shared frame that is not for the peer (- 1). The peer gets the offset by NEXT_SHARED
// in frames to it alone, and by a place in shared frames. A shared frame needs a place for the peer
// unless the peer has acknowledged the last frame that stated its offset, and this is still valid.
struct peer_sharing {
	// To the peer
	uint32_t round, begin; // records of this round begin at this position of the queue
	uint32_t size;         // bytes of them
	bool known;            // it has acknowledged a frame that states its offset
	bool stated, acknowledges;
	uint32_t stated_by, stated_offset; // the last frame that stated its offset
	unsigned missed;                   // shared frames in a row that it lacked
	uint64_t missed_since, rests_until;
	// From the peer, in the present sessions
	bool placed;
	uint64_t session;           // that shared frames of the peer's endpoint name
	uint32_t placed_by, offset; // stated last, by the frame of this sequence number
	uint32_t from;              // the offset is not that of shared frames before this one
	bool has_newest;
	uint32_t newest; // number of a shared frame
};

// The records that wait to be sent by multicast.
struct sharing {
	uint8_t *records; // NULL: there is no multicast
	uint32_t size;
	uint32_t number; // of the next shared frame
	uint32_t round;  // incremented each time that the records have been sent
	struct peer **peers;
	unsigned n_peers; // that these records were queued for
	uint8_t *places;
	uint8_t mask[CTRL_MAX_NODES / 8];
	uint16_t n_words;
	uint32_t key_generation; // 0: no key yet
	struct seal_key key;
};

struct peer {
	struct control_counters counters;
	uint16_t node;
	bool lost;
	bool process_ended;    // see control_state
	uint32_t life;         // incremented with each change of either session
	uint64_t session;      // the endpoint's session with this peer
	uint64_t peer_session; // the peer's session; 0: not known
	uint64_t received_at;
	uint64_t answered_at; // time of the last frame that echoed a recent stamp
	uint64_t next_heartbeat;
	bool greeted; // the first heartbeat has been sent

	// The newest stamp of the peer's session. The next frames to the peer echo it.
	bool has_stamp;
	uint32_t stamp;
	uint64_t stamp_received_at;

	uint64_t reached_at; // see control_reached()

	// A frame of an unknown session is accepted only if it echoes the stamp `challenge` or a
	// later one. This proves that the session is alive.
	bool challenging;
	uint32_t challenge;
	uint64_t challenged_at;

	struct session_response response;
	uint64_t responded_at;
	bool occupied; // CONTROL_OCCUPIED has been reported, and no session accepted since
	// The newest response to a frame of this process: when that frame was sent, and whether the
	// peer refused it.
	uint64_t asked_at;
	bool refused;

	// Sending.
	struct control_queue queue;
	uint32_t unsent;          // position of the first record that has not been sent
	uint64_t n_records;       // unacknowledged records, sent or not
	uint64_t acknowledged_at; // see control_acknowledged()
	uint64_t full_since;      // time since which the peer accepts nothing; NEVER: it accepts
	uint32_t full_first;      // value of `first` when full_since was last examined
	bool given_up;            // the next poll gives the peer up
	struct sent_frame *sent;
	uint32_t first, next;
	uint32_t unsequenced; // number of the next unsequenced frame
	uint16_t peer_window;

	// Receiving.
	uint8_t *receive_bytes;
	uint16_t *receive_sizes;
	uint32_t expected;
	uint64_t received_bits;
	uint64_t ack_due;
	unsigned n_unacknowledged;
	bool has_unsequenced;
	uint32_t last_unsequenced;

	struct control_clock clock; // of the peer session

	// Round trip, ns; rtt 0: not measured yet.
	uint64_t rtt, rtt_variation, rto;

	struct peer_seals seals;
	struct peer_sharing sharing;

	// The last will that is stored for the peer is of this life, and has a seal by the keys of
	// this generation; 0: none is stored.
	uint32_t will_life, will_generation;
};

struct control_endpoint {
	struct control_parameters parameters;
	struct control_totals totals;
	size_t records_capacity; // bytes of records in a frame
	size_t queue_capacity;   // of them, for those of a queue
	size_t stride;           // bytes from one stored frame to the next
	struct control_keys keys;
	uint32_t keys_generation; // incremented with each change of the keys
	uint64_t number;          // of the frame that is being processed, if it has a seal
	uint32_t ring_mask;       // of the stored frames; ring size is the window or more
	unsigned n_peers;
	unsigned cursor;        // index of the peer that the next poll serves first
	unsigned n_sessions;    // peers whose session is known
	uint64_t refused_until; // after that, no peer's refusal counts
	uint32_t epoch;
	bool proven;                      // see control_proven()
	uint16_t peer_of[CTRL_MAX_NODES]; // index in peers, or NOT_A_PEER
	uint64_t *due;                    // time at which each peer is to be served
	uint64_t *earliest_of;            // per DUE_BLOCK peers: not later than their `due`
	uint64_t earliest;                // not later than any entry of `due`
	uint64_t now;                     // the latest time that the caller passed in
	uint64_t polled_at;
	struct peer *peers;
	uint8_t *queues;          // memory of the queues and stored frames of all peers
	struct control_queue own; // records to the node itself
	uint64_t own_delivered_at;
	uint8_t *scratch; // the frame that is being sent
	struct sharing sharing;
	uint8_t heartbeat[CTRL_HEARTBEAT_MOST];
	size_t heartbeat_size; // 0: heartbeats have no record
};

static inline void control_count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline uint64_t control_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t control_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// Whether a is before b, modulo 2^32.
static inline bool control_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

// The stamp of a time, us modulo 2^32. It is never 0, because 0 means that there is no stamp.
static inline uint32_t control_stamp(uint64_t now)
{
	const uint32_t stamp = (uint32_t)(now / NS_IN_US);

	return stamp != 0 ? stamp : 1;
}

static inline bool control_connected(const struct peer *peer)
{
	return peer->peer_session != 0;
}

static inline struct sent_frame *control_sent(const struct control_endpoint *endpoint,
					      const struct peer *peer, uint32_t sequence)
{
	return &peer->sent[sequence & endpoint->ring_mask];
}

static inline uint8_t *control_receive_bytes(const struct control_endpoint *endpoint,
					     const struct peer *peer, uint32_t sequence)
{
	return peer->receive_bytes + (sequence & endpoint->ring_mask) * endpoint->stride;
}

static inline void control_set_due(struct control_endpoint *endpoint, const struct peer *peer,
				   uint64_t due)
{
	const unsigned index = endpoint->peer_of[peer->node];
	uint64_t *earliest_of = &endpoint->earliest_of[index / DUE_BLOCK];

	endpoint->due[index] = due;
	*earliest_of = control_min(*earliest_of, due);
	endpoint->earliest = control_min(endpoint->earliest, due);
}

static inline void control_report(const struct control_endpoint *endpoint, const struct peer *peer,
				  enum control_event event)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;

	handlers->event(handlers->context, peer->node, event);
}

static inline void control_acknowledge_at(struct peer *peer, uint64_t when)
{
	peer->ack_due = control_min(peer->ack_due, when);
}

// NULL if there is no such peer.
struct peer *control_peer(const struct control_endpoint *endpoint, unsigned node);

// Drops the peer's queue, counts its records as dropped, and begins a new sequence.
void control_drop_queue(struct peer *peer);

// Recomputes the time at which the peer is to be served, and whether the peer accepts records. It
// is called after each change of the peer.
void control_plan(struct control_endpoint *endpoint, struct peer *peer);

// --- endpoint_send.c --- (bool: false if the user cannot send now)

// Sends the records before a position of the queue as long as the window has room.
bool control_send_before(struct control_endpoint *endpoint, struct peer *peer, uint32_t position,
			 uint64_t now);
// Sends again what is not acknowledged in time.
bool control_retransmit(struct control_endpoint *endpoint, struct peer *peer, uint64_t now);
// A heartbeat requests a response if the peer is not connected or is lost.
bool control_send_heartbeat_now(struct control_endpoint *endpoint, struct peer *peer, uint64_t now);
void control_plan_heartbeat(const struct control_endpoint *endpoint, struct peer *peer,
			    uint64_t now);
bool control_send_acknowledgement(struct control_endpoint *endpoint, struct peer *peer,
				  uint64_t now);
bool control_send_response(struct control_endpoint *endpoint, struct peer *peer, uint64_t now);
// Stores the last will for a connected peer, unless the one that is stored is still right.
void control_store_will(struct control_endpoint *endpoint, struct peer *peer, uint64_t now);

// --- endpoint_poll.c ---

bool control_may_send_new(const struct control_endpoint *endpoint, const struct peer *peer);

// The time to wait for an acknowledgement after the given number of transmissions.
uint64_t control_timeout(const struct control_endpoint *endpoint, const struct peer *peer,
			 unsigned transmissions);

// --- endpoint_receive.c ---

void control_take_sequenced(struct control_endpoint *endpoint, struct peer *peer,
			    const struct ctrl_frame *frame, uint64_t now);
void control_take_acknowledgement(const struct control_endpoint *endpoint, struct peer *peer,
				  const struct ctrl_header *header, uint64_t now);

// --- endpoint_shared.c ---

bool control_sharing_make(struct control_endpoint *endpoint);
void control_sharing_free(struct control_endpoint *endpoint);

// Notes that a frame states the peer's offset.
void control_tell_place(struct peer *peer, uint32_t sequence, uint32_t next_shared);

// A shared frame is sent to the peer alone.
void control_note_missed(struct peer *peer, uint64_t now);

// Sends the waiting records by multicast to all peers that can get them so. The peers that cannot
// get them when they are served. Returns the number of frames.
unsigned control_send_shared(struct control_endpoint *endpoint, uint64_t now);

// --- endpoint_shared_receive.c ---

// The beginning of a current frame to this node alone: it may tell the node its offset.
void control_take_place(struct peer *peer, const struct ctrl_frame *frame);

// Processes a frame that arrived by multicast.
void control_take_shared(struct control_endpoint *endpoint, struct peer *peer,
			 const struct ctrl_frame *frame, uint64_t now);

// The session with which the endpoint would accept another session of the peer.
uint64_t control_offered_session(const struct peer *peer);

// Whether frames are authenticated.
static inline bool control_keyed(const struct control_endpoint *endpoint)
{
	return endpoint->keys.n > 0;
}

// Seals an encoded frame of `size` bytes with this header.
void control_seal(const struct control_endpoint *endpoint, struct peer *peer, uint8_t *bytes,
		  const struct ctrl_header *header, size_t size);

void control_seal_shared(struct control_endpoint *endpoint, uint8_t *bytes,
			 const struct ctrl_header *header, size_t size);

// As control_is_authentic(), for a shared frame. Its number does not count: it has an effect only
// with the sequence number that follows from it.
bool control_is_authentic_shared(const struct control_endpoint *endpoint, struct peer *peer,
				 const struct ctrl_frame *frame);

// Whether the frame may have an effect. With a key it must be sealed with it, name a session that
// the endpoint has or offers (or none, if it opens a session), and, in the present sessions, arrive
// for the first time. A refused frame is counted.
bool control_is_authentic(struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_frame *frame);

// The present sessions begin with the frame that is being processed: no earlier one counts.
void control_seals_begin(const struct control_endpoint *endpoint, struct peer *peer);

// The session that follows `session` in the same process.
uint64_t control_next_session(uint64_t session);

// Whether the process of the present session is alive. One that sends but does not receive is not,
// nor is one that misses 10 heartbeats while another process claims its number.
bool control_is_alive(const struct control_endpoint *endpoint, const struct peer *peer,
		      uint64_t now);

// Whether a frame names the present session of both sides.
bool control_is_current(const struct peer *peer, const struct ctrl_header *header);

// Whether the frame echoes a stamp of this endpoint that is younger than heartbeat_timeout.
bool control_echoes_recent(const struct control_endpoint *endpoint,
			   const struct ctrl_header *header, uint64_t now);

// Begins a challenge unless one is open: a session is accepted only if its frames echo a stamp
// that is sent from now on.
void control_challenge(const struct control_endpoint *endpoint, struct peer *peer, uint64_t now);

// A response to the frame becomes due: an acknowledgement, or, if its session is not the present
// one, a frame from which the peer learns this endpoint's session, its epoch and the stamp to echo.
void control_owe_response(const struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_header *header, uint64_t now);

// Processes a frame whose sender's or receiver's session is not the present one. If the frame
// passes the challenge, its session is accepted; otherwise a response becomes due.
void control_take_foreign(struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_header *header, uint64_t now);

// Whether this process opens no session with the peer now: another peer is in session with another
// process of this node number, and this one is in session with nobody. So a peer that has just
// started, and knows neither process, does not take this one for the node.
bool control_stands_aside(const struct control_endpoint *endpoint, const struct peer *peer,
			  uint64_t now);

// Processes a frame with CTRL_PROCESS_ENDED: the last will of the peer's process, or of an earlier
// one.
void control_take_will(struct control_endpoint *endpoint, struct peer *peer,
		       const struct ctrl_header *header);

// Processes a frame with CTRL_OCCUPIED: the peer refuses this process.
void control_take_occupied(struct control_endpoint *endpoint, struct peer *peer,
			   const struct ctrl_header *header, uint64_t now);

// Adopts the epoch of a frame that proves to come from the peer, if it is higher.
void control_take_epoch(struct control_endpoint *endpoint, struct peer *peer,
			const struct ctrl_header *header, uint64_t now);
