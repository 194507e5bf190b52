// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/rx_internal.h"

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "packet/bundle.h"
#include "rx/classify.h"

#define LEAVE_US 500000u // longest time for peers to respond when handlers leave

#define OBSERVE_POLLS 16u // polls between two observations of links and slots

static struct rx *rx_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct rx, role));
}

// Drops the segments that a link did not accept. This never happens to a lossless link: poll()
// checks before that it has room for a whole burst.
static void drop_overflow(struct rx *rx, struct link *link, struct rte_mbuf **mbufs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct segment *segment = mbuf_segment(mbufs[i]);
		uint64_t blocks = 0;

		do {
			counter_add(&rx->sources[segment->source].counters.link_full, 1);
			blocks++;
		} while (bundle_next(mbufs[i], segment, rx->parameters.sources, &rx->packing));
		counter_add(&rx->counters.segment_drops[SEGMENT_LINK_FULL], blocks);
		counter_add(&link->counters.dropped, blocks);
		counter_add(&link->counters.enqueued, 1 - blocks); // as if none of them were
	}
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void flush_staged(struct rx *rx)
{
	for (unsigned i = 0; i < rx->n_touched; i++) {
		unsigned builder = rx->touched[i];
		unsigned n = rx->n_staged[builder];
		struct link *link = rx->parameters.links[builder];
		unsigned done = link_enqueue(link, rx->staged[builder], n);

		if (unlikely(done < n))
			drop_overflow(rx, link, rx->staged[builder] + done, n - done);
		rx->n_staged[builder] = 0;
	}
	rx->n_touched = 0;
}

static bool links_have_room(struct rx *rx)
{
	for (unsigned i = 0; i < rx->parameters.n_builders; i++) {
		struct link *link = rx->parameters.links[i];

		if (link->lossless && !link_room(link, ROLE_BURST))
			return false;
	}
	return true;
}

// Reports occupancies and sends pause frames. It is also called while links are full, when pause
// frames matter most.
static void serve_flow_control(struct rx *rx, uint64_t now)
{
	struct flow_control *flow_control = rx->parameters.flow_control;
	struct pause_occupancy occupancy;

	if (++rx->polls % OBSERVE_POLLS == 0) {
		rx_pressure_observe(&rx->pressure, &occupancy);
		flow_control_observe(flow_control, rx->parameters.data_priority, &occupancy);
	}
	(void)flow_control_poll(flow_control, now);
}

static unsigned send_from(struct rx *rx, const struct rx_handler *handler, uint64_t now, bool more)
{
	const struct rx_parameters *p = &rx->parameters;
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = handler->poll(handler->context, now, more, mbufs, ROLE_BURST);
	unsigned sent = 0;

	if (n == 0)
		return 0;
	if (p->reply_queue >= 0)
		sent = rte_eth_tx_burst(p->port_id, (uint16_t)p->reply_queue, mbufs, (uint16_t)n);
	handler->sent(handler->context, sent, n - sent);
	if (unlikely(sent < n))
		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
	return n;
}

// Sends the packets of the handlers' poll() functions. Returns their number. `more`: see
// rx/handler.h.
static unsigned poll_handlers(struct rx *rx, uint64_t now, bool more)
{
	unsigned n = 0;

	if (likely(!rx->handlers_send))
		return 0;
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx->handlers[i].poll != NULL)
			n += send_from(rx, &rx->handlers[i], now, more);
	return n;
}

// While links are full, only what cannot be a segment is served. What waited for room is served
// before what comes from the port.
static unsigned receive(struct rx *rx, struct rte_mbuf **mbufs, uint64_t now, bool full)
{
	if (unlikely(full))
		return rx_hold_receive(&rx->hold, mbufs, now, &rx->counters);
	if (unlikely(rx->counters.held > 0))
		return rx_hold_take(&rx->hold, mbufs, &rx->counters);
	return rte_eth_rx_burst(rx->parameters.port_id, rx->parameters.queue, mbufs, ROLE_BURST);
}

static void set_open(struct rx *rx, bool is_open)
{
	rx->is_open = is_open;
	atomic_store_explicit(&rx->parameters.gate->is_open, is_open, memory_order_release);
}

static bool carries_segment(const struct rx *rx, const struct rte_mbuf *mbuf)
{
	struct net_frame frame;

	return net_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
			 rte_pktmbuf_pkt_len(mbuf), rx->parameters.ether_type, &frame) == WIRE_OK &&
	       rx_carries_segment(&rx->parameters, &frame);
}

// The gate is closed, or was. An empty queue shows that nothing is left of the time before the
// order to open it.
static unsigned poll_closed(struct rx *rx, uint64_t now)
{
	const bool wanted =
	    atomic_load_explicit(&rx->parameters.gate->wanted, memory_order_acquire);
	struct rte_mbuf *mbufs[ROLE_BURST];
	const unsigned n = receive(rx, mbufs, now, false);

	if (rx->is_open)
		set_open(rx, false);
	if (rx->parameters.flow_control != NULL)
		serve_flow_control(rx, now);
	if (n > 0)
		rx->last_packet = now;
	rx->tick = admission_tick(now);
	counter_add(&rx->counters.packets, n);
	for (unsigned i = 0; i < n; i++) {
		if (carries_segment(rx, mbufs[i])) {
			counter_add(&rx->counters.bytes, rte_pktmbuf_pkt_len(mbufs[i]));
			rx_drop_segment(rx, mbufs[i], SEGMENT_OUTSIDE_RUN);
		} else {
			rx_serve(rx, mbufs[i]);
		}
	}
	if (n < ROLE_BURST && wanted)
		set_open(rx, true);
	flush_staged(rx);
	return n + poll_handlers(rx, now, false);
}

static bool is_closed(const struct rx *rx)
{
	return !rx->is_open ||
	       (rx->parameters.gate != NULL &&
		!atomic_load_explicit(&rx->parameters.gate->wanted, memory_order_relaxed));
}

static unsigned rx_poll(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	struct rte_mbuf *mbufs[ROLE_BURST];
	bool full = !links_have_room(rx);
	unsigned n;

	if (unlikely(is_closed(rx)))
		return poll_closed(rx, now);
	if (rx->parameters.flow_control != NULL)
		serve_flow_control(rx, now);
	if (unlikely(full)) {
		role->backpressured = true;
		rx->last_packet = now; // packets may wait, so the port is not quiet
	}
	n = receive(rx, mbufs, now, full);
	if (n == 0)
		return poll_handlers(rx, now, false);
	rx->last_packet = now;
	rx->tick = admission_tick(now);
	counter_add(&rx->counters.packets, n);
	for (unsigned i = 0; i < n; i++) {
		if (i + 2 < n)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + 2], void *));
		rx_serve(rx, mbufs[i]);
	}
	flush_staged(rx);
	(void)poll_handlers(rx, now, n == ROLE_BURST);
	return n;
}

// Whether all handlers have left, or their peers did not respond in time.
static bool has_left(struct rx *rx, uint64_t now)
{
	bool all = true;

	if (rx->leave_start == 0)
		rx->leave_start = now;
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx->handlers[i].leave != NULL)
			all &= rx->handlers[i].leave(rx->handlers[i].context, now);
	return all || now - rx->leave_start > rx->leave_cycles;
}

static bool holds_the_peer(const struct rx *rx)
{
	const struct rx_parameters *p = &rx->parameters;

	return p->flow_control != NULL && flow_control_holding(p->flow_control, p->data_priority);
}

// Resumes a peer that evb has paused, after the last packet was received; what the peer sends later
// is lost. Also returns true if the frame could not be sent in time.
static bool has_released(struct rx *rx, uint64_t now)
{
	const struct rx_parameters *p = &rx->parameters;

	return p->flow_control == NULL || flow_control_release(p->flow_control, now) ||
	       now - rx->drain_start > p->drain_cycles + rx->leave_cycles;
}

// Packets but those of the control protocol, which the nodes of a system never stop sending, and
// those of sources that send outside runs.
static uint64_t packets_of_events(const struct rx *rx)
{
	return rx->counters.packets - rx->counters.control - rx->counters.arp -
	       rx->counters.segment_drops[SEGMENT_OUTSIDE_RUN];
}

static bool rx_drain(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	uint64_t packets = rx->counters.packets, of_events = packets_of_events(rx);
	uint64_t last_packet = rx->last_packet;

	if (rx->drain_start == 0) {
		rx->drain_start = now;
		last_packet = rx->last_packet = now;
	}
	rx_poll(role, now);
	if (rx->counters.packets > packets && packets_of_events(rx) == of_events)
		rx->last_packet = last_packet;
	if (holds_the_peer(rx) || rx->counters.held > 0)
		rx->last_packet = now; // a paused peer may still have packets to send
	if (rx->leave_start == 0 && now - rx->last_packet <= rx->parameters.quiet_cycles &&
	    now - rx->drain_start <= rx->parameters.drain_cycles)
		return false;
	if (!has_left(rx, now) || !has_released(rx, now))
		return false;
	rx_hold_drop(&rx->hold, &rx->counters); // the longest time of a drain is over
	return true;
}

// Whether a packet is for a handler that does not fill slots.
static bool is_for_others(const struct rx *rx, const struct rte_mbuf *mbuf)
{
	struct net_frame frame;

	if (net_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
		      rte_pktmbuf_pkt_len(mbuf), rx->parameters.ether_type, &frame) != WIRE_OK ||
	    rx_carries_segment(&rx->parameters, &frame))
		return false;
	for (unsigned i = 0; i < rx->n_handlers; i++)
		if (rx_accepts(&rx->handlers[i], &frame))
			return !rx->handlers[i].brings_segments;
	return false;
}

// The builders have drained or will soon: segments that still arrive are dropped unseen, as by a
// port that is closed.
static void rx_linger(struct role *role, uint64_t now)
{
	struct rx *rx = rx_of(role);
	struct rte_mbuf *mbufs[ROLE_BURST];
	const unsigned n =
	    rte_eth_rx_burst(rx->parameters.port_id, rx->parameters.queue, mbufs, ROLE_BURST);

	rx->last_packet = now;
	for (unsigned i = 0; i < n; i++) {
		if (!is_for_others(rx, mbufs[i])) {
			rte_pktmbuf_free(mbufs[i]);
			continue;
		}
		counter_add(&rx->counters.packets, 1);
		rx_serve(rx, mbufs[i]);
	}
}

static void rx_fini(struct role *role)
{
	struct rx *rx = rx_of(role);

	rx_hold_destroy(&rx->hold);
	rte_free(rx->sources);
	rte_free(rx);
}

static const struct role_operations rx_operations = {
	.kind = "rx",
	.poll = rx_poll,
	.drain = rx_drain,
	.linger = rx_linger,
	.fini = rx_fini,
};

static void make_handlers(struct rx *rx)
{
	for (unsigned i = 0; i < rx->parameters.n_handlers; i++) {
		rx->handlers[rx->n_handlers++] = rx->parameters.handlers[i];
		rx->handlers_send |= rx->parameters.handlers[i].poll != NULL;
	}
	for (unsigned i = 0; i < RX_OWN_HANDLERS; i++) {
		rx->handlers[rx->n_handlers] = rx_own_handlers[i];
		rx->handlers[rx->n_handlers++].context = &rx->parameters;
	}
}

static bool make_sources(struct rx *rx)
{
	unsigned n = rx->parameters.sources->n_expected;

	rx->sources = rte_zmalloc_socket("rx", n * sizeof(*rx->sources), RTE_CACHE_LINE_SIZE,
					 rx->parameters.numa_node);
	if (rx->sources == NULL)
		return false;
	for (unsigned i = 0; i < n; i++)
		rx->sources[i].path.tick = RX_PATH_NONE;
	return true;
}

struct role *rx_role_create(const struct rx_parameters *parameters)
{
	struct rx *rx =
	    rte_zmalloc_socket("rx", sizeof(*rx), RTE_CACHE_LINE_SIZE, parameters->numa_node);

	if (rx == NULL)
		return NULL;
	rx->parameters = *parameters;
	make_handlers(rx);
	if (!make_sources(rx) || !rx_hold_make(&rx->hold, &rx->parameters, rx->handlers)) {
		rx_fini(&rx->role);
		return NULL;
	}
	rx->role.operations = &rx_operations;
	rx->is_open = parameters->gate == NULL;
	snprintf(rx->role.name, sizeof(rx->role.name), "%s", parameters->name);
	rx->packing = divisor_make(parameters->packing);
	rx->builders = divisor_make(RTE_MAX(parameters->n_builders, 1u));
	if (parameters->own_only)
		rx->own = rx_destination_make(&parameters->addresses);
	rx->leave_cycles = LEAVE_US * rte_get_tsc_hz() / US_PER_S;
	if (parameters->flow_control != NULL)
		rx_pressure_make(&rx->pressure, &rx->parameters);
	return &rx->role;
}

const struct rx_counters *rx_role_counters(const struct role *role)
{
	return &rx_of(role)->counters;
}

const struct rx_source_counters *rx_role_source_counters(const struct role *role, unsigned source)
{
	return &rx_of(role)->sources[source].counters;
}

const struct strangers *rx_role_strangers(const struct role *role)
{
	return &rx_of(role)->strangers;
}
