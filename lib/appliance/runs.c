// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Several runs in one process. Between two runs everything that knows events is replaced: roles,
// links, mailboxes, stores and RoCE connections. So nothing of a run reaches the next one inside
// the process. What a new run does not change stays: ports, pools, the sets of generators, and the
// event rings with their consumers.
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "appliance/diagnosis_watch.h"
#include "appliance/parts.h"
#include "store/ring_store.h"

#define EMPTY_MS 500u // longest time in which ports return the packets that point to blocks

// --- the begin of a run ---

// Each run has RoCE connections of its own: what arrives by them is of this run.
static bool is_gated(const struct appliance *appliance, unsigned index)
{
	const struct config *config = appliance->config;
	const struct plan_role *role = &appliance->plan->roles[index];

	return role->kind == CONFIG_ROLE_RX && config_serves_several_runs(config) &&
	       (traffic_segment_ports(config, role->port).count > 0 ||
		traffic_ether_type(config, role->port) != 0);
}

void gates_make(struct appliance *appliance)
{
	appliance->n_gates = 0;
	for (unsigned i = 0; i < appliance->plan->n_roles; i++)
		appliance->n_gates += is_gated(appliance, i);
	memset(appliance->gates, 0, sizeof(appliance->gates));
}

struct run_gate *gate_of(struct appliance *appliance, unsigned index)
{
	unsigned n = 0;

	for (unsigned i = 0; i < index; i++)
		n += is_gated(appliance, i);
	return is_gated(appliance, index) ? &appliance->gates[n] : NULL;
}

void run_has_begun(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->n_ports; i++)
		appliance->missed_before[i] = port_missed(&appliance->ports[i]);
	appliance->start_tsc = rte_rdtsc();
	appliance->run_begun = true;
}

// --- the end of a run ---

bool appliance_is_over(const struct appliance *appliance)
{
	const struct role *control = appliance_control(appliance);
	const char *why;

	return appliance->asked_run != 0 || appliance->adopts ||
	       (control != NULL && control_role_ended(control, &why));
}

uint32_t appliance_next_run(const struct appliance *appliance)
{
	if (!config_serves_several_runs(appliance->config) || appliance->failed ||
	    !appliance_is_over(appliance))
		return 0;
	if (appliance->adopts)
		return appliance->run;
	return appliance->asked_run != 0 ? appliance->asked_run
					 : control_role_next_run(appliance_control(appliance));
}

// --- from one run to the next ---

// Notes what the next control role is to know of this one.
static void take_state(struct appliance *appliance)
{
	const struct cluster_system *system = &appliance->config->cluster;
	const struct role *control = appliance_control(appliance);
	struct cluster_node_state state;
	struct cluster_node_view view;

	appliance->control_session = control_role_following_session(control);
	for (unsigned i = 0; control_role_manages(control) && i < system->n_nodes; i++) {
		control_role_member(control, i, &state);
		appliance->excluded[i] = state.excluded;
	}
	control_role_node_view(control, &view);
	appliance->excluded[system->self] = view.excluded;
}

static void return_packets(const struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < appliance->n_ports; i++)
		for (unsigned j = 0; j < plan->ports[i].n_tx_queues; j++)
			(void)rte_eth_tx_done_cleanup(appliance->ports[i].id, (uint16_t)j, 0);
}

// A port may retain packets that it has sent, and these point to the blocks of a store.
static bool is_empty(const struct appliance *appliance, unsigned generator)
{
	const struct rte_mempool *payloads = appliance->generator_pools[generator][1];

	for (unsigned ms = 0; rte_mempool_in_use_count(payloads) > 0; ms++) {
		if (ms == EMPTY_MS)
			return false;
		return_packets(appliance);
		rte_delay_us_sleep(1000);
	}
	return true;
}

// ODIN fragments carry the number of the run.
static bool set_stays(const struct appliance *appliance, unsigned generator, uint32_t run)
{
	const struct source_set *set = appliance->sets[generator];

	return set != NULL && !appliance->adopts && (set->odin_source < 0 || run == appliance->run);
}

static int free_store(struct appliance *appliance, unsigned generator, uint32_t run, char *error)
{
	struct block_store *store = appliance->stores[generator];

	if (!set_stays(appliance, generator, run)) {
		if (!is_empty(appliance, generator))
			return appliance_fail(error,
					      "generator %s: its port retains packets of run %u: "
					      "start the node again",
					      appliance->config->generators[generator].name,
					      appliance->run);
		source_set_free(appliance->sets[generator]);
		appliance->sets[generator] = NULL;
	}
	// Its producer opens the ring of the next run.
	if (store != NULL && ring_store_fill(store) != NULL && appliance->run_begun)
		ring_store_discard(store);
	block_store_destroy(store);
	appliance->stores[generator] = NULL;
	return 0;
}

static int remake_stores(struct appliance *appliance, uint32_t run, char *error)
{
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (free_store(appliance, i, run, error) != 0)
			return -1;
	appliance->run = run;
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (store_make(appliance, i, error) != 0)
			return -1;
	return 0;
}

// Consumers stay attached, unless they still hold events: these keep the memory of the old rings.
static int renew_rings(struct appliance *appliance, char *error)
{
	const unsigned n = appliance->config->n_builders;
	uint64_t held = 0;

	for (unsigned i = 0; i < n; i++)
		held += evring_outstanding(appliance->rings[i]);
	for (unsigned i = 0; i < n; i++) {
		if (held == 0) {
			evring_begin_run(appliance->rings[i], appliance->run);
			continue;
		}
		evring_destroy(appliance->rings[i]);
		appliance->rings[i] = NULL;
	}
	if (held == 0)
		return 0;
	notice(appliance, "the event rings are replaced: their consumers have to open them again");
	return rings_make(appliance, error);
}

static void forget_run(struct appliance *appliance)
{
	memset(appliance->roles, 0, sizeof(appliance->roles));
	memset(appliance->lcores, 0, sizeof(appliance->lcores));
	memset(appliance->links, 0, sizeof(appliance->links));
	memset(appliance->roce_ports, 0, sizeof(appliance->roce_ports));
	memset(appliance->boards_slots, 0, sizeof(appliance->boards_slots));
	memset(appliance->roce_responses, 0, sizeof(appliance->roce_responses));
	memset(appliance->outboxes, 0, sizeof(appliance->outboxes));
	memset(appliance->inboxes, 0, sizeof(appliance->inboxes));
	memset(appliance->differences_seen, 0, sizeof(appliance->differences_seen));
	memset(appliance->source_reported, 0, sizeof(appliance->source_reported));
	memset(appliance->problem_reported, 0, sizeof(appliance->problem_reported));
	memset(appliance->producers, 0, sizeof(appliance->producers));
	memset(appliance->waiting_since, 0, sizeof(appliance->waiting_since));
	memset(appliance->waiting_reported, 0, sizeof(appliance->waiting_reported));
	appliance->roce_slots = NULL;
	appliance->n_links = appliance->n_control_links = appliance->n_sources_reported = 0;
	appliance->commands_obeyed = appliance->commands_refused = appliance->take_overs = 0;
	appliance->terms_ended = 0;
	appliance->decisions_are_over = appliance->run_begun = false;
	appliance->start_tsc = 0;
	atomic_store(&appliance->stop_tsc, 0);
}

int appliance_prepare(struct appliance *appliance, uint32_t run, char *error)
{
	atomic_store(&appliance->state, APPLIANCE_STARTING);
	stop_lcores(appliance);
	take_state(appliance);
	appliance->is_asked_for = appliance->asked_run == run;
	// Another number that nobody has asked for shows that the other nodes have had runs.
	appliance->n_runs += appliance->run_begun || !appliance->is_asked_for;
	appliance->asked_run = 0;
	run_parts_free(appliance);
	if (appliance->adopts)
		configure_adopt(appliance);
	if (remake_stores(appliance, run, error) != 0) {
		forget_run(appliance);
		return -1;
	}
	forget_run(appliance);
	diagnosis_begin_run(appliance);
	appliance->adopts = false;
	return renew_rings(appliance, error) != 0 || run_parts_make(appliance, error) != 0 ? -1 : 0;
}
