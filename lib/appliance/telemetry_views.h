// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The things that telemetry can be asked about, by group: roles, links, builders, ... A group knows
// how many things it has, what each is called, and where the numbers of its answer are.
// Telemetry threads, while the appliance is started.
#pragma once

#include <stdbool.h>

#include "appliance/telemetry_tables.h"

union telemetry_view {
	struct info_view info;
	struct summary_view summary;
	struct role_view role;
	struct link_view link;
	struct builder_view builder;
	struct group_view group;
	struct source_view source;
	struct port_view port;
	struct lcore_view lcore;
	struct generator_view generator;
	struct writer_view writer;
};

// Where each table of an answer is to be read, NULL: the answer comes without that table.
typedef const void *telemetry_bases[TELEMETRY_MAX_TABLES];

struct telemetry_group {
	const char *what; // one of it, for errors
	enum telemetry_command list, info;
	unsigned (*count)(const struct appliance *appliance);
	// Exactly one of these names thing number index.
	const char *(*name)(const struct appliance *appliance, unsigned index);
	unsigned (*number)(const struct appliance *appliance, unsigned index);
	// Fills the view, to which bases[0] points already, and the other bases.
	void (*view)(const struct appliance *appliance, unsigned index, union telemetry_view *view,
		     telemetry_bases bases);
	// The nested dictionary number n; false if there is none. NULL: never any.
	bool (*nested)(const struct appliance *appliance, unsigned index, unsigned n,
		       union telemetry_view *view);
	unsigned n_nested; // most
};

// Ended by `what` being NULL.
extern const struct telemetry_group telemetry_groups[];

// Views of the whole appliance.
void telemetry_view_info(const struct appliance *appliance, struct info_view *view);
void telemetry_view_summary(const struct appliance *appliance, struct summary_view *view);

// The role of one kind that stands for object number `object` of the configuration.
const struct role *telemetry_find_role(const struct appliance *appliance,
				       enum config_role_kind kind, unsigned object);
