// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The loop over roles that do what they are told, each call noted.
#include "testbed.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "pipeline/lcore.h"
#include "pipeline/lcore_health.h"

struct puppet {
	struct role role;
	struct lcore *lcore;
	unsigned stop_after;  // polls and drains, 0: never
	unsigned items;       // that each poll says to have done
	unsigned works_every; // polls: then it has items
	bool backpressured;   // that each poll sets
	uint64_t takes;       // TSC cycles that each poll takes at least
	unsigned drains_needed;
	unsigned polls, drains, housekeepings;
	unsigned polls_at_first_housekeeping;
	uint64_t last_now;
	uint64_t slice_ns; // of the thread that polls it, as the kernel states it
};

static struct puppet *puppet_of(struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct puppet, role));
}

static void live(struct puppet *puppet, uint64_t now)
{
	assert_true(now >= puppet->last_now);
	puppet->last_now = now;
	if (puppet->stop_after != 0 && puppet->polls + puppet->drains >= puppet->stop_after)
		atomic_store(&puppet->lcore->stop, true);
}

// sched_getattr(2). 0 where the kernel knows no slices of threads.
static uint64_t slice_ns(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = { .size = sizeof(attributes) };

	assert_int_equal(syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0), 0);
	return attributes.runtime;
}

static unsigned puppet_poll(struct role *role, uint64_t now)
{
	struct puppet *puppet = puppet_of(role);
	const uint64_t begin = rte_rdtsc();

	assert_false(role->backpressured); // the loop clears it
	assert_true(atomic_load(&puppet->lcore->running));
	puppet->polls++;
	puppet->slice_ns = slice_ns();
	role->backpressured = puppet->backpressured;
	live(puppet, now);
	while (rte_rdtsc() - begin < puppet->takes)
		;
	return puppet->polls % puppet->works_every == 0 ? puppet->items : 0;
}

static bool puppet_drain(struct role *role, uint64_t now)
{
	struct puppet *puppet = puppet_of(role);

	puppet->drains++;
	live(puppet, now);
	return puppet->drains >= puppet->drains_needed;
}

static void puppet_housekeep(struct role *role, uint64_t now)
{
	struct puppet *puppet = puppet_of(role);

	assert_true(now >= puppet->last_now);
	if (puppet->housekeepings++ == 0)
		puppet->polls_at_first_housekeeping = puppet->polls;
}

static const struct role_operations puppet_operations = {
	.kind = "puppet",
	.poll = puppet_poll,
	.housekeep = puppet_housekeep,
	.drain = puppet_drain,
};

static const struct role_operations plain_operations = {
	.kind = "plain",
	.poll = puppet_poll,
	.drain = puppet_drain,
};

struct stage {
	struct lcore lcore;
	struct puppet puppets[2];
};

static struct stage *make_stage(unsigned n_puppets)
{
	struct stage *stage = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*stage));

	assert_non_null(stage);
	memset(stage, 0, sizeof(*stage));
	stage->lcore.n_roles = n_puppets;
	stage->lcore.longest = stage->lcore.slow_yield = UINT64_MAX;
	for (unsigned i = 0; i < n_puppets; i++) {
		stage->puppets[i].lcore = &stage->lcore;
		stage->puppets[i].works_every = 1;
		stage->puppets[i].role.operations = &puppet_operations;
		stage->lcore.roles[i] = &stage->puppets[i].role;
	}
	return stage;
}

static void run(struct stage *stage)
{
	assert_int_equal(lcore_run(&stage->lcore), 0);
	assert_false(atomic_load(&stage->lcore.running));
}

static uint64_t lcore_cycles(const struct lcore *lcore)
{
	return lcore->counters.busy_cycles + lcore->counters.idle_cycles +
	       lcore->counters.backpressured_cycles;
}

static void loop__polls_all_roles_in_turn(void **state)
{
	struct stage *stage = make_stage(2);
	struct puppet *first = &stage->puppets[0], *second = &stage->puppets[1];

	(void)state;
	first->items = 3;
	second->items = 0;
	second->stop_after = 1000;
	run(stage);
	assert_int_equal(first->polls, 1000);
	assert_int_equal(second->polls, 1000);
	assert_int_equal(stage->lcore.counters.loops, 1000);
	assert_int_equal(first->role.counters.polls, 1000);
	assert_int_equal(first->role.counters.items, 3000);
	assert_int_equal(first->role.counters.empty_polls, 0);
	assert_int_equal(second->role.counters.polls, 1000);
	assert_int_equal(second->role.counters.items, 0);
	assert_int_equal(second->role.counters.empty_polls, 1000);
	free(stage);
}

static void loop__accounts_each_role_by_its_regime(void **state)
{
	struct stage *stage = make_stage(2);
	const struct role_counters *first = &stage->puppets[0].role.counters;
	const struct role_counters *second = &stage->puppets[1].role.counters;

	(void)state;
	stage->puppets[0].items = 1;
	stage->puppets[0].backpressured = true; // something was done all the same
	stage->puppets[1].backpressured = true;
	stage->puppets[1].stop_after = 1000;
	run(stage);
	assert_true(first->busy_cycles > 0);
	assert_int_equal(first->idle_cycles, 0);
	assert_int_equal(first->backpressured_cycles, 0);
	assert_true(second->backpressured_cycles > 0);
	assert_int_equal(second->busy_cycles, 0);
	assert_int_equal(second->idle_cycles, 0);
	// The lcore was busy if any of its roles was.
	assert_true(stage->lcore.counters.busy_cycles > 0);
	assert_int_equal(stage->lcore.counters.idle_cycles, 0);
	assert_int_equal(stage->lcore.counters.backpressured_cycles, 0);
	assert_true(lcore_cycles(&stage->lcore) >=
		    first->busy_cycles + second->backpressured_cycles);
	free(stage);
}

static void loop__is_backpressured_before_it_is_idle(void **state)
{
	struct stage *stage = make_stage(2);

	(void)state;
	stage->puppets[0].backpressured = true;
	stage->puppets[1].stop_after = 100;
	run(stage);
	assert_true(stage->lcore.counters.backpressured_cycles > 0);
	assert_int_equal(stage->lcore.counters.busy_cycles, 0);
	assert_int_equal(stage->lcore.counters.idle_cycles, 0);
	assert_true(stage->puppets[1].role.counters.idle_cycles > 0);
	free(stage);
}

static void loop__accounts_all_time(void **state)
{
	struct stage *stage = make_stage(1);
	uint64_t start, end;

	(void)state;
	stage->puppets[0].stop_after = 5000;
	start = rte_rdtsc();
	run(stage);
	end = rte_rdtsc();
	assert_true(lcore_cycles(&stage->lcore) <= end - start);
	assert_true(lcore_cycles(&stage->lcore) >= stage->puppets[0].role.counters.idle_cycles);
	assert_int_equal(stage->lcore.counters.loops, 5000);
	free(stage);
}

static void housekeeping__comes_every_256_loops(void **state)
{
	struct stage *stage = make_stage(2);

	(void)state;
	stage->puppets[0].items = 1;
	stage->puppets[1].items = 1;
	stage->puppets[1].stop_after = 10 * LCORE_HOUSEKEEP + 5;
	stage->puppets[1].role.operations = &plain_operations; // has none
	run(stage);
	assert_int_equal(stage->puppets[0].polls_at_first_housekeeping, LCORE_HOUSEKEEP);
	assert_int_equal(stage->puppets[0].housekeepings, 10 + 1); // and one at the end
	assert_int_equal(stage->puppets[1].housekeepings, 0);
	free(stage);
}

// Deadlines of events are looked at in it: loops that take long must not put it off.
static void housekeeping__comes_in_time_in_slow_loops(void **state)
{
	struct stage *stage = make_stage(1);

	(void)state;
	stage->lcore.longest = 1;
	stage->puppets[0].takes = 2; // the counter of aarch64 is too slow to count each loop
	stage->puppets[0].items = 1;
	stage->puppets[0].stop_after = 20;
	run(stage);
	assert_int_equal(stage->puppets[0].polls_at_first_housekeeping, 1);
	assert_int_equal(stage->puppets[0].housekeepings, 20 + 1); // and one at the end
	free(stage);
}

static void idle__yields_then_sleeps(void **state)
{
	struct stage *stage = make_stage(1);

	(void)state;
	stage->lcore.adaptive = true;
	stage->lcore.yields = 20;
	stage->lcore.sleep_ns = 1000;
	stage->puppets[0].stop_after = 50;
	run(stage);
	assert_int_equal(stage->lcore.counters.loops, 50);
	assert_int_equal(stage->lcore.counters.sleeps, 30);
	// Before each sleep, and at the end.
	assert_int_equal(stage->puppets[0].housekeepings, 31);
	assert_int_equal(stage->puppets[0].polls_at_first_housekeeping, 21);
	free(stage);
}

// Beside a thread that never sleeps a yield costs a time slice of the kernel, again and again.
static void idle__after_a_slow_yield_it_sleeps(void **state)
{
	struct stage *stage = make_stage(1);

	(void)state;
	stage->lcore.adaptive = true;
	stage->lcore.yields = 20;
	stage->lcore.slow_yield = 0;
	stage->lcore.sleep_ns = 1000;
	stage->puppets[0].items = 1;
	stage->puppets[0].works_every = 10;
	stage->puppets[0].stop_after = 1200;
	run(stage);
	// 1080 times without work: a yield, 1000 sleeps, a yield, the rest.
	assert_int_equal(stage->lcore.counters.sleeps, 1080 - 2);
	free(stage);
}

static void idle__work_begins_the_count_anew(void **state)
{
	struct stage *stage = make_stage(1);

	(void)state;
	stage->lcore.adaptive = true;
	stage->lcore.yields = 20;
	stage->puppets[0].items = 1;
	stage->puppets[0].works_every = 20;
	stage->puppets[0].stop_after = 500;
	run(stage);
	assert_int_equal(stage->lcore.counters.sleeps, 0);
	free(stage);
}

static void idle__poll_policy_never_sleeps(void **state)
{
	struct stage *stage = make_stage(1);

	(void)state;
	stage->puppets[0].stop_after = 2000;
	run(stage);
	assert_int_equal(stage->lcore.counters.sleeps, 0);
	assert_int_equal(stage->lcore.counters.loops, 2000);
	free(stage);
}

static void drain__takes_the_place_of_poll_until_done(void **state)
{
	struct stage *stage = make_stage(2);
	struct puppet *first = &stage->puppets[0], *second = &stage->puppets[1];

	(void)state;
	atomic_store(&first->role.drain_requested, true);
	first->drains_needed = 7;
	second->stop_after = 100;
	run(stage);
	assert_int_equal(first->polls, 0);
	assert_int_equal(first->drains, 7);
	assert_true(atomic_load(&first->role.drained));
	assert_int_equal(first->role.counters.polls, 7);
	assert_int_equal(second->polls, 100);
	assert_int_equal(second->drains, 0);
	assert_false(atomic_load(&second->role.drained));
	// Only the one that is not drained is kept.
	assert_int_equal(first->housekeepings, 0);
	assert_int_equal(second->housekeepings, 1);
	free(stage);
}

// A thread of its own, because the slice stays that of the thread.
static void *run_aside(void *stage)
{
	run(stage);
	return NULL;
}

// Where the kernel knows slices, an lcore that shares its CPU gets short ones.
static void idle__adaptive_policy_takes_short_slices(void **state)
{
	(void)state;
	for (unsigned adaptive = 0; adaptive < 2; adaptive++) {
		struct stage *stage = make_stage(1);
		const uint64_t usual = slice_ns();
		pthread_t thread;

		stage->lcore.adaptive = adaptive != 0;
		stage->puppets[0].stop_after = 3;
		assert_int_equal(pthread_create(&thread, NULL, run_aside, stage), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(stage->puppets[0].slice_ns,
				 adaptive != 0 && usual > 0 ? 100000 : usual);
		free(stage);
	}
}

static void stop__before_the_start_runs_nothing(void **state)
{
	struct stage *stage = make_stage(1);

	(void)state;
	atomic_store(&stage->lcore.stop, true);
	run(stage);
	assert_int_equal(stage->puppets[0].polls, 0);
	assert_int_equal(stage->puppets[0].housekeepings, 1);
	free(stage);
}

// --- health --------------------------------------------------------------------------------------

#define LCORES 3

// As lcores that ran `loops` loops since the last look.
static void advance(struct lcore *lcores, const unsigned loops[LCORES])
{
	for (unsigned i = 0; i < LCORES; i++) {
		atomic_store(&lcores[i].running, true);
		lcores[i].counters.loops += loops[i];
	}
}

static void health__names_the_lcore_without_progress(void **state)
{
	static struct lcore lcores[LCORES];
	struct lcore_health health = { 0 };

	(void)state;
	advance(lcores, (unsigned[LCORES]){ 5, 1, 7 });
	assert_null(lcore_find_stuck(&health, lcores, LCORES));
	advance(lcores, (unsigned[LCORES]){ 5, 0, 7 });
	assert_ptr_equal(lcore_find_stuck(&health, lcores, LCORES), &lcores[1]);
	// The others have made progress since all had: a look in between begins nothing anew.
	advance(lcores, (unsigned[LCORES]){ 0, 0, 0 });
	assert_ptr_equal(lcore_find_stuck(&health, lcores, LCORES), &lcores[1]);
	advance(lcores, (unsigned[LCORES]){ 0, 1, 0 });
	assert_null(lcore_find_stuck(&health, lcores, LCORES));
	assert_ptr_equal(lcore_find_stuck(&health, lcores, LCORES), &lcores[0]);
}

static void health__of_lcores_that_have_ended(void **state)
{
	static struct lcore lcores[LCORES];
	struct lcore_health health = { 0 };

	(void)state;
	advance(lcores, (unsigned[LCORES]){ 1, 1, 1 });
	assert_null(lcore_find_stuck(&health, lcores, LCORES));
	for (unsigned i = 0; i < LCORES; i++)
		atomic_store(&lcores[i].running, false);
	assert_null(lcore_find_stuck(&health, lcores, LCORES));
	atomic_store(&lcores[2].running, true);
	assert_ptr_equal(lcore_find_stuck(&health, lcores, LCORES), &lcores[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loop__polls_all_roles_in_turn),
		cmocka_unit_test(loop__accounts_each_role_by_its_regime),
		cmocka_unit_test(loop__is_backpressured_before_it_is_idle),
		cmocka_unit_test(loop__accounts_all_time),
		cmocka_unit_test(housekeeping__comes_every_256_loops),
		cmocka_unit_test(housekeeping__comes_in_time_in_slow_loops),
		cmocka_unit_test(idle__yields_then_sleeps),
		cmocka_unit_test(idle__after_a_slow_yield_it_sleeps),
		cmocka_unit_test(idle__work_begins_the_count_anew),
		cmocka_unit_test(idle__poll_policy_never_sleeps),
		cmocka_unit_test(idle__adaptive_policy_takes_short_slices),
		cmocka_unit_test(drain__takes_the_place_of_poll_until_done),
		cmocka_unit_test(stop__before_the_start_runs_nothing),
		cmocka_unit_test(health__names_the_lcore_without_progress),
		cmocka_unit_test(health__of_lcores_that_have_ended),
	};

	return cmocka_run_group_tests_name("lcore", tests, NULL, NULL);
}
