// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Two endpoints with a key, and a stranger between them who changes, cuts, records and repeats
// frames, reorders and drops them: each record arrives once and in order, nothing that was changed
// has an effect, and when the stranger stops, all that was sent arrives.
//
// Input, for each step: u8 what is done, u8 which frame, u16 place (little endian), u8 bits.
#include "fuzz.h"

#include "control/endpoint.h"

#define MS          UINT64_C(1000000)
#define ENDS        2u
#define WIRE        64u // frames under way
#define OLD         16u // frames that were delivered, and are kept
#define LARGEST     CTRL_DEFAULT_SIZE
#define STEP_SIZE   5u
#define LAST_ROUNDS 100u
#define LAST_STEP   (20 * MS)

struct frame {
	unsigned to;
	size_t size;
	uint8_t bytes[LARGEST];
};

struct end {
	struct bench *bench;
	unsigned number;
	struct control_endpoint *endpoint;
	uint64_t sent, received; // records
};

struct bench {
	struct end ends[ENDS];
	struct frame wire[WIRE], old[OLD];
	unsigned n_wire, n_old;
	uint64_t now;
};

static void take_record(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct end *end = context;
	struct ctrl_release release;

	FUZZ_CHECK(peer == 1 - end->number);
	FUZZ_CHECK(ctrl_get_release(record, &release) == WIRE_OK);
	FUZZ_CHECK(release.event == ++end->received);
	FUZZ_CHECK(end->received <= end->bench->ends[peer].sent);
}

static void take_event(void *context, unsigned peer, enum control_event event)
{
	const struct end *end = context;

	FUZZ_CHECK(peer == 1 - end->number);
	FUZZ_CHECK(event == CONTROL_CONNECTED || event == CONTROL_LOST || event == CONTROL_BACK);
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	const struct end *end = context;
	struct bench *bench = end->bench;
	struct frame *frame = &bench->wire[bench->n_wire];

	FUZZ_CHECK(peer == 1 - end->number && size <= LARGEST);
	if (bench->n_wire == WIRE)
		return true; // lost
	frame->to = peer;
	frame->size = size;
	memcpy(frame->bytes, bytes, size);
	bench->n_wire++;
	return true;
}

static enum wire_error give(struct bench *bench, unsigned to, const uint8_t *bytes, size_t size)
{
	uint8_t *copy = fuzz_copy(bytes, size);
	enum wire_error error = control_receive(bench->ends[to].endpoint, copy, size, bench->now);

	fuzz_free(copy);
	return error;
}

// Takes frame `index` off the wire, and delivers it or not.
static void take(struct bench *bench, unsigned index, bool arrives)
{
	struct frame frame;

	if (bench->n_wire == 0)
		return;
	index %= bench->n_wire;
	frame = bench->wire[index];
	bench->old[bench->n_old++ % OLD] = frame;
	bench->wire[index] = bench->wire[--bench->n_wire];
	if (arrives)
		(void)give(bench, frame.to, frame.bytes, frame.size);
}

static void poll_both(struct bench *bench)
{
	for (unsigned i = 0; i < ENDS; i++)
		control_poll(bench->ends[i].endpoint, bench->now);
}

static void turn(struct bench *bench, uint64_t step)
{
	bench->now += step;
	poll_both(bench);
	for (unsigned i = 0; i < WIRE && bench->n_wire > 0; i++)
		take(bench, 0, true);
}

static void send(struct end *end)
{
	const struct ctrl_release release = { .run = 1, .event = end->sent + 1 };
	uint8_t record[CTRL_RELEASE_SIZE];

	end->sent += control_send(end->endpoint, 1 - end->number, record,
				  ctrl_put_release(record, sizeof(record), &release));
}

static uint64_t effects(const struct bench *bench, unsigned at)
{
	return control_counters(bench->ends[at].endpoint, 1 - at)->frames_received;
}

// A frame that differs from every one that was sent: of another length, or with other bits.
static void forge(struct bench *bench, const struct frame *from, bool cut, size_t place,
		  uint8_t bits)
{
	const uint64_t before = effects(bench, from->to);
	struct frame frame = *from;

	if (cut)
		frame.size = place % frame.size;
	else
		frame.bytes[place % frame.size] ^= bits;
	if (!cut && bits == 0)
		return;
	(void)give(bench, frame.to, frame.bytes, frame.size);
	FUZZ_CHECK(effects(bench, from->to) == before);
}

static const struct frame *choose(const struct bench *bench, uint8_t which)
{
	const unsigned n_old = bench->n_old < OLD ? bench->n_old : OLD;

	if (which & 1 && bench->n_wire > 0)
		return &bench->wire[which / 2 % bench->n_wire];
	return n_old > 0 ? &bench->old[which / 2 % n_old] : NULL;
}

static void step(struct bench *bench, const uint8_t *bytes)
{
	const struct frame *chosen = choose(bench, bytes[1]);

	switch (bytes[0] % 8) {
	case 0:
		turn(bench, (1 + bytes[4]) * MS);
		break;
	case 1:
		send(&bench->ends[bytes[1] & 1]);
		break;
	case 2:
		bench->now += bytes[4] * MS;
		poll_both(bench);
		break;
	case 3:
		take(bench, bytes[1], true);
		break;
	case 4:
		take(bench, bytes[1], false);
		break;
	case 5:
		if (chosen != NULL) // the same once more
			(void)give(bench, chosen->to, chosen->bytes, chosen->size);
		break;
	default:
		if (chosen != NULL)
			forge(bench, chosen, bytes[0] % 8 == 6, load_le16(bytes + 2), bytes[4]);
		break;
	}
}

static void open_bench(struct bench *bench)
{
	static const struct control_keys keys = { .n = 1, .keys = { { 1, 2, 3 } } };

	bench->n_wire = bench->n_old = 0;
	bench->now = 1000 * MS;
	for (unsigned i = 0; i < ENDS; i++) {
		struct end *end = &bench->ends[i];
		const uint16_t peers[] = { (uint16_t)(1 - i) };
		struct control_parameters parameters = control_defaults();

		*end = (struct end){ .bench = bench, .number = i };
		parameters.handlers =
		    (struct control_handlers){ end, take_record, take_event, emit, NULL, NULL };
		parameters.peers = peers;
		parameters.n_peers = 1;
		parameters.node = (uint16_t)i;
		parameters.session = 0x1234567800000001 + i;
		parameters.window = 4;
		parameters.queue_size = 4096;
		parameters.frame_size = LARGEST;
		parameters.keys = &keys;
		parameters.now = bench->now;
		end->endpoint = control_create(&parameters, NULL);
		FUZZ_CHECK(end->endpoint);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bench bench;

	open_bench(&bench);
	for (size_t at = 0; at + STEP_SIZE <= size; at += STEP_SIZE)
		step(&bench, data + at);
	for (unsigned i = 0; i < LAST_ROUNDS; i++) {
		turn(&bench, LAST_STEP);
		if (bench.ends[0].received == bench.ends[1].sent &&
		    bench.ends[1].received == bench.ends[0].sent)
			break;
	}
	for (unsigned i = 0; i < ENDS; i++) {
		FUZZ_CHECK(bench.ends[i].received == bench.ends[1 - i].sent);
		control_destroy(bench.ends[i].endpoint);
	}
	return 0;
}
