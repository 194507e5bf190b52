// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Why something that arrived was not placed. Each packet and each segment counts exactly once:
//
//   packets received  = arp + icmp_echo + other + each packet cause + segments received
//   segments received = segments placed + each segment cause
//
// docs/packets.md shows these sums in a picture. The names are part of the telemetry interface and
// never change.
#pragma once

#include <stdint.h>

// Packets that never became a segment, counted by the rx role.
enum packet_cause {
	PACKET_MALFORMED_FRAME, // lengths of Ethernet, IP or UDP headers contradict the frame
	PACKET_IP_CHECKSUM,
	PACKET_UDP_CHECKSUM,
	PACKET_IP_FRAGMENT,  // fragmented datagrams are not reassembled: fix the path's MTU
	PACKET_UNKNOWN_PORT, // UDP to a port on which evb does not listen
	PACKET_NOT_FOR_US,   // to another Ethernet or IP address than the port's own
	PACKET_LINKS_FULL,   // full links to builders, and no room to wait for them (rx/hold.h)
	PACKET_N_CAUSES
};

// Segments that were not placed.
enum segment_cause {
	// counted by the rx role
	SEGMENT_MALFORMED,         // RE or LB header wrong, or the payload exceeds its block
	SEGMENT_UNKNOWN_SOURCE,    // a source id that the configuration does not have
	SEGMENT_UNEXPECTED_SOURCE, // a configured source that is not of this run or queue pair
	SEGMENT_NOT_ADMITTED,      // of a source that may not send from there, or to this port
	SEGMENT_MOVED_SOURCE,      // of a source that still sends from another address
	SEGMENT_LINK_FULL,         // dropped, as the link to a slow builder was full
	SEGMENT_OUTSIDE_RUN,       // before the start of a run, or after its stop; not a loss
	// counted by the builder
	SEGMENT_NO_SLOT,         // no free slot for a new event
	SEGMENT_LATE,            // its event was already built, discarded or flushed
	SEGMENT_EARLY,           // its event is far ahead of those of the other sources
	SEGMENT_DUPLICATE,       // all its bytes were already placed
	SEGMENT_OVERLAPPING,     // part of its bytes were already placed
	SEGMENT_OVERSIZED,       // its block does not fit in what is left of the slot
	SEGMENT_LENGTH_MISMATCH, // its block's length differs from that of earlier segments
	SEGMENT_REORDER_LIMIT,   // its block is received in too many separate pieces
	// counted by the store of a port only, which counts the causes above, too
	SEGMENT_STORE_FULL, // no room for a new block, or for its event
	SEGMENT_NO_EVENT,   // its event id is that of no event
	SEGMENT_N_CAUSES
};

// "malformed_frame", ..., "reorder_limit": lower case with underscores. Never NULL.
const char *packet_cause_name(unsigned cause);
const char *segment_cause_name(unsigned cause);
