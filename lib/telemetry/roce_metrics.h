// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Metrics of RoCE that each queue pair has and, summed, each port. Internal to lib/telemetry.
#pragma once

#include "rdma/roce_port.h"
#include "telemetry/metric.h"

extern const struct metric_causes metric_naks;
extern const struct metric_causes metric_qp_drops;

// Lines of a table for a struct qp_counters; `whose` is the end of each line's help.
#define ROCE_QP_METRICS(structure, field, whose)                                                  \
	COUNTER("packets", structure, field.packets, "request packets accepted" whose),           \
	    COUNTER("bytes", structure, field.bytes, "payload of request packets" whose),         \
	    COUNTER("messages", structure, field.messages, "messages received" whose),            \
	    AGAIN(COUNTER, "duplicates", structure, field.drops[QP_DROP_DUPLICATE],               \
		  "repeated request packets" whose),                                              \
	    COUNTER("lost", structure, field.lost, "missing UC packets, by their numbers" whose), \
	    COUNTER("aborted", structure, field.aborted, "UC messages not finished" whose),       \
	    COUNTER("acks_sent", structure, field.acks_sent, "ACKs sent" whose),                  \
	    CAUSES("nak_sent", structure, field.naks_sent, metric_naks, "NAKs sent" whose),       \
	    COUNTER("rnr_sent", structure, field.rnr_sent,                                        \
		    "RNR NAKs sent because no slot was free" whose),                              \
	    COUNTER("cnps_sent", structure, field.cnp_sent,                                       \
		    "congestion notifications sent" whose),                                       \
	    COUNTER("icrc_errors", structure, field.icrc_errors,                                  \
		    "packets with a wrong ICRC" whose),                                           \
	    COUNTER("sent_packets", structure, field.sent_packets,                                \
		    "packets sent, with retransmissions" whose),                                  \
	    COUNTER("sent_bytes", structure, field.sent_bytes, "payload of packets sent" whose),  \
	    COUNTER("sent_messages", structure, field.sent_messages,                              \
		    "messages sent and acknowledged" whose),                                      \
	    COUNTER("failed_messages", structure, field.failed_messages,                          \
		    "messages that failed" whose),                                                \
	    COUNTER("retransmissions", structure, field.retransmissions,                          \
		    "packets sent again" whose),                                                  \
	    COUNTER("timeouts", structure, field.timeouts, "timeouts of waits for an ACK" whose), \
	    COUNTER("acks_received", structure, field.acks_received, "ACKs received" whose),      \
	    CAUSES("nak_received", structure, field.naks_received, metric_naks,                   \
		   "NAKs received" whose),                                                        \
	    COUNTER("rnr_received", structure, field.rnr_received, "RNR NAKs received" whose),    \
	    COUNTER("cnps_received", structure, field.cnp_received,                               \
		    "congestion notifications received" whose),                                   \
	    CAUSES("drop", structure, field.drops, metric_qp_drops,                               \
		   "packets dropped by cause" whose)
