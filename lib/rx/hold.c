// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/hold.h"

#include <rte_ethdev.h>

#include "rx/classify.h"

bool rx_hold_make(struct rx_hold *hold, const struct rx_parameters *parameters,
		  const struct rx_handler *handlers)
{
	hold->parameters = parameters;
	hold->handlers = handlers;
	if (parameters->hold == 0)
		return true;
	hold->packets = link_create(parameters->name, parameters->name, parameters->hold, true,
				    parameters->numa_node);
	return hold->packets != NULL;
}

void rx_hold_destroy(struct rx_hold *hold)
{
	link_destroy(hold->packets);
}

// Whether a packet may be a segment, or a handler may make it one.
static bool may_be_segment(const struct rx_hold *hold, const struct rte_mbuf *mbuf)
{
	const struct rx_parameters *p = hold->parameters;
	uint32_t length = rte_pktmbuf_pkt_len(mbuf);
	uint32_t wanted = RTE_MIN(length, RX_HEADER_BYTES);
	uint8_t copy[RX_HEADER_BYTES];
	const uint8_t *bytes = rte_pktmbuf_read(mbuf, 0, wanted, copy);
	struct net_frame frame;

	if (net_parse(bytes, wanted, length, p->ether_type, &frame) != WIRE_OK)
		return false;
	if (rx_carries_segment(p, &frame))
		return true;
	for (unsigned i = 0; i < p->n_handlers; i++)
		if (hold->handlers[i].brings_segments && rx_accepts(&hold->handlers[i], &frame))
			return true;
	return false;
}

static void drop(struct rte_mbuf **mbufs, unsigned n, struct rx_counters *counters)
{
	counter_add(&counters->packets, n);
	counter_add(&counters->packet_drops[PACKET_LINKS_FULL], n);
	for (unsigned i = 0; i < n; i++)
		counter_add(&counters->bytes, rte_pktmbuf_pkt_len(mbufs[i]));
	rte_pktmbuf_free_bulk(mbufs, n);
}

static bool may_receive(struct rx_hold *hold, uint64_t now)
{
	if (hold->packets == NULL)
		return false;
	if (link_room(hold->packets, ROLE_BURST))
		return true;
	if (hold->full_since == 0)
		hold->full_since = now;
	return now - hold->full_since >= hold->parameters->hold_patience;
}

unsigned rx_hold_receive(struct rx_hold *hold, struct rte_mbuf **mbufs, uint64_t now,
			 struct rx_counters *counters)
{
	const struct rx_parameters *p = hold->parameters;
	struct rte_mbuf *segments[ROLE_BURST];
	unsigned n, done, n_segments = 0, n_others = 0;

	if (!may_receive(hold, now))
		return 0;
	n = rte_eth_rx_burst(p->port_id, p->queue, mbufs, ROLE_BURST);
	for (unsigned i = 0; i < n; i++) {
		if (may_be_segment(hold, mbufs[i]))
			segments[n_segments++] = mbufs[i];
		else
			mbufs[n_others++] = mbufs[i];
	}
	done = link_enqueue(hold->packets, segments, n_segments);
	counter_add(&counters->held, done);
	if (done < n_segments)
		drop(segments + done, n_segments - done, counters);
	return n_others;
}

unsigned rx_hold_take(struct rx_hold *hold, struct rte_mbuf **mbufs, struct rx_counters *counters)
{
	unsigned n = link_dequeue(hold->packets, mbufs, ROLE_BURST);

	counter_add(&counters->held, -(uint64_t)n);
	if (counters->held == 0)
		hold->full_since = 0;
	return n;
}

void rx_hold_drop(struct rx_hold *hold, struct rx_counters *counters)
{
	struct rte_mbuf *mbufs[ROLE_BURST];

	while (counters->held > 0)
		drop(mbufs, rx_hold_take(hold, mbufs, counters), counters);
}
