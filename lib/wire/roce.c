// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/roce.h"

#define VERSION_MASK  0x0Fu
#define SOLICITED     0x80u
#define MIGRATED      0x40u
#define PAD_SHIFT     4
#define PAD_MASK      0x3u
#define FECN          0x80u
#define BECN          0x40u
#define ACK_REQUEST   0x80u
#define PORT_OVERHEAD 80u // bytes of a port's MTU for headers and ICRC
#define HAS_EXTENSIONS                                                                           \
	(ROCE_HAS_DETH | ROCE_HAS_RETH | ROCE_HAS_ATOMIC | ROCE_HAS_AETH | ROCE_HAS_ATOMIC_ACK | \
	 ROCE_HAS_IMM | ROCE_HAS_IETH)

#define unlikely(condition) __builtin_expect(!!(condition), 0)

// Shorthand for the table of opcodes.
#define ONLY     (ROCE_BEGIN | ROCE_END)
#define SENDING  (ROCE_SEND | ROCE_REQUEST | ROCE_HAS_PAYLOAD)
#define WRITING  (ROCE_WRITE | ROCE_REQUEST | ROCE_HAS_PAYLOAD)
#define READING  (ROCE_READ_RESPONSE | ROCE_RESPONSE | ROCE_HAS_PAYLOAD)
#define READ     (ROCE_READ_REQUEST | ROCE_REQUEST | ONLY | ROCE_HAS_RETH)
#define ACK      (ROCE_ACKNOWLEDGE | ROCE_RESPONSE | ROCE_HAS_AETH)
#define ATOMIC   (ROCE_ATOMIC | ROCE_REQUEST | ONLY | ROCE_HAS_ATOMIC)
#define RESULT   (ROCE_ATOMIC_RESULT | ROCE_RESPONSE | ONLY | ROCE_HAS_AETH | ROCE_HAS_ATOMIC_ACK)
#define DATAGRAM (SENDING | ONLY | ROCE_HAS_DETH)

// name, service, flags
#define SENDS_AND_WRITES(X, service)                                            \
	X(service##_SEND_FIRST, service, SENDING | ROCE_BEGIN)                  \
	X(service##_SEND_MIDDLE, service, SENDING)                              \
	X(service##_SEND_LAST, service, SENDING | ROCE_END)                     \
	X(service##_SEND_LAST_IMM, service, SENDING | ROCE_END | ROCE_HAS_IMM)  \
	X(service##_SEND_ONLY, service, SENDING | ONLY)                         \
	X(service##_SEND_ONLY_IMM, service, SENDING | ONLY | ROCE_HAS_IMM)      \
	X(service##_WRITE_FIRST, service, WRITING | ROCE_BEGIN | ROCE_HAS_RETH) \
	X(service##_WRITE_MIDDLE, service, WRITING)                             \
	X(service##_WRITE_LAST, service, WRITING | ROCE_END)                    \
	X(service##_WRITE_LAST_IMM, service, WRITING | ROCE_END | ROCE_HAS_IMM) \
	X(service##_WRITE_ONLY, service, WRITING | ONLY | ROCE_HAS_RETH)        \
	X(service##_WRITE_ONLY_IMM, service, WRITING | ONLY | ROCE_HAS_RETH | ROCE_HAS_IMM)

#define OPCODES(X)                                                          \
	SENDS_AND_WRITES(X, RC)                                             \
	X(RC_READ_REQUEST, RC, READ)                                        \
	X(RC_READ_RESPONSE_FIRST, RC, READING | ROCE_BEGIN | ROCE_HAS_AETH) \
	X(RC_READ_RESPONSE_MIDDLE, RC, READING)                             \
	X(RC_READ_RESPONSE_LAST, RC, READING | ROCE_END | ROCE_HAS_AETH)    \
	X(RC_READ_RESPONSE_ONLY, RC, READING | ONLY | ROCE_HAS_AETH)        \
	X(RC_ACKNOWLEDGE, RC, ACK)                                          \
	X(RC_ATOMIC_ACKNOWLEDGE, RC, RESULT)                                \
	X(RC_COMPARE_SWAP, RC, ATOMIC)                                      \
	X(RC_FETCH_ADD, RC, ATOMIC)                                         \
	X(RC_SEND_LAST_INVALIDATE, RC, SENDING | ROCE_END | ROCE_HAS_IETH)  \
	X(RC_SEND_ONLY_INVALIDATE, RC, SENDING | ONLY | ROCE_HAS_IETH)      \
	SENDS_AND_WRITES(X, UC)                                             \
	X(UD_SEND_ONLY, UD, DATAGRAM)                                       \
	X(UD_SEND_ONLY_IMM, UD, DATAGRAM | ROCE_HAS_IMM)                    \
	X(CNP, CONGESTION, ROCE_IS_CNP)

#define SIZE_IF(flags, flag, size) ((flags) & (flag) ? (size) : 0)
#define EXTENSIONS_SIZE(flags)                                       \
	(SIZE_IF(flags, ROCE_HAS_DETH, ROCE_DETH_SIZE) +             \
	 SIZE_IF(flags, ROCE_HAS_RETH, ROCE_RETH_SIZE) +             \
	 SIZE_IF(flags, ROCE_HAS_ATOMIC, ROCE_ATOMIC_SIZE) +         \
	 SIZE_IF(flags, ROCE_HAS_AETH, ROCE_AETH_SIZE) +             \
	 SIZE_IF(flags, ROCE_HAS_ATOMIC_ACK, ROCE_ATOMIC_ACK_SIZE) + \
	 SIZE_IF(flags, ROCE_HAS_IMM, ROCE_IMM_SIZE) +               \
	 SIZE_IF(flags, ROCE_HAS_IETH, ROCE_IETH_SIZE) +             \
	 SIZE_IF(flags, ROCE_IS_CNP, ROCE_CNP_SIZE - ROCE_BTH_SIZE))

#define INFO(name, of_service, of_flags)                                   \
	[ROCE_##name] = {                                                  \
		.flags = (of_flags),                                       \
		.service = ROCE_##of_service,                              \
		.headers_size = ROCE_BTH_SIZE + EXTENSIONS_SIZE(of_flags), \
	},

const struct roce_opcode_info roce_opcodes[256] = { OPCODES(INFO) };

const uint32_t roce_rnr_ns[32] = {
	655360000, 10000,    20000,    30000,     40000,     60000,     80000,     120000,
	160000,    240000,   320000,   480000,    640000,    960000,    1280000,   1920000,
	2560000,   3840000,  5120000,  7680000,   10240000,  15360000,  20480000,  30720000,
	40960000,  61440000, 81920000, 122880000, 163840000, 245760000, 327680000, 491520000,
};

static uint32_t load_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void store_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static void parse_extensions(const uint8_t *at, uint32_t flags, struct roce_packet *out)
{
	if (flags & ROCE_HAS_DETH) {
		out->deth.qkey = load_be32(at);
		out->deth.source_qpn = load_be24(at + 5);
		at += ROCE_DETH_SIZE;
	}
	if (flags & ROCE_HAS_RETH) {
		out->reth.address = load_be64(at);
		out->reth.rkey = load_be32(at + 8);
		out->reth.length = load_be32(at + 12);
		at += ROCE_RETH_SIZE;
	}
	if (flags & ROCE_HAS_ATOMIC) {
		out->atomic.address = load_be64(at);
		out->atomic.rkey = load_be32(at + 8);
		out->atomic.swap_add = load_be64(at + 12);
		out->atomic.compare = load_be64(at + 20);
		at += ROCE_ATOMIC_SIZE;
	}
	if (flags & ROCE_HAS_AETH) {
		out->aeth.syndrome = at[0];
		out->aeth.msn = load_be24(at + 1);
		at += ROCE_AETH_SIZE;
	}
	if (flags & ROCE_HAS_ATOMIC_ACK) {
		out->atomic_result = load_be64(at);
		at += ROCE_ATOMIC_ACK_SIZE;
	}
	if (flags & ROCE_HAS_IMM)
		out->immediate = load_be32(at);
	if (flags & ROCE_HAS_IETH)
		out->invalidate_rkey = load_be32(at);
}

enum wire_error roce_parse(const uint8_t *bytes, size_t header_bytes, size_t length,
			   struct roce_packet *out)
{
	const struct roce_opcode_info *info;
	size_t overhead;

	if (unlikely(header_bytes < ROCE_BTH_SIZE))
		return WIRE_TRUNCATED;
	if (unlikely(bytes[1] & VERSION_MASK))
		return WIRE_BAD_VERSION;
	info = &roce_opcodes[bytes[0]];
	if (unlikely(info->flags == 0))
		return WIRE_UNSUPPORTED;
	if (unlikely(header_bytes < info->headers_size ||
		     length < (size_t)info->headers_size + ROCE_ICRC_SIZE))
		return WIRE_TRUNCATED;
	out->flags = info->flags;
	out->opcode = bytes[0];
	out->service = info->service;
	out->solicited = bytes[1] & SOLICITED;
	out->migrated = bytes[1] & MIGRATED;
	out->pad = bytes[1] >> PAD_SHIFT & PAD_MASK;
	out->partition_key = load_be16(bytes + 2);
	out->fecn = bytes[4] & FECN;
	out->becn = bytes[4] & BECN;
	out->destination_qpn = load_be24(bytes + 5);
	out->ack_request = bytes[8] & ACK_REQUEST;
	out->psn = load_be24(bytes + 9);
	if (info->flags & HAS_EXTENSIONS)
		parse_extensions(bytes + ROCE_BTH_SIZE, info->flags, out);
	overhead = (size_t)info->headers_size + out->pad + ROCE_ICRC_SIZE;
	if (unlikely(length < overhead || (length > overhead && !(info->flags & ROCE_HAS_PAYLOAD))))
		return WIRE_BAD_LENGTH;
	out->payload_offset = info->headers_size;
	out->payload_size = (uint32_t)(length - overhead);
	return WIRE_OK;
}

static void encode_bth(uint8_t *bytes, const struct roce_packet *packet)
{
	bytes[0] = packet->opcode;
	bytes[1] =
	    (uint8_t)((packet->solicited ? SOLICITED : 0) | (packet->migrated ? MIGRATED : 0) |
		      (packet->pad & PAD_MASK) << PAD_SHIFT);
	store_be16(bytes + 2, packet->partition_key);
	bytes[4] = (uint8_t)((packet->fecn ? FECN : 0) | (packet->becn ? BECN : 0));
	store_be24(bytes + 5, packet->destination_qpn);
	bytes[8] = packet->ack_request ? ACK_REQUEST : 0;
	store_be24(bytes + 9, packet->psn);
}

size_t roce_headers_encode(uint8_t *bytes, const struct roce_packet *packet)
{
	const struct roce_opcode_info *info = &roce_opcodes[packet->opcode];
	const uint32_t flags = info->flags;
	uint8_t *at = bytes + ROCE_BTH_SIZE;

	if (flags == 0)
		return 0;
	encode_bth(bytes, packet);
	if (flags & ROCE_HAS_DETH) {
		store_be32(at, packet->deth.qkey);
		store_be32(at + 4, packet->deth.source_qpn & ROCE_24_BITS);
		at += ROCE_DETH_SIZE;
	}
	if (flags & ROCE_HAS_RETH) {
		store_be64(at, packet->reth.address);
		store_be32(at + 8, packet->reth.rkey);
		store_be32(at + 12, packet->reth.length);
		at += ROCE_RETH_SIZE;
	}
	if (flags & ROCE_HAS_ATOMIC) {
		store_be64(at, packet->atomic.address);
		store_be32(at + 8, packet->atomic.rkey);
		store_be64(at + 12, packet->atomic.swap_add);
		store_be64(at + 20, packet->atomic.compare);
		at += ROCE_ATOMIC_SIZE;
	}
	if (flags & ROCE_HAS_AETH) {
		at[0] = packet->aeth.syndrome;
		store_be24(at + 1, packet->aeth.msn);
		at += ROCE_AETH_SIZE;
	}
	if (flags & ROCE_HAS_ATOMIC_ACK)
		store_be64(at, packet->atomic_result);
	if (flags & ROCE_HAS_IMM)
		store_be32(at, packet->immediate);
	if (flags & ROCE_HAS_IETH)
		store_be32(at, packet->invalidate_rkey);
	if (flags & ROCE_IS_CNP)
		memset(at, 0, ROCE_CNP_SIZE - ROCE_BTH_SIZE);
	return info->headers_size;
}

void roce_cnp_encode(uint8_t bytes[ROCE_CNP_SIZE], uint32_t destination_qpn)
{
	const struct roce_packet packet = {
		.opcode = ROCE_CNP,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.becn = true,
		.destination_qpn = destination_qpn,
	};

	roce_headers_encode(bytes, &packet);
}

unsigned roce_mtu_code(uint32_t bytes)
{
	unsigned code = 5;

	while (code > 0 && roce_mtu_bytes(code) > bytes)
		code--;
	return code;
}

uint32_t roce_path_mtu(uint32_t port_mtu)
{
	return port_mtu > PORT_OVERHEAD ? roce_mtu_bytes(roce_mtu_code(port_mtu - PORT_OVERHEAD))
					: 0;
}
