// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "top/sample.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/latency_window.h"
#include "wire/mfp.h"

#define SEGMENT_DROP "segment_drop_"
#define PACKET_DROP  "packet_drop_"

static const struct {
	const char *part; // of the snapshot; NULL: the group is not a list of it
	const char *name; // key of an item's name
} groups[SAMPLE_N_GROUPS] = {
	[SAMPLE_LCORES] = { "lcore", "cpu" },        [SAMPLE_LINKS] = { "link", "id" },
	[SAMPLE_BUILDERS] = { "builder", "name" },   [SAMPLE_SOURCES] = { "source", "id" },
	[SAMPLE_PORTS] = { "port", "name" },         [SAMPLE_GENERATORS] = { "generator", "name" },
	[SAMPLE_WRITERS] = { "writer", "name" },     [SAMPLE_CREDITS] = { "credits", "name" },
	[SAMPLE_DECISIONS] = { "decision", "name" }, [SAMPLE_READOUTS] = { "readout", "name" },
	[SAMPLE_ROCE] = { "roce", "name" },          [SAMPLE_STEPS] = { "step", "name" },
};

double sample_number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

const char *sample_key(const cJSON *object, const char *key)
{
	const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return value != NULL ? value : "";
}

double sample_metric(const struct sample_item *item, const char *metric)
{
	const cJSON *value = item->object;

	if (metric != NULL && strcmp(metric, SAMPLE_DROPS) == 0)
		return item->drops;
	if (metric != NULL)
		value = cJSON_GetObjectItemCaseSensitive(item->object, metric);
	if (value == NULL)
		value = cJSON_GetObjectItemCaseSensitive(item->more, metric);
	return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

double sample_quantile(const struct sample_item *before, const struct sample_item *now,
		       const char *metric, double share)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_ns", metric);
	return latency_window_of(cJSON_GetObjectItemCaseSensitive(before->object, key),
				 cJSON_GetObjectItemCaseSensitive(now->object, key), share);
}

const char *sample_text(const struct sample *sample, const char *part, const char *key)
{
	const cJSON *object = cJSON_GetObjectItemCaseSensitive(sample->reading->snapshot, part);

	return sample_key(cJSON_IsArray(object) ? object->child : object, key);
}

const cJSON *sample_diagnosis(const struct sample *sample)
{
	const cJSON *findings =
	    cJSON_GetObjectItemCaseSensitive(sample->reading->snapshot, "diagnosis");

	return cJSON_GetArrayItem(findings, 0);
}

// The culprit because of which a role cannot go on; "": none.
static const char *culprit_of(const cJSON *snapshot, const char *role)
{
	const cJSON *finding;

	cJSON_ArrayForEach(finding, cJSON_GetObjectItemCaseSensitive(snapshot, "diagnosis"))
	{
		if (role[0] != '\0' && strcmp(sample_key(finding, "holds_back"), role) == 0)
			return sample_key(finding, "subject");
	}
	return "";
}

const cJSON *sample_own_node(const struct sample *sample)
{
	const cJSON *node;

	cJSON_ArrayForEach(node,
			   cJSON_GetObjectItemCaseSensitive(sample->reading->snapshot, "control"))
	{
		if (sample_number(node, "self") > 0)
			return node;
	}
	return NULL;
}

// Adds an item whose metrics are the members of `object`. NULL: memory ran out.
static struct sample_item *add(struct sample_list *list, const cJSON *object)
{
	struct sample_item *items;

	// The room is a power of two.
	if ((list->n & (list->n - 1)) == 0) {
		items = realloc(list->items, (list->n > 0 ? 2 * list->n : 1) * sizeof(*items));
		if (items == NULL)
			return NULL;
		list->items = items;
	}
	items = &list->items[list->n++];
	*items = (struct sample_item){ .object = object, .drops = (double)NAN };
	return items;
}

// Sums the drops of all causes, and names the most frequent one. NAN: there is no such counter.
static double sum_drops(const cJSON *object, char cause[SAMPLE_CAUSE_SIZE])
{
	double most = 0, sum = (double)NAN;
	const cJSON *key;

	cJSON_ArrayForEach(key, object)
	{
		size_t length = strlen(SEGMENT_DROP);

		if (key->string == NULL || !cJSON_IsNumber(key))
			continue;
		if (strncmp(key->string, SEGMENT_DROP, length) != 0) {
			length = strlen(PACKET_DROP);
			if (strncmp(key->string, PACKET_DROP, length) != 0)
				continue;
		}
		sum = (isnan(sum) ? 0 : sum) + key->valuedouble;
		if (key->valuedouble <= most)
			continue;
		most = key->valuedouble;
		snprintf(cause, SAMPLE_CAUSE_SIZE, "%s", key->string + length);
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
static const cJSON *find_pause_counters(const cJSON *snapshot, const char *name)
{
	const cJSON *port;

	cJSON_ArrayForEach(port, cJSON_GetObjectItemCaseSensitive(snapshot, "pfc"))
	{
		if (strcmp(sample_key(port, "name"), name) == 0)
			return port;
	}
	return NULL;
}

static void describe_port(struct sample_item *item, const cJSON *snapshot)
{
	const char *device = sample_key(item->object, "device");

	if (strcmp(device, "none") == 0)
		device = "";
	snprintf(item->note, sizeof(item->note), "%.60s%s%.60s",
		 sample_key(item->object, "profile"), device[0] != '\0' ? " " : "", device);
	item->more = find_pause_counters(snapshot, item->name);
}

static void describe(struct sample_item *item, enum sample_group group, const cJSON *snapshot)
{
	const cJSON *object = item->object;
	double id = sample_number(object, groups[group].name);
	uint16_t source = id >= 0 && id <= UINT16_MAX ? (uint16_t)id : 0;
	const char *note = "";

	snprintf(item->name, sizeof(item->name), "%s", sample_key(object, groups[group].name));
	item->drops = sum_drops(object, item->cause);
	switch (group) {
	case SAMPLE_LCORES:
		snprintf(item->name, sizeof(item->name), "%.0f", id);
		join_roles(item->note, cJSON_GetObjectItemCaseSensitive(object, "roles"));
		return;
	case SAMPLE_LINKS:
		note = sample_key(object, "consumer");
		snprintf(item->name, sizeof(item->name), "%.37s > %.37s",
			 sample_key(object, "producer"), note);
		snprintf(item->cause, sizeof(item->cause), "%.*s", SAMPLE_CAUSE_SIZE - 1,
			 culprit_of(snapshot, note));
		break;
	case SAMPLE_SOURCES:
		mfp_source_name(source, item->name);
		note = mfp_has_subdetector(source) ? mfp_subdetector_name(source) : "";
		break;
	case SAMPLE_PORTS:
		describe_port(item, snapshot);
		return;
	case SAMPLE_GENERATORS:
		note = sample_number(object, "finished") == 1 ? "finished" : "sending";
		break;
	case SAMPLE_STEPS:
		note = sample_key(object, "since");
		break;
	case SAMPLE_CREDITS:
		note = sample_number(object, "excluded") > 0     ? "excluded"
		       : sample_number(object, "registered") > 0 ? "present"
								 : "missing";
		break;
	default:
		break;
	}
	snprintf(item->note, sizeof(item->note), "%s", note);
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
		item = add(list, group);
		if (item == NULL)
			return false;
		snprintf(item->name, sizeof(item->name), "%.31s/%.40s", sample_key(builder, "name"),
			 sample_key(group, "name"));
	}
	return true;
}

static bool take_group(struct sample *sample, enum sample_group group)
{
	const cJSON *snapshot = sample->reading->snapshot, *object;

	cJSON_ArrayForEach(object, cJSON_GetObjectItemCaseSensitive(snapshot, groups[group].part))
	{
		struct sample_item *item;

		if (!cJSON_IsObject(object))
			continue;
		item = add(&sample->groups[group], object);
		if (item == NULL)
			return false;
		describe(item, group, snapshot);
		if (group == SAMPLE_BUILDERS &&
		    !take_consumers(&sample->groups[SAMPLE_CONSUMERS], object))
			return false;
	}
	return true;
}

// Each number of the event manager is an item.
static bool take_numbers(struct sample_list *list, const cJSON *manager)
{
	const cJSON *value;

	cJSON_ArrayForEach(value, manager)
	{
		struct sample_item *item;

		if (value->string == NULL || !cJSON_IsNumber(value))
			continue;
		item = add(list, value);
		if (item == NULL)
			return false;
		snprintf(item->name, sizeof(item->name), "%s", value->string);
	}
	return true;
}

bool sample_take(struct sample *sample, struct reading *reading)
{
	const cJSON *snapshot = reading->snapshot;

	*sample = (struct sample){ .reading = reading_ref(reading) };
	// The appliance itself reports the sum.
	(void)sum_drops(cJSON_GetObjectItemCaseSensitive(snapshot, "summary"), sample->cause);
	for (unsigned group = 0; group < SAMPLE_N_GROUPS; group++)
		if (groups[group].part != NULL && !take_group(sample, (enum sample_group)group))
			return false;
	return take_numbers(
	    &sample->groups[SAMPLE_SCHEDULER],
	    cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(snapshot, "sched"), 0));
}

void sample_free(struct sample *sample)
{
	for (unsigned group = 0; group < SAMPLE_N_GROUPS; group++)
		free(sample->groups[group].items);
	reading_unref(sample->reading);
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
