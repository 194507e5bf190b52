// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shared by the tests of lib/record and lib/inspect: a directory per test, MEPs as builders leave
// them in slots, and an account of the notices of an event file.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evring/evring.h"
#include "record/event_file.h"
#include "wire/mep.h"

#define PATH_SIZE   512
#define MEP_ROOM    (256u * 1024u)
#define N_NOTICES   16
#define RUN         77u
#define GAP         24u // bytes of garbage between MFPs in a slot
#define FRAGMENTS   3u
#define MEP_SOURCES 4u
#define RING_NAME   "rec"
#define RING_SLOTS  8u

// Setup and teardown: *state is the path of a new directory, removed with all files in it.
int make_directory(void **state);
int remove_directory(void **state);

void path_in(char path[PATH_SIZE], const char *directory, const char *name);
// All bytes of a file, to be freed.
uint8_t *read_file(const char *path, size_t *size);
void write_file(const char *path, const void *bytes, size_t size);
// How many directory entries there are, hidden ones included.
unsigned count_files(const char *directory);
bool file_exists(const char *directory, const char *name);
// The path of a file of the shared data; false if it is not there.
bool find_data(char path[PATH_SIZE], const char *name);

// A MEP as in a slot: sources 0x1803, 0x1001, 0x1802, 0x0000 (not in order), FRAGMENTS generated
// fragments each, garbage between and behind the MFPs. Returns its size.
size_t make_slot_mep(uint8_t bytes[MEP_ROOM], uint64_t event_id);
// The same event as files hold it.
size_t make_file_mep(uint8_t bytes[MEP_ROOM], uint64_t event_id);

// One MFP with fragments of type 4 whose sizes are `size`, size + 1, ... Returns its size.
size_t make_mfp(uint8_t *bytes, size_t capacity, uint64_t event_id, uint16_t source_id,
		uint16_t size);

// Lays MFPs out as files do. Returns the MEP's size.
size_t make_mep(uint8_t *bytes, size_t capacity, unsigned n, const uint8_t *const *mfps,
		const size_t *sizes);

// The event of a ring.
struct evb_event make_event(const uint8_t *mep, size_t size, uint64_t event_id);

// The notices of an event file.
struct account {
	unsigned n;
	struct {
		enum event_file_notice_kind kind;
		char path[PATH_SIZE];
		char cause[EVENT_FILE_ERROR_SIZE];
		uint64_t bytes, events, cut;
	} notices[N_NOTICES];
};
void note(void *context, const struct event_file_notice *notice);

// Parameters with prefix "t", format mep, no rotation, notices to the account.
struct event_file_parameters make_parameters(const char *directory, struct account *account);
// Opens, which must succeed.
struct event_file *open_files(const struct event_file_parameters *parameters);
// Writes the slot MEP of an event; returns as event_file_write().
int write_event(struct event_file *file, uint64_t event_id, uint64_t now_ns);
// The file must hold exactly the events first, first + 1, ... of make_file_mep().
void expect_events(const char *directory, const char *name, uint64_t first, unsigned n);

// An event ring in the directory with one builder and the group main, and an event in a slot of it.
struct evring *make_ring(const char *directory);
void publish(struct evring *ring, uint32_t slot, uint64_t event_id);
