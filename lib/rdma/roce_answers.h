// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What an rx role hands to a role that sends by RoCE: answers, congestion notifications, connection
// messages. Pure but for mbufs.
#pragma once

#include <rte_mbuf.h>

#include "roce/queue_pair.h"
#include "wire/net.h"

struct roce_answer {
	struct roce_packet packet;
	struct net_frame frame;
	struct qp_address peer;
	const uint8_t *bytes;   // of the frame, from Ethernet on
	const uint8_t *payload; // packet.payload_size bytes
};

enum roce_answer_kind {
	ROCE_ANSWER_NONE, // no RoCE packet in one buffer
	ROCE_ANSWER_BAD_ICRC,
	ROCE_ANSWER_PACKET,     // to a queue pair
	ROCE_ANSWER_MANAGEMENT, // to QP 1; not one that asks for a connection
};

// *answer leads into the mbuf; filled but for ROCE_ANSWER_NONE.
enum roce_answer_kind roce_answer_take(const struct rte_mbuf *mbuf, bool verify,
				       struct roce_answer *answer);
