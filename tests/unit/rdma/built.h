// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Two builders behind a roce_bench, and a consumer. Every byte of their slots that is not part of a
// built event is a canary: what is written anywhere else is found.
#pragma once

#include "roce_bench.h"

#include "builder/assembly.h"
#include "evring/evb_reader.h"
#include "wire/mep.h"

#define BUILT_SLOTS     64u
#define BUILT_SLOT_SIZE 16384u
#define BUILT_SOURCES   8u

struct built {
	struct roce_bench *bench;
	struct evring *rings[BENCH_BUILDERS];
	struct role *builders[BENCH_BUILDERS];
	struct evb_reader *reader;
	bool holds; // the consumer takes nothing, and no slot is said to be free
	uint64_t events, complete;
	uint64_t polls;
	// Sees each event, whose MEP is sound, before its slot is given back. May be NULL.
	void (*look)(void *context, const struct evb_event *event, const struct mep *mep);
	void *context;
};

void built_open(struct built *built, struct roce_bench *bench);
// Lets the builders poll, and takes what they have built.
void built_poll(struct built *built);
// Lets the time pass that closes all events: then each byte of each slot is a canary.
void built_settle(struct built *built);
// Settles; each segment that the role handed on was placed or refused for one cause.
void built_close(struct built *built);
