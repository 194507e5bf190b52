// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/connection_internal.h"

#include <stdlib.h>

#define MOST_CONNECTIONS (QP_TABLE_MOST + 1)
#define REQ_PRIVATE      (92u - ROCE_CM_IP_SIZE)
#define OF_NUMBERS       1 // purpose of random numbers

static bool parameters_are_valid(const struct cm_parameters *p)
{
	return p->table != NULL && p->connections >= 1 && p->connections <= MOST_CONNECTIONS &&
	       p->half_open >= 1 && p->half_open_of_peer >= 1 && p->of_peer >= 1 &&
	       p->response_timeout > 0 && p->accept_timeout > 0 && p->timeout_code < 32 &&
	       p->retry_count <= 7 && p->rnr_retry <= 7 && roce_mtu_code(p->path_mtu) != 0;
}

// The smallest power of two that is at least n.
static uint32_t power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 2u << (31 - __builtin_clz(n - 1));
}

struct cm *cm_create(const struct cm_parameters *parameters)
{
	struct cm *cm;
	uint32_t n;

	if (!parameters_are_valid(parameters))
		return NULL;
	cm = calloc(1, sizeof(*cm));
	if (cm == NULL)
		return NULL;
	n = parameters->connections;
	cm->parameters = *parameters;
	cm->random.state = parameters->seed;
	cm->parameters.table->random = random_fork(parameters->seed, OF_NUMBERS);
	cm->bucket_mask = power_of_two(2 * n) - 1;
	cm->list_mask = power_of_two(n) - 1;
	cm->index_mask = cm->list_mask;
	cm->quietest = CM_NONE;
	cm->connections = calloc(n, sizeof(*cm->connections));
	cm->buckets = malloc((cm->bucket_mask + 1) * sizeof(*cm->buckets));
	cm->listed = calloc(cm->list_mask + 1, sizeof(*cm->listed));
	cm->half = calloc(n, sizeof(*cm->half));
	if (cm->connections == NULL || cm->buckets == NULL || cm->listed == NULL ||
	    cm->half == NULL) {
		cm_destroy(cm);
		return NULL;
	}
	memset(cm->buckets, 0xFF, (cm->bucket_mask + 1) * sizeof(*cm->buckets)); // CM_NONE
	for (uint32_t i = 0; i < n; i++) {
		cm->connections[i].chain = i + 1 < n ? i + 1 : CM_NONE;
		cm->connections[i].id = i;
	}
	cm->psn = (uint32_t)random_next(&cm->random) & ROCE_24_BITS;
	return cm;
}

void cm_destroy(struct cm *cm)
{
	if (cm == NULL)
		return;
	free(cm->connections);
	free(cm->buckets);
	free(cm->listed);
	free(cm->half);
	free(cm);
}

struct connection *cm_find(struct cm *cm, uint32_t id)
{
	uint32_t index = id & cm->index_mask;

	if (index >= cm->parameters.connections || cm->connections[index].id != id ||
	    cm->connections[index].stage == CM_STAGE_FREE)
		return NULL;
	return &cm->connections[index];
}

static uint32_t *bucket_of(const struct cm *cm, const struct qp_address *peer)
{
	uint64_t mixed = random_mix(load_le64(peer->bytes) + cm->parameters.seed);

	mixed = random_mix(mixed ^ load_le64(peer->bytes + 8));
	return &cm->buckets[mixed & cm->bucket_mask];
}

uint32_t cm_first_of_peer(const struct cm *cm, const struct qp_address *peer)
{
	return *bucket_of(cm, peer);
}

// Whether a peer may open one more connection.
static bool is_within_bounds(const struct cm *cm, const struct qp_address *peer)
{
	uint32_t n, n_half_open;

	if (cm->free == CM_NONE || cm->n_half_open >= cm->parameters.half_open)
		return false;
	cm_count_of_peer(cm, peer, &n, &n_half_open);
	return n < cm->parameters.of_peer && n_half_open < cm->parameters.half_open_of_peer;
}

// Another id for a free connection. It is never 0: cm_connect() returns 0 for a failure.
static uint32_t choose_id(struct cm *cm, uint32_t old)
{
	uint32_t index = old & cm->index_mask, id;

	do {
		id = (uint32_t)random_next(&cm->random) & ~cm->index_mask & ~CM_ID_SIDE;
		id |= index | (cm->parameters.side != 0 ? CM_ID_SIDE : 0);
	} while (id == 0 || id == old);
	return id;
}

struct connection *cm_open_connection(struct cm *cm, const struct cm_peer *peer, uint64_t now)
{
	struct connection *connection;
	uint32_t *bucket, index;
	bool listed;

	if (!is_within_bounds(cm, &peer->address))
		return NULL;
	bucket = bucket_of(cm, &peer->address);
	index = cm->free;
	connection = &cm->connections[index];
	listed = connection->listed;
	cm->free = connection->chain;
	*connection = (struct connection){
		.id = choose_id(cm, connection->id),
		.chain = *bucket,
		.peer = *peer,
		.listed = listed,
		.opened = now,
		.heard = now,
		.peer_psn = (uint32_t)random_next(&cm->random) & ROCE_24_BITS,
		.transaction = random_next(&cm->random),
		.partition_key = ROCE_DEFAULT_P_KEY,
		.timeout_code = cm->parameters.timeout_code,
		.retry_count = cm->parameters.retry_count,
		.rnr_retry = cm->parameters.rnr_retry,
		.reads_in = cm->parameters.max_reads,
		.reads_out = cm->parameters.max_reads,
	};
	*bucket = index;
	cm->n_open++;
	return connection;
}

static void forget(struct cm *cm, struct connection *connection)
{
	uint32_t index = connection->id & cm->index_mask;
	uint32_t *link = bucket_of(cm, &connection->peer.address);

	cm_set_stage(cm, connection, CM_STAGE_FREE);
	while (*link != index)
		link = &cm->connections[*link].chain;
	*link = connection->chain;
	connection->events = 0;
	connection->chain = cm->free;
	cm->free = index;
	cm->n_open--;
}

void cm_set_stage(struct cm *cm, struct connection *connection, enum cm_stage stage)
{
	bool was_half_open = cm_is_half_open(connection);

	connection->stage = (uint8_t)stage;
	if (cm_is_half_open(connection) == was_half_open)
		return;
	if (was_half_open) {
		uint32_t last = cm->half[--cm->n_half_open];

		cm->half[connection->half_at] = last;
		cm->connections[last].half_at = connection->half_at;
	} else {
		connection->half_at = cm->n_half_open;
		cm->half[cm->n_half_open++] = connection->id & cm->index_mask;
	}
}

void cm_report(struct cm *cm, struct connection *connection, enum cm_event_kind event)
{
	connection->events |= (uint8_t)(1u << event);
	if (connection->listed)
		return;
	connection->listed = true;
	cm->listed[cm->list_tail++ & cm->list_mask] = connection->id & cm->index_mask;
}

void cm_end(struct cm *cm, struct connection *connection, enum cm_event_kind event)
{
	if (connection->stage == CM_STAGE_ENDED)
		return;
	if (connection->qp != NULL)
		qp_fail(connection->qp, QP_CLOSED);
	if (connection->events & (1u << CM_REQUESTED)) {
		forget(cm, connection);
		return;
	}
	cm_set_stage(cm, connection, CM_STAGE_ENDED);
	cm_report(cm, connection, event);
}

void cm_end_by_peer(struct cm *cm, struct connection *connection)
{
	qp_count(&cm->counters.disconnected, 1);
	cm_end(cm, connection, CM_DISCONNECTED);
}

void cm_establish(struct cm *cm, struct connection *connection)
{
	cm_replace_others(cm, connection);
	cm_set_stage(cm, connection, CM_STAGE_ESTABLISHED);
	qp_count(&cm->counters.established, 1);
	cm_report(cm, connection, CM_ESTABLISHED);
}

bool cm_establish_by_data(struct cm *cm, struct connection *connection)
{
	if (connection->stage != CM_STAGE_ACCEPTED || !cm_has_proof(connection))
		return false;
	cm_establish(cm, connection);
	return true;
}

bool cm_connect_qp(struct connection *connection)
{
	const struct qp_connection to = {
		.peer = connection->peer.address,
		.peer_qpn = connection->peer_qpn,
		.local_psn = connection->local_psn,
		.peer_psn = connection->peer_psn,
		.path_mtu = connection->path_mtu,
		.partition_key = connection->partition_key,
		.access = connection->access,
		.timeout_code = connection->timeout_code,
		.retry_count = connection->retry_count,
		.rnr_retry = connection->rnr_retry,
		.max_reads = connection->reads_out,
		.user = connection->user,
	};

	return qp_connect(connection->qp, &to);
}

bool cm_next_event(struct cm *cm, struct cm_event *event)
{
	while (cm->list_head != cm->list_tail) {
		struct connection *connection =
		    &cm->connections[cm->listed[cm->list_head & cm->list_mask]];
		unsigned kind;

		if (connection->events == 0) {
			connection->listed = false;
			cm->list_head++;
			continue;
		}
		kind = (unsigned)__builtin_ctz(connection->events);
		connection->events &= (uint8_t)(connection->events - 1);
		*event = (struct cm_event){
			.kind = (enum cm_event_kind)kind,
			.id = connection->id,
			.qp = connection->qp,
			.user = connection->user,
			.peer = connection->peer,
			.peer_qpn = connection->peer_qpn,
			.port = connection->port,
			.service = connection->service,
			.reason = connection->reason,
			.private_size = connection->peer_size,
		};
		memcpy(event->private_data, connection->peer_private, connection->peer_size);
		return true;
	}
	return false;
}

static void store_private(struct connection *connection, const uint8_t *data, uint8_t size)
{
	connection->own_size = size;
	if (size > 0)
		memcpy(connection->own_private, data, size);
}

// Refuses the peer that requested a connection.
static void refuse(struct cm *cm, const struct connection *connection, enum roce_cm_reason reason)
{
	if (connection->is_board)
		cm_refuse_board(cm, connection, reason);
	else
		cm_refuse_request(cm, connection, reason);
	qp_count(&cm->counters.refused, 1);
}

bool cm_accept(struct cm *cm, uint32_t id, const struct cm_acceptance *acceptance, uint64_t now)
{
	struct connection *connection = cm_find(cm, id);

	if (connection == NULL || connection->stage != CM_STAGE_REQUESTED ||
	    acceptance->private_size > CM_PRIVATE_SIZE)
		return false;
	connection->user = acceptance->user;
	connection->access = acceptance->access;
	connection->qp = qp_open(cm->parameters.table, (enum roce_service)connection->service,
				 QP_NUMBER_AUTO, now);
	if (connection->qp == NULL || !cm_connect_qp(connection)) {
		refuse(cm, connection, ROCE_CM_NO_QP);
		cm_end(cm, connection, CM_FAILED);
		return false;
	}
	store_private(connection, acceptance->private_data, acceptance->private_size);
	connection->own_board = (struct feroce_qp){
		.base_address = acceptance->address,
		.rkey = acceptance->rkey,
		.ip = load_be32(cm->parameters.address.bytes + 12),
		.qpn = connection->qp->qpn,
		.psn = connection->local_psn,
	};
	cm_set_stage(cm, connection, CM_STAGE_ACCEPTED);
	connection->tries = cm->parameters.retries;
	cm_send(cm, connection, now);
	return true;
}

bool cm_refuse(struct cm *cm, uint32_t id, enum roce_cm_reason reason)
{
	struct connection *connection = cm_find(cm, id);

	if (connection == NULL || connection->stage != CM_STAGE_REQUESTED)
		return false;
	refuse(cm, connection, reason);
	forget(cm, connection);
	return true;
}

uint32_t cm_connect(struct cm *cm, const struct cm_destination *destination, uint64_t now)
{
	const struct cm_peer peer = { .address = destination->peer };
	struct connection *connection;

	if ((destination->service != ROCE_RC && destination->service != ROCE_UC) ||
	    destination->private_size > REQ_PRIVATE ||
	    roce_mtu_bytes(roce_mtu_code(destination->path_mtu)) != destination->path_mtu)
		return 0;
	connection = cm_open_connection(cm, &peer, now);
	if (connection == NULL)
		return 0;
	connection->qp = qp_open(cm->parameters.table, (enum roce_service)destination->service,
				 QP_NUMBER_AUTO, now);
	if (connection->qp == NULL) {
		forget(cm, connection);
		return 0;
	}
	connection->active = true;
	connection->service = destination->service;
	connection->port = destination->port;
	connection->path_mtu = destination->path_mtu;
	connection->user = destination->user;
	connection->access = destination->access;
	connection->tries = cm->parameters.retries;
	store_private(connection, destination->private_data, destination->private_size);
	cm_set_stage(cm, connection, CM_STAGE_CONNECTING);
	cm_send(cm, connection, now);
	return connection->id;
}

bool cm_disconnect(struct cm *cm, uint32_t id, uint64_t now)
{
	struct connection *connection = cm_find(cm, id);

	if (connection == NULL ||
	    (connection->stage != CM_STAGE_ESTABLISHED && connection->stage != CM_STAGE_ACCEPTED))
		return false;
	cm_set_stage(cm, connection, CM_STAGE_LEAVING);
	connection->tries = cm->parameters.retries;
	connection->transaction = random_next(&cm->random);
	cm_send(cm, connection, now);
	return true;
}

void cm_release(struct cm *cm, uint32_t id)
{
	struct connection *connection = cm_find(cm, id);

	if (connection == NULL || connection->stage != CM_STAGE_ENDED)
		return;
	if (connection->qp != NULL)
		qp_close(cm->parameters.table, connection->qp);
	forget(cm, connection);
}

const struct cm_counters *cm_counters(const struct cm *cm)
{
	return &cm->counters;
}

uint32_t cm_open_connections(const struct cm *cm)
{
	return cm->n_open;
}
