// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A time line in the Trace Event Format of Chrome, which Perfetto reads, too. Each element of the
// list is written when it happens.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/internal.h"

#define PICOSECONDS UINT64_C(1000000) // per microsecond, the unit of the format

enum { MESSAGES = 1, EVENTS, PORTS, FAULTS }; // processes of the time line

// A name as JSON has it between quotes: each byte needs up to 6, as in \u001f.
struct label {
	char text[6 * sizeof(struct simulation_name)];
};

static struct label escape(const char *name)
{
	struct label label = { .text = "" };
	char *at = label.text;

	for (; *name != '\0'; name++) {
		if (*name == '"' || *name == '\\')
			*at++ = '\\';
		if ((unsigned char)*name < ' ')
			at += sprintf(at, "\\u%04x", (unsigned char)*name);
		else
			*at++ = *name;
	}
	*at = '\0';
	return label;
}

// Of a node of the topology, as in the results.
static struct label label_of(const struct trace *trace, uint32_t node)
{
	return escape(simulation_name_of(trace->names, trace->n_hosts, node).text);
}

// Begins an element; false: the time line is full.
static bool begin(struct trace *trace)
{
	if (trace->n == SIMULATION_MAX_TRACE) {
		trace->cut++;
		return false;
	}
	trace->n++;
	return true;
}

static void write_time(FILE *file, uint64_t ps)
{
	fprintf(file, "\"ts\":%" PRIu64 ".%06" PRIu64, ps / PICOSECONDS, ps % PICOSECONDS);
}

static void write_name(FILE *file, const char *kind, unsigned process, uint32_t thread,
		       const char *name)
{
	fprintf(
	    file,
	    ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"%s\"}}",
	    kind, process, thread, name);
}

// Of a host by its number, or of a node of a system.
static struct label host_label(const struct trace *trace, uint32_t host)
{
	struct simulation_name name;

	if (trace->names != NULL)
		snprintf(name.text, sizeof(name.text), "%s %u (%s)",
			 trace->is_system ? "node" : "host", host,
			 trace->names[trace->places[host]].text);
	else
		snprintf(name.text, sizeof(name.text), "%s %u", trace->is_system ? "node" : "host",
			 host);
	return escape(name.text);
}

// What lasts from `begun` until now, and may overlap with others of its name.
static void write_span(const struct trace *trace, const char *category, unsigned process,
		       uint64_t id, uint32_t host, uint64_t begun, const char *arguments)
{
	static const char ends[] = "be";
	const struct label name = host_label(trace, host);

	for (unsigned i = 0; ends[i] != '\0'; i++) {
		fprintf(trace->file,
			",\n{\"ph\":\"%c\",\"cat\":\"%s\",\"id\":%" PRIu64
			",\"name\":\"%s\",\"pid\":%u,",
			ends[i], category, id, name.text, process);
		write_time(trace->file, i == 0 ? begun : sim_now(trace->engine));
		fprintf(trace->file, ",\"args\":{%s}}", arguments);
	}
}

static void on_message(void *context, const struct sim_message *message, uint64_t number,
		       uint64_t begun, bool is_lost)
{
	struct trace *trace = context;
	char arguments[96 + sizeof(struct label)], name[16 + sizeof(struct label)] = "";

	if (!begin(trace))
		return;
	if (trace->names != NULL)
		snprintf(name, sizeof(name), "\"to_host\":\"%s\",",
			 host_label(trace, message->to).text);
	snprintf(arguments, sizeof(arguments), "\"to\":%u,%s\"bytes\":%u,\"kind\":%u,\"lost\":%s",
		 message->to, name, message->bytes, message->kind, is_lost ? "true" : "false");
	write_span(trace, "message", MESSAGES, number, message->from, begun, arguments);
}

static void on_event(void *context, uint32_t host, uint64_t begun)
{
	struct trace *trace = context;

	if (begin(trace))
		write_span(trace, "event", EVENTS, trace->n_events++, host, begun, "");
}

// The port has a name from its first appearance on.
static void name_port(struct trace *trace, uint32_t port)
{
	const struct sim_port view = sim_port_view(trace->fabric, port);
	char name[2 * sizeof(struct label) + 8];

	if (trace->is_named[port])
		return;
	trace->is_named[port] = true;
	snprintf(name, sizeof(name), "%s to %s", label_of(trace, view.node).text,
		 label_of(trace, sim_port_view(trace->fabric, view.peer).node).text);
	write_name(trace->file, "thread_name", PORTS, port, name);
}

static void on_blocked(void *context, uint32_t port, bool is_blocked)
{
	struct trace *trace = context;

	if (!begin(trace))
		return;
	name_port(trace, port);
	fprintf(trace->file, ",\n{\"ph\":\"%c\",\"name\":\"waits\",\"pid\":%u,\"tid\":%u,",
		is_blocked ? 'B' : 'E', PORTS, port);
	write_time(trace->file, sim_now(trace->engine));
	fprintf(trace->file, "}");
}

static void on_dropped(void *context, uint32_t port, unsigned cause)
{
	struct trace *trace = context;

	if (!begin(trace))
		return;
	name_port(trace, port);
	fprintf(trace->file,
		",\n{\"ph\":\"i\",\"s\":\"t\",\"name\":\"lost: %s\",\"pid\":%u,\"tid\":%u,",
		simulation_causes[cause], PORTS, port);
	write_time(trace->file, sim_now(trace->engine));
	fprintf(trace->file, "}");
}

void trace_make(struct trace *trace, FILE *file, bool is_system, struct sim_engine *engine)
{
	static const char *const processes[] = { [MESSAGES] = "messages, by sender",
						 [EVENTS] = "events, by builder",
						 [PORTS] = "ports that wait or lose",
						 [FAULTS] = "faults" };

	trace->file = file;
	trace->is_system = is_system;
	trace->engine = engine;
	trace->tracer = (struct sim_tracer){ on_message, on_event, on_blocked, on_dropped, trace };
	fprintf(
	    file,
	    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"evb sim\"}}");
	for (unsigned i = MESSAGES; i <= FAULTS; i++)
		write_name(file, "process_name", i, 0, processes[i]);
}

bool trace_begin(struct trace *trace, const struct sim_fabric *fabric,
		 const struct simulation_network *network, const uint32_t *places)
{
	if (trace->file == NULL)
		return true;
	trace->fabric = fabric;
	trace->names = network->graph.names;
	trace->places = places;
	trace->n_hosts = network->topology.n_hosts;
	trace->is_named = calloc(sim_n_ports(fabric), sizeof(trace->is_named[0]));
	return trace->is_named != NULL;
}

// The times at which a fault was there, until the end of the simulation.
static void write_fault(struct trace *trace, const struct config_fault *fault, unsigned number)
{
	const uint64_t end = sim_now(trace->engine);

	for (uint64_t at = fault->begin_ns * SIM_NANOSECOND; at < end;
	     at += fault->period_ns * SIM_NANOSECOND) {
		uint64_t length = end - at;

		if (!begin(trace))
			return;
		if (fault->length_ns > 0 && fault->length_ns * SIM_NANOSECOND < length)
			length = fault->length_ns * SIM_NANOSECOND;
		fprintf(
		    trace->file,
		    ",\n{\"ph\":\"X\",\"name\":\"fault %u\",\"pid\":%u,\"tid\":%u,\"dur\":%" PRIu64
		    ".%06" PRIu64 ",",
		    number, FAULTS, number, length / PICOSECONDS, length % PICOSECONDS);
		write_time(trace->file, at);
		fprintf(trace->file, "}");
		if (fault->period_ns == 0)
			return;
	}
}

static void name_fault(const struct trace *trace, const cJSON *settings, unsigned number)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(settings, "faults");
	const char *kind = cJSON_GetStringValue(
	    cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, (int)number), "kind"));

	write_name(trace->file, "thread_name", FAULTS, number, kind != NULL ? kind : "fault");
}

bool trace_end(struct trace *trace, const struct config_fabric *fabric, char *error)
{
	cJSON *settings;

	free(trace->is_named);
	if (trace->file == NULL)
		return true;
	settings = simulation_settings(fabric);
	for (unsigned i = 0; i < fabric->n_faults; i++) {
		name_fault(trace, settings, i);
		write_fault(trace, &fabric->faults[i], i);
	}
	cJSON_Delete(settings);
	fprintf(trace->file, "\n]}\n");
	if (fflush(trace->file) == 0 && ferror(trace->file) == 0)
		return true;
	snprintf(error, SIM_ERROR_SIZE, "the time line: %s", strerror(errno));
	return false;
}
