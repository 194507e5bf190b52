// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Watching a running appliance and ending its run in order.
#include "appliance/appliance.h"

#include <rte_cycles.h>
#include <rte_launch.h>

#include "appliance/diagnosis_watch.h"
#include "appliance/parts.h"
#include "appliance/run_control.h"
#include "builder/builder_role.h"
#include "rdma/source_roles.h"
#include "rx/rx_role.h"
#include "store/file_store.h"
#include "store/port_store.h"
#include "store/ring_store.h"
#include "tx/pcap_role.h"

#define STEP_MS         1
#define RECLAIM_AT_ONCE 64
#define LEAVE_SECONDS   2 // additional time in which a node leaves its cluster

static bool source_is_finished(const struct appliance *appliance, unsigned role)
{
	const struct plan_role *plan = &appliance->plan->roles[role];

	return appliance->config->generators[plan->object].kind == GENERATOR_PCAP
		   ? pcap_role_finished(appliance->roles[role])
		   : any_source_finished(appliance->roles[role]);
}

// Whether all generators have finished, so that the run is over. Where there are builders, only
// generators that send captures count: the others send end-of-run blocks, which end the run at the
// builders; captures may have none.
static bool sources_are_finished(const struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	bool any = false;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		if (plan->roles[i].kind == CONFIG_ROLE_SOURCE) {
			enum generator_kind kind =
			    appliance->config->generators[plan->roles[i].object].kind;
			bool captured = kind == GENERATOR_PCAP || kind == GENERATOR_ROCE;

			if ((!captured && appliance->config->n_builders > 0) ||
			    !source_is_finished(appliance, i))
				return false;
			any = true;
		}
	}
	return any;
}

// Whether the event manager has ended the run or refused this node.
static bool cluster_is_over(struct appliance *appliance)
{
	const struct role *control = appliance_control(appliance);
	const char *why;

	if (control == NULL || !control_role_ended(control, &why))
		return false;
	if (why != NULL && configure_follows(appliance))
		return true;
	if (why != NULL)
		notice(appliance, "%s", why);
	appliance->failed = why != NULL;
	return true;
}

// Whether end-of-run blocks have ended the run. Where events are granted, the manager ends it.
static bool sources_have_ended(const struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;

	if (appliance->config->events.on_end_of_run == END_OF_RUN_IGNORED ||
	    cluster_grants(appliance->config) || config_serves_several_runs(appliance->config))
		return false;
	for (unsigned i = 0; i < plan->n_roles; i++) {
		if (plan->roles[i].kind != CONFIG_ROLE_BUILDER ||
		    !builder_role_end_of_run(appliance->roles[i]))
			continue;
		// The builder wrote the number before it reported the end.
		notice(appliance, "the sources ended the run: %u of %u sent their end of run",
		       assembly_ended_sources(builder_role_assembly(appliance->roles[i])),
		       appliance->sources.n_expected);
		return true;
	}
	return false;
}

// Once per run.
static void report_unfinished_checksums(struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	uint64_t unfinished = 0;

	for (unsigned i = 0; i < plan->n_roles && !appliance->checksums_reported; i++)
		if (plan->roles[i].kind == CONFIG_ROLE_RX)
			unfinished += counter_read(
			    &rx_role_counters(appliance->roles[i])->checksums_unfinished);
	if (unfinished == 0)
		return;
	appliance->checksums_reported = true;
	notice(appliance,
	       "packets with unfinished UDP checksums are accepted: no network card completed "
	       "them");
}

static const char *command_text(const struct cluster_node_command *command)
{
	if (command->type == CTRL_RUN_COMMAND)
		return ctrl_command_name(command->command);
	return command->type == CTRL_EXCLUDE ? "exclude" : "include";
}

// Reports each file of a generator that ended before its time, once.
static void report_ended_files(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_generators; i++) {
		const struct block_store *store = appliance->stores[i];
		const char *problem = store != NULL ? file_store_problem(store) : NULL;

		if (problem == NULL || appliance->problem_reported[i])
			continue;
		notice(appliance, "generator %s: %s: it sends no events from there on",
		       appliance->config->generators[i].name, problem);
		appliance->problem_reported[i] = true;
	}
}

// Reports producers that come and go. True if the memory of a ring is gone, so that the run ends.
static bool producers_are_gone(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_generators; i++) {
		const struct config_generator *generator = &appliance->config->generators[i];
		uint32_t pid, *before = &appliance->producers[i];

		if (generator->kind != GENERATOR_PRODUCER)
			continue;
		if (!ring_store_watch(appliance->stores[i], &pid)) {
			notice(appliance,
			       "generator %s: the file of its producer ring was truncated by a "
			       "process that may write it; the run ends",
			       generator->name);
			appliance->failed = true;
			return true;
		}
		if (pid != *before && pid != 0)
			notice(appliance, "generator %s: process %u fills its producer ring",
			       generator->name, pid);
		if (pid != *before && pid == 0)
			notice(appliance, "generator %s: process %u has left its producer ring",
			       generator->name, *before);
		*before = pid;
	}
	return false;
}

// Writes the last command that was obeyed and the last one that was refused, if they are new.
static void report_commands(struct appliance *appliance)
{
	const struct cluster_system *system = &appliance->config->cluster;
	struct role *control = appliance_control(appliance);
	struct cluster_node_view view;

	if (control == NULL)
		return;
	control_role_node_view(control, &view);
	if (view.obeyed.n != appliance->commands_obeyed)
		notice(appliance, "command of node %s: %s, run %u",
		       system->nodes[view.obeyed.from].name, command_text(&view.obeyed), view.run);
	if (view.refused.n != appliance->commands_refused)
		notice(appliance,
		       "refused a command of node %s: %s, run %u: %s (this node is in run %u)",
		       system->nodes[view.refused.from].name, command_text(&view.refused),
		       view.refused.run, view.refused.why, view.run);
	appliance->commands_obeyed = view.obeyed.n;
	appliance->commands_refused = view.refused.n;
}

// Where the process serves several runs, the account of one begins with its start.
static void look_for_begin(struct appliance *appliance)
{
	struct cluster_node_view view;

	if (appliance->run_begun || appliance_control(appliance) == NULL)
		return;
	control_role_node_view(appliance_control(appliance), &view);
	if (view.run == 0)
		return;
	configure_forget(appliance);
	run_has_begun(appliance);
}

static bool a_ring_is_cut(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_builders; i++)
		if (evring_is_cut(appliance->rings[i])) {
			notice(appliance,
			       "event ring of builder %s: %s was truncated by a process that may "
			       "write it; the events in it are lost and the run ends",
			       appliance->config->builders[i].name,
			       evring_path(appliance->rings[i]));
			appliance->failed = true;
			return true;
		}
	return false;
}

bool appliance_watch(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->n_ports; i++) {
		struct flow_control *fc = appliance_flow_control(appliance, i);

		port_watch(&appliance->ports[i]);
		if (fc != NULL)
			flow_control_watch(fc);
	}
	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		unsigned dead = evring_reap(appliance->rings[i]);

		if (dead > 0)
			notice(appliance,
			       "%u consumer(s) of builder %s died; their events go to others", dead,
			       appliance->config->builders[i].name);
	}
	appliance_report_system(appliance);
	report_unfinished_checksums(appliance);
	report_differences(appliance);
	report_commands(appliance);
	keys_watch(appliance);
	roce_report_waiting(appliance);
	report_ended_files(appliance);
	event_rings_watch(appliance);
	diagnosis_poll(appliance);
	configure_watch(appliance);
	look_for_begin(appliance);
	if (run_control_asks_for_end(appliance) || appliance->asked_run != 0 || appliance->adopts ||
	    cluster_is_over(appliance) || a_ring_is_cut(appliance) || producers_are_gone(appliance))
		return true;
	return sources_have_ended(appliance) || sources_are_finished(appliance);
}

// Serves requests while the end of the run waits for a role; NULL: for consumers.
static void wait_a_step(struct appliance *appliance, const char *role, double seconds)
{
	diagnosis_drains(appliance, role, seconds);
	run_control_serve(appliance, STEP_MS);
}

static uint64_t undecided_events(const struct appliance *appliance)
{
	uint64_t undecided = 0;

	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		(void)evring_reap(appliance->rings[i]); // without the notice here
		undecided += evring_undecided(appliance->rings[i]);
	}
	return undecided;
}

// Waits until deciding groups have decided about all events, as long as they make progress: at most
// `seconds` without a decision. Then the events that no living member holds are decided as
// configured, so that writers after these groups can finish.
static void wait_for_decisions(struct appliance *appliance, double seconds)
{
	const uint64_t patience = (uint64_t)(seconds * (double)rte_get_tsc_hz());
	uint64_t end = rte_rdtsc() + patience, least = UINT64_MAX, undecided;

	while ((undecided = undecided_events(appliance)) > 0 && rte_rdtsc() < end) {
		if (undecided < least)
			end = rte_rdtsc() + patience;
		least = RTE_MIN(least, undecided);
		wait_a_step(appliance, NULL, seconds);
	}
	appliance->decisions_are_over = true;
	if (undecided > 0)
		notice(appliance,
		       "%llu built event(s) were not decided in time: what no consumer holds is "
		       "treated as `undecided` of its group says",
		       (unsigned long long)undecided);
}

// Makes all roles of a kind drain and waits for them. False if the time was too short.
static bool drain_kind(struct appliance *appliance, enum config_role_kind kind, double seconds)
{
	const struct plan *plan = appliance->plan;
	uint64_t end = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	const char *waits_for = NULL;

	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == kind)
			atomic_store_explicit(&appliance->roles[i]->drain_requested, true,
					      memory_order_release);
	do {
		waits_for = NULL;
		for (unsigned i = 0; i < plan->n_roles; i++)
			if (plan->roles[i].kind == kind &&
			    !atomic_load_explicit(&appliance->roles[i]->drained,
						  memory_order_acquire))
				waits_for = plan->roles[i].name;
		if (waits_for == NULL)
			return true;
		for (unsigned i = 0; i < appliance->config->n_builders; i++) {
			(void)evring_reap(appliance->rings[i]); // without the notice here
			if (appliance->decisions_are_over)
				evring_settle(appliance->rings[i]);
		}
		wait_a_step(appliance, waits_for, seconds);
	} while (rte_rdtsc() < end);
	notice(appliance, "%s did not finish within %.1f s: what it holds is given up", waits_for,
	       seconds);
	return false;
}

void stop_lcores(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++)
		atomic_store(&appliance->lcores[i].stop, true);
	rte_eal_mp_wait_lcore();
	// What an lcore wrote before its last store to `running` is visible from here on.
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++)
		(void)atomic_load(&appliance->lcores[i].running);
}

// Waits until consumers in other processes have released all published events, and all results in
// event rings. The lcores have stopped, so the control thread is the producer of the rings now.
static bool wait_for_consumers(struct appliance *appliance, double seconds)
{
	uint64_t end = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	uint64_t left, results;
	uint32_t slots[RECLAIM_AT_ONCE];

	do {
		left = 0;
		for (unsigned i = 0; i < appliance->config->n_builders; i++) {
			(void)evring_reap(appliance->rings[i]);
			evring_settle(appliance->rings[i]);
			while (evring_reclaim(appliance->rings[i], slots, RECLAIM_AT_ONCE) > 0)
				;
			left += evring_outstanding(appliance->rings[i]);
		}
		results = results_finish(appliance);
		if (left == 0 && results == 0)
			return true;
		wait_a_step(appliance, NULL, seconds);
	} while (rte_rdtsc() < end);
	if (left > 0)
		notice(appliance, "%llu built event(s) were not released by their consumers",
		       (unsigned long long)left);
	if (results > 0)
		notice(appliance, "%llu block(s) of results were not released by their consumers",
		       (unsigned long long)results);
	return false;
}

// Waits before ports are closed: a packet that the peer has not fetched from the port is lost then.
static void linger(const struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	uint32_t ms = 0;

	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == CONFIG_ROLE_SOURCE ||
		    plan->roles[i].kind == CONFIG_ROLE_READOUT)
			ms = RTE_MAX(ms, plan->ports[plan->roles[i].port].profile.linger_ms);
	if (ms > 0)
		rte_delay_us_sleep(ms * 1000);
}

// Waits until the decisions of this node are where the results of the system are written, and
// until the other nodes know what this one has written.
static bool wait_for_results(struct appliance *appliance, double seconds)
{
	const uint64_t end = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	struct role *control = appliance_control(appliance);

	if (appliance->config->cluster.n_results == 0)
		return true;
	while (!control_role_decisions_are_done(control)) {
		if (rte_rdtsc() > end) {
			notice(appliance,
			       "the node of the results, or one whose decisions it writes, did not "
			       "finish within %.1f s",
			       seconds);
			return false;
		}
		wait_a_step(appliance, "the node of the results", seconds);
	}
	return true;
}

bool appliance_drain(struct appliance *appliance, bool is_last)
{
	double seconds = (double)appliance->config->events.drain_timeout_ns * 1e-9;
	bool drained = true;

	diagnosis_end_run(appliance, false);
	atomic_store(&appliance->state, APPLIANCE_DRAINING);
	drained &= drain_kind(appliance, CONFIG_ROLE_CONTROL, seconds + LEAVE_SECONDS);
	drained &= drain_kind(appliance, CONFIG_ROLE_SOURCE, seconds);
	roce_report_unsent(appliance);
	drained &= drain_kind(appliance, CONFIG_ROLE_READOUT, seconds);
	drained &= drain_kind(appliance, CONFIG_ROLE_RX, seconds + 1);
	drained &= drain_kind(appliance, CONFIG_ROLE_BUILDER, seconds);
	atomic_store(&appliance->stop_tsc, rte_rdtsc());
	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		evring_end_run(appliance->rings[i]); // also if a builder did not drain in time
		if (is_last)
			evring_end(appliance->rings[i]);
	}
	wait_for_decisions(appliance, seconds);
	drained &= drain_kind(appliance, CONFIG_ROLE_WRITER, WRITER_SECONDS);
	drained &= drain_kind(appliance, CONFIG_ROLE_RESULTS_SENDER, WRITER_SECONDS);
	drained &= drain_kind(appliance, CONFIG_ROLE_RESULTS, WRITER_SECONDS);
	drained &= wait_for_results(appliance, WRITER_SECONDS);
	stop_lcores(appliance);
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		if (appliance->stores[i] != NULL && port_store_is(appliance->stores[i]))
			port_store_flush(appliance->stores[i]);
	report_unfinished_checksums(appliance);
	report_differences(appliance);
	for (unsigned i = 0; i < appliance->n_ports; i++)
		port_watch(&appliance->ports[i]);
	if (is_last)
		linger(appliance);
	drained &= wait_for_consumers(appliance, seconds);
	diagnosis_end_run(appliance, true);
	return drained;
}

double appliance_seconds(const struct appliance *appliance)
{
	uint64_t stop = atomic_load(&appliance->stop_tsc);
	uint64_t end = stop != 0 ? stop : rte_rdtsc();

	if (appliance->start_tsc == 0)
		return 0;
	return (double)(end - appliance->start_tsc) / (double)rte_get_tsc_hz();
}
