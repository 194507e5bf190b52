// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/feroce_cm.h"

#define BITS_24 0xFFFFFFu

// Byte 0
#define INFO_VALID    0x01u
#define REQUEST_SHIFT 1
#define ACK_VALID     0x10u
#define ACK_SHIFT     5
#define CODE_MASK     0x7u

// Byte 51
#define TRANSFER_VALID 0x01u
#define START          0x02u
#define WITH_IMMEDIATE 0x04u
#define IS_WRITE       0x08u

#define LOCAL_QP  1
#define REMOTE_QP 25

static void decode_qp(const uint8_t *bytes, struct feroce_qp *qp)
{
	qp->qpn = load_be32(bytes) & BITS_24;
	qp->psn = load_be32(bytes + 4) & BITS_24;
	qp->rkey = load_be32(bytes + 8);
	qp->base_address = load_be64(bytes + 12);
	qp->ip = load_be32(bytes + 20);
}

static void encode_qp(uint8_t *bytes, const struct feroce_qp *qp)
{
	store_be32(bytes, qp->qpn & BITS_24);
	store_be32(bytes + 4, qp->psn & BITS_24);
	store_be32(bytes + 8, qp->rkey);
	store_be64(bytes + 12, qp->base_address);
	store_be32(bytes + 20, qp->ip);
}

enum wire_error feroce_cm_decode(const uint8_t *bytes, size_t length, struct feroce_cm *message)
{
	if (length < FEROCE_CM_SIZE)
		return WIRE_TRUNCATED;
	message->info_valid = bytes[0] & INFO_VALID;
	message->request = bytes[0] >> REQUEST_SHIFT & CODE_MASK;
	message->ack_valid = bytes[0] & ACK_VALID;
	message->ack = bytes[0] >> ACK_SHIFT & CODE_MASK;
	decode_qp(bytes + LOCAL_QP, &message->local);
	decode_qp(bytes + REMOTE_QP, &message->remote);
	message->port = load_be16(bytes + 49);
	message->transfer_valid = bytes[51] & TRANSFER_VALID;
	message->start = bytes[51] & START;
	message->with_immediate = bytes[51] & WITH_IMMEDIATE;
	message->is_write = bytes[51] & IS_WRITE;
	message->transfer_length = load_be32(bytes + 52);
	message->n_transfers = load_be32(bytes + 56);
	message->frequency = load_be32(bytes + 60);
	return WIRE_OK;
}

void feroce_cm_encode(uint8_t bytes[FEROCE_CM_SIZE], const struct feroce_cm *message)
{
	bytes[0] = (uint8_t)((message->info_valid ? INFO_VALID : 0) |
			     (message->request & CODE_MASK) << REQUEST_SHIFT |
			     (message->ack_valid ? ACK_VALID : 0) |
			     (message->ack & CODE_MASK) << ACK_SHIFT);
	encode_qp(bytes + LOCAL_QP, &message->local);
	encode_qp(bytes + REMOTE_QP, &message->remote);
	store_be16(bytes + 49, message->port);
	bytes[51] = (uint8_t)((message->transfer_valid ? TRANSFER_VALID : 0) |
			      (message->start ? START : 0) |
			      (message->with_immediate ? WITH_IMMEDIATE : 0) |
			      (message->is_write ? IS_WRITE : 0));
	store_be32(bytes + 52, message->transfer_length);
	store_be32(bytes + 56, message->n_transfers);
	store_be32(bytes + 60, message->frequency);
}
