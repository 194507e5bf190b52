// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results of a system: one node writes the decisions of all nodes with builders.
#include <string.h>

#include "config/internal.h"

#define FNV_PRIME 0x100000001b3ULL

bool config_results_are_sent(const struct config *config, const struct config_results *results)
{
	return results->system > 0 &&
	       config->cluster.results[results->system - 1].node != config->cluster.self;
}

uint32_t config_results_packing(const struct config *config, const struct config_results *results)
{
	return results->origin_packing > 0 ? results->origin_packing : config->sources.packing;
}

static const struct config_key *results_key(void)
{
	unsigned i = 0;

	while (strcmp(config_node_object.keys[i].name, "results") != 0)
		i++;
	return &config_node_object.keys[i];
}

// Nodes that were started with other results of the system refuse each other.
static uint64_t add_to_hash(uint64_t hash, const struct cluster_system_results *results)
{
	const uint64_t numbers[] = { results->node, results->window, results->origin_packing,
				     results->is_from_ring };

	for (const char *c = results->name; *c != '\0'; c++)
		hash = (hash ^ (unsigned char)*c) * FNV_PRIME;
	for (const char *c = results->group; *c != '\0'; c++)
		hash = (hash ^ (unsigned char)*c) * FNV_PRIME;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		hash = (hash ^ numbers[i]) * FNV_PRIME;
	return hash;
}

static int add(struct config_reader *reader, struct cluster_system *cluster, unsigned node,
	       const struct config_results *results, unsigned index)
{
	struct cluster_system_results *to = &cluster->results[cluster->n_results];

	if (cluster->n_results > 0 && cluster->results[0].node != node)
		return config_fail(config_at_element(reader, "results", index, "of"),
				   "node %s has results of the system already: give them to one "
				   "node, or set `of` to \"node\"",
				   cluster->nodes[cluster->results[0].node].name);
	if (cluster->n_results == EVB_MAX_RESULTS)
		return 0; // the node has too many, which is reported when it is read
	*to = (struct cluster_system_results){
		.node = node,
		.window = results->window,
		.origin_packing = results->origin_packing,
		.is_from_ring = results->from[0] != '\0',
	};
	memcpy(to->name, results->name, sizeof(to->name));
	memcpy(to->group, results->group, sizeof(to->group));
	cluster->hash = add_to_hash(cluster->hash, to);
	cluster->n_results++;
	return 0;
}

static int find_in_node(struct config_reader *reader, const cJSON *json, unsigned index,
			struct config *common, struct config *node)
{
	const struct config_key *key = results_key();
	const cJSON *own = cJSON_GetObjectItemCaseSensitive(json, key->name);
	size_t length = config_path_index(reader, index);
	size_t at_key = config_path_key(reader, key->name);

	memcpy(node->results, common->results, sizeof(node->results));
	node->n_results = common->n_results;
	if (own != NULL) {
		memset(node->results, 0, sizeof(node->results));
		node->n_results = 0;
		if (config_read_key(reader, key, own, node))
			return -1;
	}
	config_path_leave(reader, at_key);
	reader->node = json;
	reader->node_index = index;
	reader->node_name = common->cluster.nodes[index].name;
	for (unsigned i = 0; i < node->n_results; i++)
		if (node->results[i].of == CONFIG_RESULTS_OF_SYSTEM &&
		    add(reader, &common->cluster, index, &node->results[i], i))
			return -1;
	reader->node = NULL;
	config_path_leave(reader, length);
	return 0;
}

int config_find_results(struct config_reader *reader, const cJSON *nodes, struct config *common,
			struct config *node)
{
	const cJSON *json;
	unsigned index = 0;

	cJSON_ArrayForEach(json, nodes)
	{
		if (find_in_node(reader, json, index++, common, node))
			return -1;
	}
	return 0;
}

static unsigned index_of(const struct cluster_system *cluster, const char *name)
{
	unsigned i = 0;

	while (i < cluster->n_results && strcmp(cluster->results[i].name, name) != 0)
		i++;
	return i;
}

static int add_sent(struct config_reader *reader, struct config *node, unsigned index)
{
	const struct cluster_system_results *from = &node->cluster.results[index];
	struct config_results *to = &node->results[node->n_results];

	if (node->n_results == EVB_MAX_RESULTS)
		return config_fail(config_at(reader, "results"),
				   "with those of node %s more than %u",
				   node->cluster.nodes[from->node].name, EVB_MAX_RESULTS);
	*to = (struct config_results){
		.of = CONFIG_RESULTS_OF_SYSTEM,
		.window = from->window,
		.origin_packing = from->origin_packing,
		.system = index + 1,
	};
	memcpy(to->name, from->name, sizeof(to->name));
	memcpy(to->group, from->group, sizeof(to->group));
	node->n_results++;
	return 0;
}

int config_add_results(struct config_reader *reader, struct config *node)
{
	const struct cluster_system *cluster = &node->cluster;

	for (unsigned i = 0; i < node->n_results; i++)
		if (node->results[i].of == CONFIG_RESULTS_OF_SYSTEM)
			node->results[i].system = index_of(cluster, node->results[i].name) + 1;
	for (unsigned i = 0; i < cluster->n_results && node->n_builders > 0; i++)
		if (cluster->results[i].node != cluster->self &&
		    !cluster->results[i].is_from_ring && add_sent(reader, node, i))
			return -1;
	return 0;
}
