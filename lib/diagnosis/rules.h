// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rules of the diagnosis: a table, of which each line looks for one kind of trouble. Internal
// to lib/diagnosis.
#pragma once

#include "diagnosis/diagnosis.h"

#define NS_PER_S UINT64_C(1000000000)

// Backpressure, and waits at the end of a run, that last for less are a matter of course.
#define PATIENCE_NS NS_PER_S

// Where the findings of a rule go.
struct findings {
	const struct rule *rule;
	struct diagnosis *diagnosis;
};

typedef void rule_look(const struct diagnosis_facts *facts, struct findings *to);

struct rule {
	const char *name; // stays: it is a label of metrics
	enum diagnosis_severity severity;
	unsigned log_after_s; // of findings of severity BAD; NOT_LOGGED: the log has them otherwise
	rule_look *look;
};

#define NOT_LOGGED UINT32_MAX

// In the order in which findings are reported; ended by a name of NULL.
extern const struct rule rules[];

// rules_builder.c: who holds the slots, and who does not empty a link
rule_look look_at_drain, look_for_writers_without_room, look_for_groups_without_members,
    look_for_idle_groups, look_for_slow_groups, look_for_open_events, look_for_slow_roles,
    look_for_failed_files;
// rules_system.c: ports, sources, nodes
rule_look look_for_ports_that_are_down, look_for_paused_ports, look_for_differences,
    look_for_silent_sources, look_for_no_manager, look_for_silent_manager, look_for_silent_nodes,
    look_for_absent_nodes, look_for_excluded_nodes, look_for_full_nodes, look_for_no_standby,
    look_for_throttling, look_for_missed_packets, look_for_drops, look_for_incomplete_events;

// "s" behind a noun, except for one.
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

// --- sentence.c ---

// Begins a finding about a culprit. NULL: there are enough findings.
struct diagnosis_finding *finding_begin(struct findings *to, const char *subject, ...)
    __attribute__((format(printf, 2, 3)));

// Appends to the sentence: what stays the same as long as the finding is, and what changes.
// A finding of NULL is ignored by all of these.
void finding_add(struct diagnosis_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void finding_add_passing(struct diagnosis_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Appends a time, which changes: "2.1 s", "22 s", "3 min".
void finding_add_time(struct diagnosis_finding *finding, uint64_t ns);

// The role that cannot go on because of the culprit.
void finding_holds_back(struct diagnosis_finding *finding, const char *role);

void finding_remedy(struct diagnosis_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
