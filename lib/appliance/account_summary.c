// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The account as JSON.
#include "appliance/account.h"

#include <cjson/cJSON.h>

#include "packet/causes.h"

struct summary {
	const struct appliance *appliance;
	struct account account;
	bool failed; // memory ran out
};

// cJSON stores numbers as doubles, which are exact up to 2^53.
static void add_number(struct summary *summary, cJSON *to, const char *name, double value)
{
	summary->failed |= cJSON_AddNumberToObject(to, name, value) == NULL;
}

static void add_count(struct summary *summary, cJSON *to, const char *name, uint64_t value)
{
	add_number(summary, to, name, (double)value);
}

static cJSON *add_object(struct summary *summary, cJSON *to, const char *name)
{
	cJSON *object = cJSON_AddObjectToObject(to, name);

	summary->failed |= object == NULL;
	return object;
}

static cJSON *add_list(struct summary *summary, cJSON *to, const char *name)
{
	cJSON *list = cJSON_AddArrayToObject(to, name);

	summary->failed |= list == NULL;
	return list;
}

// Appends an object to a list and returns it.
static cJSON *add_member(struct summary *summary, cJSON *list)
{
	cJSON *object = cJSON_CreateObject();

	if (!cJSON_AddItemToArray(list, object)) {
		cJSON_Delete(object);
		object = NULL;
	}
	summary->failed |= object == NULL;
	return object;
}

static void add_events(struct summary *summary, cJSON *root)
{
	const struct account *account = &summary->account;
	cJSON *events = add_object(summary, root, "events");

	add_count(summary, events, "opened", account->events.opened);
	add_count(summary, events, "complete", account->events.complete);
	add_count(summary, events, "incomplete", account->events.incomplete);
	add_count(summary, events, "discarded", account->events.discarded);
	add_count(summary, events, "flushed", account->events.flushed);
	add_count(summary, events, "overtaken", account->events.overtaken);
	add_count(summary, events, "withdrawn", account->events.withdrawn);
	add_count(summary, events, "repeated", account->events.repeated);
	add_count(summary, events, "ends_of_run", account->events.ends_of_run);
	add_count(summary, events, "open", account->events.open);
	add_count(summary, root, "bytes_built", account->bytes_built);
}

static void add_packets(struct summary *summary, cJSON *root)
{
	const struct account *account = &summary->account;
	cJSON *packets = add_object(summary, root, "packets"), *dropped;

	add_count(summary, packets, "received", account->packets.received);
	add_count(summary, packets, "bytes", account->packets.bytes);
	add_count(summary, packets, "arp", account->packets.arp);
	add_count(summary, packets, "icmp_echo", account->packets.icmp_echo);
	add_count(summary, packets, "control", account->packets.control);
	add_count(summary, packets, "pause", account->packets.pause);
	add_count(summary, packets, "roce", account->packets.roce);
	add_count(summary, packets, "other", account->packets.other);
	add_count(summary, packets, "missed", account->packets.missed);
	dropped = add_object(summary, packets, "dropped");
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		add_count(summary, dropped, packet_cause_name(i), account->packets.drops[i]);
}

static void add_segments(struct summary *summary, cJSON *root)
{
	const struct account *account = &summary->account;
	cJSON *segments = add_object(summary, root, "segments"), *dropped, *blocks;

	add_count(summary, segments, "received", account->segments.received);
	add_count(summary, segments, "local", account->segments.local);
	add_count(summary, segments, "placed", account->segments.placed);
	add_count(summary, segments, "placed_bytes", account->segments.placed_bytes);
	dropped = add_object(summary, segments, "dropped");
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		add_count(summary, dropped, segment_cause_name(i), account->segments.drops[i]);
	blocks = add_object(summary, root, "blocks");
	add_count(summary, blocks, "whole", account->blocks.whole);
	add_count(summary, blocks, "malformed", account->blocks.malformed);
	add_count(summary, blocks, "missing", account->blocks.missing);
}

static void add_latency(struct summary *summary, cJSON *root, const char *name,
			const struct histogram *histogram)
{
	cJSON *latency = add_object(summary, root, name);

	add_count(summary, latency, "p50", histogram_quantile(histogram, 0.5));
	add_count(summary, latency, "p99", histogram_quantile(histogram, 0.99));
	add_count(summary, latency, "p999", histogram_quantile(histogram, 0.999));
	add_count(summary, latency, "max", histogram->maximum);
}

static void add_sources(struct summary *summary, cJSON *root)
{
	const struct source_table *table = &summary->appliance->sources;
	cJSON *sources = add_object(summary, root, "sources"), *list;

	add_count(summary, sources, "expected", table->n_expected);
	list = add_list(summary, sources, "list");
	for (unsigned i = 0; i < table->n_expected; i++) {
		cJSON *member = add_member(summary, list);
		struct account_source source;
		uint64_t dropped = 0;

		account_take_source(summary->appliance, i, &source);
		for (unsigned cause = 0; cause < SEGMENT_N_CAUSES; cause++)
			dropped += source.drops[cause];
		add_count(summary, member, "id", source.id);
		add_count(summary, member, "segments", source.segments);
		add_count(summary, member, "placed", source.placed);
		add_count(summary, member, "dropped", dropped);
		add_count(summary, member, "mfps", source.blocks);
		add_count(summary, member, "malformed", source.malformed);
		add_count(summary, member, "missing", source.missing);
	}
}

// Adds the shares of idle, busy and backpressured time.
static void add_lcore(struct summary *summary, cJSON *list, const struct lcore *lcore)
{
	cJSON *member = add_member(summary, list), *roles;
	double idle = (double)counter_read(&lcore->counters.idle_cycles);
	double busy = (double)counter_read(&lcore->counters.busy_cycles);
	double backpressured = (double)counter_read(&lcore->counters.backpressured_cycles);
	double all = idle + busy + backpressured;

	if (all == 0)
		all = 1; // the lcore never ran: all shares are 0
	add_count(summary, member, "cpu", lcore->cpu);
	roles = add_list(summary, member, "roles");
	for (unsigned i = 0; i < lcore->n_roles; i++) {
		cJSON *name = cJSON_CreateString(lcore->roles[i]->name);

		if (!cJSON_AddItemToArray(roles, name)) {
			cJSON_Delete(name);
			summary->failed = true;
		}
	}
	add_number(summary, member, "busy", busy / all);
	add_number(summary, member, "idle", idle / all);
	add_number(summary, member, "backpressured", backpressured / all);
}

static void add_files(struct summary *summary, cJSON *root)
{
	const struct account *account = &summary->account;
	cJSON *sent = add_object(summary, root, "sent"), *written;

	add_count(summary, sent, "events", account->sent.events);
	add_count(summary, sent, "packets", account->sent.packets);
	add_count(summary, sent, "bytes", account->sent.bytes);
	add_count(summary, sent, "lost", account->sent.lost);
	add_count(summary, sent, "duplicated", account->sent.duplicated);
	add_count(summary, sent, "corrupted", account->sent.corrupted);
	add_count(summary, sent, "reordered", account->sent.reordered);
	add_count(summary, sent, "unacknowledged", account->sent.unacknowledged);
	written = add_object(summary, root, "written");
	add_count(summary, written, "events", account->written.events);
	add_count(summary, written, "bytes", account->written.bytes);
	add_count(summary, written, "files", account->written.files);
	add_count(summary, written, "refused", account->written.refused);
	add_count(summary, written, "failures", account->written.failures);
}

static void add_all(struct summary *summary, cJSON *root)
{
	const struct appliance *appliance = summary->appliance;
	const struct config *config = appliance->config;
	cJSON *lcores;

	summary->failed |= cJSON_AddStringToObject(root, "name", config->name) == NULL;
	add_count(summary, root, "run_number", config->run_number);
	add_number(summary, root, "seconds", summary->account.seconds);
	add_events(summary, root);
	add_packets(summary, root);
	add_segments(summary, root);
	add_latency(summary, root, "latency_ns", &summary->account.complete);
	add_latency(summary, root, "latency_released_ns", &summary->account.released);
	add_sources(summary, root);
	lcores = add_list(summary, root, "lcores");
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++)
		add_lcore(summary, lcores, &appliance->lcores[i]);
	add_files(summary, root);
	summary->failed |=
	    cJSON_AddBoolToObject(root, "losses", account_has_losses(&summary->account)) == NULL;
}

char *account_summary(const struct appliance *appliance)
{
	struct summary summary = { .appliance = appliance };
	cJSON *root = cJSON_CreateObject();
	char *text = NULL;

	account_take(appliance, &summary.account);
	add_all(&summary, root);
	if (!summary.failed)
		text = cJSON_Print(root);
	cJSON_Delete(root);
	return text;
}
