// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A stranger sends frames that it has recorded, changed, cut or made up to endpoints that go on
// exchanging records, restart and change their keys. With a key no frame of it changes the state of
// an endpoint, and each is counted once.
#include "network.h"

#include <string.h>

#include "control/endpoint_internal.h"
#include "wire/crc.h"

#define KEPT     4096u
#define ATTACKS  40000u
#define LARGEST  2048u
#define STATIONS 3u

struct kept {
	unsigned to;
	size_t size;
	uint8_t bytes[LARGEST];
};

enum attack { REPLAY, CHANGE, CUT, LENGTHEN, FORGE, FORGE_PLAIN, SPLICE, N_ATTACKS };

static const struct control_keys keys = { .n = 1, .keys = { { 1, 2, 3 } } };
static struct network network;
static struct kept kept[KEPT];
static unsigned n_kept;
static uint64_t n_seen, n_events, n_delivered;

static unsigned below(unsigned limit)
{
	return (unsigned)(random_next(&network.random) % limit);
}

// Keeps what is delivered, old and new.
static bool keep(struct network *at, const struct datagram *datagram)
{
	struct kept *place = &kept[n_kept < KEPT ? n_kept++ : below(KEPT)];

	(void)at;
	assert_true(datagram->size <= LARGEST);
	place->to = datagram->to;
	place->size = datagram->size;
	memcpy(place->bytes, datagram->bytes, datagram->size);
	n_seen++;
	return true;
}

static void on_deliver(struct station *station, unsigned from, const struct ctrl_record *record)
{
	(void)station;
	(void)from;
	(void)record;
	n_delivered++;
}

static void on_event(struct station *station, unsigned from, enum control_event event)
{
	(void)station;
	(void)from;
	(void)event;
	n_events++;
}

// --- the state of an endpoint, and what it has counted ---

struct state {
	uint32_t epoch;
	uint64_t n_events, n_delivered;
	struct peer peers[STATIONS - 1];
};

// Without what a response that is due changes.
static void read_state(const struct control_endpoint *endpoint, bool with_responses,
		       struct state *state)
{
	memset(state, 0, sizeof(*state));
	state->epoch = endpoint->epoch;
	state->n_events = n_events;
	state->n_delivered = n_delivered;
	memcpy(state->peers, endpoint->peers, endpoint->n_peers * sizeof(state->peers[0]));
	for (unsigned i = 0; i < endpoint->n_peers; i++) {
		struct peer *peer = &state->peers[i];

		memset(&peer->counters, 0, sizeof(peer->counters));
		// Keys are made when they are needed.
		memset(&peer->seals.sending, 0, sizeof(peer->seals.sending));
		memset(peer->seals.receiving, 0, sizeof(peer->seals.receiving));
		peer->seals.generation = 0;
		peer->seals.session = peer->seals.peer_session = 0;
		peer->full_since = 0;
		if (with_responses)
			continue;
		memset(&peer->response, 0, sizeof(peer->response));
		peer->challenging = false;
		peer->challenge = 0;
		peer->challenged_at = 0;
		peer->ack_due = 0;
	}
}

// All frames that an endpoint has counted.
static uint64_t n_counted(const struct control_endpoint *endpoint)
{
	uint64_t n = endpoint->totals.unknown_node + endpoint->totals.misdirected;

	for (unsigned i = 0; i < WIRE_N_ERRORS; i++)
		n += endpoint->totals.malformed[i];
	for (unsigned i = 0; i < endpoint->n_peers; i++) {
		const struct control_counters *c = &endpoint->peers[i].counters;

		n += c->frames_received + c->bad_checksum + c->other_version + c->without_key +
		     c->with_key + c->old_session + c->replayed + c->forged;
	}
	return n;
}

// --- what the stranger sends ---

static void change_bits(struct kept *frame)
{
	for (unsigned n = 1 + below(3); n > 0; n--)
		frame->bytes[below((unsigned)frame->size)] ^= (uint8_t)(1u << below(8));
}

// With a size and, where there is no seal, a CRC that is correct.
static void close_frame(struct kept *frame)
{
	store_le16(frame->bytes + 6, (uint16_t)frame->size);
	if (!(frame->bytes[5] & CTRL_KEYED))
		store_le32(frame->bytes + frame->size - 4,
			   crc32c(0, frame->bytes, frame->size - 4));
}

static void cut(struct kept *frame)
{
	frame->size -= 1 + below((unsigned)frame->size);
	if (below(2) == 0 && frame->size >= CTRL_OVERHEAD) {
		frame->size = CTRL_HEADER_SIZE + ((frame->size - CTRL_HEADER_SIZE) & ~(size_t)7);
		frame->size += frame->bytes[5] & CTRL_KEYED ? 0 : 4;
		close_frame(frame);
	}
}

// The sessions of the recorded frame, a later number and stamp, an epoch and a record of its own.
static void forge(struct kept *frame, bool sealed)
{
	struct ctrl_frame decoded;
	const struct ctrl_release release = { .event = UINT64_MAX };

	if (ctrl_frame_decode(frame->bytes, frame->size, &decoded) != WIRE_OK)
		return;
	decoded.header.flags = below(2) == 0 ? CTRL_SEQUENCED : (uint8_t)below(8);
	decoded.header.flags |= sealed ? CTRL_KEYED : 0;
	decoded.header.sequence += below(4);
	decoded.header.stamp += below(1000000);
	decoded.header.epoch += below(2);
	if (below(4) == 0)
		decoded.header.session = random_next(&network.random) | 1;
	if (below(4) == 0)
		decoded.header.peer_session = 0;
	(void)ctrl_put_release(frame->bytes + CTRL_HEADER_SIZE, CTRL_RELEASE_SIZE, &release);
	frame->size = ctrl_frame_encode(frame->bytes, &decoded.header, CTRL_RELEASE_SIZE);
	if (sealed)
		for (unsigned i = 0; i < CTRL_SEAL_SIZE; i++)
			frame->bytes[frame->size - 1 - i] = (uint8_t)below(256);
}

// The end of another frame of the same size, or the number of another.
static void splice(struct kept *frame)
{
	const struct kept *other = &kept[below(n_kept)];
	const size_t size = below(2) == 0 ? CTRL_SEAL_SIZE : 32;

	if (other->size == frame->size && size < frame->size)
		memcpy(frame->bytes + frame->size - size, other->bytes + other->size - size, size);
	else
		frame->bytes[frame->size - CTRL_SEAL_SIZE] ^= 1;
}

static void make_frame(enum attack attack, struct kept *frame)
{
	switch (attack) {
	case CHANGE:
		change_bits(frame);
		break;
	case CUT:
		cut(frame);
		break;
	case LENGTHEN:
		memset(frame->bytes + frame->size, 8, 8);
		frame->size += 8;
		close_frame(frame);
		break;
	case FORGE:
	case FORGE_PLAIN:
		forge(frame, attack == FORGE);
		break;
	case SPLICE:
		splice(frame);
		break;
	default:
		break;
	}
}

// Whether a frame changes the state of the endpoint that it is sent to.
static bool attack_changes(enum attack attack)
{
	struct kept frame = kept[below(n_kept)];
	const unsigned to = below(8) == 0 ? below(STATIONS) : frame.to;
	struct control_endpoint *endpoint = network.stations[to].endpoint;
	static struct state before, after;
	struct kept genuine = frame;
	uint64_t counted = n_counted(endpoint);
	bool same;

	make_frame(attack, &frame);
	same = frame.size == genuine.size && memcmp(frame.bytes, genuine.bytes, frame.size) == 0;
	read_state(endpoint, attack != REPLAY && !same, &before);
	(void)control_receive(endpoint, frame.bytes, frame.size, network.now);
	read_state(endpoint, attack != REPLAY && !same, &after);
	assert_int_equal(n_counted(endpoint), counted + 1);
	return memcmp(&before, &after, sizeof(before)) != 0;
}

// --- the histories ---

static void open_stations(bool keyed, uint64_t seed)
{
	struct network_options options = {
		.n_stations = STATIONS,
		.seed = seed,
		.loss = 0.02,
		.delay_min = 20 * US,
		.delay_max = 300 * US,
		.parameters = control_defaults(),
	};

	options.parameters.keys = keyed ? &keys : NULL;
	options.parameters.epoch = 1;
	options.parameters.heartbeat_interval = 10 * MS;
	options.parameters.heartbeat_timeout = 100 * MS;
	network_open(&network, &options);
	network.filter = keep;
	n_kept = 0;
	for (unsigned i = 0; i < STATIONS; i++) {
		network.stations[i].on_deliver = on_deliver;
		network.stations[i].on_event = on_event;
	}
	network_run(&network, 100 * MS);
}

static void go_on(unsigned i)
{
	const unsigned from = below(STATIONS), to = (from + 1 + below(STATIONS - 1)) % STATIONS;

	(void)network_send(&network, from, to, NETWORK_HEAD + 8 * (size_t)below(20));
	if (i % 20 == 0)
		network_run(&network, 1 * MS);
	if (i % 5000 == 4999) {
		network_restart(&network, below(STATIONS));
		network_run(&network, 50 * MS);
	}
}

// The number of frames that changed a state, of each kind.
static void attack_all(bool keyed, uint64_t changes[N_ATTACKS])
{
	open_stations(keyed, 3);
	for (unsigned i = 0; i < ATTACKS; i++) {
		const enum attack attack = (enum attack)below(N_ATTACKS);

		go_on(i);
		changes[attack] += attack_changes(attack);
	}
}

static void expect_all_causes(void)
{
	struct control_counters sum = { 0 };

	for (unsigned i = 0; i < STATIONS; i++)
		for (unsigned j = 0; j < STATIONS; j++) {
			const struct control_counters *c = network_counters(&network, i, j);

			if (i == j)
				continue;
			sum.without_key += c->without_key;
			sum.old_session += c->old_session;
			sum.replayed += c->replayed;
			sum.forged += c->forged;
		}
	print_message("since the last restarts, of %u frames %u had no seal, %u an old session, %u "
		      "were replayed, %u "
		      "forged\n",
		      ATTACKS, (unsigned)sum.without_key, (unsigned)sum.old_session,
		      (unsigned)sum.replayed, (unsigned)sum.forged);
	assert_true(sum.without_key > 0 && sum.old_session > 0 && sum.replayed > 0 &&
		    sum.forged > 0);
}

static void stranger__changes_nothing(void **state)
{
	uint64_t changes[N_ATTACKS] = { 0 };

	(void)state;
	attack_all(true, changes);
	for (unsigned i = 0; i < N_ATTACKS; i++)
		if (changes[i] > 0)
			fail_msg("%u frames of kind %u changed a state", (unsigned)changes[i], i);
	expect_all_causes();
	network_run(&network, SECOND); // the last restart is noticed by all
	assert_true(network_drain(&network, 2 * SECOND));
	network_expect_all_delivered(&network);
	network_expect_sums(&network);
	network_close(&network);
}

// The same stranger without a key: the test sees what changes.
static void stranger__without_a_key(void **state)
{
	uint64_t changes[N_ATTACKS] = { 0 };
	struct control_endpoint *endpoint;

	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		open_stations(false, seed);
		for (unsigned i = 0; i < 5; i++) {
			const enum attack attack = i % 2 == 0 ? FORGE_PLAIN : REPLAY;

			changes[attack] += attack_changes(attack);
		}
		endpoint = network.stations[0].endpoint;
		assert_non_null(endpoint);
		network_close(&network);
	}
	print_message("of 600 forged and 400 replayed frames, %u and %u changed a state\n",
		      (unsigned)changes[FORGE_PLAIN], (unsigned)changes[REPLAY]);
	assert_true(changes[FORGE_PLAIN] > 0 && changes[REPLAY] > 0);
}

static struct kept refusal;

static bool keep_refusal(struct network *at, const struct datagram *datagram)
{
	(void)at;
	if (ctrl_frame_flags(datagram->bytes) & CTRL_OCCUPIED) {
		refusal.to = datagram->to;
		refusal.size = datagram->size;
		memcpy(refusal.bytes, datagram->bytes, datagram->size);
	}
	return true;
}

// A process was refused, then accepted, and its peer has died: the recorded refusal is of the same
// session, and has no effect.
static void stranger__replays_a_refusal(void **state)
{
	struct station *refused = &network.stations[1];

	(void)state;
	open_stations(true, 7);
	network.filter = keep_refusal;
	network_restart(&network, 1);
	network_run(&network, SECOND);
	assert_true(refusal.size > 0);
	assert_true(network_state(&network, 1, 0).connected);
	network_kill(&network, 0);
	network_kill(&network, 2);
	network_run(&network, SECOND);
	assert_true(network_state(&network, 1, 0).lost);
	memset(refused->links, 0, sizeof(refused->links));
	(void)control_receive(refused->endpoint, refusal.bytes, refusal.size, network.now);
	assert_int_equal(refused->links[0].events[CONTROL_OCCUPIED], 0);
	assert_int_equal(refused->links[2].events[CONTROL_OCCUPIED], 0);
	network_close(&network);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stranger__changes_nothing),
		cmocka_unit_test(stranger__without_a_key),
		cmocka_unit_test(stranger__replays_a_refusal),
	};

	return cmocka_run_group_tests_name("endpoint_stranger", tests, NULL, NULL);
}
