// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_packets.h"

#include <string.h>

#include "tx/block_packets.h"
#include "wire/icrc.h"
#include "wire/mfp.h"
#include "wire/net.h"

static void append(struct rte_mbuf *head, struct rte_mbuf **tail, struct rte_mbuf *next)
{
	(*tail)->next = next;
	*tail = next;
	head->nb_segs++;
	head->pkt_len += next->data_len;
}

// Makes the mbuf with padding and ICRC.
static struct rte_mbuf *make_trailer(struct rte_mempool *pool, uint32_t pad, uint32_t state)
{
	static const uint8_t zeros[4];
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	uint8_t *bytes;

	if (mbuf == NULL)
		return NULL;
	bytes = (uint8_t *)rte_pktmbuf_append(mbuf, (uint16_t)(pad + ROCE_ICRC_SIZE));
	memset(bytes, 0, pad);
	store_le32(bytes + pad, icrc_end(crc_add(state, zeros, pad)));
	return mbuf;
}

struct rte_mbuf *roce_packets_make(const struct roce_pools *pools,
				   const struct roce_address_handle *handle,
				   const struct requester_packet *packet,
				   const struct roce_block *message)
{
	// A request without payload has no block.
	const uint8_t *content = packet->size > 0 ? message->block.bytes + packet->offset : NULL;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pools->headers);
	struct rte_mbuf *tail = mbuf, *payload = NULL, *trailer;
	uint32_t pad = -packet->size & 3u, front = (uint32_t)roce_frame_headers_size(handle);
	uint32_t copied = 0, headers, state;
	struct roce_packet header = packet->header;
	uint8_t *bytes;

	if (mbuf == NULL)
		return NULL;
	if (packet->size > 0 && (uint64_t)packet->offset + packet->size > message->block.size)
		goto failed; // the store does not have the block any more
	if (message->block.is_temporary)
		copied = packet->size;
	else if (packet->offset == 0 && packet->size >= MFP_HEADER_SIZE)
		copied = MFP_HEADER_SIZE; // each event has its own id in the header
	header.pad = (uint8_t)pad;
	bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	if (front + ROCE_MAX_HEADERS_SIZE + copied > rte_pktmbuf_tailroom(mbuf))
		goto failed;
	headers = front + (uint32_t)roce_headers_encode(bytes + front, &header);
	roce_frame_headers(bytes, handle, headers - front + packet->size + pad + ROCE_ICRC_SIZE);
	if (copied > 0)
		memcpy(bytes + headers, content, copied);
	if (copied > 0 && packet->offset == 0)
		mfp_patch_event_id(bytes + headers, message->event_id);
	mbuf->data_len = (uint16_t)(headers + copied);
	mbuf->pkt_len = mbuf->data_len;
	state = icrc_begin(bytes + NET_ETH_SIZE, front - NET_ETH_SIZE - NET_UDP_SIZE,
			   headers + copied - NET_ETH_SIZE);
	if (copied < packet->size) {
		const uint8_t *from = content + copied;

		payload = block_packets_payload(pools->payloads, &message->block, from,
						packet->size - copied);
		if (payload == NULL)
			goto failed;
		state = crc_add(state, from, packet->size - copied);
		append(mbuf, &tail, payload);
	}
	trailer = make_trailer(pools->headers, pad, state);
	if (trailer == NULL)
		goto failed;
	append(mbuf, &tail, trailer);
	return mbuf;
failed:
	rte_pktmbuf_free(mbuf);
	return NULL;
}
