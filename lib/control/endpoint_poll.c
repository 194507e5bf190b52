// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is due at an endpoint, and when: frames, peers that are silent, records to the node itself.
#include "control/endpoint_internal.h"

#define OWN_MOST 256u // records to the node itself that one poll delivers, at most

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
		control_plan_heartbeat(endpoint, peer, now);
		return true;
	}
	if (control_connected(peer) && !peer->lost &&
	    (!control_retransmit(endpoint, peer, now) ||
	     !control_send_before(endpoint, peer, peer->queue.end, now)))
		return false;
	if (peer->next_heartbeat <= now && !control_send_heartbeat_now(endpoint, peer, now))
		return false;
	if (control_connected(peer) && peer->ack_due <= now &&
	    !control_send_acknowledgement(endpoint, peer, now))
		return false;
	return peer->response.header.peer_session == 0 || peer->response.due > now ||
	       control_send_response(endpoint, peer, now);
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
