// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Where data is to be put, where it lies to be read, and how fast it may come: from the builder
// over the manager to the readout, and back. Node "a" is the manager and sends, node "b" builds;
// what one says, the other hears at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/manager.h"
#include "cluster/node.h"
#include "config/config.h"

#define A        0u
#define B        1u
#define SLOTS    16u
#define SLOT     65536u
#define STRIDE   131072u
#define ADDRESS  0x7000000u
#define RKEY     0xABCD12u
#define EVENTS   4u
#define RECORDS  512u
#define NOTES    64u
#define STEP_NS  1000000u
#define STEPS    200u
#define MOST_MFP 0x10000u
#define GIGABIT  1000000000u

struct said {
	unsigned from, to;
	size_t size;
	uint8_t bytes[256];
};

struct pair {
	struct config *configs[2];
	struct cluster_node *nodes[2];
	struct cluster_manager *manager;
	struct said said[RECORDS];
	unsigned n_said, n_heard;
	struct message sends[NOTES], reads[NOTES];
	unsigned n_sends, n_reads;
	uint64_t now;
	uint32_t run; // that the readout knows
};

static struct pair pair;

// Who says it is the context.
static void say(void *context, unsigned to, const void *record, size_t size)
{
	struct said *said = &pair.said[pair.n_said++];

	assert_true(pair.n_said < RECORDS && size <= sizeof(said->bytes) && size > 0);
	said->from = *(const unsigned *)context;
	said->to = to;
	said->size = size;
	memcpy(said->bytes, record, size);
}

static size_t room(void *context, unsigned node, size_t size)
{
	(void)context;
	(void)node;
	return 64 * size;
}

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	(void)context;
	(void)builder;
	(void)message;
	return true;
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	(void)context;
	assert_int_equal(readout, 0);
	if (message->kind == MESSAGE_RUN)
		pair.run = message->run;
	if (message->kind == MESSAGE_SEND && pair.n_sends < NOTES)
		pair.sends[pair.n_sends++] = *message;
	return true;
}

static bool to_port(void *context, const struct message *message)
{
	(void)context;
	assert_true(pair.n_reads < NOTES);
	pair.reads[pair.n_reads++] = *message;
	return true;
}

static struct config *parse(const char *mode, const char *link_rate, const char *node)
{
	char text[2048], error[CONFIG_ERROR_SIZE];
	struct config *config;

	snprintf(text, sizeof(text),
		 "{\"name\": \"pair\", \"sources\": {\"ids\": [7, 9]},"
		 "\"transport\": {\"kind\": \"roce\"}, \"event_manager\": {\"mode\": \"%s\"},"
		 "\"nodes\": [{\"name\": \"a\", \"manager\": true, \"ports\": [{\"name\": \"p\","
		 "\"profile\": \"ring\", \"address\": \"10.0.0.1/24\"}],"
		 "\"generators\": [{\"name\": \"g\", \"port\": \"p\"}]},"
		 "{\"name\": \"b\", \"ports\": [{\"name\": \"p\", \"profile\": \"ring\","
		 "\"address\": \"10.0.0.2/24\", \"link_rate\": \"%s\"}], "
		 "\"builders\": [{\"name\": \"b0\", "
		 "\"slots\": %u, \"slot_size\": %u}]}]}",
		 mode, link_rate, SLOTS, SLOT);
	if (config_parse(&config, text, strlen(text), "pair", node, NULL, 0, error) != 0)
		fail_msg("%s", error);
	return config;
}

static const struct placement placements[] = {
	{ .address = ADDRESS, .stride = STRIDE, .slot_size = SLOT, .slots = SLOTS, .rkey = RKEY },
};

// link_rate: of the builder's port, in the file; reported: what its node says of it, bits/s.
static void open_paced(const char *mode, bool placed, const char *link_rate, uint64_t reported)
{
	static unsigned numbers[2] = { A, B };
	struct cluster_manager_parameters manager;

	memset(&pair, 0, sizeof(pair));
	pair.now = 1000000000;
	for (unsigned i = 0; i < 2; i++) {
		struct cluster_node_parameters parameters = {
			.transport = { .context = &numbers[i], .send = say, .room = room },
			.placements = placed && i == B ? placements : NULL,
			.link_rate = i == B ? reported : 0,
			.to_builder = to_builder,
			.to_readout = to_readout,
			.to_port = to_port,
		};

		pair.configs[i] = parse(mode, link_rate, i == A ? "a" : "b");
		parameters.cluster = config_cluster_parameters(pair.configs[i]);
		parameters.n_readouts = pair.configs[i]->n_generators;
		pair.nodes[i] = cluster_node_create(&parameters);
		assert_non_null(pair.nodes[i]);
	}
	manager = config_manager_parameters(pair.configs[A]);
	manager.autostart = true;
	manager.transport =
	    (struct cluster_transport){ .context = &numbers[A], .send = say, .room = room };
	manager.now = pair.now;
	pair.manager = cluster_manager_create(&manager);
	assert_non_null(pair.manager);
	cluster_manager_event(pair.manager, B, CONTROL_CONNECTED, pair.now);
	cluster_node_event(pair.nodes[A], A, CONTROL_CONNECTED);
	cluster_node_event(pair.nodes[A], B, CONTROL_CONNECTED);
	cluster_node_event(pair.nodes[B], A, CONTROL_CONNECTED);
}

static void open_pair(const char *mode, bool placed)
{
	open_paced(mode, placed, "0", 0);
}

static void close_pair(void)
{
	cluster_manager_destroy(pair.manager);
	for (unsigned i = 0; i < 2; i++) {
		cluster_node_destroy(pair.nodes[i]);
		config_free(pair.configs[i]);
	}
}

static void hear(void)
{
	while (pair.n_heard < pair.n_said) {
		struct said said = pair.said[pair.n_heard++];
		struct ctrl_record record;

		assert_int_equal(ctrl_record_at(said.bytes, said.size, &record), WIRE_OK);
		if (said.to == A)
			cluster_manager_record(pair.manager, said.from, &record, pair.now);
		cluster_node_record(pair.nodes[said.to], said.from, &record, pair.now);
	}
	pair.n_said = pair.n_heard = 0;
}

static void run(void)
{
	for (unsigned i = 0; i < STEPS; i++) {
		pair.now += STEP_NS;
		if (pair.run != 0) {
			const struct message there = { .kind = MESSAGE_ANNOUNCE,
						       .event = EVENTS,
						       .run = pair.run };

			cluster_node_readout_message(pair.nodes[A], 0, &there, pair.now);
		}
		cluster_manager_poll(pair.manager, pair.now);
		cluster_node_poll(pair.nodes[A], pair.now);
		cluster_node_poll(pair.nodes[B], pair.now);
		hear();
	}
	assert_int_equal(pair.n_sends, EVENTS);
}

static void check_places(void)
{
	bool taken[SLOTS] = { false };

	for (unsigned i = 0; i < pair.n_sends; i++) {
		const struct message *send = &pair.sends[i];
		uint64_t slot = (send->address - ADDRESS) / STRIDE;

		assert_int_equal(send->rkey, RKEY);
		assert_int_equal(send->size, SLOT);
		assert_int_equal((send->address - ADDRESS) % STRIDE, 0);
		assert_true(slot < SLOTS && !taken[slot]);
		taken[slot] = true;
	}
}

static void grant__names_its_slot(void **state)
{
	(void)state;
	open_pair("push", true);
	run();
	check_places();
	close_pair();
}

static void request__names_its_slot(void **state)
{
	(void)state;
	open_pair("pull", true);
	run();
	check_places();
	close_pair();
}

static void grant__without_placement_names_none(void **state)
{
	static const char *const modes[] = { "push", "pull" };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		open_pair(modes[i], false);
		run();
		for (unsigned j = 0; j < pair.n_sends; j++)
			assert_true(pair.sends[j].rkey == 0 && pair.sends[j].address == 0);
		close_pair();
	}
}

// The rate in a grant lies between target_utilisation, 0.9, and the whole link.
static void grant__is_paced_by_the_rate_that_the_node_reports(void **state)
{
	(void)state;
	open_paced("push", false, "auto", GIGABIT);
	run();
	for (unsigned i = 0; i < pair.n_sends; i++) {
		assert_true(pair.sends[i].bytes > GIGABIT / 8 / 2);
		assert_true(pair.sends[i].bytes <= GIGABIT / 8);
	}
	close_pair();
}

static void grant__is_not_paced_by_an_unknown_rate(void **state)
{
	(void)state;
	open_paced("push", false, "auto", 0);
	run();
	for (unsigned i = 0; i < pair.n_sends; i++)
		assert_int_equal(pair.sends[i].bytes, 0);
	close_pair();
}

// The node reports its rate in any case.
static void grant__is_paced_by_the_rate_in_the_file(void **state)
{
	(void)state;
	open_paced("push", false, "500Mb/s", GIGABIT);
	run();
	for (unsigned i = 0; i < pair.n_sends; i++) {
		assert_true(pair.sends[i].bytes > GIGABIT / 16 / 2);
		assert_true(pair.sends[i].bytes <= GIGABIT / 16);
	}
	close_pair();
}

static void offer_block(const struct message *send, uint16_t source)
{
	const struct message offer = {
		.kind = MESSAGE_OFFER,
		.run = send->run,
		.event = send->event,
		.builder = send->builder,
		.attempt = send->attempt,
		.source = source,
		.address = 0x123456789000u + send->event * MOST_MFP + source,
		.size = 1000u + source,
		.rkey = 77,
	};

	cluster_node_readout_message(pair.nodes[A], 0, &offer, pair.now);
}

static void offer__comes_to_the_builder_s_port(void **state)
{
	(void)state;
	open_pair("pull", true);
	run();
	offer_block(&pair.sends[2], 7);
	offer_block(&pair.sends[2], 9);
	hear();
	assert_int_equal(pair.n_reads, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct message *read = &pair.reads[i];

		assert_int_equal(read->kind, MESSAGE_READ);
		assert_int_equal(read->event, pair.sends[2].event);
		assert_int_equal(read->builder, 0);
		assert_int_equal(read->node, A);
		assert_int_equal(read->source, i == 0 ? 7 : 9);
		assert_int_equal(read->size, 1000 + read->source);
		assert_int_equal(read->address,
				 0x123456789000u + pair.sends[2].event * MOST_MFP + read->source);
		assert_int_equal(read->rkey, 77);
	}
	close_pair();
}

// Of an event that was not asked for, or of an older attempt.
static void offer__of_what_is_not_granted_is_not_read(void **state)
{
	struct message send;

	(void)state;
	open_pair("pull", true);
	run();
	send = pair.sends[0];
	send.attempt++;
	offer_block(&send, 7);
	send = pair.sends[0];
	send.event = EVENTS + 1;
	offer_block(&send, 7);
	hear();
	assert_int_equal(pair.n_reads, 0);
	close_pair();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grant__names_its_slot),
		cmocka_unit_test(request__names_its_slot),
		cmocka_unit_test(grant__without_placement_names_none),
		cmocka_unit_test(grant__is_paced_by_the_rate_that_the_node_reports),
		cmocka_unit_test(grant__is_not_paced_by_an_unknown_rate),
		cmocka_unit_test(grant__is_paced_by_the_rate_in_the_file),
		cmocka_unit_test(offer__comes_to_the_builder_s_port),
		cmocka_unit_test(offer__of_what_is_not_granted_is_not_read),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
