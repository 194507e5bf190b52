// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "wire/icrc.h"
#include "wire/mfp.h"
#include "wire/net.h"

#define PATH_MTU 1024u

static const uint8_t own_mac[6] = { 2, 0, 0, 0, 0, 2 };

static void make_configuration(struct roce_bench *bench, const char *roce, const char *more)
{
	static const char region[] = ", \"rkey\": \"0xabcd01\", \"virtual_address\": 2097152, "
				     "\"size\": 16384";
	static const struct {
		const char *type;
		unsigned qpn;
		const char *region;
	} pairs[] = { { "rc", BENCH_RC, region },
		      { "uc", BENCH_UC, region },
		      { "ud", BENCH_UD, "" } };
	char text[4096];
	int n;

	if (roce == NULL)
		roce = "";
	n = snprintf(text, sizeof(text),
		     "{\"ports\": [{\"name\": \"wire\", \"profile\": \"ring\", \"mtu\": %d, "
		     "\"address\": \"10.77.0.2/24\", \"address6\": \"fd00::a4d:2\", "
		     "\"rx_descriptors\": 512}],"
		     "\"sources\": {\"ids\": [\"1-8\"], \"expected\": [\"1-7\"], \"packing\": 4},"
		     "\"builders\": [{\"name\": \"b0\", \"slots\": 4, \"slot_size\": 16384}, "
		     "{\"name\": \"b1\", \"slots\": 4, \"slot_size\": 16384}],"
		     "\"transport\": {\"kind\": \"roce\"},"
		     "\"roce\": {\"max_queue_pairs\": 64%s%s%s",
		     BENCH_MTU, strstr(roce, "path_mtu") != NULL ? "" : ", \"path_mtu\": 1024",
		     strstr(roce, "ack_every") != NULL ? "" : ", \"ack_every\": 1", roce);
	if (strstr(roce, "connection") == NULL) {
		n += snprintf(text + n, sizeof(text) - (size_t)n,
			      ", \"connection\": \"static\", \"queue_pairs\": [");
		for (unsigned i = 0; i < RTE_DIM(pairs); i++)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      "%s{\"type\": \"%s\", \"local_qpn\": %u, "
				      "\"remote_qpn\": %u, \"remote_psn\": %u, "
				      "\"address\": \"10.77.0.1\"%s}",
				      i > 0 ? "," : "", pairs[i].type, pairs[i].qpn,
				      pairs[i].qpn + 0x1000, BENCH_PSN, pairs[i].region);
		n += snprintf(text + n, sizeof(text) - (size_t)n, "]");
	}
	snprintf(text + n, sizeof(text) - (size_t)n, "}%s}", more);
	bench->config = testbed_config(text);
}

static struct roce_slots_state ask_builder(void *context, unsigned builder)
{
	const struct roce_bench *bench = context;

	return bench->told[builder];
}

static void make_role(struct roce_bench *bench)
{
	struct roce_port_parameters roce = {
		.settings = &bench->config->roce,
		.system = &bench->config->cluster,
		.smallest_slot = bench->config->builders[0].slot_size,
		.packing = bench->config->sources.packing,
		.port = &bench->config->ports[0],
		.mac = own_mac,
		.sources = bench->sources,
		.slots = bench->slots,
		.n_builders = BENCH_BUILDERS,
		.pool = bench->answers,
	};
	const struct port_settings *port = &bench->config->ports[0];
	struct rx_parameters rx = {
		.name = "rx.wire",
		.port_id = bench->wire.port.id,
		.reply_queue = 1,
		.verify_checksums = true,
		.addresses = { .has_ip4 = true, .has_ip6 = true, .ip4 = port->address },
		.packing = bench->config->sources.packing,
		.sources = bench->sources,
		.links = bench->links,
		.n_builders = BENCH_BUILDERS,
		.quiet_cycles = 100,
		.drain_cycles = 1000,
	};
	struct roce_handler_parameters parameters = {
		.udp_port = bench->config->roce.udp_port,
		.takes_feroce = bench->config->roce.connection == ROCE_CONNECTION_FEROCE,
	};
	struct rx_handler handler;
	char error[ROCE_PORT_ERROR_SIZE];

	memcpy(rx.addresses.mac.bytes, own_mac, sizeof(own_mac));
	memcpy(rx.addresses.ip6, port->address6, sizeof(port->address6));
	bench->roce = roce_port_create(&roce, error);
	if (bench->roce == NULL)
		fail_msg("%s", error);
	parameters.port = bench->roce;
	handler = roce_handler_make(&bench->handler, &parameters);
	rx.handlers = &handler;
	rx.n_handlers = 1;
	bench->role = rx_role_create(&rx);
	assert_non_null(bench->role);
}

void roce_bench_open(struct roce_bench *bench, const char *roce)
{
	roce_bench_open_with(bench, roce, "");
}

void roce_bench_open_with(struct roce_bench *bench, const char *roce, const char *more)
{
	memset(bench, 0, sizeof(*bench));
	make_configuration(bench, roce, more);
	testbed_open_port(&bench->wire, &bench->config->ports[0], 2, 2);
	bench->pool = testbed_pool("packets", 2047, 10000);
	bench->answers = testbed_pool("answers", 1023, ROCE_PORT_BUFFER);
	bench->sources = calloc(1, sizeof(*bench->sources));
	assert_non_null(bench->sources);
	source_table_make(bench->sources, bench->config->sources.ids,
			  bench->config->sources.expected, bench->config->sources.n_ids);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		bench->links[i] = link_create("rx.wire", "builder", BENCH_DEPTH, true, 0);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		bench->told[i].free = 1u << 20;
	bench->slots = roce_slots_create(BENCH_BUILDERS, ask_builder, bench);
	assert_non_null(bench->slots);
	make_role(bench);
	bench->now = rte_get_tsc_hz();
	bench->peer_ip = BENCH_PEER_IP;
	bench->piece = UINT16_MAX;
}

static uint64_t sum(const uint64_t *counters, unsigned n)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < n; i++)
		all += counters[i];
	return all;
}

static void check_identities(const struct roce_bench *bench)
{
	const struct roce_port_counters *roce = roce_of(bench);
	const struct rx_counters *rx = rx_of_bench(bench);
	uint64_t linked = bench->links[0]->counters.enqueued + bench->links[1]->counters.enqueued;

	assert_int_equal(roce->packets, roce->malformed + roce->icrc_errors + roce->unknown_qp +
					    roce->taken + roce->data);
	assert_int_equal(rx->roce, roce->packets - roce->data);
	assert_int_equal(rx->segments, roce->data);
	assert_int_equal(rx->packets, rx->arp + rx->icmp_echo + rx->roce + rx->other +
					  sum(rx->packet_drops, PACKET_N_CAUSES) + rx->segments);
	assert_int_equal(rx->segments, linked + sum(rx->segment_drops, SEGMENT_N_CAUSES));
}

void roce_bench_close(struct roce_bench *bench)
{
	roce_bench_take_none(bench);
	roce_bench_expect_silence(bench);
	check_identities(bench);
	bench->role->operations->fini(bench->role);
	roce_port_destroy(bench->roce);
	roce_slots_destroy(bench->slots);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		link_destroy(bench->links[i]);
	port_close(&bench->wire.port);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->answers), 0);
	rte_mempool_free(bench->pool);
	rte_mempool_free(bench->answers);
	free(bench->sources);
	config_free(bench->config);
}

// --- the peer ---

// Ethernet, IPv6 and UDP; returns their size.
static size_t encode_udp6(uint8_t *bytes, const struct net_udp4 *udp, uint16_t size)
{
	uint8_t *ip = bytes + NET_ETH_SIZE, *l4 = ip + NET_IPV6_SIZE;

	net_eth_encode(bytes, &udp->destination_mac, &udp->source_mac, 0, NET_TYPE_IPV6);
	memset(ip, 0, NET_IPV6_SIZE);
	store_be32(ip, 6u << 28 | (uint32_t)udp->dscp_ecn << 20);
	store_be16(ip + 4, (uint16_t)(NET_UDP_SIZE + size));
	ip[6] = NET_PROTO_UDP;
	ip[7] = 64;
	ip[8] = ip[24] = 0xFD;
	store_be32(ip + 8 + 12, udp->source_ip);
	store_be32(ip + 24 + 12, udp->destination_ip);
	store_be16(l4, udp->source_port);
	store_be16(l4 + 2, udp->destination_port);
	store_be16(l4 + 4, (uint16_t)(NET_UDP_SIZE + size));
	store_be16(l4 + 6, 0);
	return NET_ETH_SIZE + NET_IPV6_SIZE + NET_UDP_SIZE;
}

void roce_bench_frame(const struct roce_bench *bench, struct frame *frame,
		      const struct roce_packet *header, const uint8_t *payload, uint32_t size)
{
	const struct net_udp4 udp = {
		.source_mac = { { 2, 0, 0, 0, 0, 1 } },
		.destination_mac = { { 2, 0, 0, 0, 0, 2 } },
		.source_ip = bench->peer_ip,
		.destination_ip = BENCH_OWN_IP,
		.source_port = 50000,
		.destination_port = ROCE_UDP_PORT,
		.vlan_tci = bench->vlan_tci,
		.dscp_ecn = bench->dscp_ecn,
	};
	struct roce_packet packet = *header;
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t n, all;

	packet.pad = (uint8_t)(-size & 3u);
	packet.partition_key = ROCE_DEFAULT_P_KEY;
	n = roce_headers_encode(headers, &packet);
	all = n + size + packet.pad + ROCE_ICRC_SIZE;
	frame->length =
	    (uint32_t)(bench->ipv6 ? encode_udp6(frame->bytes, &udp, (uint16_t)all)
				   : net_udp4_encode(frame->bytes, &udp, (uint16_t)all));
	assert_true(frame->length + all <= sizeof(frame->bytes));
	memcpy(frame->bytes + frame->length, headers, n);
	if (size > 0)
		memcpy(frame->bytes + frame->length + n, payload, size);
	memset(frame->bytes + frame->length + n + size, 0, packet.pad);
	n = NET_ETH_SIZE + (bench->vlan_tci != 0 ? NET_VLAN_SIZE : 0);
	icrc_append(frame->bytes + n, frame->length - n - NET_UDP_SIZE, all);
	frame->length += (uint32_t)all;
	if (bench->bad_icrc)
		frame->bytes[frame->length - 1] ^= 1;
}

void roce_bench_feed_frame(struct roce_bench *bench, const struct frame *frame)
{
	uint64_t packets = rx_of_bench(bench)->packets;

	frame_send(frame, bench->pool, bench->piece, bench->wire.port.id, 0);
	assert_int_equal(role_poll(bench->role, ++bench->now), 1);
	assert_int_equal(rx_of_bench(bench)->packets, packets + 1);
}

void roce_bench_feed(struct roce_bench *bench, const struct roce_packet *header,
		     const uint8_t *payload, uint32_t size)
{
	struct frame frame;

	roce_bench_frame(bench, &frame, header, payload, size);
	roce_bench_feed_frame(bench, &frame);
}

void roce_bench_wait(struct roce_bench *bench, unsigned ms)
{
	bench->now += rte_get_tsc_hz() / 1000 * ms;
	(void)role_poll(bench->role, bench->now);
}

static uint8_t opcode_of(const struct bench_message *message, bool begins, bool ends)
{
	static const uint8_t sends[] = { ROCE_RC_SEND_MIDDLE, ROCE_RC_SEND_FIRST, ROCE_RC_SEND_LAST,
					 ROCE_RC_SEND_ONLY };
	static const uint8_t writes[] = { ROCE_RC_WRITE_MIDDLE, ROCE_RC_WRITE_FIRST,
					  ROCE_RC_WRITE_LAST, ROCE_RC_WRITE_ONLY };
	unsigned which = (unsigned)begins + 2u * (unsigned)ends;
	uint8_t opcode = message->is_write ? writes[which] : sends[which];

	if (ends && message->has_immediate)
		opcode++;
	return opcode + (message->is_uc ? ROCE_UC_BASE : 0);
}

void roce_bench_send(struct roce_bench *bench, const struct bench_message *message,
		     const uint8_t *bytes, uint32_t size, uint32_t *psn)
{
	struct roce_packet header = {
		.destination_qpn = message->qpn,
		.reth = { .address = message->address,
			  .rkey = message->rkey,
			  .length = message->dma_length != 0 ? message->dma_length : size },
		.immediate = 0x12345678,
	};
	uint32_t at = 0, n;

	do {
		n = RTE_MIN(PATH_MTU, size - at);
		header.opcode = opcode_of(message, at == 0, at + n == size);
		header.psn = *psn;
		header.ack_request = at + n == size && !message->is_uc;
		roce_bench_feed(bench, &header, bytes + at, n);
		*psn = roce_psn_add(*psn, 1);
		at += n;
	} while (at < size);
}

void roce_bench_mfp(uint8_t *bytes, uint32_t size, uint64_t event_id, uint16_t source)
{
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(i * 7 + event_id + (i >> 8));
	store_le16(bytes, MFP_MAGIC);
	store_le32(bytes + 4, size);
	store_le64(bytes + 8, event_id);
	store_le16(bytes + 16, source);
}

// --- what comes of it ---

static void take_segment(struct rte_mbuf *mbuf, const uint8_t *bytes, uint32_t size, uint32_t at)
{
	const struct segment *segment = mbuf_segment(mbuf);
	uint8_t copy[10000];
	const uint8_t *payload;

	assert_int_equal(segment->event_id, load_le64(bytes + 8));
	assert_int_equal(segment->event_index, load_le64(bytes + 8) / 4);
	assert_int_equal(segment->source, load_le16(bytes + 16) - 1);
	assert_int_equal(segment->length, size);
	assert_int_equal(segment->offset, at);
	assert_true(segment->size <= size - at);
	payload = rte_pktmbuf_read(mbuf, segment->payload, segment->size, copy);
	assert_non_null(payload);
	assert_memory_equal(payload, bytes + at, segment->size);
}

void roce_bench_take_mfp(struct roce_bench *bench, const uint8_t *bytes, uint32_t size)
{
	struct link *link = bench->links[load_le64(bytes + 8) / 4 % BENCH_BUILDERS];
	uint32_t at = 0;

	while (at < size) {
		struct rte_mbuf *mbuf;

		assert_int_equal(link_dequeue(link, &mbuf, 1), 1);
		take_segment(mbuf, bytes, size, at);
		at += mbuf_segment(mbuf)->size;
		rte_pktmbuf_free(mbuf);
	}
	roce_bench_take_none(bench);
}

void roce_bench_take_none(struct roce_bench *bench)
{
	struct rte_mbuf *mbuf;

	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		assert_int_equal(link_dequeue(bench->links[i], &mbuf, 1), 0);
}

// Back to whom the request came from, in all layers.
static void check_way(const struct roce_bench *bench, const uint8_t *bytes,
		      const struct net_frame *frame)
{
	const uint8_t *ip = bytes + frame->l3_offset;
	unsigned from = frame->kind == NET_UDP4 ? 12 : 8 + 12;
	unsigned to = frame->kind == NET_UDP4 ? 16 : 24 + 12;

	assert_int_equal(frame->kind, bench->ipv6 ? NET_UDP6 : NET_UDP4);
	assert_memory_equal(bytes, ((uint8_t[]){ 2, 0, 0, 0, 0, 1 }), 6);
	assert_memory_equal(bytes + 6, own_mac, 6);
	assert_int_equal(load_be32(ip + from), BENCH_OWN_IP);
	assert_int_equal(load_be32(ip + to), bench->peer_ip);
	assert_int_equal(frame->destination_port, ROCE_UDP_PORT);
	assert_true(frame->source_port >= 49152);
}

bool roce_bench_answer(struct roce_bench *bench, struct roce_packet *packet, uint8_t *payload)
{
	struct rte_mbuf *mbuf;
	struct net_frame frame;
	const uint8_t *bytes;

	if (rte_eth_rx_burst(bench->wire.port.id, 1, &mbuf, 1) == 0)
		return false;
	assert_int_equal(mbuf->nb_segs, 1);
	bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	assert_int_equal(net_parse(bytes, mbuf->data_len, mbuf->data_len, 0, &frame), WIRE_OK);
	check_way(bench, bytes, &frame);
	assert_true(icrc_verify(bytes, &frame));
	assert_int_equal(roce_parse(bytes + frame.payload_offset, frame.payload_size,
				    frame.payload_size, packet),
			 WIRE_OK);
	if (payload != NULL) {
		assert_true(packet->payload_size <= 256);
		memcpy(payload, bytes + frame.payload_offset + packet->payload_offset,
		       packet->payload_size);
	}
	rte_pktmbuf_free(mbuf);
	return true;
}

void roce_bench_expect_answer(struct roce_bench *bench, uint32_t qpn, uint8_t syndrome,
			      uint32_t psn)
{
	struct roce_packet packet;

	assert_true(roce_bench_answer(bench, &packet, NULL));
	assert_int_equal(packet.opcode, ROCE_RC_ACKNOWLEDGE);
	assert_int_equal(packet.destination_qpn, qpn + 0x1000);
	assert_int_equal(packet.aeth.syndrome, syndrome);
	assert_int_equal(packet.psn, psn);
}

void roce_bench_expect_silence(struct roce_bench *bench)
{
	struct roce_packet packet;

	assert_false(roce_bench_answer(bench, &packet, NULL));
}

struct queue_pair roce_bench_qp(const struct roce_bench *bench, uint32_t qpn)
{
	const struct queue_pair *qp =
	    roce_port_qp(bench->roce, qpn & (roce_port_qps(bench->roce) - 1));

	assert_int_equal(qp->qpn, qpn);
	assert_int_not_equal(qp->state, QP_FREE);
	return *qp;
}
