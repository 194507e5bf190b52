// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A result as JSON. Names contain their units. Nothing in it depends on the machine.
#include "simulation/internal.h"

const char *const simulation_causes[SIM_N_CAUSES] = {
	[SIM_DROP_QUEUE] = "queue", [SIM_DROP_HEADROOM] = "headroom", [SIM_DROP_RED] = "red",
	[SIM_DROP_LINK] = "link",   [SIM_DROP_RANDOM] = "random",
};

struct simulation_name simulation_name_of(const struct fabric_graph_name *names, uint32_t n_hosts,
					  uint32_t node)
{
	struct simulation_name name;
	const bool is_host = node < n_hosts;
	const bool has_name = names != NULL;

	snprintf(name.text, sizeof(name.text), "%s %u%s%s%s", is_host ? "host" : "switch",
		 is_host ? node : node - n_hosts, has_name ? " (" : "",
		 has_name ? names[node].text : "", has_name ? ")" : "");
	return name;
}

struct simulation_name simulation_node_name(const struct simulation_result *result, uint32_t node)
{
	return simulation_name_of(result->names, result->n_hosts, node);
}

static void add(cJSON *object, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(object, name, (double)value);
}

// Times with their quantiles. `is_short` leaves out the bins.
static void add_times(cJSON *parent, const char *name, const struct histogram *times, bool is_short)
{
	cJSON *object = cJSON_AddObjectToObject(parent, name);
	const uint64_t n = histogram_count(times);
	cJSON *bins;

	add(object, "n", n);
	add(object, "mean_ns", n > 0 ? times->sum / n : 0);
	add(object, "p50_ns", histogram_quantile(times, 0.5));
	add(object, "p90_ns", histogram_quantile(times, 0.9));
	add(object, "p99_ns", histogram_quantile(times, 0.99));
	add(object, "most_ns", times->maximum);
	if (is_short)
		return;
	bins = cJSON_AddArrayToObject(object, "below_ns"); // pairs: end of a bin, count
	for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
		if (times->bins[i] == 0)
			continue;
		const double pair[] = { (double)histogram_bin_end(i), (double)times->bins[i] };
		cJSON_AddItemToArray(bins, cJSON_CreateDoubleArray(pair, 2));
	}
}

static void add_throughput(cJSON *root, const struct simulation_result *result, bool is_short)
{
	const struct simulation_throughput throughput = simulation_throughput(result);
	cJSON *object = cJSON_AddObjectToObject(root, "throughput");

	cJSON_AddNumberToObject(object, "mean_bps", throughput.mean);
	cJSON_AddNumberToObject(object, "least_bps", throughput.least);
	cJSON_AddNumberToObject(object, "most_bps", throughput.most);
	add(object, "least_host", throughput.least_host);
	add(object, "most_host", throughput.most_host);
	if (is_short)
		return;
	cJSON *hosts = cJSON_AddArrayToObject(object, "received_bytes");
	for (uint32_t i = 0; i < result->n_hosts; i++)
		cJSON_AddItemToArray(hosts, cJSON_CreateNumber((double)result->received[i]));
}

static void add_port(cJSON *ports, const struct simulation_result *result, uint32_t i)
{
	const struct simulation_port *port = &result->ports[i];
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(ports, object);
	cJSON_AddStringToObject(object, "from", simulation_node_name(result, port->view.node).text);
	cJSON_AddStringToObject(object, "to", simulation_node_name(result, port->peer).text);
	add(object, "link", port->view.link);
	add(object, "packets", port->view.packets);
	add(object, "bytes", port->view.bytes);
	add(object, "busy_ns", port->view.busy / SIM_NANOSECOND);
	add(object, "paused_ns", port->view.paused / SIM_NANOSECOND);
	add(object, "pauses", port->view.pauses);
	if (result->fabric.ecn.high > 0)
		add(object, "marked", port->view.marked);
	if (result->fabric.flow_control == SIM_RETRY) {
		add(object, "refused", port->view.refused);
		add(object, "repeated", port->view.repeated);
	}
	add(object, "queue_mean_bytes", port->queue_mean);
	add(object, "queue_p99_bytes", port->queue_p99);
	add(object, "queue_most_bytes", port->view.queue_peak);
	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++) {
		char name[32];

		snprintf(name, sizeof(name), "lost_%s", simulation_causes[cause]);
		if (port->view.drops[cause] > 0)
			add(object, name, port->view.drops[cause]);
	}
}

static void add_series(cJSON *root, const struct simulation_result *result)
{
	cJSON *list = cJSON_AddArrayToObject(root, "series");

	for (unsigned i = 0; i < result->series.n; i++) {
		const struct simulation_point *point = &result->series.points[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(list, object);
		add(object, "time_ns", point->time_ns);
		cJSON_AddNumberToObject(object, "mean_bps", point->mean);
		cJSON_AddNumberToObject(object, "least_bps", point->least);
		cJSON_AddNumberToObject(object, "most_bps", point->most);
		add(object, "queue_most_bytes", point->queue_most);
		cJSON_AddNumberToObject(object, "paused_share", point->paused);
		add(object, "lost_packets", point->lost);
	}
}

// The ports that have the largest values, and sums over all ports.
static void add_ports(cJSON *root, const struct simulation_result *result, bool is_short)
{
	uint64_t paused = 0, queue = 0;

	for (uint32_t i = 0; i < result->n_ports; i++) {
		const struct simulation_port *port = &result->ports[i];

		paused += port->view.paused / SIM_NANOSECOND;
		if (port->view.node >= result->n_hosts && port->view.queue_peak > queue)
			queue = port->view.queue_peak;
	}
	add(root, "paused_ns", paused);
	add(root, "queue_most_bytes", queue);
	if (result->fabric.shared_buffer > 0)
		add(root, "shared_buffer_most_bytes", result->shared_peak);
	if (is_short)
		return;
	cJSON *ports = cJSON_AddArrayToObject(root, "ports");
	for (uint32_t i = 0; i < result->n_ports; i++)
		add_port(ports, result, i);
}

// A cycle of buffers, if there is one.
static void add_cycle(cJSON *root, const char *name, const struct simulation_result *result,
		      const struct sim_wait *waits, uint32_t n)
{
	cJSON *cycle = n > 0 ? cJSON_AddArrayToObject(root, name) : NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct simulation_port *port = &result->ports[waits[i].port];
		char text[2 * sizeof(struct simulation_name) + 8];

		snprintf(text, sizeof(text), "%s from %s",
			 simulation_node_name(result, port->view.node).text,
			 simulation_node_name(result, port->peer).text);
		cJSON_AddItemToArray(cycle, cJSON_CreateString(text));
	}
}

static void add_storms(cJSON *root, const struct simulation_result *result)
{
	cJSON *storms = result->n_storms > 0 ? cJSON_AddArrayToObject(root, "storms") : NULL;

	for (uint32_t i = 0; i < result->n_storms; i++) {
		const struct sim_storm *storm = &result->storms[i];
		const struct simulation_port *port = &result->ports[storm->port];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(storms, object);
		cJSON_AddStringToObject(object, "by",
					simulation_node_name(result, port->peer).text);
		cJSON_AddStringToObject(object, "pauses",
					simulation_node_name(result, port->view.node).text);
		add(object, "since_ns", storm->since / SIM_NANOSECOND);
	}
}

static void add_system(cJSON *root, const struct simulation_result *result, bool is_short)
{
	const struct simulation_system *system = &result->system;
	const struct sim_node_view *total = &system->total;
	cJSON *object = cJSON_AddObjectToObject(root, "system");

	add(object, "events_complete", total->complete);
	add(object, "events_incomplete", total->incomplete);
	add(object, "events_discarded", total->discarded);
	add(object, "complete_bytes", total->payload);
	add(object, "complete_wire_bytes", total->event_wire);
	add(object, "data_wire_bytes", total->received_wire);
	add(object, "control_wire_bytes", total->control_received_wire);
	add(object, "lost_data_packets", system->lost_data);
	add(object, "lost_control_packets", system->lost_control);
	add(object, "announced", system->manager.announced);
	add(object, "granted", system->manager.outstanding);
	add(object, "waiting", system->manager.waiting);
	add(object, "exclusions", system->manager.excluded);
	add(object, "events_repeated", system->manager.repeated);
	add_times(object, "built", &system->latency.built, is_short);
	add_times(object, "published", &system->latency.published, is_short);
}

static void add_counts(cJSON *root, const struct simulation_result *result)
{
	cJSON *lost = cJSON_AddObjectToObject(root, "lost_packets");

	for (unsigned cause = 0; cause < SIM_N_CAUSES; cause++)
		add(lost, simulation_causes[cause], result->totals.dropped[cause]);
	add(root, "packets_sent", result->totals.sent);
	add(root, "packets_delivered", result->totals.delivered);
	add(root, "packets_underway", result->totals.underway);
	add(root, "hops", result->totals.hops);
	if (result->fabric.flow_control == SIM_RETRY) {
		add(root, "packets_refused", result->totals.refused);
		add(root, "packets_repeated", result->totals.repeated);
	}
	add(root, "messages_sent", result->messages.sent);
	add(root, "messages_delivered", result->messages.delivered);
	add(root, "messages_lost", result->messages.lost);
	add(root, "control_bytes", result->messages.control);
	if (result->fabric.ecn.high > 0)
		add(root, "congestion_notifications", result->messages.notifications);
	add(root, "events_begun", result->traffic.begun);
	add(root, "events_complete", result->traffic.complete);
}

cJSON *simulation_json(const struct simulation_result *result, bool is_short)
{
	cJSON *root = cJSON_CreateObject();

	if (!is_short)
		cJSON_AddItemToObject(root, "fabric", simulation_settings(&result->fabric));
	add(root, "hosts", result->n_hosts);
	add(root, "switches", result->n_switches);
	add(root, "links", result->n_links);
	add(root, "link_rate_least_bps", result->link_rate_least);
	add(root, "link_rate_most_bps", result->link_rate_most);
	add(root, "simulated_ns", result->simulated_ns);
	add(root, "measured_ns", result->measured_ns);
	add_throughput(root, result, is_short);
	add_times(root, "message_latency", &result->messages.latency, is_short);
	add_times(root, "event_latency", &result->traffic.latency, is_short);
	add_counts(root, result);
	if (result->fabric.traffic.kind == SIM_TRAFFIC_SYSTEM)
		add_system(root, result, is_short);
	add_ports(root, result, is_short);
	if (!is_short)
		add_series(root, result);
	add_cycle(root, "dependency_cycle", result, result->cycle, result->n_cycle);
	add_cycle(root, "deadlock", result, result->deadlock, result->n_deadlock);
	add_storms(root, result);
	return root;
}
