// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Metrics that several tables have. Internal to lib/telemetry.
#pragma once

#include "rdma/roce_port.h"
#include "telemetry/metric.h"

extern const struct metric_causes metric_naks;
extern const struct metric_causes metric_qp_drops;

// A struct evring_group_state.
extern const struct metric metric_consumers[];

// Lines of the tables of a builder and of the sums of all; field(NAME) is the field of a counter.
#define EVENT_METRICS(structure, field)                                                            \
	COUNTER("events_opened", structure, field(opened),                                         \
		"events that got a slot, ends of run included"),                                   \
	    COUNTER("events_complete", structure, field(complete),                                 \
		    "events published with the blocks of all sources"),                            \
	    COUNTER("events_incomplete", structure, field(incomplete),                             \
		    "events published with flags because data is missing or malformed"),           \
	    COUNTER("events_discarded", structure, field(discarded),                               \
		    "incomplete events, not published"),                                           \
	    COUNTER("events_flushed", structure, field(flushed),                                   \
		    "incomplete and discarded events closed by the end of the run"),               \
	    COUNTER("events_overtaken", structure, field(overtaken),                               \
		    "incomplete and discarded events closed early because their slot was needed"), \
	    COUNTER("events_withdrawn", structure, field(withdrawn),                               \
		    "complete and incomplete events not published here because another builder "   \
		    "built them"),                                                                 \
	    COUNTER("events_repeated", structure, field(repeated),                                 \
		    "events published that may also have been published elsewhere")
#define BLOCK_METRICS(structure, field)                                                       \
	COUNTER("blocks_whole", structure, field(whole), "blocks (MFPs) that arrived whole"), \
	    COUNTER("blocks_malformed", structure, field(malformed),                          \
		    "whole blocks that are not a valid MFP"),                                 \
	    COUNTER("blocks_missing", structure, field(missing),                              \
		    "blocks incomplete when their event was closed")

// Lines of a table for a struct qp_counters.
#define ROCE_QP_METRICS(structure, field)                                                         \
	COUNTER("packets", structure, field.packets, "request packets accepted"),                 \
	    COUNTER("bytes", structure, field.bytes, "payload of the request packets accepted"),  \
	    COUNTER("messages", structure, field.messages, "messages received"),                  \
	    AGAIN(COUNTER, "duplicates", structure, field.drops[QP_DROP_DUPLICATE],               \
		  "repeated request packets"),                                                    \
	    COUNTER("lost", structure, field.lost, "missing UC packets, by their numbers"),       \
	    COUNTER("aborted", structure, field.aborted, "UC messages not finished"),             \
	    COUNTER("acks_sent", structure, field.acks_sent, "ACKs sent"),                        \
	    CAUSES("nak_sent", structure, field.naks_sent, metric_naks, "NAKs sent"),             \
	    COUNTER("rnr_sent", structure, field.rnr_sent,                                        \
		    "RNR NAKs sent because no slot was free"),                                    \
	    COUNTER("cnps_sent", structure, field.cnp_sent, "congestion notifications sent"),     \
	    COUNTER("icrc_errors", structure, field.icrc_errors, "packets with a wrong ICRC"),    \
	    COUNTER("sent_packets", structure, field.sent_packets,                                \
		    "packets sent, retransmissions included"),                                    \
	    COUNTER("sent_bytes", structure, field.sent_bytes,                                    \
		    "payload of the packets sent, retransmissions included"),                     \
	    COUNTER("sent_messages", structure, field.sent_messages,                              \
		    "messages sent and acknowledged"),                                            \
	    COUNTER("failed_messages", structure, field.failed_messages, "messages that failed"), \
	    COUNTER("retransmissions", structure, field.retransmissions, "packets sent again"),   \
	    COUNTER("timeouts", structure, field.timeouts, "timeouts of waits for an ACK"),       \
	    COUNTER("acks_received", structure, field.acks_received, "ACKs received"),            \
	    CAUSES("nak_received", structure, field.naks_received, metric_naks, "NAKs received"), \
	    COUNTER("rnr_received", structure, field.rnr_received, "RNR NAKs received"),          \
	    COUNTER("cnps_received", structure, field.cnp_received,                               \
		    "congestion notifications received"),                                         \
	    CAUSES("drop", structure, field.drops, metric_qp_drops, "packets dropped by cause")
