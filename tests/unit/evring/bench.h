// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A ring in a directory of its own with a builder that keeps account of its slots: what the tests
// of the event ring share.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include <evring/evb_reader.h>
#include <evring/evring.h>

#define BENCH_NAME      "bench"
#define BENCH_MAX_SLOTS 4096
#define BENCH_LENGTH    256u // bytes of each event
#define BENCH_RUN       77u

struct bench {
	char directory[64];
	char error[EVRING_ERROR_SIZE];
	struct evring *ring;
	uint32_t free_slots[BENCH_MAX_SLOTS];
	bool is_free[BENCH_MAX_SLOTS];
	unsigned n_free;
	uint64_t published; // also the id of the next event
	uint32_t flags;     // that events get beside EVB_EVENT_INCOMPLETE
};

// A directory under $TMPDIR or /tmp, and its removal with everything in it.
void bench_make_directory(struct bench *bench);
void bench_remove_directory(struct bench *bench);

// Parameters of one ring of BENCH_NAME in the bench's directory; `group`: one that the
// configuration names, or NULL.
struct evring_parameters bench_parameters(const struct bench *bench, uint32_t slots,
					  const char *const *group);

// Directory, ring, and the account of its slots.
void bench_open(struct bench *bench, uint32_t slots, const char *group);
void bench_close(struct bench *bench);

// The same with several groups and their rules.
void bench_open_groups(struct bench *bench, uint32_t slots, const char *const *groups,
		       const struct evring_group_rules *rules, unsigned n_groups);

// Publishes one event, if a slot is free. Its id is the number of those before it.
bool bench_publish(struct bench *bench);

// Takes back what was released, until nothing more comes; fails if a slot comes back twice.
// Returns how many slots came.
unsigned bench_collect(struct bench *bench);

// Opens a reader, which must succeed.
struct evb_reader *bench_member(const struct bench *bench, const char *group);
struct evb_reader *bench_spy(const struct bench *bench);

// Opens a reader in a child process, which exits with status 1 if it fails.
struct evb_reader *bench_child_member(const struct bench *bench, const char *group);

// Whether the event's bytes are those of its id.
bool bench_event_is_right(const struct evb_event *event);

// Takes an event that must be there at once, with the id given.
struct evb_event bench_take(struct evb_reader *reader, uint64_t id);
// Nothing must be there.
void bench_take_none(struct evb_reader *reader);
void bench_release(struct evb_reader *reader, const struct evb_event *event);

// fork(); a child does not outlive a test that fails.
pid_t bench_fork(void);

// A number from a fixed sequence.
uint32_t bench_random(uint64_t *state);
