// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/port.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>

#include "packet/segment_mbuf.h"
#include "port/af_xdp.h"
#include "port/interface.h"
#include "port/interrupt_thread.h"

#define LINK_POLL_MS   10
#define BITS_PER_MEG   UINT64_C(1000000)
#define ETHERNET_EXTRA (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN)
#define DEFAULT_MTU    RTE_ETHER_MTU

uint32_t port_buffer_size(const struct profile *profile, uint32_t mtu)
{
	uint32_t size = RTE_MAX(mtu + ETHERNET_EXTRA, profile->minimum_buffer);

	return RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE);
}

uint64_t port_pool_bytes(uint32_t mbufs, uint32_t buffer)
{
	uint64_t element = sizeof(struct rte_mbuf) + SEGMENT_PRIVATE_SIZE + RTE_PKTMBUF_HEADROOM +
			   buffer + sizeof(struct rte_mempool_objhdr);

	return mbufs * RTE_ALIGN_CEIL(element, (uint64_t)RTE_CACHE_LINE_SIZE);
}

// The first write to a page causes a page fault. Writing to all pages at the start avoids these
// faults on the hot path, and makes the resident size final.
static void touch(struct rte_mempool *pool, void *context, void *object, unsigned index)
{
	struct rte_mbuf *mbuf = object;

	(void)pool;
	(void)context;
	(void)index;
	memset(mbuf->buf_addr, 0, mbuf->buf_len);
}

void port_pool_touch(struct rte_mempool *pool)
{
	(void)rte_mempool_obj_iter(pool, touch, NULL); // returns the number of mbufs
}

struct rte_mempool *port_pool_create(const char *name, uint32_t mbufs, uint32_t cache,
				     uint32_t buffer, int numa_node)
{
	struct rte_mempool *pool =
	    rte_pktmbuf_pool_create(name, mbufs, cache, SEGMENT_PRIVATE_SIZE,
				    (uint16_t)(buffer + RTE_PKTMBUF_HEADROOM), numa_node);

	if (pool != NULL)
		port_pool_touch(pool);
	return pool;
}

// The name of a virtual device in DPDK.
static void device_name(const struct port *port, char name[RTE_DEV_NAME_MAX_LEN])
{
	snprintf(name, RTE_DEV_NAME_MAX_LEN, "%s_%s", port->profile->driver, port->config->name);
}

// Creates a port in memory: packets sent on tx queue q are received on rx queue q mod n_rx.
static int create_ring_port(struct port *port, char *error)
{
	const uint32_t depth = port->profile->rx_descriptors;
	static unsigned serial; // names of rings are global and too short for names of ports
	struct rte_ring **rx = port->rings, *tx[PORT_MAX_QUEUES];
	bool shared = port->n_tx_queues > port->n_rx_queues;
	char name[RTE_RING_NAMESIZE];
	int id;

	if (port->n_rx_queues > port->profile->queues || port->n_tx_queues > port->profile->queues)
		return port_error(
		    error, port,
		    "%u rx and %u tx queues, one for each lcore that sends on it, are more "
		    "than %u",
		    port->n_rx_queues, port->n_tx_queues, port->profile->queues);
	for (unsigned q = 0; q < port->n_rx_queues; q++) {
		snprintf(name, sizeof(name), "port%u", serial++);
		rx[q] =
		    rte_ring_create(name, depth, (int)rte_socket_id(),
				    RING_F_SC_DEQ | RING_F_EXACT_SZ | (shared ? 0 : RING_F_SP_ENQ));
		if (rx[q] == NULL)
			return port_error(error, port, "no memory for a ring of %u entries (%s)",
					  depth, rte_strerror(rte_errno));
	}
	for (unsigned q = 0; q < port->n_tx_queues; q++)
		tx[q] = rx[q % port->n_rx_queues];
	id = rte_eth_from_rings(port->config->name, rx, port->n_rx_queues, tx, port->n_tx_queues,
				rte_socket_id());
	if (id < 0)
		return port_error(error, port, "DPDK cannot make a ring port (%s)",
				  rte_strerror(rte_errno));
	port->id = (uint16_t)id;
	return 0;
}

// Appends the profile's arguments and the settings' options, each followed by a comma. An option
// replaces the argument of the same name. Returns the length of the text; if it is `size` or more,
// the text was cut.
static size_t append_arguments(const struct profile *profile, const struct port_settings *config,
			       char *text, size_t size, size_t used)
{
	for (unsigned i = 0; i < profile->n_arguments && used < size; i++) {
		const struct port_option *argument = &profile->arguments[i];
		bool replaced = false;

		for (unsigned j = 0; j < config->n_options; j++)
			replaced |= strcmp(argument->name, config->options[j].name) == 0;
		if (!replaced)
			used += (size_t)snprintf(text + used, size - used, "%s=%s,", argument->name,
						 argument->value);
	}
	for (unsigned i = 0; i < config->n_options && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s=%s,",
					 config->options[i].name, config->options[i].value);
	return used;
}

static void drop_last_comma(char *text, size_t size, size_t used)
{
	if (used > 0 && used < size)
		text[used - 1] = '\0';
}

// The driver of memif refuses relative paths. With its option socket-abstract a device is no path.
static bool is_relative_path(const struct port *port)
{
	const struct port_settings *config = port->config;

	for (unsigned i = 0; i < config->n_options; i++)
		if (strcmp(config->options[i].name, "socket-abstract") == 0 &&
		    strcmp(config->options[i].value, "yes") == 0)
			return false;
	return strcmp(port->profile->driver, "net_memif") == 0 && config->device[0] != '/';
}

// "device_argument=device,queues_argument=n,argument=value,..."
static void device_arguments(const struct port *port, char *text, size_t size)
{
	const struct profile *profile = port->profile;
	const char *program = af_xdp_program_path(port);
	char folder[PATH_MAX];
	size_t used = 0;

	text[0] = '\0';
	if (!is_relative_path(port) || getcwd(folder, sizeof(folder)) == NULL)
		folder[0] = '\0';
	if (profile->device_argument[0] != '\0' && port->config->device[0] != '\0')
		used += (size_t)snprintf(text, size, "%s=%s%s%s,", profile->device_argument, folder,
					 folder[0] != '\0' ? "/" : "", port->config->device);
	if (profile->queues_argument[0] != '\0')
		used +=
		    (size_t)snprintf(text + used, size - used, "%s=%u,", profile->queues_argument,
				     RTE_MAX(port->n_rx_queues, port->n_tx_queues));
	if (program != NULL)
		used += (size_t)snprintf(text + used, size - used, "xdp_prog=%s,", program);
	used = append_arguments(profile, port->config, text, size, used);
	drop_last_comma(text, size, used);
}

void port_pci_device(const struct profile *profile, const struct port_settings *config, char *text,
		     size_t size)
{
	size_t used = (size_t)snprintf(text, size, "%s,", config->device);

	used = append_arguments(profile, config, text, size, used);
	drop_last_comma(text, size, used);
}

static bool is_kernel_interface(const struct port *port)
{
	return strcmp(port->profile->driver, "net_af_packet") == 0 ||
	       af_xdp_is_driver(port->profile);
}

// Checks the most frequent causes of a driver's failure, for which DPDK would only report
// "Operation not permitted".
static int check_device(const struct port *port, char *error)
{
	const char *driver = port->profile->driver, *device = port->config->device;
	char cause[PROFILE_ERROR_SIZE];

	if (profile_check_device(port->profile, port->config, cause) != 0)
		return port_error(error, port, "device: %s", cause);
	if (is_kernel_interface(port) && if_nametoindex(device) == 0)
		return port_error(error, port,
				  "there is no network interface \"%s\" here: `ip link` lists them "
				  "(a container or namespace sees only its own)",
				  device);
	if (strcmp(driver, "net_pcap") == 0 && access(device, R_OK) != 0)
		return port_error(error, port, "capture file %s: %s", device, strerror(errno));
	return 0;
}

static int create_device(struct port *port, const struct port_traffic *traffic, char *error)
{
	char name[RTE_DEV_NAME_MAX_LEN], arguments[1024];
	int result;

	if (profile_is_pci(port->profile, port->config)) {
		if (rte_eth_dev_get_port_by_name(port->config->device, &port->id) != 0)
			return port_error(error, port,
					  "no DPDK driver took PCI device %s: is it bound to %s "
					  "(dpdk-devbind.py --status)?",
					  port->config->device,
					  strcmp(port->profile->driver, "mlx5_eth") == 0
					      ? "mlx5_core"
					      : "vfio-pci");
		return 0;
	}
	if (check_device(port, error) != 0)
		return -1;
	if (af_xdp_is_driver(port->profile) && af_xdp_prepare(port, traffic, error) != 0)
		return -1;
	device_name(port, name);
	device_arguments(port, arguments, sizeof(arguments));
	result = rte_vdev_init(name, arguments);
	if (result != 0)
		return port_error(error, port, "driver %s refused \"%s\" (%s)%s%s",
				  port->profile->driver, arguments, rte_strerror(-result),
				  port->profile->capabilities[0] != '\0' ? "; it needs " : "",
				  port->profile->capabilities);
	if (rte_eth_dev_get_port_by_name(name, &port->id) != 0)
		return port_error(error, port, "driver %s made no port", port->profile->driver);
	return 0;
}

static int check_limits(const struct port *port, const struct rte_eth_dev_info *info, char *error)
{
	if (port->n_rx_queues > info->max_rx_queues || port->n_rx_queues > port->profile->queues)
		return port_error(error, port, "%u rx queues asked for, the driver has at most %u",
				  port->n_rx_queues,
				  RTE_MIN((uint32_t)info->max_rx_queues, port->profile->queues));
	if (port->n_tx_queues > info->max_tx_queues)
		return port_error(
		    error, port,
		    "%u lcores send on it, the driver has at most %u tx queues: put the "
		    "roles that send on fewer lcores",
		    port->n_tx_queues, info->max_tx_queues);
	if (port->config->mtu > port->profile->maximum_mtu)
		return port_error(error, port, "mtu: %u is above what the %s profile can carry, %u",
				  port->config->mtu, port->profile->name,
				  port->profile->maximum_mtu);
	return 0;
}

static void set_offloads(struct port *port, const struct rte_eth_dev_info *info,
			 struct rte_eth_conf *conf)
{
	const uint64_t checksums = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	uint64_t fast = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;

	port->checksums_in_hardware =
	    (info->rx_offload_capa & checksums) == checksums && !port->profile->partial_checksums;
	if (port->checksums_in_hardware)
		conf->rxmode.offloads |= checksums;
	conf->txmode.offloads |= info->tx_offload_capa & fast;
}

static int configure(struct port *port, char *error)
{
	const struct port_settings *config = port->config;
	struct rte_eth_conf conf = { .rxmode.mtu = config->mtu };
	uint16_t n_rxd, n_txd;
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_info_get(port->id, &info);

	if (result != 0)
		return port_error(error, port, "no device information (%s)", rte_strerror(-result));
	if (check_limits(port, &info, error) != 0)
		return -1;
	set_offloads(port, &info, &conf);
	// Some drivers report a small largest frame, but pass all frames that fit in their buffers.
	if (port->profile->mtu_is_free &&
	    config->mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN > info.max_rx_pktlen)
		conf.rxmode.mtu = RTE_MIN(config->mtu, (uint32_t)DEFAULT_MTU);
	result = rte_eth_dev_configure(port->id, port->n_rx_queues, port->n_tx_queues, &conf);
	if (result != 0)
		return port_error(
		    error, port, "cannot be configured with mtu %u, %u rx and %u tx queues (%s)",
		    config->mtu, port->n_rx_queues, port->n_tx_queues, rte_strerror(-result));
	n_rxd = (uint16_t)port->profile->rx_descriptors;
	n_txd = (uint16_t)port->profile->tx_descriptors;
	result = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &n_rxd, &n_txd);
	for (uint16_t q = 0; q < port->n_rx_queues && result == 0; q++)
		result = rte_eth_rx_queue_setup(port->id, q, n_rxd, (unsigned)port->numa_node, NULL,
						port->pool);
	for (uint16_t q = 0; q < port->n_tx_queues && result == 0; q++)
		result =
		    rte_eth_tx_queue_setup(port->id, q, n_txd, (unsigned)port->numa_node, NULL);
	if (result != 0)
		return port_error(error, port, "queues of %u rx and %u tx descriptors refused (%s)",
				  n_rxd, n_txd, rte_strerror(-result));
	return 0;
}

// Drivers of the kernel's interfaces and of memory report rates of their own invention to DPDK.
uint64_t port_link_rate(const struct port *port)
{
	char interface[INTERFACE_NAME_SIZE];
	struct rte_eth_link link = { 0 };
	uint64_t rate = 0;

	if (!port->config->link_rate_is_auto)
		return port->config->link_rate;
	if (interface_of_device(port->config->device, interface))
		rate = interface_link_rate(interface);
	if (rate == 0 && profile_is_pci(port->profile, port->config) &&
	    rte_eth_link_get_nowait(port->id, &link) == 0 &&
	    link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		rate = link.link_speed * BITS_PER_MEG;
	return rate;
}

// The start continues if the link stays down, because a peer may be started later (memif).
static void wait_for_link(const struct port *port)
{
	struct rte_eth_link link = { 0 };
	uint64_t waited_ms = 0, limit_ms = port->config->link_timeout_ns / 1000000;

	for (;;) {
		if (rte_eth_link_get_nowait(port->id, &link) == 0 &&
		    link.link_status == RTE_ETH_LINK_UP)
			return;
		if (waited_ms >= limit_ms)
			return;
		rte_delay_us_sleep(LINK_POLL_MS * 1000);
		waited_ms += LINK_POLL_MS;
	}
}

static int start(struct port *port, char *error)
{
	int result;

	if (port->config->has_mac) {
		struct rte_ether_addr mac;

		memcpy(&mac, port->config->mac, sizeof(mac));
		result = rte_eth_dev_default_mac_addr_set(port->id, &mac);
		if (result != 0 && result != -ENOTSUP)
			return port_error(error, port, "the MAC address cannot be set (%s)",
					  rte_strerror(-result));
	}
	result = rte_eth_dev_start(port->id);
	if (result != 0)
		return port_error(error, port, "cannot be started (%s)", rte_strerror(-result));
	// What a driver sets in a kernel interface remains after the process. Drivers that do not
	// support the mode receive all packets anyway.
	if (is_kernel_interface(port))
		port->promiscuous = interface_promiscuous(port->config->device);
	if (port->promiscuous < 0)
		(void)rte_eth_promiscuous_enable(port->id);
	wait_for_link(port);
	return 0;
}

static void find_mac(struct port *port)
{
	struct rte_ether_addr mac = { 0 };

	if (port->config->has_mac) {
		memcpy(port->mac, port->config->mac, sizeof(port->mac));
		return;
	}
	if (rte_eth_macaddr_get(port->id, &mac) == 0)
		memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
}

static int tag_frames(struct port *port, const struct port_traffic *traffic, char *error)
{
	struct vlan_tagger *tagger = &port->vlan;

	vlan_tagger_make(tagger, port->config, traffic);
	if (port->config->has_vlan && port->af_xdp != NULL)
		return port_error(
		    error, port,
		    "vlan is not for AF_XDP, whose kernel answers ARP: use af_packet, or "
		    "take the key out and use a VLAN interface of the kernel");
	if (port->config->has_vlan && !tx_callbacks_add(&tagger->callbacks, port->id,
							port->n_tx_queues, vlan_tag_burst, tagger))
		return port_error(error, port, "no memory for its VLAN tags (%s)",
				  rte_strerror(rte_errno));
	return 0;
}

int port_open(struct port *port, const struct port_parameters *parameters, char *error)
{
	const struct profile *profile = parameters->profile;
	char pool_name[RTE_MEMPOOL_NAMESIZE];

	*port = (struct port){
		.id = RTE_MAX_ETHPORTS,
		.promiscuous = -1,
		.config = parameters->config,
		.profile = profile,
		.n_rx_queues = parameters->n_rx_queues,
		.n_tx_queues = parameters->n_tx_queues,
	};
	if ((strcmp(profile->driver, "net_ring") == 0
		 ? create_ring_port(port, error)
		 : create_device(port, parameters->traffic, error)) != 0)
		return -1;
	port->numa_node = rte_eth_dev_socket_id(port->id);
	if (port->numa_node < 0)
		port->numa_node = 0;
	snprintf(pool_name, sizeof(pool_name), "rx%u", port->id);
	port->pool = (af_xdp_is_driver(profile) ? af_xdp_pool_create : port_pool_create)(
	    pool_name, parameters->pool_mbufs, parameters->pool_cache,
	    port_buffer_size(profile, port->config->mtu), port->numa_node);
	if (port->pool == NULL)
		return port_error(error, port, "no memory for %u receive buffers of %u bytes (%s)",
				  parameters->pool_mbufs,
				  port_buffer_size(profile, port->config->mtu),
				  rte_strerror(rte_errno));
	port->pool_lowest = port->pool->size;
	if (port->af_xdp != NULL && af_xdp_check_pool(port, error) != 0)
		return -1;
	if (configure(port, error) != 0) {
		af_xdp_explain(port, error);
		return -1;
	}
	if (port->af_xdp != NULL && af_xdp_start(port, parameters->traffic, error) != 0)
		return -1;
	if (tag_frames(port, parameters->traffic, error) != 0 || start(port, error) != 0)
		return -1;
	find_mac(port);
	if (strcmp(profile->driver, "net_af_packet") == 0)
		packet_drops_find(&port->packet_drops, port->config->device);
	return 0;
}

static void free_ring(struct rte_ring *ring)
{
	void *mbuf;

	while (ring != NULL && rte_ring_dequeue(ring, &mbuf) == 0)
		rte_pktmbuf_free(mbuf);
	rte_ring_free(ring); // NULL is allowed
}

uint64_t port_missed(const struct port *port)
{
	struct rte_eth_stats stats;
	uint64_t kernel = port_kernel_drops(port);

	if (rte_eth_stats_get(port->id, &stats) != 0)
		return kernel;
	return stats.imissed + stats.rx_nombuf + kernel;
}

static void watch_pool(struct port *port)
{
	uint32_t left = rte_mempool_avail_count(port->pool);

	if (left < atomic_load_explicit(&port->pool_lowest, memory_order_relaxed))
		atomic_store_explicit(&port->pool_lowest, left, memory_order_relaxed);
}

void port_watch(struct port *port)
{
	watch_pool(port);
	if (port->af_xdp != NULL) {
		atomic_store_explicit(&port->kernel_drops, af_xdp_missed(port),
				      memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&port->kernel_drops, packet_drops_take(&port->packet_drops),
				  memory_order_relaxed);
}

static void close_device(void *context)
{
	struct port *port = context;

	// A port that does not stop is closed nevertheless.
	(void)rte_eth_dev_stop(port->id);
	tx_callbacks_remove(&port->vlan.callbacks);
	(void)rte_eth_dev_close(port->id);
}

void port_close(struct port *port)
{
	char name[RTE_DEV_NAME_MAX_LEN];

	af_xdp_close(port);
	if (port->id != RTE_MAX_ETHPORTS) {
		if (port->promiscuous >= 0)
			close(port->promiscuous);
		else
			(void)rte_eth_promiscuous_disable(port->id);
		if (port->profile->close_on_interrupt_thread)
			interrupt_thread_call(close_device, port);
		else
			close_device(port);
		if (!profile_is_pci(port->profile, port->config)) {
			device_name(port, name);
			(void)rte_vdev_uninit(name);
		}
	}
	for (unsigned q = 0; q < RTE_DIM(port->rings); q++)
		free_ring(port->rings[q]);
	memset(port->rings, 0, sizeof(port->rings));
	rte_mempool_free(port->pool);
	port->pool = NULL;
	port->id = RTE_MAX_ETHPORTS;
}
