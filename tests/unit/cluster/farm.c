// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "farm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP       (200 * US) // shortest time between two polls of all
#define QUEUE_SIZE (256u << 10)
#define PATIENCE   (5 * SECOND)

bool farm_is_static(const struct farm *farm)
{
	return farm->configs[0]->event_manager.sched.mode == SCHED_STATIC;
}

bool farm_chance(struct farm *farm, double probability)
{
	return probability > 0 && random_uniform(&farm->random) < probability;
}

uint64_t farm_below(struct farm *farm, uint64_t n)
{
	return random_next(&farm->random) % n;
}

void farm_broken(struct farm *farm, const char *format, ...)
{
	va_list arguments;

	if (farm->broken[0] != '\0')
		return;
	va_start(arguments, format);
	vsnprintf(farm->broken, sizeof(farm->broken), format, arguments);
	va_end(arguments);
}

// --- configurations, of which there are few ---

#define TEXTS 1024u

struct text_cache {
	char text[8192];
	unsigned n_nodes;
	struct config *configs[FARM_NODES];
};

static struct text_cache cache[TEXTS];
static unsigned n_cached;

static void free_cache(void)
{
	for (unsigned i = 0; i < n_cached; i++)
		for (unsigned j = 0; j < cache[i].n_nodes; j++)
			config_free(cache[i].configs[j]);
}

static unsigned count_nodes(const struct farm_options *options)
{
	return options->n_folded > 0 ? options->n_folded
				     : 1 + options->n_readouts + options->n_builders;
}

static char *put_node(char *to, const struct farm_options *options, unsigned index, bool reads,
		      bool builds, unsigned *n_sources)
{
	const bool manages = index == 0 || index + options->n_managers > count_nodes(options);
	unsigned local = options->local > 0 ? options->local : 1;

	to += sprintf(to,
		      "%s{\"name\": \"n%u\", \"manager\": %s, \"ports\": [{\"name\": \"w\", "
		      "\"profile\": \"ring\", \"address\": \"10.0.0.%u/24\"}]",
		      index > 0 ? ", " : "", index, manages ? "true" : "false", index + 1);
	for (unsigned i = 0; reads && i < local; i++)
		to += sprintf(to, "%s{\"name\": \"g%u\", \"port\": \"w\", \"ids\": [%u]}%s",
			      i == 0 ? ", \"generators\": [" : ", ", i, ++*n_sources,
			      i + 1 == local ? "]" : "");
	for (unsigned i = 0; builds && i < local; i++)
		to += sprintf(to, "%s{\"name\": \"b%u\", \"slots\": %u, \"group\": \"auto\"}%s",
			      i == 0 ? ", \"builders\": [" : ", ", i, 8 + 4 * (index % 3),
			      i + 1 == local ? "]" : "");
	return to + sprintf(to, "}");
}

static void write_text(char *to, const struct farm_options *options)
{
	unsigned n_sources = 0;

	to +=
	    sprintf(to,
		    "{\"name\": \"farm\", \"events\": {\"deadline\": \"1s\", \"on_incomplete\": "
		    "\"%s\"}, \"event_manager\": {\"mode\": \"%s\", \"on_source_silent\": \"%s\", "
		    "\"in_doubt_timeout\": \"%s\", \"phase_barrier\": %u, "
		    "\"source_buffer\": %u, \"parallel_sends\": 2, \"queue\": 64}, \"nodes\": [",
		    options->on_incomplete != NULL ? options->on_incomplete : "flag",
		    options->mode != NULL ? options->mode : "push",
		    options->on_source_silent != NULL ? options->on_source_silent : "continue",
		    options->in_doubt != NULL ? options->in_doubt : "5s", options->phase_barrier,
		    options->source_buffer > 0 ? options->source_buffer : 64);
	for (unsigned i = 0; i < count_nodes(options); i++) {
		bool folded = options->n_folded > 0;

		to = put_node(to, options, i, folded || (i > 0 && i <= options->n_readouts),
			      folded || i > options->n_readouts, &n_sources);
	}
	sprintf(to, "], \"sources\": {\"ids\": [\"1-%u\"]}}", n_sources);
}

static struct config *const *configs_of(const struct farm_options *options)
{
	char text[sizeof(cache[0].text)], error[CONFIG_ERROR_SIZE];
	struct text_cache *entry = &cache[n_cached];

	write_text(text, options);
	for (unsigned i = 0; i < n_cached; i++)
		if (strcmp(cache[i].text, text) == 0)
			return cache[i].configs;
	assert_true(n_cached < TEXTS);
	if (n_cached++ == 0)
		assert_int_equal(atexit(free_cache), 0);
	strcpy(entry->text, text);
	entry->n_nodes = count_nodes(options);
	for (unsigned i = 0; i < entry->n_nodes; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		if (config_parse(&entry->configs[i], text, strlen(text), "farm.json", name, NULL, 0,
				 error) != 0)
			fail_msg("%s", error);
	}
	return entry->configs;
}

// --- processes ---

static uint64_t n_counted(const struct farm_node *node)
{
	struct cluster_manager_view view;

	cluster_manager_view(node->manager, &view);
	return view.complete + view.incomplete;
}

// An old process does not know that builders can be permitted to publish.
static void manager_hears(struct farm_node *node, unsigned peer, const struct ctrl_record *record)
{
	uint8_t bytes[CTRL_REGISTER_SIZE];
	struct ctrl_register received;
	struct ctrl_record old;
	size_t size;

	if (!node->farm->options.asks || ctrl_get_register(record, &received) != WIRE_OK) {
		cluster_manager_record(node->manager, peer, record, node->farm->now);
		return;
	}
	received.flags &= ~(uint32_t)CTRL_OBEYS_PERMISSION;
	size = ctrl_put_register(bytes, sizeof(bytes), &received);
	if (ctrl_record_at(bytes, size, &old) == WIRE_OK)
		cluster_manager_record(node->manager, peer, &old, node->farm->now);
}

static void on_deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct farm_node *node = context;

	if (node->office != NULL && record->type == CTRL_HEARTBEAT)
		office_received(node->office, peer, record, node->farm->now);
	if (node->manager != NULL) {
		uint64_t before = n_counted(node);

		manager_hears(node, peer, record);
		truth_heard(node->farm, peer, record, n_counted(node) - before);
	}
	truth_asked(node, record);
	cluster_node_record(node->node, peer, record, node->farm->now);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct farm_node *node = context;

	if (event == CONTROL_EPOCH && node->office != NULL)
		farm_fenced(node);
	if (node->manager != NULL) {
		node->farm->n_lost += event == CONTROL_LOST;
		cluster_manager_event(node->manager, peer, event, node->farm->now);
	}
	cluster_node_event(node->node, peer, event);
}

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	return sim_builder_message(context, builder, message);
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	return sim_readout_message(context, readout, message);
}

// What a record that is for several events grants to a node, or orders it to publish.
static void note_list(struct farm *farm, unsigned to, const struct ctrl_record *record)
{
	const struct cluster_system *cluster = &farm->configs[0]->cluster;
	struct ctrl_grants grants;
	struct ctrl_steps steps;

	for (unsigned i = 0; ctrl_get_grants(record, &grants) == WIRE_OK && i < grants.n; i++) {
		const struct ctrl_granted at = ctrl_granted_at(&grants, i);
		const struct cluster_system_builder *builder = &cluster->builders[at.builder];
		const struct ctrl_grant grant = {
			.event = grants.first + (at.offset & (CTRL_NEXT_ROUND - 1u)),
			.node = (uint16_t)builder->node,
			.builder = (uint16_t)builder->index,
			.slot = at.slot,
			.generation = at.generation,
			.attempt = grants.attempt,
			.flags = grants.flags,
		};

		if (builder->node == to)
			truth_granted(farm, &grant);
	}
	for (unsigned i = 0; ctrl_get_steps(record, &steps) == WIRE_OK && i < steps.n; i++)
		if (steps.step == CTRL_STEP_PUBLISH)
			truth_ordered(
			    farm, to, steps.builder,
			    ctrl_event_at(steps.first, ctrl_step_event_at(&steps, i).offset), true);
}

// The transport of the manager: what it grants is recorded on the way.
static void note_record(const struct farm_node *node, unsigned to, const void *record, size_t size)
{
	struct ctrl_record checked;
	struct ctrl_progress progress;
	struct ctrl_grant grant;
	struct ctrl_release release;
	struct ctrl_run_command command;

	if (node->farm->manager != node->number && !cluster_node_ended(node->node, NULL))
		farm_broken(node->farm, "node %u manages, and %u is in office", node->number,
			    node->farm->manager);
	if (ctrl_record_at(record, size, &checked) != WIRE_OK)
		farm_broken(node->farm, "the manager sends what is no record");
	else if (ctrl_get_grant(&checked, &grant) == WIRE_OK && grant.node == to)
		truth_granted(node->farm, &grant);
	else if (ctrl_get_progress(&checked, &progress) == WIRE_OK &&
		 progress.step == CTRL_STEP_PUBLISH)
		truth_ordered(node->farm, to, progress.builder, progress.event, true);
	else if (ctrl_get_release(&checked, &release) == WIRE_OK)
		truth_released(node->farm, release.event);
	else if (ctrl_get_run_command(&checked, &command) == WIRE_OK &&
		 command.command == CTRL_START)
		truth_started(node->farm);
	else
		note_list(node->farm, to, &checked);
}

static void manager_sends(void *context, unsigned to, const void *record, size_t size)
{
	const struct farm_node *node = context;

	note_record(node, to, record, size);
	node->wire.send(node->wire.context, to, record, size);
}

static void manager_sends_all(void *context, const uint16_t *nodes, unsigned n, const void *record,
			      size_t size)
{
	const struct farm_node *node = context;

	for (unsigned i = 0; i < n; i++)
		note_record(node, nodes[i], record, size);
	node->wire.send_all(node->wire.context, nodes, n, record, size);
}

static size_t manager_room(void *context, unsigned to, size_t size)
{
	const struct farm_node *node = context;

	return node->wire.room(node->wire.context, to, size);
}

static void make_endpoint(struct farm_node *node)
{
	struct farm *farm = node->farm;
	const struct config_event_manager *config = &farm->configs[node->number]->event_manager;
	struct control_parameters parameters = control_defaults();
	uint16_t peers[FARM_NODES];
	unsigned n = 0;

	for (unsigned i = 0; i < farm->n_nodes; i++)
		if (i != node->number)
			peers[n++] = (uint16_t)i;
	parameters.handlers =
	    (struct control_handlers){ node,
				       on_deliver,
				       on_event,
				       network_emit,
				       farm->options.multicast ? network_emit_shared : NULL,
				       network_store_will };
	parameters.peers = peers;
	parameters.n_peers = n;
	parameters.node = (uint16_t)node->number;
	parameters.session = node->session != 0 ? node->session : random_next(&farm->random) | 1;
	if (node->number == farm->manager && !farm_elects(farm))
		parameters.epoch = ++farm->epoch;
	parameters.heartbeat_interval = config->heartbeat_ns;
	parameters.heartbeat_timeout = config->heartbeat_timeout_ns;
	parameters.patience = PATIENCE;
	parameters.queue_size =
	    farm->options.queue_size > 0 ? farm->options.queue_size : QUEUE_SIZE;
	if (farm->options.window > 0)
		parameters.window = farm->options.window;
	parameters.now = farm->now;
	node->endpoint = control_create(&parameters, NULL);
	assert_non_null(node->endpoint);
}

static void make_manager(struct farm_node *node)
{
	const struct farm *farm = node->farm;
	const struct config *config = farm->configs[node->number];
	struct office_parameters office = {
		.manager = config_manager_parameters(config),
		.endpoint = node->endpoint,
		.node = node->node,
		.lease_ns = config->event_manager.heartbeat_timeout_ns,
		.heartbeat_ns = config->event_manager.heartbeat_ns,
		.now = farm->now,
	};

	office.manager.transport = (struct cluster_transport){ .context = node,
							       .send = manager_sends,
							       .send_all = manager_sends_all,
							       .room = manager_room };
	office.manager.autostart = !farm->options.by_hand;
	office.manager.now = farm->now;
	office.manager.cluster.prepared_run = farm->options.runs > 0 ? node->prepared_run : 0;
	node->wire = cluster_transport_of(node->endpoint);
	if (farm_elects(farm)) {
		node->office = office_create(&office);
		assert_non_null(node->office);
	} else {
		node->manager = cluster_manager_create(&office.manager);
		assert_non_null(node->manager);
	}
}

void farm_start(struct farm *farm, unsigned number)
{
	struct farm_node *node = &farm->nodes[number];
	const struct config *config = farm->configs[number];
	struct cluster_node_parameters parameters = {
		.cluster = config_cluster_parameters(config),
		.n_readouts = config->n_generators,
		.resumes = farm->options.resumes && config->n_generators > 0,
		.lease_ns = config->event_manager.heartbeat_timeout_ns,
		.now = farm->now,
		.takes_shared = farm->options.multicast && config->n_generators > 0,
		.context = node,
		.to_builder = to_builder,
		.to_readout = to_readout,
	};

	assert_false(node->alive);
	parameters.cluster.prepared_run = farm->options.runs > 0 ? node->prepared_run : 0;
	node->alive = true;
	node->prepared_at = node->leaves_at = 0;
	node->life++;
	node->state = CTRL_CONFIGURED;
	node->leaving = node->connected_self = false;
	node->next_beat = 0;
	make_endpoint(node);
	parameters.transport = cluster_transport_of(node->endpoint);
	node->node = cluster_node_create(&parameters);
	assert_non_null(node->node);
	if (config->cluster.nodes[number].manager)
		make_manager(node);
	for (unsigned i = 0; i < config->n_builders; i++)
		sim_builder_open(node, i);
	for (unsigned i = 0; i < config->n_generators; i++)
		sim_readout_open(node, i);
}

// After which of these may it be unknown what was published?
static void note_end(struct farm *farm, const struct farm_node *node)
{
	bool builds = farm->configs[node->number]->n_builders > 0;
	bool took_leave = node->leaving && cluster_node_left(node->node);

	// What who took leave has published the manager knows.
	farm->may_doubt |=
	    (builds && !took_leave) || (node->manager != NULL && farm->builder_ended);
	farm->builder_ended |= builds;
}

static void note_counters(struct farm *farm, const struct farm_node *node)
{
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		const struct control_counters *c = control_counters(node->endpoint, i);

		if (c == NULL)
			continue;
		farm->n_forgotten += c->given_up;
		farm->n_shared_received += c->shared_received;
		farm->n_shared_repeated += c->shared_repeated;
	}
}

static void destroy(struct farm_node *node)
{
	note_counters(node->farm, node);
	node->alive = false;
	if (node->office != NULL)
		office_destroy(node->office);
	else
		cluster_manager_destroy(node->manager);
	cluster_node_destroy(node->node);
	control_destroy(node->endpoint);
	node->manager = NULL;
	node->office = NULL;
	node->node = NULL;
	node->endpoint = NULL;
}

void farm_kill(struct farm *farm, unsigned number)
{
	struct farm_node *node = &farm->nodes[number];

	node->prepared_run = 1; // as configured
	node->prepared_at = node->session = 0;
	if (!node->alive)
		return;
	note_end(farm, node);
	if (farm_chance(farm, farm->options.wills))
		network_send_wills(node);
	memset(node->wills, 0, sizeof(node->wills));
	destroy(node);
}

// The run of a process is over: it finishes its files, and prepares for another run.
static void leave_run(struct farm_node *node)
{
	struct farm *farm = node->farm;
	uint32_t run = node->manager != NULL ? cluster_manager_renumbered(node->manager) : 0;

	if (run == 0 && cluster_node_ended(node->node, NULL))
		run = cluster_node_next_run(node->node);
	if (run == 0 || run > farm->options.runs)
		return;
	// Its last records are acknowledged meanwhile.
	if (node->leaves_at == 0)
		node->leaves_at = farm->now + 20 * MS + farm_below(farm, 10 * MS);
	if (farm->now < node->leaves_at)
		return;
	node->prepared_run = run;
	node->session = control_following_session(node->endpoint);
	node->prepared_at = farm->now + farm_below(farm, 10 * MS);
	memset(node->kept, 0, sizeof(node->kept));
	destroy(node);
}

void farm_restart(struct farm *farm, unsigned node)
{
	farm_kill(farm, node);
	farm_start(farm, node);
}

// --- the farm ---

void farm_open(struct farm *farm, const struct farm_options *options)
{
	memset(farm, 0, sizeof(*farm));
	farm->options = *options;
	if (farm->options.deadline == 0)
		farm->options.deadline = 3 * SECOND;
	farm->doubts_end = farm->may_doubt = options->in_doubt != NULL;
	// A standby does not wait for a node that is silent when it takes over.
	farm->doubts_end |= options->n_managers > 1;
	farm->random = random_fork(options->seed, 23);
	farm->now = SECOND;
	farm->n_nodes = count_nodes(options);
	farm->configs = configs_of(options);
	farm->manager = farm->configs[0]->cluster.manager;
	farm->n_sources = farm->configs[0]->cluster.n_sources;
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		farm->nodes[i].farm = farm;
		farm->nodes[i].number = i;
		farm->nodes[i].prepared_run = 1;
		farm_start(farm, i);
	}
}

void farm_close(struct farm *farm)
{
	for (unsigned i = 0; i < farm->n_nodes; i++)
		farm_kill(farm, i);
	network_close(farm);
}

static void poll_node(struct farm_node *node)
{
	const struct config *config = node->farm->configs[node->number];

	farm_begin(node);
	if (node->number == node->farm->manager && node->office == NULL && !node->connected_self) {
		node->connected_self = true;
		cluster_node_event(node->node, node->number, CONTROL_CONNECTED);
	}
	for (unsigned i = 0; i < config->n_builders; i++)
		sim_builder_poll(node, i);
	for (unsigned i = 0; i < config->n_generators; i++)
		sim_readout_poll(node, i);
	farm_beat(node);
	cluster_node_poll(node->node, node->farm->now);
	if (node->manager != NULL)
		cluster_manager_poll(node->manager, node->farm->now);
	if (cluster_node_accepts_data(node->node))
		cluster_node_opened(node->node);
	(void)control_poll(node->endpoint, node->farm->now);
	truth_state(node);
	leave_run(node);
}

void farm_run(struct farm *farm, uint64_t duration)
{
	uint64_t end = farm->now + duration;

	while (farm->now < end) {
		uint64_t next = farm->now + MS, arrival = network_next(farm);

		network_bring(farm);
		for (unsigned i = 0; i < farm->n_nodes; i++) {
			if (farm->nodes[i].prepared_at != 0 &&
			    farm->nodes[i].prepared_at <= farm->now)
				farm_start(farm, i);
			if (farm->nodes[i].alive && farm->nodes[i].asleep_until <= farm->now)
				poll_node(&farm->nodes[i]);
		}
		if (arrival < next)
			next = arrival;
		farm->now = next > farm->now + STEP ? next : farm->now + STEP;
	}
}

void farm_sleep(struct farm *farm, unsigned node, uint64_t duration)
{
	farm->nodes[node].asleep_until = farm->now + duration;
}

void farm_cut(struct farm *farm, unsigned node, bool out, bool in)
{
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		farm->cut[node][i] |= out && i != node;
		farm->cut[i][node] |= in && i != node;
	}
}

void farm_heal(struct farm *farm)
{
	memset(farm->cut, 0, sizeof(farm->cut));
}

bool farm_command(struct farm *farm, enum cluster_command command, unsigned node)
{
	struct cluster_manager *manager = farm_manager(farm);
	char error[CLUSTER_ERROR_SIZE];

	return manager != NULL &&
	       cluster_manager_command(manager, command, node, farm->now, error) == 0;
}

struct cluster_manager_view farm_view(const struct farm *farm)
{
	struct cluster_manager_view view = { 0 };

	if (farm_manager(farm) != NULL)
		cluster_manager_view(farm_manager(farm), &view);
	return view;
}

bool farm_await(struct farm *farm, enum ctrl_run_state state, uint64_t limit)
{
	uint64_t end = farm->now + limit;

	while (farm->now < end && farm_view(farm).state != state)
		farm_run(farm, 5 * MS);
	return farm_view(farm).state == state;
}

const struct cluster_system_builder *farm_builder(const struct farm *farm, unsigned builder)
{
	return &farm->configs[0]->cluster.builders[builder];
}

void farm_finish(struct farm *farm)
{
	uint64_t limit = farm->now + 30 * SECOND;

	while (farm->now < limit) {
		enum ctrl_run_state state = farm_view(farm).state;

		if (state == CTRL_DRAINING || state == CTRL_STOPPED ||
		    farm_command(farm, CLUSTER_DRAIN, 0))
			break;
		farm_run(farm, 5 * MS);
	}
	if (!farm_await(farm, CTRL_STOPPED, 200 * SECOND)) {
		struct cluster_manager_view view = farm_view(farm);

		farm_broken(farm,
			    "the run does not stop: state %d, announced %ju, released %ju, "
			    "outstanding %ju, waiting %ju",
			    (int)view.state, (uintmax_t)view.announced, (uintmax_t)view.released,
			    (uintmax_t)view.outstanding, (uintmax_t)view.waiting);
	}
	farm_run(farm, farm->options.deadline + 3 * SECOND);
	truth_end(farm);
}

void farm_expect_whole(const struct farm *farm)
{
	if (farm->broken[0] != '\0')
		fail_msg("seed %ju: %s", (uintmax_t)farm->options.seed, farm->broken);
}
