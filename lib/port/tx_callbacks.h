// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A callback that DPDK calls with each burst that a port sends, on all its tx queues. Ports without
// a callback have no overhead. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#define TX_CALLBACKS_MAX_QUEUES 64

// A structure of all zeros has no callbacks.
struct tx_callbacks {
	uint16_t port_id, n_queues;
	const struct rte_eth_rxtx_callback *list[TX_CALLBACKS_MAX_QUEUES]; // by tx queue
};

// Adds `function` to the first n_queues queues, at most TX_CALLBACKS_MAX_QUEUES. False if memory
// ran out (rte_errno); tx_callbacks_remove() removes those that were added.
bool tx_callbacks_add(struct tx_callbacks *callbacks, uint16_t port_id, uint16_t n_queues,
		      rte_tx_callback_fn function, void *context);

// Removes and frees the callbacks. No lcore is sending.
void tx_callbacks_remove(struct tx_callbacks *callbacks);
