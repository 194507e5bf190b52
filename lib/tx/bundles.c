// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "tx/bundles.h"

#include <string.h>

#include "readout/segment_head.h"
#include "wire/net.h"

#define BUNDLE_ROOM 4096u // bytes of a bundle's packet, at most

uint32_t bundles_buffer_size(uint32_t mtu)
{
	return RTE_MIN(mtu + NET_ETH_SIZE, BUNDLE_ROOM);
}

static uint32_t room_of(const struct bundles *bundles, const struct rte_mbuf *mbuf)
{
	const uint32_t most = bundles_buffer_size(bundles->packets->parameters.mtu);

	return most > mbuf->data_len
		   ? RTE_MIN(most - mbuf->data_len, (uint32_t)rte_pktmbuf_tailroom(mbuf))
		   : 0;
}

// Appends the RE header and the bytes of a block, behind `front` bytes of other headers.
static void append(const struct bundles *bundles, struct bundle *bundle,
		   const struct packet_segment *at, const struct store_block *block, uint32_t front)
{
	const struct block_packets_parameters *p = &bundles->packets->parameters;
	const uint64_t id = block_packets_event_id(bundles->packets, at->event);
	const struct ejfat_re re = segment_re(block, 0, id, p->store->ids[at->source]);
	uint8_t *bytes =
	    rte_pktmbuf_mtod_offset(bundle->mbuf, uint8_t *, bundle->mbuf->data_len + front);
	const uint32_t size = front + EJFAT_RE_SIZE + block->size;

	ejfat_re_encode(bytes, &re);
	memcpy(bytes + EJFAT_RE_SIZE, block->bytes, block->size);
	if (p->mfps && block->size >= MFP_HEADER_SIZE)
		mfp_patch_event_id(bytes + EJFAT_RE_SIZE, id);
	bundle->last = bundle->mbuf->data_len + front;
	bundle->mbuf->data_len = (uint16_t)(bundle->mbuf->data_len + size);
	bundle->mbuf->pkt_len = bundle->mbuf->data_len;
	bundle->n++;
}

static void set_more(struct bundle *bundle)
{
	*rte_pktmbuf_mtod_offset(bundle->mbuf, uint8_t *, bundle->last + 1) |= EJFAT_RE_MORE;
	bundle->first.flags |= SEGMENT_MORE;
}

struct bundle *bundles_find(struct bundles *bundles, unsigned builder)
{
	for (unsigned i = 0; i < bundles->n_open; i++)
		if (bundles->open[i].builder == builder)
			return &bundles->open[i];
	return NULL;
}

static bool begin(struct bundles *bundles, struct bundle *bundle, const struct packet_segment *at,
		  const struct store_block *block, uint64_t now)
{
	const struct block_packets *packets = bundles->packets;
	const uint32_t front = packets->headers_size - EJFAT_RE_SIZE;

	bundle->mbuf = rte_pktmbuf_alloc(bundles->pool);
	if (bundle->mbuf == NULL)
		return false;
	bundle->n = 0;
	bundle->first = (struct segment){
		.event_id = block_packets_event_id(packets, at->event),
		.event_index = at->event,
		.arrival = now,
		.size = block->size,
		.length = block->size,
		.payload = (uint16_t)packets->headers_size,
		.source = bundles->indices[at->source],
		.flags = block->is_repeated ? SEGMENT_REPEATED : 0,
	};
	if (!bundle->is_local)
		block_packets_head(packets, rte_pktmbuf_mtod(bundle->mbuf, uint8_t *), at->source,
				   block->size, &bundle->to);
	append(bundles, bundle, at, block, front);
	return true;
}

void bundles_finish(const struct bundles *bundles, struct bundle *bundle)
{
	uint8_t *bytes = rte_pktmbuf_mtod(bundle->mbuf, uint8_t *);

	*mbuf_segment(bundle->mbuf) = bundle->first;
	if (!bundle->is_local && bundle->n > 1 && !bundles->packets->parameters.ethernet)
		net_udp4_set_size(bytes + NET_ETH_SIZE,
				  (uint16_t)(bundle->mbuf->data_len - NET_HEADERS_SIZE));
}

enum bundles_result bundles_put(struct bundles *bundles, const struct packet_segment *at,
				const struct store_block *block, unsigned builder, bool is_local,
				const struct packet_destination *to, uint64_t now)
{
	struct bundle *bundle;

	if (bundles->pool == NULL || block->size > BUNDLE_BLOCK || at->offset != 0)
		return BUNDLES_ALONE;
	bundle = bundles_find(bundles, builder);
	if (bundle != NULL) {
		if (bundle->n == BUNDLE_MOST ||
		    EJFAT_RE_SIZE + block->size > room_of(bundles, bundle->mbuf))
			return BUNDLES_FULL;
		set_more(bundle);
		append(bundles, bundle, at, block, 0);
		return BUNDLES_TAKEN;
	}
	if (bundles->n_open == RTE_DIM(bundles->open))
		return BUNDLES_ALONE;
	bundle = &bundles->open[bundles->n_open];
	bundle->builder = (uint16_t)builder;
	bundle->is_local = is_local;
	bundle->to = *to;
	if (!begin(bundles, bundle, at, block, now))
		return BUNDLES_ALONE;
	bundles->n_open++;
	return BUNDLES_TAKEN;
}

void bundles_remove(struct bundles *bundles, struct bundle *bundle)
{
	const size_t behind = (size_t)(&bundles->open[bundles->n_open] - bundle) - 1;

	memmove(bundle, bundle + 1, behind * sizeof(*bundle)); // they leave in order
	bundles->n_open--;
}

void bundles_free(struct bundles *bundles)
{
	while (bundles->n_open > 0)
		rte_pktmbuf_free(bundles->open[--bundles->n_open].mbuf);
}
