// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The path of a source's segments over UDP and IPv4: the addresses of the latest one that was
// judged, and accepted, by its destination (rx/destination.h) and by its sender
// (packet/admission.h). A segment with the same addresses needs no other judgement in the same tick
// of time, so that the usual segment costs three comparisons.
//
// Of one rx role, by its lcore. The table of admission, which several rx roles share, is asked for
// each source once per tick, and notes then that the source is alive. It admits no other origin of
// a source that sent in this tick, unless sources may move freely.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "packet/admission.h"
#include "wire/net.h"

struct rx_path {
	uint64_t ethernet; // first 8 bytes of the frame: destination, begin of the source address
	uint64_t ip;       // source and destination address
	uint64_t tick;     // admission_tick() of the judgement, or RX_PATH_NONE
};

#define RX_PATH_NONE UINT64_MAX // more than any tick

// All: `bytes` are the headers of a frame that net_parse() accepted as NET_UDP4.
static inline uint64_t rx_path_ip(const uint8_t *bytes, const struct net_frame *frame)
{
	return load_le64(bytes + frame->l3_offset + 12);
}

static inline bool rx_path_has(const struct rx_path *path, const uint8_t *bytes,
			       const struct net_frame *frame, uint32_t tick)
{
	return likely(path->ethernet == load_le64(bytes)) &&
	       likely(path->ip == rx_path_ip(bytes, frame)) && likely(path->tick == tick);
}

static inline void rx_path_set(struct rx_path *path, const uint8_t *bytes,
			       const struct net_frame *frame, uint32_t tick)
{
	path->ethernet = load_le64(bytes);
	path->ip = rx_path_ip(bytes, frame);
	path->tick = tick;
}
