// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bench.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void bench_make_directory(struct bench *bench)
{
	const char *parent = getenv("TMPDIR");

	memset(bench, 0, sizeof(*bench));
	snprintf(bench->directory, sizeof(bench->directory), "%s/evring.XXXXXX",
		 parent != NULL && strlen(parent) < 40 ? parent : "/tmp");
	assert_non_null(mkdtemp(bench->directory));
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

void bench_remove_directory(struct bench *bench)
{
	assert_int_equal(nftw(bench->directory, remove_one, 4, FTW_DEPTH | FTW_PHYS), 0);
}

struct evring_parameters bench_parameters(const struct bench *bench, uint32_t slots,
					  const char *const *group)
{
	return (struct evring_parameters){
		.name = BENCH_NAME,
		.directory = bench->directory,
		.builder = 0,
		.n_builders = 1,
		.run_number = BENCH_RUN,
		.slots = slots,
		.slot_size = EVRING_SLOT_ALIGNMENT,
		.groups = group,
		.n_groups = *group != NULL ? 1 : 0,
	};
}

static void open_ring(struct bench *bench, const struct evring_parameters *parameters)
{
	if (evring_create(&bench->ring, parameters, bench->error) != 0)
		fail_msg("%s", bench->error);
	for (uint32_t slot = 0; slot < parameters->slots; slot++) {
		bench->free_slots[bench->n_free++] = slot;
		bench->is_free[slot] = true;
	}
}

void bench_open(struct bench *bench, uint32_t slots, const char *group)
{
	struct evring_parameters parameters;

	bench_make_directory(bench);
	parameters = bench_parameters(bench, slots, &group);
	open_ring(bench, &parameters);
}

void bench_open_groups(struct bench *bench, uint32_t slots, const char *const *groups,
		       const struct evring_group_rules *rules, unsigned n_groups)
{
	struct evring_parameters parameters;

	bench_make_directory(bench);
	parameters = bench_parameters(bench, slots, groups);
	parameters.n_groups = n_groups;
	parameters.rules = rules;
	open_ring(bench, &parameters);
}

void bench_close(struct bench *bench)
{
	evring_destroy(bench->ring);
	bench_remove_directory(bench);
}

static uint64_t pattern(uint64_t id, unsigned word)
{
	return id * UINT64_C(0x9e3779b97f4a7c15) + word;
}

bool bench_publish(struct bench *bench)
{
	const uint64_t id = bench->published;
	const struct evring_event event = {
		.event_id = id,
		.length = BENCH_LENGTH,
		.first_ns = id + 1,
		.complete_ns = id + 2,
		.flags = EVB_EVENT_INCOMPLETE | bench->flags,
		.n_sources = 3,
		.n_missing = 1,
	};
	uint64_t *words;
	uint32_t slot;

	if (bench->n_free == 0)
		return false;
	slot = bench->free_slots[--bench->n_free];
	bench->is_free[slot] = false;
	evring_begin(bench->ring, slot);
	words = (uint64_t *)(void *)evring_slot(bench->ring, slot);
	for (unsigned i = 0; i < BENCH_LENGTH / sizeof(*words); i++)
		words[i] = pattern(id, i);
	evring_publish(bench->ring, slot, &event);
	bench->published++;
	return true;
}

unsigned bench_collect(struct bench *bench)
{
	uint32_t slots[7]; // fewer than come, so that the search is resumed
	unsigned total = 0;
	// A call looks at a part of the slots only; this many calls look at all of them twice.
	unsigned calls_left = 2 * BENCH_MAX_SLOTS / 128 + 2;

	while (calls_left > 0) {
		const unsigned n =
		    evring_reclaim(bench->ring, slots, sizeof(slots) / sizeof(slots[0]));

		for (unsigned i = 0; i < n; i++) {
			assert_false(bench->is_free[slots[i]]);
			bench->is_free[slots[i]] = true;
			bench->free_slots[bench->n_free++] = slots[i];
		}
		total += n;
		calls_left -= n == 0;
	}
	return total;
}

static int open_reader(struct evb_reader **reader, const struct bench *bench,
		       enum evb_reader_mode mode, const char *group)
{
	const struct evb_reader_options options = {
		.mode = mode,
		.group = group,
		.directory = bench->directory,
	};

	return evb_reader_open(reader, BENCH_NAME, &options);
}

struct evb_reader *bench_member(const struct bench *bench, const char *group)
{
	struct evb_reader *reader;

	if (open_reader(&reader, bench, EVB_READER_GROUP, group) != 0)
		fail_msg("%s", evb_reader_error(reader));
	return reader;
}

struct evb_reader *bench_child_member(const struct bench *bench, const char *group)
{
	struct evb_reader *reader;

	if (open_reader(&reader, bench, EVB_READER_GROUP, group) != 0)
		_exit(1);
	return reader;
}

struct evb_reader *bench_spy(const struct bench *bench)
{
	struct evb_reader *reader;

	if (open_reader(&reader, bench, EVB_READER_SPY, NULL) != 0)
		fail_msg("%s", evb_reader_error(reader));
	return reader;
}

bool bench_event_is_right(const struct evb_event *event)
{
	const uint64_t *words = event->data;

	for (unsigned i = 0; i < event->length / sizeof(*words); i++)
		if (words[i] != pattern(event->event_id, i))
			return false;
	return event->length == BENCH_LENGTH;
}

struct evb_event bench_take(struct evb_reader *reader, uint64_t id)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(reader, &event, 0), 1);
	assert_int_equal(event.event_id, id);
	assert_true(bench_event_is_right(&event));
	return event;
}

void bench_take_none(struct evb_reader *reader)
{
	struct evb_event event;

	assert_int_equal(evb_reader_next(reader, &event, 0), 0);
}

void bench_release(struct evb_reader *reader, const struct evb_event *event)
{
	assert_int_equal(evb_reader_release(reader, event), 0);
}

pid_t bench_fork(void)
{
	const pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

uint32_t bench_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}
