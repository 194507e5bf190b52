// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A group describes all things of one kind: roles, links, builders, ... Each group has three
// commands:
//
//   /evb/NAME/list[,OFFSET[,COUNT]]  the names or numbers of its things
//   /evb/NAME/info,THING             all metrics of one thing
//   /evb/NAME/all[,OFFSET[,COUNT]]   all metrics of the things from OFFSET on that fit into one
//                                    response
//
// A group is a file, NAME.c, with its tables and the functions that find the values, one
// declaration below, one line in groups.c and its number of things in telemetry_count(). The
// commands, snapshots and their users (evb web, OpenMetrics), docs/metrics.md and the endpoint of
// DPDK's exporter follow from these. The groups sched and credits, which both show the event
// manager, share sched.c.
//
// Telemetry threads call the functions while the appliance is started.
#pragma once

#include <stddef.h>

#include <rte_telemetry.h>

#include "appliance/appliance.h"
#include "base/histogram.h"
#include "telemetry/metric.h"

#define TELEMETRY_MAX_TABLES  7
#define TELEMETRY_MAX_METRICS 96    // of a place
#define TELEMETRY_MAX_REPLY   16384 // bytes: DPDK leaves out what does not fit
#define TELEMETRY_MAX_COMMAND 56    // with the closing 0: DPDK's limit
#define TELEMETRY_MAX_HELP    128   // with the closing 0: DPDK's limit

// The address of the values of each table; NULL: the response lacks this table.
typedef const void *telemetry_bases[TELEMETRY_MAX_TABLES];

struct telemetry_group {
	const char *name;   // "role": in the commands, and the label in OpenMetrics
	const char *things; // "roles", for people
	const char *help;   // of the command info, a clause
	const char *note;   // for the manual's page, Markdown, or NULL
	// The first metric of the first table is the name or number of the thing.
	const struct metric *tables[TELEMETRY_MAX_TABLES];
	const char *nested; // dictionaries NESTED_0, NESTED_1, ... in each response, or NULL
	const struct metric *nested_table;
	unsigned n_nested; // largest number of them

	// Whether things can appear later if there are none at the start; NULL: they cannot.
	bool (*comes_and_goes)(const struct appliance *appliance);
	// Sets the addresses of the values: live counters in their place, or a view that belongs
	// to the calling thread and is filled for the response. bases[0] stays NULL if there is no
	// such thing, or no longer.
	void (*view)(const struct appliance *appliance, unsigned index, telemetry_bases bases);
	// The address of the values of nested dictionary n; NULL if there is none.
	const void *(*view_nested)(const struct appliance *appliance, unsigned index, unsigned n);
};

extern const struct telemetry_group telemetry_diagnosis;
extern const struct telemetry_group telemetry_role;
extern const struct telemetry_group telemetry_link;
extern const struct telemetry_group telemetry_builder;
extern const struct telemetry_group telemetry_source;
extern const struct telemetry_group telemetry_stranger;
extern const struct telemetry_group telemetry_port;
extern const struct telemetry_group telemetry_lcore;
extern const struct telemetry_group telemetry_generator;
extern const struct telemetry_group telemetry_readout;
extern const struct telemetry_group telemetry_writer;
extern const struct telemetry_group telemetry_decision;
extern const struct telemetry_group telemetry_decision_member;
extern const struct telemetry_group telemetry_results;
extern const struct telemetry_group telemetry_results_node;
extern const struct telemetry_group telemetry_pfc;
extern const struct telemetry_group telemetry_xdp;
extern const struct telemetry_group telemetry_roce;
extern const struct telemetry_group telemetry_qp;
extern const struct telemetry_group telemetry_sched;
extern const struct telemetry_group telemetry_credits;
extern const struct telemetry_group telemetry_control;
extern const struct telemetry_group telemetry_step;

enum telemetry_verb { TELEMETRY_LIST, TELEMETRY_INFO, TELEMETRY_ALL, TELEMETRY_N_VERBS };

// The number of the group's things, and the addresses of the values of thing `index`; false if
// there is none.
unsigned telemetry_count(const struct telemetry_group *group, const struct appliance *appliance);
bool telemetry_view(const struct telemetry_group *group, const struct appliance *appliance,
		    unsigned index, telemetry_bases bases);

// Whether the names of things are texts; else they are numbers.
bool telemetry_has_names(const struct telemetry_group *group);

// Writes the command of a group, and one line of help for people.
void telemetry_group_command(const struct telemetry_group *group, enum telemetry_verb verb,
			     char command[TELEMETRY_MAX_COMMAND], char help[TELEMETRY_MAX_HELP]);

// All groups, in the order of the manual, ended by NULL.
extern const struct telemetry_group *const telemetry_groups[];

// A table of the appliance as a whole, with a command of its own.
struct telemetry_whole {
	const char *command;
	const char *help;   // a clause
	const char *note;   // for the manual's page, Markdown, or NULL
	const char *prefix; // of names in OpenMetrics; NULL: "evb"
	const struct metric *table;
	bool hidden; // part of another table: not in OpenMetrics
	const void *(*view)(const struct appliance *appliance);
};

// Ended by a command of NULL.
extern const struct telemetry_whole telemetry_wholes[];

// Where the metrics of a table are found in snapshots and in OpenMetrics: in the appliance as a
// whole, in the things of a group, or in the nested dictionaries of those.
struct telemetry_place {
	char name[48];   // "summary", "builder", "builder/group"
	char prefix[48]; // of names in OpenMetrics: "evb", "evb_builder", "evb_builder_group"
	const struct metric *metrics[TELEMETRY_MAX_METRICS + 1]; // ended by NULL
	const struct telemetry_whole *whole;                     // or
	const struct telemetry_group *group;
	bool nested;
};

// Place number `index`, in the order of the manual. False behind the last.
bool telemetry_place(unsigned index, struct telemetry_place *place);

// Commands of another form, which docs/telemetry.md describes.
struct telemetry_other {
	const char *command;
	const char *parameters; // for people, or NULL
	const char *help;
	void (*answer)(const struct appliance *appliance, const char *parameters,
		       struct rte_tel_data *data);
};

// Ended by a command of NULL.
extern const struct telemetry_other telemetry_others[];

// The response to /evb/diagnosis: the first finding.
void telemetry_answer_diagnosis(const struct appliance *appliance, const char *parameters,
				struct rte_tel_data *data);

// --- DPDK's telemetry data from the tables -------------------------------------------------------
//
// Functions that return a size return an upper bound of the bytes that they add to the response.

// Adds the keys of a table, read from `base`, to a started dictionary.
size_t telemetry_add_table(struct rte_tel_data *data, const struct metric *table, const void *base);

// Adds all metrics of thing `index` to a started dictionary. With histograms, latencies are added
// as dictionaries NAME_ns beside their quantiles.
size_t telemetry_add_thing(struct rte_tel_data *data, const struct appliance *appliance,
			   const struct telemetry_group *group, unsigned index, bool histograms);

// Adds a histogram to a started dictionary: le_1, le_2, le_4, ... nanoseconds, cumulative.
size_t telemetry_add_histogram(struct rte_tel_data *data, const char *name,
			       const struct histogram *histogram);

// The value of a number or a text, where `base` is the address of its structure.
uint64_t telemetry_number(const struct metric *metric, const void *base);
const char *telemetry_text(const struct metric *metric, const void *base);

// Makes the response {"error": ...}; the text is formatted as by printf().
void telemetry_set_error(struct rte_tel_data *data, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
