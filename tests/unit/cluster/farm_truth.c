// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What must hold in every history.
#include "farm.h"

#include <string.h>

static struct truth *truth_of(struct farm *farm, uint64_t event)
{
	static struct truth beyond;

	if (event < FARM_EVENTS)
		return &farm->truth[event];
	farm_broken(farm, "event %ju: more than the test has room for", (uintmax_t)event);
	return &beyond;
}

void truth_granted(struct farm *farm, const struct ctrl_grant *grant)
{
	unsigned builder =
	    farm->configs[0]->cluster.nodes[grant->node].first_builder + grant->builder;
	unsigned registration = farm->registrations[grant->node];
	struct truth *truth = truth_of(farm, grant->event);
	bool same =
	    truth->granted && truth->granted_to == builder && truth->attempt == grant->attempt;

	if (grant->slot >= FARM_SLOTS) {
		farm_broken(farm, "slot %u is granted, which does not exist", grant->slot);
		return;
	}
	// A grant that is repeated for the readouts of the builder's node is the same.
	if (!same && farm->granted_in[builder][grant->slot] == registration &&
	    farm->granted_generation[builder][grant->slot] == grant->generation)
		farm_broken(farm, "event %ju is granted a token that another has",
			    (uintmax_t)grant->event);
	farm->granted_in[builder][grant->slot] = registration;
	farm->granted_generation[builder][grant->slot] = grant->generation;
	// The builder of an attempt before has discarded what it had.
	truth->arrived = same ? truth->arrived : 0;
	truth->granted = farm->epoch;
	truth->granted_to = (uint8_t)builder;
	truth->attempt = grant->attempt;
	if ((grant->flags & CTRL_PERMITTED) != 0)
		truth_ordered(farm, grant->node, grant->builder, grant->event, false);
}

void truth_ordered(struct farm *farm, unsigned node, unsigned index, uint64_t event, bool told)
{
	unsigned builder = farm->configs[0]->cluster.nodes[node].first_builder + index;
	struct truth *truth = truth_of(farm, event);

	truth->ordered |= (uint8_t)(1 << builder);
	if (told)
		truth->told |= (uint8_t)(1 << builder);
	else
		truth->permitted_in = farm->reports[builder];
}

// A permission ends before the builder reports what it holds, to the same manager or another.
static bool may_publish(const struct farm *farm, const struct truth *truth, unsigned builder)
{
	return (truth->told >> builder & 1) != 0 || ((truth->ordered >> builder & 1) != 0 &&
						     truth->permitted_in == farm->reports[builder]);
}

// Where doubts about an event end although its builder is there, this builder may publish it when
// the event is granted to another.
static bool is_late(const struct farm *farm, const struct truth *truth, unsigned builder)
{
	return farm->doubts_end && (truth->ordered >> builder & 1) != 0;
}

// Then it is published twice: both builders were ordered to.
static bool is_doubted(const struct farm *farm, const struct truth *truth)
{
	return farm->doubts_end && (truth->ordered & (truth->ordered - 1)) != 0;
}

// A second time is excused only if the process that published it is gone, and no manager that is
// there has heard of it; or it was about to go, and the manager that had heard of it died.
static bool is_excused(const struct farm *farm, const struct truth *truth)
{
	const struct farm_node *node = &farm->nodes[farm_builder(farm, truth->publisher)->node];
	bool gone = !node->alive || node->life != truth->life;

	if (truth->unseen)
		return truth->heard != farm->epoch;
	return truth->heard != farm->epoch && (gone || (node->leaving && truth->heard != 0));
}

// Nor is it if anybody knows that the event is finished, but for nodes without which a standby has
// taken over.
static bool is_known(const struct farm *farm, uint64_t event)
{
	if (farm_elects(farm))
		return event < farm->known;
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		struct cluster_node_view view = { 0 };

		if (farm->nodes[i].alive && farm->nodes[i].state != CTRL_CONFIGURED)
			cluster_node_view(farm->nodes[i].node, &view);
		if (view.released > event)
			return true;
	}
	return false;
}

void truth_published(struct farm_node *node, unsigned index, const struct sim_slot *slot)
{
	struct farm *farm = node->farm;
	unsigned builder = farm->configs[0]->cluster.nodes[node->number].first_builder + index;
	struct truth *truth = truth_of(farm, slot->event);

	// A manager that took over goes by what builders hold until it has granted the event
	// itself.
	if (truth->granted == 0 ||
	    (truth->granted == farm->epoch && !is_late(farm, truth, builder) &&
	     (truth->granted_to != builder || truth->attempt != slot->attempt)))
		farm_broken(farm,
			    "event %ju is published by builder %u, attempt %u, and was granted to "
			    "%u, attempt %u",
			    (uintmax_t)slot->event, builder, slot->attempt, truth->granted_to,
			    truth->attempt);
	if (!may_publish(farm, truth, builder))
		farm_broken(farm, "event %ju is published by builder %u, which may not",
			    (uintmax_t)slot->event, builder);
	if (truth->published > 0) {
		if (is_doubted(farm, truth) ||
		    (is_excused(farm, truth) && !is_known(farm, slot->event)))
			farm->twice++;
		else
			farm_broken(farm, "event %ju is published twice, by builders %u and %u",
				    (uintmax_t)slot->event, truth->publisher, builder);
	}
	truth->published++;
	truth->unflagged += !slot->repeated;
	if (truth->unflagged > 1 && !truth->beyond)
		farm_broken(farm, "event %ju is published twice, and consumers are not told",
			    (uintmax_t)slot->event);
	farm->n_repeated += slot->repeated;
	truth->publisher = (uint8_t)builder;
	truth->life = node->life;
	truth->heard = 0;
	truth->incomplete = slot->incomplete;
	farm->n_published++;
	farm->n_incomplete += slot->incomplete;
}

void truth_published_statically(struct farm_node *node, unsigned index, const struct sim_slot *slot)
{
	struct farm *farm = node->farm;
	const struct cluster_system *cluster = &farm->configs[0]->cluster;
	unsigned builder = cluster->nodes[node->number].first_builder + index;
	struct truth *truth = truth_of(farm, slot->event);

	if (truth->published++ > 0 || slot->event % cluster->n_builders != builder)
		farm_broken(farm, "event %ju is published by builder %u, %u times",
			    (uintmax_t)slot->event, builder, truth->published);
	farm->n_published++;
	farm->n_incomplete += slot->incomplete;
}

static void heard_of(struct farm *farm, unsigned node, unsigned index, uint64_t event)
{
	const struct cluster_system_node *at = &farm->configs[0]->cluster.nodes[node];
	struct truth *truth = truth_of(farm, event);

	if (index < at->n_builders && truth->publisher == at->first_builder + index)
		truth->heard = farm->epoch;
}

void truth_heard(struct farm *farm, unsigned from, const struct ctrl_record *record,
		 uint64_t counted)
{
	const struct cluster_system_node *at = &farm->configs[0]->cluster.nodes[from];
	const unsigned first = at->first_builder;
	struct ctrl_progress progress;
	struct ctrl_built built;
	struct ctrl_steps steps;
	struct ctrl_adopt adopt;
	struct ctrl_done done;

	if (record->type == CTRL_REGISTER) {
		farm->registrations[from]++;
		for (unsigned i = 0; i < at->n_builders; i++)
			farm->reporting[first + i] = true;
	}
	if (counted > 0 && ctrl_get_progress(record, &progress) == WIRE_OK)
		heard_of(farm, from, progress.builder, progress.event);
	// If only some count, it is not known which.
	for (unsigned i = 0;
	     ctrl_get_steps(record, &steps) == WIRE_OK && counted == steps.n && i < steps.n; i++)
		heard_of(farm, from, steps.builder,
			 ctrl_event_at(steps.first, ctrl_step_event_at(&steps, i).offset));
	for (unsigned i = 0;
	     ctrl_get_built(record, &built) == WIRE_OK &&
	     (built.flags & CTRL_ALREADY_PUBLISHED) != 0 && counted == built.n && i < built.n;
	     i++, farm->n_unasked++)
		heard_of(farm, from, built.builder,
			 ctrl_event_at(built.first, ctrl_built_event_at(&built, i).offset));
	if (ctrl_get_done(record, &done) == WIRE_OK && done.outcome == CTRL_DISCARDED)
		truth_of(farm, done.event)->discarded = true;
	if (ctrl_get_adopt(record, &adopt) != WIRE_OK)
		return;
	if ((adopt.flags & CTRL_LAST) != 0 && farm->reporting[first + adopt.builder]) {
		farm->reporting[first + adopt.builder] = false;
		farm->reports[first + adopt.builder]++;
	}
	for (unsigned i = 0; i < adopt.n; i++) {
		struct ctrl_held held = ctrl_held_at(&adopt, i);

		if (held.holding == CTRL_HOLDS_BUILT)
			heard_of(farm, from, adopt.builder, held.event);
	}
}

void truth_started(struct farm *farm)
{
	struct cluster_manager_view manager = farm_view(farm);

	if (manager.announced > 0 || manager.released > 0)
		return;
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		struct cluster_node_view view = { 0 };

		if (farm->nodes[i].alive)
			cluster_node_view(farm->nodes[i].node, &view);
		if (view.run != 0)
			return;
	}
	farm->n_runs++;
	farm->released = 0;
	memset(farm->truth, 0, sizeof(farm->truth));
}

void truth_released(struct farm *farm, uint64_t event)
{
	for (; farm->released < event; farm->released++) {
		const struct truth *truth = truth_of(farm, farm->released);

		if (truth->published == 0 && !truth->discarded)
			farm_broken(farm, "event %ju is released, and nobody has published it",
				    (uintmax_t)farm->released);
	}
}

void truth_asked(struct farm_node *node, const struct ctrl_record *record)
{
	struct farm *farm = node->farm;
	struct cluster_node_view view;
	struct ctrl_request request;
	struct ctrl_grants grants;
	struct ctrl_grant grant;
	const struct truth *truth;

	cluster_node_view(node->node, &view);
	// A standby takes over without the nodes that are silent, and these may know more.
	if (farm_elects(farm))
		return;
	if (ctrl_get_grants(record, &grants) == WIRE_OK && grants.first < view.released)
		farm_broken(farm, "node %u is granted event %ju, which is released", node->number,
			    (uintmax_t)grants.first);
	if (ctrl_get_grant(record, &grant) == WIRE_OK && grant.event < view.released)
		farm_broken(farm, "node %u is granted event %ju, which is released", node->number,
			    (uintmax_t)grant.event);
	if (ctrl_get_request(record, &request) != WIRE_OK || request.grant.event >= view.released)
		return;
	// A request of a builder that is not to build it any more may still be on its way.
	grant = request.grant;
	truth = truth_of(farm, grant.event);
	if (truth->granted_to ==
		farm->configs[0]->cluster.nodes[grant.node].first_builder + grant.builder &&
	    truth->attempt == grant.attempt && truth->published == 0 && !truth->discarded)
		farm_broken(farm, "node %u is asked for event %ju, which is released", node->number,
			    (uintmax_t)grant.event);
}

static unsigned rank_of(enum ctrl_run_state state)
{
	switch (state) {
	case CTRL_CONFIGURED:
		return 1;
	case CTRL_READY:
		return 2;
	case CTRL_RUNNING:
	case CTRL_PAUSED:
		return 3;
	case CTRL_DRAINING:
		return 4;
	case CTRL_STOPPED:
		return 5;
	default:
		return 0;
	}
}

// The run has ended: nothing is left to do, and every source that takes part has announced just
// what there was.
static void check_stop(struct farm *farm)
{
	struct cluster_manager_view manager = farm_view(farm);
	uint64_t incomplete = 0, twice = 0;

	if (farm_is_static(farm)) {
		// Sources may have sent what comes behind the end before they heard of it.
		if (farm->n_published < manager.end || manager.throttled)
			farm_broken(farm, "%ju events are published of %ju, throttled %d",
				    (uintmax_t)farm->n_published, (uintmax_t)manager.end,
				    manager.throttled);
		return;
	}
	// No port of the farm is ever congested.
	if (sched_counters(cluster_manager_sched(farm_manager(farm)))->cuts != 0)
		farm_broken(farm, "the rate of a port was cut");
	if (manager.outstanding != 0 || manager.waiting != 0)
		farm_broken(farm, "at the end %ju events are outstanding, %ju wait",
			    (uintmax_t)manager.outstanding, (uintmax_t)manager.waiting);
	if (manager.released != manager.announced || manager.announced > manager.end)
		farm_broken(farm, "at the end %ju events are released of %ju, the end is %ju",
			    (uintmax_t)manager.released, (uintmax_t)manager.announced,
			    (uintmax_t)manager.end);
	if (farm->epoch == 1 &&
	    manager.complete + manager.incomplete + manager.discarded != manager.released)
		farm_broken(farm, "%ju events are released, and %ju were counted",
			    (uintmax_t)manager.released,
			    (uintmax_t)(manager.complete + manager.incomplete + manager.discarded));
	for (uint64_t i = 0; i < manager.announced; i++) {
		const struct truth *truth = truth_of(farm, i);

		if (truth->published == 0 && !truth->discarded)
			farm_broken(farm, "event %ju was not published", (uintmax_t)i);
		incomplete += truth->published == 1 && truth->incomplete;
		twice += truth->published > 1;
	}
	// Which of two publications counts is not said here.
	if (farm->epoch == 1 &&
	    (manager.incomplete < incomplete || manager.incomplete > incomplete + twice))
		farm_broken(farm,
			    "%ju events are incomplete, %ju were published twice, and %ju "
			    "were counted as incomplete",
			    (uintmax_t)incomplete, (uintmax_t)twice, (uintmax_t)manager.incomplete);
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		const struct farm_node *node = &farm->nodes[i];
		struct cluster_node_state state;

		cluster_manager_node(farm_manager(farm), i, &state);
		for (unsigned j = 0; j < farm->configs[i]->n_generators; j++)
			if (node->alive && state.registered && !state.lost &&
			    node->readouts[j].end == manager.end &&
			    node->readouts[j].announced != manager.end)
				farm_broken(farm, "node %u has announced %ju events of %ju", i,
					    (uintmax_t)node->readouts[j].announced,
					    (uintmax_t)manager.end);
	}
}

static void note_known(struct farm *farm)
{
	farm->known = 0;
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		struct cluster_node_view view = { 0 };
		struct cluster_node_state state;

		cluster_manager_node(farm_manager(farm), i, &state);
		if (farm->nodes[i].alive && state.registered)
			cluster_node_view(farm->nodes[i].node, &view);
		farm->known = view.released > farm->known ? view.released : farm->known;
	}
}

static void note_unseen(struct farm *farm)
{
	for (uint64_t event = farm_view(farm).released; farm_elects(farm) && event < FARM_EVENTS;
	     event++) {
		struct truth *truth = &farm->truth[event];
		struct cluster_node_state state = { 0 };

		if (truth->published > 0)
			cluster_manager_node(farm_manager(farm),
					     farm_builder(farm, truth->publisher)->node, &state);
		truth->unseen |= truth->published > 0 && !state.registered;
	}
}

// A manager begins. It suspects as many events as can be unfinished at once, from what any node
// knows as released: where nobody is there who was with the run to its last, it was further.
static void note_beginning(struct farm *farm)
{
	const struct farm_node *manager = &farm->nodes[farm->manager];

	if (farm->began == farm->epoch || manager->manager == NULL ||
	    cluster_manager_sched(manager->manager) == NULL)
		return;
	farm->began = farm->epoch;
	note_known(farm);
	note_unseen(farm);
	for (uint64_t event = farm_view(farm).released +
			      cluster_unfinished(farm->configs[0]->event_manager.source_buffer);
	     event < FARM_EVENTS; event++)
		farm->truth[event].beyond |= farm->truth[event].granted != 0;
}

void truth_state(struct farm_node *node)
{
	struct farm *farm = node->farm;
	enum ctrl_run_state before = farm->state;
	struct cluster_node_view view;

	note_beginning(farm);
	if (node->number == farm->manager || !farm->nodes[farm->manager].alive)
		farm->state = farm_view(farm).state;
	if (farm->state == CTRL_STOPPED && before == CTRL_DRAINING &&
	    farm_view(farm).end != UINT64_MAX) // else a new manager has heard that it ended
		check_stop(farm);

	cluster_node_view(node->node, &view);
	if (rank_of(view.state) < rank_of(node->state))
		farm_broken(farm, "node %u goes from state %d to %d", node->number,
			    (int)node->state, (int)view.state);
	node->state = view.state;
}

static void check_node(struct farm *farm, struct farm_node *node)
{
	const struct config *config = farm->configs[node->number];
	struct cluster_node_view view;

	cluster_node_view(node->node, &view);
	if (view.tokens_used != 0)
		farm_broken(farm, "node %u: %u tokens are not free", node->number,
			    view.tokens_used);
	for (unsigned i = 0; i < config->n_builders; i++)
		for (unsigned j = 0; j < node->builders[i].n_slots; j++)
			if (node->builders[i].slots[j].state != SIM_NONE)
				farm_broken(
				    farm,
				    "node %u: slot %u of builder %u is not free: event %ju, "
				    "state %d, granted %d",
				    node->number, j, i, (uintmax_t)node->builders[i].slots[j].event,
				    (int)node->builders[i].slots[j].state,
				    node->builders[i].slots[j].granted);
	if (node->leaving)
		return;
	if (view.state != CTRL_STOPPED)
		farm_broken(farm, "node %u ends in state %d", node->number, (int)view.state);
}

void truth_end(struct farm *farm)
{
	for (unsigned i = 0; i < farm->n_nodes; i++)
		if (farm->nodes[i].alive)
			check_node(farm, &farm->nodes[i]);
}
