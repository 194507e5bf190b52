// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_handler.h"

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

static uint64_t to_ns(const struct roce_handler *handler, uint64_t cycles)
{
	return (uint64_t)((double)cycles * handler->ns_per_cycle);
}

// The time of a burst in ns; all its packets have the same.
static uint64_t burst_ns(struct roce_handler *handler, uint64_t cycles)
{
	if (unlikely(cycles != handler->burst_cycles)) {
		handler->burst_cycles = cycles;
		handler->burst_ns = to_ns(handler, cycles);
	}
	return handler->burst_ns;
}

// Passes responses on to the sending role. If the link is full, the packet is lost and the peer
// repeats it. RX_NOT_MINE: the packet is for the receiver.
static enum rx_verdict pass_response(struct roce_handler *handler, struct rx_packet *packet)
{
	const struct roce_handler_parameters *p = &handler->parameters;
	const uint8_t *bth = packet->bytes + packet->frame.payload_offset;
	bool for_sender = p->port == NULL, for_both = false;

	if (!for_sender && packet->header_bytes >= packet->frame.payload_offset + ROCE_BTH_SIZE) {
		uint32_t flags = roce_opcodes[bth[0]].flags;
		uint32_t qpn = load_be32(bth + 4) & ROCE_24_BITS;

		for_sender = p->in_cluster ? (qpn & QP_NUMBER_SIDE) != 0
					   : (flags & (ROCE_RESPONSE | ROCE_IS_CNP)) != 0;
		for_both = !for_sender && qpn == 1; // connection messages
	}
	if (for_both && packet->is_partial)
		return RX_MORE_BYTES; // it is copied once
	if (for_both) {
		struct rte_mbuf *copy =
		    rte_pktmbuf_copy(packet->mbuf, packet->mbuf->pool, 0, UINT32_MAX);

		if (copy != NULL && link_enqueue(p->responses, &copy, 1) == 0)
			rte_pktmbuf_free(copy);
	}
	if (!for_sender)
		return RX_NOT_MINE;
	if (link_enqueue(p->responses, &packet->mbuf, 1) == 0)
		rte_pktmbuf_free(packet->mbuf);
	return RX_PASSED_ON;
}

static enum rx_verdict receive(void *context, struct rx_packet *packet)
{
	struct roce_handler *handler = context;
	enum rx_verdict verdict = RX_NOT_MINE;

	if (handler->parameters.responses != NULL)
		verdict = pass_response(handler, packet);
	if (verdict != RX_NOT_MINE)
		return verdict;
	return roce_port_receive(handler->parameters.port, packet, burst_ns(handler, packet->now));
}

static unsigned poll(void *context, uint64_t now, bool more, struct rte_mbuf **mbufs, unsigned max)
{
	struct roce_handler *handler = context;

	return roce_port_poll(handler->parameters.port, to_ns(handler, now), more, mbufs, max);
}

static void sent(void *context, unsigned n_sent, unsigned n_not_sent)
{
	struct roce_handler *handler = context;

	roce_port_sent(handler->parameters.port, n_sent, n_not_sent);
}

static bool leave(void *context, uint64_t now)
{
	struct roce_handler *handler = context;

	return roce_port_leave(handler->parameters.port, to_ns(handler, now));
}

struct rx_handler roce_handler_make(struct roce_handler *handler,
				    const struct roce_handler_parameters *parameters)
{
	struct rx_handler made = {
		.context = handler,
		.kinds = RX_ACCEPTS(NET_UDP4) | RX_ACCEPTS(NET_UDP6),
		.udp_ports = { parameters->udp_port, parameters->takes_feroce
							 ? FEROCE_CM_UDP_PORT
							 : parameters->udp_port },
		.has_own_checksum = true,
		.takes_parts = true,
		.brings_segments = true,
		.counter = offsetof(struct rx_counters, roce),
		.receive = receive,
	};

	handler->parameters = *parameters;
	handler->ns_per_cycle = 1e9 / (double)rte_get_tsc_hz();
	if (parameters->port != NULL) {
		made.poll = poll;
		made.sent = sent;
		made.leave = leave;
	}
	return made;
}
