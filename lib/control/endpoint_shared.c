// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sending by multicast: the same records, in one frame for many peers. The records also lie in the
// queue of each of these peers, and the frame has a sequence number in each of their sessions, so
// that everything else is as for a frame to one peer. See struct peer_sharing for the numbers.
#include "control/endpoint_internal.h"

#include <stdlib.h>

#define SHARED_MOST  (64u << 10) // bytes of records of one poll
#define PLACES_LEAST 64u         // bytes that each shared frame has for places
#define PEERS_LEAST  2u          // a single peer gets a frame of its own
// A peer that lacks so many frames in a row, for so long, is out of reach by multicast.
#define MISSED_MOST 16u
#define MISSED_NS   UINT64_C(200000000)
#define REST_NS     UINT64_C(5000000000)

bool control_sharing_make(struct control_endpoint *endpoint)
{
	struct sharing *sharing = &endpoint->sharing;
	unsigned last = 0;

	if (!endpoint->parameters.handlers.emit_shared)
		return true;
	for (unsigned i = 0; i < endpoint->n_peers; i++)
		if (endpoint->parameters.peers[i] > last)
			last = endpoint->parameters.peers[i];
	sharing->n_words = (uint16_t)(last / 64 + 1);
	sharing->number = 1;
	sharing->round = 1;
	sharing->records = malloc(SHARED_MOST);
	sharing->peers = calloc(endpoint->n_peers + 1, sizeof(struct peer *));
	sharing->places = malloc(endpoint->parameters.frame_size);
	return sharing->records && sharing->peers && sharing->places;
}

void control_sharing_free(struct control_endpoint *endpoint)
{
	free(endpoint->sharing.records);
	free(endpoint->sharing.peers);
	free(endpoint->sharing.places);
}

// --- queueing ---

// A record of the round lies in the queue of the peer, from position `at` on.
static void note_record(struct sharing *sharing, struct peer *peer, uint32_t at, uint32_t size)
{
	struct peer_sharing *own = &peer->sharing;

	if (own->round != sharing->round && sharing->size == 0) {
		own->round = sharing->round;
		own->begin = at;
		own->size = 0;
		sharing->peers[sharing->n_peers++] = peer;
	}
	// The peer is left out if it lacks a record of the round, or has others in between.
	if (own->round == sharing->round && own->size == sharing->size &&
	    at == own->begin + own->size)
		own->size += size;
}

void control_send_all(struct control_endpoint *endpoint, const uint16_t *nodes, unsigned n,
		      const void *record, size_t size)
{
	struct sharing *sharing = &endpoint->sharing;
	const bool shares = sharing->records && size <= SHARED_MOST - sharing->size;

	for (unsigned i = 0; i < n; i++) {
		struct peer *peer = control_peer(endpoint, nodes[i]);
		const uint32_t at = peer ? peer->queue.end : 0;

		if (!control_send(endpoint, nodes[i], record, size))
			control_give_up(endpoint, nodes[i]);
		else if (peer && shares)
			note_record(sharing, peer, at, (uint32_t)size);
	}
	if (!shares || sharing->n_peers == 0)
		return;
	memcpy(sharing->records + sharing->size, record, size);
	sharing->size += (uint32_t)size;
}

// --- places ---

void control_tell_place(struct peer *peer, uint32_t sequence, uint32_t next_shared)
{
	peer->sharing.stated = true;
	peer->sharing.stated_by = sequence;
	peer->sharing.stated_offset = sequence + 1 - next_shared;
}

void control_note_missed(struct peer *peer, uint64_t now)
{
	struct peer_sharing *own = &peer->sharing;

	control_count(&peer->counters.shared_repeated, 1);
	if (own->missed == 0)
		own->missed_since = now;
	if (++own->missed < MISSED_MOST || now - own->missed_since < MISSED_NS)
		return;
	own->missed = 0;
	own->rests_until = now + REST_NS;
}

// Whether the peer derives the sequence number of the next shared frame from its number.
static bool knows_place(const struct control_endpoint *endpoint, const struct peer *peer)
{
	const struct peer_sharing *own = &peer->sharing;

	return own->stated && own->stated_offset == peer->next - endpoint->sharing.number &&
	       (control_before(own->stated_by, peer->first) ||
		control_sent(endpoint, peer, own->stated_by)->acknowledged);
}

// Adds a place if there is room for it, of `most` places.
static bool add_place(struct control_endpoint *endpoint, unsigned *n, unsigned most,
		      const struct peer *peer, enum ctrl_place_kind kind, uint32_t number)
{
	const struct ctrl_place place = { .node = peer->node,
					  .kind = (uint16_t)kind,
					  .number = number };

	if (*n == most)
		return false;
	ctrl_put_place(endpoint->sharing.places + CTRL_PLACE_SIZE * (size_t)(*n)++, &place);
	return true;
}

// Leaves out the peers that cannot get the next frame, notes the others in the mask and gives them
// places. Returns the number of places.
static unsigned place_peers(struct control_endpoint *endpoint, unsigned most)
{
	struct sharing *sharing = &endpoint->sharing;
	unsigned n_peers = 0, n = 0;

	memset(sharing->mask, 0, sizeof(sharing->mask));
	for (unsigned i = 0; i < sharing->n_peers; i++) {
		struct peer *peer = sharing->peers[i];

		if (!control_may_send_new(endpoint, peer) ||
		    (!knows_place(endpoint, peer) &&
		     !add_place(endpoint, &n, most, peer, CTRL_PLACE_SEQUENCE, peer->next)))
			continue;
		sharing->mask[peer->node / 8] |= (uint8_t)(1u << peer->node % 8);
		sharing->peers[n_peers++] = peer;
	}
	sharing->n_peers = n_peers;
	for (unsigned i = 0; i < n_peers; i++) {
		struct peer *peer = sharing->peers[i];

		peer->sharing.acknowledges =
		    peer->ack_due != NEVER && peer->received_bits == 0 &&
		    add_place(endpoint, &n, most, peer, CTRL_PLACE_ACKNOWLEDGEMENT, peer->expected);
	}
	return n;
}

// --- sending ---

static bool can_share(const struct control_endpoint *endpoint, const struct peer *peer,
		      uint64_t now)
{
	const struct peer_sharing *own = &peer->sharing;
	const uint32_t unsent = peer->queue.end - peer->unsent;

	// The queue may have been dropped since.
	return control_connected(peer) && !peer->lost && !peer->given_up && own->known &&
	       own->size == endpoint->sharing.size && own->rests_until <= now &&
	       (uint64_t)(own->begin - peer->unsent) + own->size <= unsent;
}

// Leaves the peers that can get the records by multicast: records queued before have been sent.
static void choose_peers(struct control_endpoint *endpoint, uint64_t now)
{
	struct sharing *sharing = &endpoint->sharing;
	unsigned n = 0;

	for (unsigned i = 0; i < sharing->n_peers; i++) {
		struct peer *peer = sharing->peers[i];

		if (can_share(endpoint, peer, now) &&
		    control_send_before(endpoint, peer, peer->sharing.begin, now) &&
		    peer->unsent == peer->sharing.begin)
			sharing->peers[n++] = peer;
	}
	sharing->n_peers = n;
}

// The bytes, and in *n the number, of the records for the next frame, from `begin` on.
static uint32_t next_part(const struct sharing *sharing, uint32_t begin, size_t room, uint16_t *n)
{
	uint32_t size = 0;

	*n = 0;
	while (begin + size < sharing->size) {
		const uint32_t more = load_le16(sharing->records + begin + size + 2);

		if (size + more + (*n > 0 ? PLACES_LEAST : 0) > room)
			break;
		size += more;
		++*n;
	}
	return size;
}

// Writes the frame with `size` bytes of records to the scratch buffer and emits it. False if it
// cannot be sent now.
static bool emit_part(struct control_endpoint *endpoint, uint32_t begin, uint32_t size,
		      unsigned n_places, uint64_t now)
{
	const struct control_handlers *handlers = &endpoint->parameters.handlers;
	struct sharing *sharing = &endpoint->sharing;
	const struct ctrl_places places = {
		.n_words = sharing->n_words,
		.n = (uint16_t)n_places,
		.mask = sharing->mask,
		.places = sharing->places,
	};
	const struct ctrl_header header = {
		.flags = CTRL_SEQUENCED | CTRL_SHARED | (control_keyed(endpoint) ? CTRL_KEYED : 0),
		.node = endpoint->parameters.node,
		.destination = endpoint->parameters.node,
		.epoch = endpoint->epoch,
		.session = endpoint->parameters.session,
		.sequence = sharing->number,
		.stamp = control_stamp(now),
		.window = endpoint->parameters.window,
	};
	uint8_t *records = endpoint->scratch + CTRL_HEADER_SIZE;
	const size_t before = ctrl_put_places(records, endpoint->records_capacity - size, &places);
	size_t frame_size;

	if (before == 0)
		return false;
	memcpy(records + before, sharing->records + begin, size);
	frame_size = ctrl_frame_encode(endpoint->scratch, &header, before + size);
	if (control_keyed(endpoint))
		control_seal_shared(endpoint, endpoint->scratch, &header, frame_size);
	if (!handlers->emit_shared(handlers->context, endpoint->scratch, frame_size))
		return false;
	control_count(&endpoint->totals.shared_frames, 1);
	control_count(&endpoint->totals.shared_bytes, frame_size);
	return true;
}

// The frame has been sent to a peer.
static void note_sent(struct control_endpoint *endpoint, struct peer *peer, uint32_t size,
		      uint16_t n, uint64_t now)
{
	struct sent_frame *frame = control_sent(endpoint, peer, peer->next);
	const uint32_t next_shared = endpoint->sharing.number + 1;

	if (!knows_place(endpoint, peer))
		control_tell_place(peer, peer->next, next_shared);
	*frame = (struct sent_frame){
		.sent_at = now,
		.due = now + control_timeout(endpoint, peer, 1),
		.position = peer->unsent,
		.records_size = size,
		.n_records = n,
		.next_shared = next_shared,
		.transmissions = 1,
		.shared = true,
	};
	peer->unsent += size;
	peer->next++;
	control_count(&peer->counters.shared_sent, 1);
	if (!peer->sharing.acknowledges)
		return;
	peer->ack_due = NEVER;
	peer->n_unacknowledged = 0;
}

// Sends a frame with the records from `begin` on. Returns their size, 0: none was sent.
static uint32_t send_part(struct control_endpoint *endpoint, uint32_t begin, uint64_t now)
{
	struct sharing *sharing = &endpoint->sharing;
	const size_t room = endpoint->records_capacity - CTRL_PLACES_SIZE((size_t)sharing->n_words);
	uint16_t n;
	const uint32_t size = next_part(sharing, begin, room, &n);
	unsigned n_places;

	if (n == 0)
		return 0;
	n_places = place_peers(endpoint, (unsigned)((room - size) / CTRL_PLACE_SIZE));
	if (sharing->n_peers < PEERS_LEAST || !emit_part(endpoint, begin, size, n_places, now))
		return 0;
	for (unsigned i = 0; i < sharing->n_peers; i++)
		note_sent(endpoint, sharing->peers[i], size, n, now);
	sharing->number++;
	return size;
}

unsigned control_send_shared(struct control_endpoint *endpoint, uint64_t now)
{
	struct sharing *sharing = &endpoint->sharing;
	uint32_t begin = 0, size = 1;
	unsigned n = 0;

	if (sharing->size == 0)
		return 0;
	choose_peers(endpoint, now);
	while (begin < sharing->size && size > 0) {
		size = send_part(endpoint, begin, now);
		begin += size;
		n += size > 0;
	}
	sharing->size = 0;
	sharing->n_peers = 0;
	sharing->round++;
	return n;
}
