// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE v2 (IBA volume 1, annex A17): the InfiniBand transport behind UDP port 4791, all big-endian.
//
//   BTH, 12 B, opens every packet:
//     u8 opcode | u8 solicited event:1 migrated:1 pad:2 version:4 = 0 | u16 partition key
//     | u8 FECN:1 BECN:1 reserved:6 | u24 destination QP | u8 ack request:1 reserved:7 | u24 PSN
//   then, by opcode, in this order:
//     DETH    8 B  u32 Q_Key | u8 0 | u24 source QP                           (UD)
//     RETH   16 B  u64 virtual address | u32 rkey | u32 DMA length            (WRITE, READ)
//     Atomic 28 B  u64 virtual address | u32 rkey | u64 swap or add | u64 compare
//     AETH    4 B  u8 syndrome | u24 message sequence number                  (ACK, READ response)
//     AtomicAck 8 B  u64 original value
//     ImmDt   4 B  u32 immediate                                              (SEND, WRITE)
//     IETH    4 B  u32 rkey to invalidate                                     (SEND)
//   then the payload, 0 to 3 bytes of padding, and the ICRC, 4 B (icrc.h).
// A CNP (congestion notification) is a BTH with BECN set, 16 zero bytes, and the ICRC.
#pragma once

#include "wire/wire.h"

#define ROCE_UDP_PORT         4791
#define ROCE_BTH_SIZE         12u
#define ROCE_DETH_SIZE        8u
#define ROCE_RETH_SIZE        16u
#define ROCE_ATOMIC_SIZE      28u
#define ROCE_AETH_SIZE        4u
#define ROCE_ATOMIC_ACK_SIZE  8u
#define ROCE_IMM_SIZE         4u
#define ROCE_IETH_SIZE        4u
#define ROCE_ICRC_SIZE        4u
#define ROCE_CNP_SIZE         28u // BTH and reserved bytes, without ICRC
#define ROCE_MAX_HEADERS_SIZE (ROCE_BTH_SIZE + ROCE_ATOMIC_SIZE) // largest of any opcode
#define ROCE_DEFAULT_P_KEY    0xFFFF
#define ROCE_24_BITS          0xFFFFFFu

// BTH opcodes: the transport service in the upper three bits, the operation in the lower five.
enum roce_opcode {
	ROCE_RC_SEND_FIRST = 0x00,
	ROCE_RC_SEND_MIDDLE = 0x01,
	ROCE_RC_SEND_LAST = 0x02,
	ROCE_RC_SEND_LAST_IMM = 0x03,
	ROCE_RC_SEND_ONLY = 0x04,
	ROCE_RC_SEND_ONLY_IMM = 0x05,
	ROCE_RC_WRITE_FIRST = 0x06,
	ROCE_RC_WRITE_MIDDLE = 0x07,
	ROCE_RC_WRITE_LAST = 0x08,
	ROCE_RC_WRITE_LAST_IMM = 0x09,
	ROCE_RC_WRITE_ONLY = 0x0A,
	ROCE_RC_WRITE_ONLY_IMM = 0x0B,
	ROCE_RC_READ_REQUEST = 0x0C,
	ROCE_RC_READ_RESPONSE_FIRST = 0x0D,
	ROCE_RC_READ_RESPONSE_MIDDLE = 0x0E,
	ROCE_RC_READ_RESPONSE_LAST = 0x0F,
	ROCE_RC_READ_RESPONSE_ONLY = 0x10,
	ROCE_RC_ACKNOWLEDGE = 0x11,
	ROCE_RC_ATOMIC_ACKNOWLEDGE = 0x12,
	ROCE_RC_COMPARE_SWAP = 0x13,
	ROCE_RC_FETCH_ADD = 0x14,
	ROCE_RC_SEND_LAST_INVALIDATE = 0x16,
	ROCE_RC_SEND_ONLY_INVALIDATE = 0x17,
	ROCE_UC_SEND_FIRST = 0x20,
	ROCE_UC_SEND_MIDDLE = 0x21,
	ROCE_UC_SEND_LAST = 0x22,
	ROCE_UC_SEND_LAST_IMM = 0x23,
	ROCE_UC_SEND_ONLY = 0x24,
	ROCE_UC_SEND_ONLY_IMM = 0x25,
	ROCE_UC_WRITE_FIRST = 0x26,
	ROCE_UC_WRITE_MIDDLE = 0x27,
	ROCE_UC_WRITE_LAST = 0x28,
	ROCE_UC_WRITE_LAST_IMM = 0x29,
	ROCE_UC_WRITE_ONLY = 0x2A,
	ROCE_UC_WRITE_ONLY_IMM = 0x2B,
	ROCE_UD_SEND_ONLY = 0x64,
	ROCE_UD_SEND_ONLY_IMM = 0x65,
	ROCE_CNP = 0x81,
};

// Transport services that evb supports. The opcode of a service is its base plus the operation.
enum roce_service {
	ROCE_RC,         // reliable connection
	ROCE_UC,         // unreliable connection
	ROCE_UD,         // unreliable datagram
	ROCE_CONGESTION, // CNP
};
#define ROCE_UC_BASE 0x20u // added to an RC opcode of SEND or WRITE, gives the UC opcode
#define ROCE_UD_BASE 0x60u

// Properties of an opcode.
#define ROCE_BEGIN          (1u << 0) // FIRST or ONLY: a message or the response to a READ begins
#define ROCE_END            (1u << 1) // LAST or ONLY: it ends; MIDDLE has neither flag
#define ROCE_SEND           (1u << 2)
#define ROCE_WRITE          (1u << 3)
#define ROCE_READ_REQUEST   (1u << 4)
#define ROCE_READ_RESPONSE  (1u << 5)
#define ROCE_ACKNOWLEDGE    (1u << 6) // ACK, NAK or RNR NAK, depending on the syndrome
#define ROCE_ATOMIC         (1u << 7) // the request
#define ROCE_ATOMIC_RESULT  (1u << 8)
#define ROCE_REQUEST        (1u << 9)  // requester to responder
#define ROCE_RESPONSE       (1u << 10) // responder to requester
#define ROCE_HAS_PAYLOAD    (1u << 11) // may have a payload; the other opcodes have none
#define ROCE_HAS_DETH       (1u << 12)
#define ROCE_HAS_RETH       (1u << 13)
#define ROCE_HAS_ATOMIC     (1u << 14)
#define ROCE_HAS_AETH       (1u << 15)
#define ROCE_HAS_ATOMIC_ACK (1u << 16)
#define ROCE_HAS_IMM        (1u << 17)
#define ROCE_HAS_IETH       (1u << 18)
#define ROCE_IS_CNP         (1u << 19)

struct roce_opcode_info {
	uint32_t flags;       // ROCE_* above; 0 if evb does not know the opcode
	uint8_t service;      // enum roce_service
	uint8_t headers_size; // bytes from the BTH up to the payload
};

// Indexed by opcode.
extern const struct roce_opcode_info roce_opcodes[256];

struct roce_reth {
	uint64_t address;
	uint32_t rkey;
	uint32_t length; // bytes of the whole message
};

struct roce_aeth {
	uint32_t msn; // 24 bits
	uint8_t syndrome;
};

struct roce_deth {
	uint32_t qkey;
	uint32_t source_qpn; // 24 bits
};

struct roce_atomic {
	uint64_t address;
	uint64_t swap_add;
	uint64_t compare;
	uint32_t rkey;
};

// A packet, with all numbers in host order. Only the extension headers that `flags` name are valid;
// roce_parse() does not write the others.
struct roce_packet {
	uint32_t flags;           // of the opcode
	uint32_t psn;             // 24 bits
	uint32_t destination_qpn; // 24 bits
	uint16_t partition_key;
	uint8_t opcode;  // enum roce_opcode
	uint8_t service; // enum roce_service
	uint8_t pad;     // 0..3 bytes between payload and ICRC
	bool solicited;
	bool migrated; // both values are valid: hardware sets it, Linux's rxe does not
	bool ack_request;
	bool fecn, becn;
	uint16_t payload_offset; // from the start of the BTH: the size of all headers
	uint32_t payload_size;   // bytes, without padding and ICRC
	struct roce_reth reth;
	struct roce_aeth aeth;
	struct roce_deth deth;
	uint32_t immediate;
	uint32_t invalidate_rkey;
	struct roce_atomic atomic;
	uint64_t atomic_result;
};

// Parses the payload of a UDP datagram: `length` bytes from BTH to ICRC, of which the first
// `header_bytes` are contiguous. Checks only that headers, padding and ICRC fit; icrc.h checks the
// ICRC, and the queue pair checks the rest. Reserved bits are ignored. Errors: TRUNCATED,
// BAD_VERSION, UNSUPPORTED (an opcode that evb does not know), BAD_LENGTH (no room for the padding
// that the BTH states, or payload where the opcode has none); *out is then unspecified.
// header_bytes <= length; below ROCE_MAX_HEADERS_SIZE and below length, TRUNCATED may only mean
// that too few are contiguous.
enum wire_error roce_parse(const uint8_t *bytes, size_t header_bytes, size_t length,
			   struct roce_packet *out);

// True if the padding is right for the payload: the total length is a multiple of 4, and the
// padding is not longer than needed.
static inline bool roce_pad_ok(const struct roce_packet *packet)
{
	return packet->pad == (-packet->payload_size & 3u);
}

// Writes BTH and all extension headers of the opcode, with reserved bits 0. Flags, service,
// payload_offset and payload_size of the packet are ignored. Returns the opcode's headers_size, at
// most ROCE_MAX_HEADERS_SIZE; 0 if evb does not know the opcode.
size_t roce_headers_encode(uint8_t *bytes, const struct roce_packet *packet);

// Writes a CNP to the QP of the peer that sent the marked packet; the ICRC follows (icrc_append).
void roce_cnp_encode(uint8_t bytes[ROCE_CNP_SIZE], uint32_t destination_qpn);

// Sequence numbers count modulo 2^24.
static inline uint32_t roce_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & ROCE_24_BITS;
}

// a - b, -2^23 .. 2^23 - 1: negative if a is before b.
static inline int32_t roce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

// AETH syndrome. The upper three bits are its kind. The bits below are the credits of an ACK, the
// timer code of an RNR NAK, or the cause of a NAK.
enum roce_syndrome_kind {
	ROCE_SYNDROME_ACK = 0,
	ROCE_SYNDROME_RNR = 1,
	ROCE_SYNDROME_NAK = 3,
};

enum roce_syndrome {
	ROCE_ACK_NO_CREDITS = 0x1F, // an ACK that does not limit the requester
	ROCE_RNR_NAK = 0x20,        // | timer code
	ROCE_NAK_PSN_SEQUENCE = 0x60,
	ROCE_NAK_INVALID_REQUEST = 0x61,
	ROCE_NAK_REMOTE_ACCESS = 0x62,
	ROCE_NAK_REMOTE_OPERATIONAL = 0x63,
	ROCE_NAK_INVALID_RD_REQUEST = 0x64,
};

// The result may be a kind outside the enum: such a response must be dropped.
static inline unsigned roce_syndrome_kind(uint8_t syndrome)
{
	return syndrome >> 5;
}

static inline unsigned roce_syndrome_value(uint8_t syndrome)
{
	return syndrome & 0x1Fu;
}

static inline uint8_t roce_rnr_syndrome(unsigned timer_code)
{
	return (uint8_t)(ROCE_RNR_NAK | (timer_code & 0x1Fu));
}

// The wait time of an RNR timer code 0..31, in nanoseconds: 10 us (1) to 491.52 ms (31) and 655.36
// ms (0).
extern const uint32_t roce_rnr_ns[32];

// The time of a timeout code, in nanoseconds: 4.096 us * 2^code, code 0..31. Used for ACK timeouts
// and by connection management.
static inline uint64_t roce_timeout_ns(unsigned code)
{
	return (uint64_t)4096 << (code & 31u);
}

// Path MTUs have codes 1..5: 256, 512, 1024, 2048, 4096 bytes. Returns the bytes of a code; 0 if
// the code is invalid.
static inline uint32_t roce_mtu_bytes(unsigned code)
{
	return code >= 1 && code <= 5 ? 128u << code : 0;
}

// The code of the largest path MTU of at most `bytes`; 0 below 256.
unsigned roce_mtu_code(uint32_t bytes);

// The largest path MTU, in bytes, whose packets fit in a port's MTU with all headers (the rule of
// Linux's rxe: 80 bytes less); 0 if none fits.
uint32_t roce_path_mtu(uint32_t port_mtu);
