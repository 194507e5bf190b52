// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "appliance/account.h"
#include "roles.h"

static int set_up(void **state)
{
	*state = test_appliance_make();
	return 0;
}

static int tear_down(void **state)
{
	test_appliance_free(*state);
	return 0;
}

static struct account take(const struct test_appliance *test)
{
	struct account account;

	memset(&account, 0xFF, sizeof(account)); // what is not set is found out
	account_take(&test->appliance, &account);
	return account;
}

// The causes of rx, and those of a builder.
enum { RX_CAUSES = SEGMENT_OUTSIDE_RUN + 1, BUILDER_CAUSES = SEGMENT_N_CAUSES - RX_CAUSES };

// As an rx role counts `segments` good segments and one packet of every other kind.
static void receive(struct test_counters *counters, uint64_t segments)
{
	struct rx_counters *rx = &counters->rx;

	rx->arp = 1;
	rx->icmp_echo = 1;
	rx->other = 1;
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		rx->packet_drops[i] = 1;
	for (unsigned i = 0; i < RX_CAUSES; i++)
		rx->segment_drops[i] = 1;
	rx->segments = segments + RX_CAUSES;
	rx->packets = rx->segments + 3 + PACKET_N_CAUSES;
	rx->bytes = 100 * rx->packets;
}

// As a builder counts `placed` placed segments and `dropped` of each of its causes.
static void build(struct test_counters *counters, uint64_t placed, uint64_t dropped)
{
	struct assembly_counters *assembly = &counters->assembly;

	assembly->placed = placed;
	assembly->placed_bytes = 50 * placed;
	assembly->segments = placed;
	for (unsigned i = RX_CAUSES; i < SEGMENT_N_CAUSES; i++) {
		assembly->drops[i] = dropped;
		assembly->segments += dropped;
	}
}

static uint64_t sum(const uint64_t *numbers, unsigned n)
{
	uint64_t result = 0;

	for (unsigned i = 0; i < n; i++)
		result += numbers[i];
	return result;
}

static void take__of_nothing_is_nothing(void **state)
{
	struct account account = take(*state), nothing = { .seconds = 2.5 };

	assert_memory_equal(&account, &nothing, sizeof(account));
	assert_int_equal(account_losses(&account), 0);
	assert_false(account_has_losses(&account));
}

static void take__keeps_the_identities(void **state)
{
	struct test_appliance *test = *state;
	struct account account;

	receive(&test->counters[RX_0], 100);
	receive(&test->counters[RX_1], 60);
	build(&test->counters[BUILDER_0], 107, 2);
	build(&test->counters[BUILDER_1], 53 - 3 * BUILDER_CAUSES, 1);
	account = take(test);
	assert_int_equal(account.rx.packets, 160 + 2 * (RX_CAUSES + 3 + PACKET_N_CAUSES));
	assert_int_equal(account.rx.packets, account.rx.arp + account.rx.icmp_echo +
						 account.rx.other +
						 sum(account.rx.packet_drops, PACKET_N_CAUSES) +
						 account.segments_received);
	assert_int_equal(account.segments_received, 160 + 2 * RX_CAUSES);
	assert_int_equal(account.segments_received,
			 account.built.placed + sum(account.segment_drops, SEGMENT_N_CAUSES));
	assert_int_equal(account.built.placed, 160 - 3 * BUILDER_CAUSES);
	assert_int_equal(account.built.placed_bytes, 50 * account.built.placed);
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		assert_int_equal(account.rx.packet_drops[i], 2);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		assert_int_equal(account.segment_drops[i], i < RX_CAUSES ? 2 : 3);
	assert_int_equal(account_losses(&account),
			 2 * (PACKET_N_CAUSES + RX_CAUSES - 1) + 3 * BUILDER_CAUSES);
}

static void take__sums_events_of_builders(void **state)
{
	struct test_appliance *test = *state;
	struct account account;

	test->counters[BUILDER_0].assembly = (struct assembly_counters){
		.events_opened = 20,
		.events_complete = 10,
		.events_incomplete = 4,
		.events_discarded = 3,
		.events_flushed = 2,
		.events_overtaken = 1,
		.ends_of_run = 1,
		.bytes_built = 4000,
		.blocks_whole = 70,
		.blocks_malformed = 6,
		.blocks_missing = 5,
	};
	test->counters[BUILDER_0].open = 2;
	test->counters[BUILDER_0].free = 9;
	test->counters[BUILDER_1].assembly = (struct assembly_counters){
		.events_opened = 300,
		.events_complete = 300,
		.bytes_built = 90000,
		.blocks_whole = 900,
	};
	test->counters[BUILDER_1].free = 1;
	account = take(test);
	assert_int_equal(account.built.events_opened, 320);
	assert_int_equal(account.built.events_opened,
			 account.built.events_complete + account.built.events_incomplete +
			     account.built.events_discarded + account.built.ends_of_run +
			     account.events_open);
	assert_int_equal(account.built.events_complete, 310);
	assert_int_equal(account.built.events_flushed, 2);
	assert_int_equal(account.built.events_overtaken, 1);
	assert_int_equal(account.built.blocks_whole, 970);
	assert_int_equal(account.built.blocks_malformed, 6);
	assert_int_equal(account.built.blocks_missing, 5);
	assert_int_equal(account.built.bytes_built, 94000);
	assert_int_equal(account.free_slots, 10);
}

static void take__sums_generators_of_all_kinds(void **state)
{
	struct test_appliance *test = *state;
	struct account account;

	test->counters[SYNTHETIC].source.events = 7;
	test->counters[SYNTHETIC].sender = (struct sender_counters){ 100, 1000, 1, 2, 3, 4 };
	test->counters[PCAP].source.events = 999; // a pcap role has none
	test->counters[PCAP].sender = (struct sender_counters){ 5, 50, 10, 20, 30, 40 };
	test->counters[PCAP].roce.failed = 999; // nor these
	test->counters[SYNTHETIC].is_roce = true;
	test->counters[SYNTHETIC].roce.failed = 8;
	account = take(test);
	assert_int_equal(account.unacknowledged, 8);
	assert_int_equal(account.sent_events, 7);
	assert_int_equal(account.sent.packets, 105);
	assert_int_equal(account.sent.bytes, 1050);
	assert_int_equal(account.sent.lost, 11);
	assert_int_equal(account.sent.duplicated, 22);
	assert_int_equal(account.sent.corrupted, 33);
	assert_int_equal(account.sent.reordered, 44);
}

static void take__sums_writers(void **state)
{
	struct test_appliance *test = *state;
	struct account account;

	test->counters[WRITER].writer = (struct writer_counters){ .events = 1,
								  .bytes = 2,
								  .files = 3,
								  .refused = 4,
								  .pauses = 5,
								  .failures = 6,
								  .lost = 7 };
	account = take(test);
	assert_int_equal(account.written.events, 1);
	assert_int_equal(account.written.bytes, 2);
	assert_int_equal(account.written.files, 3);
	assert_int_equal(account.written.refused, 4);
	assert_int_equal(account.written.failures, 6);
	assert_int_equal(account.written.lost, 7);
}

static void take__asks_ports_only_where_somebody_receives(void **state)
{
	struct test_appliance *test = *state;

	test_port_missed[0] = 3;
	test_port_missed[1] = 4;
	assert_int_equal(take(test).missed, 7);
	test->plan.n_rx = 0;
	assert_int_equal(take(test).missed, 0);
}

static void take__merges_latencies(void **state)
{
	struct test_appliance *test = *state;
	struct account account;

	histogram_add(&test->counters[BUILDER_0].latency.complete, 5);
	histogram_add(&test->counters[BUILDER_1].latency.complete, 9);
	histogram_add(&test->counters[BUILDER_1].latency.released, 11);
	account = take(test);
	assert_int_equal(histogram_count(&account.latency.complete), 2);
	assert_int_equal(account.latency.complete.sum, 14);
	assert_int_equal(account.latency.complete.maximum, 9);
	assert_int_equal(histogram_count(&account.latency.released), 1);
	assert_int_equal(account.latency.released.maximum, 11);
}

static void take__passes_over_roles_that_were_never_made(void **state)
{
	struct test_appliance *test = *state;
	struct account_source source;

	receive(&test->counters[RX_0], 10);
	receive(&test->counters[RX_1], 20);
	test->appliance.roles[RX_1] = NULL;
	test->appliance.roles[BUILDER_0] = NULL;
	assert_int_equal(take(test).segments_received, 10 + RX_CAUSES);
	account_take_source(&test->appliance, 0, &source);
	assert_int_equal(source.segments, 0);
}

static void take_source__sums_over_rx_roles_and_builders(void **state)
{
	struct test_appliance *test = *state;
	struct account_source source;

	test->counters[RX_0].rx_sources[1] = (struct rx_source_counters){ 30, 2 };
	test->counters[RX_1].rx_sources[1] = (struct rx_source_counters){ 40, 0 };
	test->counters[BUILDER_0].assembly_sources[1] = (struct assembly_source_counters){
		.segments = 50,
		.placed = 45,
		.placed_bytes = 450,
		.blocks = 6,
		.malformed = 2,
		.missing = 3,
		.drops = { [SEGMENT_LATE] = 4, [SEGMENT_DUPLICATE] = 1 },
	};
	test->counters[BUILDER_1].assembly_sources[1] = (struct assembly_source_counters){
		.segments = 18, .placed = 18, .placed_bytes = 180, .blocks = 2
	};
	account_take_source(&test->appliance, 1, &source);
	assert_int_equal(source.id, 0x1001);
	assert_int_equal(source.segments, 70);
	assert_int_equal(source.segments,
			 source.built.placed + sum(source.built.drops, SEGMENT_N_CAUSES));
	assert_int_equal(source.built.drops[SEGMENT_LINK_FULL], 2);
	assert_int_equal(source.built.drops[SEGMENT_LATE], 4);
	assert_int_equal(source.built.placed_bytes, 630);
	assert_int_equal(source.built.blocks, 8);
	assert_int_equal(source.built.malformed, 2);
	assert_int_equal(source.built.missing, 3);
	account_take_source(&test->appliance, 2, &source);
	assert_int_equal(source.id, 0x1002);
	assert_int_equal(source.segments, 0);
}

static void take__sums_segments_of_boards(void **state)
{
	struct test_appliance *test = *state;
	struct account_source source;
	struct account account;

	test->config.n_generators = 1;
	test->plan.roles[BUILDER_1].kind = CONFIG_ROLE_READOUT;
	test->appliance.stores[0] = &test_boards.store;
	test_boards.counters = (struct block_assembly_counters){
		.segments = 30,
		.placed = 20,
		.placed_bytes = 2000,
		.drops = { [SEGMENT_STORE_FULL] = 10 },
	};
	test_boards.sources[1] = (struct block_assembly_source_counters){
		.placed = 5,
		.placed_bytes = 500,
		.drops = { [SEGMENT_STORE_FULL] = 3 },
	};
	test->counters[RX_0].rx.segments = 30;
	test->counters[RX_0].rx_sources[1].segments = 8;
	account = take(test);
	assert_int_equal(account.segments_received, 30);
	assert_int_equal(account.built.placed, 20);
	assert_int_equal(account.built.placed_bytes, 2000);
	assert_int_equal(account.segment_drops[SEGMENT_STORE_FULL], 10);
	account_take_source(&test->appliance, 1, &source);
	assert_int_equal(source.segments, 8);
	assert_int_equal(source.built.placed, 5);
	assert_int_equal(source.built.placed_bytes, 500);
	assert_int_equal(source.built.drops[SEGMENT_STORE_FULL], 3);
}

static void has_losses__for_each_reason_alone(void **state)
{
	struct account account = { 0 };
	uint64_t *const reasons[] = { &account.missed,
				      &account.built.events_incomplete,
				      &account.built.events_discarded,
				      &account.written.refused,
				      &account.written.failures,
				      &account.unacknowledged,
				      &account.unsent };

	(void)state;
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++) {
		account.rx.packet_drops[i] = 1;
		assert_true(account_has_losses(&account));
		account.rx.packet_drops[i] = 0;
	}
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++) {
		account.segment_drops[i] = 1;
		// Data that arrives between runs is not a loss.
		assert_int_equal(account_has_losses(&account), i != SEGMENT_OUTSIDE_RUN);
		account.segment_drops[i] = 0;
	}
	for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		*reasons[i] = 1;
		assert_true(account_has_losses(&account));
		*reasons[i] = 0;
	}
	// Faults on demand are no losses by themselves.
	account.sent.lost = 1;
	account.built.ends_of_run = 1;
	assert_false(account_has_losses(&account));
}

// The number at a path like "events.complete".
static double number_at(const cJSON *root, const char *path)
{
	char names[64], *rest, *name;

	snprintf(names, sizeof(names), "%s", path);
	for (name = strtok_r(names, ".", &rest); name != NULL; name = strtok_r(NULL, ".", &rest))
		root = cJSON_GetObjectItemCaseSensitive(root, name);
	if (!cJSON_IsNumber(root))
		fail_msg("no number at %s", path);
	return root->valuedouble;
}

static cJSON *summarise(const struct test_appliance *test)
{
	char *text = account_summary(&test->appliance);
	cJSON *root;

	assert_non_null(text);
	root = cJSON_Parse(text);
	assert_non_null(root);
	free(text);
	return root;
}

static void assert_numbers(const cJSON *root, const char *const *paths, const double *numbers,
			   unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (number_at(root, paths[i]) != numbers[i])
			fail_msg("%s is %g, not %g", paths[i], number_at(root, paths[i]),
				 numbers[i]);
}

static void summary__has_every_number_in_its_place(void **state)
{
	static const char *const paths[] = {
		"run_number",
		"seconds",
		"events.opened",
		"events.complete",
		"bytes_built",
		"packets.received",
		"packets.bytes",
		"packets.arp",
		"packets.missed",
		"segments.received",
		"segments.placed",
		"segments.placed_bytes",
		"blocks.whole",
		"latency_ns.p50",
		"latency_ns.p99",
		"latency_ns.p999",
		"latency_ns.max",
		"latency_released_ns.max",
		"sources.expected",
		"sent.packets",
		"sent.lost",
		"written.events",
		"written.refused",
		"events.open",
		"packets.dropped.ip_checksum",
		"segments.dropped.late",
	};
	static const double numbers[] = {
		17, 2.5, 5, 5, 999, 117, 11700, 1, 8, 107, 100, 5000, 15,
		3,  7,   7, 7, 20,  3,   42,    6, 5, 1,   0,   1,    9,
	};
	struct test_appliance *test = *state;
	cJSON *root;

	receive(&test->counters[RX_0], 100);
	build(&test->counters[BUILDER_0], 100, 0);
	test->counters[BUILDER_0].assembly.drops[SEGMENT_LATE] = 9;
	test->counters[BUILDER_0].assembly.events_opened = 5;
	test->counters[BUILDER_0].assembly.events_complete = 5;
	test->counters[BUILDER_0].assembly.bytes_built = 999;
	test->counters[BUILDER_0].assembly.blocks_whole = 15;
	for (unsigned i = 0; i < 100; i++)
		histogram_add(&test->counters[BUILDER_0].latency.complete, i < 60 ? 2 : 7);
	histogram_add(&test->counters[BUILDER_0].latency.released, 20);
	test->counters[PCAP].sender.packets = 42;
	test->counters[SYNTHETIC].sender.lost = 6;
	test->counters[WRITER].writer.events = 5;
	test->counters[WRITER].writer.refused = 1;
	test_port_missed[0] = 8;
	root = summarise(test);
	assert_int_equal(sizeof(paths) / sizeof(paths[0]), sizeof(numbers) / sizeof(numbers[0]));
	assert_numbers(root, paths, numbers, sizeof(numbers) / sizeof(numbers[0]));
	assert_string_equal(cJSON_GetObjectItem(root, "name")->valuestring, "test");
	assert_true(cJSON_IsTrue(cJSON_GetObjectItem(root, "losses")));
	cJSON_Delete(root);
}

static void summary__names_every_cause_once(void **state)
{
	cJSON *root = summarise(*state);
	const cJSON *packets = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "packets"), "dropped");
	const cJSON *segments =
	    cJSON_GetObjectItem(cJSON_GetObjectItem(root, "segments"), "dropped");

	assert_int_equal(cJSON_GetArraySize(packets), PACKET_N_CAUSES);
	assert_int_equal(cJSON_GetArraySize(segments), SEGMENT_N_CAUSES);
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		assert_true(cJSON_IsNumber(
		    cJSON_GetObjectItemCaseSensitive(packets, packet_cause_name(i))));
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		assert_true(cJSON_IsNumber(
		    cJSON_GetObjectItemCaseSensitive(segments, segment_cause_name(i))));
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(root, "losses")));
	cJSON_Delete(root);
}

static void summary__lists_sources(void **state)
{
	static const char *const paths[] = { "id",   "segments",  "placed", "dropped",
					     "mfps", "malformed", "missing" };
	static const double numbers[] = { 0x1002, 31, 20, 11, 4, 1, 2 };
	struct test_appliance *test = *state;
	const cJSON *list;
	cJSON *root;

	test->counters[RX_1].rx_sources[2] = (struct rx_source_counters){ 31, 5 };
	test->counters[BUILDER_1].assembly_sources[2] = (struct assembly_source_counters){
		.segments = 26,
		.placed = 20,
		.blocks = 4,
		.malformed = 1,
		.missing = 2,
		.drops = { [SEGMENT_OVERSIZED] = 6 },
	};
	root = summarise(test);
	list = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "sources"), "list");
	assert_int_equal(cJSON_GetArraySize(list), TEST_SOURCES);
	assert_numbers(cJSON_GetArrayItem(list, 2), paths, numbers, 7);
	assert_int_equal(number_at(cJSON_GetArrayItem(list, 0), "id"), 0x1000);
	cJSON_Delete(root);
}

static void summary__gives_shares_of_lcores(void **state)
{
	struct test_appliance *test = *state;
	const cJSON *lcores, *lcore;
	cJSON *root;

	test->plan.n_lcores = 2;
	strcpy(test->counters[RX_0].role.name, "rx.wire");
	test->appliance.lcores[0].cpu = 4;
	test->appliance.lcores[0].n_roles = 1;
	test->appliance.lcores[0].roles[0] = &test->counters[RX_0].role;
	test->appliance.lcores[0].counters.busy_cycles = 50;
	test->appliance.lcores[0].counters.idle_cycles = 25;
	test->appliance.lcores[0].counters.backpressured_cycles = 25;
	root = summarise(test);
	lcores = cJSON_GetObjectItem(root, "lcores");
	assert_int_equal(cJSON_GetArraySize(lcores), 2);
	lcore = cJSON_GetArrayItem(lcores, 0);
	assert_true(number_at(lcore, "cpu") == 4);
	assert_true(number_at(lcore, "busy") == 0.5);
	assert_true(number_at(lcore, "idle") == 0.25);
	assert_true(number_at(lcore, "backpressured") == 0.25);
	assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(lcore, "roles"), 0)->valuestring,
			    "rx.wire");
	lcore = cJSON_GetArrayItem(lcores, 1); // never ran
	assert_true(number_at(lcore, "busy") == 0);
	assert_true(number_at(lcore, "idle") == 0);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(lcore, "roles")), 0);
	cJSON_Delete(root);
}

static void summary__has_the_decisions_of_groups(void **state)
{
	cJSON *root = summarise(*state);
	const cJSON *decisions = cJSON_GetObjectItem(root, "decisions");
	const cJSON *filter = cJSON_GetArrayItem(decisions, 0);

	assert_int_equal(cJSON_GetArraySize(decisions), 1);
	assert_string_equal(cJSON_GetObjectItem(filter, "group")->valuestring, "filter");
	assert_true(number_at(filter, "published") == 1000);
	assert_true(number_at(filter, "accepted") == 500);
	assert_true(number_at(filter, "rejected") == 400);
	assert_true(number_at(filter, "undecided") == 70);
	assert_true(number_at(filter, "held") == 30);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(filter, "lines")), 64);
	assert_true(cJSON_GetArrayItem(cJSON_GetObjectItem(filter, "lines"), 63)->valuedouble ==
		    12);
	cJSON_Delete(root);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(take__of_nothing_is_nothing),
		TEST(take__keeps_the_identities),
		TEST(take__sums_events_of_builders),
		TEST(take__sums_generators_of_all_kinds),
		TEST(take__sums_writers),
		TEST(take__asks_ports_only_where_somebody_receives),
		TEST(take__merges_latencies),
		TEST(take__passes_over_roles_that_were_never_made),
		TEST(take_source__sums_over_rx_roles_and_builders),
		TEST(take__sums_segments_of_boards),
		TEST(has_losses__for_each_reason_alone),
		TEST(summary__has_every_number_in_its_place),
		TEST(summary__names_every_cause_once),
		TEST(summary__lists_sources),
		TEST(summary__gives_shares_of_lcores),
		TEST(summary__has_the_decisions_of_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
