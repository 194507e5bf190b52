// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state of priority-based flow control on one port, pure: frames are structs, time is ticks
// that the caller gives.
//
// Sending: per priority, XOFF is due when the occupancy rises above high_water, again at half the
// pause time for as long as it lasts, and XON when the occupancy falls below low_water. Receiving:
// per priority, a deadline until which the peer wants nothing.
//
// Threads: one lcore owns the state: it observes, decides, sends and accounts. Any lcore may give a
// received frame and ask whether a priority is paused. Any thread may read the counters and set the
// rate.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/pfc.h"

#define PAUSE_FULL         65536u         // occupancy of what is full; 0: empty
#define PAUSE_RATE_ASSUMED 10000000000ull // bit/s of a link that does not tell
#define PAUSE_CACHE_LINE   64

struct pause_parameters {
	uint8_t priorities; // bit i: priority i is flow-controlled: is held, and stops when asked
	bool use_pause;     // speak 802.3x PAUSE, which stops all priorities, in the place of PFC
	uint32_t high_water, low_water; // occupancies, 0 < low_water < high_water < PAUSE_FULL
	uint16_t quanta;                // pause time, 2 to 65535
	uint64_t bits_per_second;       // of the link; 0: unknown, PAUSE_RATE_ASSUMED is taken
	uint64_t ticks_per_second;      // >= 1000
};

// How full the three things are that a receiver can run out of, each 0 .. PAUSE_FULL.
struct pause_occupancy {
	uint32_t slots; // of the builders behind the port
	uint32_t links; // the fullest
	uint32_t pool;  // receive buffers in use
};

// Counters of one priority. A frame that names several priorities is counted under each. Times are
// up to date as of the owner's last pause_state_account().
struct pause_counters {
	uint64_t xoff_sent; // frames, repeated ones included
	uint64_t xon_sent;
	uint64_t xoff_received;
	uint64_t xon_received;
	uint64_t paused_ns;  // that the peer stopped us
	uint64_t pausing_ns; // that we stopped the peer
	uint64_t lapsed;     // holds that ran out before they were renewed: the owner polled late
};

// What the owner keeps of one priority.
struct pause_sender {
	uint32_t occupancy;             // the highest of the three, as observed last
	bool holding;                   // XOFF was sent, XON was not
	uint64_t renew_at;              // ticks, while holding
	_Atomic uint64_t pausing_until; // ticks: of the peer as we asked, 0: not; any thread reads
	uint64_t paused_until;          // ticks: of us, as of the last accounting
};

// The owner or, of the received, any lcore: adds. Any thread: reads.
struct pause_tallies {
	_Atomic uint64_t xoff_sent, xon_sent, xoff_received, xon_received;
	_Atomic uint64_t paused_ticks, pausing_ticks, lapsed;
};

struct pause_state {
	// Deadlines, in ticks: of us as set by the peer, 0: none. Read before each burst by all
	// that send.
	_Atomic uint64_t paused_until[PFC_PRIORITIES] __attribute__((aligned(PAUSE_CACHE_LINE)));

	struct pause_sender senders[PFC_PRIORITIES] __attribute__((aligned(PAUSE_CACHE_LINE)));
	uint64_t accounted_at; // ticks
	struct pause_parameters parameters;

	_Atomic uint64_t quantum_ticks; // at the link's rate, 32 bits of fraction
	_Atomic uint64_t ignored;       // received: of the kind, or for priorities, not spoken here
	struct pause_tallies tallies[PFC_PRIORITIES] __attribute__((aligned(PAUSE_CACHE_LINE)));
};

// NULL, or what is wrong with the parameters, to follow the name of the port in a message.
const char *pause_parameters_problem(const struct pause_parameters *parameters);

// With parameters that have no problem.
void pause_state_init(struct pause_state *state, const struct pause_parameters *parameters);

// The link's rate changed, or became known; 0: PAUSE_RATE_ASSUMED.
void pause_state_set_rate(struct pause_state *state, uint64_t bits_per_second);

// Scale for pause_share() of something with room for `capacity` (>= 1). Divides: not on the hot
// path.
uint64_t pause_share_scale(uint64_t capacity);

// The occupancy 0 .. PAUSE_FULL of something of which `used` <= 2^32 are in use.
static inline uint32_t pause_share(uint64_t used, uint64_t scale)
{
	uint64_t share = (uint64_t)(((unsigned __int128)used * scale) >> 32);

	return share < PAUSE_FULL ? (uint32_t)share : PAUSE_FULL;
}

// The owner says how full things are behind a priority (0 .. 7).
static inline void pause_state_observe(struct pause_state *state, unsigned priority,
				       const struct pause_occupancy *occupancy)
{
	uint32_t highest = occupancy->slots;

	if (occupancy->links > highest)
		highest = occupancy->links;
	if (occupancy->pool > highest)
		highest = occupancy->pool;
	state->senders[priority % PFC_PRIORITIES].occupancy = highest;
}

// The owner: whether a frame is due now, and its content but for the sender's MAC. One frame says
// all that is due. Asking changes nothing: the frame is due until pause_state_sent() says that it
// left.
bool pause_state_due(const struct pause_state *state, uint64_t now, struct pfc_frame *frame);

// The owner: XON for all that is held; false if nothing is.
bool pause_state_release(const struct pause_state *state, struct pfc_frame *frame);

// The owner: this frame of pause_state_due() or pause_state_release() left.
void pause_state_sent(struct pause_state *state, uint64_t now, const struct pfc_frame *frame);

// A frame came in. Any lcore.
void pause_state_received(struct pause_state *state, uint64_t now, const struct pfc_frame *frame);

// Whether the peer wants nothing of this priority now. To be asked before each burst; any lcore.
static inline bool pause_state_paused(const struct pause_state *state, unsigned priority,
				      uint64_t now)
{
	return now < atomic_load_explicit(&state->paused_until[priority % PFC_PRIORITIES],
					  memory_order_relaxed);
}

// Whether XOFF was sent and XON was not, though the peer may go on where XOFF came late again. Any
// thread.
static inline bool pause_state_holding(const struct pause_state *state, unsigned priority)
{
	return atomic_load_explicit(&state->senders[priority % PFC_PRIORITIES].pausing_until,
				    memory_order_relaxed) != 0;
}

// The owner, in each of its polls, after received frames were given: counts the time that passed
// since the last call.
void pause_state_account(struct pause_state *state, uint64_t now);

// Counters of a priority, each monotonic. Any thread.
void pause_state_counters(const struct pause_state *state, unsigned priority,
			  struct pause_counters *counters);
