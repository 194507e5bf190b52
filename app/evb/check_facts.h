// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a plan has to do with the world outside the process: addresses, services and files. Each is
// a line of the section that `evb check` prints, and an object of its list in `evb check --json`.
#pragma once

#include "plan/plan.h"

#define CHECK_FACT_SIZE 512

// Visits the facts of a plan, section by section: "addresses", "services", "files". `who` is the
// port, generator, ... whose fact it is, in the words of the configuration.
typedef void check_facts_visit(void *context, const char *section, const char *who,
			       const char *text);
void check_facts(const struct plan *plan, check_facts_visit *visit, void *context);
