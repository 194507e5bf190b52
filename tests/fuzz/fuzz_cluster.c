// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A system of two nodes, each with a builder and a readout, in a run, and a hostile or faulty peer:
// records are changed on their way, lost and sent twice, any bytes come as records in the name of
// either node, connections are lost and come back, the operator commands. Whatever comes: each
// record that is sent is well-formed, each message to a builder or readout names what it has, and
// every call returns.
//
// Input: byte 0, bit 0: push, else pull; bit 1: the run waits for silent sources. Then steps: u8
// what is done, u8 which; a step with a record: u8 size, so many bytes of it from its type on.
#include "fuzz.h"

#include "../unit/wire/ctrl_again.h"

#include "cluster/manager.h"
#include "cluster/node.h"

#define NODES   2u
#define SLOTS   4u
#define HASH    0x1234u
#define MS      UINT64_C(1000000)
#define WIRE    128u  // records under way
#define LARGEST 1024u // bytes of one
#define MAIL    64u   // messages that wait for a node

struct sent {
	unsigned from, to;
	size_t size;
	uint8_t bytes[LARGEST];
};

struct slot {
	uint64_t event;
	enum { SLOT_FREE, SLOT_BUILT, SLOT_PUBLISHED } state;
};

struct member {
	struct bench *bench;
	unsigned number;
	struct cluster_node *node;
	struct slot slots[SLOTS];
	struct message mail[MAIL]; // from its builder and readout
	unsigned n_mail;
	bool runs;
	uint32_t run;
	uint64_t announced, end;
};

struct bench {
	struct cluster_manager *manager;
	struct member members[NODES];
	struct sent wire[WIRE];
	unsigned first_sent, n_sent, n_records;
	uint64_t now;
};

static struct cluster_system systems[NODES];
static struct cluster_system_node nodes[NODES];
static struct cluster_system_builder builders[NODES];
static uint16_t source_ids[NODES];

static void make_systems(void)
{
	for (unsigned self = 0; self < NODES; self++) {
		struct cluster_system *system = &systems[self];

		system->n_nodes = system->n_builders = system->n_sources = NODES;
		system->self = self;
		system->hash = HASH;
		system->nodes = nodes;
		system->builders = builders;
		system->source_ids = source_ids;
		for (unsigned i = 0; i < NODES; i++) {
			system->nodes[i] = (struct cluster_system_node){ .manager = i == 0,
									 .address = 1 + i,
									 .mtu = 1500,
									 .first_builder = i,
									 .n_builders = 1,
									 .first_source = i,
									 .n_sources = 1 };
			system->builders[i] = (struct cluster_system_builder){ .node = i,
									       .slots = SLOTS,
									       .slot_size = 4096,
									       .group = i,
									       .weight = 1 };
			system->source_ids[i] = (uint16_t)(1 + i);
		}
	}
}

// --- the network ---

// The whole record is decoded for every eighth only: this takes longer than all the rest.
static void check_record(const void *bytes, size_t size, bool whole)
{
	static uint8_t again[CTRL_AGAIN_SIZE];
	struct ctrl_record record;
	size_t again_size;

	FUZZ_CHECK(ctrl_record_at(bytes, size, &record) == WIRE_OK && record.size == size);
	if (whole)
		FUZZ_CHECK(ctrl_again(&record, again, &again_size) == WIRE_OK &&
			   again_size == size);
}

static struct sent *on_wire(struct bench *bench, unsigned index)
{
	return &bench->wire[(bench->first_sent + index) % WIRE];
}

static void put_on_wire(struct bench *bench, unsigned from, unsigned to, const void *bytes,
			size_t size)
{
	struct sent *sent = on_wire(bench, bench->n_sent);

	if (bench->n_sent == WIRE || size > LARGEST)
		return;
	bench->n_sent++;
	sent->from = from;
	sent->to = to;
	sent->size = size;
	memcpy(sent->bytes, bytes, size);
}

static void send_record(void *context, unsigned to, const void *record, size_t size)
{
	const struct member *member = context;

	FUZZ_CHECK(to < NODES && size <= LARGEST);
	check_record(record, size, member->bench->n_records++ % 8 == 0);
	put_on_wire(member->bench, member->number, to, record, size);
}

static size_t room(void *context, unsigned to, size_t largest)
{
	const struct member *member = context;

	(void)largest;
	FUZZ_CHECK(to < NODES);
	return member->bench->n_sent < WIRE / 2 ? LARGEST : 0;
}

static void give(struct bench *bench, unsigned from, unsigned to, const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, size);
	struct ctrl_record record;

	if (ctrl_record_at(bytes, size, &record) == WIRE_OK) {
		if (to == 0)
			cluster_manager_record(bench->manager, from, &record, bench->now);
		cluster_node_record(bench->members[to].node, from, &record, bench->now);
	}
	fuzz_free(bytes);
}

static void deliver(struct bench *bench, unsigned n)
{
	while (n-- > 0 && bench->n_sent > 0) {
		const struct sent *first = on_wire(bench, 0);

		bench->first_sent++;
		bench->n_sent--;
		give(bench, first->from, first->to, first->bytes, first->size);
	}
}

// --- builders and readouts ---

static void put_mail(struct member *member, const struct message *message)
{
	FUZZ_CHECK(member->n_mail < MAIL);
	member->mail[member->n_mail++] = *message;
}

static struct slot *find(struct member *member, uint64_t event)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (member->slots[i].state != SLOT_FREE && member->slots[i].event == event)
			return &member->slots[i];
	return NULL;
}

// The event is built at once.
static void expect(struct member *member, const struct message *message)
{
	struct message answer = { .kind = MESSAGE_REFUSED, .event = message->event };
	unsigned i = 0;

	while (i < SLOTS && member->slots[i].state != SLOT_FREE)
		i++;
	if (i < SLOTS && find(member, message->event) == NULL) {
		member->slots[i] = (struct slot){ message->event, SLOT_BUILT };
		answer.kind = MESSAGE_BUILT;
		answer.slot = i;
		answer.bytes = 100;
	}
	put_mail(member, &answer);
}

static void publish(struct member *member, const struct message *message)
{
	struct message answer = { .kind = MESSAGE_REFUSED, .event = message->event };
	struct slot *slot = find(member, message->event);

	FUZZ_CHECK(message->slot < SLOTS);
	if (slot != NULL && slot->state == SLOT_BUILT && slot == &member->slots[message->slot]) {
		slot->state = SLOT_PUBLISHED;
		answer.kind = MESSAGE_PUBLISHED;
	}
	put_mail(member, &answer);
}

static void discard(struct member *member, const struct message *message)
{
	const struct message answer = { .kind = MESSAGE_DROPPED, .event = message->event };
	struct slot *slot = find(member, message->event);

	if (slot != NULL && slot->state == SLOT_BUILT)
		slot->state = SLOT_FREE;
	if ((message->flags & MESSAGE_GRANTED) != 0)
		put_mail(member, &answer);
}

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	struct member *member = context;

	FUZZ_CHECK(builder == 0);
	if (member->n_mail >= MAIL / 2)
		return false;
	if (message->kind == MESSAGE_EXPECT) {
		expect(member, message);
	} else if (message->kind == MESSAGE_PUBLISH) {
		publish(member, message);
	} else if (message->kind != MESSAGE_AWAIT && message->kind != MESSAGE_SOURCES) {
		FUZZ_CHECK(message->kind == MESSAGE_DISCARD);
		discard(member, message);
	}
	return true;
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	struct member *member = context;
	struct message answer = *message;

	FUZZ_CHECK(readout == 0);
	if (member->n_mail >= MAIL / 2)
		return false;
	FUZZ_CHECK(message->kind == MESSAGE_SEND || message->kind == MESSAGE_RELEASE ||
		   message->kind == MESSAGE_RUN || message->kind == MESSAGE_THROTTLE ||
		   message->kind == MESSAGE_PHASE);
	if (message->kind == MESSAGE_SEND) {
		FUZZ_CHECK(message->builder < NODES);
		FUZZ_CHECK(message->position < message->n_positions || message->n_positions == 0);
		answer.kind = MESSAGE_SENT;
		if (message->flags & MESSAGE_REQUESTED)
			put_mail(member, &answer);
		answer.kind = MESSAGE_PHASE;
		if (message->flags & MESSAGE_BARRIER)
			put_mail(member, &answer);
	}
	if (message->kind != MESSAGE_RUN)
		return true;
	if (message->run != member->run) {
		member->run = message->run;
		member->announced = message->event;
		member->end = UINT64_MAX;
	}
	member->runs = message->state == CTRL_RUNNING || message->state == CTRL_DRAINING;
	if (message->state == CTRL_DRAINING)
		member->end = message->event;
	return true;
}

static void announce(struct member *member)
{
	struct message message = { .kind = MESSAGE_ANNOUNCE, .run = member->run };

	if (!member->runs || member->n_mail >= MAIL / 2)
		return;
	member->announced += member->announced < member->end;
	message.event = member->announced;
	message.flags = member->announced >= member->end ? MESSAGE_LAST : 0;
	put_mail(member, &message);
}

static void free_slots(struct member *member)
{
	for (unsigned i = 0; i < SLOTS && member->n_mail < MAIL / 2; i++) {
		const struct message message = {
			.kind = MESSAGE_FREED,
			.event = member->slots[i].event,
			.slot = i,
			.time = 1,
		};

		if (member->slots[i].state != SLOT_PUBLISHED)
			continue;
		member->slots[i].state = SLOT_FREE;
		put_mail(member, &message);
	}
}

static void read_mail(struct member *member)
{
	struct message mail[MAIL];
	unsigned n = member->n_mail;

	memcpy(mail, member->mail, n * sizeof(mail[0]));
	member->n_mail = 0;
	for (unsigned i = 0; i < n; i++) {
		if (mail[i].kind == MESSAGE_ANNOUNCE || mail[i].kind == MESSAGE_SENT)
			cluster_node_readout_message(member->node, 0, &mail[i], member->bench->now);
		else
			cluster_node_builder_message(member->node, 0, &mail[i], member->bench->now);
	}
}

// --- steps ---

static void turn(struct bench *bench)
{
	bench->now += MS;
	for (unsigned i = 0; i < NODES; i++) {
		struct member *member = &bench->members[i];

		announce(member);
		free_slots(member);
		read_mail(member);
		cluster_node_poll(member->node, bench->now);
	}
	cluster_manager_poll(bench->manager, bench->now);
	deliver(bench, WIRE);
}

static void connection(struct bench *bench, unsigned which)
{
	static const enum control_event events[] = { CONTROL_LOST, CONTROL_BACK, CONTROL_RESTARTED,
						     CONTROL_CONNECTED, CONTROL_PROCESS_ENDED };
	const unsigned at = which & 1;
	const enum control_event event = events[(which >> 1) % 5];

	if (at == 0)
		cluster_manager_event(bench->manager, 1, event, bench->now);
	cluster_node_event(bench->members[at].node, 1 - at, event);
}

static void command(struct bench *bench, unsigned which)
{
	char error[CLUSTER_ERROR_SIZE] = "";

	if (cluster_manager_command(bench->manager, (enum cluster_command)(which % 7),
				    which / 7 % (NODES + 1), bench->now, error) != 0)
		FUZZ_CHECK(error[0] != '\0');
}

static void look(const struct bench *bench)
{
	struct cluster_manager_view view;
	struct cluster_node_view of_node;
	struct cluster_node_state state;

	cluster_manager_view(bench->manager, &view);
	FUZZ_CHECK(view.n_registered <= view.n_nodes && view.n_nodes == NODES);
	for (unsigned i = 0; i < NODES; i++) {
		cluster_manager_node(bench->manager, i, &state);
		cluster_node_view(bench->members[i].node, &of_node);
		FUZZ_CHECK(of_node.tokens_free + of_node.tokens_used <= SLOTS);
	}
}

// Of the record that was sent last: bytes are changed, it is sent twice, or lost.
static void interfere(struct bench *bench, unsigned what, const uint8_t *bytes, size_t size)
{
	struct sent *last;

	if (bench->n_sent == 0)
		return;
	last = on_wire(bench, bench->n_sent - 1);
	if (what == 0)
		bench->n_sent--;
	else if (what == 1)
		put_on_wire(bench, last->from, last->to, last->bytes, last->size);
	for (size_t i = 0; what >= 2 && i + 2 <= size; i += 2)
		last->bytes[bytes[i] % last->size] ^= bytes[i + 1];
}

// Polls without delivery, so that there is something to interfere with.
static void poll_all(struct bench *bench)
{
	for (unsigned i = 0; i < NODES; i++)
		cluster_node_poll(bench->members[i].node, bench->now);
	cluster_manager_poll(bench->manager, bench->now);
}

// Returns the bytes of the input that the step took.
static size_t step(struct bench *bench, const uint8_t *data, size_t size)
{
	const unsigned which = data[1];
	size_t n = size > 2 ? data[2] : 0;

	n = n < size - 3 ? n : size - 3;
	switch (data[0] % 8) {
	case 0:
		for (unsigned i = 0; i <= which % 8; i++)
			turn(bench);
		return 2;
	case 1:
		connection(bench, which);
		return 2;
	case 2:
		command(bench, which);
		return 2;
	case 3:
		bench->now += which * 100 * MS;
		poll_all(bench);
		return 2;
	case 4:
		deliver(bench, 1 + which % 4);
		look(bench);
		return 2;
	default:
		break;
	}
	if (size <= 3)
		return size;
	if (data[0] % 8 == 5) {
		interfere(bench, which % 4, data + 3, n);
	} else {
		if (n > 4)
			give(bench, which & 1, which >> 1 & 1, data + 3, n);
	}
	return 3 + n;
}

static void open_bench(struct bench *bench, uint8_t flags)
{
	const struct cluster_parameters cluster = { .system = &systems[0],
						    .mode = flags & 1 ? SCHED_PUSH : SCHED_PULL,
						    .source_buffer = 16,
						    .parallel_sends = 1,
						    .waits_for_sources = (flags & 2) != 0 };
	struct cluster_manager_parameters managing = {
		.cluster = cluster,
		.wire = { .system = &systems[0], .transport = ON_WIRE_UDP, .mode = cluster.mode },
		.sched = sched_defaults(),
		.deadline_ns = 100 * MS,
		.run_number = 1,
		.transport = { .context = &bench->members[0], .send = send_record, .room = room },
		.autostart = true,
		.now = bench->now,
	};
	char error[SCHED_ERROR_SIZE];

	FUZZ_CHECK(cluster_manager_check(&managing, error) == 0);
	bench->manager = cluster_manager_create(&managing);
	FUZZ_CHECK(bench->manager);
	for (unsigned i = 0; i < NODES; i++) {
		struct member *member = &bench->members[i];
		struct cluster_node_parameters parameters = {
			.cluster = cluster,
			.n_readouts = 1,
			.resumes = (flags & 4) != 0,
			.transport = { .context = member, .send = send_record, .room = room },
			.context = member,
			.to_builder = to_builder,
			.to_readout = to_readout,
		};

		member->bench = bench;
		member->number = i;
		parameters.cluster.system = &systems[i];
		member->node = cluster_node_create(&parameters);
		FUZZ_CHECK(member->node);
	}
	for (unsigned i = 0; i < NODES; i++) {
		cluster_node_event(bench->members[i].node, i, CONTROL_CONNECTED);
		cluster_node_event(bench->members[i].node, 1 - i, CONTROL_CONNECTED);
		cluster_manager_event(bench->manager, i, CONTROL_CONNECTED, bench->now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bench bench;
	size_t at = 1;

	if (size < 2)
		return 0;
	if (systems[0].n_nodes == 0)
		make_systems();
	bench.first_sent = bench.n_sent = bench.n_records = 0;
	bench.now = 1000 * MS;
	memset(bench.members, 0, sizeof(bench.members));
	open_bench(&bench, data[0]);
	while (size - at >= 2)
		at += step(&bench, data + at, size - at);
	for (unsigned i = 0; i < 4; i++)
		turn(&bench);
	look(&bench);
	cluster_manager_destroy(bench.manager);
	for (unsigned i = 0; i < NODES; i++)
		cluster_node_destroy(bench.members[i].node);
	return 0;
}
