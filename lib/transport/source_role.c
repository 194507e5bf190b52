// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "transport/source_role.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "transport/event_index.h"
#include "wire/ejfat.h"
#include "wire/mfp.h"
#include "wire/net.h"

#define LATE_EVENTS  65536u // events that the late source may be behind, a power of two
#define ODIN_SCRATCH 65536u // bytes: largest ODIN block that is made afresh for each event
#define SOURCE_PORT  49152u // first UDP source port: one a source, so that switches balance load

// Where a stream of blocks stands.
struct cursor {
	uint64_t event; // index, 0 to the number of events
	unsigned source;
	uint32_t offset; // in the block
};

enum source_state {
	STATE_EVENTS,     // sending events
	STATE_SETTLE,     // all sent; the late source and the reorder window are not empty yet
	STATE_END_OF_RUN, // sending the end-of-run blocks
	STATE_FINISHED,
};

struct source {
	struct role role;
	struct source_parameters parameters;
	struct sender sender;
	enum source_state state;
	bool stopping;
	struct cursor cursor, late;
	int silent_source, late_source; // indices into the set, -1: none
	uint64_t last_event;            // index of the first event not to be sent
	struct divisor cycle;
	struct divisor udp_ports;
	uint64_t start;          // TSC of the first event
	double cycles_per_event; // of the rate, 0: as fast as possible
	uint64_t late_cycles;
	uint64_t *sent_at;      // [LATE_EVENTS] TSC of each event, if a source is late
	uint32_t segment_size;  // bytes of payload
	uint8_t prototype[128]; // the headers of a packet but for the fields that vary
	uint32_t headers_size, re_offset;
	struct mfp_patch {
		unsigned source;
		uint64_t event;
		bool valid;
	} odin_made; // what odin_block holds
	uint8_t *odin_block;
	atomic_bool finished;
	struct source_counters counters __rte_cache_aligned;
};

static struct source *source_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct source, role));
}

static uint32_t headers_size(const struct config *config, const struct config_generator *generator)
{
	uint32_t size = NET_ETH_SIZE + EJFAT_RE_SIZE;

	if (config->transport.kind == CONFIG_TRANSPORT_UDP)
		size += NET_IPV4_SIZE + NET_UDP_SIZE;
	return generator->load_balancer_header ? size + EJFAT_LB_SIZE : size;
}

static bool copies_bytes(const struct config_generator *generator, const struct source_set *set)
{
	return generator->faults.corrupt > 0 || generator->faults.duplicate > 0 ||
	       (set != NULL && set->odin_source >= 0);
}

uint32_t source_role_buffer_size(const struct config_generator *generator,
				 const struct source_set *set, uint32_t mtu)
{
	return copies_bytes(generator, set) ? mtu + NET_ETH_SIZE : 128;
}

static uint64_t event_id(const struct source *source, uint64_t event)
{
	return source->parameters.generator->first_event + event * source->parameters.set->packing;
}

// The block of a source in an event. ODIN names its events itself, so its block is made afresh.
static struct source_block find_block(struct source *source, const struct cursor *cursor)
{
	const struct source_set *set = source->parameters.set;
	unsigned position = (unsigned)remainder_of(cursor->event, &source->cycle);
	struct source_block block = *source_set_block(set, position, cursor->source);

	if ((int)cursor->source != set->odin_source || block.size > ODIN_SCRATCH)
		return block;
	if (!source->odin_made.valid || source->odin_made.event != cursor->event) {
		memcpy(source->odin_block, block.bytes, block.size);
		(void)source_set_patch_odin(source->odin_block, block.size,
					    event_id(source, cursor->event));
		source->odin_made.event = cursor->event;
		source->odin_made.valid = true;
	}
	block.bytes = source->odin_block;
	return block;
}

// A packet's header mbuf; UDP and RE headers filled in.
static struct rte_mbuf *make_headers(struct source *source, unsigned index, uint64_t event_number,
				     uint32_t offset, uint32_t size, uint32_t length)
{
	const struct source_parameters *p = &source->parameters;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(p->headers);
	struct ejfat_re re = {
		.event_number = event_number,
		.offset = offset,
		.length = length,
		.data_id = p->set->ids[index],
	};
	uint8_t *bytes;

	if (mbuf == NULL)
		return NULL;
	bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	memcpy(bytes, source->prototype, source->headers_size);
	if (p->config->transport.kind == CONFIG_TRANSPORT_UDP) {
		struct net_udp4 udp = {
			.source_ip = p->address,
			.destination_ip = p->generator->destination_address,
			.source_port = (uint16_t)(SOURCE_PORT + index % 16384),
			.destination_port = (uint16_t)(p->config->transport.udp_port +
						       remainder_of(index, &source->udp_ports)),
		};

		memcpy(udp.source_mac.bytes, p->mac, sizeof(udp.source_mac.bytes));
		memcpy(udp.destination_mac.bytes, p->destination_mac,
		       sizeof(udp.destination_mac.bytes));
		net_udp4_encode(bytes, &udp,
				(uint16_t)(source->headers_size - NET_HEADERS_SIZE + size));
	}
	if (p->generator->load_balancer_header) {
		struct ejfat_lb lb = { .tick = event_number,
				       .entropy = (uint16_t)index,
				       .version = 2 };

		ejfat_lb_encode(bytes + source->re_offset - EJFAT_LB_SIZE, &lb);
	}
	ejfat_re_encode(bytes + source->re_offset, &re);
	mbuf->data_len = (uint16_t)source->headers_size;
	mbuf->pkt_len = source->headers_size;
	return mbuf;
}

static void nothing_to_free(void *address, void *context)
{
	(void)address;
	(void)context;
}

// Chains a pointer to bytes of the set behind the headers. The reference counter that DPDK wants
// lies in the mbuf's own private area: a common one would be fought over by the lcores that free.
static bool attach_payload(const struct source *source, struct rte_mbuf *mbuf, const uint8_t *bytes,
			   uint32_t size)
{
	struct rte_mbuf *tail = rte_pktmbuf_alloc(source->parameters.payloads);
	struct rte_mbuf_ext_shared_info *shared;
	union {
		const uint8_t *read_only;
		void *address;
	} memory = { .read_only = bytes };

	if (tail == NULL)
		return false;
	shared = rte_mbuf_to_priv(tail);
	shared->free_cb = nothing_to_free;
	shared->fcb_opaque = NULL;
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(tail, memory.address, (rte_iova_t)(uintptr_t)bytes,
				  (uint16_t)size, shared);
	tail->data_len = (uint16_t)size;
	tail->pkt_len = size;
	mbuf->next = tail;
	mbuf->nb_segs = 2;
	mbuf->pkt_len += size;
	return true;
}

static bool append_bytes(struct rte_mbuf *mbuf, const uint8_t *bytes, uint32_t size)
{
	char *to = rte_pktmbuf_append(mbuf, (uint16_t)size);

	if (to == NULL)
		return false;
	memcpy(to, bytes, size);
	return true;
}

// The packet of the segment at the cursor. NULL if mbufs are short.
static struct rte_mbuf *make_segment(struct source *source, const struct cursor *cursor,
				     const struct source_block *block, uint32_t size)
{
	uint64_t id = event_id(source, cursor->event);
	struct rte_mbuf *mbuf =
	    make_headers(source, cursor->source, id, cursor->offset, size, block->size);
	const uint8_t *bytes = block->bytes + cursor->offset;
	uint32_t copied = 0;
	bool made = true;

	if (mbuf == NULL)
		return NULL;
	if (block->bytes == source->odin_block) {
		copied = size;
	} else if (cursor->offset == 0 && size >= MFP_HEADER_SIZE &&
		   source->parameters.config->sources.payload == CONFIG_PAYLOAD_MFP) {
		copied = MFP_HEADER_SIZE; // the event id in it is the event's own
	}
	if (copied > 0) {
		made = append_bytes(mbuf, bytes, copied);
		if (made && cursor->offset == 0)
			mfp_patch_event_id(
			    rte_pktmbuf_mtod_offset(mbuf, uint8_t *, source->headers_size), id);
	}
	if (made && copied < size)
		made = attach_payload(source, mbuf, bytes + copied, size - copied);
	if (!made) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	return mbuf;
}

// Sends the segment at the cursor and moves it; false if mbufs are short.
static bool send_segment(struct source *source, struct cursor *cursor)
{
	struct source_block block = find_block(source, cursor);
	uint32_t size = RTE_MIN(block.size - cursor->offset, source->segment_size);
	struct rte_mbuf *mbuf = make_segment(source, cursor, &block, size);

	if (mbuf == NULL) {
		counter_add(&source->counters.no_buffer, 1);
		return false;
	}
	sender_put(&source->sender, mbuf, source->headers_size, false);
	counter_add(&source->counters.segments, 1);
	counter_add(&source->counters.payload_bytes, size);
	cursor->offset += size;
	if (cursor->offset == block.size) {
		counter_add(&source->counters.blocks, 1);
		cursor->offset = 0;
		cursor->source++;
	}
	return true;
}

// Whether the event at the cursor may start now.
static bool is_due(const struct source *source, uint64_t now)
{
	uint64_t event = source->cursor.event;

	if (source->late_source >= 0 && event - source->late.event >= LATE_EVENTS)
		return false;
	return source->cycles_per_event == 0 ||
	       (double)(now - source->start) >= (double)event * source->cycles_per_event;
}

// One step of the sources that send in time; false if there is nothing to do now.
static bool step_in_time(struct source *source, uint64_t now)
{
	struct cursor *cursor = &source->cursor;

	if (cursor->source == 0 && cursor->offset == 0) {
		if (cursor->event >= source->last_event || source->stopping || !is_due(source, now))
			return false;
		if (source->sent_at != NULL)
			source->sent_at[cursor->event % LATE_EVENTS] = now;
	}
	while ((int)cursor->source == source->silent_source ||
	       (int)cursor->source == source->late_source)
		cursor->source++;
	if (cursor->source < source->parameters.set->n_sources && !send_segment(source, cursor))
		return false;
	if (cursor->source >= source->parameters.set->n_sources) {
		cursor->source = 0;
		cursor->event++;
		counter_add(&source->counters.events, 1);
	}
	return true;
}

// One step of the late source.
static bool step_late(struct source *source, uint64_t now)
{
	struct cursor *late = &source->late;

	if (source->late_source < 0 || late->event >= source->cursor.event)
		return false;
	if (now - source->sent_at[late->event % LATE_EVENTS] < source->late_cycles)
		return false;
	late->source = (unsigned)source->late_source;
	if (!send_segment(source, late))
		return false;
	if (late->offset == 0)
		late->event++;
	return true;
}

// The end-of-run block of one source: an MFP without fragments.
static bool step_end_of_run(struct source *source)
{
	struct mfp_header header = { .event_id = MFP_END_OF_RUN };
	unsigned index = source->cursor.source;
	uint8_t block[MFP_HEADER_SIZE];
	struct rte_mbuf *mbuf;

	if (index >= source->parameters.set->n_sources)
		return false;
	if ((int)index == source->silent_source) {
		source->cursor.source++;
		return true;
	}
	header.source_id = source->parameters.set->ids[index];
	(void)mfp_encode_header(block, sizeof(block), &header, NULL, NULL);
	mbuf = make_headers(source, index, MFP_END_OF_RUN, 0, sizeof(block), sizeof(block));
	if (mbuf == NULL)
		return false;
	(void)append_bytes(mbuf, block, sizeof(block)); // the header pool has room for it
	sender_put(&source->sender, mbuf, source->headers_size, true);
	source->cursor.source++;
	return true;
}

static bool events_are_done(const struct source *source)
{
	const struct cursor *cursor = &source->cursor;

	return cursor->source == 0 && cursor->offset == 0 &&
	       (source->stopping || cursor->event >= source->last_event);
}

static void next_state(struct source *source)
{
	switch (source->state) {
	case STATE_EVENTS:
		if (events_are_done(source))
			source->state = STATE_SETTLE;
		break;
	case STATE_SETTLE:
		if ((source->late_source < 0 || source->late.event >= source->cursor.event) &&
		    sender_settle(&source->sender) && source->sender.n_out == 0)
			source->state = STATE_END_OF_RUN;
		break;
	case STATE_END_OF_RUN:
		if (source->cursor.source >= source->parameters.set->n_sources &&
		    source->sender.n_out == 0) {
			source->state = STATE_FINISHED;
			atomic_store_explicit(&source->finished, true, memory_order_release);
		}
		break;
	case STATE_FINISHED:
		break;
	}
}

static unsigned source_poll(struct role *role, uint64_t now)
{
	struct source *source = source_of(role);
	unsigned made = 0, sent;

	if (source->start == 0)
		source->start = now;
	while (made < ROLE_BURST && source->state != STATE_FINISHED &&
	       sender_room(&source->sender, 2)) {
		bool stepped = source->state == STATE_END_OF_RUN ? step_end_of_run(source)
								 : step_in_time(source, now);

		stepped |= source->state != STATE_END_OF_RUN && step_late(source, now);
		if (!stepped)
			break;
		made++;
	}
	sent = sender_flush(&source->sender);
	next_state(source);
	role->backpressured = sent == 0 && source->sender.n_out > 0;
	return role->backpressured ? 0 : made + sent;
}

static bool source_drain(struct role *role, uint64_t now)
{
	struct source *source = source_of(role);

	source->stopping = true;
	(void)source_poll(role, now);
	return source->state == STATE_FINISHED;
}

static void source_fini(struct role *role)
{
	struct source *source = source_of(role);

	sender_fini(&source->sender);
	rte_free(source->sent_at);
	rte_free(source->odin_block);
	rte_free(source);
}

static const struct role_operations source_operations = {
	.kind = "source",
	.poll = source_poll,
	.drain = source_drain,
	.fini = source_fini,
};

static int index_of(const struct source_set *set, bool wanted, uint16_t id)
{
	for (unsigned i = 0; wanted && i < set->n_sources; i++)
		if (set->ids[i] == id)
			return (int)i;
	return -1;
}

static void make_prototype(struct source *source)
{
	const struct source_parameters *p = &source->parameters;
	struct net_mac from, to;

	memcpy(from.bytes, p->mac, sizeof(from.bytes));
	memcpy(to.bytes, p->destination_mac, sizeof(to.bytes));
	net_eth_encode(source->prototype, &to, &from, 0, p->config->transport.ether_type);
	source->headers_size = headers_size(p->config, p->generator);
	source->re_offset = source->headers_size - EJFAT_RE_SIZE;
	source->segment_size = p->mtu + NET_ETH_SIZE - source->headers_size;
}

struct role *source_role_create(const struct source_parameters *parameters)
{
	const struct config_generator *generator = parameters->generator;
	const struct config_faults *faults = &generator->faults;
	double hz = (double)rte_get_tsc_hz();
	struct source *source = rte_zmalloc_socket("source", sizeof(*source), RTE_CACHE_LINE_SIZE,
						   parameters->numa_node);

	if (source == NULL)
		return NULL;
	source->role.operations = &source_operations;
	snprintf(source->role.name, sizeof(source->role.name), "%s", parameters->name);
	source->parameters = *parameters;
	sender_init(&source->sender, parameters->port_id, parameters->queue, parameters->headers,
		    faults, generator->seed);
	source->silent_source =
	    index_of(parameters->set, faults->has_silent_source, faults->silent_source);
	source->late_source =
	    index_of(parameters->set, faults->has_late_source, faults->late_source);
	source->last_event = generator->events > 0 ? generator->events : UINT64_MAX;
	source->cycle = divisor_make(parameters->set->n_cycle);
	source->udp_ports = divisor_make(parameters->config->transport.udp_ports);
	source->cycles_per_event = generator->rate > 0 ? hz / generator->rate : 0;
	source->late_cycles = (uint64_t)((double)faults->late_delay_ns * 1e-9 * hz);
	make_prototype(source);
	if (source->late_source >= 0)
		source->sent_at = rte_zmalloc("source", LATE_EVENTS * sizeof(*source->sent_at), 0);
	if (parameters->set->odin_source >= 0)
		source->odin_block = rte_zmalloc("source", ODIN_SCRATCH, 0);
	if ((source->late_source >= 0 && source->sent_at == NULL) ||
	    (parameters->set->odin_source >= 0 && source->odin_block == NULL)) {
		source_fini(&source->role);
		return NULL;
	}
	return &source->role;
}

const struct source_counters *source_role_counters(const struct role *role)
{
	return &source_of(role)->counters;
}

const struct sender_counters *source_role_sender_counters(const struct role *role)
{
	return &source_of(role)->sender.counters;
}

bool source_role_finished(const struct role *role)
{
	return atomic_load_explicit(&source_of(role)->finished, memory_order_acquire);
}
