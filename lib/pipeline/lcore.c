// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pipeline/lcore.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#define SLICE_NS 100000u // the shortest that the kernel accepts
#define WARY     1000 // times without work, after a slow yield, in which the lcore sleeps at once

enum regime {
	REGIME_IDLE,
	REGIME_BACKPRESSURED,
	REGIME_BUSY,
};

static bool is_drained(const struct role *role)
{
	return atomic_load_explicit(&role->drained, memory_order_relaxed);
}

// Calls one role and adds its time to its counters. *now is set to the time at which the role
// returned, so that the clock is read once per role.
static enum regime run_role(struct role *role, uint64_t *now)
{
	uint64_t start = *now, cycles;
	unsigned items = 0;

	if (unlikely(is_drained(role))) {
		if (role->lingers && role->operations->linger != NULL)
			role->operations->linger(role, start);
		return REGIME_IDLE;
	}
	role->backpressured = false;
	if (unlikely(atomic_load_explicit(&role->drain_requested, memory_order_acquire))) {
		if (role->operations->drain(role, start))
			atomic_store_explicit(&role->drained, true, memory_order_release);
	} else {
		items = role->operations->poll(role, start);
	}
	*now = rte_rdtsc();
	cycles = *now - start;
	counter_add(&role->counters.polls, 1);
	if (items > 0) {
		counter_add(&role->counters.items, items);
		counter_add(&role->counters.busy_cycles, cycles);
		return REGIME_BUSY;
	}
	counter_add(&role->counters.empty_polls, 1);
	if (role->backpressured) {
		counter_add(&role->counters.backpressured_cycles, cycles);
		return REGIME_BACKPRESSURED;
	}
	counter_add(&role->counters.idle_cycles, cycles);
	return REGIME_IDLE;
}

// Calls the housekeeping of all roles, except drained ones, which have released their resources.
static void housekeep(struct lcore *lcore)
{
	for (unsigned i = 0; i < lcore->n_roles; i++) {
		struct role *role = lcore->roles[i];

		if (role->operations->housekeep != NULL && !is_drained(role))
			role->operations->housekeep(role, rte_rdtsc());
	}
}

struct idleness {
	unsigned empty_loops; // in a row
	unsigned wary;        // sleeps in the place of yields that are left
};

// No role had anything to do: gives the CPU to other threads if the idle policy is adaptive. A busy
// poll on a shared CPU costs the other threads a whole time slice of the kernel's scheduler, about
// a thousand times the cost of a yield. Where another thread wants the whole CPU, a yield costs
// this one a time slice, and a sleep does not: the kernel wakes a sleeping thread before the slice
// ends.
static void idle(struct lcore *lcore, struct idleness *idleness, uint64_t now)
{
	struct timespec pause = { .tv_nsec = (long)lcore->sleep_ns };

	idleness->empty_loops++;
	if (!lcore->adaptive)
		return;
	if (idleness->empty_loops <= lcore->yields && idleness->wary == 0) {
		sched_yield();
		if (rte_rdtsc() - now > lcore->slow_yield)
			idleness->wary = WARY;
		return;
	}
	if (idleness->wary > 0)
		idleness->wary--;
	housekeep(lcore);
	nanosleep(&pause, NULL);
	counter_add(&lcore->counters.sleeps, 1);
}

// sched_setattr(2), which glibc 2.36 does not have.
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

// Asks for time slices that are short, and soon. A thread that sleeps while it waits for another
// node would wait longer for the CPU than for the node: with the usual slice of 3 ms, as long as
// several threads that want the whole CPU use theirs. Linux from 6.12 on knows such slices, and
// wakes a thread before others whose slices are longer. Before, the kernel ignores the wish.
static void prefer_short_slices(void)
{
	struct scheduling scheduling = { .size = sizeof(scheduling) };

	if (syscall(SYS_sched_getattr, 0, &scheduling, sizeof(scheduling), 0) != 0 ||
	    scheduling.policy != SCHED_OTHER)
		return;
	scheduling.runtime = SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &scheduling, 0);
}

int lcore_run(void *argument)
{
	struct lcore *lcore = argument;
	struct idleness idleness = { 0 };
	unsigned loops = 0;
	uint64_t now, start, housekept;

	// The default slack of 50 us would double each sleep.
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (lcore->adaptive)
		prefer_short_slices();
	atomic_store_explicit(&lcore->running, true, memory_order_release);
	now = start = housekept = rte_rdtsc();
	while (!atomic_load_explicit(&lcore->stop, memory_order_acquire)) {
		enum regime regime = REGIME_IDLE;

		for (unsigned i = 0; i < lcore->n_roles; i++) {
			enum regime of_role = run_role(lcore->roles[i], &now);

			if (of_role > regime)
				regime = of_role;
		}
		if (++loops % LCORE_HOUSEKEEP == 0 || now - housekept > lcore->longest) {
			housekeep(lcore);
			housekept = now;
		}
		if (regime == REGIME_BUSY)
			idleness.empty_loops = 0;
		else
			idle(lcore, &idleness, now);
		now = rte_rdtsc();
		counter_add(&lcore->counters.loops, 1);
		counter_add(regime == REGIME_BUSY            ? &lcore->counters.busy_cycles
			    : regime == REGIME_BACKPRESSURED ? &lcore->counters.backpressured_cycles
							     : &lcore->counters.idle_cycles,
			    now - start);
		start = now;
	}
	housekeep(lcore);
	atomic_store_explicit(&lcore->running, false, memory_order_release);
	return 0;
}
