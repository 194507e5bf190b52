// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sending side of an endpoint: the frames of each kind, and what they carry.
#include "control/endpoint_internal.h"

#define NS_MAX_AGE (UINT64_C(1000) * UINT32_MAX)

static uint32_t age_us(uint64_t since, uint64_t now)
{
	return (uint32_t)(control_min(now - since, NS_MAX_AGE) / NS_IN_US);
}

// Makes a frame in the scratch buffer, of records_size bytes of records that lie there behind the
// place of the header, for the session that the header names. Returns its size.
static size_t make_frame(const struct control_endpoint *endpoint, struct peer *peer,
			 struct ctrl_header *header, size_t records_size, uint64_t now)
{
	size_t size;

	header->node = endpoint->parameters.node;
	header->destination = peer->node;
	header->epoch = endpoint->epoch;
	header->stamp = control_stamp(now);
	header->window = endpoint->parameters.window;
	header->flags |= control_keyed(endpoint) ? CTRL_KEYED : 0;
	size = ctrl_frame_encode(endpoint->scratch, header, records_size);
	if (control_keyed(endpoint))
		control_seal(endpoint, peer, endpoint->scratch, header, size);
	return size;
}

// Sends such a frame, with a number if it is not part of the sequence. Returns false if the user
// cannot send now.
static bool emit(struct control_endpoint *endpoint, struct peer *peer, struct ctrl_header *header,
		 size_t records_size, uint64_t now)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;
	const bool sequenced = (header->flags & CTRL_SEQUENCED) != 0;
	size_t size;

	if (!sequenced)
		header->sequence = peer->unsequenced;
	size = make_frame(endpoint, peer, header, records_size, now);
	if (!handlers->emit(handlers->context, peer->node, endpoint->scratch, size))
		return false;
	peer->unsequenced += !sequenced;
	control_count(&peer->counters.frames_sent, 1);
	return true;
}

// As emit(), to the known session of the peer. The frame also carries the acknowledgement.
static bool emit_to_known(struct control_endpoint *endpoint, struct peer *peer,
			  struct ctrl_header *header, size_t records_size, uint64_t now)
{
	header->session = peer->session;
	if (control_connected(peer)) {
		header->peer_session = peer->peer_session;
		header->acknowledgement = peer->expected;
		header->acknowledgement_bits = peer->received_bits;
		header->echo = peer->stamp;
		header->echo_age = age_us(peer->stamp_received_at, now);
	}
	if (!emit(endpoint, peer, header, records_size, now))
		return false;
	peer->ack_due = NEVER;
	peer->n_unacknowledged = 0;
	return true;
}

// Where there is multicast, each frame to one peer begins with the number of the next shared frame.
static size_t put_next_shared(const struct control_endpoint *endpoint,
			      const struct sent_frame *frame)
{
	const struct ctrl_next_shared record = {
		.number = frame->next_shared,
		.session = (uint32_t)endpoint->parameters.session,
	};

	if (!endpoint->sharing.records)
		return 0;
	return ctrl_put_next_shared(endpoint->scratch + CTRL_HEADER_SIZE, CTRL_NEXT_SHARED_SIZE,
				    &record);
}

static bool transmit(struct control_endpoint *endpoint, struct peer *peer, uint32_t sequence,
		     uint64_t now)
{
	struct sent_frame *frame = control_sent(endpoint, peer, sequence);
	struct ctrl_header header = { .flags = CTRL_SEQUENCED, .sequence = sequence };
	const size_t before = put_next_shared(endpoint, frame);

	control_queue_copy(&peer->queue, frame->position,
			   endpoint->scratch + CTRL_HEADER_SIZE + before, frame->records_size);
	if (!emit_to_known(endpoint, peer, &header, before + frame->records_size, now))
		return false;
	control_count(&peer->counters.retransmitted, frame->transmissions > 0);
	if (frame->shared)
		control_note_missed(peer, now);
	else if (before > 0 && frame->transmissions == 0)
		control_tell_place(peer, sequence, frame->next_shared);
	if (frame->transmissions < UINT8_MAX)
		frame->transmissions++;
	frame->sent_at = now;
	frame->due = now + control_timeout(endpoint, peer, frame->transmissions);
	return true;
}

bool control_retransmit(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	for (uint32_t i = peer->first; i != peer->next; i++) {
		const struct sent_frame *frame = control_sent(endpoint, peer, i);

		if (!frame->acknowledged && frame->due <= now && !transmit(endpoint, peer, i, now))
			return false;
	}
	return true;
}

// Forms the next frame from as many of the waiting records before a position as fit.
static const struct sent_frame *form_frame(const struct control_endpoint *endpoint,
					   const struct peer *peer, uint32_t end)
{
	struct sent_frame *frame = control_sent(endpoint, peer, peer->next);
	uint32_t at = peer->unsent;

	*frame = (struct sent_frame){ .position = at, .next_shared = endpoint->sharing.number };
	while (at != end) {
		const uint32_t size = control_queue_record(&peer->queue, at);

		if (frame->records_size + size > endpoint->queue_capacity)
			break;
		frame->records_size += size;
		frame->n_records++;
		at += size;
	}
	return frame;
}

bool control_send_before(struct control_endpoint *endpoint, struct peer *peer, uint32_t position,
			 uint64_t now)
{
	while (peer->unsent != position && control_may_send_new(endpoint, peer)) {
		const struct sent_frame *frame = form_frame(endpoint, peer, position);

		if (!transmit(endpoint, peer, peer->next, now))
			return false;
		peer->unsent += frame->records_size;
		peer->next++;
	}
	return true;
}

// The first heartbeats go to all peers at once: a peer that refuses this process says so before
// another peer takes it for the node. Those after them are spread over the interval.
void control_plan_heartbeat(const struct control_endpoint *endpoint, struct peer *peer,
			    uint64_t now)
{
	const uint64_t interval = endpoint->parameters.heartbeat_interval;
	const uint64_t index = (uint64_t)(peer - endpoint->peers);

	peer->next_heartbeat = now + interval;
	if (!peer->greeted)
		peer->next_heartbeat += interval * index / endpoint->n_peers;
	peer->greeted = true;
}

// A process that uses other sessions refuses a sealed frame that names an old one. So if the peer
// does not prove to be alive, each second heartbeat names none, as if it were not connected.
static bool names_none(const struct control_endpoint *endpoint, const struct peer *peer,
		       uint64_t now)
{
	return control_keyed(endpoint) && control_connected(peer) &&
	       !control_is_alive(endpoint, peer, now) && !peer->seals.named_none;
}

static bool send_hello(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	struct ctrl_header header = { .flags = CTRL_ASK, .session = peer->session };

	if (!emit(endpoint, peer, &header, 0, now))
		return false;
	peer->seals.named_none = true;
	control_plan_heartbeat(endpoint, peer, now);
	return true;
}

bool control_send_heartbeat_now(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	const bool ask = !control_connected(peer) || peer->lost;
	struct ctrl_header header = { .flags = ask ? CTRL_ASK : 0 };

	if (names_none(endpoint, peer, now))
		return send_hello(endpoint, peer, now);
	if (!control_connected(peer))
		control_challenge(endpoint, peer, now);
	if (endpoint->heartbeat_size > 0)
		memcpy(endpoint->scratch + CTRL_HEADER_SIZE, endpoint->heartbeat,
		       endpoint->heartbeat_size);
	if (!emit_to_known(endpoint, peer, &header, endpoint->heartbeat_size, now))
		return false;
	peer->seals.named_none = false;
	control_plan_heartbeat(endpoint, peer, now);
	control_store_will(endpoint, peer, now);
	return true;
}

void control_store_will(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;
	struct ctrl_header header = {
		.flags = CTRL_PROCESS_ENDED,
		.session = peer->session,
		.peer_session = peer->peer_session,
	};
	size_t size;

	if (!handlers->store_will || !control_connected(peer) ||
	    (peer->will_life == peer->life && peer->will_generation == endpoint->keys_generation))
		return;
	size = make_frame(endpoint, peer, &header, 0, now);
	if (!handlers->store_will(handlers->context, peer->node, endpoint->scratch, size))
		return;
	peer->will_life = peer->life;
	peer->will_generation = endpoint->keys_generation;
}

void control_send_heartbeat(struct control_endpoint *endpoint, unsigned node, uint64_t now)
{
	struct peer *peer = control_peer(endpoint, node);

	if (peer && control_connected(peer))
		(void)control_send_heartbeat_now(endpoint, peer, now);
}

bool control_send_acknowledgement(struct control_endpoint *endpoint, struct peer *peer,
				  uint64_t now)
{
	struct ctrl_header header = { 0 };

	return emit_to_known(endpoint, peer, &header, 0, now);
}

bool control_send_response(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	struct ctrl_header header = peer->response.header;

	header.flags |= peer->challenging ? CTRL_ASK : 0;
	header.echo_age = age_us(peer->response.received_at, now);
	if (!emit(endpoint, peer, &header, 0, now))
		return false;
	peer->response.header.peer_session = 0;
	peer->responded_at = now;
	return true;
}
