// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/icrc.h"

#define BEHIND_ONES   0xDEBB20E3u // CRC state behind 8 bytes of ones
#define MIN_UDP_SIZE  (ROCE_BTH_SIZE + ROCE_ICRC_SIZE)
#define IPV6_MASK     0x0FFFFFFFu // traffic class and flow label
#define MAX_IPV4_SIZE 60u
#define MAX_MASKED    (MAX_IPV4_SIZE + NET_UDP_SIZE + ROCE_BTH_SIZE)

// Sets the fields that routers may change to ones. `ip` is a copy of the packet's headers.
static void mask(uint8_t *ip, size_t ip_size)
{
	uint8_t *udp = ip + ip_size, *bth = udp + NET_UDP_SIZE;

	if (ip[0] >> 4 == 4) {
		ip[1] = 0xFF;
		ip[8] = 0xFF;
		store_be16(ip + 10, 0xFFFF);
	} else {
		store_be32(ip, load_be32(ip) | IPV6_MASK);
		ip[7] = 0xFF;
	}
	store_be16(udp + 6, 0xFFFF);
	bth[4] = 0xFF;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

uint32_t icrc_begin(const uint8_t *ip, size_t ip_size, size_t size)
{
	uint8_t masked[MAX_MASKED];
	size_t n = smaller(size, sizeof(masked));

	memcpy(masked, ip, n);
	mask(masked, ip_size);
	return crc_add(crc_add(BEHIND_ONES, masked, n), ip + n, size - n);
}

bool icrc_verify(const uint8_t *frame, const struct net_frame *parsed)
{
	const uint8_t *ip = frame + parsed->l3_offset;
	size_t ip_size = (size_t)parsed->l4_offset - parsed->l3_offset, size;

	if (parsed->payload_size < MIN_UDP_SIZE)
		return false;
	size = ip_size + NET_UDP_SIZE + parsed->payload_size - ROCE_ICRC_SIZE;
	return icrc_end(icrc_begin(ip, ip_size, size)) == load_le32(ip + size);
}

bool icrc_verify_pieces(const struct icrc_piece *pieces, size_t n, const struct net_frame *parsed)
{
	size_t ip_size = (size_t)parsed->l4_offset - parsed->l3_offset;
	size_t before_trailer, n_trailer = 0;
	uint8_t trailer[ROCE_ICRC_SIZE];
	uint32_t state = 0;

	if (parsed->payload_size < MIN_UDP_SIZE || n == 0 ||
	    pieces[0].size < (size_t)parsed->payload_offset + ROCE_BTH_SIZE)
		return false;
	before_trailer = (size_t)parsed->payload_offset + parsed->payload_size - ROCE_ICRC_SIZE;
	for (size_t i = 0; i < n && n_trailer < ROCE_ICRC_SIZE; i++) {
		size_t covered = smaller(pieces[i].size, before_trailer), rest;

		if (i == 0)
			state = icrc_begin(pieces[0].bytes + parsed->l3_offset, ip_size,
					   covered - parsed->l3_offset);
		else
			state = crc_add(state, pieces[i].bytes, covered);
		before_trailer -= covered;
		rest = smaller(pieces[i].size - covered, ROCE_ICRC_SIZE - n_trailer);
		for (size_t j = 0; j < rest; j++)
			trailer[n_trailer++] = pieces[i].bytes[covered + j];
	}
	return n_trailer == ROCE_ICRC_SIZE && icrc_end(state) == load_le32(trailer);
}

void icrc_append(uint8_t *ip, size_t ip_size, size_t udp_payload_size)
{
	size_t size = ip_size + NET_UDP_SIZE + udp_payload_size - ROCE_ICRC_SIZE;

	store_le32(ip + size, icrc_end(icrc_begin(ip, ip_size, size)));
}
