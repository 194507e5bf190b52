// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/pfc.h"

#define OPCODE_PAUSE 0x0001
#define OPCODE_PFC   0x0101

#define OPCODE_AT     NET_ETH_SIZE
#define PAUSE_TIME_AT (OPCODE_AT + 2)
#define PAUSE_END     (PAUSE_TIME_AT + 2)
#define VECTOR_AT     (OPCODE_AT + 2)
#define TIMES_AT      (VECTOR_AT + 2)
#define PFC_END       (TIMES_AT + 2 * PFC_PRIORITIES)

const struct net_mac pfc_group_address = { { 0x01, 0x80, 0xC2, 0x00, 0x00, 0x01 } };

static bool is_to(const uint8_t *frame, const struct net_mac *address)
{
	return memcmp(frame, address->bytes, sizeof(address->bytes)) == 0;
}

static enum wire_error decode_pfc(const uint8_t *frame, size_t length, struct pfc_frame *out)
{
	if (length < PFC_END)
		return WIRE_TRUNCATED;
	if (!is_to(frame, &pfc_group_address))
		return WIRE_BAD_MAGIC;
	out->is_pause = false;
	out->priorities = frame[VECTOR_AT + 1]; // the high byte is reserved
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		out->quanta[i] = out->priorities >> i & 1 ? load_be16(frame + TIMES_AT + 2 * i) : 0;
	return WIRE_OK;
}

static enum wire_error decode_pause(const uint8_t *frame, size_t length, const struct net_mac *own,
				    struct pfc_frame *out)
{
	if (length < PAUSE_END)
		return WIRE_TRUNCATED;
	if (!is_to(frame, &pfc_group_address) && own != NULL && !is_to(frame, own))
		return WIRE_BAD_MAGIC;
	out->is_pause = true;
	out->priorities = 0xFF;
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		out->quanta[i] = load_be16(frame + PAUSE_TIME_AT);
	return WIRE_OK;
}

enum wire_error pfc_decode(const uint8_t *frame, size_t length, const struct net_mac *own,
			   struct pfc_frame *out)
{
	if (length < OPCODE_AT + 2)
		return WIRE_TRUNCATED;
	if (!pfc_is_mac_control(frame, length))
		return WIRE_BAD_MAGIC;
	memcpy(out->source.bytes, frame + 6, sizeof(out->source.bytes));
	switch (load_be16(frame + OPCODE_AT)) {
	case OPCODE_PFC:
		return decode_pfc(frame, length, out);
	case OPCODE_PAUSE:
		return decode_pause(frame, length, own, out);
	default:
		return WIRE_UNSUPPORTED;
	}
}

void pfc_encode(uint8_t frame[PFC_FRAME_SIZE], const struct pfc_frame *content)
{
	memset(frame, 0, PFC_FRAME_SIZE);
	(void)net_eth_encode(frame, &pfc_group_address, &content->source, 0, PFC_TYPE_MAC_CONTROL);
	if (content->is_pause) {
		store_be16(frame + OPCODE_AT, OPCODE_PAUSE);
		store_be16(frame + PAUSE_TIME_AT, content->quanta[0]);
		return;
	}
	store_be16(frame + OPCODE_AT, OPCODE_PFC);
	store_be16(frame + VECTOR_AT, content->priorities);
	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		if (content->priorities >> i & 1)
			store_be16(frame + TIMES_AT + 2 * i, content->quanta[i]);
}
