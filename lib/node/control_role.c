// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/control_role.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "node/control_internal.h"

#define POLL_NS     20000u // between two polls of the logic while nothing arrives
#define FRAMES_MOST 4096u  // received from a link in one poll, more than it holds
// Bounds of the time in which a node that leaves waits for acknowledgements and for the last
// records of the other nodes, ns.
#define LEAVE_LEAST 100000000u
#define LEAVE_MOST  1500000000u

uint64_t control_ns(const struct control *control, uint64_t tsc)
{
	return control->start_ns +
	       (uint64_t)((double)(tsc - control->start_tsc) * control->ns_per_tick);
}

// Whether this node is the only one that can manage.
static bool manages(const struct control *control)
{
	return !control_elects(control) && control->system->manager == control->system->self;
}

static void set_now(struct control *control, uint64_t tsc)
{
	const uint64_t now = control_ns(control, tsc);

	if (now <= control->now)
		return;
	control->now = now;
	control->now_tsc = tsc;
}

// --- the endpoint ---

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct control *control = context;

	if (control->flow != NULL && decision_flow_record(control->flow, peer, record))
		return;
	if (control->lingers || control_agreement_record(control, peer, record))
		return;
	if (record->type == CTRL_HEARTBEAT && control_elects(control)) {
		// A vote is counted from a time after the request for it has arrived.
		set_now(control, rte_rdtsc());
		if (control->office != NULL)
			office_received(control->office, peer, record, control->now);
	}
	if (control->manager != NULL)
		cluster_manager_record(control->manager, peer, record, control->now);
	cluster_node_record(control->node, peer, record, control->now);
}

// Another event manager has a higher epoch. What a manager in office knows is out of date then. One
// that has just started will be in office after the other.
static void take_epoch(struct control *control)
{
	if (control->office != NULL) {
		control_office_fenced(control);
		return;
	}
	if (!cluster_manager_in_office(control->manager)) {
		control_raise_epoch(control->endpoint);
		return;
	}
	control->replaced = true;
	atomic_store_explicit(&control->ended, true, memory_order_release);
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	struct control *control = context;

	if (control->flow != NULL)
		decision_flow_event(control->flow, peer, event);
	if (control->lingers)
		return;
	if (event == CONTROL_OCCUPIED)
		atomic_store_explicit(&control->refused_by, peer + 1, memory_order_release);
	if (event == CONTROL_EPOCH && (control->manager != NULL || control->office != NULL))
		take_epoch(control);
	if (control->manager != NULL)
		cluster_manager_event(control->manager, peer, event, control->now);
	cluster_node_event(control->node, peer, event);
}

// --- polls ---

static unsigned receive_burst(struct control *control, struct link *link)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = link_dequeue(link, mbufs, ROLE_BURST);

	for (unsigned i = 0; i < n; i++)
		control_receive_frame(control, mbufs[i]);
	rte_pktmbuf_free_bulk(mbufs, n);
	return n;
}

// All frames that have arrived are received before the endpoint judges which peers are silent.
static unsigned receive_frames(struct control *control)
{
	unsigned done = 0;

	for (unsigned i = 0; i < control->parameters.n_links; i++) {
		unsigned end = done + FRAMES_MOST, n = ROLE_BURST;

		for (; n == ROLE_BURST && done < end; done += n)
			n = receive_burst(control, control->parameters.links[i]);
	}
	return done;
}

static void take_keys(struct control *control)
{
	if (!atomic_load_explicit(&control->keys_are_new, memory_order_acquire))
		return;
	(void)control_set_keys(control->endpoint, &control->keys);
	control_keys_wipe(&control->keys);
	atomic_store_explicit(&control->keys_are_new, false, memory_order_release);
}

// Whether each node that is present has acknowledged all records.
static bool all_is_acknowledged(const struct control *control)
{
	struct control_state state;

	for (unsigned i = 0; i < control->system->n_nodes; i++)
		if (control_state(control->endpoint, i, control->now, &state) && state.connected &&
		    !state.lost && state.queued > 0)
			return false;
	return true;
}

static void poll_flow(struct control *control)
{
	const bool asked = atomic_load_explicit(&control->decisions_asked, memory_order_acquire);

	if (control->flow == NULL)
		return;
	decision_flow_follow(control->flow, cluster_node_manager(control->node),
			     cluster_node_epoch(control->node), control->manager);
	decision_flow_poll(control->flow, cluster_node_ended(control->node, NULL), control->now);
	if (asked && decision_flow_is_done(control->flow) && all_is_acknowledged(control))
		atomic_store_explicit(&control->decisions_done, true, memory_order_release);
}

static void serve_gates(struct control *control)
{
	const bool wanted = cluster_node_accepts_data(control->node);
	bool all = wanted;

	for (unsigned i = 0; i < control->parameters.n_gates; i++) {
		struct run_gate *gate = &control->parameters.gates[i];

		if (atomic_load_explicit(&gate->wanted, memory_order_relaxed) != wanted)
			atomic_store_explicit(&gate->wanted, wanted, memory_order_release);
		all &= atomic_load_explicit(&gate->is_open, memory_order_acquire);
	}
	if (all)
		cluster_node_opened(control->node);
}

// Whether the run is over for this node, or the manager here is to prepare for another one.
static bool has_ended(const struct control *control)
{
	return cluster_node_ended(control->node, NULL) ||
	       (control->manager != NULL && cluster_manager_renumbered(control->manager) != 0);
}

static uint32_t next_run(const struct control *control)
{
	const uint32_t renumbered =
	    control->manager != NULL ? cluster_manager_renumbered(control->manager) : 0;

	return renumbered != 0 ? renumbered : cluster_node_next_run(control->node);
}

static void poll_logic(struct control *control)
{
	take_keys(control);
	if (!control->connected_self && manages(control)) {
		control->connected_self = true;
		cluster_node_event(control->node, control->system->self, CONTROL_CONNECTED);
	}
	control_heartbeat_poll(control);
	control_clock_poll(control);
	control_group_poll(control);
	cluster_node_poll(control->node, control->now);
	control_serve_command(control);
	control_agreement_poll(control);
	if (control->manager != NULL)
		cluster_manager_poll(control->manager, control->now);
	poll_flow(control);
	serve_gates(control);
	(void)control_poll(control->endpoint, control->now);
	if (control->now >= control->next_publish) {
		control->next_publish = control->now + CONTROL_PUBLISH_NS;
		control_publish(control);
	}
	if (has_ended(control) && !atomic_load_explicit(&control->ended, memory_order_relaxed)) {
		control_publish(control); // a reader that sees the end sees its command too
		control->next_run = next_run(control);
		atomic_store_explicit(&control->ended, true, memory_order_release);
	}
}

static unsigned control_role_poll(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);
	unsigned done;

	set_now(control, now);
	control_office_poll(control);
	done = receive_frames(control);
	done += control_take_messages(control);
	if (done == 0 && control->now < control->next_poll)
		return 0;
	control->next_poll = control->now + POLL_NS;
	poll_logic(control);
	return done;
}

// Also called before an idle lcore sleeps.
static void control_role_housekeep(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);

	set_now(control, now);
	control_office_poll(control);
	poll_logic(control);
}

// --- drain ---

// Whether this node has left the system, or the time for that is over.
static bool has_left(struct control *control)
{
	bool ended = atomic_load_explicit(&control->ended, memory_order_relaxed);
	uint64_t passed;

	if (!ended)
		cluster_node_leave(control->node);
	if (control->leaving_since == 0)
		control->leaving_since = control->now;
	passed = control->now - control->leaving_since;
	return passed > LEAVE_MOST || (passed > LEAVE_LEAST && all_is_acknowledged(control) &&
				       (ended || cluster_node_left(control->node)));
}

// Where processes serve several runs, the other nodes wait for the next one without the manager.
static bool is_between_runs(const struct control *control)
{
	struct cluster_manager_view view;

	cluster_manager_view(control->manager, &view);
	return view.run == 0 && control->parameters.manager.cluster.prepared_run != 0;
}

// On the manager's node: drains the run, and stops it when the time for that is over.
static bool run_is_over(struct control *control)
{
	char error[CLUSTER_ERROR_SIZE];

	if (control->manager == NULL || atomic_load_explicit(&control->ended, memory_order_relaxed))
		return true;
	if (is_between_runs(control))
		return true;
	if (!control->drain_requested)
		(void)cluster_manager_command(control->manager, CLUSTER_DRAIN, 0, control->now,
					      error);
	control->drain_requested = true;
	if (control->now - control->drain_since < control->parameters.drain_ns)
		return false;
	(void)cluster_manager_command(control->manager, CLUSTER_STOP, 0, control->now, error);
	return true;
}

static bool control_role_drain(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);

	bool over;

	(void)control_role_poll(role, now);
	if (control->drain_since == 0)
		control->drain_since = control->now;
	over = (control->leaving_since != 0 || run_is_over(control)) && has_left(control);
	if (over)
		control_publish(control);
	return over;
}

// The node has left the run, and the manager has none: only decisions are still exchanged.
static void control_role_linger(struct role *role, uint64_t now)
{
	struct control *control = control_of(role);

	set_now(control, now);
	control->lingers = true;
	if (receive_frames(control) == 0 && control->now < control->next_poll)
		return;
	control->next_poll = control->now + POLL_NS;
	take_keys(control);
	control_heartbeat_poll(control);
	poll_flow(control);
	(void)control_poll(control->endpoint, control->now);
}

static void control_role_fini(struct role *role)
{
	struct control *control = control_of(role);

	control_views_free(control);
	decision_flow_destroy(control->flow);
	control_office_free(control);
	cluster_node_destroy(control->node);
	control_destroy(control->endpoint);
	control_keys_wipe(&control->keys);
	free(control->nodes);
	rte_free(control);
}

static const struct role_operations control_operations = {
	.kind = "control",
	.poll = control_role_poll,
	.housekeep = control_role_housekeep,
	.drain = control_role_drain,
	.linger = control_role_linger,
	.fini = control_role_fini,
};

// --- creation ---

uint32_t control_role_frame_size(uint32_t mtu)
{
	return RTE_MIN(mtu, CLUSTER_MTU_MOST) + NET_ETH_SIZE;
}

uint32_t control_new_epoch(void)
{
	return (uint32_t)(control_wall_clock_ns() / 100000000u);
}

uint64_t control_role_memory(uint32_t mtu, unsigned n_nodes)
{
	const struct control_parameters parameters = cluster_endpoint_parameters(n_nodes, mtu);

	return control_memory(&parameters);
}

static bool make_endpoint(struct control *control, const char **reason)
{
	const struct control_role_parameters *p = &control->parameters;
	const unsigned n_nodes = control->system->n_nodes, self = control->system->self;
	struct control_parameters parameters = cluster_endpoint_parameters(n_nodes, p->mtu);
	uint16_t peers[EVB_MAX_NODES];
	unsigned n = 0;

	for (unsigned i = 0; i < n_nodes; i++)
		if (i != self)
			peers[n++] = (uint16_t)i;
	parameters.handlers = (struct control_handlers){
		.context = control,
		.deliver = deliver,
		.event = on_event,
		.emit = control_send_frame,
		.emit_shared = p->group != 0 && control->system->nodes[self].manager
				   ? control_send_to_group
				   : NULL,
		.store_will = p->last_will != NULL ? control_store_will_frame : NULL,
	};
	parameters.peers = peers;
	parameters.node = (uint16_t)self;
	parameters.leads = manages(control);
	parameters.epoch = parameters.leads ? control_new_epoch() : 0;
	parameters.session = p->session != 0 ? p->session : control_new_session();
	parameters.keys = p->keys;
	parameters.heartbeat_interval = p->heartbeat_ns;
	parameters.heartbeat_timeout = p->heartbeat_timeout_ns;
	parameters.now = control->now;
	control->endpoint = control_create(&parameters, reason);
	return control->endpoint != NULL;
}

static bool make_flow(struct control *control)
{
	struct decision_flow_parameters decisions = control->parameters.decisions;

	if (control->system->n_results == 0)
		return true;
	decisions.system = control->system;
	decisions.transport = control->transport;
	control->flow = decision_flow_create(&decisions);
	return control->flow != NULL;
}

static bool make_logic(struct control *control)
{
	const struct control_role_parameters *p = &control->parameters;
	struct cluster_node_parameters node = p->node;

	control->transport = cluster_transport_of(control->endpoint);
	node.transport = control->transport;
	node.lease_ns = p->heartbeat_timeout_ns;
	node.takes_shared = control_joins_group(control);
	node.now = control->now;
	control_set_mailboxes(control, &node);
	control->node = cluster_node_create(&node);
	if (control->node == NULL)
		return false;
	if (manages(control) && !control_make_manager(control))
		return false;
	return control_office_make(control) && make_flow(control);
}

static bool make_parts(struct control *control, char *error)
{
	const char *reason = "out of memory";

	control->nodes = calloc(control->system->n_nodes, sizeof(*control->nodes));
	if (control->nodes != NULL && make_endpoint(control, &reason))
		return make_logic(control) && control_views_make(control);
	snprintf(error, CONTROL_ERROR_SIZE, "role %s: %s", control->parameters.name, reason);
	return false;
}

struct role *control_role_create(const struct control_role_parameters *parameters, char *error)
{
	struct control *control = rte_zmalloc_socket("control", sizeof(*control),
						     RTE_CACHE_LINE_SIZE, parameters->numa_node);

	snprintf(error, CONTROL_ERROR_SIZE, "role %s: out of memory", parameters->name);
	if (control == NULL)
		return NULL;
	control->role.operations = &control_operations;
	snprintf(control->role.name, sizeof(control->role.name), "%s", parameters->name);
	control->parameters = *parameters;
	control->system = parameters->node.cluster.system;
	control->ns_per_tick = 1e9 / (double)rte_get_tsc_hz();
	control->start_tsc = rte_rdtsc();
	control->start_ns = 1;
	control->now = control->start_ns;
	control->now_tsc = control->start_tsc;
	if (!make_parts(control, error)) {
		control_role_fini(&control->role);
		return NULL;
	}
	return &control->role;
}

// --- for other threads ---

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
	if (control->replaced) {
		*why = "another event manager is in office, with a higher epoch: this one steps "
		       "down; start it again when the other has ended";
		return true;
	}
	(void)cluster_node_ended(control->node, why);
	return true;
}

uint32_t control_role_next_run(const struct role *role)
{
	const struct control *control = control_of(role);

	return control->replaced ? 0 : control->next_run;
}

uint64_t control_role_following_session(const struct role *role)
{
	return control_following_session(control_of(role)->endpoint);
}

bool control_role_refused(struct role *role, unsigned *node)
{
	*node = atomic_exchange_explicit(&control_of(role)->refused_by, 0, memory_order_acquire);
	return (*node)-- > 0;
}

bool control_role_decisions_are_done(struct role *role)
{
	struct control *control = control_of(role);

	atomic_store_explicit(&control->decisions_asked, true, memory_order_release);
	return control->flow == NULL ||
	       atomic_load_explicit(&control->decisions_done, memory_order_acquire);
}

bool control_role_set_keys(struct role *role, const struct control_keys *keys)
{
	struct control *control = control_of(role);

	if (atomic_load_explicit(&control->keys_are_new, memory_order_acquire))
		return false;
	control->keys = *keys;
	atomic_store_explicit(&control->keys_are_new, true, memory_order_release);
	return true;
}

uint64_t control_role_now(const struct role *role)
{
	return control_ns(control_of(role), rte_rdtsc());
}

const struct control_endpoint *control_role_endpoint(const struct role *role)
{
	return control_of(role)->endpoint;
}

const struct cluster_latency *control_role_latency(const struct role *role)
{
	return cluster_node_latency(control_of(role)->node);
}
