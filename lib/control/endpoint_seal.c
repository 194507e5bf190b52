// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Authentication: which frames are a peer's, and new. The keys of the present sessions are stored,
// those of other sessions, with which sessions begin, are derived for each frame.
#include "control/endpoint_internal.h"

#define SEEN_BITS 64u // frames that may overtake each other

// The header that the keys of a direction of the present sessions are derived from.
static struct ctrl_header header_of(uint16_t from, uint16_t to, uint64_t session,
				    uint64_t peer_session)
{
	return (struct ctrl_header){
		.node = from,
		.destination = to,
		.session = session,
		.peer_session = peer_session,
	};
}

// Makes the keys of the present sessions, if they are not those that are stored.
static void make_keys(const struct control_endpoint *endpoint, struct peer *peer)
{
	const uint16_t self = endpoint->parameters.node;
	struct peer_seals *seals = &peer->seals;
	struct ctrl_header header;

	if (seals->generation == endpoint->keys_generation && seals->session == peer->session &&
	    seals->peer_session == peer->peer_session)
		return;
	header = header_of(self, peer->node, peer->session, peer->peer_session);
	seals->sending = seal_derive(endpoint->keys.keys[0], &header);
	header = header_of(peer->node, self, peer->peer_session, peer->session);
	for (unsigned i = 0; i < endpoint->keys.n; i++)
		seals->receiving[i] = seal_derive(endpoint->keys.keys[i], &header);
	seals->generation = endpoint->keys_generation;
	seals->session = peer->session;
	seals->peer_session = peer->peer_session;
}

void control_seal(const struct control_endpoint *endpoint, struct peer *peer, uint8_t *bytes,
		  const struct ctrl_header *header, size_t size)
{
	struct seal_key key;

	if (header->session == peer->session && header->peer_session == peer->peer_session) {
		make_keys(endpoint, peer);
		key = peer->seals.sending;
	} else {
		key = seal_derive(endpoint->keys.keys[0], header);
	}
	// No frame is sent after the last will, whatever has been sent before.
	seal_put(bytes, size,
		 header->flags & CTRL_PROCESS_ENDED ? UINT64_MAX : ++peer->seals.number, &key);
}

static bool is_intact(const struct control_endpoint *endpoint, struct peer *peer,
		      const struct ctrl_frame *frame, bool current)
{
	if (current)
		make_keys(endpoint, peer);
	for (unsigned i = 0; i < endpoint->keys.n; i++) {
		const struct seal_key key =
		    current ? peer->seals.receiving[i]
			    : seal_derive(endpoint->keys.keys[i], &frame->header);

		if (seal_is_intact(frame, &key))
			return true;
	}
	return false;
}

static bool is_replayed(const struct peer_seals *seals, uint64_t number)
{
	const uint64_t age = seals->newest - number;

	return number <= seals->newest && (age >= SEEN_BITS || (seals->seen >> age & 1) != 0);
}

static void mark_seen(struct peer_seals *seals, uint64_t number)
{
	if (number <= seals->newest) {
		seals->seen |= UINT64_C(1) << (seals->newest - number);
		return;
	}
	seals->seen =
	    number - seals->newest < SEEN_BITS ? seals->seen << (number - seals->newest) : 0;
	seals->seen |= 1;
	seals->newest = number;
}

void control_seals_begin(const struct control_endpoint *endpoint, struct peer *peer)
{
	peer->seals.newest = endpoint->number;
	peer->seals.seen = UINT64_MAX;
}

// The counter of the reason for which a sealed frame is refused; NULL: it is authentic.
static uint64_t *refusal(const struct control_endpoint *endpoint, struct peer *peer,
			 const struct ctrl_frame *frame)
{
	const uint64_t to = frame->header.peer_session;
	const bool current = control_is_current(peer, &frame->header);

	if (to != 0 && to != peer->session && to != control_offered_session(peer))
		return &peer->counters.old_session;
	if (current && is_replayed(&peer->seals, seal_number(frame)))
		return &peer->counters.replayed;
	if (!is_intact(endpoint, peer, frame, current))
		return &peer->counters.forged;
	if (current)
		mark_seen(&peer->seals, seal_number(frame));
	return NULL;
}

bool control_is_authentic(struct control_endpoint *endpoint, struct peer *peer,
			  const struct ctrl_frame *frame)
{
	const bool sealed = (frame->header.flags & CTRL_KEYED) != 0;
	uint64_t *counter = NULL;

	if (sealed != control_keyed(endpoint))
		counter = sealed ? &peer->counters.with_key : &peer->counters.without_key;
	else if (sealed)
		counter = refusal(endpoint, peer, frame);
	if (counter)
		control_count(counter, 1);
	else if (sealed)
		endpoint->number = seal_number(frame);
	return !counter;
}

void control_seal_shared(struct control_endpoint *endpoint, uint8_t *bytes,
			 const struct ctrl_header *header, size_t size)
{
	struct sharing *sharing = &endpoint->sharing;

	if (sharing->key_generation != endpoint->keys_generation)
		sharing->key = seal_derive(endpoint->keys.keys[0], header);
	sharing->key_generation = endpoint->keys_generation;
	seal_put(bytes, size, header->sequence, &sharing->key);
}

static bool is_intact_shared(const struct control_endpoint *endpoint, struct peer_seals *seals,
			     const struct ctrl_frame *frame)
{
	const bool stored = seals->shared_generation == endpoint->keys_generation &&
			    seals->shared_session == frame->header.session;

	for (unsigned i = 0; i < endpoint->keys.n; i++) {
		const struct seal_key key =
		    stored ? seals->shared[i] : seal_derive(endpoint->keys.keys[i], &frame->header);

		if (!seal_is_intact(frame, &key))
			continue;
		for (unsigned j = 0; !stored && j < endpoint->keys.n; j++)
			seals->shared[j] = seal_derive(endpoint->keys.keys[j], &frame->header);
		seals->shared_generation = endpoint->keys_generation;
		seals->shared_session = frame->header.session;
		return true;
	}
	return false;
}

bool control_is_authentic_shared(const struct control_endpoint *endpoint, struct peer *peer,
				 const struct ctrl_frame *frame)
{
	const bool sealed = (frame->header.flags & CTRL_KEYED) != 0;
	uint64_t *counter = NULL;

	if (sealed != control_keyed(endpoint))
		counter = sealed ? &peer->counters.with_key : &peer->counters.without_key;
	else if (sealed && !is_intact_shared(endpoint, &peer->seals, frame))
		counter = &peer->counters.forged;
	if (counter)
		control_count(counter, 1);
	return !counter;
}
