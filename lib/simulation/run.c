// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>

#include "simulation/internal.h"

#define STEPS        1000u
#define POINT_FRAMES 32u // per host in an interval of the series, at least: they arrive as a whole
#define MOST_EVENTS  SIM_MAX_EVENTS
#define SLICE_EVENTS 1000000u // of the engine, between two calls of go_on(): less than 1 s
#define FIRST_SLICE  (100 * SIM_NANOSECOND)

struct run {
	struct simulation_result *result;
	struct sim_engine *engine;
	struct simulation_network network;
	uint32_t *places;
	struct sim_messages *messages; // NULL: traffic kind `system`
	struct simulated_system system;
	struct sim_fabric *fabric;
	struct simulation_samples *samples;
	struct series series;
	struct simulation_faults faults;
	struct capture capture;
	struct trace trace;
	uint64_t slice;             // ps between two calls of go_on()
	unsigned samples_per_point; // of the series
	bool is_stopped;
};

static void on_deadlock(void *context)
{
	struct run *run = context;

	run->result->n_deadlock =
	    sim_deadlock(run->fabric, run->result->deadlock, SIMULATION_MAX_WAITS);
}

static bool is_system(const struct simulation_parameters *parameters)
{
	return parameters->fabric->traffic.kind == SIM_TRAFFIC_SYSTEM;
}

static bool make_messages(struct run *run, const struct config_fabric *fabric,
			  const struct sim_fabric_parameters *sim, char *error)
{
	run->messages = sim_messages_create(
	    &(struct sim_messages_parameters){
		.engine = run->engine,
		.topology = &run->network.topology,
		.fabric = sim,
		.packet = fabric->frame,
		.place = run->places,
		.traffic = fabric->traffic,
		.seed = fabric->seed,
		.notification_interval =
		    fabric->ecn.high > 0 ? fabric->ecn.cnp_interval_ns * SIM_NANOSECOND : 0,
		.deadlock = on_deadlock,
		.context = run },
	    error);
	if (run->messages != NULL)
		run->fabric = sim_messages_fabric(run->messages);
	return run->messages != NULL;
}

static bool make_system(struct run *run, const struct simulation_parameters *parameters,
			const struct sim_fabric_parameters *sim, char *error)
{
	const bool is_made = simulated_system_make(&run->system, run->engine, &run->network, sim,
						   parameters, run->places, error);

	run->fabric = run->system.fabric;
	return is_made;
}

static bool begin_capture(struct run *run, const struct simulation_capture *capture, char *error)
{
	uint32_t host;

	if (capture == NULL)
		return true;
	if (!capture_find_host(capture, &run->network, run->places, &host, error))
		return false;
	run->capture = (struct capture){ .parameters = capture,
					 .host = host,
					 .engine = run->engine,
					 .messages = run->messages,
					 .system = run->system.system };
	return capture_begin(&run->capture, run->fabric, run->places[host], error);
}

static bool prepare(struct run *run, const struct simulation_parameters *parameters, char *error)
{
	const struct config_fabric *fabric = parameters->fabric;
	struct sim_fabric_parameters sim;

	if (!simulation_network_make(&run->network, parameters, error))
		return false;
	snprintf(error, SIM_ERROR_SIZE, "no memory for %u hosts", run->network.topology.n_hosts);
	run->result = calloc(1, sizeof(*run->result));
	run->engine = sim_engine_create(MOST_EVENTS);
	run->places = simulation_places(fabric, run->network.topology.n_hosts);
	if (run->result == NULL || run->engine == NULL || run->places == NULL)
		return false;
	sim = simulation_fabric(fabric, &run->network);
	if (parameters->trace != NULL) {
		trace_make(&run->trace, parameters->trace, is_system(parameters), run->engine);
		sim.tracer = &run->trace.tracer;
	}
	if (!(is_system(parameters) ? make_system(run, parameters, &sim, error)
				    : make_messages(run, fabric, &sim, error)))
		return false;
	run->samples = simulation_samples_create(run->fabric);
	run->faults = (struct simulation_faults){
		.configuration = fabric,
		.engine = run->engine,
		.fabric = run->fabric,
		.system = run->system.system,
		.places = run->places,
		.n_hosts =
		    is_system(parameters) ? run->system.n_nodes : run->network.topology.n_hosts,
		.topology = &run->network.topology,
	};
	return run->samples != NULL &&
	       trace_begin(&run->trace, run->fabric, &run->network, run->places) &&
	       series_make(&run->series, run->fabric, run->network.topology.n_hosts) &&
	       begin_capture(run, parameters->capture, error) &&
	       simulation_faults_begin(&run->faults, error);
}

// Simulates up to a time, or until go_on() says to stop. It asks every so many events, which
// changes nothing in the simulation. False: an error.
static bool advance(struct run *run, const struct simulation_parameters *parameters, uint64_t until,
		    char *error)
{
	const uint64_t duration = parameters->fabric->duration_ns * SIM_NANOSECOND;

	while (sim_now(run->engine) < until && !run->is_stopped) {
		const uint64_t now = sim_now(run->engine), handled = sim_handled(run->engine);
		const uint64_t next = until - now > run->slice ? now + run->slice : until;
		const bool is_right = sim_run(run->engine, next);
		const char *wrong = NULL;

		if (!is_right)
			wrong = sim_engine_error(run->engine);
		else if (run->messages != NULL)
			wrong = sim_messages_error(run->messages);

		if (wrong != NULL) {
			snprintf(error, SIM_ERROR_SIZE, "%s", wrong);
			return false;
		}
		if (sim_handled(run->engine) - handled > SLICE_EVENTS && run->slice > 1)
			run->slice /= 2;
		else if (sim_handled(run->engine) - handled < SLICE_EVENTS / 4 &&
			 run->slice < duration)
			run->slice *= 2;
		run->is_stopped =
		    !parameters->go_on(parameters->context, (double)next / (double)duration);
	}
	return true;
}

// Gives the series the bytes that the hosts have received.
static void count_received(struct run *run)
{
	uint64_t *received = series_received(&run->series);

	if (run->messages == NULL) {
		simulated_system_received(&run->system, received);
		return;
	}
	for (uint32_t i = 0; i < run->network.topology.n_hosts; i++)
		received[i] = sim_messages_received(run->messages)[i];
}

static void begin_results(struct run *run)
{
	if (run->messages != NULL)
		sim_messages_begin(run->messages);
	else
		simulated_system_begin(&run->system);
	simulation_samples_begin(run->samples);
	count_received(run);
	series_begin(&run->series, sim_now(run->engine));
}

static void sample(struct run *run, unsigned step)
{
	simulation_sample(run->samples);
	if (step % run->samples_per_point != 0 && !run->is_stopped)
		return;
	count_received(run);
	series_add(&run->series, sim_now(run->engine), simulation_samples_queue(run->samples),
		   &run->result->series);
}

static unsigned samples_per_point(const struct run *run, const struct config_fabric *fabric)
{
	const uint64_t frames = POINT_FRAMES * sim_port_time(run->fabric, 0, fabric->frame);
	const uint64_t step = (fabric->duration_ns - fabric->warm_up_ns) * SIM_NANOSECOND / STEPS;
	unsigned n = STEPS / SIMULATION_MAX_POINTS;

	// The last interval is as long as the others.
	while (n < STEPS && (n * step < frames || STEPS % n != 0))
		n++;
	return n;
}

// Simulates the warm-up, and then in steps, with a sample after each.
static bool simulate(struct run *run, const struct simulation_parameters *parameters, char *error)
{
	const uint64_t warm_up = parameters->fabric->warm_up_ns * SIM_NANOSECOND;
	const uint64_t duration = parameters->fabric->duration_ns * SIM_NANOSECOND;

	if (!advance(run, parameters, warm_up, error))
		return false;
	begin_results(run);
	run->samples_per_point = samples_per_point(run, parameters->fabric);
	for (unsigned i = 1; i <= STEPS && !run->is_stopped; i++) {
		const uint64_t step = (duration - warm_up) / STEPS;

		if (!advance(run, parameters, i == STEPS ? duration : warm_up + i * step, error))
			return false;
		sample(run, i);
	}
	return true;
}

static void take_links(struct simulation_result *result, const struct sim_topology *topology)
{
	result->n_hosts = topology->n_hosts;
	result->n_switches = topology->n_switches;
	result->n_links = topology->n_links;
	result->link_rate_least = result->link_rate_most = topology->links[0].bits_per_second;
	for (uint32_t i = 1; i < topology->n_links; i++) {
		const uint64_t rate = topology->links[i].bits_per_second;

		if (rate < result->link_rate_least)
			result->link_rate_least = rate;
		if (rate > result->link_rate_most)
			result->link_rate_most = rate;
	}
}

static void find_cycle(const struct run *run, const struct config_fabric *fabric)
{
	struct simulation_result *result = run->result;

	if (fabric->flow_control != SIM_NO_FLOW_CONTROL &&
	    (run->network.has_routes || fabric->topology == CONFIG_TOPOLOGY_GRAPH))
		result->n_cycle =
		    sim_dependency_cycle(run->fabric, result->cycle, SIMULATION_MAX_WAITS);
}

static bool take_result(struct run *run, const struct simulation_parameters *parameters,
			char *error)
{
	struct simulation_result *result = run->result;
	const struct sim_fabric *fabric = run->fabric;

	result->fabric = *parameters->fabric;
	take_links(result, &run->network.topology);
	result->names = run->network.graph.names;
	run->network.graph.names = NULL;
	result->n_ports = sim_n_ports(fabric);
	result->simulated_ns = sim_now(run->engine) / SIM_NANOSECOND;
	if (result->simulated_ns > parameters->fabric->warm_up_ns)
		result->measured_ns = result->simulated_ns - parameters->fabric->warm_up_ns;
	result->totals = sim_totals(fabric);
	find_cycle(run, parameters->fabric);
	result->shared_peak = sim_shared_peak(fabric);
	result->n_storms = sim_storms(fabric, result->storms, SIMULATION_MAX_WAITS);
	result->n_events = sim_handled(run->engine);
	result->memory = sim_engine_memory(run->engine) + sim_fabric_memory(fabric);
	result->received = calloc(result->n_hosts, sizeof(result->received[0]));
	result->ports = calloc(result->n_ports, sizeof(result->ports[0]));
	if (result->received == NULL || result->ports == NULL)
		return false;
	for (uint32_t i = 0; i < result->n_ports; i++)
		result->ports[i] = simulation_samples_port(run->samples, i);
	if (run->messages == NULL)
		return simulated_system_result(&run->system, result, error);
	result->messages = *sim_messages_account(run->messages);
	result->traffic = *sim_messages_traffic(run->messages);
	for (uint32_t i = 0; i < result->n_hosts; i++)
		result->received[i] = sim_messages_received(run->messages)[i];
	return true;
}

struct simulation_result *simulation_run(const struct simulation_parameters *parameters,
					 char *error)
{
	struct run run = { .slice = FIRST_SLICE };
	bool is_done = prepare(&run, parameters, error) && simulate(&run, parameters, error);

	if (is_done) {
		snprintf(error, SIM_ERROR_SIZE, "no memory for the result");
		is_done = take_result(&run, parameters, error);
	}
	is_done = capture_end(&run.capture, error) && is_done;
	is_done = trace_end(&run.trace, parameters->fabric, error) && is_done;
	if (is_done)
		run.result->trace_cut = run.trace.cut;
	simulation_samples_destroy(run.samples);
	series_free(&run.series);
	sim_messages_destroy(run.messages);
	simulated_system_free(&run.system);
	if (run.engine != NULL)
		sim_engine_destroy(run.engine);
	simulation_network_free(&run.network);
	free(run.places);
	if (is_done)
		return run.result;
	simulation_free(run.result);
	return NULL;
}

void simulation_free(struct simulation_result *result)
{
	if (result == NULL)
		return;
	free(result->names);
	free(result->received);
	free(result->ports);
	free(result);
}

struct simulation_throughput simulation_throughput(const struct simulation_result *result)
{
	struct simulation_throughput out = { 0 };
	const double seconds = (double)result->measured_ns * 1e-9;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < result->n_hosts; i++) {
		sum += result->received[i];
		if (result->received[i] < result->received[out.least_host])
			out.least_host = i;
		if (result->received[i] > result->received[out.most_host])
			out.most_host = i;
	}
	if (result->measured_ns == 0)
		return out;
	out.mean = (double)sum * 8 / seconds / result->n_hosts;
	out.least = (double)result->received[out.least_host] * 8 / seconds;
	out.most = (double)result->received[out.most_host] * 8 / seconds;
	return out;
}
