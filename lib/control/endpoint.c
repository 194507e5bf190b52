// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Creation of an endpoint, queueing of records, and the state of a peer.
#include "control/endpoint_internal.h"

#include <stdlib.h>

#define FRAME_ALIGNMENT 64u

struct control_parameters control_defaults(void)
{
	return (struct control_parameters){
		.window = 16,
		.queue_size = 64u << 10,
		.frame_size = CTRL_DEFAULT_SIZE,
		.heartbeat_interval = UINT64_C(100000000),
		.heartbeat_timeout = UINT64_C(1000000000),
		.ack_delay = 200000,
		.rto_min = 2000000,
		.rto_max = 200000000,
	};
}

static unsigned ring_size(const struct control_parameters *parameters)
{
	unsigned size = 1;

	while (size < parameters->window)
		size *= 2;
	return size;
}

// What a frame has besides its records.
static size_t overhead(const struct control_parameters *parameters)
{
	const bool keyed = parameters->keys && parameters->keys->n > 0;

	return CTRL_HEADER_SIZE + (keyed ? CTRL_SEAL_SIZE : CTRL_CRC_SIZE);
}

static size_t records_capacity(const struct control_parameters *parameters)
{
	return (parameters->frame_size - overhead(parameters)) & ~(size_t)7;
}

static size_t frame_stride(const struct control_parameters *parameters)
{
	return round_up(CTRL_HEADER_SIZE + records_capacity(parameters), FRAME_ALIGNMENT);
}

uint64_t control_memory(const struct control_parameters *parameters)
{
	const uint64_t ring = ring_size(parameters), stride = frame_stride(parameters);
	const uint64_t peer = sizeof(struct peer) + sizeof(uint64_t) + parameters->queue_size +
			      ring * (sizeof(struct sent_frame) + sizeof(uint16_t) + stride);

	return sizeof(struct control_endpoint) + parameters->queue_size + parameters->frame_size +
	       parameters->n_peers * peer +
	       (parameters->n_peers / DUE_BLOCK + 1) * sizeof(uint64_t);
}

// Returns the reason why the list of peers is refused, or NULL if it is correct.
static const char *check_peers(const struct control_parameters *parameters)
{
	bool seen[CTRL_MAX_NODES] = { false };

	if (parameters->n_peers >= CTRL_MAX_NODES ||
	    (parameters->n_peers > 0 && !parameters->peers))
		return "n_peers is not 0 to 1023";
	if (parameters->node >= CTRL_MAX_NODES)
		return "node is not 0 to 1023";
	seen[parameters->node] = true;
	for (unsigned i = 0; i < parameters->n_peers; i++) {
		if (parameters->peers[i] >= CTRL_MAX_NODES)
			return "a peer's node number is not 0 to 1023";
		if (seen[parameters->peers[i]])
			return "a peer is named twice, or is the node itself";
		seen[parameters->peers[i]] = true;
	}
	return NULL;
}

static const char *check_parameters(const struct control_parameters *parameters)
{
	const struct control_handlers *handlers = &parameters->handlers;

	if (!handlers->deliver || !handlers->event || !handlers->emit)
		return "a handler is missing";
	if (parameters->window < 1 || parameters->window > CTRL_MAX_WINDOW)
		return "window is not 1 to 64 frames";
	if (parameters->frame_size < CTRL_MIN_MAX_SIZE || parameters->frame_size > CTRL_MAX_SIZE)
		return "frame_size is not 1228 to 65484 bytes";
	if (parameters->queue_size < parameters->frame_size ||
	    (parameters->queue_size & (parameters->queue_size - 1)) != 0)
		return "queue_size is less than frame_size, or not a power of two";
	if (parameters->session == 0)
		return "session is 0";
	if (parameters->keys && parameters->keys->n > CONTROL_MAX_KEYS)
		return "there are more than 4 keys";
	if (parameters->heartbeat_interval == 0 ||
	    parameters->heartbeat_timeout <= parameters->heartbeat_interval)
		return "heartbeat_timeout is not greater than heartbeat_interval, or that is 0";
	if (parameters->rto_min <= parameters->ack_delay ||
	    parameters->rto_max < parameters->rto_min)
		return "not ack_delay < rto_min <= rto_max";
	return check_peers(parameters);
}

static void begin_session(struct control_endpoint *endpoint, struct peer *peer, uint64_t session)
{
	endpoint->n_sessions -= control_connected(peer);
	peer->session = session;
	peer->peer_session = 0;
	peer->life++;
	peer->lost = false;
	peer->challenging = false;
	peer->response.header.peer_session = 0;
	peer->sharing.placed = false;
	control_drop_queue(peer);
}

static void init_peer(struct control_endpoint *endpoint, unsigned index)
{
	const struct control_parameters *parameters = &endpoint->parameters;
	struct peer *peer = &endpoint->peers[index];

	peer->node = parameters->peers[index];
	endpoint->peer_of[peer->node] = (uint16_t)index;
	begin_session(endpoint, peer, parameters->session);
	peer->rto = control_max(parameters->rto_min, parameters->rto_max / 8);
	peer->responded_at = parameters->now;
	peer->received_at = parameters->now;
	peer->next_heartbeat = parameters->now;
	control_plan(endpoint, peer);
}

static bool allocate_peer(struct control_endpoint *endpoint, struct peer *peer, uint8_t *memory)
{
	const uint32_t queue_size = endpoint->parameters.queue_size;
	const size_t ring = (size_t)endpoint->ring_mask + 1;

	peer->sent = calloc(ring, sizeof(*peer->sent));
	peer->receive_sizes = calloc(ring, sizeof(*peer->receive_sizes));
	peer->queue = (struct control_queue){ .bytes = memory, .size = queue_size };
	peer->receive_bytes = memory + queue_size;
	return peer->sent && peer->receive_sizes;
}

// The queues of all peers are one piece of memory: as it is large, the kernel provides its pages
// when they are first used, and most peers of a large system exchange heartbeats only.
static bool allocate_peers(struct control_endpoint *endpoint)
{
	const size_t size =
	    endpoint->parameters.queue_size + ((size_t)endpoint->ring_mask + 1) * endpoint->stride;

	endpoint->queues = calloc(endpoint->n_peers + 1, size);
	for (unsigned i = 0; endpoint->queues && i < endpoint->n_peers; i++)
		if (!allocate_peer(endpoint, &endpoint->peers[i], endpoint->queues + i * size))
			return false;
	return endpoint->queues;
}

static bool allocate(struct control_endpoint *endpoint)
{
	endpoint->due = calloc(endpoint->n_peers + 1, sizeof(*endpoint->due));
	endpoint->earliest_of =
	    calloc(endpoint->n_peers / DUE_BLOCK + 1, sizeof(*endpoint->earliest_of));
	endpoint->peers = calloc(endpoint->n_peers + 1, sizeof(*endpoint->peers));
	endpoint->scratch = calloc(1, endpoint->parameters.frame_size);
	if (!control_queue_make(&endpoint->own, endpoint->parameters.queue_size) ||
	    !endpoint->due || !endpoint->earliest_of || !endpoint->peers || !endpoint->scratch ||
	    !control_sharing_make(endpoint))
		return false;
	return allocate_peers(endpoint);
}

struct control_endpoint *control_create(const struct control_parameters *parameters,
					const char **reason)
{
	struct control_endpoint *endpoint;
	const char *ignored;

	if (!reason)
		reason = &ignored;
	*reason = check_parameters(parameters);
	if (*reason)
		return NULL;
	*reason = "out of memory";
	endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint)
		return NULL;
	endpoint->parameters = *parameters;
	endpoint->records_capacity = records_capacity(parameters);
	endpoint->queue_capacity = endpoint->records_capacity -
				   (parameters->handlers.emit_shared ? CTRL_NEXT_SHARED_SIZE : 0);
	endpoint->stride = frame_stride(parameters);
	endpoint->ring_mask = ring_size(parameters) - 1;
	endpoint->n_peers = parameters->n_peers;
	endpoint->epoch = parameters->epoch;
	endpoint->keys = parameters->keys ? *parameters->keys : (struct control_keys){ 0 };
	endpoint->keys_generation = 1;
	endpoint->now = endpoint->polled_at = parameters->now;
	if (!allocate(endpoint)) {
		control_destroy(endpoint);
		return NULL;
	}
	for (unsigned i = 0; i < CTRL_MAX_NODES; i++)
		endpoint->peer_of[i] = NOT_A_PEER;
	for (unsigned i = 0; i < endpoint->n_peers; i++)
		init_peer(endpoint, i);
	endpoint->parameters.peers = NULL; // the caller may free it
	endpoint->parameters.keys = NULL;
	*reason = NULL;
	return endpoint;
}

void control_destroy(struct control_endpoint *endpoint)
{
	if (!endpoint)
		return;
	for (unsigned i = 0; endpoint->peers && i < endpoint->n_peers; i++) {
		free(endpoint->peers[i].sent);
		free(endpoint->peers[i].receive_sizes);
	}
	free(endpoint->queues);
	free(endpoint->due);
	free(endpoint->earliest_of);
	free(endpoint->peers);
	free(endpoint->own.bytes);
	free(endpoint->scratch);
	control_sharing_free(endpoint);
	control_keys_wipe(&endpoint->keys);
	free(endpoint);
}

struct peer *control_peer(const struct control_endpoint *endpoint, unsigned node)
{
	if (node >= CTRL_MAX_NODES || endpoint->peer_of[node] == NOT_A_PEER)
		return NULL;
	return &endpoint->peers[endpoint->peer_of[node]];
}

void control_drop_queue(struct peer *peer)
{
	control_count(&peer->counters.records_dropped, peer->n_records);
	peer->n_records = 0;
	peer->queue.head = peer->queue.end;
	peer->unsent = peer->queue.end;
	peer->full_since = NEVER;
	peer->given_up = false;
	peer->first = (uint32_t)peer->session;
	peer->next = peer->first;
	peer->sharing.known = peer->sharing.stated = false;
	peer->sharing.missed = 0;
}

bool control_send(struct control_endpoint *endpoint, unsigned node, const void *bytes, size_t size)
{
	struct peer *peer = control_peer(endpoint, node);
	struct ctrl_record record;

	if (size > endpoint->queue_capacity || ctrl_record_at(bytes, size, &record) ||
	    record.size != size)
		return false;
	if (node == endpoint->parameters.node)
		return control_queue_put(&endpoint->own, bytes, (uint32_t)size);
	if (!peer)
		return false;
	if (peer->given_up || !control_queue_put(&peer->queue, bytes, (uint32_t)size)) {
		control_count(&peer->counters.refused, 1);
		return false;
	}
	peer->n_records++;
	control_count(&peer->counters.records_sent, 1);
	if (control_connected(peer) && !peer->lost)
		control_set_due(endpoint, peer, 0);
	return true;
}

size_t control_room(const struct control_endpoint *endpoint, unsigned node, size_t largest)
{
	const struct peer *peer = control_peer(endpoint, node);
	size_t room, waiting;

	if (largest < 8 || largest > endpoint->queue_capacity)
		return 0;
	// A record to the node itself may cause further records to it: half of the queue stays free
	// for those.
	if (node == endpoint->parameters.node)
		return control_queue_used(&endpoint->own) * 2 < endpoint->own.size
			   ? endpoint->own.size / 4
			   : 0;
	if (!peer)
		return 0;
	// A frame accepts records until less than the largest is left.
	room = (endpoint->parameters.window - (peer->next - peer->first)) *
	       (endpoint->queue_capacity - largest + 8);
	waiting = peer->queue.end - peer->unsent;
	room = room > waiting ? room - waiting : 0;
	return control_min(room, peer->queue.size - control_queue_used(&peer->queue));
}

uint32_t control_queued(const struct control_endpoint *endpoint, unsigned node)
{
	const struct peer *peer = control_peer(endpoint, node);

	if (node == endpoint->parameters.node)
		return endpoint->own.end;
	return peer ? peer->queue.end : 0;
}

uint32_t control_acknowledged(const struct control_endpoint *endpoint, unsigned node,
			      uint64_t *when)
{
	const struct peer *peer = control_peer(endpoint, node);

	*when = 0;
	if (node == endpoint->parameters.node) {
		*when = endpoint->own_delivered_at;
		return endpoint->own.head;
	}
	if (!peer)
		return 0;
	*when = peer->acknowledged_at;
	return peer->queue.head;
}

uint64_t control_reached(const struct control_endpoint *endpoint, unsigned node)
{
	const struct peer *peer = control_peer(endpoint, node);

	if (node == endpoint->parameters.node)
		return UINT64_MAX;
	return peer ? peer->reached_at : 0;
}

void control_give_up(struct control_endpoint *endpoint, unsigned node)
{
	struct peer *peer = control_peer(endpoint, node);

	if (!peer)
		return;
	peer->given_up = true;
	control_set_due(endpoint, peer, 0);
}

bool control_set_heartbeat(struct control_endpoint *endpoint,
			   const struct ctrl_heartbeat *heartbeat)
{
	size_t size =
	    ctrl_put_heartbeat(endpoint->heartbeat, sizeof(endpoint->heartbeat), heartbeat);

	if (size == 0)
		return false;
	endpoint->heartbeat_size = size;
	return true;
}

void control_hasten_heartbeat(struct control_endpoint *endpoint, unsigned node)
{
	struct peer *peer = control_peer(endpoint, node);

	if (!peer)
		return;
	peer->next_heartbeat = 0;
	control_plan(endpoint, peer);
}

void control_forget(struct control_endpoint *endpoint, unsigned node)
{
	struct peer *peer = control_peer(endpoint, node);

	if (!peer)
		return;
	begin_session(endpoint, peer, control_next_session(peer->session));
	peer->next_heartbeat = 0;
	control_plan(endpoint, peer);
}

uint64_t control_following_session(const struct control_endpoint *endpoint)
{
	uint64_t newest = endpoint->parameters.session;

	for (unsigned i = 0; i < endpoint->n_peers; i++) {
		const uint64_t session = control_offered_session(&endpoint->peers[i]);

		if (control_before((uint32_t)newest, (uint32_t)session))
			newest = session;
	}
	return control_next_session(newest);
}

bool control_set_keys(struct control_endpoint *endpoint, const struct control_keys *keys)
{
	if (!control_keyed(endpoint) || keys->n == 0 || keys->n > CONTROL_MAX_KEYS)
		return false;
	endpoint->keys = *keys;
	endpoint->keys_generation++;
	return true;
}

bool control_clock(const struct control_endpoint *endpoint, unsigned node, uint64_t now,
		   struct control_clock_estimate *estimate)
{
	const struct peer *peer = control_peer(endpoint, node);

	if (node == endpoint->parameters.node) {
		*estimate = (struct control_clock_estimate){ 0 };
		return true;
	}
	return peer && control_clock_estimate(&peer->clock, control_stamp(now), estimate);
}

bool control_state(const struct control_endpoint *endpoint, unsigned node, uint64_t now,
		   struct control_state *state)
{
	const struct peer *peer = control_peer(endpoint, node);

	if (!peer)
		return false;
	*state = (struct control_state){
		.connected = control_connected(peer),
		.lost = peer->lost,
		.process_ended = peer->process_ended,
		.alive = control_is_alive(endpoint, peer, now),
		.occupied = peer->occupied,
		.queued = peer->n_records,
		.attempts = peer->next == peer->first
				? 0
				: control_sent(endpoint, peer, peer->first)->transmissions,
		.rtt = peer->rtt,
		.rto = peer->rto,
		.received_ago = now - peer->received_at,
	};
	return true;
}

const struct control_counters *control_counters(const struct control_endpoint *endpoint,
						unsigned node)
{
	const struct peer *peer = control_peer(endpoint, node);

	return peer ? &peer->counters : NULL;
}

const struct control_totals *control_totals(const struct control_endpoint *endpoint)
{
	return &endpoint->totals;
}
