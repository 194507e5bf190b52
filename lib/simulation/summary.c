// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A result for people.
#include <inttypes.h>

#include "base/units.h"
#include "simulation/internal.h"

#define MOST_PORTS 3u // that are listed for one property

static const char *const traffic_names[] = {
	[SIM_TRAFFIC_INCAST] = "incast",   [SIM_TRAFFIC_PERMUTATION] = "permutation",
	[SIM_TRAFFIC_UNIFORM] = "uniform", [SIM_TRAFFIC_A2A] = "a2a",
	[SIM_TRAFFIC_DAQPIPE] = "daqpipe", [SIM_TRAFFIC_SYSTEM] = "system",
};

static double microseconds(uint64_t ns)
{
	return (double)ns / 1000;
}

static double share(const struct simulation_result *result, uint64_t ps)
{
	if (result->measured_ns == 0)
		return 0;
	return 100 * (double)ps / (double)(result->measured_ns * SIM_NANOSECOND);
}

static void print_head(const struct simulation_result *result, FILE *out)
{
	const bool is_one = result->link_rate_least == result->link_rate_most;
	char rate[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE], message[UNITS_TEXT_SIZE];

	units_format(UNITS_BIT_RATE, result->link_rate_least, rate);
	units_format(UNITS_BIT_RATE, result->link_rate_most, most);
	units_format(UNITS_SIZE, result->fabric.traffic.message, message);
	fprintf(out, "fabric      %u hosts, %u switch%s, %u links of %s%s%s\n", result->n_hosts,
		result->n_switches, result->n_switches == 1 ? "" : "es", result->n_links, rate,
		is_one ? "" : " to ", is_one ? "" : most);
	fprintf(out, "traffic     %s", traffic_names[result->fabric.traffic.kind]);
	if (result->fabric.traffic.kind != SIM_TRAFFIC_SYSTEM)
		fprintf(out, ", messages of %s", message);
	fprintf(out, "\n");
	fprintf(out,
		"simulated   %.3f ms, results of the last %.3f ms; %.1f million hops, %.1f MB of "
		"memory\n",
		(double)result->simulated_ns * 1e-6, (double)result->measured_ns * 1e-6,
		(double)result->totals.hops * 1e-6, (double)result->memory * 1e-6);
}

static void print_throughput(const struct simulation_result *result, FILE *out)
{
	const struct simulation_throughput throughput = simulation_throughput(result);

	fprintf(out,
		"throughput  %.2f Gb/s per host; least %.2f (host %u), most %.2f (host %u); total "
		"%.1f\n",
		throughput.mean * 1e-9, throughput.least * 1e-9, throughput.least_host,
		throughput.most * 1e-9, throughput.most_host,
		throughput.mean * result->n_hosts * 1e-9);
}

static void print_times(const char *title, const char *what, const struct histogram *times,
			FILE *out)
{
	const uint64_t n = histogram_count(times);

	if (n == 0)
		return;
	fprintf(out, "%-11s %" PRIu64 " %s in %.1f us; p50 %.1f, p99 %.1f, most %.1f\n", title, n,
		what, microseconds(times->sum / n), microseconds(histogram_quantile(times, 0.5)),
		microseconds(histogram_quantile(times, 0.99)), microseconds(times->maximum));
}

static void print_system(const struct simulation_result *result, FILE *out)
{
	const struct simulation_system *system = &result->system;
	const struct sim_node_view *total = &system->total;
	const uint64_t wire = total->received_wire + total->control_received_wire;
	const double seconds = (double)result->measured_ns * 1e-9;

	fprintf(out,
		"system      %.0f events/s complete, %.0f incomplete; at the end %" PRIu64
		" announced, %" PRIu64 " granted, %" PRIu64 " waiting\n",
		seconds > 0 ? (double)total->complete / seconds : 0,
		seconds > 0 ? (double)total->incomplete / seconds : 0, system->manager.announced,
		system->manager.outstanding, system->manager.waiting);
	fprintf(out,
		"control     %.2f %% of the bytes received; lost %" PRIu64
		" packets of data, %" PRIu64 " of control\n",
		wire > 0 ? 100 * (double)total->control_received_wire / (double)wire : 0,
		system->lost_data, system->lost_control);
	if (result->fabric.n_faults > 0)
		fprintf(out,
			"faults      %" PRIu64 " exclusions of silent nodes, %" PRIu64
			" events possibly published twice\n",
			system->manager.excluded, system->manager.repeated);
	print_times("built", "events from the first segment to the last", &system->latency.built,
		    out);
	print_times("published", "events from their announcement", &system->latency.published, out);
}

static uint64_t paused(const struct simulation_port *port)
{
	return port->view.paused;
}

static uint64_t longest_queue(const struct simulation_port *port)
{
	return port->queue_p99;
}

static uint64_t lost(const struct simulation_port *port)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
		sum += port->view.drops[cause];
	return sum;
}

// The port with the largest value that is smaller than that of port `before`, or equal and behind
// it; n_ports: there is none with a value above 0.
static uint32_t next_port(const struct simulation_result *result, uint32_t before,
			  uint64_t (*value_of)(const struct simulation_port *))
{
	const uint64_t bound =
	    before < result->n_ports ? value_of(&result->ports[before]) : UINT64_MAX;
	uint32_t best = result->n_ports;
	uint64_t most = 0;

	for (uint32_t i = 0; i < result->n_ports; i++) {
		const uint64_t value = value_of(&result->ports[i]);

		if (value > most &&
		    (value < bound || (value == bound && i > before && before < result->n_ports))) {
			most = value;
			best = i;
		}
	}
	return best;
}

static void print_ports(const struct simulation_result *result, const char *title,
			uint64_t (*value_of)(const struct simulation_port *), FILE *out)
{
	uint32_t i = result->n_ports;

	for (unsigned n = 0; n < MOST_PORTS; n++) {
		i = next_port(result, i, value_of);
		if (i == result->n_ports)
			return;
		const struct simulation_port *port = &result->ports[i];
		fprintf(out,
			"%-11s %s to %s: queue %.1f kB (p99 %.1f, most %.1f), busy %.1f %%, paused "
			"%.1f %%, lost %" PRIu64 "\n",
			n == 0 ? title : "", simulation_node_name(result, port->view.node).text,
			simulation_node_name(result, port->peer).text,
			(double)port->queue_mean / 1000, (double)port->queue_p99 / 1000,
			(double)port->view.queue_peak / 1000, share(result, port->view.busy),
			share(result, port->view.paused), lost(port));
	}
}

static void print_losses(const struct simulation_result *result, FILE *out)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
		sum += result->totals.dropped[cause];
	fprintf(out, "losses      %" PRIu64 " of %" PRIu64 " packets", sum, result->totals.sent);
	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
		if (result->totals.dropped[cause] > 0)
			fprintf(out, "; %s %" PRIu64, simulation_causes[cause],
				result->totals.dropped[cause]);
	fprintf(out, "\n");
	print_ports(result, "lost at", lost, out);
}

static void print_ecn(const struct simulation_result *result, FILE *out)
{
	uint64_t marked = 0;

	for (uint32_t i = 0; i < result->n_ports; i++)
		marked += result->ports[i].view.marked;
	if (result->fabric.ecn.high > 0)
		fprintf(out,
			"ecn         %" PRIu64 " packets marked, %" PRIu64
			" congestion notifications\n",
			marked, result->messages.notifications);
}

static void print_retries(const struct simulation_result *result, FILE *out)
{
	const struct sim_totals *totals = &result->totals;

	if (result->fabric.flow_control == SIM_RETRY)
		fprintf(out,
			"retries     %" PRIu64 " of %" PRIu64 " transmissions refused, %" PRIu64
			" packets sent again\n",
			totals->refused, totals->hops, totals->repeated);
}

// A cycle of buffers of which each waits for the next one.
static void print_cycle(const struct simulation_result *result, const char *title,
			const struct sim_wait *cycle, uint32_t n, FILE *out)
{
	if (n == 0)
		return;
	fprintf(out, "%s", title);
	for (uint32_t i = 0; i < n; i++) {
		const struct simulation_port *port = &result->ports[cycle[i].port];

		fprintf(out, "%s %s from %s", i > 0 ? ";" : "",
			simulation_node_name(result, port->view.node).text,
			simulation_node_name(result, port->peer).text);
	}
	fprintf(out, "\n");
}

static void print_storms(const struct simulation_result *result, FILE *out)
{
	for (uint32_t i = 0; i < result->n_storms; i++) {
		const struct sim_storm *storm = &result->storms[i];
		const struct simulation_port *port = &result->ports[storm->port];

		fprintf(out, "storm       %s pauses %s since %.3f ms, and its buffer is not full\n",
			simulation_node_name(result, port->peer).text,
			simulation_node_name(result, port->view.node).text,
			(double)storm->since / (double)(SIM_SECOND / 1000));
	}
}

void simulation_print(const struct simulation_result *result, FILE *out)
{
	print_head(result, out);
	print_throughput(result, out);
	print_times("messages", "messages", &result->messages.latency, out);
	print_times("events", "events", &result->traffic.latency, out);
	if (result->fabric.traffic.kind == SIM_TRAFFIC_SYSTEM)
		print_system(result, out);
	print_ports(result, "queues", longest_queue, out);
	print_ports(result, "pauses", paused, out);
	print_retries(result, out);
	print_ecn(result, out);
	print_losses(result, out);
	print_cycle(result, "cycle       by the routes these buffers can wait for each other:",
		    result->cycle, result->n_cycle, out);
	print_cycle(result, "deadlock    these buffers wait for each other:", result->deadlock,
		    result->n_deadlock, out);
	print_storms(result, out);
}
