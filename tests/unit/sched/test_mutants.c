// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariants can fail: the scheduler compiled with a fault breaks the one that the fault is
// about, and no other before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history.h"
#include "sched/mutant.h"

#define STEPS     2000u
#define HISTORIES 400u

unsigned sched_mutation;

// The places of SCHED_MUTANT() in lib/sched.
static const struct {
	enum model_invariant invariant;
	const char *fault;
} mutants[] = {
	[1] = { MODEL_TOKENS, "purged credits are not counted" },
	[2] = { MODEL_TOKENS, "a credit survives its builder's session" },
	[3] = { MODEL_SLOT_ONCE, "a credit is taken twice" },
	[4] = { MODEL_SLOT_ONCE, "a granted slot stays in the free ones" },
	[5] = { MODEL_EVENT_ORDER, "events that wait again wait for newer ones" },
	[6] = { MODEL_EVENT_ORDER, "attempts are not counted up" },
	[7] = { MODEL_GROUPS, "the group rule yields uncounted" },
	[8] = { MODEL_GROUPS, "the group rule yields without waiting" },
	[9] = { MODEL_NO_STALL, "a round does not end before it is full" },
	[10] = { MODEL_NO_CONFLICT, "a builder has several positions in a round" },
	[11] = { MODEL_EVENT_ORDER, "an older attempt finishes an event" },
	[12] = { MODEL_QUIESCENT, "an event that waits again stays outstanding" },
	[13] = { MODEL_NO_STALL, "a finished event leaves its builder blocked" },
	[14] = { MODEL_NO_CONFLICT, "positions are given twice" },
};
#define N_MUTANTS (sizeof(mutants) / sizeof(mutants[0]))

static struct model model;

// Runs histories until one breaks an invariant; returns which, or MODEL_HOLDS.
static enum model_invariant first_broken(void)
{
	for (uint64_t seed = 0; seed < HISTORIES; seed++) {
		history_run(&model, seed, (enum sched_policy)(seed % 4), STEPS);
		if (model.broken != MODEL_HOLDS)
			return model.broken;
	}
	return MODEL_HOLDS;
}

static void mutants__none_is_whole(void **state)
{
	(void)state;
	sched_mutation = 0;
	assert_int_equal(first_broken(), MODEL_HOLDS);
}

static void mutants__each_is_caught(void **state)
{
	(void)state;
	for (sched_mutation = 1; sched_mutation < N_MUTANTS; sched_mutation++) {
		enum model_invariant broken = first_broken();

		if (broken != mutants[sched_mutation].invariant)
			fail_msg("%s: broke %d (%s), expected %d", mutants[sched_mutation].fault,
				 (int)broken, model.message,
				 (int)mutants[sched_mutation].invariant);
	}
}

static void mutants__every_invariant_has_one(void **state)
{
	(void)state;
	for (int invariant = MODEL_TOKENS; invariant <= MODEL_NO_CONFLICT; invariant++) {
		unsigned n = 0;

		for (unsigned i = 1; i < N_MUTANTS; i++)
			n += (int)mutants[i].invariant == invariant;
		assert_true(n > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutants__none_is_whole),
		cmocka_unit_test(mutants__each_is_caught),
		cmocka_unit_test(mutants__every_invariant_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
