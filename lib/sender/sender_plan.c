// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sender/sender_plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "wire/net.h"

#define DATA_PORT       19522u
#define MTU             1500u
#define MTU_LEAST       576u // RFC 791
#define MTU_MOST        9216u
#define MEMORY          (UINT64_C(64) << 20)
#define MAX_BLOCK       (1u << 20)
#define BLOCKS          65536u
#define SOURCE_BUFFER   16384u
#define SLEEP_NS        100000u
#define DEADLINE_NS     UINT64_C(1000000000)
#define RING            "blocks"
#define LARGEST_PACKING UINT16_MAX

#define FAIL(error, ...) error_line(error, SENDER_ERROR_SIZE, __VA_ARGS__)

// --- a node of a system ---

static int check_node(const struct config *config, char *error)
{
	const struct cluster_system *system = &config->cluster;
	const char *name = config->name;

	if (system->n_nodes == 0)
		return FAIL(error, "%s describes no system of nodes", config->path);
	if (system->nodes[system->self].manager)
		return FAIL(error, "%s is the event manager's node: evb run is needed there", name);
	if (config->n_builders > 0)
		return FAIL(error, "%s has builders: evb run is needed there", name);
	if (config->n_generators != 1 || config->generators[0].kind != GENERATOR_PRODUCER)
		return FAIL(error, "%s needs exactly one generator, of kind producer", name);
	if (config->transport.kind != CONFIG_TRANSPORT_UDP)
		return FAIL(error, "transport.kind must be udp: libevb-sender has UDP sockets");
	return 0;
}

static struct ring_store_parameters ring_of(const struct config *config)
{
	const struct config_generator *generator = &config->generators[0];
	const struct source_set_parameters set = config_source_set(config, generator);

	return (struct ring_store_parameters){
		.ring = {
			.appliance = config->name,
			.name = generator->name,
			.memory = EVRING_SHM,
			.mode = 0600,
			.size = generator->producer.size,
			.blocks = generator->producer.blocks,
			.max_block = generator->producer.max_block,
			.sources = set.ids,
			.n_sources = set.n_ids,
		},
		.packing = set.packing,
		.first_event = generator->first_event,
		.mfps = config->sources.payload == PAYLOAD_MFP,
		.deadline_cycles = config->events.deadline_ns,
	};
}

static struct readout_logic_parameters readout_of(const struct config *config)
{
	struct readout_logic_parameters readout =
	    config_readout_logic(config, &config->generators[0]);

	readout.pace.n_sources = readout.pace.node_sources;
	readout.pace.sleep_ns = SLEEP_NS;
	return readout;
}

static void list_builders(struct sender_plan *plan)
{
	const struct cluster_system *system = &plan->config->cluster;

	for (unsigned i = 0; i < system->n_builders; i++) {
		const struct cluster_system_builder *builder = &system->builders[i];

		plan->receivers[i] = (struct sender_receiver){
			.address = system->nodes[builder->node].address,
			.udp_port = (uint16_t)(plan->config->transport.udp_port + builder->index),
		};
	}
}

static int read_keys(struct sender_plan *plan, char *error)
{
	const char *file = plan->config->event_manager.key_file;
	char why[CONTROL_KEYS_ERROR];

	if (file[0] == '\0' || control_keys_read(&plan->keys, file, why) == 0)
		return 0;
	return FAIL(error, "event_manager.key_file: %s", why);
}

static int plan_node(struct sender_plan *plan, const struct evb_sender_options *options,
		     char *error)
{
	const struct config_event_manager *manager;
	const struct cluster_system_node *self;
	const struct config *config;

	if (config_load(&plan->config, options->configuration, options->node, NULL, 0, error) != 0)
		return -1;
	config = plan->config;
	manager = &config->event_manager;
	self = &config->cluster.nodes[config->cluster.self];
	if (check_node(config, error) != 0 || read_keys(plan, error) != 0)
		return -1;
	list_builders(plan);
	plan->ring = ring_of(config);
	plan->sockets = (struct sender_sockets_parameters){
		.system = &config->cluster,
		.n_receivers = config->cluster.n_builders,
		.address = self->address,
		.control_port = manager->control_port,
		.control_dscp = manager->control_dscp,
		.data_dscp = manager->data_dscp,
	};
	plan->core = (struct sender_core_parameters){
		.readout = readout_of(config),
		.load_balancer = config->generators[0].load_balancer_header,
		.tagged = self->tagged,
		.mtu = self->mtu < MTU_MOST ? self->mtu : MTU_MOST,
		.is_node = true,
		.cluster = config_cluster_parameters(config),
		.keys = &plan->keys,
		.heartbeat_ns = manager->heartbeat_ns,
		.heartbeat_timeout_ns = manager->heartbeat_timeout_ns,
	};
	return 0;
}

// --- to receivers ---

static int parse_address(const char *text, uint32_t *address, char *error)
{
	struct in_addr parsed;

	if (inet_pton(AF_INET, text, &parsed) != 1)
		return FAIL(error, "\"%.40s\" is no IPv4 address", text);
	*address = ntohl(parsed.s_addr);
	return 0;
}

static int parse_receiver(const char *text, struct sender_receiver *receiver, char *error)
{
	const char *colon = strchr(text, ':');
	const int length = (int)(colon != NULL ? (size_t)(colon - text) : strlen(text));
	char address[INET_ADDRSTRLEN], *end = NULL;
	unsigned long port = colon != NULL ? strtoul(colon + 1, &end, 10) : DATA_PORT;

	if (port == 0 || port > UINT16_MAX || (end != NULL && *end != '\0') ||
	    length >= (int)sizeof(address))
		return FAIL(error, "receiver \"%.40s\": ADDRESS or ADDRESS:PORT is needed", text);
	snprintf(address, sizeof(address), "%.*s", length, text);
	receiver->udp_port = (uint16_t)port;
	return parse_address(address, &receiver->address, error);
}

static int compare_ids(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

static int take_sources(struct sender_plan *plan, const struct evb_sender_options *options,
			char *error)
{
	const unsigned n = options->n_sources;

	if (n == 0 || n > EVB_MAX_SOURCES || options->sources == NULL)
		return FAIL(error, "1 to %u sources are needed", EVB_MAX_SOURCES);
	plan->ids = calloc(n, sizeof(*plan->ids));
	if (plan->ids == NULL)
		return FAIL(error, "out of memory");
	memcpy(plan->ids, options->sources, n * sizeof(*plan->ids));
	qsort(plan->ids, n, sizeof(*plan->ids), compare_ids);
	for (unsigned i = 1; i < n; i++)
		if (plan->ids[i] == plan->ids[i - 1])
			return FAIL(error, "source id %u is given twice", plan->ids[i]);
	return 0;
}

static int check_sizes(const struct evb_sender_options *options, char *error)
{
	const uint32_t max_block = options->max_block > 0 ? options->max_block : MAX_BLOCK;

	if (options->n_receivers == 0 || options->n_receivers > EVB_MAX_SYSTEM_BUILDERS ||
	    options->receivers == NULL)
		return FAIL(error, "a configuration, or 1 to %u receivers, is needed",
			    EVB_MAX_SYSTEM_BUILDERS);
	if (options->mtu != 0 && (options->mtu < MTU_LEAST || options->mtu > MTU_MOST))
		return FAIL(error, "mtu is %u: %u to %u are possible", options->mtu, MTU_LEAST,
			    MTU_MOST);
	if (options->packing > LARGEST_PACKING || (options->opaque && options->packing > 1))
		return FAIL(error, "packing is %u: 1 to %u are possible, 1 with opaque",
			    options->packing, LARGEST_PACKING);
	if (options->memory != 0 && options->memory < 2 * (uint64_t)max_block)
		return FAIL(error, "memory must be at least twice max_block");
	return 0;
}

static int plan_receivers(struct sender_plan *plan, const struct evb_sender_options *options,
			  char *error)
{
	const char *name = options->name != NULL ? options->name : "sender";
	const unsigned n = options->n_receivers;
	const bool mfps = !options->opaque;

	if (check_sizes(options, error) != 0 || take_sources(plan, options, error) != 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (parse_receiver(options->receivers[i], &plan->receivers[i], error) != 0)
			return -1;
	if (options->address != NULL &&
	    parse_address(options->address, &plan->sockets.address, error) != 0)
		return -1;
	snprintf(plan->name, sizeof(plan->name), "%s", name);
	plan->ring = (struct ring_store_parameters){
		.ring = {
			.appliance = plan->name,
			.name = RING,
			.memory = EVRING_SHM,
			.mode = 0600,
			.size = options->memory > 0 ? options->memory : MEMORY,
			.blocks = BLOCKS,
			.max_block = options->max_block > 0 ? options->max_block : MAX_BLOCK,
			.sources = plan->ids,
			.n_sources = options->n_sources,
		},
		.packing = options->packing > 0 ? options->packing : 1,
		.mfps = mfps,
		.deadline_cycles = DEADLINE_NS,
	};
	plan->sockets.n_receivers = n;
	plan->core = (struct sender_core_parameters){
		.readout = {
			.n_builders = n,
			.n_nodes = 1,
			.is_static = true,
			.source_buffer = SOURCE_BUFFER,
			.pace = { .n_sources = 1, .node_sources = 1, .system_sources = 1 },
		},
		.mtu = options->mtu > 0 ? options->mtu : MTU,
		.rate = (options->rate + 7) / 8,
	};
	return 0;
}

int sender_plan_make(struct sender_plan *plan, const struct evb_sender_options *options,
		     char *error)
{
	const char *directory = options->directory;

	memset(plan, 0, sizeof(*plan));
	if (options->configuration != NULL && options->n_receivers > 0)
		return (void)FAIL(error, "either a configuration or receivers, not both"), -EINVAL;
	if ((options->configuration != NULL ? plan_node(plan, options, error)
					    : plan_receivers(plan, options, error)) != 0)
		return -EINVAL;
	if (directory == NULL && plan->config != NULL &&
	    plan->config->event_ring.directory[0] != '\0')
		directory = plan->config->event_ring.directory;
	if (directory != NULL) {
		snprintf(plan->directory, sizeof(plan->directory), "%s", directory);
		plan->ring.ring.directory = plan->directory;
	}
	plan->sockets.receivers = plan->receivers;
	plan->sockets.n_sources = plan->ring.ring.n_sources;
	plan->core.first_event = plan->ring.first_event;
	plan->core.mfps = plan->ring.mfps;
	return 0;
}

void sender_plan_free(struct sender_plan *plan)
{
	config_free(plan->config);
	control_keys_wipe(&plan->keys);
	free(plan->ids);
}
