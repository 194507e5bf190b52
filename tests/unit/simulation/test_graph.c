// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Topology graph: networks of a file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/config.h"
#include "simulation/simulation.h"

static bool always(void *context, double share)
{
	(void)context;
	(void)share;
	return true;
}

// A file of this text, and the configuration that names it.
struct network {
	char path[64];
	struct config *config;
};

static struct network open_network(const char *links, const char *fabric)
{
	struct network network = { .path = "/tmp/evb-graph-XXXXXX" };
	char error[CONFIG_ERROR_SIZE], text[2048];
	const int file = mkstemp(network.path);

	assert_true(file >= 0);
	assert_int_equal(write(file, links, strlen(links)), strlen(links));
	close(file);
	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}], \"sources\": {\"ids\": "
		 "[1]}, \"builders\": [{\"name\": \"b\"}], \"fabric\": {\"topology\": \"graph\", "
		 "\"graph\": \"%s\", %s}}",
		 strrchr(network.path, '/') + 1, fabric);
	// The file is found in the folder of the configuration.
	if (config_parse(&network.config, text, strlen(text), "/tmp/system.json", NULL, NULL, 0,
			 error))
		fail_msg("%s", error);
	return network;
}

static void close_network(struct network *network)
{
	unlink(network->path);
	config_free(network->config);
}

static struct simulation_parameters parameters_of(const struct network *network)
{
	return (struct simulation_parameters){ .fabric = &network->config->fabric,
					       .path = network->config->path,
					       .go_on = always };
}

static struct simulation_result *run(const char *links, const char *fabric)
{
	struct network network = open_network(links, fabric);
	const struct simulation_parameters parameters = parameters_of(&network);
	char error[SIM_ERROR_SIZE] = "";
	struct simulation_result *result = NULL;

	if (simulation_check(&parameters, error))
		result = simulation_run(&parameters, error);
	close_network(&network);
	if (result == NULL)
		fail_msg("%s", error);
	return result;
}

// A refusal is the same without a simulation.
static void refuse(const char *links, const char *fabric, const char *expected)
{
	struct network network = open_network(links, fabric);
	const struct simulation_parameters parameters = parameters_of(&network);
	char error[SIM_ERROR_SIZE] = "", again[SIM_ERROR_SIZE] = "";

	assert_false(simulation_check(&parameters, error));
	assert_null(simulation_run(&parameters, again));
	assert_string_equal(error, again);
	if (strstr(error, expected) == NULL)
		fail_msg("\"%s\" has no \"%s\"", error, expected);
	close_network(&network);
}

// Writes the links of a Clos network of 2 levels, in the order of topology clos.
static void write_clos(char *text, unsigned leaves, unsigned arity)
{
	text += sprintf(text, "{\"hosts\": [");
	for (unsigned i = 0; i < leaves * arity; i++)
		text += sprintf(text, "%s\"h%u\"", i > 0 ? ", " : "", i);
	text += sprintf(text, "], \"links\": [");
	for (unsigned i = 0; i < leaves * arity; i++)
		text += sprintf(text, "%s{\"from\": \"h%u\", \"to\": \"l%u\"}", i > 0 ? ",\n" : "",
				i, i / arity);
	for (unsigned i = 0; i < leaves * arity; i++)
		text +=
		    sprintf(text, ",\n{\"from\": \"l%u\", \"to\": \"s%u\"}", i / arity, i % arity);
	sprintf(text, "]}");
}

#define TRAFFIC                                                                            \
	"\"duration\": \"1ms\", \"traffic\": {\"kind\": \"a2a\", \"message\": \"32KiB\", " \
	"\"send_window\": \"80us\", \"idle_window\": \"20us\"}"

static void assert_same_port(const struct simulation_port *port, const struct simulation_port *as)
{
	assert_int_equal(port->peer, as->peer);
	assert_int_equal(port->queue_mean, as->queue_mean);
	assert_int_equal(port->queue_p99, as->queue_p99);
	assert_int_equal(port->view.node, as->view.node);
	assert_int_equal(port->view.peer, as->view.peer);
	assert_int_equal(port->view.link, as->view.link);
	assert_int_equal(port->view.packets, as->view.packets);
	assert_int_equal(port->view.bytes, as->view.bytes);
	assert_int_equal(port->view.busy, as->view.busy);
	assert_int_equal(port->view.paused, as->view.paused);
	assert_int_equal(port->view.pauses, as->view.pauses);
	assert_int_equal(port->view.waited, as->view.waited);
	assert_int_equal(port->view.queue_peak, as->view.queue_peak);
	assert_int_equal(port->view.input_peak, as->view.input_peak);
	assert_memory_equal(port->view.drops, as->view.drops, sizeof(as->view.drops));
}

// The levels are found, so that routing by destination has no conflicts, as in topology clos.
static void clos_of_a_file__gives_the_result_of_topology_clos(void **state)
{
	static const char *const paths[] = { "shortest", "up-down" };
	char links[8192], fabric[512], error[CONFIG_ERROR_SIZE];
	static const char clos[] =
	    "{\"ports\": [{\"name\": \"p\", \"profile\": \"ring\"}], \"sources\": {\"ids\": [1]}, "
	    "\"builders\": [{\"name\": \"b\"}], \"fabric\": {\"topology\": \"clos\", \"arity\": 4, "
	    "\"hosts\": 32, " TRAFFIC "}}";
	struct config *config;
	struct simulation_result *expected;

	(void)state;
	assert_int_equal(config_parse(&config, clos, strlen(clos), "test", NULL, NULL, 0, error),
			 0);
	expected = simulation_run(
	    &(struct simulation_parameters){ .fabric = &config->fabric, .go_on = always }, error);
	config_free(config);
	assert_non_null(expected);
	write_clos(links, 8, 4);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(fabric, sizeof(fabric), "\"paths\": \"%s\", " TRAFFIC, paths[i]);
		struct simulation_result *result = run(links, fabric);
		assert_int_equal(result->n_events, expected->n_events);
		assert_int_equal(result->totals.hops, expected->totals.hops);
		assert_memory_equal(result->received, expected->received,
				    32 * sizeof(expected->received[0]));
		assert_int_equal(result->n_ports, expected->n_ports);
		for (uint32_t j = 0; j < expected->n_ports; j++)
			assert_same_port(&result->ports[j], &expected->ports[j]);
		simulation_free(result);
	}
	simulation_free(expected);
}

// A ring of 5 switches with 2 hosts each.
static void write_ring(char *text)
{
	text += sprintf(text, "{\"hosts\": [");
	for (unsigned i = 0; i < 10; i++)
		text += sprintf(text, "%s\"h%u\"", i > 0 ? ", " : "", i);
	text += sprintf(text, "], \"links\": [");
	for (unsigned i = 0; i < 10; i++)
		text += sprintf(text, "{\"from\": \"h%u\", \"to\": \"s%u\"}, ", i, i / 2);
	for (unsigned i = 0; i < 5; i++)
		text += sprintf(text, "%s{\"from\": \"s%u\", \"to\": \"s%u\"}", i > 0 ? ", " : "",
				i, (i + 1) % 5);
	sprintf(text, "]}");
}

#define RING                                                                                    \
	"\"duration\": \"10ms\", \"traffic\": {\"kind\": \"uniform\", \"message\": \"64KiB\", " \
	"\"load\": 0.9}"

#define FAR 12u // link from s2 to s3

static void ring_of_a_file__deadlocks_unless_paths_go_up_and_down(void **state)
{
	static const char *const fabrics[] = {
		"\"paths\": \"up-down\", " RING,
		"\"paths\": \"up-down\", \"roots\": [\"s3\"], " RING,
	};
	uint64_t packets[2] = { 0 };
	char links[2048];
	struct simulation_result *result;

	(void)state;
	write_ring(links);
	result = run(links, RING);
	assert_true(result->n_deadlock > 0);
	simulation_free(result);
	for (unsigned i = 0; i < 2; i++) {
		result = run(links, fabrics[i]);
		assert_int_equal(result->n_deadlock, 0);
		for (uint32_t port = 0; port < result->n_ports; port++)
			if (result->ports[port].view.link == FAR)
				packets[i] += result->ports[port].view.packets;
		simulation_free(result);
	}
	// Paths that go through the switch furthest from switch 0 are not allowed, unless it is the
	// root.
	assert_true(packets[1] > 2 * packets[0]);
}

#define CHAIN                                                                                   \
	"{\"hosts\": [\"a\", \"b\"], \"links\": [{\"from\": \"a\", \"to\": \"s\"}, {\"from\": " \
	"\"s\", \"to\": \"t\", \"rate\": \"10Gb/s\", \"delay\": \"1ms\"}, {\"from\": \"t\", "   \
	"\"to\": \"b\"}]}"

static void links__have_their_own_rates_and_delays(void **state)
{
	struct simulation_result *result =
	    run(CHAIN, "\"duration\": \"6ms\", \"warm_up\": \"2ms\", \"traffic\": {\"kind\": "
		       "\"uniform\", \"message\": \"64KiB\"}");

	(void)state;
	assert_int_equal(result->link_rate_least, 10000000000);
	assert_int_equal(result->link_rate_most, 100000000000);
	for (unsigned i = 0; i < 2; i++) {
		const double rate = (double)result->received[i] * 8 / 4e-3;

		assert_true(rate > 0.98e10 && rate < 1e10);
	}
	assert_true(result->messages.latency.maximum > 1000000);
	simulation_free(result);
	// After a fault the link has its own rate again, not link_rate.
	result = run(CHAIN, "\"duration\": \"6ms\", \"warm_up\": \"4ms\", \"faults\": "
			    "[{\"kind\": \"link\", \"link\": 1, \"length\": \"1ms\"}], "
			    "\"traffic\": {\"kind\": \"uniform\", \"message\": \"64KiB\"}");
	assert_true((double)result->received[0] * 8 / 2e-3 > 0.98e10);
	assert_true((double)result->received[0] * 8 / 2e-3 < 1.01e10);
	simulation_free(result);
}

static void names__are_in_the_results(void **state)
{
	struct simulation_result *result = run(CHAIN, "\"duration\": \"10us\"");
	cJSON *json = simulation_json(result, false);
	char *text = cJSON_PrintUnformatted(json);

	(void)state;
	assert_non_null(strstr(text, "\"from\":\"host 1 (b)\",\"to\":\"switch 1 (t)\""));
	cJSON_free(text);
	cJSON_Delete(json);
	simulation_free(result);
}

static void what_does_not_fit__is_refused(void **state)
{
	(void)state;
	refuse("{\"hosts\": [\"a\", \"b\"],\n\"links\": []}", "\"duration\": \"1ms\"",
	       ":1: the host \"a\" has no link");
	refuse(CHAIN, "\"paths\": \"up-down\", \"roots\": [\"u\"]", "fabric.roots[0]: evb-graph-");
	refuse(CHAIN, "\"paths\": \"up-down\", \"roots\": [\"a\"]", "has no switch \"a\"");
}

// --- routes ---

// The same paths as by `shortest` with routing by destination: the results are the same.
static void routes_of_a_file__are_taken(void **state)
{
	static const char clos[] = "\"duration\": \"200us\", \"traffic\": {\"kind\": "
				   "\"uniform\", \"message\": \"8KiB\", \"load\": 0.8}";
	char links[8192], fabric[512], *at, path[] = "/tmp/evb-routes-XXXXXX";
	char *routes = malloc(1 << 16);
	const int file = mkstemp(path);
	struct simulation_result *expected, *result;

	(void)state;
	assert_true(file >= 0 && routes != NULL);
	at = routes + sprintf(routes, "{\"routes\": [");
	for (unsigned leaf = 0; leaf < 8; leaf++) {
		at += sprintf(at, "{\"switch\": \"l%u\", \"to\": {\"h0\": \"s0\"", leaf);
		for (unsigned host = 1; host < 32; host++)
			at += sprintf(at, ", \"h%u\": \"s%u\"", host, host % 4);
		at += sprintf(at, "}}, ");
	}
	for (unsigned spine = 0; spine < 4; spine++) {
		at += sprintf(at, "%s{\"switch\": \"s%u\", \"to\": {\"*\": \"l0\"",
			      spine > 0 ? ", " : "", spine);
		for (unsigned host = 4; host < 32; host++)
			at += sprintf(at, ", \"h%u\": \"l%u\"", host, host / 4);
		at += sprintf(at, "}}");
	}
	at += sprintf(at, "]}");
	assert_int_equal(write(file, routes, (size_t)(at - routes)), at - routes);
	close(file);
	free(routes);
	write_clos(links, 8, 4);
	expected = run(links, clos);
	snprintf(fabric, sizeof(fabric), "\"routes\": \"%s\", %s", path, clos);
	result = run(links, fabric);
	unlink(path);
	assert_int_equal(result->n_events, expected->n_events);
	assert_memory_equal(result->ports, expected->ports,
			    expected->n_ports * sizeof(expected->ports[0]));
	assert_int_equal(result->n_cycle, 0);
	simulation_free(expected);
	simulation_free(result);
}

// Each neighbour in a ring of 5 waits for the next one, before there is any deadlock.
static void dependencies__of_a_ring_are_a_cycle(void **state)
{
	char links[2048];
	struct simulation_result *result;

	(void)state;
	write_ring(links);
	result = run(links, "\"duration\": \"1us\"");
	assert_int_equal(result->n_cycle, 5);
	for (uint32_t i = 0; i < 5; i++) {
		const struct simulation_port *port = &result->ports[result->cycle[i].port];

		assert_int_equal(port->peer,
				 result->ports[result->cycle[(i + 1) % 5].port].view.node);
	}
	assert_int_equal(result->n_deadlock, 0);
	simulation_free(result);
	result = run(links, "\"paths\": \"up-down\", \"duration\": \"1us\"");
	assert_int_equal(result->n_cycle, 0);
	simulation_free(result);
}

static void wrong_routes__are_refused(void **state)
{
	(void)state;
	refuse(CHAIN, "\"routes\": \"/dev/null\"", "fabric.routes: /dev/null: is empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clos_of_a_file__gives_the_result_of_topology_clos),
		cmocka_unit_test(ring_of_a_file__deadlocks_unless_paths_go_up_and_down),
		cmocka_unit_test(links__have_their_own_rates_and_delays),
		cmocka_unit_test(names__are_in_the_results),
		cmocka_unit_test(what_does_not_fit__is_refused),
		cmocka_unit_test(routes_of_a_file__are_taken),
		cmocka_unit_test(dependencies__of_a_ring_are_a_cycle),
		cmocka_unit_test(wrong_routes__are_refused),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
