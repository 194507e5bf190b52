// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/control_role.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_random.h>

#include "node/control_frames.h"

#define NOTES_MOST  32u
#define POLL_NS     20000u // between two looks at what is due, when nothing has come
#define BEAT_PART   2u     // heartbeats' contents are renewed so often an interval
#define QUEUE_SIZE  (256u << 10)
#define PATIENCE_NS 5000000000ull // after which a node that accepts nothing is given up
// Taking leave: the others' last words are acknowledged, and one's own heard.
#define LEAVE_LEAST 100000000u
#define LEAVE_MOST  1500000000u

enum command_step { COMMAND_NONE, COMMAND_ASKED, COMMAND_ANSWERED };

struct control {
	struct role role;
	struct control_role_parameters parameters;
	const struct config_cluster *cluster;
	unsigned self;
	struct control_endpoint *endpoint;
	struct cluster_transport transport; // by the endpoint
	struct cluster_node *node;
	struct cluster_manager *manager; // NULL: on another node
	double ns_per_tick;
	uint64_t start_tsc, start_ns;
	uint64_t now; // ns
	uint64_t next_poll, next_beat;
	uint64_t paused_before, beat_before; // of the port's flow control, ns
	bool pausing;                        // as the manager was told last
	bool connected_self, drain_asked;
	uint64_t drain_since, left_at; // ns, 0: not
	atomic_bool ended;

	// A command of the control thread.
	struct {
		atomic_int step; // enum command_step
		enum cluster_command command;
		unsigned node;
		int result;
		char error[CLUSTER_ERROR_SIZE];
	} command;

	struct control_frames frames;
	struct control_role_counters counters __rte_cache_aligned;
};

static struct control *control_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct control, role));
}

static uint64_t to_ns(const struct control *control, uint64_t tsc)
{
	return control->start_ns +
	       (uint64_t)((double)(tsc - control->start_tsc) * control->ns_per_tick);
}

// --- datagrams and records ---

// Called by the endpoint for each frame that is due.
static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	struct control *control = context;

	return control_frames_send(&control->frames, peer, bytes, size, control->now);
}

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct control *control = context;

	if (control->manager != NULL)
		cluster_manager_record(control->manager, peer, record, control->now);
	cluster_node_record(control->node, peer, record, control->now);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct control *control = context;

	if (control->manager != NULL)
		cluster_manager_event(control->manager, peer, event, control->now);
	cluster_node_event(control->node, peer, event);
}

static void take_frame(struct control *control, const struct rte_mbuf *mbuf)
{
	struct control_datagram datagram;

	if (control_frames_take(&control->frames, mbuf, &datagram) &&
	    control_receive(control->endpoint, datagram.bytes, datagram.size, control->now) !=
		WIRE_OK)
		counter_add(&control->counters.malformed, 1);
}

static unsigned take_frames(struct control *control)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned done = 0;

	for (unsigned i = 0; i < control->parameters.n_links; i++) {
		unsigned n = link_dequeue(control->parameters.links[i], mbufs, ROLE_BURST);

		for (unsigned j = 0; j < n; j++)
			take_frame(control, mbufs[j]);
		rte_pktmbuf_free_bulk(mbufs, n);
		done += n;
	}
	return done;
}

// --- messages ---

static bool to_builder(void *context, unsigned builder, const struct message *message)
{
	struct control *control = context;

	if (message->kind == MESSAGE_EXPECT && control->parameters.slots != NULL)
		roce_slots_expect(control->parameters.slots, builder, message->event);
	return mailbox_put(&control->parameters.builder_mail[builder][0], message);
}

static bool to_readout(void *context, unsigned readout, const struct message *message)
{
	struct control *control = context;

	return mailbox_put(&control->parameters.readout_mail[readout][0], message);
}

static bool to_port(void *context, const struct message *message)
{
	struct control *control = context;

	return mailbox_put(control->parameters.offers, message);
}

static unsigned take_messages(struct control *control)
{
	const struct config *config = control->parameters.config;
	struct message messages[NOTES_MOST];
	unsigned done = 0;

	for (unsigned i = 0; i < config->n_builders; i++) {
		unsigned n =
		    mailbox_take(&control->parameters.builder_mail[i][1], messages, NOTES_MOST);

		for (unsigned j = 0; j < n; j++)
			cluster_node_builder_message(control->node, i, &messages[j]);
		done += n;
	}
	for (unsigned i = 0; i < config->n_generators; i++) {
		unsigned n =
		    mailbox_take(&control->parameters.readout_mail[i][1], messages, NOTES_MOST);

		for (unsigned j = 0; j < n; j++)
			cluster_node_readout_message(control->node, i, &messages[j]);
		done += n;
	}
	return done;
}

// --- what is due ---

static uint64_t wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now); // vDSO, no system call
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Whether the link partner is kept from sending now. Devices do not tell: of theirs it is whether
// they did since the last heartbeat.
static bool is_pausing(const struct control *control, uint64_t paused_ns)
{
	const struct flow_control *fc = control->parameters.flow_control;

	if (fc->mode != FLOW_CONTROL_SOFT)
		return paused_ns > 0;
	return flow_control_holding(fc, control->parameters.config->event_manager.data_priority);
}

static void add_port(struct control *control, struct ctrl_heartbeat *beat)
{
	struct flow_control *fc = control->parameters.flow_control;
	unsigned priority = control->parameters.config->event_manager.data_priority;
	struct pause_counters counters;
	uint64_t passed = control->now - control->beat_before, paused;

	if (fc == NULL)
		return;
	flow_control_priority_counters(fc, priority, &counters);
	paused = counters.pausing_ns - control->paused_before;
	control->paused_before = counters.pausing_ns;
	control->pausing = is_pausing(control, paused);
	beat->n_ports = 1;
	beat->ports[0] = (struct ctrl_port){
		.pause_frames = counters.xoff_received,
		.pausing = control->pausing ? (uint8_t)(1u << priority) : 0,
	};
	if (passed > 0)
		beat->ports[0].paused_share =
		    (uint16_t)RTE_MIN(paused * CTRL_FULL_SHARE / passed, (uint64_t)CTRL_FULL_SHARE);
}

// Renews what heartbeats say; `at_once`: the manager is told without waiting for the next.
static void beat(struct control *control, bool at_once)
{
	struct cluster_node_view view;
	struct ctrl_heartbeat beat = { .time = wall_clock_ns() };
	uint8_t bytes[CTRL_HEARTBEAT_SIZE(CTRL_MAX_PORTS)];
	struct ctrl_record record;
	size_t size;

	cluster_node_view(control->node, &view);
	beat.run = view.run;
	beat.run_state = (uint8_t)view.state;
	beat.slots_free = view.tokens_free;
	beat.events_open = view.tokens_used;
	add_port(control, &beat);
	control->beat_before = control->now;
	(void)control_set_heartbeat(control->endpoint, &beat);
	size = ctrl_put_heartbeat(bytes, sizeof(bytes), &beat);
	if (control->manager == NULL && at_once)
		control->transport.send(control->transport.context, control->cluster->manager,
					bytes, size);
	if (control->manager != NULL && ctrl_record_at(bytes, size, &record) == WIRE_OK)
		cluster_manager_record(control->manager, control->self, &record, control->now);
}

// Grants go on or cease when the port's state changes, not with the next heartbeat.
static bool port_changed(const struct control *control)
{
	const struct flow_control *fc = control->parameters.flow_control;

	return fc != NULL && fc->mode == FLOW_CONTROL_SOFT &&
	       is_pausing(control, 0) != control->pausing;
}

static void serve_command(struct control *control)
{
	if (atomic_load_explicit(&control->command.step, memory_order_acquire) != COMMAND_ASKED)
		return;
	control->command.result =
	    cluster_manager_command(control->manager, control->command.command,
				    control->command.node, control->now, control->command.error);
	atomic_store_explicit(&control->command.step, COMMAND_ANSWERED, memory_order_release);
}

static void work(struct control *control)
{
	uint64_t interval = control->parameters.config->event_manager.heartbeat_ns;

	if (!control->connected_self && control->cluster->manager == control->self) {
		control->connected_self = true;
		cluster_node_event(control->node, control->self, CONTROL_CONNECTED);
	}
	if (port_changed(control))
		beat(control, true);
	if (control->now >= control->next_beat) {
		control->next_beat = control->now + interval / BEAT_PART;
		beat(control, false);
		control_frames_ask(&control->frames, control->now);
	}
	cluster_node_poll(control->node, control->now);
	if (control->manager != NULL) {
		serve_command(control);
		cluster_manager_poll(control->manager, control->now);
	}
	(void)control_poll(control->endpoint, control->now);
	if (cluster_node_ended(control->node, NULL))
		atomic_store_explicit(&control->ended, true, memory_order_release);
}

static unsigned control_role_poll(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);
	unsigned done;

	control->now = RTE_MAX(control->now, to_ns(control, now));
	done = take_frames(control);
	done += take_messages(control);
	if (done == 0 && control->now < control->next_poll)
		return 0;
	control->next_poll = control->now + POLL_NS;
	work(control);
	return done;
}

// Before an idle lcore sleeps, too.
static void control_role_housekeep(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);

	control->now = RTE_MAX(control->now, to_ns(control, now));
	work(control);
}

// Whether all that are there have what was sent to them.
static bool is_heard(const struct control *control)
{
	struct control_state state;

	for (unsigned i = 0; i < control->cluster->n_nodes; i++)
		if (control_state(control->endpoint, i, control->now, &state) && state.connected &&
		    !state.lost && state.queued > 0)
			return false;
	return true;
}

// Whether this node has said its last, and been heard; or the time for that is up.
static bool has_left(struct control *control)
{
	bool ended = atomic_load_explicit(&control->ended, memory_order_relaxed);
	uint64_t passed;

	if (!ended)
		cluster_node_leave(control->node);
	if (control->left_at == 0)
		control->left_at = control->now;
	passed = control->now - control->left_at;
	return passed > LEAVE_MOST || (passed > LEAVE_LEAST && is_heard(control) &&
				       (ended || cluster_node_left(control->node)));
}

// The manager's own node: lets the run come to its end, and ends it when the time is up.
static bool run_is_over(struct control *control)
{
	char error[CLUSTER_ERROR_SIZE];

	if (control->manager == NULL || atomic_load_explicit(&control->ended, memory_order_relaxed))
		return true;
	if (!control->drain_asked)
		(void)cluster_manager_command(control->manager, CLUSTER_DRAIN, 0, control->now,
					      error);
	control->drain_asked = true;
	if (control->now - control->drain_since < control->parameters.drain_ns)
		return false;
	(void)cluster_manager_command(control->manager, CLUSTER_STOP, 0, control->now, error);
	return true;
}

static bool control_role_drain(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);

	(void)control_role_poll(role, now);
	if (control->drain_since == 0)
		control->drain_since = control->now;
	return (control->left_at != 0 || run_is_over(control)) && has_left(control);
}

static void control_role_fini(struct role *role)
{
	struct control *control = control_of(role);

	cluster_manager_destroy(control->manager);
	cluster_node_destroy(control->node);
	control_destroy(control->endpoint);
	rte_free(control);
}

static const struct role_operations control_operations = {
	.kind = "control",
	.poll = control_role_poll,
	.housekeep = control_role_housekeep,
	.drain = control_role_drain,
	.fini = control_role_fini,
};

// --- creation ---

static uint32_t mtu_of(const struct config *config)
{
	const struct config_cluster *cluster = &config->cluster;

	return RTE_MIN(config->ports[cluster->nodes[cluster->self].port].mtu, CONTROL_MTU_MOST);
}

uint32_t control_role_frame_size(const struct config *config)
{
	return mtu_of(config) + NET_ETH_SIZE;
}

// Epochs grow with the time at which a manager starts, so that a stale one is known as such.
static uint32_t new_epoch(void)
{
	return (uint32_t)(wall_clock_ns() / 100000000u);
}

static bool make_endpoint(struct control *control, const char **reason)
{
	const struct config_event_manager *config = &control->parameters.config->event_manager;
	struct control_parameters parameters = control_defaults();
	uint16_t peers[EVB_MAX_NODES];
	unsigned n = 0;

	for (unsigned i = 0; i < control->cluster->n_nodes; i++)
		if (i != control->self)
			peers[n++] = (uint16_t)i;
	parameters.handlers = (struct control_handlers){
		.context = control,
		.deliver = deliver,
		.event = on_event,
		.emit = emit,
	};
	parameters.peers = peers;
	parameters.n_peers = n;
	parameters.node = (uint16_t)control->self;
	parameters.epoch = control->cluster->manager == control->self ? new_epoch() : 0;
	parameters.session = rte_rand() | 1;
	parameters.window = CTRL_MAX_WINDOW;
	parameters.queue_size = QUEUE_SIZE;
	parameters.patience = PATIENCE_NS;
	parameters.frame_size = mtu_of(control->parameters.config) - NET_IPV4_SIZE - NET_UDP_SIZE;
	parameters.heartbeat_interval = config->heartbeat_ns;
	parameters.heartbeat_timeout = config->heartbeat_timeout_ns;
	parameters.now = control->now;
	control->endpoint = control_create(&parameters, reason);
	return control->endpoint != NULL;
}

static bool make_logic(struct control *control, char *error)
{
	const struct config *config = control->parameters.config;
	struct cluster_node_parameters node = {
		.config = config,
		.placements = control->parameters.placements,
		.context = control,
		.to_builder = to_builder,
		.to_readout = to_readout,
		.to_port = control->parameters.offers != NULL ? to_port : NULL,
	};
	struct cluster_manager_parameters manager = {
		.config = config,
		.autostart = config->event_manager.start == CONFIG_START_AUTO,
		.now = control->now,
	};

	control->transport = cluster_transport_of(control->endpoint);
	node.transport = manager.transport = control->transport;
	control->node = cluster_node_create(&node);
	if (control->node == NULL || control->cluster->manager != control->self)
		return control->node != NULL;
	control->manager = cluster_manager_create(&manager, error);
	return control->manager != NULL;
}

struct role *control_role_create(const struct control_role_parameters *parameters, char *error)
{
	const struct config_cluster *cluster = &parameters->config->cluster;
	struct control *control = rte_zmalloc_socket("control", sizeof(*control),
						     RTE_CACHE_LINE_SIZE, parameters->numa_node);
	const char *reason = "out of memory";

	snprintf(error, CONTROL_ERROR_SIZE, "role %s: out of memory", parameters->name);
	if (control == NULL)
		return NULL;
	control->role.operations = &control_operations;
	snprintf(control->role.name, sizeof(control->role.name), "%s", parameters->name);
	control->parameters = *parameters;
	control->cluster = cluster;
	control->self = cluster->self;
	control->frames.parameters = &control->parameters;
	control->frames.cluster = cluster;
	control->frames.counters = &control->counters;
	control->ns_per_tick = 1e9 / (double)rte_get_tsc_hz();
	control->start_tsc = rte_rdtsc();
	control->start_ns = 1;
	control->now = control->start_ns;
	for (unsigned i = 0; i < cluster->n_nodes; i++)
		if (cluster->nodes[i].has_mac)
			neighbours_set(parameters->neighbours, i, cluster->nodes[i].mac);
	if (!make_endpoint(control, &reason)) {
		snprintf(error, CONTROL_ERROR_SIZE, "role %s: %s", parameters->name, reason);
		control_role_fini(&control->role);
		return NULL;
	}
	if (!make_logic(control, error)) {
		control_role_fini(&control->role);
		return NULL;
	}
	return &control->role;
}

// --- for others ---

const struct control_role_counters *control_role_counters(const struct role *role)
{
	return &control_of(role)->counters;
}

bool control_role_ended(const struct role *role, const char **why)
{
	const struct control *control = control_of(role);

	*why = NULL;
	if (!atomic_load_explicit(&control->ended, memory_order_acquire))
		return false;
	return cluster_node_ended(control->node, why);
}

int control_role_ask(struct role *role, enum cluster_command command, unsigned node, char *error)
{
	struct control *control = control_of(role);

	if (control->manager == NULL) {
		snprintf(error, CONTROL_ERROR_SIZE,
			 "this node is not the event manager: ask node %s",
			 control->cluster->nodes[control->cluster->manager].name);
		return -1;
	}
	if (atomic_load_explicit(&control->command.step, memory_order_acquire) == COMMAND_ASKED) {
		snprintf(error, CONTROL_ERROR_SIZE,
			 "the event manager has not answered the last command yet");
		return -1;
	}
	control->command.command = command;
	control->command.node = node;
	atomic_store_explicit(&control->command.step, COMMAND_ASKED, memory_order_release);
	return 0;
}

enum control_role_answer control_role_answer(struct role *role, char *error)
{
	struct control *control = control_of(role);

	if (atomic_load_explicit(&control->command.step, memory_order_acquire) != COMMAND_ANSWERED)
		return CONTROL_ROLE_WAITS;
	atomic_store_explicit(&control->command.step, COMMAND_NONE, memory_order_relaxed);
	if (control->command.result == 0)
		return CONTROL_ROLE_DONE;
	snprintf(error, CONTROL_ERROR_SIZE, "%s", control->command.error);
	return CONTROL_ROLE_REFUSED;
}

uint64_t control_role_now(const struct role *role)
{
	return to_ns(control_of(role), rte_rdtsc());
}

const struct cluster_node *control_role_node(const struct role *role)
{
	return control_of(role)->node;
}

const struct cluster_manager *control_role_manager(const struct role *role)
{
	return control_of(role)->manager;
}

const struct control_endpoint *control_role_endpoint(const struct role *role)
{
	return control_of(role)->endpoint;
}
