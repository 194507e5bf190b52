// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/latency_window.h"

#define SOURCES    12
#define FAULT      5      // second from which on something is wrong
#define EVENTS     20000u // a second
#define EVENT_SIZE 15000u
#define CYCLES     1000000000.0

static cJSON *add_object(cJSON *list)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddItemToArray(list, object);
	return object;
}

static void add(cJSON *object, const char *key, double value)
{
	cJSON_AddNumberToObject(object, key, value);
}

static void text(cJSON *object, const char *key, const char *value)
{
	cJSON_AddStringToObject(object, key, value);
}

// Seconds of trouble.
static double troubled(unsigned second)
{
	return second > FAULT ? second - FAULT : 0;
}

static void add_summary(cJSON *root, double second, double trouble)
{
	cJSON *info = cJSON_AddObjectToObject(root, "info");
	cJSON *summary = cJSON_AddObjectToObject(root, "summary");

	text(info, "state", "running");
	add(summary, "uptime_seconds", second);
	add(summary, "run_number", 42);
	add(summary, "events_complete", (second - trouble) * EVENTS);
	add(summary, "events_incomplete", trouble * EVENTS);
	add(summary, "events_discarded", 0);
	add(summary, "events_open", 4 + 20 * (trouble > 0));
	add(summary, "bytes_built", second * EVENTS * EVENT_SIZE);
	add(summary, "loss_total", trouble * 310);
	add(summary, "segment_drop_late", trouble * 300);
	add(summary, "packet_drop_malformed", trouble * 10);
	add(summary, "packets_missed", 0);
	add(summary, "packets_received", second * EVENTS * SOURCES);
	add(summary, "packets_received_bytes", second * EVENTS * EVENT_SIZE);
	add(summary, "slots_free", trouble > 0 ? 20 : 100);
	add(summary, "sent_events", second * EVENTS);
	add(summary, "sent_bytes", second * EVENTS * EVENT_SIZE);
	add(summary, "sent_packets", second * EVENTS * SOURCES);
	add(summary, "latency_complete_max_ns", 1.5e6);
}

static void add_lcores(cJSON *root, double second)
{
	static const char *const roles[] = { "source.boards", "rx.wire", "builder.b0",
					     "builder.b1" };
	static const double busy[] = { 0.25, 0.97 }, held[] = { 0.5, 0 };
	cJSON *list = cJSON_AddArrayToObject(root, "lcore");

	for (unsigned i = 0; i < 2; i++) {
		cJSON *lcore = add_object(list);

		add(lcore, "lcore", i + 1);
		add(lcore, "cpu", i);
		cJSON_AddItemToObject(lcore, "roles", cJSON_CreateStringArray(&roles[2 * i], 2));
		add(lcore, "busy_cycles", second * busy[i] * CYCLES);
		add(lcore, "idle_cycles", second * (1 - busy[i] - held[i]) * CYCLES);
		add(lcore, "backpressured_cycles", second * held[i] * CYCLES);
		add(lcore, "sleeps", second * 1000);
		add(lcore, "running", 1);
	}
}

static void add_histogram(cJSON *thing, const char *name, double events)
{
	cJSON *histogram = cJSON_AddObjectToObject(thing, name);
	char key[32];

	// Half of the events take 64 to 128 us, the others 128 to 256 us.
	for (unsigned i = 0; i < LATENCY_WINDOW_BOUNDS; i++) {
		snprintf(key, sizeof(key), "le_%llu", 1ull << i);
		add(histogram, key, i < 17 ? 0 : i == 17 ? events / 2 : events);
	}
	add(histogram, "inf", events);
}

static void add_builders(cJSON *root, double second, double trouble)
{
	cJSON *list = cJSON_AddArrayToObject(root, "builder");

	for (unsigned i = 0; i < 2; i++) {
		cJSON *builder = add_object(list), *group;

		text(builder, "name", i == 0 ? "b0" : "b1");
		add(builder, "slots", 64);
		add(builder, "slots_free", trouble > 0 ? 10 : 50);
		add(builder, "events_open", 2 + 10 * (trouble > 0));
		add(builder, "events_held", 12);
		add(builder, "events_complete", (second - trouble) * EVENTS / 2);
		add(builder, "events_incomplete", trouble * EVENTS / 2);
		add(builder, "events_discarded", 0);
		add(builder, "bytes_built", second * EVENTS * EVENT_SIZE / 2);
		add_histogram(builder, "latency_complete_ns", (second - trouble) * EVENTS / 2);
		group = cJSON_AddObjectToObject(builder, "group_0");
		text(group, "name", "main");
		add(group, "members", 3);
		add(group, "lag", 7);
		add(group, "delivered", second * EVENTS / 2);
		add(group, "released", second * EVENTS / 2);
		add(group, "regained", 0);
	}
}

static void add_diagnosis(cJSON *root, double trouble)
{
	cJSON *list = cJSON_AddArrayToObject(root, "diagnosis"), *finding;

	if (trouble <= 0)
		return;
	finding = add_object(list);
	text(finding, "what", "consumer group main (1 member, pid 4711) holds slots of b1");
	text(finding, "subject", "group main");
	text(finding, "holds_back", "builder.b1");
	text(finding, "remedy",
	     "kill -CONT 4711 lets it go on; if it ends, other members get its events");
	text(finding, "sentence",
	     "consumer group main (1 member, pid 4711, stopped 22 s ago) holds all 64 slots of b1");
	add(finding, "severity", 2);
}

static void add_links(cJSON *root, double second, double trouble)
{
	cJSON *list = cJSON_AddArrayToObject(root, "link");

	for (unsigned i = 0; i < 2; i++) {
		cJSON *link = add_object(list);

		add(link, "id", i);
		text(link, "producer", "rx.wire");
		text(link, "consumer", i == 0 ? "builder.b0" : "builder.b1");
		add(link, "lossless", 1);
		add(link, "depth", 1024);
		add(link, "used", i == 1 && trouble > 0 ? 1024 : 32);
		add(link, "highest", 512);
		add(link, "enqueued", second * EVENTS * SOURCES / 2);
		add(link, "full", i == 1 ? trouble * 1500 : 0);
		add(link, "dropped", 0);
	}
}

static void add_sources(cJSON *root, double second, double trouble)
{
	cJSON *list = cJSON_AddArrayToObject(root, "source");

	for (unsigned i = 1; i <= SOURCES; i++) {
		cJSON *source = add_object(list);
		bool silent = i == 3;
		double sent = (silent ? second - trouble : second) * EVENTS;

		add(source, "id", i);
		add(source, "segments_received", sent);
		add(source, "segments_placed", sent);
		add(source, "segments_placed_bytes", sent * EVENT_SIZE / SOURCES);
		add(source, "segment_drop_late", i == 5 ? trouble * 300 : 0);
		add(source, "segment_drop_duplicate", 0);
		// Number 9 is behind, number 10 a little.
		add(source, "blocks_whole", sent - (i == 9 ? 40 : i == 10 ? 5 : 0));
		add(source, "blocks_malformed", 0);
		add(source, "blocks_missing", silent ? trouble * EVENTS : 0);
	}
}

static void add_others(cJSON *root, double second)
{
	cJSON *port = add_object(cJSON_AddArrayToObject(root, "port"));
	cJSON *writer = add_object(cJSON_AddArrayToObject(root, "writer"));
	cJSON *generator = add_object(cJSON_AddArrayToObject(root, "generator"));
	cJSON *pfc = add_object(cJSON_AddArrayToObject(root, "pfc"));

	text(port, "name", "wire");
	text(port, "profile", "af_packet");
	text(port, "device", "eth1");
	add(port, "rx_packets", second * EVENTS * SOURCES);
	add(port, "rx_bytes", second * EVENTS * EVENT_SIZE);
	add(port, "tx_packets", second);
	add(port, "tx_bytes", second * 64);
	add(port, "rx_missed", 0);
	add(port, "rx_no_buffer", 0);
	add(port, "rx_errors", 0);
	add(port, "pool_mbufs", 8192);
	add(port, "pool_free", 6144);
	add(port, "link_up", 1);
	text(writer, "name", "files");
	add(writer, "events", second * EVENTS);
	add(writer, "bytes", second * EVENTS * EVENT_SIZE);
	add(writer, "files", second);
	add(writer, "pauses", 0);
	add(writer, "failures", 0);
	add(writer, "refused", 0);
	text(generator, "name", "boards");
	add(generator, "events", second * EVENTS);
	add(generator, "bytes", second * EVENTS * EVENT_SIZE);
	add(generator, "packets", second * EVENTS * SOURCES);
	add(generator, "no_buffer", 0);
	add(generator, "finished", 0);
	text(pfc, "name", "wire");
	text(pfc, "mode", "soft");
	add(pfc, "xoff_sent", second * 15);
	add(pfc, "xoff_received", second * 2);
}

// A node of a system that is its event manager.
static void add_system(cJSON *root, double second, double trouble)
{
	cJSON *own = add_object(cJSON_AddArrayToObject(root, "control"));
	cJSON *sched = add_object(cJSON_AddArrayToObject(root, "sched"));
	cJSON *credits = cJSON_AddArrayToObject(root, "credits");
	cJSON *steps = cJSON_AddArrayToObject(root, "step");
	cJSON *readout = add_object(cJSON_AddArrayToObject(root, "readout"));
	cJSON *roce = add_object(cJSON_AddArrayToObject(root, "roce"));

	text(own, "name", "a");
	add(own, "self", 1);
	text(own, "manager", "a");
	add(own, "manager_epoch", 7);
	add(own, "office_seconds", second);
	add(own, "votes", 3);
	text(own, "standby", trouble > 0 ? "" : "b");
	text(sched, "node", "a");
	text(sched, "state", "running");
	add(sched, "events_outstanding", 40);
	add(sched, "events_waiting", trouble > 0 ? 900 : 3);
	add(sched, "grants", second * EVENTS);
	text(sched, "scarce", trouble > 0 ? "b.b0" : "none");
	for (unsigned i = 0; i < 2; i++) {
		cJSON *builder = add_object(credits);

		text(builder, "name", i == 0 ? "a.b0" : "b.b0");
		add(builder, "slots", 64);
		add(builder, "free", i == 1 && trouble > 0 ? 0 : 44);
		add(builder, "granted", 20);
		add(builder, "in_flight_bytes", 300e3);
		add(builder, "rate_permille", i == 0 ? 1000 : 62);
		add(builder, "rate_bytes", i == 0 ? 1.25e9 : 0); // 0: no rate is known
		add(builder, "paused_permille", i == 1 && trouble > 0 ? 250 : 0);
		add(builder, "grants", second * EVENTS / 2);
		add(builder, "oldest_ns", 1.2e6);
		add(builder, "registered", 1);
		add(builder, "excluded", 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		cJSON *step = add_object(steps);

		text(step, "name", i == 0 ? "grant" : "first_segment");
		text(step, "since", i == 0 ? "announcement" : "grant");
		add(step, "latency_max_ns", 1.5e6);
		add_histogram(step, "latency_ns", second * EVENTS);
	}
	text(readout, "name", "boards");
	add(readout, "events", second * EVENTS);
	add(readout, "payload_bytes", second * EVENTS * 3000.0);
	add(readout, "held_pause", 0);
	add(readout, "held_pace", second * 10);
	add(readout, "full", 0);
	add(readout, "throttled", 0);
	add(readout, "ring_size_bytes", 1 << 28);
	add(readout, "ring_used_bytes", 1 << 26);
	add(readout, "ring_highest_bytes", 3 << 26);
	add(readout, "unreachable", 0);
	text(roce, "name", "wire");
	add(roce, "queue_pairs", 12);
	add(roce, "packets", second * 1e5);
	add(roce, "bytes", second * 4e8);
	add(roce, "messages", second * EVENTS);
	add(roce, "acks_sent", second * EVENTS);
	add(roce, "rnr_sent", trouble * 7);
	add(roce, "cnps_sent", 0);
	add(roce, "icrc_errors", 0);
}

cJSON *fixture_snapshot(unsigned second, bool system)
{
	double trouble = troubled(second);
	cJSON *root = cJSON_CreateObject();

	add_summary(root, second, trouble);
	add_lcores(root, second);
	add_diagnosis(root, trouble);
	add_links(root, second, trouble);
	add_builders(root, second, trouble);
	add_sources(root, second, trouble);
	add_others(root, second);
	if (system)
		add_system(root, second, trouble);
	return root;
}

void fixture_sample(struct model_node *node, unsigned second)
{
	struct reading *reading =
	    reading_make(fixture_snapshot(second, node->name[0] == 's'), 1e12 + second * 1e3, 1);

	assert_non_null(reading);
	model_sample(node, reading);
	reading_unref(reading);
}

struct model_node *fixture_node(struct model *model, const char *name, unsigned first,
				unsigned last)
{
	struct model_node *node = model_node(model, name);

	assert_non_null(node);
	for (unsigned second = first; second <= last; second++)
		fixture_sample(node, second);
	strcpy(model->clock, "12:34:56");
	return node;
}

static size_t encode(uint32_t code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	// What is drawn lies below U+10000, above U+07FF.
	to[0] = (char)(0xe0 | code >> 12);
	to[1] = (char)(0x80 | (code >> 6 & 0x3f));
	to[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

char *fixture_text(const struct grid *grid)
{
	char *out = malloc((size_t)grid->rows * (grid->columns * 3 + 1) + 1);
	size_t n = 0;

	assert_non_null(out);
	for (unsigned row = 0; row < grid->rows; row++) {
		size_t end = n;

		for (unsigned column = 0; column < grid->columns; column++) {
			uint32_t code = grid->cells[row * grid->columns + column].code;

			n += encode(code, out + n);
			if (code != ' ')
				end = n;
		}
		n = end;
		out[n++] = '\n';
	}
	out[n] = '\0';
	return out;
}

char *fixture_draw(const struct view *view, const struct model *model, unsigned rows,
		   unsigned columns, bool ascii)
{
	struct grid grid;
	char *out;

	assert_true(grid_make(&grid, rows, columns, ascii));
	view_draw(&grid, view, model);
	out = fixture_text(&grid);
	grid_free(&grid);
	return out;
}
