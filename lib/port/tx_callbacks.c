// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/tx_callbacks.h"

#include <rte_malloc.h>

bool tx_callbacks_add(struct tx_callbacks *callbacks, uint16_t port_id, uint16_t n_queues,
		      rte_tx_callback_fn function, void *context)
{
	*callbacks = (struct tx_callbacks){ .port_id = port_id };
	for (uint16_t queue = 0; queue < n_queues && queue < TX_CALLBACKS_MAX_QUEUES; queue++) {
		callbacks->list[queue] = rte_eth_add_tx_callback(port_id, queue, function, context);
		if (callbacks->list[queue] == NULL)
			return false;
		callbacks->n_queues++;
	}
	return true;
}

void tx_callbacks_remove(struct tx_callbacks *callbacks)
{
	for (uint16_t queue = 0; queue < callbacks->n_queues; queue++) {
		// The caller frees the callback, though DPDK declares it constant.
		union {
			const struct rte_eth_rxtx_callback *removed;
			void *memory;
		} callback = { .removed = callbacks->list[queue] };

		(void)rte_eth_remove_tx_callback(callbacks->port_id, queue, callback.removed);
		rte_free(callback.memory);
	}
	callbacks->n_queues = 0;
}
