// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which connections end so that others have room: see connection.h.
#include "roce/connection_internal.h"

#define MUTE_TIMEOUTS 4u  // response_timeouts
#define SAMPLES       32u // connections looked at, at random

static bool is_of(const struct connection *connection, const struct qp_address *peer)
{
	return qp_address_is(&connection->peer.address, peer);
}

// The packets from the peer that have arrived, repeated ones included.
static uint64_t arrived(const struct queue_pair *qp)
{
	return qp->counters.packets + qp->counters.responses +
	       qp->counters.drops[QP_DROP_DUPLICATE];
}

// How long no packet of an established connection has arrived, ns.
static uint64_t silence_of(struct connection *connection, uint64_t now)
{
	uint64_t packets = arrived(connection->qp);

	if (packets != connection->packets) {
		connection->packets = packets;
		connection->heard = now;
	}
	return now - connection->heard;
}

bool cm_is_alive(const struct cm *cm, struct connection *connection, uint64_t now)
{
	return connection->stage == CM_STAGE_ESTABLISHED &&
	       silence_of(connection, now) < cm->parameters.silence;
}

// Ends an established connection with one message to the peer. If it is lost, its next packet finds
// no queue pair.
static void leave(struct cm *cm, struct connection *connection, uint64_t now)
{
	cm_set_stage(cm, connection, CM_STAGE_LEAVING);
	connection->transaction = random_next(&cm->random);
	cm_send(cm, connection, now);
	cm_end(cm, connection, CM_DISCONNECTED);
}

static void drop_idle(struct cm *cm, struct connection *connection, uint64_t now)
{
	if (connection == NULL)
		return;
	qp_count(&cm->counters.idle, 1);
	leave(cm, connection, now);
}

static bool is_idle(const struct cm *cm, struct connection *connection, uint64_t now)
{
	return connection->stage == CM_STAGE_ESTABLISHED && cm->parameters.idle_timeout != 0 &&
	       silence_of(connection, now) >= cm->parameters.idle_timeout;
}

void cm_judge_silence(struct cm *cm, struct connection *connection, uint64_t now)
{
	uint64_t silence = silence_of(connection, now);
	const struct connection *quietest =
	    cm->quietest != CM_NONE ? &cm->connections[cm->quietest] : NULL;

	if (connection->is_doubtful && silence >= cm->parameters.silence) {
		qp_count(&cm->counters.restarted, 1);
		leave(cm, connection, now);
		return;
	}
	if (quietest == NULL || quietest->stage != CM_STAGE_ESTABLISHED ||
	    connection->heard < quietest->heard)
		cm->quietest = connection->id & cm->index_mask;
}

// The connection of a peer that has been silent longest, if it may be ended; NULL if there is none.
static struct connection *find_idle(struct cm *cm, const struct qp_address *peer, uint64_t now)
{
	struct connection *found = NULL;

	for (uint32_t i = cm_first_of_peer(cm, peer); i != CM_NONE; i = cm->connections[i].chain) {
		struct connection *connection = &cm->connections[i];

		if (is_of(connection, peer) && is_idle(cm, connection, now) &&
		    (found == NULL || connection->heard < found->heard))
			found = connection;
	}
	return found;
}

// Whether nothing has arrived from a peer long after it connected.
static bool is_mute(const struct cm *cm, const struct connection *connection, uint64_t now)
{
	return connection->stage == CM_STAGE_ESTABLISHED && !connection->active &&
	       arrived(connection->qp) == 0 &&
	       now - connection->opened >= MUTE_TIMEOUTS * cm->parameters.response_timeout;
}

// One of the mute connections, if there are many; NULL if none is found.
static struct connection *find_mute(struct cm *cm, uint64_t now)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct connection *connection =
		    &cm->connections[random_below(&cm->random, cm->parameters.connections)];

		if (is_mute(cm, connection, now))
			return connection;
	}
	return NULL;
}

// The same of all connections, or one that is mute.
static struct connection *find_idle_of_any(struct cm *cm, uint64_t now)
{
	struct connection *quietest =
	    cm->quietest != CM_NONE ? &cm->connections[cm->quietest] : NULL;

	return quietest != NULL && is_idle(cm, quietest, now) ? quietest : find_mute(cm, now);
}

// Drops a half-open connection; false if there is none, or if it is established by data that has
// arrived just now.
static bool drop_half_open(struct cm *cm, struct connection *connection)
{
	if (connection == NULL || cm_establish_by_data(cm, connection))
		return false;
	qp_count(&cm->counters.early_drops, 1);
	cm_end(cm, connection, CM_FAILED);
	return true;
}

// Any one of a peer's half-open connections, each with the same probability. NULL if we opened it.
static struct connection *choose_half_open(struct cm *cm, const struct qp_address *peer)
{
	struct connection *chosen = NULL;
	uint32_t n = 0;

	for (uint32_t i = cm_first_of_peer(cm, peer); i != CM_NONE; i = cm->connections[i].chain) {
		struct connection *connection = &cm->connections[i];

		if (is_of(connection, peer) && cm_is_half_open(connection) &&
		    random_below(&cm->random, ++n) == 0)
			chosen = connection;
	}
	return chosen != NULL && chosen->active ? NULL : chosen;
}

// Any one of all half-open connections; NULL if there is none, or if we opened it.
static struct connection *choose_any_half_open(struct cm *cm)
{
	struct connection *chosen;

	if (cm->n_half_open == 0)
		return NULL;
	chosen = &cm->connections[cm->half[random_below(&cm->random, cm->n_half_open)]];
	return chosen->active ? NULL : chosen;
}

void cm_count_of_peer(const struct cm *cm, const struct qp_address *peer, uint32_t *all,
		      uint32_t *half_open)
{
	*all = *half_open = 0;
	for (uint32_t i = cm_first_of_peer(cm, peer); i != CM_NONE; i = cm->connections[i].chain) {
		const struct connection *connection = &cm->connections[i];

		if (!is_of(connection, peer) || connection->stage == CM_STAGE_ENDED)
			continue;
		++*all;
		*half_open += cm_is_half_open(connection);
	}
}

void cm_make_room(struct cm *cm, const struct qp_address *peer, uint64_t now)
{
	const struct cm_parameters *p = &cm->parameters;
	struct connection *idle;
	uint32_t n, n_half_open;
	bool has_room = false;

	cm_count_of_peer(cm, peer, &n, &n_half_open);
	if (n_half_open >= p->half_open_of_peer)
		has_room = drop_half_open(cm, choose_half_open(cm, peer));
	else if (cm->n_half_open >= p->half_open - p->half_open / 4)
		has_room = drop_half_open(cm, choose_any_half_open(cm));
	if (n >= p->of_peer) {
		drop_idle(cm, find_idle(cm, peer, now), now);
	} else if (!has_room && cm->n_open + 1 >= p->connections) {
		idle = find_idle_of_any(cm, now);
		if (idle != NULL)
			drop_idle(cm, idle, now);
		else
			(void)drop_half_open(cm, choose_any_half_open(cm));
	}
}

// Whether a peer's new connection uses the queue pair or the id of its old one.
static bool replaces(const struct connection *connection, const struct connection *old)
{
	return connection->is_board == old->is_board &&
	       (connection->peer_qpn == old->peer_qpn ||
		(!old->is_board && !old->active && !connection->active &&
		 connection->remote_id == old->remote_id));
}

void cm_replace_others(struct cm *cm, const struct connection *connection)
{
	uint32_t i = cm_first_of_peer(cm, &connection->peer.address);

	for (; i != CM_NONE; i = cm->connections[i].chain) {
		struct connection *old = &cm->connections[i];

		if (old == connection || !is_of(old, &connection->peer.address) ||
		    old->stage != CM_STAGE_ESTABLISHED)
			continue;
		if (replaces(connection, old)) {
			qp_count(&cm->counters.restarted, 1);
			cm_end(cm, old, CM_DISCONNECTED);
		} else if (!connection->active && !old->active && !connection->is_board) {
			old->is_doubtful |= old->guid != connection->guid;
		}
	}
}
