// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads a capture of EJFAT segments to learn its ports, sources, packing and sizes, so that its
// events can be built without a configuration.
//
// A packet is a plausible segment if it decodes as one. A confirmed head is a segment at offset 0
// with an MFP header of the same source id and length. If at least half of the segments at offset 0
// are confirmed heads, payloads are MFPs:
// - sources are those with a confirmed head,
// - ports are those with at least 1/100 of the confirmed heads of the busiest port,
// - packing is the most frequent number of fragments.
// Otherwise payloads are opaque:
// - sources are those with at least 1/8 of the segments at offset 0 of the busiest source,
// - ports are those where at least half of all packets are plausible segments, and which have at
//   least 1/100 of the segments of the busiest port,
// - packing is the most frequent difference of neighbouring event numbers.
// So single packets that look like segments by chance have no effect.
// Packets of RoCE are no segments.
//
// Threads: made and freed by one thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "source/generator.h"

struct capture_summary {
	uint64_t packets;
	uint64_t cut_packets; // packets of which the capture has only the first bytes (snap length)
	uint64_t segments;    // plausible segments of the ports and sources below
	uint64_t cut_segments;  // those of them of which the capture has only the first bytes
	uint64_t first_ns;      // since 1970, of the first packet
	uint64_t last_ns;       // of the last packet
	uint32_t largest_frame; // bytes, without FCS

	uint16_t udp_ports[65536]; // ascending
	unsigned n_udp_ports;
	bool ether_type;            // some segments follow EtherType NET_TYPE_EVB
	uint16_t source_ids[65536]; // ascending
	unsigned n_sources;

	bool has_mfps;           // payloads are MFPs; else opaque
	uint32_t packing;        // 1..65535
	uint32_t largest_buffer; // bytes, of one source
	uint64_t events;         // distinct event numbers
	uint64_t largest_open;   // largest number of events between their first and last segment
	uint64_t largest_event;  // bytes, sum of the captured buffers of one event
	// Bytes that a slot needs for any of the events: the MEP header, buffers at multiples of 8,
	// and an error MFP in the place of each missing buffer.
	uint64_t slot_size;

	// The reason why reading stopped before the end of the file; "": it did not.
	char problem[SOURCE_ERROR_SIZE];
};

// Reads the capture (twice). Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE]: the file
// cannot be opened, it has no segments, or it has some in UDP datagrams and some behind the
// EtherType, which no configuration receives together.
int capture_learn(struct capture_summary **summary, const char *path, char *error);

void capture_summary_free(struct capture_summary *summary);
