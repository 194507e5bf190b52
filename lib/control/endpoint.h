// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An endpoint of the evb control protocol (wire/ctrl.h): it carries records to and from up to 1023
// peers over datagrams that may be lost, duplicated and reordered. It is pure logic: the caller
// passes in the time and the datagrams that arrive, and sends the datagrams that the endpoint
// emits. There is no socket, no clock and no allocation after creation.
//
// For each peer these properties hold:
// - A record that control_send() accepted is delivered to the peer exactly once, and in the order
//   of sending, as long as neither side begins a new session (a restart, or control_forget()). It
//   waits in the peer's queue until it is acknowledged.
// - When the peer begins a new session, this side begins one too: the queue is dropped, and
//   CONTROL_RESTARTED is reported before any record of the new session is delivered.
// - While the peer's process is alive, another process with its node number is refused: it receives
//   CONTROL_OCCUPIED, and no record of it is delivered. A process is alive until it has been
//   silent, or has received nothing, for heartbeat_timeout or 10 heartbeat intervals, whichever is
//   less; so a peer that restarts sooner waits for that time. A process that is refused by a peer,
//   and is in session with nobody, opens no other session as long as the refusals arrive: a peer
//   that has just started knows neither process, and must not take this one for the node.
// - Loss, duplicates and reordering cost only time. A peer that is silent for heartbeat_timeout is
//   reported as CONTROL_LOST. Nothing is dropped then: if the peer comes back in the same session
//   (CONTROL_BACK), the sequence continues. A caller that does not want this calls
//   control_forget().
// - A peer is given up if it accepts nothing for `patience` although records wait for it, or if the
//   caller calls control_give_up(). Then control_forget() is applied to it, and CONTROL_LOST is
//   reported.
// - A frame of a lower epoch than the endpoint's is fenced: it is counted and the response carries
//   the endpoint's epoch; it has no other effect. The endpoint adopts a higher epoch from a frame
//   that names the endpoint's session: CONTROL_EPOCH. Two event managers that began at the same
//   time may have the same epoch. One that is refused by a node of the same epoch raises its own,
//   so that one of them fences the other.
// - With keys, a frame has an effect only if it is sealed with one of them, names a session that
//   this endpoint has or offers, and has not arrived before; the others are counted. A frame that
//   only opens a session names none: recorded and sent again, it causes a response and no more.
//   Without a key, frames that have one are refused, and the reverse.
// - Records for several peers can be sent to all of them in one frame (control_send_all()). For
// each
//   peer this frame has a place in the sequence of its session, as if it had been sent to the peer
//   alone: so it is acknowledged, delivered in order, and repeated to a peer that lacks it. A peer
//   that lacks all such frames for 200 ms gets none for 5 s.
// - The last will of a process is a frame to each peer that is stored outside the process, and sent
//   when the process has ended. A peer that receives it in the present sessions forgets the session
//   at once, and reports CONTROL_PROCESS_ENDED: it neither waits for heartbeat_timeout nor refuses
//   a new process. It is lost like any frame: then the process is silent.
// - An absence of the caller, no call of control_poll() for longer than heartbeat_interval, does
// not
//   count as silence of the peers.
//
// Records to the node itself wait in a queue of their own; control_poll() delivers them.
//
// Peers are named by their node number. The caller maps addresses to nodes, and checks that a
// datagram came from the right address.
//
// Times are nanoseconds of any steady clock; `now` never decreases. The caller passes all datagrams
// that have arrived to control_receive() before it calls control_poll(): otherwise, after a delay
// of the caller, a peer could be reported as silent although its frames have arrived.
//
// Threads: one thread calls all functions; other threads may read the counters at any time. The
// handlers deliver() and event() may call every function except control_receive(), control_poll()
// and control_destroy(); emit() may call none.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/clock.h"
#include "control/keys.h"
#include "wire/ctrl.h"

struct control_endpoint;

enum control_event {
	CONTROL_CONNECTED = 1, // the peer's first session is known; its queue is sent from now on
	CONTROL_RESTARTED,     // the peer began a new session; its queue has been dropped
	CONTROL_LOST,          // nothing received for heartbeat_timeout, or the peer was given up
	CONTROL_BACK,          // frames arrive from a lost peer again, in the same session
	CONTROL_EPOCH,         // the peer sent a higher epoch, which the endpoint has adopted
	CONTROL_OCCUPIED,      // the peer is in session with another process of this node number
	CONTROL_PROCESS_ENDED, // the peer's process has ended; control_forget() has been applied
};

#define CONTROL_WILL_MOST (CTRL_HEADER_SIZE + CTRL_SEAL_SIZE)

struct control_handlers {
	void *context;

	// Receives a record from a peer. HEARTBEAT is not part of the sequence: one may be missing,
	// but none is older than the one before. The bytes are valid until the handler returns.
	void (*deliver)(void *context, unsigned peer, const struct ctrl_record *record);

	// Receives an event of a peer.
	void (*event)(void *context, unsigned peer, enum control_event event);

	// Sends a frame to a peer. The bytes are valid until the handler returns. It returns false
	// if the frame cannot be sent now: control_poll() then returns, and its next call tries
	// again.
	bool (*emit)(void *context, unsigned peer, const uint8_t *bytes, size_t size);

	// Sends a frame to all peers at once, by multicast. Each peer may receive it or not. NULL:
	// control_send_all() sends a frame to each peer.
	bool (*emit_shared)(void *context, const uint8_t *bytes, size_t size);

	// Stores a frame to a peer, of CONTROL_WILL_MOST bytes at most, as the last will of this
	// process, in the place of the frame before. The bytes are valid until the handler returns.
	// It returns false if the frame cannot be stored now: it gets one with the next heartbeat.
	// NULL: there is no last will.
	bool (*store_will)(void *context, unsigned peer, const uint8_t *bytes, size_t size);
};

struct control_parameters {
	struct control_handlers handlers;
	const uint16_t *peers; // node numbers < CTRL_MAX_NODES, each once, not `node`
	unsigned n_peers;      // 0 to CTRL_MAX_NODES - 1
	uint16_t node;         // number of the endpoint's own node
	uint16_t window;       // frames for each peer and direction, 1 to CTRL_MAX_WINDOW
	uint32_t queue_size;   // bytes of unacknowledged records per peer; a power of two
	uint32_t epoch;        // 0: learned from the peers
	bool leads;            // an event manager's, which raises its epoch above that of another
	// Random, not 0, new for each endpoint; its upper half names the process. The next endpoint
	// of the same process has control_following_session().
	uint64_t session;
	// Bytes, CTRL_MIN_MAX_SIZE to CTRL_MAX_SIZE, rounded down to 8 n + 4, with a key to 8 n. At
	// most queue_size.
	uint32_t frame_size;
	const struct control_keys *keys; // copied; NULL or without a key: frames have CRCs
	uint64_t heartbeat_interval;
	uint64_t heartbeat_timeout; // > heartbeat_interval
	uint64_t ack_delay;         // longest time that an acknowledgement is delayed
	uint64_t rto_min;           // bounds of the retransmission timeout, > ack_delay
	uint64_t rto_max;
	uint64_t patience; // time after which a peer that accepts nothing is given up; 0: never
	uint64_t now;
};

// Window 16, queues of 64 KiB, frames of CTRL_DEFAULT_SIZE, heartbeats each 100 ms, timeout 1 s,
// ack_delay 200 us, retransmission after 2 to 200 ms; the rest zero.
struct control_parameters control_defaults(void);

// Counters of one peer since creation. The endpoint's thread writes them.
// frames_received = sequenced + unsequenced + duplicates + out_of_window + foreign + fenced.
struct control_counters {
	uint64_t frames_sent; // including retransmitted frames
	uint64_t frames_received;
	uint64_t sequenced;     // accepted into the sequence
	uint64_t unsequenced;   // heartbeats, acknowledgements, responses, last wills
	uint64_t duplicates;    // sequenced frames received before
	uint64_t out_of_window; // sequenced frames beyond the window
	uint64_t foreign;       // the session of the sender or of the receiver is not the current
	uint64_t fenced;        // the epoch is lower than the endpoint's
	// Frames that name the peer as sender; not in frames_received
	uint64_t bad_checksum;
	uint64_t other_version; // of the protocol, CTRL_VERSION
	uint64_t without_key;   // frames without a seal; this endpoint has a key
	uint64_t with_key;      // sealed frames; this endpoint has no key
	uint64_t old_session;   // sealed frames to a session that this endpoint neither has nor
			      // offers
	uint64_t replayed; // sealed frames of the present sessions, received before or too old
	uint64_t forged;   // the seal is wrong: another key, or a stranger
	uint64_t retransmitted;
	uint64_t records_sent;      // accepted by control_send()
	uint64_t records_delivered; // in sequence
	uint64_t records_dropped;   // were queued when the session ended
	uint64_t refused;           // by control_send() because the queue was full
	uint64_t lost;              // times that the silent peer was reported as CONTROL_LOST
	uint64_t given_up;          // times that the peer was given up, see control_give_up()
	uint64_t restarts;          // new sessions of the peer
	uint64_t second_process;    // frames of another process that were refused
	uint64_t process_ended;     // times that the peer's last will arrived
	uint64_t shared_sent;       // frames for the peer that were sent by multicast first
	uint64_t shared_repeated;   // of these, sent to the peer alone, because it lacked them
	uint64_t shared_received;   // of frames_received: by multicast
	// Frames that arrived by multicast and are not in frames_received: not for this node, of
	// another session or epoch, or too late.
	uint64_t shared_ignored;
};

// Counters of datagrams that belong to no peer.
struct control_totals {
	uint64_t malformed[WIRE_N_ERRORS]; // by reason
	uint64_t unknown_node;             // the sender is not a peer
	uint64_t misdirected;              // the destination is another node
	uint64_t shared_frames;            // sent by multicast
	uint64_t shared_bytes;             // in them, without the headers of the network
};

// The present state of a peer.
struct control_state {
	bool connected; // its session is known
	bool lost;
	bool process_ended; // by its last will, and no other process has begun a session
	// Its frames show that this node's frames arrive at it, and so within heartbeat_timeout (or
	// 10 heartbeats).
	bool alive;
	bool occupied;         // the peer refuses this process: CONTROL_OCCUPIED
	uint64_t queued;       // records that are not acknowledged yet, sent or not
	unsigned attempts;     // times that the oldest frame was sent; rises if no frame arrives
	uint64_t rtt;          // smoothed; 0: not measured yet
	uint64_t rto;          // retransmission timeout
	uint64_t received_ago; // time since the last frame of its session
};

// The clock of a node, which may be this one: its `now` in us, modulo 2^32. False if the node is no
// peer, or nothing is known of its clock yet.
bool control_clock(const struct control_endpoint *endpoint, unsigned node, uint64_t now,
		   struct control_clock_estimate *estimate);

// The bytes that control_create() allocates. They depend on n_peers, window, queue_size and
// frame_size.
uint64_t control_memory(const struct control_parameters *parameters);

// Returns NULL if memory ran out or a parameter is outside its range; *reason (`reason` may be
// NULL) is then one line that names the cause.
struct control_endpoint *control_create(const struct control_parameters *parameters,
					const char **reason);
void control_destroy(struct control_endpoint *endpoint);

// Queues a whole record (made by ctrl_put_...()) for a peer or the node itself; the next
// control_poll() sends it if the peer's window has room. Returns false if the queue is full, the
// peer is about to be given up, there is no such peer, or the record is malformed or longer than a
// frame. May be called before the peer is connected.
bool control_send(struct control_endpoint *endpoint, unsigned peer, const void *record,
		  size_t size);

// As control_send() to each of these nodes, which may include the node itself; a peer that does not
// accept the record is given up. If emit_shared() is set, the next control_poll() sends the records
// of these calls by multicast, except to peers that other records were queued for in between.
void control_send_all(struct control_endpoint *endpoint, const uint16_t *nodes, unsigned n,
		      const void *record, size_t size);

// A lower bound for the bytes of records that the next control_poll() sends to a peer without
// waiting for an acknowledgement. `largest` is the size of the largest record, 8 to the bytes that
// a frame has for records. 0: the window is full.
size_t control_room(const struct control_endpoint *endpoint, unsigned peer, size_t largest);

// The position behind the last record that was queued for a peer, and the position behind the last
// one that the peer has acknowledged. Positions count bytes modulo 2^32; when a session with the
// peer ends, they become equal. *when: the time at which the peer had received what it acknowledged
// last, plus the trip of the acknowledgement back, without the delay between the two. For the node
// itself: the time at which the record was delivered. 0 for both if there is no such peer.
uint32_t control_queued(const struct control_endpoint *endpoint, unsigned peer);
uint32_t control_acknowledged(const struct control_endpoint *endpoint, unsigned peer,
			      uint64_t *when);

// When this endpoint sent the newest frame that a peer is known to have received in a session with
// it: the peer does not report this node as lost before heartbeat_timeout has passed since then. 0:
// no frame is known to have arrived. UINT64_MAX for the node itself.
uint64_t control_reached(const struct control_endpoint *endpoint, unsigned peer);

// Processes a datagram that has arrived; calls deliver() and event(). Returns WIRE_OK, or the
// reason why the datagram is malformed; WIRE_BAD_CHECKSUM also if it is not authentic. A wrong
// node, session, epoch or sequence number is not an error; it is only counted.
enum wire_error control_receive(struct control_endpoint *endpoint, const void *datagram,
				size_t size, uint64_t now);

// Whether the last datagram that control_receive() processed proves its sender: it names the
// present sessions of both sides, and was sent after every other such frame. Only then the address
// that it came from is the peer's.
bool control_proven(const struct control_endpoint *endpoint);

// Delivers the records to the node itself, and emits the frames that are due: new records,
// retransmissions, acknowledgements, responses and heartbeats. Reports peers that have fallen
// silent. Returns the number of frames that it emitted. If nothing is due, it makes two
// comparisons; otherwise it reads one number per 32 peers, and one per peer of those that include a
// peer to be served.
unsigned control_poll(struct control_endpoint *endpoint, uint64_t now);

// Sets the content of the next heartbeats. Before the first call heartbeats are frames without a
// record. Returns false if a field of `heartbeat` is outside its range.
bool control_set_heartbeat(struct control_endpoint *endpoint,
			   const struct ctrl_heartbeat *heartbeat);

// Begins a new session with one peer, as if this endpoint had restarted: its queue is dropped and
// its session forgotten. The peer sees CONTROL_RESTARTED, this endpoint CONTROL_CONNECTED when the
// peer responds.
void control_forget(struct control_endpoint *endpoint, unsigned peer);

// The next control_poll() gives the peer up. A caller uses this when control_send() refused a
// record that must not be missing.
void control_give_up(struct control_endpoint *endpoint, unsigned peer);

// The session with which the next endpoint of the same process begins: it is later than all
// sessions of this one. So peers accept it at once, and ignore delayed frames of this one.
uint64_t control_following_session(const struct control_endpoint *endpoint);

// Replaces the keys from the next frame on. False if the endpoint has no key, or would have none.
bool control_set_keys(struct control_endpoint *endpoint, const struct control_keys *keys);

// False if there is no such peer.
bool control_state(const struct control_endpoint *endpoint, unsigned peer, uint64_t now,
		   struct control_state *state);

// The next control_poll() sends a heartbeat to a peer.
void control_hasten_heartbeat(struct control_endpoint *endpoint, unsigned peer);

// Sends a heartbeat to a peer in session, at once. Not to be called while a record that the node
// has sent to itself is delivered.
void control_send_heartbeat(struct control_endpoint *endpoint, unsigned peer, uint64_t now);

uint32_t control_epoch(const struct control_endpoint *endpoint);

// Sets a higher epoch: that in which this node has become the event manager.
void control_set_epoch(struct control_endpoint *endpoint, uint32_t epoch);

// Raises the epoch by 1 to 16, by how much depends on the process: an event manager that takes over
// has a higher epoch than all before, and rarely that of another one that takes over now.
void control_raise_epoch(struct control_endpoint *endpoint);

// NULL if there is no such peer. Read with relaxed atomic loads by other threads.
const struct control_counters *control_counters(const struct control_endpoint *endpoint,
						unsigned peer);
const struct control_totals *control_totals(const struct control_endpoint *endpoint);
