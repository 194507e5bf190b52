// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// All queue pairs of one lcore, indexed directly by the low bits of their number. Place and upper
// bits are chosen at random, so that neither a guess nor a number of an earlier run is likely to
// name an open queue pair. A place gets another number each time it is used again, so that packets
// for a closed queue pair do not reach its successor.
#pragma once

#include "base/random.h"
#include "roce/queue_pair.h"

#define QP_TABLE_MOST  65536u
#define QP_NUMBER_AUTO 0u        // qp_open() chooses; numbers 0 and 1 are reserved for management
#define QP_NUMBER_SIDE 0x800000u // set in the numbers of queue pairs that send, if a port does both

struct qp_table {
	struct queue_pair *qps; // [mask + 1]
	uint32_t mask;
	uint32_t n_open;
	uint32_t *free;       // [mask + 1 - n_open] places, in any order
	struct random random; // of the numbers; cm_create() seeds it
	// Where two tables share an address: a mask of bits, and their value in all numbers that
	// qp_open() chooses. Set both before the first queue pair is opened.
	uint32_t fixed_mask, fixed;
};

// Allocates n places, a power of two, 2..QP_TABLE_MOST. False if memory ran out. Without another
// seed the numbers are the same at each start.
bool qp_table_create(struct qp_table *table, uint32_t n);
void qp_table_destroy(struct qp_table *table);

// Bytes that a table with n places allocates; used by the plan.
uint64_t qp_table_memory(uint32_t n);

// The queue pair with this number, in any state except QP_FREE; NULL if there is none.
static inline struct queue_pair *qp_find(const struct qp_table *table, uint32_t qpn)
{
	struct queue_pair *qp = &table->qps[qpn & table->mask];

	return qp->qpn == qpn && qp->state != QP_FREE ? qp : NULL;
}

// Opens a queue pair for RC, UC or UD, in state QP_OPEN. `qpn` is QP_NUMBER_AUTO or the wanted
// number, 2..0xFFFFFF. NULL if the table is full or the place of the wanted number is in use.
struct queue_pair *qp_open(struct qp_table *table, enum roce_service service, uint32_t qpn,
			   uint64_t now);

// Connects an open queue pair, or reconnects a connected one: requester and responder start from
// the beginning, the counters continue. Messages that are posted but not completed are discarded
// without a completion (close the queue pair first to get their completions). Returns false, and
// changes nothing, if a number is out of range.
bool qp_connect(struct queue_pair *qp, const struct qp_connection *connection);

// Ends the connection of a queue pair: it sends nothing from then on.
void qp_fail(struct queue_pair *qp, enum qp_cause cause);

// Closes a queue pair. The next one in its place has another number. requester_flush() completes
// the posted messages.
void qp_close(struct qp_table *table, struct queue_pair *qp);
