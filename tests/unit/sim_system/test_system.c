// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Simulated systems against what theory says of them. The sums of sim_system_check() hold after
// each run of the engine: bench_run() looks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench.h"
#include "sim_system/internal.h"
#include "system/event_rate.h"

#define MS      UINT64_C(1000000)
#define SECOND  UINT64_C(1000000000)
#define PERCENT 0.01
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static void open_bench(struct bench *bench, const struct bench_options *options)
{
	if (!bench_open(bench, options))
		fail_msg("%s", bench->error);
}

static void run(struct bench *bench, uint64_t ns)
{
	if (!bench_run(bench, ns))
		fail_msg("%s", bench->error);
}

static struct bench_rates measure(const struct bench_options *options, uint64_t warmup,
				  uint64_t time)
{
	struct bench_rates rates;
	struct bench bench;

	open_bench(&bench, options);
	if (!bench_measure(&bench, warmup, time, &rates))
		fail_msg("%s", bench.error);
	bench_close(&bench);
	return rates;
}

static void expect_near(double value, double expected, double share)
{
	if (!(value > expected * (1 - share) && value < expected * (1 + share)))
		fail_msg("%g, expected %g within %g %%", value, expected, 100 * share);
}

// Events per second that the links carry, as `evb check` states it.
static double theory(const struct bench_options *options)
{
	struct event_rate_parameters parameters = { .sending = 1 };
	struct bench bench;
	double rate;

	open_bench(&bench, options);
	parameters.wire = config_on_wire_parameters(bench.config);
	parameters.target = bench.options.utilisation;
	parameters.block = bench.generators.list[0].sizes.sizes[0];
	rate = event_rate(&parameters);
	bench_close(&bench);
	return rate;
}

// --- rates ---

static void push__links_are_used_to_their_target(void **state)
{
	static const struct bench_options options[] = {
		{ .n_readouts = 4, .n_builders = 4, .fragment = 1000, .packing = 100 },
		{ .n_readouts = 8, .n_builders = 1, .fragment = 1000, .packing = 100 },
		{ .n_readouts = 3, .n_builders = 5, .fragment = 700, .packing = 50, .mtu = 1500 },
		{ .n_readouts = 8, .folded = true, .fragment = 1000, .packing = 100 },
		{ .n_readouts = 4,
		  .n_builders = 4,
		  .fragment = 1000,
		  .packing = 100,
		  .utilisation = 0.5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct bench_rates rates = measure(&options[i], 20 * MS, 300 * MS);

		expect_near(rates.complete, theory(&options[i]), PERCENT);
		assert_true(rates.incomplete == 0 && rates.lost == 0);
	}
}

// All events come from 8 nodes, each with an eighth of the rate of the builder's link.
static void pull__one_builder__its_link_is_used_to_its_target(void **state)
{
	const struct bench_options options = {
		.n_readouts = 8, .n_builders = 1, .mode = "pull", .fragment = 1000, .packing = 100
	};
	const struct bench_rates rates = measure(&options, 100 * MS, SECOND);

	(void)state;
	expect_near(rates.complete, theory(&options), 2 * PERCENT);
	assert_true(rates.incomplete == 0 && rates.lost == 0);
}

// Each event is requested from half of the nodes at a time: all send nevertheless.
static void pull__many_builders__their_links_are_used_to_their_target(void **state)
{
	const struct bench_options options = { .n_readouts = 8,
					       .folded = true,
					       .mode = "pull",
					       .fragment = 1000,
					       .packing = 100,
					       .parallel_sends = 4,
					       .slots = 64,
					       .source_buffer = 2048 };
	const struct bench_rates rates = measure(&options, 100 * MS, 300 * MS);

	(void)state;
	expect_near(rates.complete, theory(&options), 4 * PERCENT);
	assert_true(rates.incomplete == 0 && rates.lost == 0);
}

static void fewer_events_than_the_links_carry__all_are_built(void **state)
{
	const struct bench_options options = {
		.n_readouts = 4, .n_builders = 4, .rate = 5000, .fragment = 1000, .packing = 100
	};
	const struct bench_rates rates = measure(&options, 20 * MS, 400 * MS);

	(void)state;
	expect_near(rates.complete, 5000, 0.2 * PERCENT);
}

// A builder with a consumer that needs 1 ms builds 1000 events per second.
static void slow_consumers__events_wait_for_them(void **state)
{
	struct bench_options options = { .n_readouts = 2,
					 .n_builders = 3,
					 .fragment = 1000,
					 .packing = 20,
					 .consumer = { .law = { .mean_ns = MS }, .n_workers = 1 } };

	(void)state;
	expect_near(measure(&options, 50 * MS, SECOND).complete, 3000, 0.2 * PERCENT);
	options.consumer.n_workers = 2;
	expect_near(measure(&options, 50 * MS, SECOND).complete, 6000, 0.2 * PERCENT);
	// 9000 service times have a mean with a standard deviation of 1.1 %.
	options.consumer = (struct sim_consumer){ { SIM_LAW_EXPONENTIAL, MS, NULL }, 1 };
	expect_near(measure(&options, 50 * MS, 3 * SECOND).complete, 3000, 4 * PERCENT);
}

// --- CPU time ---

// Packets per second that all nodes have sent, and received.
static void count_packets(const struct bench_options *options, double *sent, double *received,
			  double *control)
{
	struct sim_node_view before, after;
	struct bench bench;

	open_bench(&bench, options);
	run(&bench, 200 * MS);
	sim_system_total(bench.system, &before);
	run(&bench, SECOND);
	sim_system_total(bench.system, &after);
	*sent = (double)(after.sent_segments - before.sent_segments);
	*received = (double)(after.received_segments - before.received_segments);
	*control = (double)(after.control_received - before.control_received + after.control_sent -
			    before.control_sent);
	assert_int_equal(after.incomplete, 0);
	bench_close(&bench);
}

// A builder that needs 20 us per packet receives 50 000 per second, less what control takes.
static void cpu_time_of_packets__limits_a_builder(void **state)
{
	struct bench_options options = {
		.n_readouts = 4, .n_builders = 1, .fragment = 1000, .packing = 50
	};
	double sent, received, control;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		options.costs = (struct sim_costs){ 0 };
		options.sleep_us = i == 0 ? 0 : 20;
		count_packets(&options, &sent, &received, &control);
		assert_true(received > 100000);
		options.costs = (struct sim_costs){ .receive = 20000 };
		count_packets(&options, &sent, &received, &control);
		expect_near(received, 50000, (i == 0 ? 1 : 5) * PERCENT);
	}
}

// Two nodes that need 50 us per packet send 20 000 per second each.
static void cpu_time_of_packets__limits_sources(void **state)
{
	struct bench_options options = { .n_readouts = 2,
					 .n_builders = 2,
					 .fragment = 1000,
					 .packing = 50,
					 .costs = { .send = 50000 } };
	double sent, received, control;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		options.sleep_us = i == 0 ? 0 : 20;
		count_packets(&options, &sent, &received, &control);
		expect_near(sent, 40000, (i == 0 ? 1 : 5) * PERCENT);
	}
}

// The manager handles the frames of all nodes: with a time of 100 us each it is busy, and grants
// fewer events than the links carry.
static void cpu_time_of_control__limits_the_manager(void **state)
{
	struct bench_options options = {
		.n_readouts = 8, .n_builders = 8, .fragment = 100, .packing = 10
	};
	const double free_rate = measure(&options, 10 * MS, 40 * MS).complete;

	(void)state;
	options.costs = (struct sim_costs){ .control = 100000 };
	assert_true(measure(&options, 10 * MS, 40 * MS).complete < 0.7 * free_rate);
}

// --- sleep ---

static struct sim_latency latency_with(unsigned sleep_us, uint64_t *control)
{
	const struct bench_options options = { .n_readouts = 2,
					       .n_builders = 2,
					       .rate = 200,
					       .fragment = 100,
					       .packing = 10,
					       .sleep_us = sleep_us };
	struct sim_node_view total;
	struct sim_latency latency;
	struct bench bench;

	open_bench(&bench, &options);
	run(&bench, SECOND);
	latency = *sim_system_latency(bench.system);
	sim_system_total(bench.system, &total);
	*control = total.control_sent;
	assert_in_range(total.complete, 190, 200);
	bench_close(&bench);
	return latency;
}

// From the announcement on, a manager, two readouts and a builder have to wake, one after the
// other. What they have to say meanwhile travels together.
static void nodes_that_sleep__are_late_and_send_fewer_frames(void **state)
{
	const unsigned sleep_us = 1000;
	uint64_t frames, frames_asleep;
	const struct sim_latency polling = latency_with(0, &frames);
	const struct sim_latency asleep = latency_with(sleep_us, &frames_asleep);

	(void)state;
	assert_true(polling.published.maximum < 100000);
	assert_in_range(asleep.published.sum / histogram_count(&asleep.published),
			3 * sleep_us * 1000 / 2, 4 * sleep_us * 1000);
	assert_true(frames_asleep < frames);
}

static void nodes_that_sleep__links_are_used_to_their_target(void **state)
{
	const struct bench_options options = {
		.n_readouts = 4, .n_builders = 4, .fragment = 1000, .packing = 100, .sleep_us = 50
	};
	const struct bench_rates rates = measure(&options, 20 * MS, 300 * MS);

	(void)state;
	expect_near(rates.complete, theory(&options), PERCENT);
	assert_true(rates.incomplete == 0 && rates.lost == 0);
}

// --- fabrics ---

#define QUEUE 60000 // bytes: five packets of 1500 bytes of each of 8 nodes

// Where all nodes send at once, a small queue loses, and a link with pauses does not.
static void unshaped__a_small_queue_loses__pauses_do_not(void **state)
{
	struct bench_options options = { .n_readouts = 8,
					 .n_builders = 2,
					 .shaping = "none",
					 .fragment = 1000,
					 .packing = 100,
					 .mtu = 1500,
					 .queue = QUEUE,
					 .deadline = "20ms" };
	struct bench_rates rates = measure(&options, 50 * MS, 200 * MS);

	(void)state;
	assert_true(rates.lost > 0 && rates.incomplete > 0);
	options.queue = 0;
	options.pfc = true;
	rates = measure(&options, 50 * MS, 200 * MS);
	assert_true(rates.lost == 0 && rates.incomplete == 0);
	expect_near(rates.complete, theory(&options), PERCENT);
}

// Incomplete events count with the rooms of all blocks that have begun: the manager does not take
// them for small ones, and grants no more of them than the link carries.
static void unshaped__grants_of_incomplete_events_keep_to_the_link(void **state)
{
	const struct bench_options options = { .n_readouts = 8,
					       .n_builders = 1,
					       .shaping = "none",
					       .fragment = 200,
					       .packing = 100,
					       .mtu = 1500,
					       .slots = 32,
					       .link = 25000000,
					       .other_link = 10000000000,
					       .queue = 60000 };
	const struct bench_rates rates = measure(&options, 2 * SECOND, 6 * SECOND);

	(void)state;
	assert_true(rates.lost > 0 && rates.complete == 0);
	expect_near(rates.incomplete, theory(&options), 3 * PERCENT);
}

// The order of sending keeps two nodes from one link: the same queue loses nothing.
static void shaped__a_small_queue_loses_nothing(void **state)
{
	const struct bench_options options = { .n_readouts = 8,
					       .n_builders = 2,
					       .fragment = 1000,
					       .packing = 100,
					       .mtu = 1500,
					       .queue = QUEUE };
	const struct bench_rates rates = measure(&options, 50 * MS, 200 * MS);

	(void)state;
	assert_true(rates.lost == 0 && rates.incomplete == 0);
	expect_near(rates.complete, theory(&options), PERCENT);
}

static void clos__every_event_is_built(void **state)
{
	const struct bench_options options = { .n_readouts = 15,
					       .folded = true,
					       .fragment = 500,
					       .packing = 100,
					       .down = 4,
					       .utilisation = 0.7,
					       .pfc = true };
	const struct bench_rates rates = measure(&options, 20 * MS, 100 * MS);

	(void)state;
	assert_true(rates.lost == 0 && rates.incomplete == 0);
	expect_near(rates.complete, theory(&options), PERCENT);
}

// --- sums at the end of a run ---

static void expect_sums(const struct bench *bench, uint64_t events, bool pulls)
{
	const unsigned n = bench->options.n_readouts;
	uint64_t grants = 0, published = 0, requests = 0;
	struct cluster_manager_view manager;
	struct sim_node_view total;
	struct sim_packets packets;

	sim_system_manager(bench->system, &manager);
	sim_system_total(bench->system, &total);
	sim_system_packets(bench->system, &packets);
	assert_int_equal(manager.announced, events);
	assert_int_equal(manager.released, events);
	assert_int_equal(manager.outstanding + manager.waiting, 0);
	assert_int_equal(manager.complete, total.complete);
	assert_int_equal(manager.incomplete, total.incomplete);
	assert_int_equal(total.complete + total.incomplete, events);
	assert_int_equal(total.open + total.waiting, 0);
	assert_int_equal(packets.data_underway, 0);
	// As in tests/unit/cluster/crowd.c: what the logic of each node has counted.
	for (unsigned i = 1; i < 1 + n + (bench->options.folded ? 0 : bench->options.n_builders);
	     i++) {
		struct cluster_node_view view;

		cluster_node_view(bench->system->nodes[i].node, &view);
		grants += view.grants;
		published += view.published;
		requests += view.requests;
		assert_int_equal(view.tokens_used, 0);
		assert_int_equal(view.sends, i <= n ? events : 0);
	}
	assert_int_equal(grants, events);
	assert_int_equal(published, events);
	assert_int_equal(requests, pulls ? events * n : 0);
}

// The run ends by itself after the last event.
static void await_end(struct bench *bench)
{
	if (!bench_await(bench, CTRL_STOPPED, 20 * SECOND))
		fail_msg("%s", bench->error);
	run(bench, 10 * MS);
}

static void end_of_run__nothing_is_left(void **state)
{
	static const char *const modes[] = { "push", "pull" };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const struct bench_options options = { .n_readouts = 5,
						       .n_builders = 3,
						       .folded = i >= 2,
						       .mode = modes[i % 2],
						       .sleep_us = i < 2 ? 0 : 50,
						       .fragment = 300,
						       .packing = 40,
						       .events = 2000 };
		struct bench bench;

		open_bench(&bench, &options);
		await_end(&bench);
		expect_sums(&bench, 2000, i % 2 == 1);
		bench_close(&bench);
	}
}

// With packets of control lost, too: the protocol repeats them.
static void packets_are_lost_at_random__sums_hold(void **state)
{
	const struct bench_options options = { .n_readouts = 4,
					       .n_builders = 2,
					       .fragment = 300,
					       .packing = 40,
					       .events = 400,
					       .loss = 0.002,
					       .deadline = "5ms" };
	struct sim_node_view total;
	struct sim_packets packets;
	struct bench bench;

	(void)state;
	open_bench(&bench, &options);
	await_end(&bench);
	sim_system_total(bench.system, &total);
	sim_system_packets(bench.system, &packets);
	assert_true(total.incomplete > 0);
	assert_true(packets.data_lost > 0 && packets.control_lost > 0);
	assert_int_equal(packets.by_cause[SIM_DROP_RANDOM],
			 packets.data_lost + packets.control_lost);
	expect_sums(&bench, 400, false);
	bench_close(&bench);
}

// What the system counts is what the fabric counts.
static void packets__as_the_fabric_counts_them(void **state)
{
	const struct bench_options options = { .n_readouts = 4,
					       .n_builders = 2,
					       .shaping = "none",
					       .fragment = 1000,
					       .packing = 50,
					       .queue = 60000,
					       .deadline = "20ms" };
	uint64_t bytes = 0, lost = 0;
	struct sim_node_view total;
	struct sim_packets packets;
	struct sim_totals fabric;
	struct bench bench;

	(void)state;
	open_bench(&bench, &options);
	run(&bench, 300 * MS);
	sim_system_total(bench.system, &total);
	sim_system_packets(bench.system, &packets);
	fabric = sim_totals(bench.fabric);
	for (unsigned i = 0; i < SIM_N_CAUSES; i++)
		lost += fabric.dropped[i];
	assert_int_equal(fabric.sent, total.sent_segments + total.control_sent);
	assert_int_equal(fabric.delivered, total.received_segments + total.control_received);
	assert_int_equal(lost, packets.data_lost + packets.control_lost);
	assert_int_equal(fabric.underway, packets.data_underway + packets.control_underway);
	for (uint32_t i = 0; i < bench.topology.n_hosts; i++) {
		const struct sim_port port = sim_port_view(bench.fabric, i);

		bytes += port.bytes + port.queued + 20 * port.packets;
	}
	// What waits in a host or is being sent is not counted by both in the same way.
	expect_near((double)(total.sent_wire + total.control_sent_wire), (double)bytes, PERCENT);
	bench_close(&bench);
}

// --- one input, one result ---

static struct sim_node_view after_run(uint64_t seed)
{
	const struct bench_options options = { .n_readouts = 4,
					       .n_builders = 3,
					       .mode = "pull",
					       .fragment = 1000,
					       .packing = 20,
					       .queue = 60000,
					       .seed = seed,
					       .deadline = "20ms",
					       .loss = 0.001,
					       .consumer = { { SIM_LAW_EXPONENTIAL, MS, NULL },
							     2 } };
	struct sim_node_view total;
	struct bench bench;

	open_bench(&bench, &options);
	run(&bench, 200 * MS);
	sim_system_total(bench.system, &total);
	bench_close(&bench);
	return total;
}

static void same_seed__same_run(void **state)
{
	const struct sim_node_view first = after_run(3), again = after_run(3), other = after_run(4);

	(void)state;
	assert_memory_equal(&first, &again, sizeof(first));
	assert_memory_not_equal(&first, &other, sizeof(first));
}

// --- refusals ---

static void what_is_not_simulated__is_refused(void **state)
{
	const struct bench_options options = {
		.n_readouts = 2, .n_builders = 2, .mode = "static", .fragment = 100
	};
	struct bench bench;

	(void)state;
	assert_false(bench_open(&bench, &options));
	assert_non_null(strstr(bench.error, "static"));
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pull__many_builders__their_links_are_used_to_their_target),
		cmocka_unit_test(cpu_time_of_packets__limits_a_builder),
		cmocka_unit_test(cpu_time_of_packets__limits_sources),
		cmocka_unit_test(cpu_time_of_control__limits_the_manager),
		cmocka_unit_test(nodes_that_sleep__are_late_and_send_fewer_frames),
		cmocka_unit_test(unshaped__a_small_queue_loses__pauses_do_not),
		cmocka_unit_test(clos__every_event_is_built),
		cmocka_unit_test(end_of_run__nothing_is_left),
		cmocka_unit_test(packets_are_lost_at_random__sums_hold),
		cmocka_unit_test(packets__as_the_fabric_counts_them),
		cmocka_unit_test(same_seed__same_run),
		cmocka_unit_test(what_is_not_simulated__is_refused),
	};
	const struct CMUnitTest long_ones[] = {
		cmocka_unit_test(push__links_are_used_to_their_target),
		cmocka_unit_test(pull__one_builder__its_link_is_used_to_its_target),
		cmocka_unit_test(fewer_events_than_the_links_carry__all_are_built),
		cmocka_unit_test(slow_consumers__events_wait_for_them),
		cmocka_unit_test(nodes_that_sleep__links_are_used_to_their_target),
		cmocka_unit_test(unshaped__grants_of_incomplete_events_keep_to_the_link),
		cmocka_unit_test(shaped__a_small_queue_loses_nothing),
	};

	int failed = cmocka_run_group_tests_name("system", tests, NULL, NULL);

	// The address sanitizer finds nothing more in them.
	if (!SANITIZED)
		failed += cmocka_run_group_tests_name("system, long", long_ones, NULL, NULL);
	return failed;
}
