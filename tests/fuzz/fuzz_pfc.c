// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a MAC control frame: what decodes says the same when it is encoded and decoded
// again, padding is not looked at, and times are given for named priorities alone.
#include "fuzz.h"

#include "wire/pfc.h"

#define OPCODE_AT 14
#define PFC_END   34
#define PAUSE_END 18

static void check_content(const struct pfc_frame *frame)
{
	FUZZ_CHECK(!frame->is_pause || frame->priorities == 0xFF);
	for (unsigned i = 0; i < PFC_PRIORITIES; i++) {
		FUZZ_CHECK(frame->priorities >> i & 1 || frame->quanta[i] == 0);
		FUZZ_CHECK(!frame->is_pause || frame->quanta[i] == frame->quanta[0]);
	}
}

static void check_round_trip(const struct pfc_frame *frame)
{
	uint8_t bytes[PFC_FRAME_SIZE];
	struct pfc_frame again;

	pfc_encode(bytes, frame);
	FUZZ_CHECK(pfc_decode(bytes, sizeof(bytes), NULL, &again) == WIRE_OK);
	FUZZ_CHECK(memcmp(&again.source, &frame->source, sizeof(again.source)) == 0);
	FUZZ_CHECK(again.is_pause == frame->is_pause);
	FUZZ_CHECK(again.priorities == frame->priorities);
	FUZZ_CHECK(memcmp(again.quanta, frame->quanta, sizeof(again.quanta)) == 0);
}

// Without the padding the result is the same.
static void check_padding(const uint8_t *data, const struct pfc_frame *frame)
{
	const size_t end = frame->is_pause ? PAUSE_END : PFC_END;
	uint8_t *copy = fuzz_copy(data, end);
	struct pfc_frame again;

	FUZZ_CHECK(pfc_decode(copy, end, NULL, &again) == WIRE_OK);
	FUZZ_CHECK(again.priorities == frame->priorities);
	FUZZ_CHECK(memcmp(again.quanta, frame->quanta, sizeof(again.quanta)) == 0);
	fuzz_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_mac own = { { 2, 0, 0, 0, 0, 2 } };
	struct pfc_frame frame, unaddressed;

	if (pfc_decode(data, size, &own, &frame) != WIRE_OK)
		return 0;
	FUZZ_CHECK(pfc_is_mac_control(data, size));
	FUZZ_CHECK(size >= (frame.is_pause ? PAUSE_END : PFC_END));
	FUZZ_CHECK(load_be16(data + OPCODE_AT) == (frame.is_pause ? 0x0001 : 0x0101));
	FUZZ_CHECK(pfc_decode(data, size, NULL, &unaddressed) == WIRE_OK);
	check_content(&frame);
	check_round_trip(&frame);
	check_padding(data, &frame);
	return 0;
}
