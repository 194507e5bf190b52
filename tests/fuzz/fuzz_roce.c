// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a RoCE packet and as an Ethernet frame that holds one: what parses lies inside,
// needs only its headers at hand and is written again as it was; the ICRC, of the frame in one
// piece or in several, is what the standard says.
#include "fuzz.h"

#include <zlib.h>

#include "wire/icrc.h"

// The ICRC by the book: one CRC over a masked copy behind eight bytes of ones.
static uint32_t reference(const uint8_t *ip, size_t ip_size, size_t size)
{
	uint8_t *copy = fuzz_allocate(size + 8, 1), *masked = copy + 8;
	uint32_t crc;

	memset(copy, 0xFF, 8);
	memcpy(masked, ip, size);
	if (ip[0] >> 4 == 4) {
		masked[1] = masked[8] = masked[10] = masked[11] = 0xFF;
	} else {
		masked[0] |= 0x0F;
		masked[1] = masked[2] = masked[3] = masked[7] = 0xFF;
	}
	masked[ip_size + 6] = masked[ip_size + 7] = masked[ip_size + 12] = 0xFF;
	crc = (uint32_t)crc32_z(0, copy, size + 8);
	fuzz_free(copy);
	return crc;
}

// The bytes of a BTH and what may stand behind it, without reserved bits.
static void clear_reserved(uint8_t *headers, uint32_t flags)
{
	headers[4] &= 0xC0;
	headers[8] &= 0x80;
	if (flags & ROCE_HAS_DETH)
		headers[ROCE_BTH_SIZE + 4] = 0;
	if (flags & ROCE_IS_CNP)
		memset(headers + ROCE_BTH_SIZE, 0, ROCE_CNP_SIZE - ROCE_BTH_SIZE);
}

static void check_headers_suffice(const uint8_t *data, size_t size,
				  const struct roce_packet *packet)
{
	uint8_t *headers = fuzz_copy(data, packet->payload_offset);
	uint8_t written[ROCE_MAX_HEADERS_SIZE];
	struct roce_packet again;

	FUZZ_CHECK(roce_parse(headers, packet->payload_offset, size, &again) == WIRE_OK);
	FUZZ_CHECK(again.psn == packet->psn && again.payload_size == packet->payload_size);
	FUZZ_CHECK(roce_headers_encode(written, &again) == packet->payload_offset);
	clear_reserved(headers, packet->flags);
	FUZZ_CHECK(memcmp(written, headers, packet->payload_offset) == 0);
	fuzz_free(headers);
}

static void check_packet(const uint8_t *data, size_t size)
{
	struct roce_packet packet;

	if (roce_parse(data, size, size, &packet) != WIRE_OK)
		return;
	FUZZ_CHECK(packet.flags == roce_opcodes[packet.opcode].flags && packet.flags != 0);
	FUZZ_CHECK(packet.payload_offset + (size_t)packet.payload_size + packet.pad + 4 == size);
	FUZZ_CHECK(packet.payload_size == 0 || packet.flags & ROCE_HAS_PAYLOAD);
	FUZZ_CHECK(packet.psn <= ROCE_24_BITS && packet.destination_qpn <= ROCE_24_BITS);
	FUZZ_CHECK(roce_pad_ok(&packet) == ((packet.payload_size + packet.pad) % 4 == 0));
	check_headers_suffice(data, size, &packet);
}

// Cuts the frame in three, where the bytes themselves say.
static void check_pieces(const uint8_t *data, size_t size, const struct net_frame *frame,
			 bool is_right)
{
	size_t first = (size_t)frame->payload_offset + ROCE_BTH_SIZE;
	size_t cut = first + data[size - 1] % (size - first + 1);
	size_t second_cut = cut + data[size - 2] % (size - cut + 1);
	uint8_t *a = fuzz_copy(data, cut), *b = fuzz_copy(data + cut, second_cut - cut);
	uint8_t *c = fuzz_copy(data + second_cut, size - second_cut);
	const struct icrc_piece pieces[] = { { a, cut },
					     { b, second_cut - cut },
					     { c, size - second_cut } };

	FUZZ_CHECK(icrc_verify_pieces(pieces, 3, frame) == is_right);
	FUZZ_CHECK(!icrc_verify_pieces(pieces, 0, frame));
	fuzz_free(a);
	fuzz_free(b);
	fuzz_free(c);
}

static void check_frame(const uint8_t *data, size_t size)
{
	struct net_frame frame;
	size_t ip_size, covered;
	uint8_t *bytes;
	bool is_right;

	if (net_parse(data, size, size, 0, &frame) != WIRE_OK ||
	    (frame.kind != NET_UDP4 && frame.kind != NET_UDP6))
		return;
	check_packet(data + frame.payload_offset, frame.payload_size);
	if (frame.payload_size < ROCE_BTH_SIZE + ROCE_ICRC_SIZE) {
		FUZZ_CHECK(!icrc_verify(data, &frame));
		return;
	}
	ip_size = (size_t)frame.l4_offset - frame.l3_offset;
	covered = ip_size + NET_UDP_SIZE + frame.payload_size - ROCE_ICRC_SIZE;
	is_right = reference(data + frame.l3_offset, ip_size, covered) ==
		   load_le32(data + frame.l3_offset + covered);
	FUZZ_CHECK(icrc_verify(data, &frame) == is_right);
	check_pieces(data, size, &frame, is_right);
	bytes = fuzz_copy(data, size);
	icrc_append(bytes + frame.l3_offset, ip_size, frame.payload_size);
	FUZZ_CHECK(icrc_verify(bytes, &frame));
	check_pieces(bytes, size, &frame, true);
	fuzz_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_packet(data, size);
	check_frame(data, size);
	return 0;
}
