// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/arp.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "port/af_xdp.h"
#include "port/interface.h"
#include "wire/net.h"

#define ASK_EVERY_MS 100
#define BURST        32

static void ask(const struct port *port, uint32_t own_address, uint32_t address)
{
	struct net_arp arp = { .operation = 1, .sender_ip = own_address, .target_ip = address };
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);

	if (mbuf == NULL)
		return;
	memcpy(arp.sender_mac.bytes, port->mac, sizeof(arp.sender_mac.bytes));
	net_arp_encode((uint8_t *)rte_pktmbuf_append(mbuf, NET_MIN_FRAME), &arp);
	if (rte_eth_tx_burst(port->id, 0, &mbuf, 1) == 0)
		rte_pktmbuf_free(mbuf);
}

static bool is_reply(const struct rte_mbuf *mbuf, uint32_t address, uint8_t *mac)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	struct net_frame frame;
	struct net_arp arp;

	if (net_parse(bytes, mbuf->data_len, mbuf->pkt_len, 0, &frame) != WIRE_OK ||
	    frame.kind != NET_ARP_IP4 ||
	    net_arp_decode(bytes + frame.l3_offset, mbuf->data_len - frame.l3_offset, &arp) !=
		WIRE_OK ||
	    arp.operation != 2 || arp.sender_ip != address)
		return false;
	memcpy(mac, arp.sender_mac.bytes, sizeof(arp.sender_mac.bytes));
	return true;
}

static bool listen_once(const struct port *port, uint32_t address, uint8_t *mac)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = rte_eth_rx_burst(port->id, 0, mbufs, BURST);
	bool found = false;

	for (uint16_t i = 0; i < n; i++)
		found = found || is_reply(mbufs[i], address, mac);
	rte_pktmbuf_free_bulk(mbufs, n);
	return found;
}

int arp_resolve(const struct port *port, uint32_t own_address, uint32_t address, uint8_t *mac)
{
	uint64_t limit_ms = port->config->link_timeout_ns / 1000000;
	// The kernel receives the replies to its own address, so it has to send the requests, too.
	bool by_kernel = af_xdp_kernel_replies(port);

	for (uint64_t ms = 0; ms <= limit_ms; ms++) {
		bool due = ms % ASK_EVERY_MS == 0;

		if (by_kernel && due && interface_neighbour(port->config->device, address, mac))
			return 0;
		if (!by_kernel && due)
			ask(port, own_address, address);
		if (!by_kernel && listen_once(port, address, mac))
			return 0;
		rte_delay_us_sleep(1000);
	}
	return -1;
}
