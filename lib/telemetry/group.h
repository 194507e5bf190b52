// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The things that telemetry can be asked about, by group: roles, links, builders, ... A group has
// three commands of its own:
//
//   /evb/NAME/list[,OFFSET[,COUNT]]  what things there are
//   /evb/NAME/info,THING             all that is known of one of them
//   /evb/NAME/all[,OFFSET[,COUNT]]   the same of all from OFFSET on that fit into one answer
//
// A group is one file, NAME.c, with its tables and with the functions that find the
// numbers, one declaration below and one line in groups.c. Everything else follows: the
// commands, snapshots and what is made of them (evb web, OpenMetrics), docs/metrics.md, the
// endpoint of DPDK's exporter.
//
// The functions are called by telemetry threads, while the appliance is started.
#pragma once

#include <stddef.h>

#include "appliance/appliance.h"
#include "telemetry/metric.h"

#define TELEMETRY_MAX_TABLES  4
#define TELEMETRY_MAX_KEYS    256   // of a dictionary: DPDK's limit
#define TELEMETRY_MAX_REPLY   16384 // bytes: DPDK leaves out what does not fit
#define TELEMETRY_MAX_COMMAND 56    // with the closing 0: DPDK's limit
#define TELEMETRY_MAX_HELP    128   // with the closing 0: DPDK's limit

// Where each table of an answer is to be read, NULL: the answer comes without that table.
typedef const void *telemetry_bases[TELEMETRY_MAX_TABLES];

struct telemetry_group {
	const char *name;   // "role": of the commands, and of the label in OpenMetrics
	const char *things; // "roles", for people
	const char *help;   // what /info tells, a clause
	const char *note;   // for the manual's page, Markdown, or NULL
	// The first metric of the first table is what the things are called.
	const struct metric *tables[TELEMETRY_MAX_TABLES];
	const char *nested; // dictionaries NESTED_0, NESTED_1, ... in each answer, or NULL
	const struct metric *nested_table;
	unsigned n_nested; // most

	// Whether there may be some later where there are none at the start; or NULL: it may not.
	bool (*comes_and_goes)(const struct appliance *appliance);
	unsigned (*count)(const struct appliance *appliance);
	// Exactly one of these says what thing `index` is called.
	const char *(*name_of)(const struct appliance *appliance, unsigned index);
	unsigned (*number_of)(const struct appliance *appliance, unsigned index);
	// Says where the tables are to be read: live counters where they lie, and a view that is
	// filled for the answer and belongs to the calling thread.
	void (*view)(const struct appliance *appliance, unsigned index, telemetry_bases bases);
	// Where nested dictionary n is to be read; NULL if there is none.
	const void *(*view_nested)(const struct appliance *appliance, unsigned index, unsigned n);
};

// One file each, NAME.c.
extern const struct telemetry_group telemetry_role;
extern const struct telemetry_group telemetry_link;
extern const struct telemetry_group telemetry_builder;
extern const struct telemetry_group telemetry_source;
extern const struct telemetry_group telemetry_port;
extern const struct telemetry_group telemetry_lcore;
extern const struct telemetry_group telemetry_generator;
extern const struct telemetry_group telemetry_readout;
extern const struct telemetry_group telemetry_writer;
extern const struct telemetry_group telemetry_pfc;
extern const struct telemetry_group telemetry_xdp;
extern const struct telemetry_group telemetry_roce;
extern const struct telemetry_group telemetry_qp;
extern const struct telemetry_group telemetry_sched;
extern const struct telemetry_group telemetry_credits;
extern const struct telemetry_group telemetry_control;

// What a group can be asked.
enum telemetry_verb { TELEMETRY_LIST, TELEMETRY_INFO, TELEMETRY_ALL, TELEMETRY_N_VERBS };

// Its command, with a line of help for people.
void telemetry_group_command(const struct telemetry_group *group, enum telemetry_verb verb,
			     char command[TELEMETRY_MAX_COMMAND], char help[TELEMETRY_MAX_HELP]);

// All of them, in the order of the manual, ended by NULL.
extern const struct telemetry_group *const telemetry_groups[];

// What is told of the appliance as a whole: one command, one table.
struct telemetry_whole {
	const char *command;
	const char *help; // a clause
	const char *note; // for the manual's page, Markdown, or NULL
	const struct metric *table;
	bool hidden; // a part of another one: not in OpenMetrics
	const void *(*view)(const struct appliance *appliance);
};

// Ended by a command of NULL.
extern const struct telemetry_whole telemetry_wholes[];

// Where the metrics of a table are found in snapshots and in OpenMetrics: in the appliance as a
// whole, in the things of a group, or in the nested dictionaries of those.
struct telemetry_place {
	char name[48];   // "summary", "builder", "builder/group"
	char prefix[48]; // of names in OpenMetrics: "evb", "evb_builder", "evb_builder_group"
	const struct metric *tables[TELEMETRY_MAX_TABLES];
	const struct telemetry_whole *whole; // or
	const struct telemetry_group *group;
	bool nested;
};

// Place number `index`, in the order of the manual, without hidden ones. False behind the last.
bool telemetry_place(unsigned index, struct telemetry_place *place);

// Commands of another form, which docs/telemetry.md describes.
struct telemetry_other {
	const char *command;
	const char *parameters; // for people, or NULL
	const char *help;
};

// Ended by a command of NULL.
extern const struct telemetry_other telemetry_others[];

#define TELEMETRY_LATENCY        "/evb/latency"
#define TELEMETRY_EAL_LCORE_LIST "/eal/lcore/list"
#define TELEMETRY_EAL_LCORE_INFO "/eal/lcore/info"

// The role of one kind that stands for object number `object` of the configuration.
const struct role *telemetry_find_role(const struct appliance *appliance,
				       enum config_role_kind kind, unsigned object);
