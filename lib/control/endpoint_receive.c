// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The receiving side of an endpoint: processing of a datagram.
#include "control/endpoint_internal.h"

#define ACK_PARTS 4u // of the window

// Delivers the records of a frame. Returns false if the user ended the session in a handler.
static bool deliver(struct control_endpoint *endpoint, struct peer *peer,
		    const struct ctrl_frame *frame)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;
	const bool sequenced = (frame->header.flags & CTRL_SEQUENCED) != 0;
	const uint32_t life = peer->life;
	struct ctrl_record record;
	size_t offset = 0;

	while (peer->life == life && ctrl_next_record(frame, &offset, &record)) {
		if (!sequenced && record.type != CTRL_HEARTBEAT)
			continue;
		if (record.type == CTRL_PLACES || record.type == CTRL_NEXT_SHARED)
			continue;
		control_count(&peer->counters.records_delivered, sequenced);
		handlers->deliver(handlers->context, peer->node, &record);
	}
	return peer->life == life;
}

// Delivers the expected frame, and the stored frames that follow it without a gap.
static void deliver_in_order(struct control_endpoint *endpoint, struct peer *peer,
			     const struct ctrl_frame *frame)
{
	struct ctrl_frame waiting = { .header.flags = CTRL_SEQUENCED };
	bool more = peer->received_bits & 1;

	peer->expected++;
	peer->received_bits >>= 1;
	if (!deliver(endpoint, peer, frame))
		return;
	while (more) {
		waiting.bytes = control_receive_bytes(endpoint, peer, peer->expected);
		waiting.records_size = peer->receive_sizes[peer->expected & endpoint->ring_mask];
		more = peer->received_bits & 1;
		peer->expected++;
		peer->received_bits >>= 1;
		if (!deliver(endpoint, peer, &waiting))
			return;
	}
}

static void store(const struct control_endpoint *endpoint, struct peer *peer,
		  const struct ctrl_frame *frame, uint32_t ahead)
{
	const uint32_t sequence = frame->header.sequence;

	memcpy(control_receive_bytes(endpoint, peer, sequence), frame->bytes,
	       CTRL_HEADER_SIZE + frame->records_size);
	peer->receive_sizes[sequence & endpoint->ring_mask] = (uint16_t)frame->records_size;
	peer->received_bits |= UINT64_C(1) << (ahead - 1);
}

// To a peer that gets shared frames the acknowledgement is sent with the next one of these, if that
// is soon enough.
static unsigned ack_every(const struct control_endpoint *endpoint, const struct peer *peer)
{
	const unsigned some = endpoint->parameters.window / ACK_PARTS;

	return peer->sharing.known && some > ACK_EVERY_FRAMES ? some : ACK_EVERY_FRAMES;
}

void control_take_sequenced(struct control_endpoint *endpoint, struct peer *peer,
			    const struct ctrl_frame *frame, uint64_t now)
{
	const uint32_t ahead = frame->header.sequence - peer->expected;

	if (ahead == 0) {
		control_count(&peer->counters.sequenced, 1);
		peer->n_unacknowledged++;
		control_acknowledge_at(peer, peer->n_unacknowledged >= ack_every(endpoint, peer) ||
						     peer->received_bits != 0
						 ? now
						 : now + endpoint->parameters.ack_delay);
		deliver_in_order(endpoint, peer, frame);
		return;
	}
	// A frame out of order is acknowledged at once, so that the sender learns which is missing.
	control_acknowledge_at(peer, now);
	if (control_before(frame->header.sequence, peer->expected) ||
	    (ahead < endpoint->parameters.window && peer->received_bits >> (ahead - 1) & 1)) {
		control_count(&peer->counters.duplicates, 1);
	} else if (ahead >= endpoint->parameters.window ||
		   frame->records_size > endpoint->records_capacity) {
		control_count(&peer->counters.out_of_window, 1);
	} else {
		control_count(&peer->counters.sequenced, 1);
		store(endpoint, peer, frame, ahead);
	}
}

// An unsequenced frame that is older than the newest one is not delivered.
static void take_unsequenced(struct control_endpoint *endpoint, struct peer *peer,
			     const struct ctrl_frame *frame)
{
	const uint32_t number = frame->header.sequence;

	control_count(&peer->counters.unsequenced, 1);
	if (peer->has_unsequenced && !control_before(peer->last_unsequenced, number))
		return;
	peer->has_unsequenced = true;
	peer->last_unsequenced = number;
	deliver(endpoint, peer, frame);
}

// The newest frame that an acknowledgement confirms, of the frames that were sent only once.
struct newest {
	bool known;
	uint64_t sent_at;
	uint32_t sequence;
};

static void acknowledge(const struct control_endpoint *endpoint, struct peer *peer,
			uint32_t sequence, struct newest *newest)
{
	struct sent_frame *frame = control_sent(endpoint, peer, sequence);

	if (frame->acknowledged)
		return;
	frame->acknowledged = true;
	peer->n_records -= frame->n_records;
	peer->sharing.known |= peer->sharing.stated && !frame->shared;
	if (frame->shared && frame->transmissions == 1)
		peer->sharing.missed = 0;
	if (frame->transmissions == 1) {
		newest->known = true;
		newest->sent_at = control_max(newest->sent_at, frame->sent_at);
		newest->sequence = sequence;
	}
}

// A frame counts as lost if frames that were sent after it are acknowledged. It is sent again
// without waiting for the timeout.
static void find_lost(const struct control_endpoint *endpoint, const struct peer *peer,
		      const struct newest *newest, uint64_t now)
{
	const uint64_t reordering = peer->rtt / 4 + endpoint->parameters.ack_delay;

	for (uint32_t i = peer->first; i != peer->next; i++) {
		struct sent_frame *frame = control_sent(endpoint, peer, i);
		const uint32_t later = newest->sequence - i;

		if (frame->acknowledged)
			continue;
		if ((frame->transmissions == 1 && !control_before(newest->sequence, i) &&
		     later >= FAST_RETRANSMIT) ||
		    frame->sent_at + reordering < newest->sent_at)
			frame->due = control_min(frame->due, now);
	}
}

// Whether the header has the age of a stamp of this endpoint; *elapsed: us since the stamp.
static bool has_echo(const struct ctrl_header *header, uint64_t now, uint32_t *elapsed)
{
	*elapsed = control_stamp(now) - header->echo;
	return header->echo != 0 && header->echo_age <= *elapsed;
}

void control_take_acknowledgement(const struct control_endpoint *endpoint, struct peer *peer,
				  const struct ctrl_header *header, uint64_t now)
{
	const uint32_t acknowledged = header->acknowledgement;
	struct newest newest = { 0 };
	uint32_t elapsed;

	// The acknowledgement is older than a previous one, or names frames that were never sent.
	if (control_before(acknowledged, peer->first) || control_before(peer->next, acknowledged))
		return;
	peer->peer_window = header->window;
	if (peer->first != acknowledged)
		peer->acknowledged_at = has_echo(header, now, &elapsed)
					    ? now - (uint64_t)header->echo_age * NS_IN_US
					    : now;
	for (; peer->first != acknowledged; peer->first++) {
		acknowledge(endpoint, peer, peer->first, &newest);
		peer->queue.head += control_sent(endpoint, peer, peer->first)->records_size;
	}
	for (uint64_t bits = header->acknowledgement_bits; bits != 0; bits &= bits - 1) {
		const uint32_t sequence = acknowledged + 1 + (uint32_t)__builtin_ctzll(bits);

		if (!control_before(sequence, peer->next))
			break;
		acknowledge(endpoint, peer, sequence, &newest);
	}
	if (newest.known)
		find_lost(endpoint, peer, &newest, now);
}

static void measure_round_trip(const struct control_endpoint *endpoint, struct peer *peer,
			       const struct ctrl_header *header, uint64_t now)
{
	const struct control_parameters *parameters = &endpoint->parameters;
	uint64_t sample, difference, ago;
	uint32_t elapsed;

	if (!has_echo(header, now, &elapsed))
		return;
	ago = ((uint64_t)elapsed + 1) * NS_IN_US;
	if (ago < now)
		peer->reached_at = control_max(peer->reached_at, now - ago);
	control_clock_add(&peer->clock, header->stamp, header->echo, header->echo_age,
			  control_stamp(now));
	sample = (uint64_t)(elapsed - header->echo_age) * NS_IN_US;
	sample = control_max(control_min(sample, parameters->rto_max), NS_IN_US);
	if (peer->rtt == 0) {
		peer->rtt = sample;
		peer->rtt_variation = sample / 2;
	} else {
		difference = sample > peer->rtt ? sample - peer->rtt : peer->rtt - sample;
		peer->rtt_variation += difference / 4 - peer->rtt_variation / 4;
		peer->rtt += sample / 8 - peer->rtt / 8;
	}
	peer->rto = peer->rtt + 4 * peer->rtt_variation + parameters->ack_delay;
	peer->rto = control_min(control_max(peer->rto, parameters->rto_min), parameters->rto_max);
}

// Uses the stamp and the echo only of a frame that is newer than all before.
static void take_stamp(struct control_endpoint *endpoint, struct peer *peer,
		       const struct ctrl_header *header, uint64_t now)
{
	if (peer->has_stamp && !control_before(peer->stamp, header->stamp))
		return;
	endpoint->proven = true;
	peer->has_stamp = true;
	peer->stamp = header->stamp;
	peer->stamp_received_at = now;
	measure_round_trip(endpoint, peer, header, now);
}

// Frames arrive from a lost peer again: the unacknowledged frames are sent again at once.
static void come_back(const struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	peer->lost = false;
	for (uint32_t i = peer->first; i != peer->next; i++) {
		struct sent_frame *frame = control_sent(endpoint, peer, i);

		frame->due = now;
		if (frame->transmissions > 1)
			frame->transmissions = 1;
	}
	control_report(endpoint, peer, CONTROL_BACK);
}

static bool fenced(const struct control_endpoint *endpoint, struct peer *peer,
		   const struct ctrl_header *header, uint64_t now)
{
	if (header->epoch == 0 || header->epoch >= endpoint->epoch)
		return false;
	control_count(&peer->counters.fenced, 1);
	control_owe_response(endpoint, peer, header, now);
	return true;
}

// Processes the header of a frame of the present session: its stamp and its acknowledgement. The
// peer is alive.
static void take_header(struct control_endpoint *endpoint, struct peer *peer,
			const struct ctrl_header *header, uint64_t now)
{
	peer->received_at = now;
	if (control_echoes_recent(endpoint, header, now))
		peer->answered_at = now;
	control_take_epoch(endpoint, peer, header, now);
	take_stamp(endpoint, peer, header, now);
	control_take_acknowledgement(endpoint, peer, header, now);
	if (header->flags & CTRL_ASK)
		control_acknowledge_at(peer, now);
	if (peer->lost)
		come_back(endpoint, peer, now);
}

static void take_frame(struct control_endpoint *endpoint, struct peer *peer,
		       const struct ctrl_frame *frame, uint64_t now)
{
	const struct ctrl_header *header = &frame->header;

	control_count(&peer->counters.frames_received, 1);
	if (header->flags & CTRL_OCCUPIED) {
		control_count(&peer->counters.foreign, 1);
		control_take_occupied(endpoint, peer, header, now);
		return;
	}
	// It was made at some time before: its epoch and its stamps say nothing.
	if (header->flags & CTRL_PROCESS_ENDED) {
		control_take_will(endpoint, peer, header);
		return;
	}
	if (fenced(endpoint, peer, header, now))
		return;
	if (!control_is_current(peer, header))
		control_take_foreign(endpoint, peer, header, now);
	if (control_is_current(peer, header))
		take_header(endpoint, peer, header, now);
	// The user may have ended the session in a handler.
	if (!control_is_current(peer, header))
		control_count(&peer->counters.foreign, 1);
	else if (header->flags & CTRL_SEQUENCED) {
		control_take_place(peer, frame);
		control_take_sequenced(endpoint, peer, frame, now);
	} else
		take_unsequenced(endpoint, peer, frame);
}

// Of the peer that the datagram names as its sender, where it can be known.
static uint64_t *malformed_counter(struct control_endpoint *endpoint, enum wire_error error,
				   const void *datagram, size_t size)
{
	struct peer *peer = error == WIRE_BAD_CHECKSUM || error == WIRE_BAD_VERSION
				? control_peer(endpoint, ctrl_frame_node(datagram, size))
				: NULL;

	if (peer == NULL)
		return &endpoint->totals.malformed[error];
	return error == WIRE_BAD_VERSION ? &peer->counters.other_version
					 : &peer->counters.bad_checksum;
}

enum wire_error control_receive(struct control_endpoint *endpoint, const void *datagram,
				size_t size, uint64_t now)
{
	struct ctrl_frame frame;
	enum wire_error error = ctrl_frame_decode(datagram, size, &frame);
	struct peer *peer;
	bool is_shared;

	endpoint->now = now;
	endpoint->proven = false;
	if (error) {
		control_count(malformed_counter(endpoint, error, datagram, size), 1);
		return error;
	}
	peer = control_peer(endpoint, frame.header.node);
	is_shared = (frame.header.flags & CTRL_SHARED) != 0;
	if (frame.header.destination !=
	    (is_shared ? frame.header.node : endpoint->parameters.node)) {
		control_count(&endpoint->totals.misdirected, 1);
	} else if (!peer) {
		control_count(&endpoint->totals.unknown_node, 1);
	} else {
		if (is_shared ? !control_is_authentic_shared(endpoint, peer, &frame)
			      : !control_is_authentic(endpoint, peer, &frame))
			return WIRE_BAD_CHECKSUM;
		(is_shared ? control_take_shared : take_frame)(endpoint, peer, &frame, now);
		control_plan(endpoint, peer);
	}
	return WIRE_OK;
}

bool control_proven(const struct control_endpoint *endpoint)
{
	return endpoint->proven;
}
