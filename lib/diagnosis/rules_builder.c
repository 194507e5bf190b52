// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rules about slots and links: the backpressure inside an appliance, followed to its end.
#include "diagnosis/rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_full(const struct diagnosis_builder *builder)
{
	return builder->full_ns >= PATIENCE_NS;
}

// "all 128 slots of b0", "120 of 128 slots of b0"
static void add_slots(struct diagnosis_finding *finding, const struct diagnosis_builder *builder,
		      const struct diagnosis_group *group)
{
	if (group->slots >= builder->slots)
		finding_add_passing(finding, "all %u ", builder->slots);
	else
		finding_add_passing(finding, "%u of %u ", group->slots, builder->slots);
	finding_add(finding, "slots of %s", builder->name);
	finding_holds_back(finding, builder->role);
}

// --- who holds the slots -------------------------------------------------------------------------

// The group that holds most slots of a full builder, if that is at least half of them.
static const struct diagnosis_group *holder_of(const struct diagnosis_builder *builder)
{
	const struct diagnosis_group *most = NULL;

	for (uint32_t i = 0; is_full(builder) && i < builder->n_groups; i++)
		if (builder->groups[i].slots * 2 >= builder->slots &&
		    (most == NULL || builder->groups[i].slots > most->slots))
			most = &builder->groups[i];
	return most;
}

static const struct diagnosis_writer *writer_of(const struct diagnosis_facts *facts,
						const struct diagnosis_group *group)
{
	return group->writer != DIAGNOSIS_NONE ? &facts->writers[group->writer] : NULL;
}

static bool is_idle(const struct diagnosis_group *group)
{
	return group->members > 0 && group->idle_ns >= PATIENCE_NS;
}

// "writer.disk waits for room on /data"
static void add_pause(struct diagnosis_finding *finding, const struct diagnosis_writer *writer)
{
	if (writer->error == ENOSPC || writer->error == EDQUOT)
		finding_add(finding, "%s waits for room on %s", writer->role, writer->directory);
	else
		finding_add(finding, "%s cannot write to %s: %s", writer->role, writer->directory,
			    strerror(writer->error));
}

void look_for_writers_without_room(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_writers; i++) {
		const struct diagnosis_writer *writer = &facts->writers[i];
		struct diagnosis_finding *finding;

		// At the end of the run look_at_drain() names it.
		if (writer->paused_ns < PATIENCE_NS || facts->drain.since_ns > 0)
			continue;
		finding = finding_begin(to, "%s", writer->role);
		add_pause(finding, writer);
		finding_add_passing(finding, " (for ");
		finding_add_time(finding, writer->paused_ns);
		finding_add_passing(finding, ")");
		finding_remedy(finding, "free space there: events wait in their slots meanwhile");
		for (uint32_t b = 0; b < facts->n_builders; b++)
			if (holder_of(&facts->builders[b]) != NULL &&
			    holder_of(&facts->builders[b])->writer == i)
				finding_holds_back(finding, facts->builders[b].role);
	}
}

void look_for_groups_without_members(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_builders; i++)
		for (uint32_t j = 0; j < facts->builders[i].n_groups; j++) {
			const struct diagnosis_builder *builder = &facts->builders[i];
			const struct diagnosis_group *group = &builder->groups[j];
			struct diagnosis_finding *finding;

			if (group->members > 0 || group->slots == 0 || group->idle_ns < PATIENCE_NS)
				continue;
			finding = finding_begin(to, "group %s", group->name);
			finding_add(finding, "consumer group %s has no member and holds ",
				    group->name);
			add_slots(finding, builder, group);
			finding_remedy(finding,
				       "start a consumer of group %s, or remove the group from the "
				       "configuration",
				       group->name);
			if (finding != NULL && holder_of(builder) != group)
				finding->severity = DIAGNOSIS_LOOK;
		}
}

// "group filter (1 member, pid 4711, stopped 22 s ago)"
static void add_idle_group(struct diagnosis_finding *finding, const struct diagnosis_group *group)
{
	finding_add(finding, "group %s (%u member%s", group->name, group->members,
		    plural(group->members));
	if (group->pid != 0)
		finding_add(finding, ", pid %u", group->pid);
	finding_add_passing(finding, "%s", group->is_stopped ? ", stopped " : ", no release for ");
	finding_add_time(finding, group->idle_ns);
	finding_add_passing(finding, "%s", group->is_stopped ? " ago" : "");
	finding_add(finding, ")");
}

static void add_idle_remedy(struct diagnosis_finding *finding, const struct diagnosis_group *group)
{
	if (group->is_stopped)
		finding_remedy(finding,
			       "kill -CONT %u lets it go on; if it ends, other members get its "
			       "events",
			       group->pid);
	else if (group->pid != 0)
		finding_remedy(finding,
			       "see what process %u waits for; if it ends, other members get its "
			       "events",
			       group->pid);
	else
		finding_remedy(finding, "see what its members wait for");
}

// A finding whose subject is the group, or its writer.
static struct diagnosis_finding *begin_at_holder(struct findings *to,
						 const struct diagnosis_group *group,
						 const struct diagnosis_writer *writer)
{
	return writer != NULL ? finding_begin(to, "%s", writer->role)
			      : finding_begin(to, "group %s", group->name);
}

void look_for_idle_groups(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_builders; i++) {
		const struct diagnosis_builder *builder = &facts->builders[i];
		const struct diagnosis_group *group = holder_of(builder);
		const struct diagnosis_writer *writer;
		struct diagnosis_finding *finding;

		if (group == NULL || !is_idle(group))
			continue;
		writer = writer_of(facts, group);
		if (writer != NULL && writer->paused_ns >= PATIENCE_NS)
			continue; // look_for_writers_without_room() names it
		finding = begin_at_holder(to, group, writer);
		if (writer != NULL) {
			finding_add(finding, "%s", writer->role);
			finding_add_passing(finding, " has written nothing for ");
			finding_add_time(finding, group->idle_ns);
			finding_add(finding, " and holds ");
			finding_remedy(finding, "see whether %s still responds", writer->directory);
		} else {
			finding_add(finding, "consumer ");
			add_idle_group(finding, group);
			finding_add(finding, " holds ");
			add_idle_remedy(finding, group);
		}
		add_slots(finding, builder, group);
	}
}

void look_for_slow_groups(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_builders; i++) {
		const struct diagnosis_builder *builder = &facts->builders[i];
		const struct diagnosis_group *group = holder_of(builder);
		const struct diagnosis_writer *writer;
		struct diagnosis_finding *finding;

		if (group == NULL || group->members == 0 || is_idle(group))
			continue;
		writer = writer_of(facts, group);
		finding = begin_at_holder(to, group, writer);
		if (writer != NULL)
			finding_add(finding, "%s", writer->role);
		else
			finding_add(finding, "consumer group %s (%u member%s)", group->name,
				    group->members, plural(group->members));
		finding_add(finding, " is too slow");
		finding_add_passing(finding, " with %.0f events/s", group->released);
		finding_add(finding, " and holds ");
		add_slots(finding, builder, group);
		if (writer != NULL)
			finding_remedy(finding, "%s needs a faster disk, or %s an lcore of its own",
				       writer->directory, writer->role);
		else
			finding_remedy(finding,
				       "start more members of %s, or have them do less per event",
				       group->name);
	}
}

void look_for_open_events(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_builders; i++) {
		const struct diagnosis_builder *builder = &facts->builders[i];
		struct diagnosis_finding *finding;

		if (!is_full(builder) || holder_of(builder) != NULL ||
		    builder->open * 2 < builder->slots)
			continue;
		finding = finding_begin(to, "%s", builder->role);
		finding_add(finding, "events that lack data occupy ");
		finding_add_passing(finding, "%u of %u ", builder->open, builder->slots);
		finding_add(finding, "slots of %s", builder->name);
		finding_holds_back(finding, builder->role);
		finding_remedy(finding, "see which sources are behind; more slots or a shorter "
					"events.deadline help");
	}
}

// --- who does not empty a link -------------------------------------------------------------------

// Whether the consumer is a builder that waits for slots, which another rule explains, or was named
// for an earlier link.
static bool is_explained(const struct diagnosis_facts *facts, uint32_t link)
{
	const char *consumer = facts->links[link].consumer;

	for (uint32_t i = 0; i < facts->n_builders; i++)
		if (strcmp(facts->builders[i].role, consumer) == 0 && is_full(&facts->builders[i]))
			return true;
	for (uint32_t i = 0; i < link; i++)
		if (facts->links[i].full_ns >= PATIENCE_NS &&
		    strcmp(facts->links[i].consumer, consumer) == 0)
			return true;
	return false;
}

void look_for_slow_roles(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_links; i++) {
		const struct diagnosis_link *link = &facts->links[i];
		struct diagnosis_finding *finding;

		if (link->full_ns < PATIENCE_NS || is_explained(facts, i))
			continue;
		finding = finding_begin(to, "%s", link->consumer);
		finding_add(finding, "%s is too slow for %s", link->consumer, link->producer);
		finding_add_passing(finding,
				    ": CPU %u is busy for %.0f %% of the time, with it for "
				    "%.0f %%",
				    link->cpu, 100 * link->lcore_busy, 100 * link->busy);
		finding_holds_back(finding, link->consumer);
		finding_remedy(finding, "give it a CPU of its own (lcores), or use more builders");
	}
}

// --- the end of the run --------------------------------------------------------------------------

// The group with most events of all builders.
static const struct diagnosis_group *last_holder(const struct diagnosis_facts *facts)
{
	const struct diagnosis_group *most = NULL;

	for (uint32_t i = 0; i < facts->n_builders; i++)
		for (uint32_t j = 0; j < facts->builders[i].n_groups; j++) {
			const struct diagnosis_group *group = &facts->builders[i].groups[j];

			if (group->slots == 0 || group->idle_ns < PATIENCE_NS ||
			    (most != NULL && group->slots <= most->slots))
				continue;
			most = group;
		}
	return most;
}

static const struct diagnosis_writer *paused_writer(const struct diagnosis_facts *facts)
{
	for (uint32_t i = 0; i < facts->n_writers; i++)
		if (facts->writers[i].paused_ns > 0)
			return &facts->writers[i];
	return NULL;
}

void look_at_drain(const struct diagnosis_facts *facts, struct findings *to)
{
	const struct diagnosis_writer *writer = paused_writer(facts);
	const struct diagnosis_group *group = last_holder(facts);
	const char *role = facts->drain.role != NULL ? facts->drain.role : "consumers";
	struct diagnosis_finding *finding;

	if (facts->drain.since_ns < PATIENCE_NS / 2)
		return;
	finding = finding_begin(to, "%s", writer != NULL ? writer->role : role);
	finding_add(finding, "draining: ");
	if (writer != NULL) {
		add_pause(finding, writer);
		finding_remedy(finding, "free space there: what is not written by then is lost");
	} else if (group != NULL) {
		add_idle_group(finding, group);
		finding_add(finding, " holds %u event%s", group->slots, plural(group->slots));
		add_idle_remedy(finding, group);
		if (finding != NULL)
			snprintf(finding->subject, sizeof(finding->subject), "group %s",
				 group->name);
	} else {
		finding_add(finding, "%s %s not finished", role,
			    facts->drain.role != NULL ? "has" : "have");
		finding_remedy(finding, "what it holds then is given up");
	}
	if (finding != NULL && (writer != NULL || group != NULL))
		finding->severity = DIAGNOSIS_BAD;
	finding_add_passing(
	    finding, " (%.0f s at most)",
	    (double)(writer != NULL ? facts->drain.writer_limit_ns : facts->drain.limit_ns) /
		(double)NS_PER_S);
	finding_add(finding, "; Ctrl-C again ends at once");
}

void look_for_failed_files(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_writers; i++) {
		const struct diagnosis_writer *writer = &facts->writers[i];
		struct diagnosis_finding *finding;

		if (writer->failures == 0)
			continue;
		finding = finding_begin(to, "%s", writer->role);
		finding_add(finding, "%s could not finish files in %s", writer->role,
			    writer->directory);
		finding_add_passing(finding, ": %llu so far", (unsigned long long)writer->failures);
		finding_remedy(finding, "the log has the reason");
	}
}
