// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a frame of the control protocol: once as they are, once with the checksum made
// right, so that what is behind it is reached. Records lie inside the frame and encode to what
// decodes to the same; an endpoint takes the frame, whatever it says.
#include "fuzz.h"

#include "../unit/wire/ctrl_again.h"

#include "control/endpoint.h"
#include "wire/crc.h"

#define MS         UINT64_C(1000000)
#define QUEUE_SIZE 4096u

static void check_record(const struct ctrl_record *record)
{
	static uint8_t first[CTRL_AGAIN_SIZE], second[CTRL_AGAIN_SIZE];
	struct ctrl_record again;
	size_t size, again_size;

	if (ctrl_again(record, first, &size) != WIRE_OK)
		return;
	FUZZ_CHECK(size > 0 && size <= record->size);
	FUZZ_CHECK(ctrl_record_at(first, size, &again) == WIRE_OK);
	FUZZ_CHECK(again.type == record->type && again.size == size);
	FUZZ_CHECK(ctrl_again(&again, second, &again_size) == WIRE_OK);
	FUZZ_CHECK(again_size == size && memcmp(first, second, size) == 0);
}

// The header encodes to itself, but for reserved bytes.
static void check_header(const struct ctrl_frame *frame)
{
	uint8_t *bytes = fuzz_copy(frame->bytes, frame->size);

	FUZZ_CHECK(ctrl_frame_encode(bytes, &frame->header, frame->records_size) == frame->size);
	FUZZ_CHECK(memcmp(bytes, frame->bytes, 62) == 0);
	FUZZ_CHECK(memcmp(bytes + 64, frame->bytes + 64, frame->records_size) == 0);
	fuzz_free(bytes);
}

static void check_frame(const uint8_t *data, size_t size)
{
	struct ctrl_frame frame;
	struct ctrl_record record;
	size_t offset = 0, end = CTRL_HEADER_SIZE;

	if (ctrl_frame_decode(data, size, &frame) != WIRE_OK)
		return;
	FUZZ_CHECK(frame.size == size);
	check_header(&frame);
	while (ctrl_next_record(&frame, &offset, &record)) {
		FUZZ_CHECK(record.bytes == data + end);
		end += record.size;
		check_record(&record);
	}
	FUZZ_CHECK(end == CTRL_HEADER_SIZE + frame.records_size && end < size);
}

static void take_record(void *context, unsigned peer, const struct ctrl_record *record)
{
	(void)context;
	FUZZ_CHECK(peer == 7);
	check_record(record);
}

static void take_event(void *context, unsigned peer, enum control_event event)
{
	(void)context;
	FUZZ_CHECK(peer == 7);
	FUZZ_CHECK(event >= CONTROL_CONNECTED && event <= CONTROL_OCCUPIED);
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct ctrl_frame frame;

	(void)context;
	FUZZ_CHECK(peer == 7);
	FUZZ_CHECK(ctrl_frame_decode(bytes, size, &frame) == WIRE_OK);
	return true;
}

// An endpoint that knows the session of the seeds' frames, as far as the input echoes what it must.
static void check_endpoint(const uint8_t *data, size_t size)
{
	static const uint16_t peers[] = { 7 };
	struct control_parameters parameters = control_defaults();
	struct control_endpoint *endpoint;
	struct ctrl_release release = { .run = 1 };
	const struct control_counters *counters;
	struct control_state state;
	uint8_t record[CTRL_RELEASE_SIZE];

	parameters.handlers =
	    (struct control_handlers){ NULL, take_record, take_event, emit, NULL, NULL };
	parameters.peers = peers;
	parameters.n_peers = 1;
	parameters.session = 0xfedcba9876543210;
	parameters.window = 4;
	parameters.queue_size = QUEUE_SIZE;
	parameters.now = 1000 * MS;
	endpoint = control_create(&parameters, NULL);
	FUZZ_CHECK(endpoint);
	counters = control_counters(endpoint, 7);
	FUZZ_CHECK(control_send(endpoint, 7, record, ctrl_put_release(record, 16, &release)));
	// Its first hello bears the stamp 1000000; the seeds echo 2000000 and come later.
	control_poll(endpoint, 1000 * MS);
	for (uint64_t now = 3000 * MS; now < 3010 * MS; now += MS) {
		control_receive(endpoint, data, size, now);
		control_poll(endpoint, now);
	}
	FUZZ_CHECK(counters->frames_received == counters->sequenced + counters->unsequenced +
						    counters->duplicates + counters->out_of_window +
						    counters->foreign + counters->fenced);
	FUZZ_CHECK(counters->sequenced <= 4);
	FUZZ_CHECK(control_state(endpoint, 7, 3010 * MS, &state));
	FUZZ_CHECK(state.queued <= 4 && state.rto <= parameters.rto_max);
	control_destroy(endpoint);
}

// An endpoint with a key: no input has an effect.
static void check_keyed(const uint8_t *data, size_t size)
{
	static const uint16_t peers[] = { 7 };
	static const struct control_keys keys = { .n = 2, .keys = { { 1 }, { 2 } } };
	struct control_parameters parameters = control_defaults();
	struct control_endpoint *endpoint;

	parameters.handlers =
	    (struct control_handlers){ NULL, take_record, take_event, emit, NULL, NULL };
	parameters.peers = peers;
	parameters.n_peers = 1;
	parameters.session = 0xfedcba9876543210;
	parameters.keys = &keys;
	parameters.window = 4;
	parameters.queue_size = QUEUE_SIZE;
	parameters.now = 1000 * MS;
	endpoint = control_create(&parameters, NULL);
	FUZZ_CHECK(endpoint);
	control_poll(endpoint, 1000 * MS);
	FUZZ_CHECK(control_receive(endpoint, data, size, 1001 * MS) != WIRE_OK ||
		   control_totals(endpoint)->unknown_node == 1 ||
		   control_totals(endpoint)->misdirected == 1);
	FUZZ_CHECK(control_counters(endpoint, 7)->frames_received == 0);
	control_destroy(endpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *sealed = fuzz_copy(data, size);

	check_frame(data, size);
	check_endpoint(data, size);
	if (size >= CTRL_OVERHEAD && data[5] & CTRL_KEYED)
		check_keyed(data, size);
	if (size >= CTRL_OVERHEAD && size <= CTRL_MAX_SIZE) {
		store_le16(sealed + 6, (uint16_t)size);
		store_le32(sealed + size - CTRL_CRC_SIZE, crc32c(0, sealed, size - CTRL_CRC_SIZE));
		check_frame(sealed, size);
		check_endpoint(sealed, size);
	}
	fuzz_free(sealed);
	return 0;
}
