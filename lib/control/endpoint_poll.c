// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sending side of an endpoint: which frames are due, and when.
#include "control/endpoint_internal.h"

#define NS_MAX_AGE (UINT64_C(1000) * UINT32_MAX)
#define OWN_MOST   256u // records to the node itself that one poll delivers, at most

bool control_may_send_new(const struct control_endpoint *endpoint, const struct peer *peer)
{
	const uint32_t window =
	    (uint32_t)control_min(endpoint->parameters.window, peer->peer_window);

	return peer->unsent != peer->queue.end && peer->next - peer->first < window;
}

static uint64_t retransmission_due(const struct control_endpoint *endpoint, const struct peer *peer)
{
	uint64_t due = NEVER;

	for (uint32_t i = peer->first; i != peer->next; i++) {
		const struct sent_frame *frame = control_sent(endpoint, peer, i);

		if (!frame->acknowledged)
			due = control_min(due, frame->due);
	}
	return due;
}

// A peer accepts nothing while its window is full, or the waiting records would fill it. When the
// oldest frame is acknowledged, the time starts again.
static void watch_window(const struct control_endpoint *endpoint, struct peer *peer)
{
	if (control_room(endpoint, peer->node, CTRL_GRANT_SIZE) > 0)
		peer->full_since = NEVER;
	else if (peer->full_since == NEVER || peer->full_first != peer->first)
		peer->full_since = endpoint->now;
	peer->full_first = peer->first;
}

// The time at which the peer is given up, or NEVER.
static uint64_t give_up_due(const struct control_endpoint *endpoint, const struct peer *peer)
{
	const uint64_t patience = endpoint->parameters.patience;

	if (peer->given_up)
		return 0;
	return patience == 0 || peer->full_since == NEVER ? NEVER : peer->full_since + patience;
}

void control_plan(struct control_endpoint *endpoint, struct peer *peer)
{
	uint64_t due = peer->next_heartbeat;

	watch_window(endpoint, peer);
	due = control_min(due, give_up_due(endpoint, peer));
	if (peer->response.header.peer_session != 0)
		due = control_min(due, peer->response.due);
	if (control_connected(peer)) {
		due = control_min(due, peer->ack_due);
		if (!peer->lost) {
			due = control_min(due, peer->received_at +
						   endpoint->parameters.heartbeat_timeout);
			due = control_min(due, retransmission_due(endpoint, peer));
			if (control_may_send_new(endpoint, peer))
				due = 0;
		}
	}
	control_set_due(endpoint, peer, due);
}

uint64_t control_timeout(const struct control_endpoint *endpoint, const struct peer *peer,
			 unsigned transmissions)
{
	const unsigned doublings =
	    transmissions - 1 < MAX_BACKOFF ? transmissions - 1 : MAX_BACKOFF;

	return control_min(peer->rto << doublings, endpoint->parameters.rto_max);
}

static uint32_t age_us(uint64_t since, uint64_t now)
{
	return (uint32_t)(control_min(now - since, NS_MAX_AGE) / NS_IN_US);
}

// Sends records_size bytes of records at bytes + CTRL_HEADER_SIZE to the session that the header
// names. Returns false if the user cannot send now.
static bool emit(struct control_endpoint *endpoint, struct peer *peer, uint8_t *bytes,
		 struct ctrl_header *header, size_t records_size, uint64_t now)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;
	size_t size;

	header->node = endpoint->parameters.node;
	header->destination = peer->node;
	header->epoch = endpoint->epoch;
	header->stamp = control_stamp(now);
	header->window = endpoint->parameters.window;
	header->flags |= control_keyed(endpoint) ? CTRL_KEYED : 0;
	size = ctrl_frame_encode(bytes, header, records_size);
	if (control_keyed(endpoint))
		control_seal(endpoint, peer, bytes, header, size);
	if (!handlers->emit(handlers->context, peer->node, bytes, size))
		return false;
	control_count(&peer->counters.frames_sent, 1);
	return true;
}

// As emit(), to the known session of the peer. The frame also carries the acknowledgement.
static bool emit_to_known(struct control_endpoint *endpoint, struct peer *peer, uint8_t *bytes,
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
	if (!emit(endpoint, peer, bytes, header, records_size, now))
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
	if (!emit_to_known(endpoint, peer, endpoint->scratch, &header, before + frame->records_size,
			   now))
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

static bool retransmit(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
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

// The first heartbeats go to all peers at once: whoever refuses this process says so before another
// peer takes it for the node. Those after them are spread over the interval.
static void plan_heartbeat(const struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
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
	struct ctrl_header header = {
		.flags = CTRL_ASK,
		.session = peer->session,
		.sequence = peer->unsequenced,
	};

	if (!emit(endpoint, peer, endpoint->scratch, &header, 0, now))
		return false;
	peer->seals.named_none = true;
	peer->unsequenced++;
	plan_heartbeat(endpoint, peer, now);
	return true;
}

// A heartbeat requests a response if the peer is not connected or is lost.
static bool send_heartbeat(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	const bool ask = !control_connected(peer) || peer->lost;
	struct ctrl_header header = {
		.flags = ask ? CTRL_ASK : 0,
		.sequence = peer->unsequenced,
	};

	if (names_none(endpoint, peer, now))
		return send_hello(endpoint, peer, now);
	if (!control_connected(peer))
		control_challenge(endpoint, peer, now);
	if (endpoint->heartbeat_size > 0)
		memcpy(endpoint->scratch + CTRL_HEADER_SIZE, endpoint->heartbeat,
		       endpoint->heartbeat_size);
	if (!emit_to_known(endpoint, peer, endpoint->scratch, &header, endpoint->heartbeat_size,
			   now))
		return false;
	peer->seals.named_none = false;
	peer->unsequenced++;
	plan_heartbeat(endpoint, peer, now);
	return true;
}

void control_send_heartbeat(struct control_endpoint *endpoint, unsigned node, uint64_t now)
{
	struct peer *peer = control_peer(endpoint, node);

	if (peer && control_connected(peer))
		(void)send_heartbeat(endpoint, peer, now);
}

static bool send_acknowledgement(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	struct ctrl_header header = { .sequence = peer->unsequenced };

	if (!emit_to_known(endpoint, peer, endpoint->scratch, &header, 0, now))
		return false;
	peer->unsequenced++;
	return true;
}

static bool send_response(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	struct ctrl_header header = peer->response.header;

	header.flags |= peer->challenging ? CTRL_ASK : 0;
	header.sequence = peer->unsequenced;
	header.echo_age = age_us(peer->response.received_at, now);
	if (!emit(endpoint, peer, endpoint->scratch, &header, 0, now))
		return false;
	peer->unsequenced++;
	peer->response.header.peer_session = 0;
	peer->responded_at = now;
	return true;
}

// The time in which this endpoint was not polled says nothing about its peers.
static void allow_for_absence(struct control_endpoint *endpoint, uint64_t now)
{
	const uint64_t away = now - endpoint->polled_at;

	endpoint->polled_at = now;
	if (away <= endpoint->parameters.heartbeat_interval)
		return;
	for (unsigned i = 0; i < endpoint->n_peers; i++) {
		struct peer *peer = &endpoint->peers[i];

		peer->received_at = control_min(peer->received_at + away, now);
		peer->answered_at = control_min(peer->answered_at + away, now);
		control_plan(endpoint, peer);
	}
}

static void find_silent(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	if (!control_connected(peer) || peer->lost ||
	    now - peer->received_at < endpoint->parameters.heartbeat_timeout)
		return;
	peer->lost = true;
	control_count(&peer->counters.lost, 1);
	control_report(endpoint, peer, CONTROL_LOST);
}

static void give_up(struct control_endpoint *endpoint, struct peer *peer)
{
	control_forget(endpoint, peer->node);
	control_count(&peer->counters.given_up, 1);
	control_report(endpoint, peer, CONTROL_LOST);
}

// Sends all frames that are due to a peer. Returns false if the user cannot send now.
static bool serve(struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	if (give_up_due(endpoint, peer) <= now)
		give_up(endpoint, peer);
	find_silent(endpoint, peer, now);
	if (!peer->refused && control_stands_aside(endpoint, peer, now)) {
		peer->response.header.peer_session = 0;
		plan_heartbeat(endpoint, peer, now);
		return true;
	}
	if (control_connected(peer) && !peer->lost &&
	    (!retransmit(endpoint, peer, now) ||
	     !control_send_before(endpoint, peer, peer->queue.end, now)))
		return false;
	if (peer->next_heartbeat <= now && !send_heartbeat(endpoint, peer, now))
		return false;
	if (control_connected(peer) && peer->ack_due <= now &&
	    !send_acknowledgement(endpoint, peer, now))
		return false;
	return peer->response.header.peer_session == 0 || peer->response.due > now ||
	       send_response(endpoint, peer, now);
}

// The handler may queue further records for the node itself, so each record leaves the queue before
// it is delivered.
static void deliver_own(struct control_endpoint *endpoint)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;
	struct control_queue *own = &endpoint->own;

	for (unsigned n = 0; n < OWN_MOST && own->head != own->end; n++) {
		const uint32_t size = control_queue_record(own, own->head);
		struct ctrl_record record;

		control_queue_copy(own, own->head, endpoint->scratch, size);
		own->head += size;
		endpoint->own_delivered_at = endpoint->now;
		if (ctrl_record_at(endpoint->scratch, size, &record) == WIRE_OK)
			handlers->deliver(handlers->context, endpoint->parameters.node, &record);
	}
}

// Serves the peers of a block that are due and adds the number of frames. Returns false if the user
// cannot send now.
static bool serve_block(struct control_endpoint *endpoint, unsigned block, uint64_t now,
			unsigned *n_frames)
{
	const unsigned begin = block * DUE_BLOCK;
	const unsigned n = (unsigned)control_min(DUE_BLOCK, endpoint->n_peers - begin);
	unsigned at = endpoint->cursor / DUE_BLOCK == block ? endpoint->cursor : begin;

	endpoint->earliest_of[block] = NEVER;
	for (unsigned i = 0; i < n; i++) {
		struct peer *peer = &endpoint->peers[at];

		if (endpoint->due[at] <= now) {
			const uint64_t before = peer->counters.frames_sent;
			const bool served = serve(endpoint, peer, now);

			*n_frames += (unsigned)(peer->counters.frames_sent - before);
			control_plan(endpoint, peer);
			if (!served) {
				endpoint->cursor = at; // this peer is served first next time
				endpoint->earliest_of[block] = 0;
				return false;
			}
		}
		endpoint->earliest_of[block] =
		    control_min(endpoint->earliest_of[block], endpoint->due[at]);
		at = at + 1 < begin + n ? at + 1 : begin;
	}
	return true;
}

unsigned control_poll(struct control_endpoint *endpoint, uint64_t now)
{
	const unsigned n_blocks = (endpoint->n_peers + DUE_BLOCK - 1) / DUE_BLOCK;
	unsigned n = 0, block = endpoint->cursor / DUE_BLOCK;

	endpoint->now = now;
	allow_for_absence(endpoint, now);
	deliver_own(endpoint);
	n = control_send_shared(endpoint, now);
	if (now < endpoint->earliest)
		return n;
	endpoint->earliest = NEVER;
	for (unsigned i = 0; i < n_blocks; i++) {
		if (endpoint->earliest_of[block] <= now && !serve_block(endpoint, block, now, &n)) {
			endpoint->earliest = 0;
			return n;
		}
		endpoint->earliest = control_min(endpoint->earliest, endpoint->earliest_of[block]);
		block = block + 1 < n_blocks ? block + 1 : 0;
	}
	return n;
}
