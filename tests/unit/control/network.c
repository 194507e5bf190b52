// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "network.h"

#include "control/endpoint_internal.h"

#include <stdlib.h>
#include <string.h>

#define STEP        (50 * US) // shortest time between two polls
#define LARGEST     1024u     // bytes of a record
#define MOST_FRAMES 1000000u
#define IDLE_SLEEP  (1 * MS)

static bool happens(struct network *network, double probability)
{
	return probability > 0 && random_uniform(&network->random) < probability;
}

void network_transmit(struct network *network, unsigned from, unsigned to, const uint8_t *bytes,
		      size_t size, uint64_t delay)
{
	struct datagram *datagram = malloc(sizeof(*datagram) + size), **link = &network->first;

	assert_non_null(datagram);
	*datagram = (struct datagram){
		.arrival = network->now + delay,
		.from = from,
		.to = to,
		.size = size,
	};
	memcpy(datagram->bytes, bytes, size);
	while (*link && (*link)->arrival <= datagram->arrival)
		link = &(*link)->later;
	datagram->later = *link;
	*link = datagram;
}

static uint64_t some_delay(struct network *network)
{
	const struct network_options *options = &network->options;

	return options->delay_min + (uint64_t)(random_uniform(&network->random) *
					       (double)(options->delay_max - options->delay_min));
}

static void put_datagram(struct network *network, unsigned from, unsigned to, const uint8_t *bytes,
			 size_t size)
{
	network->n_datagrams++;
	if (network->cut[from][to] || happens(network, network->options.loss)) {
		network->n_lost++;
		return;
	}
	network_transmit(network, from, to, bytes, size, some_delay(network));
	if (happens(network, network->options.duplicate)) {
		network->n_doubled++;
		network_transmit(network, from, to, bytes, size, some_delay(network));
	}
}

static bool on_emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct station *station = context;
	struct network *network = station->network;
	const unsigned to = peer / 10;
	struct ctrl_frame frame;

	assert_int_equal(ctrl_frame_decode(bytes, size, &frame), WIRE_OK);
	assert_int_equal(frame.header.destination, peer);
	assert_true(size <= station->parameters.frame_size);
	// A session's first sequence number is its low half.
	if (frame.header.peer_session != 0)
		assert_true(frame.header.acknowledgement - (uint32_t)frame.header.peer_session <
			    MOST_FRAMES);
	if (happens(network, network->options.refusal))
		return false;
	put_datagram(network, station->number, to, bytes, size);
	return true;
}

static bool on_emit_shared(void *context, const uint8_t *bytes, size_t size)
{
	const struct station *station = context;
	struct network *network = station->network;

	assert_true(size <= station->parameters.frame_size);
	if (happens(network, network->options.refusal))
		return false;
	network->n_shared++;
	for (unsigned to = 0; to < network->options.n_stations; to++)
		if (to != station->number)
			put_datagram(network, station->number, to, bytes, size);
	return true;
}

static bool on_store_will(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct station *station = context;
	struct link *link = &station->links[peer / 10];

	assert_true(size <= CONTROL_WILL_MOST);
	if (happens(station->network, station->network->options.refusal))
		return false;
	memcpy(link->will, bytes, size);
	link->will_size = size;
	return true;
}

// A stream begins at its first record and goes on without a gap; none comes back.
static void check_number(struct link *link, const uint8_t *bytes)
{
	const uint64_t stream = load_le64(bytes), number = load_le64(bytes + 8);

	if (stream != link->receiving) {
		assert_true(stream > link->receiving);
		link->receiving = stream;
		link->n_received = 0;
	}
	assert_int_equal(number, link->n_received);
	link->n_received++;
}

static void check_record(struct link *link, const struct ctrl_record *record)
{
	const uint64_t number = load_le64(record->bytes + 16);

	check_number(link, record->bytes + 8);
	for (size_t i = NETWORK_HEAD; i < record->size; i++)
		assert_int_equal(record->bytes[i], (uint8_t)(number + i));
}

static void check_shared(struct link *link, unsigned self, const struct ctrl_record *record)
{
	check_number(link, record->bytes + 8 + 16 * (size_t)self);
	for (size_t i = NETWORK_ALL_HEAD; i < record->size; i++)
		assert_int_equal(record->bytes[i], (uint8_t)i);
}

static void on_deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct station *station = context;
	struct link *link = &station->links[peer / 10];
	struct ctrl_heartbeat heartbeat;

	if (record->type == CTRL_HEARTBEAT) {
		assert_int_equal(ctrl_get_heartbeat(record, &heartbeat), WIRE_OK);
		assert_true(heartbeat.run >= link->last_heartbeat);
		link->last_heartbeat = heartbeat.run;
		link->n_heartbeats++;
	} else if (record->type == NETWORK_RECORD) {
		check_record(link, record);
		station->delivered++;
	} else if (record->type == NETWORK_SHARED) {
		check_shared(link, station->number, record);
		station->delivered++;
	}
	if (station->on_deliver)
		station->on_deliver(station, peer / 10, record);
}

static void begin_stream(struct network *network, struct link *link)
{
	link->sending = ++network->n_streams;
	link->n_sent = 0;
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct station *station = context;
	struct link *link = &station->links[peer / 10];

	link->events[event]++;
	if (event == CONTROL_RESTARTED || event == CONTROL_PROCESS_ENDED)
		begin_stream(station->network, link);
	if (event == CONTROL_RESTARTED || event == CONTROL_CONNECTED)
		link->last_heartbeat = 0; // a new life counts anew
	if (station->on_event)
		station->on_event(station, peer / 10, event);
}

static void create_endpoint(struct network *network, struct station *station)
{
	struct control_parameters *parameters = &station->parameters;
	const char *reason;
	unsigned n = 0;

	for (unsigned i = 0; i < network->options.n_stations; i++)
		if (i != station->number)
			station->peers[n++] = network_node(i);
	parameters->peers = station->peers;
	parameters->n_peers = n;
	parameters->node = network_node(station->number);
	parameters->session = random_next(&network->random) | 1;
	parameters->now = network->now;
	parameters->handlers =
	    (struct control_handlers){ station,
				       on_deliver,
				       on_event,
				       on_emit,
				       network->options.shares ? on_emit_shared : NULL,
				       on_store_will };
	station->endpoint = control_create(parameters, &reason);
	assert_non_null(station->endpoint);
	station->dead = false;
	for (unsigned i = 0; i < NETWORK_STATIONS; i++) {
		struct link *link = &station->links[i];

		begin_stream(network, link);
		link->receiving = 0;
		link->will_size = 0;
		link->n_received = 0;
		link->last_heartbeat = 0;
	}
}

void network_open(struct network *network, const struct network_options *options)
{
	*network = (struct network){ .options = *options, .now = 5 * SECOND };
	network->random = random_fork(options->seed, 17);
	for (unsigned i = 0; i < options->n_stations; i++) {
		struct station *station = &network->stations[i];

		station->network = network;
		station->number = i;
		station->parameters = options->parameters;
		if (options->parameters.window == 0)
			station->parameters = control_defaults();
		create_endpoint(network, station);
	}
}

void network_close(struct network *network)
{
	for (unsigned i = 0; i < network->options.n_stations; i++)
		control_destroy(network->stations[i].endpoint);
	while (network->first) {
		struct datagram *datagram = network->first;

		network->first = datagram->later;
		free(datagram);
	}
}

static void send_wills(struct network *network, const struct station *station)
{
	for (unsigned to = 0; to < network->options.n_stations; to++) {
		const struct link *link = &station->links[to];

		if (link->will_size > 0)
			put_datagram(network, station->number, to, link->will, link->will_size);
	}
}

void network_kill(struct network *network, unsigned number)
{
	if (happens(network, network->options.wills))
		send_wills(network, &network->stations[number]);
	control_destroy(network->stations[number].endpoint);
	network->stations[number].endpoint = NULL;
	network->stations[number].dead = true;
}

void network_restart(struct network *network, unsigned number)
{
	if (!network->stations[number].dead)
		network_kill(network, number);
	create_endpoint(network, &network->stations[number]);
}

void network_forget(struct network *network, unsigned from, unsigned to)
{
	struct link *link = &network->stations[from].links[to];

	control_forget(network->stations[from].endpoint, network_node(to));
	begin_stream(network, link);
}

bool network_send(struct network *network, unsigned from, unsigned to, size_t size)
{
	struct station *station = &network->stations[from];
	struct link *link = &station->links[to];
	uint8_t bytes[LARGEST];

	assert_true(size >= NETWORK_HEAD && size <= sizeof(bytes));
	store_le16(bytes, NETWORK_RECORD);
	store_le16(bytes + 2, (uint16_t)size);
	store_le32(bytes + 4, 0);
	store_le64(bytes + 8, link->sending);
	store_le64(bytes + 16, link->n_sent);
	for (size_t i = NETWORK_HEAD; i < size; i++)
		bytes[i] = (uint8_t)(link->n_sent + i);
	if (!control_send(station->endpoint, network_node(to), bytes, size))
		return false;
	link->n_sent++;
	return true;
}

static bool has_room(const struct station *station, unsigned to, size_t size)
{
	const struct control_queue *queue =
	    &control_peer(station->endpoint, network_node(to))->queue;

	return control_queue_used(queue) + size <= queue->size;
}

bool network_send_all(struct network *network, unsigned from, unsigned to, size_t size)
{
	struct station *station = &network->stations[from];
	uint8_t bytes[LARGEST] = { 0 };
	uint16_t nodes[NETWORK_STATIONS];
	unsigned n = 0;

	assert_true(size >= NETWORK_ALL_HEAD && size <= sizeof(bytes));
	store_le16(bytes, NETWORK_SHARED);
	store_le16(bytes + 2, (uint16_t)size);
	for (size_t i = NETWORK_ALL_HEAD; i < size; i++)
		bytes[i] = (uint8_t)i;
	for (unsigned i = 0; i < network->options.n_stations; i++) {
		const struct link *link = &station->links[i];

		if (i == from || (to >> i & 1) == 0)
			continue;
		if (!has_room(station, i, size))
			return false;
		store_le64(bytes + 8 + 16 * (size_t)i, link->sending);
		store_le64(bytes + 16 + 16 * (size_t)i, link->n_sent);
		nodes[n++] = network_node(i);
	}
	control_send_all(station->endpoint, nodes, n, bytes, size);
	for (unsigned i = 0; i < n; i++)
		station->links[nodes[i] / 10].n_sent++;
	return n > 0;
}

static void bring_datagrams(struct network *network)
{
	while (network->first && network->first->arrival <= network->now) {
		struct datagram *datagram = network->first;
		struct station *station = &network->stations[datagram->to];

		network->first = datagram->later;
		if (!station->dead && (!network->filter || network->filter(network, datagram)))
			control_receive(station->endpoint, datagram->bytes, datagram->size,
					network->now);
		free(datagram);
	}
}

static uint64_t next_time(const struct network *network)
{
	uint64_t next = network->now + IDLE_SLEEP;

	if (network->first && network->first->arrival < next)
		next = network->first->arrival;
	for (unsigned i = 0; i < network->options.n_stations; i++) {
		const struct station *station = &network->stations[i];
		const uint64_t due = station->dead ? UINT64_MAX : station->endpoint->earliest;

		if (due < next)
			next = due;
	}
	return next > network->now + STEP ? next : network->now + STEP;
}

void network_run(struct network *network, uint64_t duration)
{
	const uint64_t end = network->now + duration;

	while (network->now < end) {
		bring_datagrams(network);
		for (unsigned i = 0; i < network->options.n_stations; i++)
			if (!network->stations[i].dead)
				control_poll(network->stations[i].endpoint, network->now);
		network->now = next_time(network);
	}
}

static bool drained(const struct network *network)
{
	for (unsigned i = 0; i < network->options.n_stations; i++)
		for (unsigned j = 0; j < network->options.n_stations; j++)
			if (i != j && !network->stations[i].dead &&
			    network_state(network, i, j).queued > 0)
				return false;
	return true;
}

bool network_drain(struct network *network, uint64_t limit)
{
	const uint64_t end = network->now + limit;

	while (!drained(network) && network->now < end)
		network_run(network, 1 * MS);
	return drained(network);
}

void network_expect_all_delivered(const struct network *network)
{
	for (unsigned i = 0; i < network->options.n_stations; i++)
		for (unsigned j = 0; j < network->options.n_stations; j++) {
			const struct link *sender = &network->stations[i].links[j];
			const struct link *receiver = &network->stations[j].links[i];

			if (i == j || sender->n_sent == 0)
				continue;
			assert_int_equal(receiver->receiving, sender->sending);
			assert_int_equal(receiver->n_received, sender->n_sent);
		}
}

void network_expect_sums(const struct network *network)
{
	for (unsigned i = 0; i < network->options.n_stations; i++)
		for (unsigned j = 0; j < network->options.n_stations; j++) {
			const struct control_counters *c;

			if (i == j || network->stations[i].dead)
				continue;
			c = network_counters(network, i, j);
			assert_int_equal(c->frames_received, c->sequenced + c->unsequenced +
								 c->duplicates + c->out_of_window +
								 c->foreign + c->fenced);
		}
}

const struct control_counters *network_counters(const struct network *network, unsigned from,
						unsigned to)
{
	return control_counters(network->stations[from].endpoint, network_node(to));
}

struct control_state network_state(const struct network *network, unsigned from, unsigned to)
{
	struct control_state state;

	assert_true(control_state(network->stations[from].endpoint, network_node(to), network->now,
				  &state));
	return state;
}
