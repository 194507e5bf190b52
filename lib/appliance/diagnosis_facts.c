// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/diagnosis_facts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "appliance/parts.h"
#include "builder/builder_role.h"

#define SECOND_NS       UINT64_C(1000000000)
#define SILENT_NS       (2 * SECOND_NS) // that a source is behind the others
#define NO_SUCH_PROCESS '?'

static const struct assembly *assembly_of(const struct appliance *appliance, unsigned index)
{
	return builder_role_assembly(appliance_role(appliance, CONFIG_ROLE_BUILDER, index));
}

// --- slots and who holds them --------------------------------------------------------------------

// Whether a signal has stopped a process. Its number is what the process says of itself: another
// PID namespace may have another process of this number.
static bool is_stopped(uint32_t pid)
{
	char path[32], line[256], state = NO_SUCH_PROCESS;
	const char *end;
	FILE *file;

	if (pid == 0 || pid == (uint32_t)getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) != NULL && (end = strrchr(line, ')')) != NULL)
		(void)sscanf(end, ") %c", &state);
	fclose(file);
	return state == 'T' || state == 't';
}

// The process to look at in a group that releases nothing: the member with the oldest event, or one
// that is stopped, or the first.
static void find_process(struct diagnosis_group *to, const struct evring *ring, unsigned group)
{
	to->is_stopped = is_stopped(to->pid);
	for (unsigned i = 0; i < EVRING_MAX_MEMBERS && !to->is_stopped; i++) {
		const uint32_t pid = evring_member_pid(ring, group, i);

		to->is_stopped = is_stopped(pid);
		if (to->is_stopped || to->pid == 0)
			to->pid = pid;
	}
}

// The writer that is the only member of a group.
static uint32_t writer_of(const struct config *config, const struct evring_group_state *group)
{
	uint32_t found = DIAGNOSIS_NONE;
	unsigned n = 0;

	for (unsigned i = 0; i < config->n_writers; i++)
		if (strcmp(config->writers[i].group, group->name) == 0) {
			found = i;
			n++;
		}
	return n == group->members ? found : DIAGNOSIS_NONE;
}

static void take_group(struct diagnosis_group *to, struct facts_group *watch,
		       const struct config *config, const struct evring_group_state *state,
		       const struct evring_hold *hold, uint64_t now)
{
	const bool idle = hold->slots > 0 && state->released == watch->released;

	snprintf(to->name, sizeof(to->name), "%s", state->name);
	to->configured = state->persistent;
	to->slots = hold->slots;
	to->members = state->members;
	to->pid = hold->pid;
	to->writer = writer_of(config, state);
	to->idle_ns = steady_holds(&watch->idle, idle, now);
	steady_count(&watch->rate, state->released, now);
	to->released = watch->rate.rate;
	watch->released = state->released;
}

// Whether it is worth examining the slots of a ring: they are all in use, the run ends, or events
// wait for a group that has no members.
static bool has_to_look(const struct appliance *appliance, unsigned index, bool full)
{
	const struct evring *ring = appliance->rings[index];
	struct evring_group_state state;

	if (evring_outstanding(ring) == 0)
		return false;
	if (full || atomic_load(&appliance->state) != APPLIANCE_RUNNING)
		return true;
	for (unsigned i = 0; i < EVRING_MAX_GROUPS; i++)
		if (evring_group(ring, i, &state) && state.members == 0 && state.lag > 0)
			return true;
	return false;
}

static void take_builder(struct facts_watch *watch, const struct appliance *appliance,
			 unsigned index, uint64_t now)
{
	const struct role *role = appliance_role(appliance, CONFIG_ROLE_BUILDER, index);
	const struct assembly *assembly = builder_role_assembly(role);
	const struct evring *ring = appliance->rings[index];
	const uint32_t slots = evring_slots(ring);
	const uint32_t spare = cluster_grants(appliance->config) ? cluster_spare(slots) : 0;
	const bool full = assembly_free_slots(assembly) <= spare;
	struct diagnosis_builder *to = &watch->builders[index];
	struct evring_hold holds[EVRING_MAX_GROUPS] = { 0 };
	struct evring_group_state state;

	*to = (struct diagnosis_builder){
		.name = appliance->config->builders[index].name,
		.role = role->name,
		.slots = slots,
		.open = assembly_open_events(assembly),
		.full_ns = steady_holds(&watch->builder_watch[index].full, full, now),
	};
	if (has_to_look(appliance, index, full))
		evring_holds(ring, holds);
	for (unsigned i = 0; i < EVRING_MAX_GROUPS; i++) {
		struct diagnosis_group *group = &to->groups[to->n_groups];

		if (!evring_group(ring, i, &state))
			continue;
		take_group(group, &watch->builder_watch[index].groups[i], appliance->config, &state,
			   &holds[i], now);
		if (group->idle_ns > SECOND_NS && group->writer == DIAGNOSIS_NONE)
			find_process(group, ring, i);
		to->n_groups++;
	}
}

// --- links and lcores ----------------------------------------------------------------------------

static void take_times(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < plan->n_roles; i++)
		steady_count(&watch->role_busy[i],
			     counter_read(&appliance->roles[i]->counters.busy_cycles), now);
	for (unsigned i = 0; i < plan->n_lcores; i++) {
		const struct lcore *lcore = &appliance->lcores[i];
		const uint64_t busy = counter_read(&lcore->counters.busy_cycles);

		steady_count(&watch->lcore_busy[i], busy, now);
		steady_count(&watch->lcore_time[i],
			     busy + counter_read(&lcore->counters.idle_cycles) +
				 counter_read(&lcore->counters.backpressured_cycles),
			     now);
	}
}

static void add_link(struct facts_watch *watch, const struct appliance *appliance,
		     const struct link *link, uint64_t full_ns)
{
	const unsigned role = plan_find_role(appliance->plan, link->consumer);
	struct diagnosis_link *to = &watch->links[watch->facts.n_links];
	unsigned lcore;
	double time;

	if (role == PLAN_NONE || watch->facts.n_links == FACTS_LINKS)
		return;
	lcore = appliance->plan->roles[role].lcore;
	time = watch->lcore_time[lcore].rate;
	*to = (struct diagnosis_link){
		.producer = link->producer,
		.consumer = link->consumer,
		.full_ns = full_ns,
		.busy = time > 0 ? watch->role_busy[role].rate / time : 0,
		.lcore_busy = time > 0 ? watch->lcore_busy[lcore].rate / time : 0,
		.cpu = appliance->lcores[lcore].cpu,
	};
	watch->facts.n_links++;
}

static void take_links(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	watch->facts.n_links = 0;
	for (unsigned i = 0; i < appliance->n_links; i++) {
		const struct link *link = appliance->links[i];
		struct facts_link *before = &watch->link_watch[i];
		const uint64_t full =
		    counter_read(&link->counters.full) + counter_read(&link->counters.dropped);
		const uint64_t full_ns =
		    steady_holds(&before->condition, full != before->full, now);

		before->full = full;
		if (full_ns > 0)
			add_link(watch, appliance, link, full_ns);
	}
}

// --- writers, ports, sources ---------------------------------------------------------------------

static void take_writers(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	for (unsigned i = 0; i < appliance->config->n_writers; i++) {
		const struct role *role = appliance_role(appliance, CONFIG_ROLE_WRITER, i);
		const struct writer_counters *counters = writer_role_counters(role);
		const uint64_t error = counter_read(&counters->paused);

		watch->writers[i] = (struct diagnosis_writer){
			.role = role->name,
			.directory = appliance->config->writers[i].directory,
			.paused_ns = steady_holds(&watch->writer_paused[i], error != 0, now),
			.error = (int)error,
			.failures = counter_read(&counters->failures),
		};
	}
}

static void take_ports(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	for (unsigned i = 0; i < appliance->n_ports; i++) {
		const struct port_settings *settings = &appliance->config->ports[i];
		struct rte_eth_link link = { 0 };
		struct diagnosis_port *to = &watch->ports[i];
		struct pause_counters pauses = { 0 };

		if (rte_eth_link_get_nowait(appliance->ports[i].id, &link) != 0)
			link.link_status = RTE_ETH_LINK_UP; // it is not known
		if (settings->flow_control.mode != FLOW_CONTROL_OFF)
			flow_control_priority_counters(&appliance->flow_controls[i],
						       settings->flow_control.priority, &pauses);
		steady_count(&watch->port_watch[i].paused, pauses.paused_ns, now);
		*to = (struct diagnosis_port){
			.name = settings->name,
			.device = settings->device,
			.is_down = link.link_status != RTE_ETH_LINK_UP,
			.paused = watch->port_watch[i].paused.rate / (double)SECOND_NS,
			.missed = watch->port_watch[i].lost,
		};
	}
}

static void take_differences(struct facts_watch *watch, const struct appliance *appliance)
{
	watch->facts.n_differences = 0;
	for (unsigned b = 0; b < appliance->config->n_builders; b++) {
		const struct source_difference *list;
		const uint32_t n = assembly_differences(assembly_of(appliance, b), &list);

		for (uint32_t i = 0; i < n && watch->facts.n_differences < FACTS_DIFFERENCES; i++) {
			struct diagnosis_difference *to =
			    &watch->differences[watch->facts.n_differences];

			to->source = appliance->sources.ids[list[i].source];
			source_difference_text(&list[i], to->source, to->sentence, to->remedy);
			watch->facts.n_differences++;
		}
	}
}

static uint64_t segments_of(const struct appliance *appliance, unsigned source)
{
	uint64_t segments = 0;

	for (unsigned b = 0; b < appliance->config->n_builders; b++)
		segments += counter_read(
		    &assembly_source_counters(assembly_of(appliance, b))[source].segments);
	return segments;
}

// Finds the sources that are behind those that send: once per second, since there may be thousands.
static void take_sources(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	const unsigned n = appliance->config->n_builders > 0 ? appliance->sources.n_expected : 0;
	struct diagnosis_facts *facts = &watch->facts;
	uint64_t latest = 0;

	if (watch->sources_at != 0 && now - watch->sources_at < SECOND_NS)
		return;
	for (unsigned i = 0; i < n; i++) {
		struct facts_source *source = &watch->sources[i];
		const uint64_t segments = segments_of(appliance, i);

		if (segments != source->segments || watch->sources_at == 0)
			source->changed_at = now;
		source->segments = segments;
		latest = RTE_MAX(latest, source->changed_at);
	}
	watch->sources_at = now;
	facts->silent_sources = 0;
	for (unsigned i = n; i-- > 0;)
		if (latest - watch->sources[i].changed_at >= SILENT_NS) {
			facts->silent_sources++;
			facts->silent_source = appliance->sources.ids[i];
			facts->silent_ns = latest - watch->sources[i].changed_at;
		}
}

// --- losses --------------------------------------------------------------------------------------

static struct facts_loss sum_losses(struct facts_watch *watch, const struct appliance *appliance,
				    uint64_t now)
{
	const struct account *account = &watch->account;
	struct facts_loss sum = { .at = now };

	account_take(appliance, &watch->account);
	sum.missed = account->missed;
	sum.dropped = account_losses(account);
	sum.incomplete = account->built.events_incomplete + account->built.events_discarded;
	memcpy(sum.causes, account->rx.packet_drops, sizeof(account->rx.packet_drops));
	memcpy(sum.causes + PACKET_N_CAUSES, account->segment_drops,
	       sizeof(account->segment_drops));
	sum.causes[PACKET_N_CAUSES + SEGMENT_OUTSIDE_RUN] = 0; // no loss
	return sum;
}

static const char *cause_name(unsigned cause)
{
	return cause < PACKET_N_CAUSES ? packet_cause_name(cause)
				       : segment_cause_name(cause - PACKET_N_CAUSES);
}

static void set_losses(struct diagnosis_facts *facts, const struct facts_loss *now,
		       const struct facts_loss *before, double seconds)
{
	unsigned most = 0;

	for (unsigned i = 0; i < PACKET_N_CAUSES + SEGMENT_N_CAUSES; i++)
		if (now->causes[i] - before->causes[i] > now->causes[most] - before->causes[most])
			most = i;
	facts->losses = (struct diagnosis_losses){
		.missed = now->missed - before->missed,
		.dropped = now->dropped - before->dropped,
		.incomplete = now->incomplete - before->incomplete,
		.cause = cause_name(most),
		.seconds = seconds,
	};
}

// Once per second: the losses of the last seconds.
static void take_losses(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	const unsigned last = (watch->n_losses + FACTS_LOSSES - 1) % FACTS_LOSSES;
	const unsigned at = watch->n_losses % FACTS_LOSSES;
	struct facts_loss sum;
	const struct facts_loss *oldest;

	if (watch->n_losses > 0 && now - watch->losses[last].at < SECOND_NS)
		return;
	sum = sum_losses(watch, appliance, now);
	oldest = watch->n_losses < FACTS_LOSSES ? &watch->losses[0] : &watch->losses[at];
	if (watch->n_losses > 0)
		set_losses(&watch->facts, &sum, oldest,
			   (double)(now - oldest->at) / (double)SECOND_NS);
	for (unsigned i = 0; i < appliance->n_ports; i++) {
		const uint64_t missed = port_missed(&appliance->ports[i]);
		uint64_t *window = watch->port_watch[i].missed;

		watch->port_watch[i].lost =
		    missed - window[watch->n_losses < FACTS_LOSSES ? 0 : at];
		window[at] = missed;
	}
	watch->losses[at] = sum;
	watch->n_losses++;
}

void facts_take_all_losses(struct facts_watch *watch, const struct appliance *appliance)
{
	static const struct facts_loss none;
	const struct facts_loss sum = sum_losses(watch, appliance, 0);

	set_losses(&watch->facts, &sum, &none, watch->account.seconds);
}

void facts_take(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	const struct config *config = appliance->config;
	struct diagnosis_facts *facts = &watch->facts;
	// These three are not taken at each look.
	const struct diagnosis_facts before = *facts;

	*facts = (struct diagnosis_facts){
		.builders = watch->builders,
		.n_builders = config->n_builders,
		.links = watch->links,
		.writers = watch->writers,
		.n_writers = config->n_writers,
		.differences = watch->differences,
		.ports = watch->ports,
		.n_ports = appliance->n_ports,
		.nodes = watch->nodes,
		.silent_sources = before.silent_sources,
		.silent_source = before.silent_source,
		.silent_ns = before.silent_ns,
		.deadline_ns = config->events.deadline_ns,
		.losses = before.losses,
	};
	take_times(watch, appliance, now);
	take_writers(watch, appliance, now);
	for (unsigned i = 0; i < config->n_builders; i++)
		take_builder(watch, appliance, i, now);
	take_links(watch, appliance, now);
	take_losses(watch, appliance, now);
	take_ports(watch, appliance, now);
	take_differences(watch, appliance);
	take_sources(watch, appliance, now);
	facts_take_system(watch, appliance, now);
}
