// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The account as JSON.
#include "appliance/account.h"

#include <stddef.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "appliance/diagnosis_watch.h"
#include "appliance/run_control.h"
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
	cJSON *object = run_status_append(list, cJSON_CreateObject());

	summary->failed |= object == NULL;
	return object;
}

struct count {
	const char *object, *name;
	size_t offset; // of an uint64_t in struct account
};

// clang-format off
#define COUNT(object, name, field) { #object, #name, offsetof(struct account, field) }
#define EVENT(name)   COUNT(events, name, built.events_##name)
#define PACKET(name)  COUNT(packets, name, rx.name)
#define BLOCK(name)   COUNT(blocks, name, built.blocks_##name)
#define SENT(name)    COUNT(sent, name, sent.name)
#define WRITTEN(name) COUNT(written, name, written.name)

#define ORDERED(name) COUNT(results, name, ordered.name)

// The counts of the account, by the object that has them.
static const struct count counts[] = {
	EVENT(opened), EVENT(complete), EVENT(incomplete), EVENT(discarded), EVENT(flushed),
	EVENT(overtaken), EVENT(withdrawn), EVENT(repeated),
	COUNT(events, ends_of_run, built.ends_of_run), COUNT(events, open, events_open),
	COUNT(packets, received, rx.packets), PACKET(bytes), PACKET(arp), PACKET(icmp_echo),
	PACKET(control), PACKET(pause), PACKET(roce), PACKET(other),
	COUNT(packets, missed, missed), PACKET(checksums_unfinished),
	COUNT(segments, received, segments_received), COUNT(segments, local, segments_local),
	COUNT(segments, bundled, rx.bundled),
	COUNT(segments, placed, built.placed), COUNT(segments, placed_bytes, built.placed_bytes),
	BLOCK(whole), BLOCK(malformed), BLOCK(missing),
	COUNT(sent, events, sent_events), SENT(packets), SENT(bytes), SENT(lost),
	SENT(duplicated), SENT(corrupted), SENT(reordered),
	COUNT(sent, unacknowledged, unacknowledged), COUNT(sent, unsent, unsent),
	COUNT(results, records, results.records), COUNT(results, lost, results.lost),
	COUNT(results, sent, results_sent.passed_on), COUNT(results, sent_lost, results_sent.lost),
	ORDERED(accepted), ORDERED(rejected), ORDERED(undecided), ORDERED(timed_out),
	ORDERED(skipped), ORDERED(late), ORDERED(repeated),
	WRITTEN(events), WRITTEN(bytes), WRITTEN(files), WRITTEN(refused), WRITTEN(failures),
};
// clang-format on

// Adds an object with its counts, and returns it.
static cJSON *add_counts(struct summary *summary, cJSON *root, const char *name)
{
	cJSON *object = add_object(summary, root, name);

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (strcmp(counts[i].object, name) == 0)
			add_count(summary, object, counts[i].name,
				  *(const uint64_t *)((const char *)&summary->account +
						      counts[i].offset));
	return object;
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

static void add_decisions(struct summary *summary, cJSON *root)
{
	cJSON *list = add_list(summary, root, "decisions");
	static struct account_decisions decisions; // large; the control thread's

	for (unsigned i = 0; account_take_decisions(summary->appliance, i, &decisions); i++) {
		cJSON *member = add_member(summary, list);
		cJSON *line_counts;

		summary->failed |=
		    cJSON_AddStringToObject(member, "group", decisions.group->name) == NULL;
		add_count(summary, member, "published", decisions.published);
		add_count(summary, member, "accepted", decisions.accepted);
		add_count(summary, member, "rejected", decisions.rejected);
		add_count(summary, member, "undecided", decisions.undecided);
		add_count(summary, member, "held", decisions.held);
		line_counts = add_list(summary, member, "lines");
		for (unsigned line = 0; line < EVRING_N_LINES; line++)
			cJSON_AddItemToArray(line_counts,
					     cJSON_CreateNumber((double)decisions.lines[line]));
		add_latency(summary, member, "time_ns", &decisions.time);
	}
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
			dropped += source.built.drops[cause];
		add_count(summary, member, "id", source.id);
		add_count(summary, member, "segments", source.segments);
		add_count(summary, member, "placed", source.built.placed);
		add_count(summary, member, "dropped", dropped);
		add_count(summary, member, "mfps", source.built.blocks);
		add_count(summary, member, "malformed", source.built.malformed);
		add_count(summary, member, "missing", source.built.missing);
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
	for (unsigned i = 0; i < lcore->n_roles; i++)
		summary->failed |=
		    run_status_append(roles, cJSON_CreateString(lcore->roles[i]->name)) == NULL;
	add_number(summary, member, "busy", busy / all);
	add_number(summary, member, "idle", idle / all);
	add_number(summary, member, "backpressured", backpressured / all);
}

static void add_diagnosis(struct summary *summary, cJSON *root)
{
	const struct diagnosis *diagnosis = appliance_final_diagnosis(summary->appliance);
	cJSON *list = add_list(summary, root, "diagnosis");

	for (unsigned i = 0; i < diagnosis->n; i++)
		summary->failed |= !run_status_add_finding(list, &diagnosis->findings[i]);
}

static void add_all(struct summary *summary, cJSON *root)
{
	const struct appliance *appliance = summary->appliance;
	const struct config *config = appliance->config;
	const struct account *account = &summary->account;
	cJSON *dropped, *lcores;

	summary->failed |= cJSON_AddStringToObject(root, "name", config->name) == NULL;
	add_count(summary, root, "run_number", appliance->run);
	add_number(summary, root, "seconds", account->seconds);
	add_counts(summary, root, "events");
	add_count(summary, root, "bytes_built", account->built.bytes_built);
	dropped = add_object(summary, add_counts(summary, root, "packets"), "dropped");
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		add_count(summary, dropped, packet_cause_name(i), account->rx.packet_drops[i]);
	dropped = add_object(summary, add_counts(summary, root, "segments"), "dropped");
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		add_count(summary, dropped, segment_cause_name(i), account->segment_drops[i]);
	add_counts(summary, root, "blocks");
	add_decisions(summary, root);
	add_latency(summary, root, "latency_ns", &account->latency.complete);
	add_latency(summary, root, "latency_released_ns", &account->latency.released);
	add_sources(summary, root);
	lcores = add_list(summary, root, "lcores");
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++)
		add_lcore(summary, lcores, &appliance->lcores[i]);
	add_counts(summary, root, "sent");
	add_counts(summary, root, "written");
	add_counts(summary, root, "results");
	add_diagnosis(summary, root);
	summary->failed |=
	    cJSON_AddBoolToObject(root, "losses", account_has_losses(account)) == NULL;
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
