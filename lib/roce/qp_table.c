// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/qp_table.h"

#include <stdlib.h>

uint64_t qp_table_memory(uint32_t n)
{
	return (uint64_t)n * (sizeof(struct queue_pair) + sizeof(uint32_t));
}

bool qp_table_create(struct qp_table *table, uint32_t n)
{
	*table = (struct qp_table){ 0 };
	if (n < 2 || n > QP_TABLE_MOST || (n & (n - 1)) != 0)
		return false;
	table->qps = aligned_alloc(QP_CACHE_LINE, n * sizeof(*table->qps));
	table->free = calloc(n, sizeof(*table->free));
	if (table->qps == NULL || table->free == NULL) {
		qp_table_destroy(table);
		return false;
	}
	memset(table->qps, 0, n * sizeof(*table->qps));
	table->mask = n - 1;
	for (uint32_t i = 0; i < n; i++) {
		table->qps[i].qpn = i;
		table->qps[i].index = i;
		table->free[i] = i;
	}
	return true;
}

void qp_table_destroy(struct qp_table *table)
{
	free(table->qps);
	free(table->free);
	*table = (struct qp_table){ 0 };
}

// Another number for a free place: the low bits stay.
static uint32_t choose_number(struct qp_table *table, const struct queue_pair *qp)
{
	uint32_t upper = ROCE_24_BITS & ~table->mask & ~table->fixed_mask, qpn;

	do {
		qpn = ((uint32_t)random_next(&table->random) & upper) | qp->index | table->fixed;
	} while (qpn < 2 || qpn == qp->qpn);
	return qpn;
}

// Takes a place from the free ones, any or that of the wanted number.
static struct queue_pair *take_place(struct qp_table *table, uint32_t qpn)
{
	uint32_t n = table->mask + 1 - table->n_open, at = 0, index;

	if (n == 0 || qpn == 1 || qpn > ROCE_24_BITS)
		return NULL;
	if (qpn == QP_NUMBER_AUTO)
		at = random_below(&table->random, n);
	else
		while (at < n && table->free[at] != (qpn & table->mask))
			at++;
	if (at == n)
		return NULL;
	index = table->free[at];
	table->free[at] = table->free[n - 1];
	return &table->qps[index];
}

// Clears all fields except those that belong to the table and to the lists of the engines.
static void clear(struct queue_pair *qp)
{
	struct queue_pair empty = {
		.index = qp->index,
		.responder_listed = qp->responder_listed,
		.requester_listed = qp->requester_listed,
		.completion_listed = qp->completion_listed,
		.deadline = UINT64_MAX,
	};

	*qp = empty;
}

struct queue_pair *qp_open(struct qp_table *table, enum roce_service service, uint32_t qpn,
			   uint64_t now)
{
	struct queue_pair *qp;

	if (service != ROCE_RC && service != ROCE_UC && service != ROCE_UD)
		return NULL;
	qp = take_place(table, qpn);
	if (qp == NULL)
		return NULL;
	if (qpn == QP_NUMBER_AUTO)
		qpn = choose_number(table, qp);
	clear(qp);
	qp->qpn = qpn;
	qp->service = (uint8_t)service;
	qp->state = QP_OPEN;
	qp->opened = now;
	table->n_open++;
	return qp;
}

static bool is_path_mtu(uint32_t bytes)
{
	return roce_mtu_bytes(roce_mtu_code(bytes)) == bytes && bytes != 0;
}

bool qp_connect(struct queue_pair *qp, const struct qp_connection *connection)
{
	struct queue_pair old = *qp;

	if (qp->state == QP_FREE || connection->peer_qpn > ROCE_24_BITS ||
	    connection->local_psn > ROCE_24_BITS || connection->peer_psn > ROCE_24_BITS ||
	    !is_path_mtu(connection->path_mtu) || connection->timeout_code > 31 ||
	    connection->retry_count > 7 || connection->rnr_retry > 7 ||
	    (connection->access & ~(QP_MAY_WRITE | QP_MAY_READ)) != 0)
		return false;
	clear(qp);
	qp->qpn = old.qpn;
	qp->service = old.service;
	qp->opened = old.opened;
	qp->counters = old.counters;
	qp->state = QP_READY;
	qp->peer = connection->peer;
	qp->peer_qpn = connection->peer_qpn;
	qp->partition_key = connection->partition_key;
	qp->path_mtu = (uint16_t)connection->path_mtu;
	qp->qkey = connection->qkey;
	qp->access = connection->access;
	qp->user = connection->user;
	qp->expected_psn = connection->peer_psn;
	qp->newest_psn = roce_psn_add(connection->peer_psn, ROCE_24_BITS);
	qp->first_psn = connection->local_psn;
	qp->next_psn = connection->local_psn;
	qp->end_psn = connection->local_psn;
	qp->post_psn = connection->local_psn;
	qp->ack_requested_psn = connection->local_psn;
	qp->window = UINT32_MAX;
	qp->timeout_code = connection->timeout_code;
	qp->retry_count = connection->retry_count;
	qp->retries = connection->retry_count;
	qp->rnr_retry_count = connection->rnr_retry;
	qp->rnr_retries = connection->rnr_retry;
	qp->max_reads = connection->max_reads;
	return true;
}

void qp_fail(struct queue_pair *qp, enum qp_cause cause)
{
	if (qp->state == QP_FREE)
		return;
	if (qp->state != QP_ERROR)
		qp->cause = (uint8_t)cause;
	qp->state = QP_ERROR;
}

void qp_close(struct qp_table *table, struct queue_pair *qp)
{
	if (qp->state == QP_FREE)
		return;
	qp->state = QP_FREE;
	table->n_open--;
	table->free[table->mask - table->n_open] = qp->index;
}
