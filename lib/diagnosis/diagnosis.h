// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is wrong with an appliance, in sentences. The rules (rules.h) follow the backpressure to its
// end: from full slots to the group of consumers that holds them, to the member and its process, or
// to a writer and its disk; from a full link to the role that empties it. Causes come before their
// consequences, so the first finding is the diagnosis. All views show these sentences unchanged.
//
// Pure: the facts are a snapshot that the appliance takes (appliance/diagnosis_facts.c), times
// included.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define DIAGNOSIS_TEXT_SIZE    128 // with the closing 0: what a text of telemetry can have
#define DIAGNOSIS_SUBJECT_SIZE 80
#define DIAGNOSIS_MAX          8 // findings
#define DIAGNOSIS_WELL         "all is well"

// --- facts ---------------------------------------------------------------------------------------
//
// Texts and arrays belong to the caller, and are not NULL where their number is not 0. Times are
// nanoseconds for which something has lasted, 0: it is not so.

struct diagnosis_group {
	char name[EVB_NAME_SIZE];
	bool configured;
	uint32_t slots; // events that it has not released
	uint32_t members;
	uint32_t pid;     // of the member that holds the oldest event; 0: not known
	bool is_stopped;  // a signal has stopped this process
	uint64_t idle_ns; // it holds events, and has released none for this time
	double released;  // events/s that it releases
	uint32_t
	    writer; // index of the writer that is its only member; DIAGNOSIS_NONE: other members
};

#define DIAGNOSIS_NONE UINT32_MAX

struct diagnosis_builder {
	const char *name, *role;
	uint32_t slots;
	uint32_t open;    // events under construction
	uint64_t full_ns; // no slot has been free
	uint32_t n_groups;
	struct diagnosis_group groups[EVB_MAX_GROUPS];
};

struct diagnosis_link {
	const char *producer, *consumer; // roles
	uint64_t full_ns;                // its producer has found it full again and again
	double busy;                     // share of the consumer in the time of its lcore
	double lcore_busy;               // share of the time in which this lcore is not idle
	uint32_t cpu;                    // of the consumer
};

struct diagnosis_writer {
	const char *role, *directory;
	uint64_t paused_ns; // it cannot write
	int error;          // errno because of which it cannot
	uint64_t failures;  // files that could not be finished
};

// A source that does not send what the configuration says.
struct diagnosis_difference {
	char sentence[DIAGNOSIS_TEXT_SIZE], remedy[DIAGNOSIS_TEXT_SIZE];
	uint16_t source;
};

struct diagnosis_port {
	const char *name, *device; // device "": none
	bool is_down;
	double paused;   // share of the time in which its link partner pauses it
	uint64_t missed; // packets that it lost in the window of the losses
};

// Another node of the system.
struct diagnosis_node {
	const char *name;
	bool silent, excluded; // excluded: by the operator
	bool died;             // it is silent because its process has ended, as its last will said
	uint64_t absent_ns;    // it is not registered
	uint64_t silent_ns;    // since its last frame
	uint32_t in_doubt;     // events that wait for it
	uint64_t in_doubt_ns;  // until they are granted to others; 0: they do not wait
	const char *full;      // name of a builder of it that has no slot; NULL: none
};

enum diagnosis_place {
	DIAGNOSIS_ALONE,   // no system
	DIAGNOSIS_MANAGER, // the node of the event manager, or the one in office
	DIAGNOSIS_MEMBER,  // another node
};

// What the end of the run waits for.
struct diagnosis_drain {
	const char *role;  // NULL: consumers
	uint64_t since_ns; // 0: nothing
	uint64_t limit_ns; // longest wait
	uint64_t writer_limit_ns;
};

struct diagnosis_losses {
	uint64_t missed, dropped, incomplete; // in the window
	const char *cause;                    // of most drops
	double seconds;                       // of the window
};

struct diagnosis_facts {
	struct diagnosis_drain drain;
	struct diagnosis_builder *builders;
	uint32_t n_builders;
	struct diagnosis_link *links;
	uint32_t n_links;
	struct diagnosis_writer *writers;
	uint32_t n_writers;
	struct diagnosis_difference *differences;
	uint32_t n_differences;
	struct diagnosis_port *ports;
	uint32_t n_ports;
	uint32_t silent_sources; // that send nothing, while others do
	uint16_t silent_source;  // the first of them
	uint64_t silent_ns;      // for so long
	uint64_t deadline_ns;    // events.deadline
	enum diagnosis_place place;
	bool elects;              // the event manager is elected
	bool waits_for_nodes;     // no event is granted while a node is silent
	bool throttled;           // the event manager makes sources wait
	uint32_t standbys;        // that can take over
	uint32_t n_system;        // nodes of the system
	const char *manager;      // node that this one follows; NULL: none
	uint64_t unregistered_ns; // at this manager
	uint64_t manager_silent_ns;
	struct diagnosis_node *nodes; // that are not as they should be
	uint32_t n_nodes;
	struct diagnosis_losses losses;
};

// --- findings ------------------------------------------------------------------------------------

enum diagnosis_severity {
	DIAGNOSIS_LOOK = 1, // worth a look: nothing is lost
	DIAGNOSIS_BAD = 2,  // data is lost, or the run stands still
};

struct diagnosis_finding {
	const char *rule; // its name
	uint64_t severity;
	uint64_t log_after_ns; // to be logged when it has held for so long; UINT64_MAX: never
	char subject[DIAGNOSIS_SUBJECT_SIZE];    // the culprit
	char holds_back[DIAGNOSIS_SUBJECT_SIZE]; // role that cannot go on because of it; "": none
	char sentence[DIAGNOSIS_TEXT_SIZE];      // cut with "..." if names are very long
	char what[DIAGNOSIS_TEXT_SIZE];          // the same without times and rates, which change
	char remedy[DIAGNOSIS_TEXT_SIZE];
	uint64_t held_ns; // for how long, set by the caller of diagnose()
};

struct diagnosis {
	uint64_t n;
	struct diagnosis_finding findings[DIAGNOSIS_MAX];
};

// The findings of all rules, in the order of the rules; those beyond DIAGNOSIS_MAX are left out.
// The facts must stay until the call returns.
void diagnose(const struct diagnosis_facts *facts, struct diagnosis *diagnosis);

// The first finding's sentence, or DIAGNOSIS_WELL.
const char *diagnosis_sentence(const struct diagnosis *diagnosis);
