// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "farm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP        (200 * US) // shortest time between two polls of all
#define OUTBOX_SIZE (256u << 10)
#define PATIENCE    (5 * SECOND)

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

#define TEXTS 128u

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

static char *put_node(char *to, const struct farm_options *options, unsigned index, bool reads,
		      bool builds, unsigned *n_sources)
{
	unsigned local = options->local > 0 ? options->local : 1;

	to += sprintf(to,
		      "%s{\"name\": \"n%u\", \"manager\": %s, \"ports\": [{\"name\": \"w\", "
		      "\"profile\": \"ring\", \"address\": \"10.0.0.%u/24\"}]",
		      index > 0 ? ", " : "", index, index == 0 ? "true" : "false", index + 1);
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

static unsigned count_nodes(const struct farm_options *options)
{
	return options->n_folded > 0 ? options->n_folded
				     : 1 + options->n_readouts + options->n_builders;
}

static void write_text(char *to, const struct farm_options *options)
{
	unsigned n_sources = 0;

	to +=
	    sprintf(to,
		    "{\"name\": \"farm\", \"events\": {\"deadline\": \"1s\", \"on_incomplete\": "
		    "\"%s\"}, \"event_manager\": {\"mode\": \"%s\", \"on_source_silent\": \"%s\", "
		    "\"source_buffer\": %u, \"parallel_sends\": 2, \"queue\": 64}, \"nodes\": [",
		    options->on_incomplete != NULL ? options->on_incomplete : "flag",
		    options->mode != NULL ? options->mode : "push",
		    options->on_source_silent != NULL ? options->on_source_silent : "continue",
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
		if (config_parse_node(&entry->configs[i], text, strlen(text), "farm.json", name,
				      NULL, 0, error) != 0)
			fail_msg("%s", error);
	}
	return entry->configs;
}

// TRACE-BEGIN

#include <stdlib.h>
static void trace(struct farm_node *node, unsigned peer, const struct ctrl_record *r)
{
	static const char *e;
	static long ev;
	static double from;
	if (!e) {
		e = getenv("TRACE");
		ev = e ? atol(e) : -2;
		if (!e)
			e = "";
		from = getenv("FROM") ? atof(getenv("FROM")) : 0;
	}
	if (ev == -2 || (double)node->farm->now * 1e-9 < from)
		return;
	struct ctrl_grant g;
	struct ctrl_request q;
	struct ctrl_done d;
	struct ctrl_progress p;
	struct ctrl_adopt a;
	struct ctrl_announce an;
	struct ctrl_release rl;
	struct ctrl_run_command rc;
	struct ctrl_run_report rr;
	struct ctrl_register rg;
	char t[200] = "";
	bool show = false;
	if (ctrl_get_grant(r, &g) == 0) {
		show = (long)g.event == ev;
		sprintf(t, "event %lu node %u builder %u slot %u gen %u attempt %u", g.event,
			g.node, g.builder, g.slot, g.generation, g.attempt);
	}
	if (ctrl_get_request(r, &q) == 0) {
		g = q.grant;
		show = (long)g.event == ev;
		sprintf(t, "event %lu node %u builder %u slot %u gen %u attempt %u", g.event,
			g.node, g.builder, g.slot, g.generation, g.attempt);
	}
	if (ctrl_get_done(r, &d) == 0) {
		show = (long)d.event == ev;
		sprintf(t, "event %lu slot %u gen %u attempt %u outcome %u", d.event, d.slot,
			d.generation, d.attempt, d.outcome);
	}
	if (ctrl_get_progress(r, &p) == 0) {
		show = (long)p.event == ev;
		sprintf(t, "event %lu slot %u gen %u attempt %u step %u", p.event, p.slot,
			p.generation, p.attempt, p.step);
	}
	if (ctrl_get_adopt(r, &a) == 0) {
		show = true;
		char *x = t + sprintf(t, "builder %u n %u flags %u run %u", a.builder, a.n, a.flags,
				      a.run);
		for (unsigned i = 0; i < a.n; i++) {
			struct ctrl_held h = ctrl_held_at(&a, i);
			if ((long)h.event == ev)
				x += sprintf(x, " event slot %u gen %u attempt %u holding %u",
					     h.slot, h.generation, h.attempt, h.holding);
		}
	}
	if (ctrl_get_announce(r, &an) == 0) {
		show = true;
		sprintf(t, "begin %lu end %lu flags %u run %u", an.begin, an.end, an.flags, an.run);
	}
	if (ctrl_get_release(r, &rl) == 0) {
		show = getenv("REL") != NULL;
		sprintf(t, "%lu", rl.event);
	}
	if (ctrl_get_run_command(r, &rc) == 0) {
		show = true;
		sprintf(t, "%s event %lu", ctrl_command_name(rc.command), rc.event);
	}
	if (ctrl_get_run_report(r, &rr) == 0) {
		show = true;
		sprintf(t, "state %s run %u", ctrl_run_state_name(rr.state), rr.run);
	}
	if (ctrl_get_register(r, &rg) == 0) {
		show = true;
		sprintf(t, "run %u", rg.run);
	}
	if (r->type == CTRL_WELCOME || r->type == CTRL_EXCLUDE || r->type == CTRL_INCLUDE ||
	    r->type == CTRL_BYE || r->type == CTRL_THROTTLE)
		show = true;
	if (show)
		fprintf(stderr, "%.6f %u -> %u %s %s\n", (double)node->farm->now * 1e-9, peer,
			node->number, ctrl_type_name(r->type), t);
}
static void trace_note(struct farm_node *node, const char *what, unsigned index,
		       const struct note *n)
{
	if (getenv("TRACE") && (long)n->event == atol(getenv("TRACE")) &&
	    (n->kind <= 7 || getenv("NOTES")))
		fprintf(stderr, "%.6f node %u %s %u note %u attempt %u flags %u\n",
			(double)node->farm->now * 1e-9, node->number, what, index, n->kind,
			n->attempt, n->flags);
}
// TRACE-END
//  --- processes ---

static void on_deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct farm_node *node = context;

	// TRACE-BEGIN
	trace(node, peer, record);
	// TRACE-END
	if (node->manager != NULL) {
		truth_heard(node->farm, peer, record);
		cluster_manager_record(node->manager, peer, record, node->farm->now);
	}
	truth_asked(node, record);
	cluster_node_record(node->node, peer, record, node->farm->now);
}

static void on_own(void *context, const struct ctrl_record *record)
{
	struct farm_node *node = context;

	on_deliver(node, node->number, record);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct farm_node *node = context;

	// TRACE-BEGIN
	if (getenv("TRACE"))
		fprintf(stderr, "%.6f node %u: %u is %s\n", (double)node->farm->now * 1e-9,
			node->number, peer, control_event_name(event));
	// TRACE-END
	cluster_mail_event(node->mail, peer, event);
	if (node->manager != NULL) {
		node->farm->n_lost += event == CONTROL_LOST;
		cluster_manager_event(node->manager, peer, event, node->farm->now);
	}
	cluster_node_event(node->node, peer, event);
}

static bool to_builder(void *context, unsigned builder, const struct note *note)
{
	// TRACE-BEGIN
	trace_note(context, "builder", builder, note);
	// TRACE-END
	return sim_builder_note(context, builder, note);
}

static bool to_readout(void *context, unsigned readout, const struct note *note)
{
	// TRACE-BEGIN
	trace_note(context, "readout", readout, note);
	// TRACE-END
	return sim_readout_note(context, readout, note);
}

// The manager's post: what it grants is noted on its way.
static void manager_sends(void *context, unsigned to, const void *record, size_t size)
{
	struct farm_node *node = context;
	struct ctrl_record checked;
	struct ctrl_grant grant;
	struct ctrl_release release;

	if (ctrl_record_at(record, size, &checked) != WIRE_OK)
		farm_broken(node->farm, "the manager sends what is no record");
	else if (ctrl_get_grant(&checked, &grant) == WIRE_OK && grant.node == to)
		truth_granted(node->farm, &grant);
	else if (ctrl_get_release(&checked, &release) == WIRE_OK)
		truth_released(node->farm, release.event);
	node->wire.send(node->wire.context, to, record, size);
}

static size_t manager_room(void *context, unsigned to, size_t size)
{
	const struct farm_node *node = context;

	return node->wire.room(node->wire.context, to, size);
}

static void manager_forgets(void *context, unsigned peer)
{
	const struct farm_node *node = context;

	node->wire.forget(node->wire.context, peer);
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
	parameters.handlers = (struct control_handlers){ node, on_deliver, on_event, network_emit };
	parameters.peers = peers;
	parameters.n_peers = n;
	parameters.node = (uint16_t)node->number;
	parameters.session = random_next(&farm->random) | 1;
	parameters.epoch = node->number == farm->manager ? ++farm->epoch : 0;
	parameters.heartbeat_interval = config->heartbeat_ns;
	parameters.heartbeat_timeout = config->heartbeat_timeout_ns;
	parameters.now = farm->now;
	node->endpoint = control_create(&parameters, NULL);
	assert_non_null(node->endpoint);
}

static void make_manager(struct farm_node *node)
{
	const struct cluster_manager_parameters parameters = {
		.config = node->farm->configs[node->number],
		.post = { node, manager_sends, manager_room, manager_forgets },
		.autostart = !node->farm->options.by_hand,
		.now = node->farm->now,
	};
	char error[CLUSTER_ERROR_SIZE];

	node->wire = cluster_mail_post(node->mail);
	node->manager = cluster_manager_create(&parameters, error);
	if (node->manager == NULL)
		fail_msg("%s", error);
}

void farm_start(struct farm *farm, unsigned number)
{
	struct farm_node *node = &farm->nodes[number];
	const struct config *config = farm->configs[number];
	struct cluster_mail_parameters mail = {
		.self = number,
		.n_nodes = farm->n_nodes,
		.outbox_size =
		    farm->options.outbox_size > 0 ? farm->options.outbox_size : OUTBOX_SIZE,
		.patience = PATIENCE,
		.context = node,
		.deliver = on_own,
		.event = on_event,
	};
	struct cluster_node_parameters parameters = {
		.config = config,
		.context = node,
		.to_builder = to_builder,
		.to_readout = to_readout,
	};

	// TRACE-BEGIN
	if (getenv("TRACE"))
		fprintf(stderr, "%.6f start %u\n", (double)farm->now * 1e-9, number);
	// TRACE-END
	assert_false(node->alive);
	node->alive = true;
	node->life++;
	node->state = CTRL_CONFIGURED;
	node->leaving = node->connected_self = false;
	node->next_beat = 0;
	make_endpoint(node);
	mail.endpoint = node->endpoint;
	node->mail = cluster_mail_create(&mail);
	assert_non_null(node->mail);
	parameters.post = cluster_mail_post(node->mail);
	node->node = cluster_node_create(&parameters);
	assert_non_null(node->node);
	if (number == farm->manager)
		make_manager(node);
	for (unsigned i = 0; i < config->n_builders; i++)
		sim_builder_open(node, i);
	for (unsigned i = 0; i < config->n_generators; i++)
		sim_readout_open(node, i);
}

void farm_kill(struct farm *farm, unsigned number)
{
	struct farm_node *node = &farm->nodes[number];

	if (!node->alive)
		return;
	// TRACE-BEGIN
	if (getenv("TRACE"))
		fprintf(stderr, "%.6f kill %u\n", (double)farm->now * 1e-9, number);
	// TRACE-END
	farm->n_forgotten += cluster_mail_forgotten(node->mail);
	node->alive = false;
	cluster_manager_destroy(node->manager);
	cluster_node_destroy(node->node);
	cluster_mail_destroy(node->mail);
	control_destroy(node->endpoint);
	node->manager = NULL;
	node->node = NULL;
	node->mail = NULL;
	node->endpoint = NULL;
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
	farm->random = random_fork(options->seed, 23);
	farm->now = SECOND;
	farm->n_nodes = count_nodes(options);
	farm->configs = configs_of(options);
	farm->manager = farm->configs[0]->cluster.manager;
	farm->n_sources = farm->configs[0]->cluster.n_sources;
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		farm->nodes[i].farm = farm;
		farm->nodes[i].number = i;
		farm_start(farm, i);
	}
}

void farm_close(struct farm *farm)
{
	for (unsigned i = 0; i < farm->n_nodes; i++)
		farm_kill(farm, i);
	network_close(farm);
}

static void beat(struct farm_node *node)
{
	struct farm *farm = node->farm;
	struct ctrl_heartbeat heartbeat = { .time = farm->now };
	uint8_t bytes[CTRL_HEARTBEAT_SIZE(CTRL_MAX_PORTS)];
	struct cluster_node_view view;
	struct ctrl_record record;

	if (farm->now < node->next_beat)
		return;
	node->next_beat = farm->now + 10 * MS;
	cluster_node_view(node->node, &view);
	heartbeat.run = view.run;
	heartbeat.run_state = (uint8_t)view.state;
	heartbeat.slots_free = view.tokens_free;
	assert_true(control_set_heartbeat(node->endpoint, &heartbeat));
	if (node->manager != NULL &&
	    ctrl_record_at(bytes, ctrl_put_heartbeat(bytes, sizeof(bytes), &heartbeat), &record) ==
		WIRE_OK)
		cluster_manager_record(node->manager, node->number, &record, farm->now);
}

static void poll_node(struct farm_node *node)
{
	const struct config *config = node->farm->configs[node->number];

	if (node->number == node->farm->manager && !node->connected_self) {
		node->connected_self = true;
		cluster_node_event(node->node, node->number, CONTROL_CONNECTED);
	}
	for (unsigned i = 0; i < config->n_builders; i++)
		sim_builder_poll(node, i);
	for (unsigned i = 0; i < config->n_generators; i++)
		sim_readout_poll(node, i);
	beat(node);
	(void)cluster_mail_poll(node->mail, node->farm->now);
	cluster_node_poll(node->node, node->farm->now);
	if (node->manager != NULL)
		cluster_manager_poll(node->manager, node->farm->now);
	(void)control_poll(node->endpoint, node->farm->now);
	truth_state(node);
}

void farm_run(struct farm *farm, uint64_t duration)
{
	uint64_t end = farm->now + duration;

	while (farm->now < end) {
		uint64_t next = farm->now + MS, arrival = network_next(farm);

		network_bring(farm);
		for (unsigned i = 0; i < farm->n_nodes; i++)
			if (farm->nodes[i].alive)
				poll_node(&farm->nodes[i]);
		if (arrival < next)
			next = arrival;
		farm->now = next > farm->now + STEP ? next : farm->now + STEP;
	}
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
	struct farm_node *manager = &farm->nodes[farm->manager];
	char error[CLUSTER_ERROR_SIZE];

	return manager->alive &&
	       cluster_manager_command(manager->manager, command, node, farm->now, error) == 0;
}

struct cluster_manager_view farm_view(const struct farm *farm)
{
	struct cluster_manager_view view = { 0 };

	if (farm->nodes[farm->manager].alive)
		cluster_manager_view(farm->nodes[farm->manager].manager, &view);
	return view;
}

bool farm_await(struct farm *farm, enum ctrl_run_state state, uint64_t limit)
{
	uint64_t end = farm->now + limit;

	while (farm->now < end && farm_view(farm).state != state)
		farm_run(farm, 5 * MS);
	return farm_view(farm).state == state;
}

const struct config_cluster_builder *farm_builder(const struct farm *farm, unsigned builder)
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
	if (!farm_await(farm, CTRL_STOPPED, 60 * SECOND)) {
		struct cluster_manager_view view = farm_view(farm);

		farm_broken(farm,
			    "the run does not stop: state %d, announced %ju, released %ju, "
			    "outstanding %ju, waiting %ju",
			    (int)view.state, (uintmax_t)view.announced, (uintmax_t)view.released,
			    (uintmax_t)view.outstanding, (uintmax_t)view.waiting);
	}
	farm_run(farm, farm->options.deadline + SECOND);
	truth_end(farm);
}

void farm_expect_whole(const struct farm *farm)
{
	if (farm->broken[0] != '\0')
		fail_msg("seed %ju: %s", (uintmax_t)farm->options.seed, farm->broken);
}
