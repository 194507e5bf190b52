// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Flow control between a port and its link partner, by one of three back-ends:
//
//   hw        the NIC sends and obeys pause frames (rte_eth_dev_priority_flow_ctrl_set(), which
//             in DPDK 22.11 the drivers axgbe, hns3, ixgbe and txgbe support)
//   external  the kernel or the switch sends and obeys them, as its administrator configured it;
//             evb reads the counters
//   soft      evb builds, sends, receives and obeys them
//
// Mode `auto` selects the first back-end that the port supports; `report` contains the choice and
// the reason.
//
// Threads: open, stop, close and watch: control thread. One of the lcores that poll the port is the
// owner: it calls observe, poll and release. Any lcore may call received and paused. Any thread may
// read the counters.
#pragma once

#include <rte_mempool.h>

#include "port/pause_device.h"
#include "port/pause_state.h"
#include "port/settings.h"

#define FLOW_CONTROL_TEXT_SIZE 512

struct flow_control_parameters {
	const char *port_name; // in messages
	uint16_t port_id;      // DPDK's, of a started port
	int32_t tx_queue;      // soft: of the owner's lcore; -1: no frames are sent
	uint8_t mac[6];        // of the port
	int numa_node;
	enum flow_control_mode mode;
	// If bits_per_second is 0, the port reports its link rate.
	struct pause_parameters pause;
};

// Counters of the port.
struct flow_control_counters {
	uint64_t malformed;   // MAC control frames that are no valid pause frame
	uint64_t ignored;     // valid pause frames of a kind or for priorities that are not in use
	uint64_t send_failed; // tx queue full or pool of frames empty; the next poll tries again
};

struct flow_control {
	struct pause_state state;
	struct flow_control_parameters parameters;
	enum flow_control_mode mode;      // never AUTO once open
	_Atomic uint64_t bits_per_second; // of the link; 0: not known, PAUSE_RATE_ASSUMED is used
	char report[FLOW_CONTROL_TEXT_SIZE]; // one line: the back-end that was chosen, and why
	struct rte_mempool *pool;            // soft: mbufs of pause frames
	struct pause_device device;          // hw, external: counters of the device
	_Atomic uint64_t malformed, send_failed;
};

// "auto", "off", "hw", "external", "soft".
const char *flow_control_mode_name(enum flow_control_mode mode);

// Selects the back-end and sets it up. Returns 0, or -1 with one line in
// error[FLOW_CONTROL_TEXT_SIZE] if the parameters contradict each other, or the port does not
// support the configured back-end. `fc` is aligned to PAUSE_CACHE_LINE.
int flow_control_open(struct flow_control *fc, const struct flow_control_parameters *parameters,
		      char *error);

// Resets the NIC's settings of hw. The port is still open, and the owner has stopped.
void flow_control_stop(struct flow_control *fc);

// Frees everything. To be called after port_close(), because the port may hold frames until then.
// Does nothing to a structure of all zeros.
void flow_control_close(struct flow_control *fc);

// Updates the link's rate, and the counters of hw and external. To be called a few times per
// second.
void flow_control_watch(struct flow_control *fc);

// Processes a received frame (pfc_is_mac_control()), which is contiguous; the caller stays its
// owner. A frame that is no valid pause frame changes only a counter. In other modes than soft all
// frames are ignored.
void flow_control_received(struct flow_control *fc, const uint8_t *frame, size_t size,
			   uint64_t now);

// Whether the peer has paused a priority, so that a sender must not send it now. Always false in
// other modes than soft. Any lcore.
static inline bool flow_control_paused(const struct flow_control *fc, unsigned priority,
				       uint64_t now)
{
	return pause_state_paused(&fc->state, priority, now);
}

// Whether evb has paused the peer and not resumed it. Always false in other modes than soft. Any
// thread.
static inline bool flow_control_holding(const struct flow_control *fc, unsigned priority)
{
	return pause_state_holding(&fc->state, priority);
}

// The owner reports how full the resources behind a priority are. The next poll reacts to it.
static inline void flow_control_observe(struct flow_control *fc, unsigned priority,
					const struct pause_occupancy *occupancy)
{
	pause_state_observe(&fc->state, priority, occupancy);
}

// The owner sends at most one frame, if one is due. Returns the number of frames sent. To be called
// in every poll of the port, after flow_control_received(), also if the poll receives nothing
// because links are full: at least once per quarter of the pause time. Does nothing in other modes
// than soft.
unsigned flow_control_poll(struct flow_control *fc, uint64_t now);

// The owner resumes a paused peer before it stops. False if the frame could not be sent.
bool flow_control_release(struct flow_control *fc, uint64_t now);

// Counters of a priority since open. soft: evb's own, at the time of the owner's last poll. hw and
// external: the device's, at the time of the last watch; counters that the device lacks are 0.
void flow_control_priority_counters(const struct flow_control *fc, unsigned priority,
				    struct pause_counters *counters);

void flow_control_counters(const struct flow_control *fc, struct flow_control_counters *counters);
