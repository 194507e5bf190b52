// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rules about ports, sources, the nodes of a system, and losses.
#include "diagnosis/rules.h"

#include <string.h>

#define PAUSED_SHARE    0.05 // of the time; less is a matter of course with flow control
#define REGISTRATION_NS (3 * NS_PER_S)

// ": 12 in 10 s"
static void add_losses(struct diagnosis_finding *finding, const struct diagnosis_facts *facts,
		       uint64_t n)
{
	finding_add_passing(finding, ": %llu in %.0f s", (unsigned long long)n,
			    facts->losses.seconds);
}

// --- ports ---------------------------------------------------------------------------------------

void look_for_ports_that_are_down(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_ports; i++) {
		const struct diagnosis_port *port = &facts->ports[i];
		struct diagnosis_finding *finding;

		if (!port->is_down)
			continue;
		finding = finding_begin(to, "port %s", port->name);
		finding_add(finding, "the link of port %s is down", port->name);
		if (port->device[0] != '\0')
			finding_remedy(finding,
				       "check the cable, the switch, and that interface %s is up",
				       port->device);
		else
			finding_remedy(finding, "check the cable, or start its peer");
	}
}

void look_for_paused_ports(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_ports; i++) {
		const struct diagnosis_port *port = &facts->ports[i];
		struct diagnosis_finding *finding;

		if (port->paused < PAUSED_SHARE)
			continue;
		finding = finding_begin(to, "port %s", port->name);
		finding_add(finding, "the link partner of port %s pauses it", port->name);
		finding_add_passing(finding, " for %.0f %% of the time", 100 * port->paused);
		finding_remedy(finding, "the network or a receiver behind it is full: see the "
					"diagnosis of the nodes that receive");
	}
}

void look_for_missed_packets(const struct diagnosis_facts *facts, struct findings *to)
{
	const struct diagnosis_port *most = NULL;
	struct diagnosis_finding *finding;

	if (facts->losses.missed == 0)
		return;
	for (uint32_t i = 0; i < facts->n_ports; i++)
		if (most == NULL || facts->ports[i].missed > most->missed)
			most = &facts->ports[i];
	finding = finding_begin(to, "port %s", most != NULL ? most->name : "");
	finding_add(finding, "port %s misses packets", most != NULL ? most->name : "?");
	add_losses(finding, facts, facts->losses.missed);
	finding_remedy(finding, "its rx role needs a CPU of its own, more queues, or more "
				"rx_descriptors");
}

// --- sources -------------------------------------------------------------------------------------

void look_for_differences(const struct diagnosis_facts *facts, struct findings *to)
{
	const struct diagnosis_difference *first = facts->differences;
	struct diagnosis_finding *finding;

	if (facts->n_differences == 0)
		return;
	finding = finding_begin(to, "source %u", first->source);
	finding_add(finding, "%s", first->sentence);
	if (facts->n_differences > 1)
		finding_add_passing(finding, "; %u more source%s differ%s",
				    facts->n_differences - 1, plural(facts->n_differences - 1),
				    facts->n_differences == 2 ? "s" : "");
	finding_remedy(finding, "%s", first->remedy);
}

void look_for_silent_sources(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding;

	if (facts->silent_sources == 0 || facts->silent_ns < PATIENCE_NS)
		return;
	finding = finding_begin(to, "source %u", facts->silent_source);
	finding_add(finding, "source %u", facts->silent_source);
	if (facts->silent_sources > 1)
		finding_add_passing(finding, " and %u more", facts->silent_sources - 1);
	finding_add(finding, " sent nothing");
	finding_add_passing(finding, " for ");
	finding_add_time(finding, facts->silent_ns);
	// In a system no event waits for sources that are excluded.
	if (facts->place == DIAGNOSIS_ALONE)
		finding_add_passing(finding, ": events wait for events.deadline (%g s)",
				    (double)facts->deadline_ns / (double)NS_PER_S);
	finding_remedy(finding, "start it, or remove it from sources.ids");
}

// --- the system ----------------------------------------------------------------------------------

void look_for_no_manager(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding;

	if (facts->place == DIAGNOSIS_ALONE || facts->manager != NULL ||
	    facts->unregistered_ns < REGISTRATION_NS)
		return;
	finding = finding_begin(to, "event manager");
	finding_add(finding, "no event manager has been elected");
	finding_remedy(finding, "more than half of the %u nodes must run and reach each other",
		       facts->n_system);
}

void look_for_silent_manager(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding;

	if (facts->place != DIAGNOSIS_MEMBER || facts->manager == NULL ||
	    (facts->unregistered_ns < REGISTRATION_NS && facts->manager_silent_ns == 0))
		return;
	finding = finding_begin(to, "node %s", facts->manager);
	if (facts->manager_silent_ns > 0) {
		finding_add(finding, "node %s, the event manager, silent", facts->manager);
		finding_add_passing(finding, " for ");
		finding_add_time(finding, facts->manager_silent_ns);
		finding_add(finding, ": no events are granted");
	} else {
		finding_add(finding, "this node is not registered at node %s, the event manager",
			    facts->manager);
	}
	if (facts->elects)
		finding_remedy(finding, "another node takes over if it stays silent");
	else
		finding_remedy(finding, "start node %s: it continues the run", facts->manager);
}

// "node n2 silent for 2.1 s: 1 event in doubt; goes on in 2.9 s", "node n2 crashed or was
// killed 2.1 s ago: the others go on without it"
static void add_silence(const struct diagnosis_facts *facts, struct diagnosis_finding *finding,
			const struct diagnosis_node *node)
{
	finding_add(finding, "node %s %s", node->name,
		    node->died ? "crashed or was killed" : "silent");
	finding_add_passing(finding, node->died ? " " : " for ");
	finding_add_time(finding, node->silent_ns);
	finding_add_passing(finding, node->died ? " ago" : "");
	if (node->in_doubt_ns > 0) {
		finding_add_passing(finding, ": %u event%s in doubt; goes on in ", node->in_doubt,
				    plural(node->in_doubt));
		finding_add_time(finding, node->in_doubt_ns);
	} else if (facts->place == DIAGNOSIS_MANAGER) {
		finding_add_passing(finding, "%s",
				    facts->waits_for_nodes
					? ": no events are granted until it is back"
					: ": the others go on without it");
	}
}

void look_for_silent_nodes(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_nodes; i++) {
		const struct diagnosis_node *node = &facts->nodes[i];
		struct diagnosis_finding *finding;

		if (!node->silent || node->excluded)
			continue;
		finding = finding_begin(to, "node %s", node->name);
		add_silence(facts, finding, node);
		finding_remedy(finding,
			       node->died ? "see the log of node %s, and start it again"
					  : "start node %s again, or see why its network is down",
			       node->name);
	}
}

void look_for_absent_nodes(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; facts->place == DIAGNOSIS_MANAGER && i < facts->n_nodes; i++) {
		const struct diagnosis_node *node = &facts->nodes[i];

		if (node->absent_ns < REGISTRATION_NS || node->silent || node->excluded)
			continue;
		if (n++ > 0)
			continue;
		finding = finding_begin(to, "node %s", node->name);
		finding_add(finding, "node %s is not there", node->name);
		finding_remedy(finding, "start node %s, or exclude it: evb ctl CONFIG exclude %s",
			       node->name, node->name);
	}
	if (n > 1)
		finding_add_passing(finding, ", and %u more node%s", n - 1, n > 2 ? "s" : "");
}

void look_for_excluded_nodes(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_nodes; i++) {
		struct diagnosis_finding *finding;

		if (!facts->nodes[i].excluded)
			continue;
		finding = finding_begin(to, "node %s", facts->nodes[i].name);
		finding_add(finding, "node %s is excluded", facts->nodes[i].name);
		finding_remedy(finding, "evb ctl CONFIG include %s", facts->nodes[i].name);
	}
}

void look_for_full_nodes(const struct diagnosis_facts *facts, struct findings *to)
{
	for (uint32_t i = 0; i < facts->n_nodes; i++) {
		const struct diagnosis_node *node = &facts->nodes[i];
		struct diagnosis_finding *finding;

		if (node->full == NULL || node->silent)
			continue;
		finding = finding_begin(to, "node %s", node->name);
		finding_add(finding, "builder %s of node %s has no free slot", node->full,
			    node->name);
		finding_remedy(finding, "the diagnosis of node %s names who holds them",
			       node->name);
	}
}

void look_for_throttling(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding;

	if (!facts->throttled)
		return;
	finding = finding_begin(to, "event manager");
	finding_add(finding, "the event manager makes the sources wait: too many events wait for a "
			     "grant");
	finding_remedy(finding, "builders are slower than the sources: more builders, or slower "
				"sources");
}

void look_for_no_standby(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding;

	if (!facts->elects || facts->manager == NULL || facts->standbys > 0)
		return;
	finding = finding_begin(to, "event manager");
	finding_add(finding, "no node can take over from node %s, the event manager",
		    facts->manager);
	finding_remedy(finding, "start the other nodes that can be the event manager");
}

// --- losses --------------------------------------------------------------------------------------

// What corrects the most frequent causes of drops (docs/packets.md).
static const struct {
	const char *cause, *remedy;
} causes[] = {
	{ "unknown_source", "add the source to sources.ids, or stop its sender" },
	{ "unexpected_source", "add the source to sources.ids, or stop its sender" },
	{ "not_admitted", "admit the sender: docs/ports.md" },
	{ "link_full", "links.policy lossless waits instead of dropping; or more builders" },
	{ "links_full", "builders are kept from their CPU, or links.depth is less than auto" },
	{ "no_slot", "consumers are too slow, or builders need more slots" },
	{ "late", "raise events.deadline, or see why the source is behind" },
	{ "duplicate", "the network duplicates packets, or two senders have the same source id" },
	{ "ip_checksum", "the network damages packets: check cables and cards" },
	{ "udp_checksum", "the network damages packets: check cables and cards" },
	{ "not_for_us", "the packets have another address than ports[].address" },
	{ "unknown_port", "the packets have another UDP port than sources say" },
};

static const char *remedy_of(const char *cause)
{
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(causes[i].cause, cause) == 0)
			return causes[i].remedy;
	return "docs/packets.md explains each cause";
}

void look_for_drops(const struct diagnosis_facts *facts, struct findings *to)
{
	const char *cause = facts->losses.cause != NULL ? facts->losses.cause : "unknown";
	struct diagnosis_finding *finding;

	if (facts->losses.dropped == 0)
		return;
	finding = finding_begin(to, "%s", cause);
	finding_add(finding, "packets or segments are dropped, mostly for cause %s", cause);
	add_losses(finding, facts, facts->losses.dropped);
	finding_remedy(finding, "%s", remedy_of(cause));
}

void look_for_incomplete_events(const struct diagnosis_facts *facts, struct findings *to)
{
	struct diagnosis_finding *finding;

	if (facts->losses.incomplete == 0)
		return;
	finding = finding_begin(to, "events");
	finding_add(finding, "events are incomplete");
	add_losses(finding, facts, facts->losses.incomplete);
	finding_remedy(finding, "evb stat /evb/source/all names the sources whose data is missing");
}
