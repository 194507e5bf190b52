// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariants can fail: the scheduler with a fault breaks the invariant that the fault is about,
// and no other one before it.
//
// test-sched-mutant-NAME PATCH is linked with the mutant, test-sched-mutants PATCH... with the
// scheduler as it is.
#include "../mutant.h"
#include "history.h"

#define STEPS     2000u
#define HISTORIES 400u

static const char *const invariants[] = {
	[MODEL_TOKENS] = "tokens",
	[MODEL_SLOT_ONCE] = "slot once",
	[MODEL_EVENT_ORDER] = "event order",
	[MODEL_GROUPS] = "groups",
	[MODEL_NO_STALL] = "no stall",
	[MODEL_QUIESCENT] = "quiescent",
	[MODEL_NO_CONFLICT] = "no conflict",
	[MODEL_POLICY] = "policy",
	[MODEL_PACE] = "pace",
};

static struct model model;
static char **patches;
static int n_patches;

static enum model_invariant expected_invariant(const char *patch)
{
	char name[MUTANT_TEXT];

	mutant_read(patch, "Caught by", name);
	for (int i = MODEL_TOKENS; i <= MODEL_PACE; i++)
		if (strcmp(invariants[i], name) == 0)
			return (enum model_invariant)i;
	fail_msg("%s: no invariant is named '%s'", patch, name);
	return MODEL_HOLDS;
}

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

static void mutant__is_caught(void **state)
{
	enum model_invariant expected = expected_invariant(patches[0]), broken = first_broken();

	(void)state;
	if (broken != expected)
		fail_msg("%s: %s is broken (%s); expected %s", patches[0],
			 broken == MODEL_HOLDS ? "no invariant" : invariants[broken], model.message,
			 invariants[expected]);
	print_message("%s: %s\n", invariants[broken], model.message);
}

static void no_mutant__nothing_is_broken(void **state)
{
	(void)state;
	assert_int_equal(first_broken(), MODEL_HOLDS);
}

static void no_mutant__every_numbered_invariant_has_a_mutant(void **state)
{
	bool found[MODEL_PACE + 1] = { false };

	(void)state;
	for (int i = 0; i < n_patches; i++)
		found[expected_invariant(patches[i])] = true;
	for (int i = MODEL_TOKENS; i <= MODEL_NO_CONFLICT; i++)
		assert_true(found[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest mutant[] = {
		cmocka_unit_test(mutant__is_caught),
	};
	const struct CMUnitTest no_mutant[] = {
		cmocka_unit_test(no_mutant__nothing_is_broken),
		cmocka_unit_test(no_mutant__every_numbered_invariant_has_a_mutant),
	};

	patches = argv + 1;
	n_patches = argc - 1;
	if (n_patches == 1)
		return cmocka_run_group_tests(mutant, NULL, NULL);
	return cmocka_run_group_tests(no_mutant, NULL, NULL);
}
