// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Receiving frames that were sent by multicast. Such a frame names no session of this node. It is
// accepted only behind a frame to this node alone, of the present sessions, that named a shared
// frame as the next one: with this one the sender's view of the session began, and all shared
// frames from it on belong to this session.
#include "control/endpoint_internal.h"

#define FROM_FAR  (1u << 16) // shared frames after which `from` is moved
#define FROM_NEAR (1u << 15)

// The frame `sequence` states this node's offset: the frame behind it would be the shared frame
// next_shared. The newest frame is right.
static void take_offset(struct peer *peer, uint32_t sequence, uint32_t next_shared)
{
	struct peer_sharing *own = &peer->sharing;

	if (own->placed && !control_before(own->placed_by, sequence))
		return;
	own->placed = true;
	own->placed_by = sequence;
	own->offset = sequence + 1 - next_shared;
	own->from = next_shared;
}

static void take_next(struct peer *peer, uint32_t sequence, const struct ctrl_next_shared *next)
{
	// All frames of an endpoint say the same.
	peer->sharing.session = (peer->peer_session & ~(uint64_t)UINT32_MAX) | next->session;
	take_offset(peer, sequence, next->number);
}

void control_take_place(struct peer *peer, const struct ctrl_frame *frame)
{
	struct ctrl_next_shared next;
	struct ctrl_record record;
	size_t offset = 0;

	if (ctrl_next_record(frame, &offset, &record) &&
	    ctrl_get_next_shared(&record, &next) == WIRE_OK)
		take_next(peer, frame->header.sequence, &next);
}

// Whether a shared frame belongs to the present sessions.
static bool is_of_session(const struct control_endpoint *endpoint, const struct peer *peer,
			  const struct ctrl_header *header)
{
	const struct peer_sharing *own = &peer->sharing;

	return control_connected(peer) && !peer->lost && header->epoch == endpoint->epoch &&
	       own->placed && header->session == own->session &&
	       !control_before(header->sequence, own->from);
}

// What a shared frame says about one node.
struct own_places {
	bool is_for_node, has_sequence, has_acknowledgement;
	uint32_t sequence, acknowledgement;
};

static bool read_places(const struct ctrl_frame *frame, unsigned node, struct own_places *own)
{
	struct ctrl_places list;
	struct ctrl_record record;
	size_t offset = 0;

	*own = (struct own_places){ 0 };
	if (!ctrl_next_record(frame, &offset, &record) ||
	    ctrl_get_places(&record, &list) != WIRE_OK)
		return false;
	own->is_for_node = ctrl_places_has(&list, node);
	for (unsigned i = 0; i < list.n; i++) {
		const struct ctrl_place place = ctrl_place_at(&list, i);

		if (place.node != node)
			continue;
		if (place.kind == CTRL_PLACE_SEQUENCE) {
			own->has_sequence = true;
			own->sequence = place.number;
		} else {
			own->has_acknowledgement = true;
			own->acknowledgement = place.number;
		}
	}
	return true;
}

// Only the newest shared frame acknowledges.
static void take_newest(const struct control_endpoint *endpoint, struct peer *peer,
			const struct ctrl_header *header, const struct own_places *own,
			uint64_t now)
{
	const struct ctrl_header acknowledging = {
		.acknowledgement = own->acknowledgement,
		.window = header->window,
	};
	struct peer_sharing *sharing = &peer->sharing;

	if (sharing->has_newest && !control_before(sharing->newest, header->sequence))
		return;
	sharing->has_newest = true;
	sharing->newest = header->sequence;
	if (own->has_acknowledgement)
		control_take_acknowledgement(endpoint, peer, &acknowledging, now);
}

void control_take_shared(struct control_endpoint *endpoint, struct peer *peer,
			 const struct ctrl_frame *frame, uint64_t now)
{
	const uint32_t number = frame->header.sequence;
	struct peer_sharing *sharing = &peer->sharing;
	struct ctrl_frame own_frame = *frame;
	struct own_places own;

	if (!is_of_session(endpoint, peer, &frame->header) ||
	    !read_places(frame, endpoint->parameters.node, &own) || !own.is_for_node) {
		control_count(&peer->counters.shared_ignored, 1);
		return;
	}
	control_count(&peer->counters.frames_received, 1);
	control_count(&peer->counters.shared_received, 1);
	take_newest(endpoint, peer, &frame->header, &own, now);
	if (number - sharing->from > FROM_FAR)
		sharing->from = number - FROM_NEAR;
	own_frame.header.sequence = own.has_sequence ? own.sequence : number + sharing->offset;
	if (own.has_sequence)
		take_offset(peer, own.sequence, number + 1);
	control_take_sequenced(endpoint, peer, &own_frame, now);
}
