// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sessions: which process is the peer, and whether both sides mean the same pair of sessions.
//
// A session with a peer is used with one session of the peer only. When the endpoint accepts
// another session of the peer, it changes its own session too, so that a process that still uses
// the old pair sees that it is out of date: the sequences of both directions begin again together,
// or not at all. The endpoint offers its next session in the responses to sessions that are not the
// present one, so that a peer which has just started learns it at once.
//
// The upper half of a session is drawn at random by the process that creates the endpoint, and its
// lower half counts the sessions of the process. While the process of the present session is alive,
// another process with its node number is refused. A delayed frame of an earlier session of the
// same process has no effect.
#include "control/endpoint_internal.h"

#define ALIVE_INTERVALS 10u

uint64_t control_next_session(uint64_t session)
{
	const uint64_t process = session & ~(uint64_t)UINT32_MAX;
	const uint64_t next = process | (uint32_t)(session + 1);

	return next != 0 ? next : 1;
}

static bool same_process(uint64_t a, uint64_t b)
{
	return a >> 32 == b >> 32;
}

// Whether the frame is of a session that the peer's process had before the present one.
static bool is_outdated(const struct peer *peer, const struct ctrl_header *header)
{
	return control_connected(peer) && same_process(peer->peer_session, header->session) &&
	       control_before((uint32_t)header->session, (uint32_t)peer->peer_session);
}

bool control_is_current(const struct peer *peer, const struct ctrl_header *header)
{
	return header->session == peer->peer_session && header->peer_session == peer->session;
}

uint64_t control_offered_session(const struct peer *peer)
{
	return control_connected(peer) ? control_next_session(peer->session) : peer->session;
}

bool control_is_alive(const struct control_endpoint *endpoint, const struct peer *peer,
		      uint64_t now)
{
	const struct control_parameters *parameters = &endpoint->parameters;

	return control_connected(peer) && !peer->lost &&
	       now - peer->answered_at <
		   control_min(parameters->heartbeat_timeout,
			       ALIVE_INTERVALS * parameters->heartbeat_interval);
}

// Whether another process than that of `session` is in session with this endpoint.
static bool is_occupied(const struct control_endpoint *endpoint, const struct peer *peer,
			uint64_t session, uint64_t now)
{
	return control_is_alive(endpoint, peer, now) && !same_process(peer->peer_session, session);
}

// The session in a response. A refused process could use the offered one when the other has died,
// so that it learns none, unless it knows one of this endpoint's.
static uint64_t shown_session(const struct peer *peer, const struct ctrl_header *header,
			      bool occupied)
{
	const uint64_t offered = control_offered_session(peer);
	const bool known = header->peer_session == offered || header->peer_session == peer->session;

	return occupied && !known ? CTRL_NO_SESSION : offered;
}

void control_owe_response(const struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_header *header, uint64_t now)
{
	const bool occupied = is_occupied(endpoint, peer, header->session, now);

	if (is_outdated(peer, header))
		return;
	if (header->session == peer->peer_session) {
		control_acknowledge_at(peer, now);
		return;
	}
	control_count(&peer->counters.second_process, occupied);
	peer->response = (struct session_response){
		.header = {
			.flags = occupied ? CTRL_OCCUPIED : 0,
			.session = shown_session(peer, header, occupied),
			.peer_session = header->session,
			.acknowledgement = (uint32_t)header->session, // its first frame
			.echo = header->stamp,
		},
		.received_at = now,
		.due = control_max(now, peer->responded_at + endpoint->parameters.ack_delay),
	};
}

bool control_echoes_recent(const struct control_endpoint *endpoint,
			   const struct ctrl_header *header, uint64_t now)
{
	const uint64_t age = (uint64_t)(control_stamp(now) - header->echo) * NS_IN_US;

	return header->echo != 0 && age < endpoint->parameters.heartbeat_timeout;
}

// A frame that does not name a session of this endpoint, or an old stamp of it, is not a response.
static bool is_response(const struct control_endpoint *endpoint, const struct peer *peer,
			const struct ctrl_header *header, uint64_t now)
{
	return control_echoes_recent(endpoint, header, now) &&
	       (header->peer_session == peer->session ||
		header->peer_session == control_offered_session(peer));
}

void control_challenge(const struct control_endpoint *endpoint, struct peer *peer, uint64_t now)
{
	if (peer->challenging && now - peer->challenged_at < endpoint->parameters.heartbeat_timeout)
		return;
	peer->challenging = true;
	peer->challenge = control_stamp(now);
	peer->challenged_at = now;
}

// Stamps repeat after 71 minutes, so a challenge ends after heartbeat_timeout.
static bool passes_challenge(const struct control_endpoint *endpoint, const struct peer *peer,
			     const struct ctrl_header *header, uint64_t now)
{
	return peer->challenging &&
	       now - peer->challenged_at < endpoint->parameters.heartbeat_timeout &&
	       header->peer_session == control_offered_session(peer) && header->echo != 0 &&
	       !control_before(header->echo, peer->challenge) &&
	       !control_before(control_stamp(now), header->echo);
}

// Accepts the session as the peer's. The user may end it at once in the handler.
static void connect(struct control_endpoint *endpoint, struct peer *peer,
		    const struct ctrl_header *header)
{
	const bool restarted = control_connected(peer);

	if (restarted) {
		peer->session = control_offered_session(peer);
		control_drop_queue(peer);
		control_count(&peer->counters.restarts, 1);
	}
	endpoint->n_sessions += !restarted;
	peer->life++;
	peer->peer_session = header->session;
	peer->peer_window = header->window;
	peer->lost = peer->process_ended = false;
	peer->occupied = false;
	peer->challenging = false;
	peer->response.header.peer_session = 0;
	peer->has_stamp = false;
	peer->reached_at = 0;
	peer->has_unsequenced = false;
	peer->sharing.placed = peer->sharing.has_newest = false;
	control_seals_begin(endpoint, peer);
	peer->expected = (uint32_t)header->session;
	peer->received_bits = 0;
	peer->n_unacknowledged = 0;
	peer->ack_due = NEVER;
	peer->answered_at = endpoint->now;
	control_report(endpoint, peer, restarted ? CONTROL_RESTARTED : CONTROL_CONNECTED);
}

// The responses to frames that were sent at the same time or earlier, or were recorded and are sent
// again, change nothing.
static void note_response(struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_header *header, uint64_t now, bool refused)
{
	const uint64_t age = (uint64_t)(control_stamp(now) - header->echo) * NS_IN_US;
	const uint64_t asked_at = now - now % NS_IN_US - age;

	if (asked_at <= peer->asked_at)
		return;
	peer->asked_at = asked_at;
	peer->refused = refused;
	if (refused)
		endpoint->refused_until = control_max(
		    endpoint->refused_until, asked_at + endpoint->parameters.heartbeat_timeout);
}

// The refusal of a peer that has fallen silent counts for heartbeat_timeout.
static bool is_refused_by(const struct control_endpoint *endpoint, const struct peer *peer,
			  uint64_t now)
{
	return peer->refused && now - peer->asked_at < endpoint->parameters.heartbeat_timeout;
}

bool control_stands_aside(const struct control_endpoint *endpoint, const struct peer *peer,
			  uint64_t now)
{
	if (endpoint->n_sessions > 0 || now >= endpoint->refused_until)
		return false;
	for (unsigned i = 0; i < endpoint->n_peers; i++)
		if (&endpoint->peers[i] != peer &&
		    is_refused_by(endpoint, &endpoint->peers[i], now))
			return true;
	return false;
}

void control_take_foreign(struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_header *header, uint64_t now)
{
	if (is_response(endpoint, peer, header, now))
		note_response(endpoint, peer, header, now, false);
	if (control_stands_aside(endpoint, peer, now))
		return;
	if (header->session != peer->peer_session && !is_outdated(peer, header) &&
	    !is_occupied(endpoint, peer, header->session, now)) {
		if (passes_challenge(endpoint, peer, header, now)) {
			connect(endpoint, peer, header);
			return;
		}
		control_challenge(endpoint, peer, now);
	}
	control_owe_response(endpoint, peer, header, now);
}

void control_take_occupied(struct control_endpoint *endpoint, struct peer *peer,
			   const struct ctrl_header *header, uint64_t now)
{
	const bool current = control_is_current(peer, header);

	if (!is_response(endpoint, peer, header, now) ||
	    (current && peer->has_stamp && !control_before(peer->stamp, header->stamp)))
		return;
	control_take_epoch(endpoint, peer, header, now);
	if (current) {
		control_forget(endpoint, peer->node);
		control_report(endpoint, peer, CONTROL_LOST);
	}
	if (control_is_alive(endpoint, peer, now))
		return;
	note_response(endpoint, peer, header, now, true);
	if (peer->occupied)
		return;
	peer->occupied = true;
	control_report(endpoint, peer, CONTROL_OCCUPIED);
}

void control_take_will(struct control_endpoint *endpoint, struct peer *peer,
		       const struct ctrl_header *header)
{
	if (!control_is_current(peer, header)) {
		control_count(&peer->counters.foreign, 1);
		return;
	}
	control_count(&peer->counters.unsequenced, 1);
	control_count(&peer->counters.process_ended, 1);
	control_forget(endpoint, peer->node);
	peer->process_ended = true;
	control_report(endpoint, peer, CONTROL_PROCESS_ENDED);
}

void control_raise_epoch(struct control_endpoint *endpoint)
{
	const uint32_t process = (uint32_t)(endpoint->parameters.session >> 32);
	const uint32_t raise = 1 + (process >> (endpoint->epoch % 29) & 15);

	endpoint->epoch += raise < UINT32_MAX - endpoint->epoch ? raise : 0;
}

uint32_t control_epoch(const struct control_endpoint *endpoint)
{
	return endpoint->epoch;
}

void control_set_epoch(struct control_endpoint *endpoint, uint32_t epoch)
{
	endpoint->epoch = (uint32_t)control_max(endpoint->epoch, epoch);
}

void control_take_epoch(struct control_endpoint *endpoint, struct peer *peer,
			const struct ctrl_header *header, uint64_t now)
{
	if (header->epoch == endpoint->epoch && endpoint->parameters.leads &&
	    (header->flags & CTRL_OCCUPIED) != 0)
		control_raise_epoch(endpoint);
	if (header->epoch <= endpoint->epoch)
		return;
	endpoint->epoch = header->epoch;
	peer->next_heartbeat = now; // the peer may have fenced the last one
	control_report(endpoint, peer, CONTROL_EPOCH);
}
