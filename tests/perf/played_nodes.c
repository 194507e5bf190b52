// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "played_nodes.h"

#include <stdlib.h>

#include "cluster/node.h"
#include "perf_tool.h"

#define ALL_NS    50000u // between two turns of a node without frames
#define BEAT_NS   100000000u
#define SILENT_NS 5000000000u
#define FRAMES    1024u // received in a turn, at most
#define BYTES     1000u // of an event

struct player {
	struct played_nodes *all;
	struct cluster_system *system;
	struct control_endpoint *endpoint;
	struct cluster_node *node;
	struct message *answers; // of the builders; a ring
	uint32_t answers_mask, first_answer, n_answers;
	bool active; // frames have arrived in this turn
	bool reads, builds, running, ended;
	uint32_t run;
	uint64_t next_send, released, end, announced;
};

struct played_nodes {
	struct played_parameters parameters;
	struct player *players; // by node number; the manager's has no endpoint
	unsigned n;
	unsigned leader;     // the first readout: it looks at what is released
	uint64_t *published; // event + 1, by event modulo its size
	uint64_t published_mask;
	uint64_t now, next_all, began; // began: the run, where the rate is limited
	struct played_counts counts;
};

static void answer(struct player *player, enum message_kind kind, const struct message *to)
{
	struct message message = *to;

	message.kind = (uint16_t)kind;
	message.flags = 0;
	if (kind == MESSAGE_BUILT) {
		message.bytes = BYTES;
		message.slot = (uint32_t)to->event;
		message.n_missing = 0;
	}
	if (player->n_answers > player->answers_mask)
		perf_fail("node %u: too many messages to its builder",
			  (unsigned)(player - player->all->players));
	player->answers[(player->first_answer + player->n_answers++) & player->answers_mask] =
	    message;
}

static void note_published(struct played_nodes *all, uint64_t event)
{
	uint64_t *at = &all->published[event & all->published_mask];

	if (*at == event + 1)
		perf_fail("event %llu is published twice", (unsigned long long)event);
	*at = event + 1;
	all->counts.published++;
}

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	struct player *player = context;

	(void)builder;
	switch (message->kind) {
	case MESSAGE_EXPECT:
		answer(player, MESSAGE_BUILT, message);
		break;
	case MESSAGE_PUBLISH:
		note_published(player->all, message->event);
		answer(player, MESSAGE_PUBLISHED, message);
		answer(player, MESSAGE_FREED, message);
		break;
	case MESSAGE_DISCARD:
		perf_fail("event %llu is granted twice", (unsigned long long)message->event);
	default:
		break;
	}
	return true;
}

static void take_release(struct player *player, uint64_t event)
{
	const struct played_nodes *all = player->all;

	if (player == &all->players[all->leader])
		for (uint64_t i = player->released; i < event; i++)
			if (all->published[i & all->published_mask] != i + 1)
				perf_fail("event %llu is released and was not published",
					  (unsigned long long)i);
	player->released = event;
}

static void note_grant(struct player *player, uint64_t event)
{
	if (event != player->next_send)
		perf_fail("node %u is granted event %llu, not %llu",
			  (unsigned)(player - player->all->players), (unsigned long long)event,
			  (unsigned long long)player->next_send);
	player->next_send++;
	if (player == &player->all->players[player->all->leader])
		player->all->counts.granted++;
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	struct player *player = context;

	(void)readout;
	switch (message->kind) {
	case MESSAGE_SEND:
		note_grant(player, message->event);
		break;
	case MESSAGE_RELEASE:
		take_release(player, message->event);
		break;
	case MESSAGE_RUN:
		if (message->run != player->run)
			player->next_send = player->released = player->announced = message->event;
		player->run = message->run;
		player->running = message->state == CTRL_RUNNING;
		player->ended = message->state == CTRL_DRAINING;
		player->end = message->event;
		break;
	default:
		break;
	}
	return true;
}

// A node that only reads out checks its grants, and does nothing else with them: so many nodes take
// less CPU time than their manager.
static bool check_grants(struct player *player, const struct ctrl_record *record)
{
	struct ctrl_grants list;

	if (player->builds || ctrl_get_grants(record, &list) != WIRE_OK || list.run != player->run)
		return false;
	for (unsigned i = 0; i < list.n; i++)
		note_grant(player, list.first +
				       (ctrl_granted_at(&list, i).offset & (CTRL_NEXT_ROUND - 1u)));
	return true;
}

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct player *player = context;

	if (!check_grants(player, record))
		cluster_node_record(player->node, peer, record, player->all->now);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	const struct player *player = context;

	if (event == CONTROL_LOST)
		perf_fail("a node has lost the manager");
	cluster_node_event(player->node, peer, event);
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	const struct player *player = context;

	(void)peer;
	return frame_ring_put(player->all->parameters.out,
			      (uint32_t)(player - player->all->players), bytes, (uint32_t)size);
}

static void make_endpoint(struct player *player, unsigned number, uint16_t manager)
{
	const struct played_parameters *p = &player->all->parameters;
	struct control_parameters parameters = cluster_endpoint_parameters(2, p->mtu);
	const char *reason;

	parameters.handlers =
	    (struct control_handlers){ player, deliver, on_event, emit, NULL, NULL };
	parameters.peers = &manager;
	parameters.node = (uint16_t)number;
	parameters.session = (uint64_t)(number + 2) << 32;
	parameters.heartbeat_interval = BEAT_NS;
	parameters.heartbeat_timeout = SILENT_NS;
	parameters.now = p->now;
	player->endpoint = control_create(&parameters, &reason);
	if (player->endpoint == NULL)
		perf_fail("%s", reason);
}

static void make_player(struct played_nodes *all, unsigned number)
{
	struct player *player = &all->players[number];
	const struct cluster_system *system = all->parameters.cluster.system;
	const struct cluster_system_node *at = &system->nodes[number];
	struct cluster_node_parameters parameters = {
		.cluster = all->parameters.cluster,
		.n_readouts = at->n_sources > 0,
		.takes_shared = all->parameters.multicast && at->n_sources > 0,
		.context = player,
		.to_builder = to_builder,
		.to_readout = to_readout,
	};
	uint32_t size = 16;

	player->all = all;
	player->reads = at->n_sources > 0;
	player->builds = at->n_builders > 0;
	player->system = malloc(sizeof(*player->system));
	while (at->n_builders > 0 && size < 4 * system->builders[at->first_builder].slots)
		size *= 2;
	player->answers = calloc(size, sizeof(*player->answers));
	player->answers_mask = size - 1;
	if (player->system == NULL || player->answers == NULL)
		perf_fail("out of memory");
	*player->system = *system;
	player->system->self = number;
	parameters.cluster.system = player->system;
	make_endpoint(player, number, (uint16_t)system->manager);
	parameters.transport = cluster_transport_of(player->endpoint);
	parameters.lease_ns = SILENT_NS;
	player->node = cluster_node_create(&parameters);
	if (player->node == NULL)
		perf_fail("out of memory");
}

struct played_nodes *played_create(const struct played_parameters *parameters)
{
	const struct cluster_system *system = parameters->cluster.system;
	struct played_nodes *all = calloc(1, sizeof(*all));
	uint64_t size = 16;

	if (all == NULL)
		perf_fail("out of memory");
	all->parameters = *parameters;
	all->now = parameters->now;
	all->n = system->n_nodes;
	all->players = calloc(all->n, sizeof(*all->players));
	while (size < 4 * (uint64_t)parameters->cluster.source_buffer)
		size *= 2;
	all->published = calloc(size, sizeof(*all->published));
	all->published_mask = size - 1;
	if (all->players == NULL || all->published == NULL)
		perf_fail("out of memory");
	for (unsigned i = 0; i < all->n; i++)
		if (i != system->manager)
			make_player(all, i);
	while (!all->players[all->leader].reads)
		all->leader++;
	return all;
}

void played_destroy(struct played_nodes *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		cluster_node_destroy(all->players[i].node);
		control_destroy(all->players[i].endpoint);
		free(all->players[i].answers);
		free(all->players[i].system);
	}
	free(all->players);
	free(all->published);
	free(all);
}

static void receive_at(struct player *player, const struct frame_ring_entry *entry)
{
	if (control_receive(player->endpoint, entry->bytes, entry->size, player->all->now) !=
	    WIRE_OK)
		perf_fail("a frame is refused");
	player->active = true;
}

static unsigned receive(struct played_nodes *all)
{
	const struct frame_ring_entry *entry;
	unsigned n = 0;

	while (n < FRAMES && (entry = frame_ring_front(all->parameters.in)) != NULL) {
		const bool is_shared = entry->node == PLAYED_ALL;
		const unsigned begin = is_shared ? 0 : entry->node;
		const unsigned end = is_shared ? all->n : begin + 1;

		for (unsigned i = begin; i < end; i++)
			if (all->players[i].reads || !is_shared)
				receive_at(&all->players[i], entry);
		frame_ring_pop(all->parameters.in, entry);
		n++;
	}
	return n;
}

// The events that sources have had until now.
static uint64_t events_until_now(struct played_nodes *all)
{
	if (all->parameters.rate == 0)
		return UINT64_MAX;
	if (all->began == 0)
		all->began = all->now;
	return (uint64_t)((double)(all->now - all->began) * all->parameters.rate / 1e9);
}

// The source has read out all events that there are and for which it has room.
static void announce(struct player *player)
{
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = player->run };

	message.event = player->released + player->all->parameters.cluster.source_buffer;
	if (player->running && message.event > events_until_now(player->all))
		message.event = events_until_now(player->all);
	if (player->ended) {
		message.event = player->end;
		message.flags = MESSAGE_LAST;
	}
	if (!player->reads || (!player->running && !player->ended) ||
	    (player->announced == message.event && !player->ended))
		return;
	player->announced = message.event;
	cluster_node_readout_message(player->node, 0, &message, player->all->now);
}

static void turn(struct player *player, uint64_t now)
{
	for (uint32_t n = player->n_answers; n > 0; n--) {
		const struct message *message =
		    &player->answers[player->first_answer++ & player->answers_mask];

		player->n_answers--;
		cluster_node_builder_message(player->node, 0, message, now);
	}
	announce(player);
	cluster_node_poll(player->node, now);
	(void)control_poll(player->endpoint, now);
	player->active = player->n_answers > 0;
}

bool played_turn(struct played_nodes *all, uint64_t now)
{
	const bool due = now >= all->next_all;
	unsigned n;

	all->now = now;
	n = receive(all);
	if (n == 0 && !due)
		return false;
	if (due)
		all->next_all = now + ALL_NS;
	all->counts.over = true;
	for (unsigned i = 0; i < all->n; i++) {
		struct player *player = &all->players[i];

		if (player->node == NULL)
			continue;
		if (due || player->active)
			turn(player, now);
		all->counts.over &= cluster_node_ended(player->node, NULL);
	}
	return n > 0;
}

struct played_counts played_counts(const struct played_nodes *all)
{
	return all->counts;
}
