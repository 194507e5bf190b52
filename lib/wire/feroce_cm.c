// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/feroce_cm.h"

#include "wire/bit_field.h"

#define FIELD(name, byte, bit, width) BIT_FIELD(0, struct feroce_cm, name, byte, bit, width)

// A queue pair that begins at byte `at`.
#define QUEUE_PAIR(qp, at)                                                             \
	FIELD(qp.qpn, (at) + 1, 0, 24), FIELD(qp.psn, (at) + 5, 0, 24),                \
	    FIELD(qp.rkey, (at) + 8, 0, 32), FIELD(qp.base_address, (at) + 12, 0, 64), \
	    FIELD(qp.ip, (at) + 20, 0, 32)

static const struct bit_field fields[] = {
	// clang-format off
	FIELD(ack, 0, 0, 3),
	FIELD(ack_valid, 0, 3, 1),
	FIELD(request, 0, 4, 3),
	FIELD(info_valid, 0, 7, 1),
	QUEUE_PAIR(local, 1),
	QUEUE_PAIR(remote, 25),
	FIELD(port, 49, 0, 16),
	FIELD(is_write, 51, 4, 1),
	FIELD(with_immediate, 51, 5, 1),
	FIELD(start, 51, 6, 1),
	FIELD(transfer_valid, 51, 7, 1),
	FIELD(transfer_length, 52, 0, 32),
	FIELD(n_transfers, 56, 0, 32),
	FIELD(frequency, 60, 0, 32),
	// clang-format on
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

enum wire_error feroce_cm_decode(const uint8_t *bytes, size_t length, struct feroce_cm *message)
{
	if (length < FEROCE_CM_SIZE)
		return WIRE_TRUNCATED;
	bit_fields_decode(fields, N_FIELDS, 0, bytes, message);
	return WIRE_OK;
}

void feroce_cm_encode(uint8_t bytes[FEROCE_CM_SIZE], const struct feroce_cm *message)
{
	memset(bytes, 0, FEROCE_CM_SIZE);
	bit_fields_encode(fields, N_FIELDS, 0, bytes, message);
}
