// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_answers.h"

#include "wire/icrc.h"
#include "wire/roce_cm.h"

#define MAD_ATTRIBUTE 16u // bytes, in a MAD: which message it is

// What asks for a connection is for the receiver of the port, if it has one, not for who sends.
static bool is_for_sender(const struct roce_answer *answer)
{
	return answer->packet.payload_size >= MAD_ATTRIBUTE + 2 &&
	       load_be16(answer->payload + MAD_ATTRIBUTE) != ROCE_CM_REQ;
}

enum roce_answer_kind roce_answer_take(const struct rte_mbuf *mbuf, bool verify,
				       struct roce_answer *answer)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct net_frame *frame = &answer->frame;

	answer->bytes = bytes;
	if (mbuf->nb_segs != 1 ||
	    net_parse(bytes, mbuf->data_len, mbuf->data_len, 0, frame) != WIRE_OK ||
	    frame->kind != NET_UDP4 ||
	    roce_parse(bytes + frame->payload_offset, frame->payload_size, frame->payload_size,
		       &answer->packet) != WIRE_OK)
		return ROCE_ANSWER_NONE;
	answer->payload = bytes + frame->payload_offset + answer->packet.payload_offset;
	answer->peer = qp_address_ipv4(load_be32(bytes + frame->l3_offset + 12));
	if (verify && !icrc_verify(bytes, frame))
		return ROCE_ANSWER_BAD_ICRC;
	if (answer->packet.destination_qpn != 1)
		return ROCE_ANSWER_PACKET;
	return is_for_sender(answer) ? ROCE_ANSWER_MANAGEMENT : ROCE_ANSWER_NONE;
}
