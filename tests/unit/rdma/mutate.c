// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "mutate.h"

#include <string.h>

#include "wire/icrc.h"
#include "wire/net.h"

#define PAYLOAD_HEAD 24u // bytes: an MFP's header, and most of a connection message's

// Where things lie.
struct layers {
	uint32_t ip, udp, bth, extensions, payload, end;
};

static uint32_t below(struct random *random, uint32_t n)
{
	return n > 0 ? (uint32_t)(random_next(random) % n) : 0;
}

static struct layers layers_of(const struct frame *frame)
{
	struct layers layers = { .end = frame->length };
	struct roce_packet packet;
	struct net_frame parsed;

	assert_int_equal(net_parse(frame->bytes, frame->length, frame->length, 0, &parsed),
			 WIRE_OK);
	layers.ip = parsed.l3_offset;
	layers.udp = parsed.l4_offset;
	layers.bth = parsed.payload_offset;
	layers.extensions = layers.bth + ROCE_BTH_SIZE;
	layers.payload = layers.extensions;
	if (roce_parse(frame->bytes + layers.bth, parsed.payload_size, parsed.payload_size,
		       &packet) == WIRE_OK)
		layers.payload = layers.bth + packet.payload_offset;
	return layers;
}

static void change_byte(struct frame *frame, uint32_t from, uint32_t to, struct random *random)
{
	uint32_t at = from + below(random, to - from);

	if (at >= frame->length)
		return;
	switch (below(random, 4)) {
	case 0:
		frame->bytes[at] = (uint8_t)random_next(random);
		break;
	case 1:
		frame->bytes[at] = below(random, 2) ? 0xFF : 0;
		break;
	default:
		frame->bytes[at] ^= (uint8_t)(1u << below(random, 8));
	}
}

// A number of 32 bits becomes one at which sums wrap or comparisons turn.
static void change_number(struct frame *frame, uint32_t from, uint32_t to, struct random *random)
{
	static const uint32_t numbers[] = { 0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF };
	uint32_t at = from + 4 * below(random, (to - from) / 4);
	uint32_t old, pick = below(random, 9);

	if (to - from < 4 || at + 4 > frame->length)
		return;
	old = load_be32(frame->bytes + at);
	store_be32(frame->bytes + at, pick < 5   ? numbers[pick]
				      : pick < 7 ? old + 1 + below(random, 4)
						 : old - 1 - below(random, 4));
}

static void change_opcode(struct frame *frame, uint32_t bth, struct random *random)
{
	static const uint8_t bases[] = { 0, ROCE_UC_BASE, 0x40, ROCE_UD_BASE, 0x80 };

	frame->bytes[bth] =
	    (uint8_t)((below(random, 8) ? frame->bytes[bth] & 0xE0u : bases[below(random, 5)]) |
		      below(random, 0x18));
}

static void change_length(struct frame *frame, struct random *random)
{
	uint32_t room = (uint32_t)sizeof(frame->bytes) - frame->length;
	uint32_t n;

	switch (below(random, 3)) {
	case 0:
		frame->length = 1 + below(random, frame->length);
		break;
	case 1: // by a little: padding, the end of a payload
		frame->length -= below(random, RTE_MIN(16u, frame->length - 1));
		break;
	default:
		n = RTE_MIN(1 + below(random, below(random, 8) ? 16 : 2000), room);
		memset(frame->bytes + frame->length, 0x77, n);
		frame->length += n;
	}
}

static void change(struct frame *frame, const struct layers *layers, struct random *random)
{
	uint32_t pick = below(random, 100);
	uint32_t head = RTE_MIN(layers->payload + PAYLOAD_HEAD, layers->end);

	if (pick < 3)
		change_byte(frame, 0, layers->ip, random);
	else if (pick < 9)
		change_byte(frame, layers->ip, layers->udp, random);
	else if (pick < 12)
		change_byte(frame, layers->udp, layers->bth, random);
	else if (pick < 25)
		change_byte(frame, layers->bth, layers->extensions, random);
	else if (pick < 40 && layers->bth < frame->length)
		change_opcode(frame, layers->bth, random);
	else if (pick < 50)
		change_number(frame, layers->bth, layers->extensions, random);
	else if (pick < 65)
		change_number(frame, layers->extensions, layers->payload, random);
	else if (pick < 75)
		change_byte(frame, layers->payload, head, random);
	else if (pick < 83)
		change_number(frame, layers->payload, head, random);
	else if (pick < 90)
		change_byte(frame, 0, layers->end, random);
	else
		change_length(frame, random);
}

// Lengths of IP and UDP follow the frame's.
static void mend_lengths(struct frame *frame, const struct layers *layers)
{
	bool is_ipv6 = layers->udp - layers->ip == NET_IPV6_SIZE;
	uint32_t udp = frame->length - layers->udp;

	if (frame->length < layers->bth)
		return;
	store_be16(frame->bytes + layers->udp + 4, (uint16_t)udp);
	if (is_ipv6)
		store_be16(frame->bytes + layers->ip + 4, (uint16_t)udp);
	else
		store_be16(frame->bytes + layers->ip + 2, (uint16_t)(frame->length - layers->ip));
}

static void mend_checksums(struct frame *frame)
{
	struct net_frame parsed;
	uint8_t *ip;

	if (net_parse(frame->bytes, frame->length, frame->length, 0, &parsed) != WIRE_OK ||
	    (parsed.kind != NET_UDP4 && parsed.kind != NET_UDP6))
		return;
	ip = frame->bytes + parsed.l3_offset;
	if (parsed.kind == NET_UDP4) {
		store_be16(ip + 10, 0);
		store_be16(ip + 10, net_checksum_fold(net_checksum_add(
					0, ip, (size_t)parsed.l4_offset - parsed.l3_offset)));
	}
	if (parsed.payload_size >= ROCE_BTH_SIZE + ROCE_ICRC_SIZE)
		icrc_append(ip, (size_t)parsed.l4_offset - parsed.l3_offset, parsed.payload_size);
}

void mutate(struct frame *frame, struct random *random)
{
	const struct layers layers = layers_of(frame);
	uint32_t length = frame->length;

	for (uint32_t n = 1 + below(random, 3); n > 0; n--)
		change(frame, &layers, random);
	if (below(random, 8) == 0)
		return;
	if (frame->length != length)
		mend_lengths(frame, &layers);
	mend_checksums(frame);
}
