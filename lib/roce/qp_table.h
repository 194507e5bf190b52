// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// All queue pairs of one lcore, indexed directly by the low bits of their number. The upper bits
// change each time that a place is used again, so that packets for a queue pair that is gone do not
// reach the one that came after it.
#pragma once

#include "roce/queue_pair.h"

#define QP_TABLE_MOST  65536u
#define QP_NUMBER_AUTO 0u        // qp_open() chooses; 0 and 1 are management's
#define QP_NUMBER_SIDE 0x800000u // of a port that receives and sends: set in those that send

struct qp_table {
	struct queue_pair *qps; // [mask + 1]
	uint32_t mask;
	uint32_t n_open;
	uint32_t scan; // where the search for a free place goes on
	// Bits that all numbers chosen here have, where two tables share an address: to be set
	// before the first is opened.
	uint32_t fixed_mask, fixed;
};

// Room for n queue pairs, a power of two, 2..QP_TABLE_MOST. False if memory ran out.
bool qp_table_create(struct qp_table *table, uint32_t n);
void qp_table_destroy(struct qp_table *table);

// Bytes that a table of n allocates, for the plan.
uint64_t qp_table_memory(uint32_t n);

// The queue pair of this number, in whichever state; NULL if there is none.
static inline struct queue_pair *qp_find(const struct qp_table *table, uint32_t qpn)
{
	struct queue_pair *qp = &table->qps[qpn & table->mask];

	return qp->qpn == qpn && qp->state != QP_FREE ? qp : NULL;
}

// A queue pair of RC, UC or UD in state QP_OPEN. `qpn` is QP_NUMBER_AUTO or the number wanted,
// 2..0xFFFFFF. NULL if the table is full, or the wanted number's place is taken.
struct queue_pair *qp_open(struct qp_table *table, enum roce_service service, uint32_t qpn,
			   uint64_t now);

// Connects an open queue pair, or connects one anew: both halves start afresh, counters go on.
// Messages that were posted and not completed are forgotten without completion (close first to have
// them told). False, and nothing changed, if a number is out of range.
bool qp_connect(struct queue_pair *qp, const struct qp_connection *connection);

// Ends the connection of a queue pair: it is silent from now on.
void qp_fail(struct queue_pair *qp, enum qp_cause cause);

// Ends a queue pair; its number is not used again soon. See requester_flush() for what was posted.
void qp_close(struct qp_table *table, struct queue_pair *qp);
