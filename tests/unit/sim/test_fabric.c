// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is refused and why, and what a host is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/fabric.h"

#define GBIT  UINT64_C(1000000000)
#define BYTES 1250u
#define S     UINT64_C(100000)

static const struct sim_links links = { 100 * GBIT, 0 };

struct seen {
	struct sim_engine *engine;
	struct sim_fabric *fabric;
	uint64_t delivered_at, user, room_at;
	unsigned delivered, rooms;
	uint8_t paused;
	unsigned pauses;
	enum sim_cause cause;
	uint32_t dropped_at;
};

static void deliver(void *context, uint32_t host, const struct sim_packet *packet)
{
	struct seen *seen = context;

	assert_int_equal(host, packet->destination);
	seen->delivered++;
	seen->delivered_at = sim_now(seen->engine);
	seen->user = packet->user;
}

static void room(void *context, uint32_t host, unsigned priority)
{
	struct seen *seen = context;

	assert_int_equal(host, 0);
	assert_int_equal(priority, 0);
	seen->rooms++;
	seen->room_at = sim_now(seen->engine);
}

static void paused(void *context, uint32_t host, uint8_t priorities)
{
	struct seen *seen = context;

	assert_int_equal(host, 0);
	assert_int_equal(priorities, sim_port_view(seen->fabric, host).priorities_paused);
	seen->paused = priorities;
	seen->pauses++;
}

static void dropped(void *context, const struct sim_packet *packet, uint32_t port,
		    enum sim_cause cause)
{
	struct seen *seen = context;

	seen->user = packet->user;
	seen->cause = cause;
	seen->dropped_at = port;
}

static const struct sim_host_operations operations = {
	.deliver = deliver, .room = room, .paused = paused, .dropped = dropped
};

// Three hosts at one switch.
static void attach(struct seen *seen, struct sim_fabric_parameters parameters)
{
	struct sim_topology topology;
	char error[SIM_ERROR_SIZE];

	*seen = (struct seen){ .engine = sim_engine_create(1000) };
	assert_true(sim_topology_switch(&topology, 3, links, error));
	seen->fabric =
	    sim_fabric_create(seen->engine, &topology, &parameters, &operations, seen, error);
	assert_non_null(seen->fabric);
	sim_topology_free(&topology);
}

static void end(struct seen *seen)
{
	sim_fabric_destroy(seen->fabric);
	sim_engine_destroy(seen->engine);
}

static enum sim_sent send(struct seen *seen, uint64_t user)
{
	return sim_send(
	    seen->fabric,
	    &(struct sim_packet){ .source = 0, .destination = 1, .bytes = BYTES, .user = user });
}

static struct sim_fabric_parameters plain(void)
{
	struct sim_fabric_parameters parameters = sim_fabric_defaults();

	parameters.overhead = 0;
	return parameters;
}

static void a_packet__arrives_with_its_user_word(void **state)
{
	struct seen seen;

	(void)state;
	attach(&seen, plain());
	assert_int_equal(send(&seen, UINT64_C(0x123456789abcdef0)), SIM_SENT);
	assert_true(sim_run(seen.engine, SIM_NEVER));
	assert_int_equal(seen.delivered, 1);
	assert_int_equal(seen.delivered_at, 2 * S);
	assert_int_equal(seen.user, UINT64_C(0x123456789abcdef0));
	assert_int_equal(sim_totals(seen.fabric).hops, 2);
	end(&seen);
}

static void a_full_queue__refuses_and_tells_when_it_has_room(void **state)
{
	struct sim_fabric_parameters parameters = plain();
	struct seen seen;

	(void)state;
	parameters.host_queue = 3 * BYTES;
	attach(&seen, parameters);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(send(&seen, i), SIM_SENT);
	assert_int_equal(send(&seen, 3), SIM_FULL);
	assert_int_equal(sim_port_view(seen.fabric, 0).queued, 3 * BYTES);
	assert_true(sim_run(seen.engine, SIM_NEVER));
	assert_int_equal(seen.rooms, 1);
	assert_int_equal(seen.room_at, S);
	assert_int_equal(seen.delivered, 3);
	end(&seen);
}

static void a_dropped_packet__is_told(void **state)
{
	struct sim_fabric_parameters parameters = plain();
	struct seen seen;

	(void)state;
	parameters.flow_control = SIM_NO_FLOW_CONTROL;
	parameters.queue = BYTES - 1;
	attach(&seen, parameters);
	assert_int_equal(send(&seen, 77), SIM_SENT);
	assert_true(sim_run(seen.engine, SIM_NEVER));
	assert_int_equal(seen.user, 77);
	assert_int_equal(seen.cause, SIM_DROP_QUEUE);
	assert_int_equal(sim_port_view(seen.fabric, seen.dropped_at).node, 3);
	assert_int_equal(sim_port_view(seen.fabric, seen.dropped_at).drops[SIM_DROP_QUEUE], 1);
	assert_int_equal(sim_totals(seen.fabric).underway, 0);
	end(&seen);
}

static void a_host__is_told_when_it_is_paused(void **state)
{
	const uint16_t quanta[SIM_MAX_PRIORITIES] = { 65535 };
	struct sim_fabric_parameters parameters = plain();
	struct seen seen;

	(void)state;
	parameters.xoff = 2 * BYTES;
	parameters.xon = BYTES;
	attach(&seen, parameters);
	sim_host_pause(seen.fabric, 1, 1, quanta);
	assert_true(sim_run(seen.engine, 10 * S));
	for (unsigned i = 0; i < 6; i++)
		send(&seen, i);
	assert_true(sim_run(seen.engine, 20 * S));
	assert_int_equal(seen.paused, 1);
	assert_int_equal(seen.delivered, 0);
	sim_host_pause(seen.fabric, 1, 1, (uint16_t[SIM_MAX_PRIORITIES]){ 0 });
	assert_true(sim_run(seen.engine, SIM_NEVER));
	assert_int_equal(seen.paused, 0);
	assert_int_equal(seen.pauses, 2);
	assert_int_equal(seen.delivered, 6);
	assert_int_equal(sim_port_view(seen.fabric, 0).pauses, 1);
	end(&seen);
}

static void a_link__can_be_slow_and_down(void **state)
{
	struct seen seen;

	(void)state;
	attach(&seen, plain());
	sim_link_rate(seen.fabric, 1, 0);
	send(&seen, 0);
	assert_true(sim_run(seen.engine, 10 * S));
	assert_int_equal(seen.delivered, 0);
	sim_link_rate(seen.fabric, 1, 10 * GBIT);
	assert_true(sim_run(seen.engine, SIM_NEVER));
	assert_int_equal(seen.delivered_at, 20 * S);
	assert_int_equal(sim_port_time(seen.fabric, 1, BYTES), 10 * S);
	end(&seen);
}

static void packets__out_of_range_are_refused(void **state)
{
	struct sim_fabric_parameters parameters = plain();
	struct sim_packet packet = { .destination = 1, .bytes = 100 };
	struct sim_packet wrong;
	struct seen seen;

	(void)state;
	parameters.max_packets = 2;
	attach(&seen, parameters);
	wrong = packet;
	wrong.source = 3;
	assert_int_equal(sim_send(seen.fabric, &wrong), SIM_NOT_A_PACKET);
	wrong = packet;
	wrong.destination = 3;
	assert_int_equal(sim_send(seen.fabric, &wrong), SIM_NOT_A_PACKET);
	wrong = packet;
	wrong.bytes = 0;
	assert_int_equal(sim_send(seen.fabric, &wrong), SIM_NOT_A_PACKET);
	wrong = packet;
	wrong.priority = 1;
	assert_int_equal(sim_send(seen.fabric, &wrong), SIM_NOT_A_PACKET);
	assert_int_equal(sim_send(seen.fabric, &packet), SIM_SENT);
	assert_int_equal(sim_send(seen.fabric, &packet), SIM_SENT);
	assert_int_equal(sim_send(seen.fabric, &packet), SIM_NOT_A_PACKET);
	assert_true(sim_run(seen.engine, SIM_NEVER));
	assert_int_equal(sim_send(seen.fabric, &packet), SIM_SENT);
	end(&seen);
}

static void refuses(struct sim_fabric_parameters parameters, const char *text)
{
	struct sim_engine *engine = sim_engine_create(1000);
	struct sim_topology topology;
	char error[SIM_ERROR_SIZE];

	assert_true(sim_topology_switch(&topology, 3, links, error));
	assert_null(sim_fabric_create(engine, &topology, &parameters, &operations, NULL, error));
	if (strstr(error, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, error);
	sim_topology_free(&topology);
	sim_engine_destroy(engine);
}

static void parameters__are_checked(void **state)
{
	struct sim_fabric_parameters parameters;

	(void)state;
	parameters = sim_fabric_defaults();
	parameters.n_priorities = 9;
	refuses(parameters, "n_priorities");
	parameters = sim_fabric_defaults();
	parameters.xon = parameters.xoff + 1;
	refuses(parameters, "xon");
	parameters = sim_fabric_defaults();
	parameters.pause_quanta = 0;
	refuses(parameters, "pause_quanta");
	parameters = sim_fabric_defaults();
	parameters.red_low = parameters.red_high = 1;
	refuses(parameters, "red_low");
	parameters = sim_fabric_defaults();
	parameters.paths = SIM_DIMENSION_ORDER;
	refuses(parameters, "torus");
	parameters = sim_fabric_defaults();
	parameters.max_packets = 0;
	refuses(parameters, "max_packets");
	parameters = sim_fabric_defaults();
	parameters.flow_control = SIM_RETRY;
	parameters.input_buffer = 0;
	refuses(parameters, "input_buffer");
	parameters.input_buffer = parameters.shared_buffer = 100000;
	refuses(parameters, "shared_buffer");
	parameters.shared_buffer = 0;
	parameters.retry_time = SIM_SECOND + 1;
	refuses(parameters, "1 s");
}

static void topologies__are_checked(void **state)
{
	struct sim_clos3 three = { .pods = 2,
				   .leaves = 1,
				   .middles = 2,
				   .spines = 3,
				   .down = 1,
				   .parallel_middle = 1,
				   .parallel_spine = 1 };
	struct sim_torus torus = { .n_dimensions = 4, .size = { 2, 2, 2 }, .hosts = 1 };
	struct sim_engine *engine = sim_engine_create(10);
	struct sim_fabric_parameters parameters = sim_fabric_defaults();
	struct sim_topology topology;
	char error[SIM_ERROR_SIZE];

	(void)state;
	assert_false(sim_topology_switch(&topology, 0, links, error));
	sim_topology_free(&topology);
	assert_false(sim_topology_switch(&topology, 2, (struct sim_links){ 1, 0 }, error));
	assert_non_null(strstr(error, "bits/s"));
	sim_topology_free(&topology);
	assert_false(sim_topology_clos3(&topology, &three, error));
	assert_non_null(strstr(error, "multiple"));
	sim_topology_free(&topology);
	assert_false(sim_topology_torus(&topology, &torus, error));
	sim_topology_free(&topology);
	assert_false(sim_topology_clos2(
	    &topology,
	    &(struct sim_clos2){ .leaves = 2, .spines = 1, .down = 2, .parallel = 1, .n_hosts = 5 },
	    error));
	sim_topology_free(&topology);

	// Each switch of a torus has hosts: 65536 times 65536 routes.
	torus = (struct sim_torus){ .n_dimensions = 2,
				    .size = { 256, 256 },
				    .hosts = 1,
				    .host_links = links,
				    .torus_links = links };
	assert_true(sim_topology_torus(&topology, &torus, error));
	assert_null(sim_fabric_create(engine, &topology, &parameters, &operations, NULL, error));
	assert_non_null(strstr(error, "routes"));
	sim_topology_free(&topology);

	// Two switches that are not joined, and a host with no link.
	assert_true(sim_topology_begin(&topology, 2, 2, error));
	assert_true(sim_topology_add(
	    &topology, &(struct sim_link){ .ends = { 0, 2 }, .bits_per_second = GBIT }, error));
	assert_null(sim_fabric_create(engine, &topology, &parameters, &operations, NULL, error));
	assert_non_null(strstr(error, "links"));
	assert_true(sim_topology_add(
	    &topology, &(struct sim_link){ .ends = { 1, 3 }, .bits_per_second = GBIT }, error));
	assert_null(sim_fabric_create(engine, &topology, &parameters, &operations, NULL, error));
	assert_non_null(strstr(error, "no path"));
	assert_false(sim_topology_add(
	    &topology, &(struct sim_link){ .ends = { 1, 4 }, .bits_per_second = GBIT }, error));
	sim_topology_free(&topology);
	sim_engine_destroy(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet__arrives_with_its_user_word),
		cmocka_unit_test(a_full_queue__refuses_and_tells_when_it_has_room),
		cmocka_unit_test(a_dropped_packet__is_told),
		cmocka_unit_test(a_host__is_told_when_it_is_paused),
		cmocka_unit_test(a_link__can_be_slow_and_down),
		cmocka_unit_test(packets__out_of_range_are_refused),
		cmocka_unit_test(parameters__are_checked),
		cmocka_unit_test(topologies__are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
