// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Random histories: anything may happen at any time, also while the run drains.
//
// test-cluster-random [SEED [HISTORIES]] begins at a seed.
#include "mixture.h"

#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
#define HISTORIES 8u
#else
#define HISTORIES 75u
#endif

static uint64_t first_seed;
static uint64_t n_histories = HISTORIES;

static void happen(bool elects, bool multicast)
{
	static struct farm farm;
	struct mixture_sums sums = { 0 };

	for (uint64_t seed = first_seed; seed < first_seed + n_histories; seed++) {
		mixture_run(&farm, seed, elects, multicast, &sums);
		farm_expect_whole(&farm);
	}
	print_message("%ju histories: %ju events published, %ju by permission, %ju incomplete, %ju "
		      "twice, %ju flagged as that; %ju kills, %ju of the manager, %ju cuts, %ju "
		      "exclusions, %ju "
		      "pauses, %ju departures, %ju take-overs\n",
		      (uintmax_t)n_histories, (uintmax_t)sums.published, (uintmax_t)sums.unasked,
		      (uintmax_t)sums.incomplete, (uintmax_t)sums.twice, (uintmax_t)sums.repeated,
		      (uintmax_t)sums.kills, (uintmax_t)sums.managers, (uintmax_t)sums.cuts,
		      (uintmax_t)sums.exclusions, (uintmax_t)sums.pauses,
		      (uintmax_t)sums.departures, (uintmax_t)sums.take_overs);
	print_message("%ju shared frames, of which nodes received %ju and %ju were repeated\n",
		      (uintmax_t)sums.shared, (uintmax_t)sums.shared_received,
		      (uintmax_t)sums.shared_repeated);
	if (n_histories < HISTORIES)
		return;
	assert_true(sums.kills > 0 && sums.managers > 0 && sums.cuts > 0);
	assert_true(sums.exclusions > 0 && sums.pauses > 0 && sums.departures > 0);
	assert_true(sums.repeated >= sums.twice);
	assert_true(sums.unasked > sums.published / 4);
	assert_true(!elects || sums.take_overs > HISTORIES);
	// Most frames are not repeated, although one in ten is lost on each way.
	assert_true(!multicast || sums.shared_received > sums.shared);
	assert_true(!multicast || sums.shared_repeated > HISTORIES);
	assert_true(!multicast || sums.shared_repeated < sums.shared_received / 2);
}

static void anything_happens(void **state)
{
	(void)state;
	happen(false, false);
}

static void anything_happens_to_elected_managers(void **state)
{
	(void)state;
	happen(true, false);
}

static void anything_happens__by_multicast(void **state)
{
	(void)state;
	happen(false, true);
}

static void anything_happens_to_elected_managers__by_multicast(void **state)
{
	(void)state;
	happen(true, true);
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything_happens),
		cmocka_unit_test(anything_happens_to_elected_managers),
		cmocka_unit_test(anything_happens__by_multicast),
		cmocka_unit_test(anything_happens_to_elected_managers__by_multicast),
	};

	if (n_arguments > 1) {
		first_seed = strtoull(arguments[1], NULL, 10);
		n_histories = n_arguments > 2 ? strtoull(arguments[2], NULL, 10) : 1;
	}
	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
