// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state of priority-based flow control on one port. Pure: frames are structs, and the caller
// passes the time in ticks.
//
// Sending: XOFF is due when the occupancy rises above high_water. It is due again
// after each half of the pause time, until the occupancy falls below low_water; then XON is due.
// Receiving: the state has a deadline until which the peer has paused this side.
//
// Threads: one lcore is the owner; it calls observe, due, sent, release and account. Any lcore may
// call received and paused. Any thread may read the counters and set the rate.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/pfc.h"

#define PAUSE_FULL         65536u         // occupancy of a full resource; 0: empty
#define PAUSE_RATE_ASSUMED 10000000000ull // bits/s of a link whose rate is not known
#define PAUSE_CACHE_LINE   64

struct pause_parameters {
	uint8_t priority;               // 0 to 7, under flow control in both directions
	uint32_t high_water, low_water; // occupancies, 0 < low_water < high_water < PAUSE_FULL
	uint16_t quanta;                // pause time, 2 to 65535
	uint64_t bits_per_second;       // of the link; 0: not known, PAUSE_RATE_ASSUMED is used
	uint64_t ticks_per_second;      // >= 1000
};

// How full the three resources of a receiver are, each 0 .. PAUSE_FULL.
struct pause_occupancy {
	uint32_t slots; // slots in use of the builders behind the port
	uint32_t links; // the fullest link
	uint32_t pool;  // receive buffers in use
};

// Counters of one priority. Times are those at the owner's last pause_state_account().
struct pause_counters {
	uint64_t xoff_sent; // frames, including repeated ones
	uint64_t xon_sent;
	uint64_t xoff_received;
	uint64_t xon_received;
	uint64_t paused_ns;  // time for which the peer paused evb
	uint64_t pausing_ns; // time for which evb paused the peer
	uint64_t lapsed;     // pauses that ended before evb renewed them: the owner polled late
};

// The owner's state. Only pausing_until is read by other threads.
struct pause_sender {
	uint32_t occupancy;             // the highest of the three, at the last observation
	bool holding;                   // XOFF was sent, and XON was not
	uint64_t renew_at;              // ticks: when XOFF is sent again, while holding
	_Atomic uint64_t pausing_until; // ticks: end of the peer's pause; 0: it is not paused
	uint64_t paused_until;          // ticks: end of evb's pause, at the last accounting
};

// The owner adds to these counters; any lcore adds to those of received frames. Any thread reads.
struct pause_tallies {
	_Atomic uint64_t xoff_sent, xon_sent, xoff_received, xon_received;
	_Atomic uint64_t paused_ticks, pausing_ticks, lapsed;
};

struct pause_state {
	// Ticks: end of the pause that the peer requested; 0: none, and always so of priorities
	// that are not under flow control. All senders read it before each burst.
	_Atomic uint64_t paused_until[PFC_PRIORITIES] __attribute__((aligned(PAUSE_CACHE_LINE)));

	struct pause_sender sender __attribute__((aligned(PAUSE_CACHE_LINE)));
	uint64_t accounted_at; // ticks
	struct pause_parameters parameters;

	_Atomic uint64_t quantum_ticks; // of 512 bit times at the link's rate, in 2^-32 ticks
	_Atomic uint64_t ignored;       // received frames of a kind or for priorities not in use
	struct pause_tallies tallies __attribute__((aligned(PAUSE_CACHE_LINE)));
};

// NULL, or the error in the parameters, as text that follows the port's name in a message.
const char *pause_parameters_problem(const struct pause_parameters *parameters);

// pause_parameters_problem() of the parameters is NULL.
void pause_state_init(struct pause_state *state, const struct pause_parameters *parameters);

// Sets the link's rate; 0: PAUSE_RATE_ASSUMED.
void pause_state_set_rate(struct pause_state *state, uint64_t bits_per_second);

// The scale for pause_share() of a resource of size `capacity` (>= 1). It divides, so it is not for
// the hot path.
uint64_t pause_share_scale(uint64_t capacity);

// The occupancy 0 .. PAUSE_FULL of a resource of which `used` (<= 2^32) is in use.
static inline uint32_t pause_share(uint64_t used, uint64_t scale)
{
	uint64_t share = (uint64_t)(((unsigned __int128)used * scale) >> 32);

	return share < PAUSE_FULL ? (uint32_t)share : PAUSE_FULL;
}

// The owner reports how full the resources behind a priority are; one that is not under flow
// control is ignored.
static inline void pause_state_observe(struct pause_state *state, unsigned priority,
				       const struct pause_occupancy *occupancy)
{
	uint32_t highest = occupancy->slots;

	if (occupancy->links > highest)
		highest = occupancy->links;
	if (occupancy->pool > highest)
		highest = occupancy->pool;
	if (priority == state->parameters.priority)
		state->sender.occupancy = highest;
}

// The owner asks whether a frame is due now. If so, fills *frame except for the sender's MAC
// address. The state does not change: the frame stays due until pause_state_sent().
bool pause_state_due(const struct pause_state *state, uint64_t now, struct pfc_frame *frame);

// The owner gets a frame with XON. False if the peer is not paused.
bool pause_state_release(const struct pause_state *state, struct pfc_frame *frame);

// The owner reports that it sent the frame of pause_state_due() or pause_state_release().
void pause_state_sent(struct pause_state *state, uint64_t now, const struct pfc_frame *frame);

// Processes a received frame. Any lcore.
void pause_state_received(struct pause_state *state, uint64_t now, const struct pfc_frame *frame);

// Whether the peer has paused this priority now. To be called before each burst. Any lcore.
static inline bool pause_state_paused(const struct pause_state *state, unsigned priority,
				      uint64_t now)
{
	return now < atomic_load_explicit(&state->paused_until[priority % PFC_PRIORITIES],
					  memory_order_relaxed);
}

// Whether XOFF was sent and XON was not. The peer may send nevertheless, if its pause ran out
// before evb renewed it. Any thread.
static inline bool pause_state_holding(const struct pause_state *state, unsigned priority)
{
	return priority == state->parameters.priority &&
	       atomic_load_explicit(&state->sender.pausing_until, memory_order_relaxed) != 0;
}

// The owner calls it in each of its polls, after pause_state_received(). It adds the time since the
// previous call to the counters.
void pause_state_account(struct pause_state *state, uint64_t now);

// Counters of a priority, each monotonic. Any thread.
void pause_state_counters(const struct pause_state *state, unsigned priority,
			  struct pause_counters *counters);
