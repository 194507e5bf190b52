// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <unistd.h>

#include "base/tick_clock.h"
#include "compose.h"
#include "log.h"
#include "sim_outputs.h"
#include "sim_sweep.h"
#include "sim_system/from_config.h"
#include "simulation/simulation.h"
#include "stop.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define QUIET_NS      (2 * NS_PER_SECOND)  // before the first line of progress
#define LINE_NS       (10 * NS_PER_SECOND) // between two lines that are not on a terminal
#define MOST_JOBS     1024u

struct arguments {
	const char *config, *json, *report, *pcap, *trace, *seed;
	struct overrides overrides;
	struct sim_axis axes[SIM_SWEEP_MAX_AXES];
	unsigned n_axes;
	uint64_t jobs;
};

static void take_sweep(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;
	const char *error = NULL;

	if (arguments->n_axes == SIM_SWEEP_MAX_AXES)
		argp_error(state, "more than %u --sweep", SIM_SWEEP_MAX_AXES);
	else
		error = sim_axis_read(&arguments->axes[arguments->n_axes++], text);
	if (error != NULL)
		argp_error(state, "--sweep %s: %s", text, error);
}

static const struct arguments_option options[] = {
	{ "set", 's', "PATH=VALUE", INTO(OVERRIDE, overrides),
	  "override a key, as in fabric.hosts=128" },
	{ "json", 'o', "FILE", INTO(TEXT, json), "write the result as JSON" },
	{ "report", 'r', "DIR", INTO(TEXT, report), "write a page with plots: DIR/index.html" },
	{ "pcap", 0, "NODE=FILE", INTO(TEXT, pcap),
	  "write what a node, or the host of this name or number, sends and receives, for "
	  "Wireshark" },
	{ "trace", 0, "FILE", INTO(TEXT, trace),
	  "write a time line of messages, events, pauses, losses and faults, for Perfetto" },
	{ "seed", 0, "N", INTO(TEXT, seed), "seed of all that is random (fabric.seed)" },
	{ "sweep", 0, "PATH=A,B,...", TAKE(take_sweep),
	  "simulate with each of these values; with several such options, with all combinations. "
	  "Points that are in the --json file already are not simulated again" },
	{ "jobs", 'j', "N", INTO(COUNT, jobs),
	  "points simulated at one time (0, the default: one per CPU)" },
	{ ARGUMENT(TEXT, config) },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->config == NULL)
		argp_error(state, "name a configuration, for example configs/sim/incast.json");
	if ((arguments->pcap != NULL || arguments->trace != NULL) && arguments->n_axes > 0)
		argp_error(state, "--pcap and --trace are for one simulation, not for a sweep");
	if (arguments->jobs > MOST_JOBS)
		argp_error(state, "--jobs is at most %u", MOST_JOBS);
	if (arguments->overrides.n + arguments->n_axes + 1 > ARGUMENTS_MAX_OVERRIDES)
		argp_error(state, "more than %d --set and --sweep: put them into the file",
			   ARGUMENTS_MAX_OVERRIDES);
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.arguments = "CONFIG",
	.help = "Simulates the network that the section fabric of a configuration describes, and "
		"prints throughput, latency, queues, pauses and losses. SIGINT or SIGTERM ends it "
		"early, with the results up to then.\vExit status: 0 done, 1 refused or failed.",
};

// --- one simulation ---

struct progress {
	uint64_t begun_ns, shown_ns;
	bool is_terminal, is_shown;
};

static void show(struct progress *progress, uint64_t now, double share)
{
	const double seconds = (double)(now - progress->begun_ns) / NS_PER_SECOND;

	fprintf(stderr, "%s%.0f %% simulated in %.0f s, %.0f s left%s",
		progress->is_terminal ? "\r\033[K" : "evb sim: ", 100 * share, seconds,
		seconds / share - seconds, progress->is_terminal ? "" : "\n");
	progress->is_shown = progress->is_terminal;
	progress->shown_ns = now;
}

static bool go_on(void *context, double share)
{
	struct progress *progress = context;
	const uint64_t now = tick_clock_monotonic_ns();

	if (now - progress->begun_ns > QUIET_NS &&
	    now - progress->shown_ns > (progress->is_terminal ? NS_PER_SECOND / 5 : LINE_NS))
		show(progress, now, share);
	return stop_signal == 0;
}

// What a configuration says of a simulation.
struct scenario {
	struct config *config; // in a system of nodes, that of the manager: all have one `fabric`
	struct sim_generators generators; // of all nodes, if they send
};

static int visit_node(void *context, const struct config *node, char *error)
{
	if (node->fabric.traffic.kind != SIM_TRAFFIC_SYSTEM)
		return 0;
	return sim_generators_add(context, node, error);
}

static void free_scenario(struct scenario *scenario)
{
	config_free(scenario->config);
	sim_generators_free(&scenario->generators);
}

static bool load_scenario(struct scenario *scenario, const struct arguments *arguments,
			  const char *const *overrides, unsigned n_overrides)
{
	const struct config_visitor visitor = { visit_node, &scenario->generators };
	char error[CONFIG_ERROR_SIZE];

	*scenario = (struct scenario){ 0 };
	if (config_load_system(&scenario->config, arguments->config, overrides, n_overrides,
			       &visitor, error) == 0)
		return true;
	log_refusal(error);
	free_scenario(scenario);
	return false;
}

static struct simulation_result *simulate(const struct arguments *arguments,
					  const struct scenario *scenario, FILE *trace,
					  bool (*go)(void *context, double share), void *context)
{
	const struct config *config = scenario->config;
	struct sim_system_parameters system = { 0 };
	struct simulation_capture capture = { 0 };
	const bool is_system =
	    config->fabric.traffic.kind == SIM_TRAFFIC_SYSTEM && config->cluster.n_nodes > 0;
	const struct simulation_parameters parameters = {
		.fabric = &config->fabric,
		.path = config->path,
		.n_nodes = config->cluster.n_nodes,
		.system = is_system ? &system : NULL,
		.capture = arguments->pcap != NULL ? &capture : NULL,
		.trace = trace,
		.go_on = go,
		.context = context,
	};
	struct simulation_result *result;
	char error[SIM_ERROR_SIZE];

	if (arguments->pcap != NULL && !sim_capture_read(&capture, arguments->pcap, config))
		return NULL;
	if (is_system)
		system = sim_system_configured(config);
	system.generators = scenario->generators.list;
	system.n_generators = scenario->generators.n;
	result = simulation_run(&parameters, error);
	if (result == NULL)
		fprintf(stderr, "%s: %s\n", arguments->config, error);
	return result;
}

// What a report says beside results; the texts belong to the arguments.
static cJSON *begin_report(const struct arguments *arguments)
{
	cJSON *data = cJSON_CreateObject();

	cJSON_AddItemToObject(data, "file", cJSON_CreateStringReference(arguments->config));
	cJSON_AddItemToObject(
	    data, "set",
	    cJSON_CreateStringArray(arguments->overrides.list, (int)arguments->overrides.n));
	return data;
}

// False: an error, which has been printed.
static bool write_result(const struct arguments *arguments, const struct simulation_result *result,
			 struct sim_output *json, struct sim_output *report)
{
	cJSON *data = begin_report(arguments), *object = simulation_json(result, false);
	bool is_written = sim_output_json(json, object);

	cJSON_AddItemToObject(data, "result", object);
	is_written = sim_output_report(report, data) && is_written;
	cJSON_Delete(data);
	return is_written;
}

static int run_one(const struct arguments *arguments)
{
	struct progress progress = { .begun_ns = tick_clock_monotonic_ns(),
				     .is_terminal = isatty(STDERR_FILENO) };
	struct sim_output json = { 0 }, report = { 0 }, trace = { 0 };
	struct simulation_result *result = NULL;
	struct scenario scenario;
	bool is_done = false;

	if (!load_scenario(&scenario, arguments, arguments->overrides.list, arguments->overrides.n))
		return 1;
	if (sim_output_open(&json, arguments->json) &&
	    sim_output_open_report(&report, arguments->report) &&
	    sim_output_open(&trace, arguments->trace))
		result = simulate(arguments, &scenario, sim_output_begin(&trace), go_on, &progress);
	free_scenario(&scenario);
	if (progress.is_shown)
		fprintf(stderr, "\r\033[K");
	if (result != NULL) {
		simulation_print(result, stdout);
		if (result->trace_cut > 0)
			fprintf(stderr,
				"evb sim: %s: has the first %u elements, not the %llu behind them: "
				"simulate a shorter time\n",
				arguments->trace, SIMULATION_MAX_TRACE,
				(unsigned long long)result->trace_cut);
		is_done = write_result(arguments, result, &json, &report);
	}
	sim_output_close(&json);
	sim_output_close(&report);
	sim_output_close(&trace);
	simulation_free(result);
	return is_done ? 0 : 1;
}

// --- a sweep ---

static bool always(void *context, double share)
{
	(void)context;
	(void)share;
	return true;
}

// In a process of its own.
static cJSON *run_point(void *context, const char *const *values, unsigned n_values)
{
	const struct arguments *arguments = context;
	const char *overrides[ARGUMENTS_MAX_OVERRIDES];
	unsigned n = 0;
	struct simulation_result *result;
	struct scenario scenario;
	cJSON *json;

	for (unsigned i = 0; i < arguments->overrides.n; i++)
		overrides[n++] = arguments->overrides.list[i];
	for (unsigned i = 0; i < n_values; i++)
		overrides[n++] = values[i];
	if (!load_scenario(&scenario, arguments, overrides, n))
		return NULL;
	result = simulate(arguments, &scenario, NULL, always, NULL);
	free_scenario(&scenario);
	json = result != NULL ? simulation_json(result, true) : NULL;
	simulation_free(result);
	return json;
}

static int run_sweep(const struct arguments *arguments)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct sim_output report = { 0 };
	cJSON *points = NULL, *data;
	const struct sim_sweep sweep = {
		.axes = arguments->axes,
		.n_axes = arguments->n_axes,
		.config = arguments->config,
		.overrides = arguments->overrides.list,
		.n_overrides = arguments->overrides.n,
		.jobs = arguments->jobs != 0 ? (unsigned)arguments->jobs
			: cpus > 0           ? (unsigned)cpus
					     : 1,
		.file = arguments->json,
		.run = run_point,
		.context = (void *)(uintptr_t)arguments,
	};
	int status = 1;

	if (sim_output_open_report(&report, arguments->report))
		status = sim_sweep_run(&sweep, &points);
	if (points != NULL) {
		data = begin_report(arguments);
		cJSON_AddItemToObject(data, "points", points);
		if (!sim_output_report(&report, data))
			status = 1;
		cJSON_Delete(data);
	}
	sim_output_close(&report);
	return status;
}

int cmd_sim(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	char seed[64];
	int status;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (arguments.seed != NULL) {
		snprintf(seed, sizeof(seed), "fabric.seed=%s", arguments.seed);
		arguments.overrides.list[arguments.overrides.n++] = seed;
	}
	stop_catch_signals();
	status = arguments.n_axes > 0 ? run_sweep(&arguments) : run_one(&arguments);
	for (unsigned i = 0; i < arguments.n_axes; i++)
		sim_axis_free(&arguments.axes[i]);
	return status;
}
