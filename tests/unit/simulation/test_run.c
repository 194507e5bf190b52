// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whole simulations, from a section `fabric` to their results.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "simulation/simulation.h"

// Bytes of a frame as a share of the time on the link: 4096 bytes, and 20 beside.
#define EFFICIENCY (4096.0 / 4116)
#define LINK       100e9

static bool always(void *context, double share)
{
	(void)context;
	(void)share;
	return true;
}

static bool until_half(void *context, double share)
{
	(void)context;
	return share < 0.5;
}

static struct config *configure(const char *fabric)
{
	char error[CONFIG_ERROR_SIZE], text[4096];
	struct config *config;

	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}], \"sources\": {\"ids\": "
		 "[1]}, \"builders\": [{\"name\": \"b\"}], \"fabric\": {%s}}",
		 fabric);
	if (config_parse(&config, text, strlen(text), "test", NULL, NULL, 0, error))
		fail_msg("%s", error);
	return config;
}

static struct simulation_result *run(const char *fabric, bool (*go_on)(void *, double))
{
	struct config *config = configure(fabric);
	char error[SIM_ERROR_SIZE];
	struct simulation_result *result = simulation_run(
	    &(struct simulation_parameters){ .fabric = &config->fabric, .go_on = go_on }, error);

	if (!result)
		fail_msg("%s", error);
	config_free(config);
	return result;
}

static void refuse(const char *fabric, uint32_t n_nodes, const char *expected)
{
	struct config *config = configure(fabric);
	char error[SIM_ERROR_SIZE] = "";

	assert_null(simulation_run(&(struct simulation_parameters){ .fabric = &config->fabric,
								    .n_nodes = n_nodes,
								    .go_on = always },
				   error));
	if (!strstr(error, expected))
		fail_msg("\"%s\" has no \"%s\"", error, expected);
	config_free(config);
}

static void assert_within(double value, double expected, double share)
{
	if (value < expected * (1 - share) || value > expected * (1 + share))
		fail_msg("%g, expected %g within %g", value, expected, share);
}

static char *text_of(struct simulation_result *result)
{
	cJSON *json = simulation_json(result, false);
	char *text = cJSON_Print(json);

	assert_non_null(text);
	cJSON_Delete(json);
	simulation_free(result);
	return text;
}

// On a full tree, routing by destination has no conflicts in a shift.
static void a2a__has_the_rate_of_its_closed_form_on_a_tree(void **state)
{
	struct simulation_result *result =
	    run("\"topology\": \"clos\", \"arity\": 4, \"flow_control\": \"credits\", \"buffer\": "
		"\"64KiB\", \"duration\": \"4ms\", \"traffic\": {\"kind\": \"a2a\", \"message\": "
		"\"32KiB\", \"send_window\": \"80us\", \"idle_window\": \"20us\"}",
		always);
	const struct simulation_throughput throughput = simulation_throughput(result);

	(void)state;
	assert_int_equal(result->n_hosts, 32);
	assert_int_equal(result->n_switches, 12);
	assert_within(throughput.mean, LINK * EFFICIENCY * 0.8, 0.01);
	assert_within(throughput.least, LINK * EFFICIENCY * 0.8, 0.01);
	simulation_free(result);
}

// The last of N messages has arrived when the receiver's link has carried all of them.
static void incast__takes_the_time_of_the_receivers_link(void **state)
{
	struct simulation_result *result =
	    run("\"hosts\": 9, \"link_delay\": \"100ns\", \"duration\": \"10ms\", \"traffic\": "
		"{\"kind\": \"incast\", \"message\": \"64KiB\", \"load\": 0.1}",
		always);
	const double frames = 8 * 16, frame_ns = 4116 * 8 / 100.0;

	(void)state;
	assert_true(result->traffic.complete >= 20);
	// Each frame follows the one before it; the first one passes two links.
	assert_within((double)result->traffic.latency.maximum, (frames + 1) * frame_ns + 200, 0.01);
	assert_int_equal(result->totals.dropped[SIM_DROP_QUEUE], 0);
	simulation_free(result);
}

static void losses__are_those_of_the_ports(void **state)
{
	struct simulation_result *result =
	    run("\"hosts\": 9, \"flow_control\": \"none\", \"buffer\": \"64KiB\", \"duration\": "
		"\"5ms\", \"traffic\": {\"kind\": \"incast\", \"message\": \"64KiB\", \"load\": 8}",
		always);
	uint64_t lost = 0;

	(void)state;
	for (uint32_t i = 0; i < result->n_ports; i++)
		lost += result->ports[i].view.drops[SIM_DROP_QUEUE];
	assert_true(lost > 0);
	assert_int_equal(lost, result->totals.dropped[SIM_DROP_QUEUE]);
	assert_int_equal(result->totals.sent,
			 result->totals.delivered + lost + result->totals.underway);
	assert_true(result->messages.lost > 0);
	assert_true(result->messages.delivered + result->messages.lost <= result->messages.sent);
	assert_within(simulation_throughput(result).most, LINK * EFFICIENCY, 0.02);
	simulation_free(result);
}

// Host 1 pauses its switch during half of the time, so that it receives half.
static void pauses__stop_what_a_host_receives(void **state)
{
	static const char common[] =
	    "\"hosts\": 4, \"duration\": \"8ms\", \"warm_up\": \"1ms\", \"traffic\": {\"kind\": "
	    "\"a2a\", \"message\": \"32KiB\", \"send_window\": \"5ms\", \"idle_window\": 0}";
	static const char half[] = "\"faults\": [{\"kind\": \"host-pause\", \"host\": 1, "
				   "\"length\": \"500us\", \"period\": \"1ms\"}], ";
	static const char storm[] =
	    "\"faults\": [{\"kind\": \"host-pause\", \"host\": 1, \"begin\": \"500us\"}], ";
	const double full = LINK * EFFICIENCY;
	char fabric[512];

	(void)state;
	snprintf(fabric, sizeof(fabric), "%s%s", half, common);
	struct simulation_result *result = run(fabric, always);
	assert_within((double)result->received[1] * 8 / 7e-3, full / 2, 0.05);
	assert_within((double)result->received[2] * 8 / 7e-3, full, 0.05);
	simulation_free(result);
	snprintf(fabric, sizeof(fabric), "%s%s", storm, common);
	result = run(fabric, always);
	assert_int_equal(result->received[1], 0);
	simulation_free(result);
}

// The link of host 1 is down in the first half of the measured time, and then slow for ever.
static void slow_links__limit_what_passes(void **state)
{
	struct simulation_result *result =
	    run("\"hosts\": 4, \"duration\": \"5ms\", \"warm_up\": \"1ms\", \"faults\": "
		"[{\"kind\": \"link\", \"link\": 1, \"begin\": \"500us\", \"length\": \"2500us\"}, "
		"{\"kind\": \"link\", \"link\": 1, \"begin\": \"4ms\", \"rate\": \"10Gb/s\"}], "
		"\"traffic\": {\"kind\": \"a2a\", "
		"\"message\": \"32KiB\", \"send_window\": \"6ms\", \"idle_window\": 0}",
		always);

	(void)state;
	// Of the 4 ms: 2 down, 1 at 100 Gb/s, 1 at 10 Gb/s.
	assert_within((double)result->received[1] * 8, LINK * EFFICIENCY * 1.1e-3, 0.02);
	simulation_free(result);
}

// --- ECN ---

#define SENDERS 8u

static struct simulation_result *run_incast(const char *ecn)
{
	char fabric[512];

	snprintf(fabric, sizeof(fabric),
		 "%s\"hosts\": 9, \"duration\": \"30ms\", \"warm_up\": \"10ms\", \"traffic\": "
		 "{\"kind\": \"incast\", \"message\": \"1MiB\", \"load\": 1}",
		 ecn);
	return run(fabric, always);
}

static uint64_t pauses_of_senders(const struct simulation_result *result)
{
	uint64_t pauses = 0;

	for (uint32_t i = 1; i <= SENDERS; i++)
		pauses += result->ports[i].view.pauses;
	return pauses;
}

// After the first rounds the senders have reduced their rates: no buffer reaches its threshold.
static void ecn__keeps_an_incast_below_the_threshold_of_pauses(void **state)
{
	static const char ecn[] = "\"ecn\": {\"high\": \"200KB\"}, ";
	struct simulation_result *result = run_incast("");

	(void)state;
	assert_true(pauses_of_senders(result) > 0);
	assert_int_equal(result->messages.notifications, 0);
	simulation_free(result);
	result = run_incast(ecn);
	assert_int_equal(pauses_of_senders(result), 0);
	assert_true(simulation_throughput(result).most > 0.6 * LINK);
	// One notification per flow in 50 us at most.
	assert_in_range(result->messages.notifications, SENDERS, SENDERS * (20000 / 50 + 1));
	simulation_free(result);
}

// The senders of host 0 are slow to it, and not to their own other receivers.
static void ecn__a_reduced_flow_holds_up_no_other(void **state)
{
	static const char fabric[] =
	    "\"hosts\": 9, \"duration\": \"20ms\", \"warm_up\": \"5ms\", %s\"faults\": "
	    "[{\"kind\": \"link\", \"link\": 0, \"rate\": \"1Gb/s\"}], \"traffic\": {\"kind\": "
	    "\"uniform\", \"message\": \"64KiB\", \"load\": 0.05}";
	double rates[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char text[512];

		snprintf(text, sizeof(text), fabric,
			 i == 0 ? "" : "\"ecn\": {\"high\": \"200KB\"}, ");
		struct simulation_result *result = run(text, always);
		rates[i] = simulation_throughput(result).mean;
		simulation_free(result);
	}
	// Without ECN the pauses of host 0's link hold up all that is sent.
	assert_true(rates[0] < 0.5 * 0.05 * LINK);
	assert_true(rates[1] > 0.8 * 0.05 * LINK);
}

// Each frame passes two links, of which each loses 1 %. A host that is silent loses for a cause of
// its own, and its link loses at random again afterwards.
static void loss__is_per_frame_and_link(void **state)
{
	struct simulation_result *result =
	    run("\"hosts\": 4, \"loss\": 0.01, \"duration\": \"20ms\", \"faults\": "
		"[{\"kind\": \"silent\", \"host\": 1, \"begin\": \"5ms\", \"length\": "
		"\"1ms\"}], \"traffic\": {\"kind\": \"uniform\", \"message\": \"4KiB\", "
		"\"load\": 0.5}",
		always);
	const struct sim_totals *totals = &result->totals;
	const double links = (double)totals->hops - (double)totals->dropped[SIM_DROP_LINK];

	(void)state;
	assert_within((double)totals->dropped[SIM_DROP_RANDOM], 0.01 * links, 0.05);
	assert_true(totals->dropped[SIM_DROP_LINK] > 0);
	assert_int_equal(totals->sent, totals->delivered + totals->underway +
					   totals->dropped[SIM_DROP_RANDOM] +
					   totals->dropped[SIM_DROP_LINK]);
	assert_true(result->ports[1].view.drops[SIM_DROP_RANDOM] > 0);
	simulation_free(result);
}

// The switch has room for what the receiver cannot take, and the report says how much of it is
// used.
static void shared_buffer__takes_a_burst_that_a_queue_does_not(void **state)
{
	static const char traffic[] =
	    "\"hosts\": 9, \"flow_control\": \"none\", \"duration\": \"5ms\", \"traffic\": "
	    "{\"kind\": \"incast\", \"message\": \"64KiB\", \"load\": 0.3}";
	char fabric[512];
	struct simulation_result *result;

	(void)state;
	snprintf(fabric, sizeof(fabric), "\"buffer\": \"128KiB\", %s", traffic);
	result = run(fabric, always);
	assert_true(result->totals.dropped[SIM_DROP_QUEUE] > 0);
	assert_int_equal(result->shared_peak, 0);
	simulation_free(result);
	// The same memory for all 9 ports.
	snprintf(fabric, sizeof(fabric), "\"shared_buffer\": \"1152KiB\", \"alpha\": 1, %s",
		 traffic);
	result = run(fabric, always);
	assert_int_equal(result->totals.dropped[SIM_DROP_QUEUE], 0);
	// 8 messages, less what leaves meanwhile: an eighth.
	assert_within((double)result->shared_peak, 7 * 65536, 0.05);
	simulation_free(result);
}

// The mean of the law is added to the time of each message; packets keep their order.
static void host_delay__follows_its_law(void **state)
{
	static const char common[] = "\"hosts\": 2, \"duration\": \"2s\", \"traffic\": "
				     "{\"kind\": \"uniform\", \"message\": \"64\", \"load\": "
				     "0.00002}";
	double means[3];
	uint64_t most[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		static const char *const delays[] = {
			"",
			"\"host_delay\": \"10us\", ",
			"\"host_delay_law\": \"exponential\", \"host_delay\": \"10us\", ",
		};
		char fabric[512];

		snprintf(fabric, sizeof(fabric), "%s%s", delays[i], common);
		struct simulation_result *result = run(fabric, always);
		const struct histogram *latency = &result->messages.latency;
		assert_true(histogram_count(latency) > 5000);
		means[i] = (double)latency->sum / (double)histogram_count(latency);
		most[i] = latency->maximum;
		simulation_free(result);
	}
	assert_within(means[1] - means[0], 10000, 0.001);
	assert_within(means[2] - means[0], 10000, 0.05);
	assert_true(most[1] < 12000);
	assert_true(most[2] > 50000);
}

#define SMALL                                                                            \
	"\"topology\": \"clos\", \"arity\": 4, \"hosts\": 10, \"routing\": \"random\", " \
	"\"host_order\": \"shuffled\", \"duration\": \"1ms\", \"warm_up\": \"200us\", "  \
	"\"traffic\": {\"kind\": \"uniform\", \"message\": \"8KiB\", \"load\": 0.8}"

static void seed__decides_everything(void **state)
{
	char *first = text_of(run(SMALL, always)), *again = text_of(run(SMALL, always));
	char *other = text_of(run("\"seed\": 2, " SMALL, always));

	(void)state;
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	cJSON_free(first);
	cJSON_free(again);
	cJSON_free(other);
}

static void warm_up__is_not_in_the_results(void **state)
{
	struct simulation_result *result = run(SMALL, always);

	(void)state;
	assert_int_equal(result->simulated_ns, 1000000);
	assert_int_equal(result->measured_ns, 800000);
	assert_within(simulation_throughput(result).mean, 0.8 * LINK * EFFICIENCY, 0.1);
	simulation_free(result);
}

static void simulation__that_is_stopped_gives_what_there_is(void **state)
{
	struct simulation_result *result = run(SMALL, until_half);

	(void)state;
	assert_int_equal(result->simulated_ns, 500000);
	assert_int_equal(result->measured_ns, 300000);
	assert_true(simulation_throughput(result).mean > 0);
	simulation_free(result);
}

static void settings__are_those_of_the_configuration_and_give_it_again(void **state)
{
	struct config *config =
	    configure("\"topology\": \"torus\", \"hosts\": \"auto\", \"link_rate\": "
		      "\"25Gb/s\", \"buffer\": \"100kB\", \"seed\": 123456789, \"faults\": "
		      "[{\"kind\": \"host-pause\", \"host\": 5, \"begin\": \"1us\", \"length\": "
		      "\"3us\", \"period\": \"1ms\"}, {\"kind\": \"link\", \"link\": 3, \"rate\": "
		      "\"1Gb/s\"}], \"traffic\": {\"kind\": \"a2a\", \"load\": 0.25}");
	cJSON *settings = simulation_settings(&config->fabric);
	char *text = cJSON_PrintUnformatted(settings);
	struct config *again;

	(void)state;
	text[strlen(text) - 1] = '\0'; // without its braces
	again = configure(text + 1);
	assert_memory_equal(&config->fabric, &again->fabric, sizeof(config->fabric));
	assert_string_equal(
	    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, "link_rate")),
	    "25Gb/s");
	config_free(config);
	config_free(again);
	cJSON_free(text);
	cJSON_Delete(settings);
}

static void series__adds_up_to_the_whole(void **state)
{
	struct simulation_result *result = run(SMALL, always);
	uint64_t before = result->simulated_ns - result->measured_ns;
	double bytes = 0, received = 0;

	(void)state;
	// Intervals of at least 32 frames of 329 ns, 14 thousandths of 800 us, all of one length.
	assert_int_equal(result->series.n, 1000 / 20);
	for (unsigned i = 0; i < result->series.n; i++) {
		const struct simulation_point *point = &result->series.points[i];
		const double seconds = (double)(point->time_ns - before) * 1e-9;

		assert_true(point->least <= point->mean && point->mean <= point->most);
		assert_true(point->most * seconds / 8 <= LINK * seconds / 8 + 4096);
		bytes += point->mean * result->n_hosts * seconds / 8;
		before = point->time_ns;
	}
	assert_int_equal(before, result->simulated_ns);
	for (uint32_t i = 0; i < result->n_hosts; i++)
		received += (double)result->received[i];
	assert_within(bytes, received, 1e-6);
	simulation_free(result);
	result = run(SMALL, until_half);
	assert_in_range(result->series.n, 1, 1000 / 20 - 1);
	assert_int_equal(result->series.points[result->series.n - 1].time_ns, result->simulated_ns);
	simulation_free(result);
	result = run("\"hosts\": 2, \"duration\": \"8ms\"", always);
	assert_int_equal(result->series.n, SIMULATION_MAX_POINTS);
	simulation_free(result);
}

static void hosts__are_the_nodes_or_what_there_is_room_for(void **state)
{
	(void)state;
	refuse("\"topology\": \"clos\", \"arity\": 2", 9, "fabric.hosts: 9, ");
	refuse("\"topology\": \"clos\", \"arity\": 2, \"hosts\": 100", 0, "fabric.hosts: 100, ");
	refuse("\"topology\": \"clos\", \"arity\": 4, \"oversubscription\": 3", 0,
	       "fabric.oversubscription: 3 ");
	refuse("\"topology\": \"torus\", \"arity\": 2, \"hosts\": 31", 0, "fabric.hosts: 31, ");
	refuse("\"hosts\": 4, \"faults\": [{\"kind\": \"silent\", \"host\": 4}]", 0,
	       "fabric.faults[0].host: 4, ");
}

static void topologies__have_their_sizes(void **state)
{
	static const struct {
		const char *fabric;
		uint32_t n_hosts, n_switches, n_links;
	} cases[] = {
		{ "\"arity\": 5", 5, 1, 5 },
		// 2 * 3 leaves, 3 spines
		{ "\"topology\": \"clos\", \"arity\": 3", 18, 9, 18 + 18 },
		{ "\"topology\": \"clos\", \"arity\": 4, \"oversubscription\": 2, \"hosts\": 9", 9,
		  3 + 2, 9 + 6 },
		// 4 pods of 2 leaves and 2 middle switches, 4 spines
		{ "\"topology\": \"clos\", \"arity\": 2, \"levels\": 3", 16, 16 + 4, 16 + 16 + 16 },
		{ "\"topology\": \"torus\", \"arity\": 2, \"columns\": 3, \"rows\": 3", 18, 9,
		  18 + 18 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char fabric[256];

		snprintf(fabric, sizeof(fabric), "%s, \"duration\": \"10us\"", cases[i].fabric);
		struct simulation_result *result = run(fabric, always);
		assert_int_equal(result->n_hosts, cases[i].n_hosts);
		assert_int_equal(result->n_switches, cases[i].n_switches);
		assert_int_equal(result->n_links, cases[i].n_links);
		simulation_free(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a2a__has_the_rate_of_its_closed_form_on_a_tree),
		cmocka_unit_test(incast__takes_the_time_of_the_receivers_link),
		cmocka_unit_test(losses__are_those_of_the_ports),
		cmocka_unit_test(pauses__stop_what_a_host_receives),
		cmocka_unit_test(slow_links__limit_what_passes),
		cmocka_unit_test(ecn__keeps_an_incast_below_the_threshold_of_pauses),
		cmocka_unit_test(ecn__a_reduced_flow_holds_up_no_other),
		cmocka_unit_test(loss__is_per_frame_and_link),
		cmocka_unit_test(shared_buffer__takes_a_burst_that_a_queue_does_not),
		cmocka_unit_test(host_delay__follows_its_law),
		cmocka_unit_test(seed__decides_everything),
		cmocka_unit_test(warm_up__is_not_in_the_results),
		cmocka_unit_test(simulation__that_is_stopped_gives_what_there_is),
		cmocka_unit_test(settings__are_those_of_the_configuration_and_give_it_again),
		cmocka_unit_test(series__adds_up_to_the_whole),
		cmocka_unit_test(hosts__are_the_nodes_or_what_there_is_room_for),
		cmocka_unit_test(topologies__have_their_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
