// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Flow control between a port and what it is plugged into, by one of three back-ends:
//
//   hw        the NIC sends and obeys frames itself (rte_eth_dev_priority_flow_ctrl_set(), or,
//             asked for, rte_eth_dev_flow_ctrl_set() for 802.3x PAUSE)
//   external  the kernel or the switch does, as somebody set it up; its counters are read
//   soft      evb builds, sends, receives and obeys the frames
//
// `auto` takes the first that the port can do; `report` says which was taken and why.
//
// Threads: open, stop, close and watch: control thread. Of the lcores that poll the port one is the
// owner: it says how full things are and polls. Any lcore may hand over received frames and ask
// whether a priority is paused. Any thread may read the counters.
#pragma once

#include <rte_mempool.h>

#include "port/pause_device.h"
#include "port/pause_state.h"
#include "port/settings.h"

#define FLOW_CONTROL_TEXT_SIZE 512

struct flow_control_parameters {
	const char *port_name; // in messages
	uint16_t port_id;      // DPDK's, of a started port
	int32_t tx_queue;      // of the owner's lcore, for soft; -1: none, so nothing is sent
	uint8_t mac[6];        // of the port
	int numa_node;
	enum flow_control_mode mode;
	// bits_per_second 0: the port is asked.
	struct pause_parameters pause;
	// hw: thresholds in the unit of the NIC's data sheet (most: KiB of its receive buffer); 0:
	// 128 and 64.
	uint32_t hw_high_water, hw_low_water;
};

// Counters of the port.
struct flow_control_counters {
	uint64_t malformed;   // MAC control frames that are no valid pause frame
	uint64_t ignored;     // valid ones, of the kind or for priorities not spoken here
	uint64_t send_failed; // tx queue full or pool of frames empty; the next poll tries again
};

struct flow_control {
	struct pause_state state;
	struct flow_control_parameters parameters;
	enum flow_control_mode mode;         // never AUTO once open
	_Atomic uint64_t bits_per_second;    // of the link, 0: unknown, PAUSE_RATE_ASSUMED is taken
	char report[FLOW_CONTROL_TEXT_SIZE]; // one line: the back-end that was chosen, and why
	struct rte_mempool *pool;            // soft: frames
	struct pause_device device;          // hw, external: counters
	_Atomic uint64_t malformed, send_failed;
};

// "auto", "off", "hw", "external", "soft".
const char *flow_control_mode_name(enum flow_control_mode mode);

// Chooses the back-end and sets it up. Returns 0, or -1 with one line in
// error[FLOW_CONTROL_TEXT_SIZE]: parameters that contradict each other, or a back-end that was
// named and cannot be had. `fc` is aligned to PAUSE_CACHE_LINE.
int flow_control_open(struct flow_control *fc, const struct flow_control_parameters *parameters,
		      char *error);

// Undoes what hw set. The port is still open, the owner has stopped.
void flow_control_stop(struct flow_control *fc);

// Frees. After port_close(): the port may hold frames until then. Does nothing if not open (all
// zeros).
void flow_control_close(struct flow_control *fc);

// Now and then: the link's rate, and the counters of hw and external.
void flow_control_watch(struct flow_control *fc);

// Whether the first bytes are those of a frame for flow_control_received().
static inline bool flow_control_is_for(const uint8_t *frame, size_t length)
{
	return pfc_is_mac_control(frame, length);
}

// Takes note of a received frame, contiguous, of which the caller stays the owner. Frames that are
// not flow control's change nothing but a counter. In other modes than soft, all are ignored.
void flow_control_received(struct flow_control *fc, const uint8_t *frame, size_t size,
			   uint64_t now);

// Whether a tx has to hold a priority back now: soft alone ever says yes.
static inline bool flow_control_paused(const struct flow_control *fc, unsigned priority,
				       uint64_t now)
{
	return pause_state_paused(&fc->state, priority, now);
}

// Whether we stopped the peer and have not let it go on: as above, soft alone ever says yes. Any
// thread.
static inline bool flow_control_holding(const struct flow_control *fc, unsigned priority)
{
	return pause_state_holding(&fc->state, priority);
}

// The owner says how full things are behind a priority; acted on by the next poll.
static inline void flow_control_observe(struct flow_control *fc, unsigned priority,
					const struct pause_occupancy *occupancy)
{
	pause_state_observe(&fc->state, priority, occupancy);
}

// The owner: sends what is due, at most one frame; returns the number of frames sent. To be called
// in every poll of the port, after received frames were handed over, and also when the poll takes
// no packets because what is behind is full: at least every quarter of the pause time. In other
// modes than soft it does nothing.
unsigned flow_control_poll(struct flow_control *fc, uint64_t now);

// The owner, before it stops: lets a held peer go on. False if the frame could not be sent.
bool flow_control_release(struct flow_control *fc, uint64_t now);

// Counters of a priority since open: soft's own, as of the owner's last poll; of hw and external
// the device's, as of the last watch; those that the device lacks are 0.
void flow_control_priority_counters(const struct flow_control *fc, unsigned priority,
				    struct pause_counters *counters);

void flow_control_counters(const struct flow_control *fc, struct flow_control_counters *counters);
