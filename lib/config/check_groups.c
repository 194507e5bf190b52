// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The groups of consumers: their names come from event_ring.groups, groups and writers; their rules
// from groups and writers.
#include <string.h>

#include "config/internal.h"

// Adds the group that LIST[INDEX].KEY names to those that exist from the start.
static int retain(struct config_reader *reader, struct config *config, const char *group,
		  const char *list, unsigned index, const char *key)
{
	struct config_event_ring *ring = &config->event_ring;

	for (unsigned i = 0; i < ring->n_groups; i++)
		if (strcmp(ring->groups[i], group) == 0)
			return 0;
	if (ring->n_groups == EVB_MAX_GROUPS)
		return config_fail(config_at_element(reader, list, index, key),
				   "\"%s\" is one group too many, at most %u are possible", group,
				   EVB_MAX_GROUPS);
	strcpy(ring->groups[ring->n_groups++], group);
	return 0;
}

const struct config_group *config_group(const struct config *config, const char *name)
{
	for (unsigned i = 0; i < config->n_groups; i++)
		if (strcmp(config->groups[i].name, name) == 0)
			return &config->groups[i];
	return NULL;
}

static struct config_group *find(struct config *config, const char *name)
{
	const struct config_group *found = config_group(config, name);

	return found != NULL ? &config->groups[found - config->groups] : NULL;
}

// The rules of a group that has been retained, so that there is room for them.
static struct config_group *rules_of(struct config *config, const char *name)
{
	struct config_group *group = find(config, name);

	if (group == NULL) {
		group = &config->groups[config->n_groups++];
		*group = (struct config_group){ 0 };
		strcpy(group->name, name);
	}
	return group;
}

// Checks that LIST[INDEX].KEY, `name`, is a group that decides.
static int check_decides(struct config_reader *reader, struct config *config, const char *name,
			 const char *list, unsigned index, const char *key)
{
	const struct config_group *group = find(config, name);

	if (group != NULL && group->decides)
		return 0;
	for (unsigned i = 0; i < config->event_ring.n_groups; i++)
		if (strcmp(config->event_ring.groups[i], name) == 0)
			return config_fail(config_at_element(reader, list, index, key),
					   "group \"%s\" does not decide: `decides` of its entry "
					   "in groups is not true",
					   name);
	return config_fail(config_at_element(reader, list, index, key), "there is no group \"%s\"",
			   name);
}

static int check_group(struct config_reader *reader, struct config *config, unsigned i)
{
	const struct config_group *group = &config->groups[i];

	if (!group->after[0])
		return 0;
	if (group->decides)
		return config_fail(config_at_element(reader, "groups", i, "after"),
				   "\"%s\" decides itself: a group that decides gets all events",
				   group->name);
	return check_decides(reader, config, group->after, "groups", i, "after");
}

static int check_writer(struct config_reader *reader, struct config *config, unsigned i)
{
	const struct config_writer *writer = &config->writers[i];
	struct config_group *group;

	if (!writer->after[0])
		return 0;
	if (check_decides(reader, config, writer->after, "writers", i, "after"))
		return -1;
	group = rules_of(config, writer->group);
	if (group->decides)
		return config_fail(config_at_element(reader, "writers", i, "after"),
				   "its group \"%s\" decides itself and gets all events",
				   group->name);
	if (group->after[0] && strcmp(group->after, writer->after) != 0)
		return config_fail(config_at_element(reader, "writers", i, "after"),
				   "its group \"%s\" comes after \"%s\" already", group->name,
				   group->after);
	strcpy(group->after, writer->after);
	return 0;
}

static int check_ring(struct config_reader *reader, const struct config *config, unsigned i)
{
	const char *name = config->results[i].ring.name;

	if (name[0] == '\0')
		return config_fail(config_at_element(reader, "results", i, "ring.name"),
				   "is needed with \"to\": \"ring\"");
	if (config->n_builders > 0 && strcmp(name, config->name) == 0)
		return config_fail(config_at_element(reader, "results", i, "ring.name"),
				   "\"%s\" is the name of the builders' event rings", name);
	for (unsigned other = 0; other < i; other++)
		if (config->results[other].to == CONFIG_RESULTS_RING &&
		    strcmp(name, config->results[other].ring.name) == 0)
			return config_fail(config_at_element(reader, "results", i, "ring.name"),
					   "\"%s\" is the ring of results[%u] already", name,
					   other);
	return 0;
}

static int check_destination(struct config_reader *reader, const struct config *config, unsigned i)
{
	if (config->results[i].to == CONFIG_RESULTS_UDP && !config->results[i].has_address)
		return config_fail(config_at_element(reader, "results", i, "address"),
				   "is needed with \"to\": \"udp\"");
	return config->results[i].to == CONFIG_RESULTS_RING ? check_ring(reader, config, i) : 0;
}

// Whether results have their decisions from one place.
static int check_from(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_results *results = &config->results[i];

	if ((results->from[0] != '\0') == (results->group[0] != '\0'))
		return config_fail(config_at_element(reader, "results", i, "group"),
				   "either this key is needed, or `from`");
	if (results->from[0] == '\0')
		return 0;
	if (results->origin_packing > 0)
		return config_fail(config_at_element(reader, "results", i, "origin_packing"),
				   "the decisions of `from` have the event ids of this system");
	if ((results->to == CONFIG_RESULTS_RING &&
	     strcmp(results->from, results->ring.name) == 0) ||
	    (config->n_builders > 0 && strcmp(results->from, config->name) == 0))
		return config_fail(config_at_element(reader, "results", i, "from"),
				   "\"%s\" is a ring of this evb", results->from);
	return 0;
}

// The group of results is its own: a second member would take decisions away from it.
static int check_results(struct config_reader *reader, struct config *config, unsigned i)
{
	const struct config_results *results = &config->results[i];
	struct config_group *group = find(config, results->group);

	if (check_from(reader, config, i))
		return -1;
	if (results->origin_packing > 0 && config->sources.payload != PAYLOAD_OPAQUE)
		return config_fail(config_at_element(reader, "results", i, "origin_packing"),
				   "blocks that are built events need sources.payload opaque");
	if (results->system > 0 && (config->n_builders == 0 || results->from[0] != '\0'))
		return check_destination(reader, config, i); // all decisions are those of others
	if (config_results_are_sent(config, results) && (group == NULL || !group->decides))
		return config_fail(
		    config_at(reader, "groups"),
		    "results %s of node %s need the group \"%s\", with `decides`, on each node "
		    "with builders",
		    results->name,
		    config->cluster.nodes[config->cluster.results[results->system - 1].node].name,
		    results->group);
	if (config->n_builders == 0)
		return config_fail(config_at_element(reader, "results", i, "name"),
				   "without builders there are no decisions");
	for (unsigned g = 0; g < config->event_ring.n_groups; g++)
		if (strcmp(config->event_ring.groups[g], results->name) == 0)
			return config_fail(config_at_element(reader, "results", i, "name"),
					   "\"%s\" is the name of a consumer group already",
					   results->name);
	if (retain(reader, config, results->name, "results", i, "name") ||
	    check_destination(reader, config, i))
		return -1;
	if (results->from[0] != '\0')
		return 0; // its group gets all events, to know which there are
	if (check_decides(reader, config, results->group, "results", i, "group"))
		return -1;
	group = rules_of(config, results->name);
	strcpy(group->after, results->group);
	group->rejected_too = true;
	return 0;
}

static int retain_all(struct config_reader *reader, struct config *config)
{
	for (unsigned i = 0; i < config->n_groups; i++)
		if (retain(reader, config, config->groups[i].name, "groups", i, "name"))
			return -1;
	for (unsigned i = 0; i < config->n_writers; i++) {
		struct config_writer *writer = &config->writers[i];

		if (!writer->group[0])
			strcpy(writer->group, writer->name);
		if (retain(reader, config, writer->group, "writers", i, "group"))
			return -1;
	}
	return 0;
}

static int check_number_of_deciders(struct config_reader *reader, const struct config *config)
{
	unsigned n = 0;

	for (unsigned i = 0; i < config->n_groups; i++) {
		n += config->groups[i].decides;
		if (n > EVB_MAX_DECIDERS)
			return config_fail(config_at_element(reader, "groups", i, "decides"),
					   "at most %u groups may decide", EVB_MAX_DECIDERS);
	}
	return 0;
}

int config_check_groups(struct config_reader *reader, struct config *config)
{
	const unsigned declared = config->n_groups;

	if (retain_all(reader, config) || check_number_of_deciders(reader, config))
		return -1;
	for (unsigned i = 0; i < declared; i++)
		if (check_group(reader, config, i))
			return -1;
	for (unsigned i = 0; i < config->n_writers; i++)
		if (check_writer(reader, config, i))
			return -1;
	for (unsigned i = 0; i < config->n_results; i++)
		if (check_results(reader, config, i))
			return -1;
	return 0;
}
