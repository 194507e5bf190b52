// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Every field of the control protocol's records is read from its place.
#include "ctrl_samples.h"

static void get__every_field_of_nodes(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_REGISTER);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_register r;
	struct ctrl_welcome w;
	struct ctrl_builder b;

	(void)state;
	assert_int_equal(ctrl_get_register(&record, &r), WIRE_OK);
	assert_int_equal(r.roles, CTRL_ROLE_BUILDER | CTRL_ROLE_MANAGER);
	assert_int_equal(r.config_hash, 0x1122334455667788);
	assert_int_equal(r.run, 42);
	assert_int_equal(r.n_builders, 3);
	assert_int_equal(r.n_sources, 4096);
	assert_int_equal(r.buffer_bytes, 0x100000000);
	assert_string_equal(r.name, "node-a.site");
	assert_int_equal(r.known_from, 1234);
	assert_int_equal(r.flags, CTRL_EXCLUDED);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_WELCOME);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_welcome(&record, &w), WIRE_OK);
	assert_int_equal(w.verdict, CTRL_REFUSED_CONFIG);
	assert_int_equal(w.run_state, CTRL_RUNNING);
	assert_int_equal(w.config_hash, 0x8877665544332211);
	assert_int_equal(w.run, 43);
	assert_int_equal(w.heartbeat_interval, 100000);
	assert_int_equal(w.heartbeat_timeout, 1000000);
	assert_string_equal(w.text, "another configuration");
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_BUILDER);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_builder(&record, &b), WIRE_OK);
	assert_int_equal(b.builder, 63);
	assert_int_equal(b.group, 5);
	assert_int_equal(b.slots, 65536);
	assert_int_equal(b.generation, 9);
	assert_int_equal(b.slot_size, 0x200000);
	assert_int_equal(b.address, 0x7f0000001000);
	assert_int_equal(b.stride, 0x201000);
	assert_int_equal(b.rkey, 0xabcd1234);
	assert_int_equal(b.link_mbps, 100000);
	bytes_free(&bytes);
}

static void get__every_field_of_heartbeats(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_HEARTBEAT);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_heartbeat h;

	(void)state;
	assert_int_equal(ctrl_get_heartbeat(&record, &h), WIRE_OK);
	assert_int_equal(h.run_state, CTRL_RUNNING);
	assert_int_equal(h.run, 42);
	assert_int_equal(h.slots_free, 16);
	assert_int_equal(h.events_open, 3);
	assert_int_equal(h.events_waiting, 250);
	assert_int_equal(h.time, 1700000000000000000);
	assert_int_equal(h.waits, 3);
	assert_int_equal(h.n_ports, 2);
	assert_int_equal(h.ports[0].number, 0);
	assert_int_equal(h.ports[0].paused, 8);
	assert_int_equal(h.ports[0].pausing, 0);
	assert_int_equal(h.ports[0].paused_share, 10000);
	assert_int_equal(h.ports[0].occupancy, 37);
	assert_int_equal(h.ports[0].pause_frames, 5);
	assert_int_equal(h.ports[0].ecn_marks, 6);
	assert_int_equal(h.ports[1].number, 15);
	assert_int_equal(h.ports[1].pausing, 0x88);
	assert_int_equal(h.ports[1].occupancy, 9999);
	bytes_free(&bytes);
}

static void get__every_field_of_leases(void **state)
{
	const struct ctrl_heartbeat sent = {
		.n_ports = 1,
		.has_lease = true,
		.lease = { .office = CTRL_OFFICE_HELD,
			   .voted_for = 1023,
			   .epoch = 0xfedcba98,
			   .given_up = 7,
			   .voted_epoch = 8,
			   .stamp = UINT64_MAX - 1,
			   .voted_stamp = 9,
			   .config_hash = UINT64_MAX - 2 },
	};
	uint8_t bytes[CTRL_HEARTBEAT_MOST];
	size_t size = ctrl_put_heartbeat(bytes, sizeof(bytes), &sent);
	struct ctrl_record record;
	struct ctrl_heartbeat h;

	(void)state;
	assert_int_equal(ctrl_record_at(bytes, size, &record), WIRE_OK);
	assert_int_equal(ctrl_get_heartbeat(&record, &h), WIRE_OK);
	assert_true(h.has_lease);
	assert_int_equal(h.lease.office, CTRL_OFFICE_HELD);
	assert_int_equal(h.lease.voted_for, 1023);
	assert_int_equal(h.lease.epoch, 0xfedcba98);
	assert_int_equal(h.lease.given_up, 7);
	assert_int_equal(h.lease.voted_epoch, 8);
	assert_int_equal(h.lease.stamp, UINT64_MAX - 1);
	assert_int_equal(h.lease.voted_stamp, 9);
	assert_int_equal(h.lease.config_hash, UINT64_MAX - 2);
	// The first byte of a lease is its office.
	bytes[CTRL_HEARTBEAT_SIZE(1)] = CTRL_N_OFFICES;
	assert_int_equal(ctrl_get_heartbeat(&record, &h), WIRE_UNSUPPORTED);
}

static void get__every_field_of_runs(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_RUN_COMMAND);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_run_command c;
	struct ctrl_run_report r;
	struct ctrl_throttle t;
	struct ctrl_member m;

	(void)state;
	assert_int_equal(ctrl_get_run_command(&record, &c), WIRE_OK);
	assert_int_equal(c.command, CTRL_DRAIN);
	assert_int_equal(c.run, 42);
	assert_int_equal(c.request, 99);
	assert_int_equal(c.config_hash, 0x1122334455667788);
	assert_int_equal(c.event, UINT64_MAX);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_RUN_STATE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_run_report(&record, &r), WIRE_OK);
	assert_int_equal(r.state, CTRL_DRAINING);
	assert_int_equal(r.command, CTRL_DRAIN);
	assert_int_equal(r.result, 0x0c01);
	assert_int_equal(r.run, 42);
	assert_int_equal(r.request, 99);
	assert_int_equal(r.config_hash, 0x1122334455667788);
	assert_int_equal(r.events, 123456789);
	assert_string_equal(r.text, "draining");
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_THROTTLE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_throttle(&record, &t), WIRE_OK);
	assert_int_equal(t.share, 2500);
	assert_int_equal(t.level, 7);
	assert_int_equal(t.hold, 50000);
	assert_int_equal(t.run, 42);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_EXCLUDE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_member(&record, &m), WIRE_OK);
	assert_int_equal(m.subject, CTRL_SUBJECT_BUILDER);
	assert_int_equal(m.reason, CTRL_REASON_SILENT);
	assert_int_equal(m.node, 9);
	assert_int_equal(m.builder, 4);
	assert_int_equal(m.config_hash, 5000);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_INCLUDE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_member(&record, &m), WIRE_OK);
	assert_int_equal(m.subject, CTRL_SUBJECT_SOURCES);
	assert_int_equal(m.first_source, 0x800);
	assert_int_equal(m.last_source, 0x8ff);
	assert_int_equal(m.event, 0x1122334455667788);
	bytes_free(&bytes);
}

static void expect_grant(const struct ctrl_grant *g)
{
	assert_int_equal(g->node, 1023);
	assert_int_equal(g->builder, 63);
	assert_int_equal(g->event, 0x0102030405060708);
	assert_int_equal(g->slot, 65535);
	assert_int_equal(g->generation, 4);
	assert_int_equal(g->address, 0x7f00deadbeef0000);
	assert_int_equal(g->size, UINT64_C(1) << 33);
	assert_int_equal(g->rkey, 0xcafe);
	assert_int_equal(g->rate_kbps, 40000);
	assert_int_equal(g->round, 17);
	assert_int_equal(g->position, 3);
	assert_int_equal(g->n_positions, 64);
	assert_int_equal(g->attempt, 2);
	assert_int_equal(g->flags, CTRL_PLACED | CTRL_BARRIER);
	assert_int_equal(g->run, 42);
}

static void get__every_field_of_grants(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_GRANT);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_request request;
	struct ctrl_grant grant;

	(void)state;
	assert_int_equal(ctrl_get_grant(&record, &grant), WIRE_OK);
	expect_grant(&grant);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_REQUEST);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_request(&record, &request), WIRE_OK);
	expect_grant(&request.grant);
	assert_int_equal(request.n_words, 2);
	expect_inside(bytes.data, bytes.size, request.mask, 16);
	assert_true(ctrl_mask_bit(request.mask, request.n_words, 63));
	assert_true(ctrl_mask_bit(request.mask, request.n_words, 68));
	assert_false(ctrl_mask_bit(request.mask, request.n_words, 67));
	bytes_free(&bytes);
}

static void get__every_field_of_slots(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_CREDIT_LIST);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_credit_list list;
	struct ctrl_adopt adopt;
	struct ctrl_held held;

	(void)state;
	assert_int_equal(ctrl_get_credit_list(&record, &list), WIRE_OK);
	assert_int_equal(list.builder, 1);
	assert_int_equal(list.n, 2);
	assert_int_equal(ctrl_credit_at(&list, 0).slot, 5);
	assert_int_equal(ctrl_credit_at(&list, 0).generation, 9);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_ADOPT);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_adopt(&record, &adopt), WIRE_OK);
	assert_int_equal(adopt.builder, 1);
	assert_int_equal(adopt.n, 2);
	assert_int_equal(adopt.run, 42);
	assert_int_equal(adopt.flags, CTRL_LAST);
	held = ctrl_held_at(&adopt, 0);
	assert_int_equal(held.event, 1234);
	assert_int_equal(held.slot, 4);
	assert_int_equal(held.generation, 7);
	assert_int_equal(held.attempt, 1);
	assert_int_equal(held.holding, CTRL_HOLDS_BUILT);
	assert_int_equal(held.n_missing, 2);
	assert_int_equal(ctrl_held_at(&adopt, 1).event, 1235);
	bytes_free(&bytes);
}

static void get__every_field_of_offers(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_OFFER);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_offer o;

	(void)state;
	assert_int_equal(ctrl_get_offer(&record, &o), WIRE_OK);
	assert_int_equal(o.builder, 1);
	assert_int_equal(o.event, 1234);
	assert_int_equal(o.rkey, 0xdeadbe01);
	assert_int_equal(o.run, 42);
	assert_int_equal(o.attempt, 1);
	assert_int_equal(o.n, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct ctrl_block block = ctrl_block_at(&o, i);

		assert_int_equal(block.address, 0x10000000000 + i * 0x10000);
		assert_int_equal(block.length, 0x1234 + i);
		assert_int_equal(block.source, 0x1037 + i);
	}
	bytes_free(&bytes);
}

static void get__every_field_of_decisions(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_DECISIONS);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_decisions d;

	(void)state;
	assert_int_equal(ctrl_get_decisions(&record, &d), WIRE_OK);
	assert_int_equal(d.results, 1);
	assert_int_equal(d.flags, CTRL_DECISIONS_LAST);
	assert_int_equal(d.run, 42);
	assert_int_equal(d.first, 1000);
	assert_int_equal(d.n, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct ctrl_decision entry = ctrl_decision_at(&d, i);

		assert_int_equal(entry.offset, 5 + i);
		assert_int_equal(entry.decide_us, 100 + i);
		assert_int_equal(entry.lines, UINT64_C(0x8000000000000001) + i);
		assert_int_equal(entry.tag, 7 + i);
		assert_int_equal(entry.builder, 1 + i);
		assert_int_equal(entry.member, 2 + i);
		assert_int_equal(entry.flags, i == 0 ? 3 : 1);
	}
	bytes_free(&bytes);
}

static void get__every_field_of_results(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_EVENTS);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_events e;
	struct ctrl_results r;

	(void)state;
	assert_int_equal(ctrl_get_events(&record, &e), WIRE_OK);
	assert_int_equal(e.results, 1);
	assert_int_equal(e.flags, CTRL_EVENTS_LAST);
	assert_int_equal(e.run, 42);
	assert_int_equal(e.first, 1234);
	assert_int_equal(e.n_events, 5);
	assert_int_equal(ctrl_published_at(&e, 0).builders, 0x0002ffff00010000);
	assert_int_equal(ctrl_published_at(&e, 1).builders, CTRL_NOT_KNOWN);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_RESULTS);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_results(&record, &r), WIRE_OK);
	assert_int_equal(r.results, 1);
	assert_int_equal(r.flags, CTRL_RESULTS_BEGUN | CTRL_RESULTS_OVER);
	assert_int_equal(r.run, 42);
	assert_int_equal(r.written, 1234);
	assert_int_equal(r.decisions, 0x1000);
	assert_int_equal(r.decide_below, 0x8d2);
	assert_int_equal(r.next, 1235);
	assert_int_equal(r.report_below, 0x8d3);
	bytes_free(&bytes);
}

static void get__every_field_of_lists_of_events(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_GRANTS);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_built_event made;
	struct ctrl_granted granted;
	struct ctrl_step_event step;
	struct ctrl_grants g;
	struct ctrl_built b;
	struct ctrl_steps s;

	(void)state;
	assert_int_equal(ctrl_get_grants(&record, &g), WIRE_OK);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.attempt, 1);
	assert_int_equal(g.first, 1234);
	assert_int_equal(g.run, 42);
	assert_int_equal(g.rate_kbps, 40000);
	assert_int_equal(g.round, 17);
	assert_int_equal(g.n_positions, 4);
	assert_int_equal(g.flags, CTRL_BARRIER);
	granted = ctrl_granted_at(&g, 1);
	assert_int_equal(granted.offset, CTRL_NEXT_ROUND | 1);
	assert_int_equal(granted.builder, 2);
	assert_int_equal(granted.slot, 5);
	assert_int_equal(granted.generation, 8);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_BUILT);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_built(&record, &b), WIRE_OK);
	assert_int_equal(b.builder, 1);
	assert_int_equal(b.run, 42);
	assert_int_equal(b.flags, CTRL_ALREADY_PUBLISHED);
	made = ctrl_built_event_at(&b, 0);
	assert_int_equal(ctrl_event_at(b.first, made.offset), 1234);
	assert_int_equal(made.bytes, 1000000);
	made = ctrl_built_event_at(&b, 1);
	assert_int_equal(ctrl_event_at(b.first, made.offset), 1233);
	assert_int_equal(made.slot, 5);
	assert_int_equal(made.generation, 8);
	assert_int_equal(made.attempt, 2);
	assert_int_equal(made.n_missing, 3);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_STEPS);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_steps(&record, &s), WIRE_OK);
	assert_int_equal(s.builder, 1);
	assert_int_equal(s.step, CTRL_STEP_PUBLISH);
	assert_int_equal(s.run, 42);
	assert_int_equal(s.attempt, 1);
	step = ctrl_step_event_at(&s, 1);
	assert_int_equal(ctrl_event_at(s.first, step.offset), 1233);
	assert_int_equal(step.slot, 5);
	assert_int_equal(step.generation, 8);
	bytes_free(&bytes);
}

static void get__every_field_of_shared_frames(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_PLACES);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_next_shared next;
	struct ctrl_places list;
	struct ctrl_place place;

	(void)state;
	assert_int_equal(ctrl_get_places(&record, &list), WIRE_OK);
	assert_int_equal(list.n_words, 2);
	assert_int_equal(list.n, 2);
	for (unsigned node = 0; node < CTRL_MAX_NODES; node++)
		assert_int_equal(ctrl_places_has(&list, node),
				 node == 1 || node == 5 || node == 64);
	place = ctrl_place_at(&list, 0);
	assert_int_equal(place.node, 5);
	assert_int_equal(place.kind, CTRL_PLACE_SEQUENCE);
	assert_int_equal(place.number, 7);
	place = ctrl_place_at(&list, 1);
	assert_int_equal(place.node, 64);
	assert_int_equal(place.kind, CTRL_PLACE_ACKNOWLEDGEMENT);
	assert_int_equal(place.number, 0x89abcdef);
	bytes_free(&bytes);
	bytes = ctrl_sample_bytes(CTRL_NEXT_SHARED);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_next_shared(&record, &next), WIRE_OK);
	assert_int_equal(next.number, 9);
	assert_int_equal(next.session, 7);
	bytes_free(&bytes);
}

static void get__every_field_of_events(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_ANNOUNCE);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_announce a;
	struct ctrl_done d;
	struct ctrl_progress p;
	struct ctrl_release r;
	struct ctrl_phase phase;

	(void)state;
	assert_int_equal(ctrl_get_announce(&record, &a), WIRE_OK);
	assert_int_equal(a.first_source, 0x1037);
	assert_int_equal(a.last_source, 0x1040);
	assert_int_equal(a.begin, 1000);
	assert_int_equal(a.end, 1064);
	assert_int_equal(a.run, 42);
	assert_int_equal(a.mean_bytes, 123456);
	assert_int_equal(a.flags, CTRL_END_OF_RUN);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_DONE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_done(&record, &d), WIRE_OK);
	assert_int_equal(d.builder, 1);
	assert_int_equal(d.outcome, CTRL_INCOMPLETE);
	assert_int_equal(d.event, 1234);
	assert_int_equal(d.slot, 4);
	assert_int_equal(d.generation, 7);
	assert_int_equal(d.bytes, 1000000);
	assert_int_equal(d.attempt, 1);
	assert_int_equal(d.n_words, 1);
	assert_int_equal(d.n_missing, 2);
	assert_int_equal(d.run, 42);
	assert_true(ctrl_mask_bit(d.missing, d.n_words, 1));
	assert_true(ctrl_mask_bit(d.missing, d.n_words, 5));
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_PROGRESS);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_progress(&record, &p), WIRE_OK);
	assert_int_equal(p.builder, 1);
	assert_int_equal(p.step, CTRL_STEP_PUBLISH);
	assert_int_equal(p.event, 1234);
	assert_int_equal(p.slot, 4);
	assert_int_equal(p.generation, 7);
	assert_int_equal(p.attempt, 1);
	assert_int_equal(p.flags, CTRL_REPEATED);
	assert_int_equal(p.run, 42);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_RELEASE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_release(&record, &r), WIRE_OK);
	assert_int_equal(r.run, 42);
	assert_int_equal(r.event, UINT64_C(1) << 40);
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_PHASE);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_phase(&record, &phase), WIRE_OK);
	assert_int_equal(phase.run, 42);
	assert_int_equal(phase.phase, 0x89abcdef);
	assert_int_equal(phase.flags, CTRL_OF_ALL);
	bytes_free(&bytes);
}

static void get__every_field_of_configurations(void **state)
{
	struct bytes bytes = ctrl_sample_bytes(CTRL_CONFIGURATION);
	struct ctrl_record record = ctrl_record_of(&bytes);
	struct ctrl_configuration c;
	struct ctrl_agreement a;

	(void)state;
	assert_int_equal(ctrl_get_configuration(&record, &c), WIRE_OK);
	assert_int_equal(c.request, 7);
	assert_int_equal(c.config_hash, 0x1122334455667788);
	assert_string_equal(c.path, "/etc/evb/second.json");
	bytes_free(&bytes);

	bytes = ctrl_sample_bytes(CTRL_AGREEMENT);
	record = ctrl_record_of(&bytes);
	assert_int_equal(ctrl_get_agreement(&record, &a), WIRE_OK);
	assert_int_equal(a.request, 7);
	assert_int_equal(a.refused, 1);
	assert_string_equal(a.text, "sources.packing: cannot change");
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get__every_field_of_nodes),
		cmocka_unit_test(get__every_field_of_heartbeats),
		cmocka_unit_test(get__every_field_of_leases),
		cmocka_unit_test(get__every_field_of_runs),
		cmocka_unit_test(get__every_field_of_grants),
		cmocka_unit_test(get__every_field_of_slots),
		cmocka_unit_test(get__every_field_of_shared_frames),
		cmocka_unit_test(get__every_field_of_events),
		cmocka_unit_test(get__every_field_of_lists_of_events),
		cmocka_unit_test(get__every_field_of_offers),
		cmocka_unit_test(get__every_field_of_decisions),
		cmocka_unit_test(get__every_field_of_results),
		cmocka_unit_test(get__every_field_of_configurations),
	};

	return cmocka_run_group_tests_name("ctrl_fields", tests, NULL, NULL);
}
