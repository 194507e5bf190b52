// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/af_xdp.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf_pool_ops.h>

#include "packet/segment_mbuf.h"
#include "port/interface.h"
#include "port/xdp.h"

struct af_xdp {
	struct xdp *xdp;               // NULL: evb does not steer the port
	struct tx_callbacks callbacks; // that call join_buffers()
};

bool af_xdp_is_driver(const struct profile *profile)
{
	return strcmp(profile->driver, "net_af_xdp") == 0;
}

static bool has_own_program(const struct port_settings *config)
{
	for (unsigned i = 0; i < config->n_options; i++)
		if (strcmp(config->options[i].name, "xdp_prog") == 0)
			return true;
	return false;
}

int af_xdp_prepare(struct port *port, const struct port_traffic *traffic, char *error)
{
	char cause[XDP_ERROR_SIZE];

	if (port->n_tx_queues > port->n_rx_queues)
		return port_error(
		    error, port,
		    "%u lcores send on it and it has %u rx queues, but the driver has its "
		    "queues in pairs: raise rx_queues, or put the roles that send on fewer "
		    "lcores",
		    port->n_tx_queues, port->n_rx_queues);
	port->n_tx_queues = port->n_rx_queues;
	port->af_xdp = calloc(1, sizeof(*port->af_xdp));
	if (port->af_xdp == NULL)
		return port_error(error, port, "out of memory");
	if (has_own_program(port->config))
		return 0;
	if (traffic == NULL)
		return port_error(
		    error, port,
		    "profile %s takes event traffic only, which needs a configuration: use "
		    "profile af_packet",
		    port->profile->name);
	if (xdp_prepare(&port->af_xdp->xdp, port->config->name, port->config->device, cause) != 0)
		return port_error(error, port, "%s", cause);
	return 0;
}

const char *af_xdp_program_path(const struct port *port)
{
	const struct xdp *xdp = af_xdp_steering(port);

	return xdp != NULL ? xdp->object_path : NULL;
}

// The driver and the kernel need mbufs of one page each, without gaps. By default DPDK makes mbufs
// longer to spread them over memory channels. RTE_MEMPOOL_F_NO_SPREAD prevents this, but
// rte_pktmbuf_pool_create() does not accept the flag, so this function repeats its steps.
struct rte_mempool *af_xdp_pool_create(const char *name, uint32_t mbufs, uint32_t cache,
				       uint32_t buffer, int numa_node)
{
	struct rte_pktmbuf_pool_private layout = {
		.mbuf_data_room_size = (uint16_t)(buffer + RTE_PKTMBUF_HEADROOM),
		.mbuf_priv_size = SEGMENT_PRIVATE_SIZE,
	};
	unsigned element =
	    (unsigned)sizeof(struct rte_mbuf) + SEGMENT_PRIVATE_SIZE + layout.mbuf_data_room_size;
	struct rte_mempool *pool = rte_mempool_create_empty(
	    name, mbufs, element, cache, sizeof(layout), numa_node, RTE_MEMPOOL_F_NO_SPREAD);
	int result;

	if (pool == NULL)
		return NULL;
	result = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (result == 0) {
		rte_pktmbuf_pool_init(pool, &layout);
		result = rte_mempool_populate_default(pool);
	}
	if (result < 0) {
		rte_mempool_free(pool);
		rte_errno = -result;
		return NULL;
	}
	(void)rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL); // returns the number of mbufs
	port_pool_touch(pool);
	return pool;
}

int af_xdp_check_pool(const struct port *port, char *error)
{
	const struct rte_mempool *pool = port->pool;
	size_t object = pool->header_size + pool->elt_size + pool->trailer_size;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	// The driver uses the pool as one array of equal chunks. The kernel accepts no chunk that
	// is larger than a page.
	if (pool->nb_mem_chunks != 1)
		return port_error(error, port,
				  "its mbufs lie in %u pieces of memory instead of one",
				  pool->nb_mem_chunks);
	if (object > page)
		return port_error(
		    error, port,
		    "an mbuf for mtu %u takes %zu bytes, the driver can use at most %zu",
		    port->config->mtu, object, page);
	return 0;
}

void af_xdp_explain(const struct port *port, char *error)
{
	const struct xdp *xdp = af_xdp_steering(port);
	char cause[XDP_ERROR_SIZE];

	if (xdp == NULL)
		return;
	xdp_explain(xdp, cause);
	(void)port_error(error, port, "%s", cause);
}

// Copies a packet into one mbuf of the port's pool, which the driver sends without another copy.
static struct rte_mbuf *in_one_piece(const struct port *port, const struct rte_mbuf *packet)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(port->pool);
	char *to;

	if (copy == NULL)
		return NULL;
	to = rte_pktmbuf_append(copy, (uint16_t)rte_pktmbuf_pkt_len(packet));
	for (; to != NULL && packet != NULL; packet = packet->next) {
		memcpy(to, rte_pktmbuf_mtod(packet, const void *), packet->data_len);
		to += packet->data_len;
	}
	return copy;
}

// Replaces packets of several buffers in a tx burst, because the driver sends such packets wrong:
// it reads behind the end of the first buffer. The sending lcore calls it per burst. If the pool is
// empty, the burst is cut before this packet, and the sender tries the rest again.
static uint16_t join_buffers(uint16_t port_id, uint16_t queue, struct rte_mbuf **packets,
			     uint16_t n, void *context)
{
	const struct port *port = context;

	(void)port_id;
	(void)queue;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *copy;

		if (packets[i]->nb_segs == 1)
			continue;
		copy = in_one_piece(port, packets[i]);
		if (copy == NULL)
			return i;
		rte_pktmbuf_free(packets[i]);
		packets[i] = copy;
	}
	return n;
}

void af_xdp_add_addresses(struct xdp_rules *rules, const struct port_settings *port)
{
	if (port->has_address && !interface_has_address(port->device, port->address))
		rules->own_address = port->address;
	if (port->has_address6 && !interface_has_address6(port->device, port->address6)) {
		rules->has_own_address6 = true;
		memcpy(rules->own_address6, port->address6, sizeof(rules->own_address6));
	}
}

int af_xdp_start(struct port *port, const struct port_traffic *traffic, char *error)
{
	struct xdp *xdp = port->af_xdp->xdp;
	char cause[XDP_ERROR_SIZE];
	struct xdp_rules rules = {
		.traffic = traffic,
		.largest_frame =
		    port_buffer_size(port->profile, port->config->mtu) - XDP_PACKET_HEADROOM,
	};

	if (!tx_callbacks_add(&port->af_xdp->callbacks, port->id, port->n_tx_queues, join_buffers,
			      port))
		return port_error(error, port, "out of memory");
	if (xdp == NULL)
		return 0;
	af_xdp_add_addresses(&rules, port->config);
	if (xdp_steer(xdp, &rules, cause) != 0)
		return port_error(error, port, "%s", cause);
	snprintf(port->report, sizeof(port->report), "port %s: %s", port->config->name,
		 xdp->report);
	return 0;
}

bool af_xdp_kernel_replies(const struct port *port)
{
	return af_xdp_steering(port) != NULL &&
	       interface_has_address(port->config->device, port->config->address);
}

const struct xdp *af_xdp_steering(const struct port *port)
{
	return port->af_xdp != NULL ? port->af_xdp->xdp : NULL;
}

uint64_t af_xdp_missed(const struct port *port)
{
	const struct xdp *xdp = af_xdp_steering(port);
	struct xdp_counters counters;

	if (xdp == NULL)
		return 0;
	(void)xdp_counters(xdp, &counters); // a counter that cannot be read is 0
	return xdp_missed(&counters);
}

void af_xdp_close(struct port *port)
{
	if (port->af_xdp == NULL)
		return;
	xdp_close(port->af_xdp->xdp);
	tx_callbacks_remove(&port->af_xdp->callbacks);
	free(port->af_xdp);
	port->af_xdp = NULL;
}
