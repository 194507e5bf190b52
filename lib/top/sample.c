// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/sample.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/mfp.h"

static const char *const summary_keys[SUMMARY_N] = {
	[SUMMARY_UPTIME] = "uptime_seconds",
	[SUMMARY_RUN] = "run_number",
	[SUMMARY_COMPLETE] = "events_complete",
	[SUMMARY_INCOMPLETE] = "events_incomplete",
	[SUMMARY_DISCARDED] = "events_discarded",
	[SUMMARY_OPEN] = "events_open",
	[SUMMARY_BUILT_BYTES] = "bytes_built",
	[SUMMARY_LOSSES] = "loss_total",
	[SUMMARY_MISSED] = "packets_missed",
	[SUMMARY_PACKETS] = "packets_received",
	[SUMMARY_PACKET_BYTES] = "packets_received_bytes",
	[SUMMARY_SLOTS_FREE] = "slots_free",
	[SUMMARY_SENT_EVENTS] = "sent_events",
	[SUMMARY_SENT_BYTES] = "sent_bytes",
	[SUMMARY_SENT_PACKETS] = "sent_packets",
	[SUMMARY_LATENCY_MAX] = "latency_complete_max_ns",
};

static const struct group {
	const char *member; // of the snapshot
	const char *name;   // key of an item's name
	const char *fields[SAMPLE_MOST_FIELDS];
} groups[SAMPLE_N_GROUPS] = {
	[SAMPLE_LCORES] = { "lcore",
			    "cpu",
			    { "cpu", "busy_cycles", "idle_cycles", "backpressured_cycles", "sleeps",
			      "running" } },
	[SAMPLE_LINKS] = { "link",
			   "id",
			   { "depth", "used", "highest", "enqueued", "full", "dropped",
			     "lossless" } },
	[SAMPLE_BUILDERS] = { "builder",
			      "name",
			      { "slots", "slots_free", "events_open", "events_held",
				"events_complete", "events_incomplete", "events_discarded",
				"bytes_built" } },
	[SAMPLE_CONSUMERS] = { NULL,
			       "name",
			       { "members", "lag", "delivered", "released", "regained" } },
	[SAMPLE_SOURCES] = { "source",
			     "id",
			     { "segments_placed", "segments_placed_bytes", "blocks_whole",
			       "blocks_malformed", "blocks_missing" } },
	[SAMPLE_PORTS] = { "port",
			   "name",
			   { "rx_packets", "rx_bytes", "tx_packets", "tx_bytes", "rx_missed",
			     "rx_no_buffer", "rx_errors", "pool_mbufs", "pool_free", "link_up" } },
	[SAMPLE_GENERATORS] = { "generator",
				"name",
				{ "events", "bytes", "packets", "no_buffer", "finished" } },
	[SAMPLE_WRITERS] = { "writer",
			     "name",
			     { "events", "bytes", "files", "pauses", "failures", "refused" } },
	[SAMPLE_SCHEDULER] = { NULL, NULL, { NULL } },
	[SAMPLE_CREDITS] = { "credits",
			     "name",
			     { "slots", "free", "granted", "in_flight_bytes", "rate_permille",
			       "paused_permille", "grants", "oldest_ns", "registered",
			       "excluded" } },
	[SAMPLE_READOUTS] = { "readout",
			      "name",
			      { "events", "payload_bytes", "held_pause", "held_pace", "full",
				"throttled", "unreachable" } },
	[SAMPLE_ROCE] = { "roce",
			  "name",
			  { "queue_pairs", "packets", "bytes", "messages", "acks_sent", "rnr_sent",
			    "cnps_sent", "icrc_errors" } },
};

static double number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static const char *text(const cJSON *object, const char *key)
{
	const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return value != NULL ? value : "";
}

// Makes room for one more item.
static struct sample_item *add(struct sample_list *list)
{
	struct sample_item *items;

	// Rooms are powers of two.
	if ((list->n & (list->n - 1)) == 0) {
		items = realloc(list->items, (list->n > 0 ? 2 * list->n : 1) * sizeof(*items));
		if (items == NULL)
			return NULL;
		list->items = items;
	}
	items = &list->items[list->n++];
	*items = (struct sample_item){ .drops = NAN };
	for (unsigned i = 0; i < SAMPLE_MOST_FIELDS; i++)
		items->values[i] = (double)NAN;
	return items;
}

static void take_fields(struct sample_item *item, const cJSON *object, enum sample_group group)
{
	for (unsigned i = 0; i < SAMPLE_MOST_FIELDS && groups[group].fields[i] != NULL; i++)
		item->values[i] = number(object, groups[group].fields[i]);
}

// Sums the drops of all causes, and names the largest. NAN if the object tells of none.
static double take_drops(char cause[SAMPLE_CAUSE_SIZE], const cJSON *object)
{
	double most = 0, sum = (double)NAN;
	const cJSON *key;

	cause[0] = '\0';
	cJSON_ArrayForEach(key, object)
	{
		const char *name = NULL;

		if (key->string == NULL || !cJSON_IsNumber(key))
			continue;
		if (strncmp(key->string, "segment_drop_", 13) == 0)
			name = key->string + 13;
		else if (strncmp(key->string, "packet_drop_", 12) == 0)
			name = key->string + 12;
		if (name == NULL)
			continue;
		sum = (isnan(sum) ? 0 : sum) + key->valuedouble;
		if (key->valuedouble <= most)
			continue;
		most = key->valuedouble;
		snprintf(cause, SAMPLE_CAUSE_SIZE, "%s", name);
	}
	return sum;
}

static void join_roles(char note[SAMPLE_NOTE_SIZE], const cJSON *roles)
{
	const cJSON *role;
	size_t used = 0;

	cJSON_ArrayForEach(role, roles)
	{
		if (!cJSON_IsString(role) || used >= SAMPLE_NOTE_SIZE)
			continue;
		used += (size_t)snprintf(note + used, SAMPLE_NOTE_SIZE - used, "%s%s",
					 used > 0 ? " " : "", role->valuestring);
	}
}

// Counters of pause frames have a group of their own.
static void take_pause(struct sample_item *item, const cJSON *flow_controls)
{
	const cJSON *port;

	cJSON_ArrayForEach(port, flow_controls)
	{
		if (strcmp(text(port, "name"), item->name) != 0)
			continue;
		item->values[PORT_PAUSED] = number(port, "xoff_received");
		item->values[PORT_PAUSING] = number(port, "xoff_sent");
	}
}

static void name_item(struct sample_item *item, const cJSON *object, enum sample_group group)
{
	const char *name = text(object, groups[group].name), *device = text(object, "device");
	double id = number(object, groups[group].name);

	switch (group) {
	case SAMPLE_LCORES:
		snprintf(item->name, sizeof(item->name), "%.0f", id);
		join_roles(item->note, cJSON_GetObjectItemCaseSensitive(object, "roles"));
		break;
	case SAMPLE_LINKS:
		snprintf(item->name, sizeof(item->name), "%.37s > %.37s", text(object, "producer"),
			 text(object, "consumer"));
		snprintf(item->note, sizeof(item->note), "%s", text(object, "consumer"));
		break;
	case SAMPLE_SOURCES:
		snprintf(item->name, sizeof(item->name), "0x%04x",
			 id >= 0 && id <= UINT16_MAX ? (unsigned)id : 0);
		snprintf(item->note, sizeof(item->note), "%s",
			 mfp_subdetector_name(id >= 0 && id <= UINT16_MAX ? (uint16_t)id : 0));
		break;
	case SAMPLE_PORTS:
		snprintf(item->name, sizeof(item->name), "%s", name);
		if (strcmp(device, "none") == 0)
			device = "";
		snprintf(item->note, sizeof(item->note), "%.60s%s%.60s", text(object, "profile"),
			 device[0] != '\0' ? " " : "", device);
		break;
	default:
		snprintf(item->name, sizeof(item->name), "%s", name);
		break;
	}
}

// "group_0", "group_1", ... of a builder.
static bool take_consumers(struct sample_list *list, const cJSON *builder)
{
	const cJSON *group;

	cJSON_ArrayForEach(group, builder)
	{
		struct sample_item *item;

		if (group->string == NULL || strncmp(group->string, "group_", 6) != 0 ||
		    !cJSON_IsObject(group))
			continue;
		item = add(list);
		if (item == NULL)
			return false;
		snprintf(item->name, sizeof(item->name), "%.31s/%.40s", text(builder, "name"),
			 text(group, "name"));
		take_fields(item, group, SAMPLE_CONSUMERS);
	}
	return true;
}

static bool take_group(struct sample *sample, const cJSON *snapshot, enum sample_group group)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(snapshot, groups[group].member);
	const cJSON *object;

	cJSON_ArrayForEach(object, list)
	{
		struct sample_item *item;

		if (!cJSON_IsObject(object))
			continue;
		item = add(&sample->groups[group]);
		if (item == NULL)
			return false;
		name_item(item, object, group);
		take_fields(item, object, group);
		item->drops = take_drops(item->cause, object);
		if (group == SAMPLE_PORTS)
			take_pause(item, cJSON_GetObjectItemCaseSensitive(snapshot, "pfc"));
		if (group == SAMPLE_BUILDERS &&
		    !take_consumers(&sample->groups[SAMPLE_CONSUMERS], object))
			return false;
	}
	return true;
}

// All numbers of an object and of those in it, by their path.
static bool take_numbers(struct sample_list *list, const cJSON *object, const char *path,
			 unsigned depth)
{
	const cJSON *value;

	cJSON_ArrayForEach(value, object)
	{
		char name[SAMPLE_NAME_SIZE];
		struct sample_item *item;
		const char *own = value->string;

		// Things of a list go by their name.
		if (own == NULL)
			own = text(value, "name");
		snprintf(name, sizeof(name), "%.38s%s%.38s", path, path[0] != '\0' ? "/" : "", own);
		if (cJSON_IsNumber(value)) {
			item = add(list);
			if (item == NULL)
				return false;
			memcpy(item->name, name, sizeof(name));
			item->values[SCHEDULER_VALUE] = value->valuedouble;
		} else if (value->child != NULL && depth > 0) {
			if (!take_numbers(list, value, name, depth - 1))
				return false;
		}
	}
	return true;
}

// The first event manager: there is one.
static void take_manager(struct sample *sample, const cJSON *snapshot)
{
	const cJSON *manager = cJSON_GetObjectItemCaseSensitive(snapshot, "sched");

	if (cJSON_IsArray(manager))
		manager = manager->child;
	snprintf(sample->manager, sizeof(sample->manager), "%s", text(manager, "state"));
	snprintf(sample->scarce, sizeof(sample->scarce), "%s", text(manager, "scarce"));
}

bool sample_take(struct sample *sample, const cJSON *snapshot, double time_ms)
{
	const cJSON *summary = cJSON_GetObjectItemCaseSensitive(snapshot, "summary");
	const cJSON *info = cJSON_GetObjectItemCaseSensitive(snapshot, "info");
	bool result = true;

	*sample = (struct sample){ .time_ms = time_ms };
	snprintf(sample->state, sizeof(sample->state), "%s", text(info, "state"));
	for (unsigned i = 0; i < SUMMARY_N; i++)
		sample->summary[i] = number(summary, summary_keys[i]);
	(void)take_drops(sample->cause, summary); // the sum is the appliance's
	latency_counts_take(&sample->latency, snapshot, "latency_complete_ns");
	take_manager(sample, snapshot);
	for (unsigned group = 0; group < SAMPLE_N_GROUPS && result; group++)
		if (groups[group].member != NULL)
			result = take_group(sample, snapshot, (enum sample_group)group);
	return result && take_numbers(&sample->groups[SAMPLE_SCHEDULER],
				      cJSON_GetObjectItemCaseSensitive(snapshot, "sched"), "", 3);
}

void sample_free(struct sample *sample)
{
	for (unsigned group = 0; group < SAMPLE_N_GROUPS; group++)
		free(sample->groups[group].items);
	*sample = (struct sample){ 0 };
}

const struct sample_item *sample_find(const struct sample_list *list, const char *name,
				      unsigned near)
{
	if (near < list->n && strcmp(list->items[near].name, name) == 0)
		return &list->items[near];
	for (unsigned i = 0; i < list->n; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	return NULL;
}
