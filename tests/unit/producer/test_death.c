// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Producers and appliances that are killed at random moments. What must hold: each committed block
// is taken and released exactly once, in order for each source, and nothing else is taken.
#include "../evring/trace.h"
#include "ring_bench.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PRODUCER_KILLS  200u
#define APPLIANCE_KILLS 50u
#define MOST_EVENTS     (1u << 22) // of a source

// What the processes note in memory that outlives them, by source.
struct notes {
	// Events below it were committed; the one at it may have been, if the process died.
	_Atomic uint64_t committed[RING_SOURCES];
	_Atomic uint8_t released[RING_SOURCES][MOST_EVENTS];
	_Atomic uint8_t taken_last[RING_SOURCES][MOST_EVENTS]; // by the process that died
};

static struct notes *make_notes(void)
{
	void *memory = mmap(NULL, sizeof(struct notes), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static void kill_child(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFSIGNALED(status))
		fail_msg("a child ended by itself, with status %d", WEXITSTATUS(status));
}

// A producer that begins where the one before ended. It ends only by a signal, or with the line of
// what failed.
static void produce(const struct ring_bench *bench, struct notes *notes, uint64_t seed)
{
	const struct evb_producer_options options = { .directory = bench->files.directory };
	uint64_t next[RING_SOURCES];
	struct evb_producer *producer;

	if (evb_producer_open(&producer, BENCH_NAME, RING_NAME, &options) != 0)
		_exit(1);
	for (unsigned i = 0; i < RING_SOURCES; i++) {
		const int found = evb_producer_last(producer, ring_source_ids[i], &next[i]);

		next[i] = found == 1 ? next[i] + 1 : 0;
		// The process before may have died after the commit and before its note.
		if (next[i] != notes->committed[i] && next[i] != notes->committed[i] + 1)
			_exit(2);
		notes->committed[i] = next[i];
	}
	while (next[0] < MOST_EVENTS && next[1] < MOST_EVENTS && next[2] < MOST_EVENTS) {
		const unsigned i = bench_random(&seed) % RING_SOURCES;
		const size_t length = 1 + bench_random(&seed) % 600;
		void *block;

		if (evb_producer_wait(producer, length, -1) != 1 ||
		    evb_producer_reserve(producer, ring_source_ids[i], length, &block) != 0)
			_exit(3);
		ring_fill(block, length, ring_source_ids[i], next[i]);
		if (evb_producer_commit(producer, next[i], length, 0) != 0)
			_exit(4);
		next[i]++;
		notes->committed[i] = next[i];
	}
	pause();
}

static pid_t start_producer(const struct ring_bench *bench, struct notes *notes, uint64_t seed)
{
	const pid_t child = bench_fork();

	if (child == 0)
		produce(bench, notes, seed);
	return child;
}

static void wait_for_commits(const struct notes *notes, unsigned more)
{
	const uint64_t before = notes->committed[0] + notes->committed[1] + notes->committed[2];
	const struct timespec pause = { .tv_nsec = 20000 };

	for (unsigned i = 0; i < 200; i++) { // the ring may be full
		if (notes->committed[0] + notes->committed[1] + notes->committed[2] >=
		    before + more)
			return;
		nanosleep(&pause, NULL);
	}
}

// Takes and releases what is there.
static void take_all(struct ring_bench *bench, uint64_t next[RING_SOURCES])
{
	struct producer_block blocks[4];
	unsigned n;

	while ((n = producer_ring_take(bench->ring, blocks, 4)) > 0) {
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(blocks[i].event_id, next[blocks[i].source_index]++);
			assert_true(ring_is_right(&blocks[i]));
			producer_ring_release(bench->ring, blocks[i].sequence);
		}
		producer_ring_housekeep(bench->ring);
	}
}

static void death__producer_killed_at_random(void **state)
{
	struct notes *notes = make_notes();
	uint64_t next[RING_SOURCES] = { 0 }, seed = 5, in_all = 0;
	struct producer_ring_counters counters;
	struct ring_bench bench;

	(void)state;
	ring_bench_open(&bench);
	for (unsigned kills = 0; kills < PRODUCER_KILLS; kills++) {
		const pid_t child = start_producer(&bench, notes, seed + kills);
		const struct timespec moment = { .tv_nsec = bench_random(&seed) % 300000 };

		// Some die while their blocks are taken, some with a ring that is full.
		take_all(&bench, next);
		if (bench_random(&seed) % 2 == 0)
			wait_for_commits(notes, 1);
		for (unsigned i = bench_random(&seed) % 40; i > 0; i--) {
			take_all(&bench, next);
			sched_yield();
		}
		nanosleep(&moment, NULL);
		kill_child(child);
	}
	kill_child(start_producer(&bench, notes, seed));
	take_all(&bench, next);
	for (unsigned i = 0; i < RING_SOURCES; i++) {
		// The last process may have died between a commit and its note.
		assert_in_range(next[i], notes->committed[i], notes->committed[i] + 1);
		in_all += next[i];
	}
	assert_true(in_all > PRODUCER_KILLS);
	counters = producer_ring_counters(bench.ring);
	assert_int_equal(counters.blocks, in_all);
	for (unsigned i = 0; i < PRODUCER_N_CAUSES; i++)
		assert_int_equal(counters.refused[i], 0);
	munmap(notes, sizeof(*notes));
	ring_bench_close(&bench);
}

// An appliance that adopts the ring, and takes and releases blocks in random order until it is
// killed. It notes a release before it releases: what it does not note it has not released.
static void serve(struct ring_bench *bench, struct notes *notes, uint64_t seed)
{
	const struct producer_ring_parameters parameters = ring_parameters(bench);
	struct producer_block held[RING_BLOCKS];
	unsigned n_held = 0;

	if (producer_ring_open(&bench->ring, &parameters, bench->files.error) != 0)
		_exit(1);
	for (;;) {
		n_held += producer_ring_take(bench->ring, &held[n_held], RING_BLOCKS - n_held);
		while (n_held > RING_BLOCKS / 2 || (n_held > 0 && bench_random(&seed) % 4 != 0)) {
			const unsigned chosen = bench_random(&seed) % n_held;
			const struct producer_block block = held[chosen];

			if (!ring_is_right(&block) || block.event_id >= MOST_EVENTS)
				_exit(2);
			// 1: the release is about to happen; 2: it has happened.
			if (notes->released[block.source_index][block.event_id] == 2)
				_exit(3);
			notes->released[block.source_index][block.event_id] = 1;
			producer_ring_release(bench->ring, block.sequence);
			notes->released[block.source_index][block.event_id] = 2;
			held[chosen] = held[--n_held];
		}
		producer_ring_housekeep(bench->ring);
	}
}

static void death__appliance_killed_at_random(void **state)
{
	struct producer_ring_parameters parameters;
	struct notes *notes = make_notes();
	struct ring_bench bench;
	uint64_t seed = 9, last[RING_SOURCES] = { 0 };
	struct producer_block block;
	pid_t producer;

	(void)state;
	ring_bench_open(&bench);
	producer_ring_close(bench.ring);
	producer = start_producer(&bench, notes, 1);
	for (unsigned kills = 0; kills < APPLIANCE_KILLS; kills++) {
		const pid_t child = bench_fork();

		if (child == 0)
			serve(&bench, notes, seed + kills);
		wait_for_commits(notes, bench_random(&seed) % 60);
		kill_child(child);
	}
	kill_child(producer); // it lived through all of this
	parameters = ring_parameters(&bench);
	ring_open(&bench, &parameters);
	while (producer_ring_take(bench.ring, &block, 1) == 1) {
		assert_true(ring_is_right(&block));
		assert_int_not_equal(notes->released[block.source_index][block.event_id], 2);
		notes->released[block.source_index][block.event_id] = 2;
		producer_ring_release(bench.ring, block.sequence);
	}
	for (unsigned i = 0; i < RING_SOURCES; i++) {
		for (last[i] = 0; notes->released[i][last[i]] != 0; last[i]++)
			;
		assert_in_range(last[i], notes->committed[i], notes->committed[i] + 1);
		assert_true(last[i] > 100);
	}
	munmap(notes, sizeof(*notes));
	ring_bench_close(&bench);
}

// --- killed at each step -------------------------------------------------------------------------

#define LIFE_BLOCKS 3u

// The life of a traced process, between two stops. It is cut off somewhere in between.
typedef void life(struct ring_bench *bench, struct notes *notes);

// Commits blocks, the last one after a shorter one.
static void life_of_committing(struct ring_bench *bench, struct notes *notes)
{
	struct evb_producer *producer = ring_producer(bench, false);
	uint64_t next = 0;
	void *block;

	if (evb_producer_last(producer, ring_source_ids[0], &next) == 1)
		next++;
	raise(SIGSTOP);
	for (unsigned i = 0; i < LIFE_BLOCKS; i++, next++) {
		if (evb_producer_reserve(producer, ring_source_ids[0], 64, &block) != 0)
			_exit(1);
		ring_fill(block, 4, ring_source_ids[0], next);
		if (evb_producer_commit(producer, next, 4, 0) != 0)
			_exit(1);
		notes->committed[0] = next + 1;
	}
	raise(SIGSTOP);
}

// Adopts the ring with LIFE_BLOCKS blocks, and releases the last one first.
static void life_of_releasing(struct ring_bench *bench, struct notes *notes)
{
	const struct producer_ring_parameters parameters = ring_parameters(bench);
	struct producer_block blocks[LIFE_BLOCKS];

	ring_open(bench, &parameters);
	raise(SIGSTOP);
	if (producer_ring_take(bench->ring, blocks, LIFE_BLOCKS) != LIFE_BLOCKS)
		_exit(1);
	for (unsigned i = LIFE_BLOCKS; i-- > 0;) {
		notes->released[0][blocks[i].event_id] = 1;
		producer_ring_release(bench->ring, blocks[i].sequence);
		notes->released[0][blocks[i].event_id] = 2;
	}
	raise(SIGSTOP);
}

// Lets a process do `steps` steps of its life and kills it. Returns how many it did.
static uint64_t kill_after(struct ring_bench *bench, struct notes *notes, life *live,
			   uint64_t steps)
{
	const pid_t child = trace_fork();
	uint64_t done;

	if (child == 0) {
		live(bench, notes);
		_exit(1);
	}
	done = trace_steps(child, PTRACE_SINGLESTEP, steps);
	kill_child(child);
	return done;
}

// What the dead producer committed is there, and the next one knows it.
static uint64_t commit_and_die(struct ring_bench *bench, struct notes *notes, uint64_t steps)
{
	const uint64_t done = kill_after(bench, notes, life_of_committing, steps);
	struct evb_producer *producer = ring_producer(bench, false);
	uint64_t last, next[RING_SOURCES] = { producer_ring_counters(bench->ring).blocks };
	const bool has_last = evb_producer_last(producer, ring_source_ids[0], &last) == 1;

	take_all(bench, next);
	assert_int_equal(has_last ? last + 1 : 0, next[0]);
	assert_in_range(next[0], notes->committed[0], notes->committed[0] + 1);
	evb_producer_close(producer);
	return done;
}

// The next appliance takes what the dead one had not released, and nothing else.
static uint64_t release_and_die(struct ring_bench *bench, struct notes *notes, uint64_t steps)
{
	const struct producer_ring_parameters parameters = ring_parameters(bench);
	struct evb_producer *producer = ring_producer(bench, false);
	const uint64_t first = notes->committed[0];
	struct producer_block block;
	uint64_t done;

	for (unsigned i = 0; i < LIFE_BLOCKS; i++)
		assert_int_equal(ring_put(producer, ring_source_ids[0], first + i, 4), 0);
	notes->committed[0] = first + LIFE_BLOCKS;
	evb_producer_close(producer);
	done = kill_after(bench, notes, life_of_releasing, steps);
	ring_open(bench, &parameters);
	while (producer_ring_take(bench->ring, &block, 1) == 1) {
		assert_int_not_equal(notes->released[0][block.event_id], 2);
		notes->released[0][block.event_id] = 2;
		producer_ring_release(bench->ring, block.sequence);
	}
	for (unsigned i = 0; i < LIFE_BLOCKS; i++)
		assert_int_not_equal(notes->released[0][first + i], 0);
	assert_int_equal(producer_ring_fill(bench->ring), 0);
	producer_ring_close(bench->ring);
	return done;
}

static void kill_after_each_step(struct ring_bench *bench,
				 uint64_t (*run)(struct ring_bench *, struct notes *, uint64_t))
{
	struct notes *notes = make_notes();
	uint64_t all, stride, seed = 3;

	all = run(bench, notes, UINT64_MAX);
	assert_true(all > 20);
	stride = 8 * trace_stride(all);
	for (uint64_t steps = 0; steps < all; steps += stride)
		run(bench, notes, steps + bench_random(&seed) % stride);
	munmap(notes, sizeof(*notes));
}

static void death__producer_killed_at_each_step_of_a_commit(void **state)
{
	struct ring_bench bench;

	(void)state;
	if (!trace_is_possible())
		skip();
	ring_bench_open(&bench);
	kill_after_each_step(&bench, commit_and_die);
	ring_bench_close(&bench);
}

static void death__appliance_killed_at_each_step_of_a_release(void **state)
{
	struct producer_ring_parameters parameters;
	struct ring_bench bench;

	(void)state;
	if (!trace_is_possible())
		skip();
	ring_bench_open(&bench);
	producer_ring_close(bench.ring);
	kill_after_each_step(&bench, release_and_die);
	parameters = ring_parameters(&bench);
	ring_open(&bench, &parameters);
	ring_bench_close(&bench);
}

// --- the end at each step ------------------------------------------------------------------------

static void life_of_one_commit(struct ring_bench *bench, struct notes *notes)
{
	struct evb_producer *producer = ring_producer(bench, false);
	void *block;

	if (evb_producer_reserve(producer, ring_source_ids[0], 4, &block) != 0)
		_exit(1);
	ring_fill(block, 4, ring_source_ids[0], 0);
	raise(SIGSTOP);
	notes->committed[0] = evb_producer_commit(producer, 0, 4, 0) == 0;
	raise(SIGSTOP);
}

// The appliance ends the ring and takes what is there while a producer is inside a commit. Returns
// the steps that the producer did until then.
static uint64_t end_after(struct notes *notes, uint64_t steps, unsigned *n_committed)
{
	uint64_t next[RING_SOURCES] = { 0 }, done;
	struct ring_bench bench;
	pid_t child;

	notes->committed[0] = 0;
	ring_bench_open(&bench);
	child = trace_fork();
	if (child == 0) {
		life_of_one_commit(&bench, notes);
		_exit(1);
	}
	done = trace_steps(child, PTRACE_SINGLESTEP, steps);
	producer_ring_end(bench.ring);
	take_all(&bench, next);
	if (done == steps)
		(void)trace_steps(child, PTRACE_SINGLESTEP, UINT64_MAX);
	kill_child(child);
	// What was committed without an error was taken.
	assert_true(notes->committed[0] <= next[0]);
	*n_committed += notes->committed[0] != 0;
	ring_bench_close(&bench);
	return done;
}

static void death__end_at_each_step_of_a_commit(void **state)
{
	struct notes *notes = make_notes();
	unsigned n_committed = 0, n_ends = 1;
	uint64_t all, stride;

	(void)state;
	if (!trace_is_possible())
		skip();
	all = end_after(notes, UINT64_MAX, &n_committed);
	assert_int_equal(n_committed, 1); // the end came after it
	stride = 1 + all / 30;
	for (uint64_t steps = 0; steps < all; steps += stride, n_ends++)
		end_after(notes, steps, &n_committed);
	assert_in_range(n_committed, 2, n_ends - 2);
	munmap(notes, sizeof(*notes));
}

static void death__next_appliance_finds_what_was_not_released(void **state)
{
	struct producer_ring_parameters parameters;
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block block;

	(void)state;
	ring_bench_open(&bench);
	parameters = ring_parameters(&bench);
	producer = ring_producer(&bench, false);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(ring_put(producer, ring_source_ids[0], i, 100 + i), 0);
	(void)ring_take(&bench, ring_source_ids[0], 0);
	block = ring_take(&bench, ring_source_ids[0], 1);
	(void)ring_take(&bench, ring_source_ids[0], 2);
	producer_ring_release(bench.ring, block.sequence);
	assert_true(evb_producer_info(producer).connected);
	producer_ring_close(bench.ring);

	assert_int_equal(ring_put(producer, ring_source_ids[0], 5, 1), 0); // there is still room
	ring_open(&bench, &parameters);
	assert_int_equal(producer_ring_inherited(bench.ring), 5);
	for (unsigned i = 0; i < 6; i++) {
		if (i == 1) // was released
			continue;
		block = ring_take(&bench, ring_source_ids[0], i);
		producer_ring_release(bench.ring, block.sequence);
	}
	ring_take_none(&bench);
	assert_int_equal(producer_ring_fill(bench.ring), 0);
	ring_bench_end(&bench, producer);
}

static void death__other_sizes_replace_only_an_empty_ring(void **state)
{
	struct producer_ring_parameters parameters, other;
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block block;

	(void)state;
	ring_bench_open(&bench);
	parameters = ring_parameters(&bench);
	other = parameters;
	other.n_sources--;
	producer = ring_producer(&bench, false);
	assert_int_equal(ring_put(producer, ring_source_ids[0], 0, 100), 0);
	producer_ring_close(bench.ring);
	assert_int_equal(producer_ring_open(&bench.ring, &other, bench.files.error), -ESTALE);
	assert_non_null(strstr(bench.files.error, "1 blocks that were not taken"));

	ring_open(&bench, &parameters);
	block = ring_take(&bench, ring_source_ids[0], 0);
	producer_ring_release(bench.ring, block.sequence);
	producer_ring_close(bench.ring);
	ring_open(&bench, &other);
	assert_int_equal(producer_ring_inherited(bench.ring), 0);
	// The producer of the ring that was replaced cannot commit to it any more.
	assert_int_equal(evb_producer_info(producer).n_sources, RING_SOURCES);
	assert_int_equal(ring_put(producer, ring_source_ids[0], 1, 1), -EPIPE);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, -1), -EPIPE);
	ring_bench_end(&bench, producer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(death__producer_killed_at_random),
		cmocka_unit_test(death__appliance_killed_at_random),
		cmocka_unit_test(death__producer_killed_at_each_step_of_a_commit),
		cmocka_unit_test(death__appliance_killed_at_each_step_of_a_release),
		cmocka_unit_test(death__end_at_each_step_of_a_commit),
		cmocka_unit_test(death__next_appliance_finds_what_was_not_released),
		cmocka_unit_test(death__other_sizes_replace_only_an_empty_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
