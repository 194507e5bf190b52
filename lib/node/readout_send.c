// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_internal.h"

#include <string.h>

#include "packet/segment_mbuf.h"

#define SEEK_PART 5u // of a second: longest wait for the MAC address of a builder's node

static unsigned n_sources(const struct readout *readout)
{
	return readout->parameters.packets.store->n_sources;
}

static bool all_is_sent(const struct readout *readout)
{
	return readout->cursor.source >= n_sources(readout);
}

// --- the next event and its builder ---

static bool is_gone(const struct readout *readout, uint64_t event)
{
	return (!readout->parameters.is_static && event < readout->released) ||
	       event >= readout->announced;
}

// Begins the next event; false if none may begin.
static bool next_event(struct readout *readout, uint64_t now)
{
	if (readout->sending)
		return true;
	if (readout->parameters.is_static)
		readout_grant_statically(readout);
	if (!send_queue_next(&readout->queue, now, &readout->grant))
		return false;
	readout_pace_begin(&readout->pace, readout->grant.builder, readout->grant.bytes, now);
	readout->cursor = (struct packet_segment){ .event = readout->grant.event };
	readout->sending = true;
	readout->found = readout->posted = false;
	readout->sought_since = now;
	if (is_gone(readout, readout->grant.event)) {
		counter_add(&readout->counters.gone, 1);
		readout->cursor.source = n_sources(readout);
	}
	return true;
}

// Sets the destination of the current event. False if its MAC address is not known yet.
static bool find_builder(struct readout *readout)
{
	const struct readout_builder *builder = &readout->builders[readout->grant.builder];

	readout->local = builder->link;
	if (readout->local != NULL || readout->roce != NULL)
		return true;
	readout->to.address = builder->address;
	readout->to.udp_port = builder->udp_port;
	return neighbours_get(readout->parameters.neighbours, builder->node, readout->to.mac);
}

// Whether the destination of the current event is known. The manager granted the event to the
// builder a moment ago, so its node is reachable and ARP finds its address soon; if not, the event
// is given up.
static bool find_destination(struct readout *readout, uint64_t now)
{
	if (!readout->found)
		readout->found = find_builder(readout);
	if (readout->found)
		return true;
	if (now - readout->sought_since < readout->hz / SEEK_PART)
		return false;
	counter_add(&readout->counters.unreachable, 1);
	readout->cursor.source = n_sources(readout);
	return true;
}

// --- what holds packets back ---

// Whether one more packet may leave the port now.
static bool may_leave(struct readout *readout, uint64_t now)
{
	const struct readout_parameters *p = &readout->parameters;

	if (!sender_room(&readout->sender, 2))
		return false;
	if (p->flow_control != NULL &&
	    flow_control_paused(p->flow_control, p->data_priority, now)) {
		counter_add(&readout->counters.held_pause, 1);
		return false;
	}
	if (!readout_pace_ready(&readout->pace, now)) {
		counter_add(&readout->counters.held_pace, 1);
		return false;
	}
	return true;
}

// Whether one more segment may go to the builder of the current event.
static bool may_send(struct readout *readout, uint64_t now)
{
	if (readout->local == NULL)
		return may_leave(readout, now);
	if (readout->n_staged < ROLE_BURST)
		return true;
	counter_add(&readout->counters.link_full, 1);
	return false;
}

// --- segments ---

// `payload`: offset of the payload in the packet, where faults may corrupt it.
static void send_packet(struct readout *readout, struct rte_mbuf *mbuf, uint32_t payload,
			uint64_t now)
{
	readout_pace_take(&readout->pace, rte_pktmbuf_pkt_len(mbuf) + readout->frame_overhead, now);
	sender_put(&readout->sender, mbuf, payload, false);
}

static void stage_for_link(struct readout *readout, struct rte_mbuf *mbuf, uint32_t size,
			   uint32_t length, uint64_t now)
{
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = block_packets_event_id(&readout->packets, readout->cursor.event),
		.event_index = readout->cursor.event,
		.arrival = now,
		.offset = readout->cursor.offset,
		.size = size,
		.length = length,
		.payload = (uint16_t)readout->packets.headers_size,
		.source = readout->indices[readout->cursor.source],
	};
	readout->staged[readout->n_staged++] = mbuf;
	counter_add(&readout->counters.local_segments, 1);
}

bool readout_flush_staged(struct readout *readout)
{
	unsigned done;

	if (readout->n_staged == 0)
		return true;
	done = link_enqueue(readout->local, readout->staged, readout->n_staged);
	readout->n_staged -= done;
	memmove(readout->staged, readout->staged + done,
		readout->n_staged * sizeof(*readout->staged));
	return readout->n_staged == 0;
}

static bool send_segment(struct readout *readout, uint64_t now)
{
	struct packet_segment *cursor = &readout->cursor;
	const struct store_block *block = &readout->block;
	struct rte_mbuf *mbuf;
	uint32_t size;

	if (cursor->offset == 0 || block->is_temporary)
		readout->block = block_packets_find(&readout->packets, cursor);
	if (block->size == 0) {
		cursor->source++;
		return true;
	}
	size = RTE_MIN(block->size - cursor->offset, readout->packets.segment_size);
	mbuf = block_packets_make(&readout->packets, cursor, block, size, &readout->to);
	if (mbuf == NULL) {
		counter_add(&readout->counters.no_buffer, 1);
		return false;
	}
	if (readout->local != NULL)
		stage_for_link(readout, mbuf, size, block->size, now);
	else
		send_packet(readout, mbuf, readout->packets.headers_size, now);
	counter_add(&readout->counters.segments, 1);
	counter_add(&readout->counters.payload_bytes, size);
	cursor->offset += size;
	if (cursor->offset == block->size) {
		counter_add(&readout->counters.blocks, 1);
		cursor->offset = 0;
		cursor->source++;
	}
	return true;
}

// --- RoCE ---

bool readout_send_roce_packet(struct readout *readout, uint64_t now)
{
	struct rte_mbuf *mbuf;
	uint32_t size;

	if (!may_leave(readout, now))
		return false;
	mbuf = readout_roce_next(readout->roce, now, &size);
	if (mbuf == NULL)
		return false;
	send_packet(readout, mbuf, 0, now);
	counter_add(&readout->counters.segments, 1);
	counter_add(&readout->counters.payload_bytes, size);
	return true;
}

// Sends a builder that requested the event the addresses of its blocks.
static bool offer(struct readout *readout)
{
	const struct block_store *store = readout->parameters.packets.store;

	for (; !all_is_sent(readout); readout->cursor.source++) {
		struct message message = {
			.kind = MESSAGE_OFFER,
			.event = readout->grant.event,
			.run = readout->grant.run,
			.builder = readout->grant.builder,
			.attempt = readout->grant.attempt,
			.source = store->ids[readout->cursor.source],
		};

		readout_roce_place(readout->roce, message.event, readout->cursor.source, &message);
		if (!mailbox_put(readout->parameters.to_control, &message))
			return false;
	}
	counter_add(&readout->counters.blocks, store->n_sources);
	return true;
}

// An event is posted to RoCE as a whole. It is the current event until its packets have left.
static bool step_roce(struct readout *readout, uint64_t now)
{
	if (readout_roce_is_read(readout->roce))
		return offer(readout);
	if (!readout->posted) {
		readout->posted = readout_roce_post(readout->roce, &readout->grant);
		return readout->posted;
	}
	if (readout_send_roce_packet(readout, now))
		return true;
	if (!readout_roce_is_sent(readout->roce, readout->grant.builder, now))
		return false;
	counter_add(&readout->counters.blocks, n_sources(readout));
	readout->cursor.source = n_sources(readout);
	return true;
}

// --- one step ---

// Reports an event that a builder requested as sent; false if the mailbox is full.
static bool report_sent(struct readout *readout)
{
	struct message message = readout->grant;

	if ((message.flags & MESSAGE_REQUESTED) == 0)
		return true;
	message.kind = MESSAGE_SENT;
	return mailbox_put(readout->parameters.to_control, &message);
}

bool readout_step(struct readout *readout, uint64_t now)
{
	if (!next_event(readout, now))
		return false;
	if (!all_is_sent(readout) && !find_destination(readout, now))
		return false;
	if (!all_is_sent(readout))
		return readout->roce != NULL && readout->local == NULL
			   ? step_roce(readout, now)
			   : may_send(readout, now) && send_segment(readout, now);
	if (!readout_flush_staged(readout) || !report_sent(readout))
		return false;
	readout->sending = false;
	counter_add(&readout->counters.events, 1);
	return true;
}
