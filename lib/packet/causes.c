// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "packet/causes.h"

const char *packet_cause_name(unsigned cause)
{
	static const char *const names[PACKET_N_CAUSES] = {
		[PACKET_MALFORMED_FRAME] = "malformed_frame", [PACKET_IP_CHECKSUM] = "ip_checksum",
		[PACKET_UDP_CHECKSUM] = "udp_checksum",       [PACKET_IP_FRAGMENT] = "ip_fragment",
		[PACKET_UNKNOWN_PORT] = "unknown_port",       [PACKET_NOT_FOR_US] = "not_for_us",
		[PACKET_LINKS_FULL] = "links_full",
	};

	return cause < PACKET_N_CAUSES ? names[cause] : "unknown";
}

const char *segment_cause_name(unsigned cause)
{
	static const char *const names[SEGMENT_N_CAUSES] = {
		[SEGMENT_MALFORMED] = "malformed_segment",
		[SEGMENT_UNKNOWN_SOURCE] = "unknown_source",
		[SEGMENT_UNEXPECTED_SOURCE] = "unexpected_source",
		[SEGMENT_NOT_ADMITTED] = "not_admitted",
		[SEGMENT_MOVED_SOURCE] = "moved_source",
		[SEGMENT_LINK_FULL] = "link_full",
		[SEGMENT_OUTSIDE_RUN] = "outside_run",
		[SEGMENT_NO_SLOT] = "no_slot",
		[SEGMENT_LATE] = "late",
		[SEGMENT_EARLY] = "early",
		[SEGMENT_DUPLICATE] = "duplicate",
		[SEGMENT_OVERLAPPING] = "overlapping",
		[SEGMENT_OVERSIZED] = "oversized",
		[SEGMENT_LENGTH_MISMATCH] = "length_mismatch",
		[SEGMENT_REORDER_LIMIT] = "reorder_limit",
		[SEGMENT_STORE_FULL] = "store_full",
		[SEGMENT_NO_EVENT] = "no_event",
	};

	return cause < SEGMENT_N_CAUSES ? names[cause] : "unknown";
}
