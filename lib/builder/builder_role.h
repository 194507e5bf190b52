// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builder role: takes segments from its links, copies each payload once, to its place in a
// slot, and frees the mbuf at once. Drains by emptying the links and closing what is open.
//
// Where an event manager grants events, it opens an event when it is told to expect it, holds what
// is built until it is told to publish it, and says which slots have come back (cluster/note.h).
//
// Where no slot is free and the configuration says wait, a link whose next segment needs one is
// left alone, and with it its rx role is held back, while consumers hold slots or other links may
// bring what the open events miss.
#pragma once

#include "builder/assembly.h"
#include "packet/mailbox.h"
#include "pipeline/link.h"
#include "pipeline/role.h"

struct builder_parameters {
	const char *name;
	const struct config *config;
	unsigned builder;                   // index into config->builders
	struct evring *ring;                // outlives the role
	const struct source_table *sources; // outlives the role
	struct link **links;                // from each rx role
	unsigned n_links;                   // 1 to BUILDER_MAX_LINKS
	// Where an event manager grants events: notes from and to the control role. Else NULL.
	struct mailbox *from_control, *to_control;
	int numa_node;
};

#define BUILDER_MAX_LINKS 64

// Control thread. NULL if memory ran out.
struct role *builder_role_create(const struct builder_parameters *parameters);

const struct assembly *builder_role_assembly(const struct role *role);

// Whether the run has ended by end-of-run blocks. Any thread.
bool builder_role_end_of_run(const struct role *role);
