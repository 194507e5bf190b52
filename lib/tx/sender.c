// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "tx/sender.h"

#include <string.h>

#include <rte_ethdev.h>

// True with this probability.
static bool chance(struct sender *sender, double probability)
{
	return probability > 0 && random_uniform(&sender->random) < probability;
}

void sender_init(struct sender *sender, uint16_t port_id, uint16_t queue,
		 struct rte_mempool *copies, const struct faults *faults, uint64_t seed)
{
	memset(sender, 0, sizeof(*sender));
	sender->port_id = port_id;
	sender->queue = queue;
	sender->copies = copies;
	if (faults != NULL)
		sender->faults = *faults;
	sender->random.state = seed;
}

static void append(struct sender *sender, struct rte_mbuf *mbuf)
{
	sender->out[sender->n_out++] = mbuf;
}

static void leave(struct sender *sender, struct rte_mbuf *mbuf, uint64_t serial)
{
	if (serial < sender->left)
		counter_add(&sender->counters.reordered, 1);
	else
		sender->left = serial;
	append(sender, mbuf);
}

// Reordering: the packet takes a random place in the window, and the packet that had the place
// leaves.
static void shuffle(struct sender *sender, struct rte_mbuf *mbuf)
{
	unsigned place;

	sender->made++;
	if (sender->faults.reorder_window < 2) {
		append(sender, mbuf);
		return;
	}
	if (sender->n_window < sender->faults.reorder_window) {
		sender->window_made[sender->n_window] = sender->made;
		sender->window[sender->n_window++] = mbuf;
		return;
	}
	place = (unsigned)(random_next(&sender->random) % sender->n_window);
	leave(sender, sender->window[place], sender->window_made[place]);
	sender->window[place] = mbuf;
	sender->window_made[place] = sender->made;
}

// Flips one bit of a byte from offset `payload` on. The payload may be shared memory, so the fault
// is made in a copy.
static struct rte_mbuf *corrupt(struct sender *sender, struct rte_mbuf *mbuf, uint32_t payload)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, sender->copies, 0, UINT32_MAX);
	uint32_t at, length = rte_pktmbuf_pkt_len(mbuf);

	if (copy == NULL || payload >= length) {
		rte_pktmbuf_free(copy);
		return mbuf;
	}
	rte_pktmbuf_free(mbuf);
	at = payload + (uint32_t)(random_next(&sender->random) % (length - payload));
	for (struct rte_mbuf *part = copy; part != NULL; part = part->next) {
		if (at < part->data_len) {
			*rte_pktmbuf_mtod_offset(part, uint8_t *, at) ^=
			    (uint8_t)(1u << (random_next(&sender->random) % 8));
			break;
		}
		at -= part->data_len;
	}
	counter_add(&sender->counters.corrupted, 1);
	return copy;
}

void sender_put(struct sender *sender, struct rte_mbuf *mbuf, uint32_t payload, bool exact)
{
	const struct faults *faults = &sender->faults;

	if (exact) {
		append(sender, mbuf);
		return;
	}
	if (chance(sender, faults->loss)) {
		counter_add(&sender->counters.lost, 1);
		rte_pktmbuf_free(mbuf);
		return;
	}
	if (chance(sender, faults->corrupt))
		mbuf = corrupt(sender, mbuf, payload);
	if (chance(sender, faults->duplicate)) {
		struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, sender->copies, 0, UINT32_MAX);

		if (copy != NULL) {
			counter_add(&sender->counters.duplicated, 1);
			shuffle(sender, copy);
		}
	}
	shuffle(sender, mbuf);
}

bool sender_settle(struct sender *sender)
{
	while (sender->n_window > 0 && sender->n_out < RTE_DIM(sender->out)) {
		sender->n_window--;
		leave(sender, sender->window[sender->n_window],
		      sender->window_made[sender->n_window]);
	}
	return sender->n_window == 0;
}

unsigned sender_flush(struct sender *sender)
{
	uint64_t bytes = 0;
	unsigned n, sent;

	if (sender->n_out == 0)
		return 0;
	n = RTE_MIN(sender->n_out, (unsigned)ROLE_BURST);
	for (unsigned i = 0; i < n; i++)
		bytes += rte_pktmbuf_pkt_len(sender->out[i]);
	sent = rte_eth_tx_burst(sender->port_id, sender->queue, sender->out, (uint16_t)n);
	// The driver owns the mbufs that it accepted: only the others may be read.
	for (unsigned i = sent; i < n; i++)
		bytes -= rte_pktmbuf_pkt_len(sender->out[i]);
	counter_add(&sender->counters.packets, sent);
	counter_add(&sender->counters.bytes, bytes);
	sender->n_out -= sent;
	if (sent > 0)
		memmove(sender->out, sender->out + sent, sender->n_out * sizeof(sender->out[0]));
	return sent;
}

void sender_fini(struct sender *sender)
{
	rte_pktmbuf_free_bulk(sender->out, sender->n_out);
	rte_pktmbuf_free_bulk(sender->window, sender->n_window);
	sender->n_out = 0;
	sender->n_window = 0;
}
