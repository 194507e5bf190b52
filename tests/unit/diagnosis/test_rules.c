// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Facts in, sentences out: each rule, and the order of causes and consequences.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "diagnosis/diagnosis.h"
#include "diagnosis/rules.h"

#define SECOND UINT64_C(1000000000)

// A sound appliance of everything.
struct bench {
	struct diagnosis_facts facts;
	struct diagnosis_builder builder;
	struct diagnosis_link links[2];
	struct diagnosis_writer writer;
	struct diagnosis_difference differences[3];
	struct diagnosis_port port;
	struct diagnosis_node nodes[3];
	struct diagnosis found;
};

static void make(struct bench *bench)
{
	*bench = (struct bench){
		.builder = { .name = "b0",
			     .role = "builder.b0",
			     .slots = 128,
			     .n_groups = 1,
			     .groups = { { .name = "filter",
					   .configured = true,
					   .members = 1,
					   .pid = 4711,
					   .writer = DIAGNOSIS_NONE } } },
		.writer = { .role = "writer.disk", .directory = "/data", .error = ENOSPC },
		.port = { .name = "wire", .device = "eth1" },
	};
	for (unsigned i = 0; i < 3; i++)
		bench->nodes[i].name = i == 0 ? "n2" : i == 1 ? "n3" : "n4";
	bench->facts = (struct diagnosis_facts){
		.builders = &bench->builder,
		.n_builders = 1,
		.links = bench->links,
		.writers = &bench->writer,
		.n_writers = 1,
		.ports = &bench->port,
		.n_ports = 1,
		.nodes = bench->nodes,
		.differences = bench->differences,
		.deadline_ns = 5 * SECOND,
		.n_system = 3,
	};
}

static void make_member(struct bench *bench, enum diagnosis_place place)
{
	make(bench);
	bench->facts.place = place;
	bench->facts.manager = "n1";
}

static void look(struct bench *bench)
{
	diagnose(&bench->facts, &bench->found);
}

// The one finding of this rule.
static const struct diagnosis_finding *found(const struct bench *bench, const char *rule)
{
	for (unsigned i = 0; i < bench->found.n; i++)
		if (strcmp(bench->found.findings[i].rule, rule) == 0)
			return &bench->found.findings[i];
	fail_msg("no finding of %s", rule);
	return NULL;
}

static void assert_found(struct bench *bench, const char *rule, const char *sentence)
{
	look(bench);
	assert_string_equal(found(bench, rule)->sentence, sentence);
	assert_int_equal(bench->found.n, 1);
	assert_true(found(bench, rule)->remedy[0] != '\0');
	assert_true(found(bench, rule)->subject[0] != '\0');
}

static void fill(struct bench *bench, uint32_t held, uint64_t idle_ns)
{
	bench->builder.full_ns = 22 * SECOND;
	bench->builder.groups[0].slots = held;
	bench->builder.groups[0].idle_ns = idle_ns;
}

// --- slots ---------------------------------------------------------------------------------------

static void nothing__is_well(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	look(&bench);
	assert_int_equal(bench.found.n, 0);
	assert_string_equal(diagnosis_sentence(&bench.found), "all is well");
}

static void stopped_consumer__is_named_with_its_process(void **state)
{
	const struct diagnosis_finding *finding;
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 22 * SECOND);
	bench.builder.groups[0].is_stopped = true;
	assert_found(&bench, "group_idle",
		     "consumer group filter (1 member, pid 4711, stopped 22 s ago) holds all 128 "
		     "slots of b0");
	finding = found(&bench, "group_idle");
	assert_string_equal(finding->what,
			    "consumer group filter (1 member, pid 4711) holds slots of b0");
	assert_string_equal(finding->subject, "group filter");
	assert_non_null(strstr(finding->remedy, "kill -CONT 4711"));
	assert_int_equal(finding->severity, DIAGNOSIS_BAD);
}

static void idle_consumer__is_named_with_its_process(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 120, 3 * SECOND / 2);
	bench.builder.groups[0].members = 3;
	assert_found(&bench, "group_idle",
		     "consumer group filter (3 members, pid 4711, no release for 1.5 s) holds "
		     "120 of 128 slots of b0");
}

static void slow_consumer__is_named_with_its_rate(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 0);
	bench.builder.groups[0].members = 2;
	bench.builder.groups[0].released = 1234;
	assert_found(
	    &bench, "group_slow",
	    "consumer group filter (2 members) is too slow with 1234 events/s and holds all "
	    "128 slots of b0");
	assert_int_equal(found(&bench, "group_slow")->severity, DIAGNOSIS_LOOK);
}

static void group_without_members__is_named(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 2 * SECOND);
	bench.builder.groups[0].members = 0;
	assert_found(&bench, "group_empty",
		     "consumer group filter has no member and holds all 128 slots of b0");
	assert_int_equal(found(&bench, "group_empty")->severity, DIAGNOSIS_BAD);
	bench.builder.full_ns = 0;
	bench.builder.groups[0].slots = 5;
	assert_found(&bench, "group_empty",
		     "consumer group filter has no member and holds 5 of 128 slots of b0");
	assert_int_equal(found(&bench, "group_empty")->severity, DIAGNOSIS_LOOK);
}

static void the_group_that_holds_most__is_the_culprit(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 64, 22 * SECOND);
	bench.builder.n_groups = 2;
	bench.builder.groups[1] = bench.builder.groups[0];
	strcpy(bench.builder.groups[1].name, "monitor");
	bench.builder.groups[1].slots = 128;
	assert_found(&bench, "group_idle",
		     "consumer group monitor (1 member, pid 4711, no release for 22 s) holds "
		     "all 128 slots of b0");
}

static void full_slots__are_no_trouble_for_a_moment(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, SECOND / 2);
	bench.builder.full_ns = SECOND / 2;
	look(&bench);
	assert_int_equal(bench.found.n, 0);
}

static void open_events__are_named_where_no_group_holds_the_slots(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 0, 0);
	bench.builder.open = 126;
	assert_found(&bench, "events_open", "events that lack data occupy 126 of 128 slots of b0");
}

// --- writers -------------------------------------------------------------------------------------

static void writer_without_room__is_the_end_of_the_backpressure(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 22 * SECOND);
	bench.builder.groups[0].writer = 0;
	bench.writer.paused_ns = 3 * SECOND;
	assert_found(&bench, "writer_room", "writer.disk waits for room on /data (for 3.0 s)");
	assert_string_equal(found(&bench, "writer_room")->what,
			    "writer.disk waits for room on /data");
	bench.writer.error = EIO;
	assert_found(&bench, "writer_room",
		     "writer.disk cannot write to /data: Input/output error (for 3.0 s)");
}

static void writer_that_hangs_or_is_slow__is_named_in_the_place_of_its_group(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 150 * SECOND);
	bench.builder.groups[0].writer = 0;
	assert_found(&bench, "group_idle",
		     "writer.disk has written nothing for 2 min and holds all 128 slots of b0");
	fill(&bench, 128, 0);
	bench.builder.groups[0].released = 10;
	assert_found(&bench, "group_slow",
		     "writer.disk is too slow with 10 events/s and holds all 128 slots of b0");
}

static void failed_files__are_named(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	bench.writer.failures = 2;
	assert_found(&bench, "file_failed",
		     "writer.disk could not finish files in /data: 2 so far");
}

// --- links ---------------------------------------------------------------------------------------

static void add_full_link(struct bench *bench, const char *consumer)
{
	bench->links[bench->facts.n_links++] = (struct diagnosis_link){
		.producer = "rx.wire",
		.consumer = consumer,
		.full_ns = 2 * SECOND,
		.busy = 0.61,
		.lcore_busy = 0.98,
		.cpu = 3,
	};
}

static void slow_role__is_named_once(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	add_full_link(&bench, "builder.b0");
	add_full_link(&bench, "builder.b0");
	assert_found(
	    &bench, "role_slow",
	    "builder.b0 is too slow for rx.wire: CPU 3 is busy for 98 % of the time, with it "
	    "for 61 %");
}

static void full_link__is_followed_to_the_consumer(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 22 * SECOND);
	add_full_link(&bench, "builder.b0");
	look(&bench);
	assert_int_equal(bench.found.n, 1);
	assert_string_equal(found(&bench, "group_idle")->holds_back, "builder.b0");
}

// --- ports and sources ---------------------------------------------------------------------------

static void ports__that_are_down_paused_or_miss_packets(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	bench.port.is_down = true;
	assert_found(&bench, "port_down", "the link of port wire is down");
	bench.port.is_down = false;
	bench.port.paused = 0.25;
	assert_found(&bench, "port_paused",
		     "the link partner of port wire pauses it for 25 % of the time");
	bench.port.paused = 0.01;
	bench.port.missed = 7;
	bench.facts.losses = (struct diagnosis_losses){ .missed = 7, .seconds = 10 };
	assert_found(&bench, "packets_missed", "port wire misses packets: 7 in 10 s");
}

static void differing_sources__come_before_what_they_cause(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	for (unsigned i = 0; i < 3; i++) {
		bench.differences[i].source = (uint16_t)(i + 1);
		snprintf(bench.differences[i].sentence, DIAGNOSIS_TEXT_SIZE,
			 "source %u sends MFPs of 10 fragments, sources.packing is 5", i + 1);
		strcpy(bench.differences[i].remedy, "correct one of the two");
	}
	bench.facts.n_differences = 1;
	assert_found(&bench, "source_differs",
		     "source 1 sends MFPs of 10 fragments, sources.packing is 5");
	bench.facts.n_differences = 2;
	assert_found(&bench, "source_differs",
		     "source 1 sends MFPs of 10 fragments, sources.packing is 5; 1 more source "
		     "differs");
	bench.facts.n_differences = 3;
	bench.facts.losses = (struct diagnosis_losses){ .incomplete = 610, .seconds = 10 };
	look(&bench);
	assert_string_equal(diagnosis_sentence(&bench.found),
			    "source 1 sends MFPs of 10 fragments, sources.packing is 5; 2 more "
			    "sources differ");
	assert_string_equal(found(&bench, "events_incomplete")->sentence,
			    "events are incomplete: 610 in 10 s");
}

static void silent_sources__are_named(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	bench.facts.silent_sources = 1;
	bench.facts.silent_source = 3;
	bench.facts.silent_ns = 4 * SECOND;
	assert_found(&bench, "source_silent",
		     "source 3 sent nothing for 4.0 s: events wait for events.deadline (5 s)");
	bench.facts.silent_sources = 3;
	assert_found(&bench, "source_silent",
		     "source 3 and 2 more sent nothing for 4.0 s: events wait for events.deadline "
		     "(5 s)");
	bench.facts.place = DIAGNOSIS_MEMBER;
	bench.facts.manager = "n1";
	assert_found(&bench, "source_silent", "source 3 and 2 more sent nothing for 4.0 s");
}

static void drops__name_their_cause_and_its_remedy(void **state)
{
	struct bench bench;

	(void)state;
	make(&bench);
	bench.facts.losses =
	    (struct diagnosis_losses){ .dropped = 12, .cause = "unknown_source", .seconds = 3 };
	assert_found(&bench, "dropped",
		     "packets or segments are dropped, mostly for cause unknown_source: 12 in 3 s");
	assert_non_null(strstr(found(&bench, "dropped")->remedy, "sources.ids"));
}

// --- the system ----------------------------------------------------------------------------------

static void silent_node__tells_what_waits_for_it(void **state)
{
	struct bench bench;

	(void)state;
	make_member(&bench, DIAGNOSIS_MANAGER);
	bench.facts.n_nodes = 1;
	bench.nodes[0].silent = true;
	bench.nodes[0].silent_ns = 21 * SECOND / 10;
	bench.nodes[0].in_doubt = 1;
	bench.nodes[0].in_doubt_ns = 29 * SECOND / 10;
	assert_found(&bench, "node_silent",
		     "node n2 silent for 2.1 s: 1 event in doubt; goes on in 2.9 s");
	assert_string_equal(found(&bench, "node_silent")->what, "node n2 silent");
	bench.nodes[0].in_doubt_ns = 0;
	assert_found(&bench, "node_silent",
		     "node n2 silent for 2.1 s: the others go on without it");
	bench.facts.waits_for_nodes = true;
	assert_found(&bench, "node_silent",
		     "node n2 silent for 2.1 s: no events are granted until it is back");
	bench.facts.waits_for_nodes = false;
	bench.nodes[0].died = true;
	assert_found(&bench, "node_silent",
		     "node n2 crashed or was killed 2.1 s ago: the others go on without it");
	assert_string_equal(found(&bench, "node_silent")->remedy,
			    "see the log of node n2, and start it again");
}

static void absent_and_excluded_nodes__are_named(void **state)
{
	struct bench bench;

	(void)state;
	make_member(&bench, DIAGNOSIS_MANAGER);
	bench.facts.n_nodes = 3;
	bench.nodes[0].absent_ns = bench.nodes[1].absent_ns = 2 * SECOND; // they may still start
	look(&bench);
	assert_int_equal(bench.found.n, 0);
	bench.nodes[0].absent_ns = bench.nodes[1].absent_ns = 4 * SECOND;
	bench.nodes[2].excluded = true;
	look(&bench);
	assert_string_equal(diagnosis_sentence(&bench.found),
			    "node n2 is not there, and 1 more node");
	assert_string_equal(found(&bench, "node_excluded")->sentence, "node n4 is excluded");
}

static void full_node__leads_to_its_own_diagnosis(void **state)
{
	struct bench bench;

	(void)state;
	make_member(&bench, DIAGNOSIS_MANAGER);
	bench.facts.n_nodes = 1;
	bench.nodes[0].full = "b0";
	assert_found(&bench, "node_full", "builder b0 of node n2 has no free slot");
}

static void event_manager__that_is_missing_or_silent(void **state)
{
	struct bench bench;

	(void)state;
	make_member(&bench, DIAGNOSIS_MEMBER);
	bench.facts.manager_silent_ns = 3 * SECOND;
	assert_found(&bench, "manager_silent",
		     "node n1, the event manager, silent for 3.0 s: no events are granted");
	bench.facts.manager_silent_ns = 0;
	bench.facts.unregistered_ns = 4 * SECOND;
	assert_found(&bench, "manager_silent",
		     "this node is not registered at node n1, the event manager");
	bench.facts.manager = NULL;
	assert_found(&bench, "no_manager", "no event manager has been elected");
}

static void event_manager__that_is_alone_or_throttles(void **state)
{
	struct bench bench;

	(void)state;
	make_member(&bench, DIAGNOSIS_MANAGER);
	bench.facts.elects = true;
	assert_found(&bench, "no_standby", "no node can take over from node n1, the event manager");
	bench.facts.standbys = 1;
	bench.facts.throttled = true;
	assert_found(&bench, "throttled",
		     "the event manager makes the sources wait: too many events wait for a grant");
}

// --- the end of the run --------------------------------------------------------------------------

static void drain(struct bench *bench)
{
	make(bench);
	bench->facts.drain = (struct diagnosis_drain){
		.role = "builder.b0",
		.since_ns = SECOND,
		.limit_ns = 2 * SECOND,
		.writer_limit_ns = 60 * SECOND,
	};
}

static void drain__waits_for_a_writer(void **state)
{
	struct bench bench;

	(void)state;
	drain(&bench);
	bench.writer.paused_ns = 3 * SECOND;
	assert_found(&bench, "draining",
		     "draining: writer.disk waits for room on /data (60 s at most); Ctrl-C again "
		     "ends at once");
	assert_int_equal(found(&bench, "draining")->severity, DIAGNOSIS_BAD);
}

static void drain__waits_for_consumers(void **state)
{
	struct bench bench;

	(void)state;
	drain(&bench);
	bench.builder.groups[0].slots = 7;
	bench.builder.groups[0].idle_ns = 2 * SECOND;
	assert_found(&bench, "draining",
		     "draining: group filter (1 member, pid 4711, no release for 2.0 s) holds 7 "
		     "events (2 s at most); Ctrl-C again ends at once");
}

static void drain__waits_for_a_role(void **state)
{
	struct bench bench;

	(void)state;
	drain(&bench);
	assert_found(&bench, "draining",
		     "draining: builder.b0 has not finished (2 s at most); Ctrl-C again ends at "
		     "once");
	assert_int_equal(found(&bench, "draining")->severity, DIAGNOSIS_LOOK);
	bench.facts.drain.since_ns = SECOND / 4;
	look(&bench);
	assert_int_equal(bench.found.n, 0);
}

// --- the table -----------------------------------------------------------------------------------

static void rules__have_names_of_their_own(void **state)
{
	(void)state;
	for (const struct rule *a = rules; a->name != NULL; a++)
		for (const struct rule *b = rules; b != a; b++)
			assert_string_not_equal(a->name, b->name);
}

static void long_names__cut_the_sentence(void **state)
{
	const struct diagnosis_finding *finding;
	struct bench bench;

	(void)state;
	make(&bench);
	fill(&bench, 128, 22 * SECOND);
	memset(bench.builder.groups[0].name, 'x', EVB_NAME_SIZE - 1);
	bench.builder.name = "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy";
	look(&bench);
	finding = found(&bench, "group_idle");
	assert_int_equal(strlen(finding->sentence), DIAGNOSIS_TEXT_SIZE - 1);
	assert_string_equal(finding->sentence + DIAGNOSIS_TEXT_SIZE - 4, "...");
}

static void many_findings__are_cut(void **state)
{
	static struct diagnosis_node nodes[DIAGNOSIS_MAX + 3];
	struct bench bench;

	(void)state;
	make_member(&bench, DIAGNOSIS_MANAGER);
	for (unsigned i = 0; i < DIAGNOSIS_MAX + 3; i++)
		nodes[i] = (struct diagnosis_node){ .name = "n", .silent = true, .silent_ns = 1 };
	bench.facts.nodes = nodes;
	bench.facts.n_nodes = DIAGNOSIS_MAX + 3;
	bench.port.is_down = true;
	look(&bench);
	assert_int_equal(bench.found.n, DIAGNOSIS_MAX);
	assert_string_equal(bench.found.findings[0].rule, "port_down");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing__is_well),
		cmocka_unit_test(stopped_consumer__is_named_with_its_process),
		cmocka_unit_test(idle_consumer__is_named_with_its_process),
		cmocka_unit_test(slow_consumer__is_named_with_its_rate),
		cmocka_unit_test(group_without_members__is_named),
		cmocka_unit_test(the_group_that_holds_most__is_the_culprit),
		cmocka_unit_test(full_slots__are_no_trouble_for_a_moment),
		cmocka_unit_test(open_events__are_named_where_no_group_holds_the_slots),
		cmocka_unit_test(writer_without_room__is_the_end_of_the_backpressure),
		cmocka_unit_test(writer_that_hangs_or_is_slow__is_named_in_the_place_of_its_group),
		cmocka_unit_test(failed_files__are_named),
		cmocka_unit_test(slow_role__is_named_once),
		cmocka_unit_test(full_link__is_followed_to_the_consumer),
		cmocka_unit_test(ports__that_are_down_paused_or_miss_packets),
		cmocka_unit_test(differing_sources__come_before_what_they_cause),
		cmocka_unit_test(silent_sources__are_named),
		cmocka_unit_test(drops__name_their_cause_and_its_remedy),
		cmocka_unit_test(silent_node__tells_what_waits_for_it),
		cmocka_unit_test(absent_and_excluded_nodes__are_named),
		cmocka_unit_test(full_node__leads_to_its_own_diagnosis),
		cmocka_unit_test(event_manager__that_is_missing_or_silent),
		cmocka_unit_test(event_manager__that_is_alone_or_throttles),
		cmocka_unit_test(drain__waits_for_a_writer),
		cmocka_unit_test(drain__waits_for_consumers),
		cmocka_unit_test(drain__waits_for_a_role),
		cmocka_unit_test(rules__have_names_of_their_own),
		cmocka_unit_test(long_names__cut_the_sentence),
		cmocka_unit_test(many_findings__are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
