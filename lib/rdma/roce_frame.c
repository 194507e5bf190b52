// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_frame.h"

#include <string.h>

#include "wire/icrc.h"
#include "wire/net.h"

#define HOP_LIMIT 64

static size_t ethernet_size(const struct roce_address_handle *handle)
{
	return NET_ETH_SIZE + (handle->vlan_tci != 0 ? NET_VLAN_SIZE : 0);
}

size_t roce_frame_headers_size(const struct roce_address_handle *handle)
{
	return ethernet_size(handle) +
	       (qp_address_is_ipv4(&handle->peer) ? NET_IPV4_SIZE : NET_IPV6_SIZE) + NET_UDP_SIZE;
}

static size_t write_ipv6(uint8_t *bytes, const struct roce_address_handle *handle, uint32_t size)
{
	struct net_mac from, to;
	uint8_t *ip = bytes + ethernet_size(handle), *udp = ip + NET_IPV6_SIZE;

	memcpy(from.bytes, handle->own_mac, sizeof(from.bytes));
	memcpy(to.bytes, handle->peer_mac, sizeof(to.bytes));
	net_eth_encode(bytes, &to, &from, handle->vlan_tci, NET_TYPE_IPV6);
	store_be32(ip, 6u << 28 | (uint32_t)handle->dscp << 22);
	store_be16(ip + 4, (uint16_t)(NET_UDP_SIZE + size));
	ip[6] = 17; // UDP
	ip[7] = HOP_LIMIT;
	memcpy(ip + 8, handle->own.bytes, sizeof(handle->own.bytes));
	memcpy(ip + 24, handle->peer.bytes, sizeof(handle->peer.bytes));
	store_be16(udp, handle->source_port);
	store_be16(udp + 2, ROCE_UDP_PORT);
	store_be16(udp + 4, (uint16_t)(NET_UDP_SIZE + size));
	store_be16(udp + 6, 0);
	return roce_frame_headers_size(handle);
}

size_t roce_frame_headers(uint8_t *bytes, const struct roce_address_handle *handle, uint32_t size)
{
	struct net_udp4 udp = {
		.source_ip = load_be32(handle->own.bytes + 12),
		.destination_ip = load_be32(handle->peer.bytes + 12),
		.source_port = handle->source_port,
		.destination_port = ROCE_UDP_PORT,
		.vlan_tci = handle->vlan_tci,
		.dscp_ecn = (uint8_t)(handle->dscp << 2),
	};

	if (!qp_address_is_ipv4(&handle->peer))
		return write_ipv6(bytes, handle, size);
	memcpy(udp.source_mac.bytes, handle->own_mac, sizeof(udp.source_mac.bytes));
	memcpy(udp.destination_mac.bytes, handle->peer_mac, sizeof(udp.destination_mac.bytes));
	return net_udp4_encode(bytes, &udp, (uint16_t)size);
}

struct rte_mbuf *roce_frame_make(struct rte_mempool *pool, const struct roce_address_handle *handle,
				 const uint8_t *headers, size_t headers_size,
				 const uint8_t *payload, size_t payload_size)
{
	size_t pad = -payload_size & 3u;
	size_t size = headers_size + payload_size + pad + ROCE_ICRC_SIZE;
	size_t front = roce_frame_headers_size(handle);
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *bytes;

	if (mbuf == NULL)
		return NULL;
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(front + size));
	if (bytes == NULL) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	roce_frame_headers(bytes, handle, (uint32_t)size);
	memcpy(bytes + front, headers, headers_size);
	if (payload_size > 0)
		memcpy(bytes + front + headers_size, payload, payload_size);
	memset(bytes + front + headers_size + payload_size, 0, pad);
	icrc_append(bytes + ethernet_size(handle), front - ethernet_size(handle) - NET_UDP_SIZE,
		    size);
	return mbuf;
}
