// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The connection messages of FERoCE readout boards: 64 bytes big-endian in UDP, to port 0x4321 or
// the port that a message of the other side names.
//
//    0 u8 QP info valid:bit 0, request:bits 1-3, ack valid:bit 4, ack:bits 5-7
//    the sender's queue pair:  1 u8 0 | 2 u24 QPN |  5 u8 0 |  6 u24 PSN
//       9 u32 rkey | 13 u64 base address | 21 u32 IPv4 address
//    the receiver's:          25 u8 0 | 26 u24 QPN | 29 u8 0 | 30 u24 PSN
//      33 u32 rkey | 37 u64 base address | 45 u32 IPv4 address
//   49 u16 UDP port that the sender listens to
//   51 u8 transfer valid:bit 0, start:bit 1, with immediate:bit 2, WRITE (else SEND):bit 3
//   52 u32 length of a transfer, bytes | 56 u32 number of transfers | 60 u32 frequency
#pragma once

#include "wire/wire.h"

#define FEROCE_CM_SIZE     64u
#define FEROCE_CM_UDP_PORT 0x4321

enum feroce_request {
	FEROCE_NO_REQUEST = 0,
	FEROCE_OPEN_QP = 1,
	FEROCE_SEND_QP_INFO = 2,
	FEROCE_READY_TO_SEND = 3,
	FEROCE_CLOSE_QP = 4,
	FEROCE_REQUEST_ERROR = 7,
};

enum feroce_ack {
	FEROCE_NO_ACK = 0,
	FEROCE_ACK = 1,
	FEROCE_NO_QP = 2, // none is free
	FEROCE_NAK = 3,
	FEROCE_ACK_ERROR = 7,
};

struct feroce_qp {
	uint64_t base_address;
	uint32_t rkey;
	uint32_t ip;  // host order
	uint32_t qpn; // 24 bits
	uint32_t psn; // 24 bits
};

struct feroce_cm {
	struct feroce_qp local;  // of the message's sender
	struct feroce_qp remote; // of its receiver
	uint32_t transfer_length;
	uint32_t n_transfers;
	uint32_t frequency;
	uint16_t port;
	uint8_t request; // enum feroce_request; may be none of them
	uint8_t ack;     // enum feroce_ack; may be none of them
	bool info_valid, ack_valid;
	bool transfer_valid, start, with_immediate, is_write;
};

// Padding and reserved bits are not looked at, nor whether request and ack are known. Error:
// TRUNCATED.
enum wire_error feroce_cm_decode(const uint8_t *bytes, size_t length, struct feroce_cm *message);
void feroce_cm_encode(uint8_t bytes[FEROCE_CM_SIZE], const struct feroce_cm *message);
