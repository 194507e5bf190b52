// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A plan that a test fills in, a tree of files that stands for a system, and what is expected of a
// report.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/stages.h"

#define MIB ((uint64_t)1 << 20)

struct fixture {
	struct config *config;
	struct plan *plan; // of one builder on CPU 1 and one port on CPU 0
	char root[64];     // folder of the tree
	struct host_system system;
	struct host_report report;
	struct check *check; // of the plan, the system and the report
};

int fixture_make(void **state);
int fixture_end(void **state);

// A port of the plan, with its rx role on the first lcore.
void fixture_port(struct fixture *fixture, const char *driver, const char *device, uint32_t mtu);

// Writes a file of the tree, with its folders.
void tree_write(const struct fixture *fixture, const char *path, const char *text);
void tree_write_bytes(const struct fixture *fixture, const char *path, const void *bytes,
		      size_t size);
void tree_folder(const struct fixture *fixture, const char *path);
void tree_link(const struct fixture *fixture, const char *path, const char *target);

// Content of a file of the tree, without the newline at its end.
void tree_assert(const struct fixture *fixture, const char *path, const char *text);

// The report has one finding more of the stage whose text and remedy contain these; NULL: any.
const struct host_finding *assert_finding(const struct fixture *fixture, enum host_verdict verdict,
					  const char *stage, const char *text, const char *remedy);

// The report has exactly these findings and changes.
void assert_counts(const struct fixture *fixture, unsigned ok, unsigned warn, unsigned fail,
		   unsigned changes);

void assert_change(const struct fixture *fixture, enum host_change_kind kind, const char *target,
		   const char *value);

// Forgets the report and the facts.
void report_reset(struct fixture *fixture);

// Adds the findings of a stage: with the facts that it reads, or with those of fixture->check.
void judge_stage(struct fixture *fixture, const char *name);
void judge_facts(struct fixture *fixture, const char *name);
