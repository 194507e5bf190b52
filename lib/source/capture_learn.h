// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is in a capture of EJFAT segments, learnt by reading it: ports, sources, packing and sizes,
// so that its events can be built without a configuration.
//
// A packet is a plausible segment if it decodes as one. Where at least half of the segments at
// offset 0 hold an MFP header of the same source id and length (a confirmed head), payloads are
// MFPs: sources are those with a confirmed head, ports those with at least 1/100 of the busiest
// port's confirmed heads, and packing is the most frequent number of fragments. Otherwise payloads
// are opaque: sources are those with at least 1/8 of the busiest source's segments at offset 0,
// ports those where at least half of all packets are plausible segments, and 1/100 of the busiest
// port's at the least; packing is the most frequent step between event numbers. Thus single garbage
// packets that happen to look like segments add nothing.
//
// Threads: made and freed by one thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/generator.h"

struct capture_summary {
	uint64_t packets;
	uint64_t cut_packets;   // of which the capture holds the first bytes only (snap length)
	uint64_t segments;      // plausible ones of the ports and sources below
	uint64_t first_ns;      // since 1970, of the first packet
	uint64_t last_ns;       // of the last packet
	uint32_t largest_frame; // bytes, of the segments' frames, without FCS

	uint16_t *udp_ports; // n_udp_ports, ascending
	unsigned n_udp_ports;
	bool ether_type;      // there are segments behind EtherType NET_TYPE_EVB
	uint16_t *source_ids; // n_sources, ascending
	unsigned n_sources;

	bool has_mfps;           // payloads are MFPs; else opaque
	uint32_t packing;        // 1..65535
	uint32_t largest_buffer; // bytes, of one source's buffer
	uint64_t events;         // distinct event numbers
	uint64_t largest_open;   // most events between their first and last segment at a time
	uint64_t largest_event;  // bytes, sum of an event's buffers as far as they were captured
	// Bytes that a slot needs for any of the events: MEP header, buffers at multiples of 8, and
	// in the place of each that is missing an error MFP.
	uint64_t slot_size;

	// Why reading stopped before the file's end; "": it did not.
	char problem[SOURCE_ERROR_SIZE];
};

// Reads the capture (twice). Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE]: the file
// cannot be opened, or there are no segments in it.
int capture_learn(struct capture_summary **summary, const char *path, char *error);

void capture_summary_free(struct capture_summary *summary);
