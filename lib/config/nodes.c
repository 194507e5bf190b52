// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads the nodes of a file that describes a system. One struct config has the keys that the file
// contains for all nodes. For each node it is copied, the node's own keys replace those of the
// file, and the result is checked like any other appliance's configuration.
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

struct system {
	const cJSON *nodes;
	struct config *common; // keys that the file contains for all nodes; also has the cluster,
			       // to which the nodes are added one after the other
	struct config *node;   // configuration of the node that is being read
	struct config_owners *owners;
	void *names; // tree of the nodes in cluster.nodes, by name (tsearch())
};

static int compare_names(const void *a, const void *b)
{
	const struct cluster_system_node *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static int check_head(struct config_reader *reader, struct system *system,
		      const struct cluster_system_node *node)
{
	const struct cluster_system_node **found = tsearch(node, &system->names, compare_names);

	if (found == NULL)
		return config_fail(reader, "out of memory");
	if (*found == node)
		return 0;
	config_path_key(reader, "name");
	return config_fail(reader, "\"%s\" is the name of nodes[%td] already", node->name,
			   *found - system->common->cluster.nodes);
}

// Reads name and manager of each node.
static int read_heads(struct config_reader *reader, struct system *system)
{
	struct cluster_system *cluster = &system->common->cluster;
	const cJSON *json;

	if (!cJSON_IsArray(system->nodes))
		return config_fail_type(reader, "a list of objects", system->nodes);
	cJSON_ArrayForEach(json, system->nodes)
	{
		unsigned index = cluster->n_nodes;
		if (index == EVB_MAX_NODES)
			return config_fail(reader, "more than %u elements", EVB_MAX_NODES);
		size_t length = config_path_index(reader, index);
		if (config_read_object(reader, &config_node_object, json, &cluster->nodes[index]) ||
		    check_head(reader, system, &cluster->nodes[index]))
			return -1;
		config_path_leave(reader, length);
		if (cluster->nodes[index].manager) {
			if (cluster->n_managers++ == 0)
				cluster->manager = index;
		}
		cluster->n_nodes++;
	}
	if (cluster->n_nodes == 0)
		return config_fail(reader, "at least one element is needed");
	if (cluster->n_managers == 0)
		return config_fail(reader, "none of them is the manager");
	return 0;
}

// Clears the value that the file contains for a key.
static void clear(const struct config_key *key, void *base)
{
	size_t n_elements = key->count ? key->maximum : 1;

	memset((char *)base + key->offset, 0, n_elements * key->width);
	if (key->count)
		memset((char *)base + key->count, 0, sizeof(unsigned));
}

// Reads the keys that a node has for the file's port; all others remain as they are.
static int read_own_port(struct config_reader *reader, const cJSON *json, struct config *config)
{
	const cJSON *items[CONFIG_KEYS_MAXIMUM];

	if (config->n_ports != 1)
		return config_fail(reader, "needs one port in `ports` of the file, there are %u",
				   config->n_ports);
	if (cJSON_GetObjectItemCaseSensitive(reader->node, "ports") != NULL)
		return config_fail(reader, "the node has ports of its own: state it there");
	if (!cJSON_IsObject(json))
		return config_fail_type(reader, "an object", json);
	if (config_match_keys(reader, &config_port_object, json, items))
		return -1;
	for (unsigned i = 0; i < config_port_object.n_keys; i++) {
		const struct config_key *key = &config_port_object.keys[i];
		if (!items[i])
			continue;
		size_t length = config_path_key(reader, key->name);
		clear(key, &config->ports[0]);
		if (config_read_key(reader, key, items[i], &config->ports[0]))
			return -1;
		config_path_leave(reader, length);
	}
	return 0;
}

static int read_own_keys(struct config_reader *reader, const cJSON *json, struct config *config)
{
	const cJSON *items[CONFIG_KEYS_MAXIMUM];

	if (config_match_keys(reader, &config_node_object, json, items))
		return -1;
	for (unsigned i = 0; i < config_node_object.n_keys; i++) {
		const struct config_key *key = &config_node_object.keys[i];
		if (!(key->as_root || key->is_partial) || !items[i])
			continue;
		size_t length = config_path_key(reader, key->name);
		if (key->is_partial) {
			if (read_own_port(reader, items[i], config))
				return -1;
		} else {
			clear(key, config);
			if (config_read_key(reader, key, items[i], config))
				return -1;
		}
		config_path_leave(reader, length);
	}
	if (config->n_ports > 0)
		return 0;
	config_path_key(reader, "ports");
	return config_fail(reader, "required, but missing");
}

// The appliance of a node is called SYSTEM-NODE.
static int make_name(struct config_reader *reader, struct config *config, const char *node)
{
	char name[2 * EVB_NAME_SIZE];

	snprintf(name, sizeof(name), "%s-%s", config->name, node);
	if (strlen(name) >= sizeof(config->name)) {
		config_path_key(reader, "name");
		return config_fail(reader,
				   "\"%s\", behind the name of the system, has %zu characters, at "
				   "most %zu are allowed",
				   name, strlen(name), sizeof(config->name) - 1);
	}
	strcpy(config->name, name);
	return 0;
}

static int read_node(struct config_reader *reader, struct system *system, const cJSON *json,
		     unsigned index)
{
	struct config *node = system->node;

	memcpy(node, system->common, sizeof(*node));
	node->cluster.self = index;
	reader->node = json;
	reader->node_index = index;
	reader->node_name = node->cluster.nodes[index].name;
	size_t length = config_path_index(reader, index);
	if (make_name(reader, node, node->cluster.nodes[index].name) ||
	    read_own_keys(reader, json, node) || config_add_results(reader, node) ||
	    config_check(reader, node) ||
	    config_cluster_add(reader, node, &system->common->cluster, system->owners))
		return -1;
	if (reader->visitor != NULL &&
	    reader->visitor->visit(reader->visitor->context, node, reader->error))
		return -1;
	config_path_leave(reader, length);
	reader->node = NULL;
	return 0;
}

static int fail_choice(struct config_reader *reader, const struct cluster_system *cluster,
		       const char *name)
{
	char names[160] = "";

	for (unsigned i = 0; i < cluster->n_nodes; i++) {
		size_t used = strlen(names);
		bool fits =
		    used + strlen(cluster->nodes[i].name) + sizeof(", , ...") <= sizeof(names);
		snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
			 fits ? cluster->nodes[i].name : "...");
		if (!fits)
			break;
	}
	if (name)
		return config_fail(reader, "none is called %s, there are %s", quote(name).text,
				   names);
	return config_fail(reader, "choose one with --node: %s", names);
}

// Returns the number of the node called `name`, or n_nodes if there is no such node.
static unsigned choose(const struct cluster_system *cluster, const char *name)
{
	unsigned index = 0;

	if (!name)
		return cluster->n_nodes == 1 ? 0 : cluster->n_nodes;
	if (strcmp(name, CONFIG_MANAGER_NODE) == 0)
		return cluster->manager;
	while (index < cluster->n_nodes && strcmp(cluster->nodes[index].name, name) != 0)
		index++;
	return index;
}

static int read_all(struct config_reader *reader, struct system *system, const char *name,
		    struct config *config)
{
	struct cluster_system *cluster = &system->common->cluster;

	if (read_heads(reader, system) || config_check_event_manager(reader, system->common) ||
	    config_find_results(reader, system->nodes, system->common, system->node))
		return -1;
	unsigned chosen = choose(cluster, name), index = 0;
	const cJSON *json;
	cJSON_ArrayForEach(json, system->nodes)
	{
		if (read_node(reader, system, json, index))
			return -1;
		if (index++ == chosen)
			memcpy(config, system->node, sizeof(*config));
	}
	if (config_check_cluster(reader, &system->node->sources, system->common, system->owners) ||
	    config_resolve_fabric(reader, &config->fabric, cluster))
		return -1;
	// A missing or wrong name of a node is reported only after all nodes have been checked.
	if (chosen == cluster->n_nodes)
		return fail_choice(reader, cluster, name);
	config->cluster = *cluster;
	config->cluster.self = chosen;
	return 0;
}

// Allocates the arrays of *cluster, which all copies of the configuration share: config_free()
// frees them. Builders and sources are counted later. A source is counted once for each generator
// that shares it; such a generator has one source.
static bool make_room(struct cluster_system *cluster, const cJSON *nodes)
{
	size_t n_nodes = (size_t)cJSON_GetArraySize(nodes) + 1;

	if (n_nodes > EVB_MAX_NODES)
		n_nodes = EVB_MAX_NODES;
	cluster->nodes = calloc(n_nodes, sizeof(*cluster->nodes));
	cluster->builders = calloc(EVB_MAX_SYSTEM_BUILDERS, sizeof(*cluster->builders));
	cluster->source_ids =
	    calloc(EVB_MAX_SOURCES + EVB_MAX_GENERATORS * n_nodes, sizeof(*cluster->source_ids));
	return cluster->nodes && cluster->builders && cluster->source_ids;
}

static void give_back_room(struct cluster_system *cluster)
{
	struct cluster_system_builder *builders =
	    realloc(cluster->builders, (cluster->n_builders + 1) * sizeof(*builders));
	uint16_t *source_ids =
	    realloc(cluster->source_ids, (cluster->n_sources + 1) * sizeof(*source_ids));

	if (builders)
		cluster->builders = builders;
	if (source_ids)
		cluster->source_ids = source_ids;
}

// The trees have pointers into cluster.nodes.
static void keep(void *node)
{
	(void)node;
}

int config_read_nodes(struct config_reader *reader, const cJSON *nodes, const char *name,
		      struct config *config)
{
	struct system system = {
		.nodes = nodes,
		.common = malloc(sizeof(*config)),
		.node = malloc(sizeof(*config)),
		.owners = calloc(1, sizeof(*system.owners)),
	};
	size_t length = config_path_key(reader, "nodes");
	int result = -1;

	if (system.common && system.node && system.owners && make_room(&config->cluster, nodes)) {
		memcpy(system.common, config, sizeof(*config));
		result = read_all(reader, &system, name, config);
	} else {
		config_fail(reader, "out of memory");
	}
	if (result == 0)
		give_back_room(&config->cluster);
	tdestroy(system.names, keep);
	tdestroy(system.owners != NULL ? system.owners->addresses : NULL, keep);
	free(system.common);
	free(system.node);
	free(system.owners);
	if (result == 0)
		config_path_leave(reader, length);
	return result;
}
