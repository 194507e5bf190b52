// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "voters.h"

#define MS VOTERS_STEP
#ifdef __SANITIZE_ADDRESS__
#define HISTORIES 40u
#else
#define HISTORIES 150u
#endif

static struct voters voters;

static void make(unsigned n, unsigned n_ranks)
{
	voters_make(&voters, n + 10 * n_ranks, n, n_ranks);
	voters_run(&voters, 2 * VOTERS_LEASE);
	assert_int_equal(voters.holder, 0);
	assert_int_equal(voters.n_offices, 1);
}

// Runs until another process than `before` is in office; returns the time.
static uint64_t time_to_take_over(unsigned before)
{
	const uint64_t begin = voters.now;

	while (voters.holder == before || voters.holder == VOTERS_MOST) {
		voters_run(&voters, MS);
		assert_true(voters.now - begin < 10 * VOTERS_LEASE);
	}
	return voters.now - begin;
}

static void office__lasts_without_faults(void **state)
{
	(void)state;
	make(5, 3);
	voters_run(&voters, 20 * VOTERS_LEASE);
	assert_int_equal(voters.n_offices, 1);
}

static void office__is_taken_over_after_a_death(void **state)
{
	(void)state;
	make(3, 2);
	voters_kill(&voters, 0);
	// The lease, by the slowest clock, and one heartbeat, in which the votes become free.
	assert_true(time_to_take_over(0) < VOTERS_LEASE + 60 * MS);
	assert_int_equal(voters.holder, 1);
	assert_string_equal(voters.broken, "");
}

// Two standbys ask at nearly the same time, as messages are as late as on a busy machine.
static void office__is_taken_over_by_one_of_two(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		voters_make(&voters, seed, 5, 3);
		voters_run(&voters, 2 * VOTERS_LEASE);
		voters.delay = 20 * MS;
		voters_run(&voters, VOTERS_LEASE + seed % 40 * MS);
		assert_int_not_equal(voters.holder, VOTERS_MOST);
		voters_kill(&voters, voters.holder);
		assert_in_range(time_to_take_over(voters.holder), 0, VOTERS_LEASE + 100 * MS);
		assert_string_equal(voters.broken, "");
	}
}

// All voters that the manager hears renew its lease.
static void office__counts_its_votes(void **state)
{
	const struct election *election = &voters.processes[0].election;

	(void)state;
	make(5, 2);
	assert_int_equal(election_votes(election, election->asked_at), 5);
	voters_kill(&voters, 3);
	voters_kill(&voters, 4);
	voters_run(&voters, 2 * VOTERS_LEASE);
	assert_int_equal(election_votes(election, election->held_until), 3);
	assert_int_equal(voters.holder, 0);
}

static void office__is_not_resumed_after_a_stop(void **state)
{
	(void)state;
	make(3, 2);
	voters_stop(&voters, 0, 2 * VOTERS_LEASE);
	(void)time_to_take_over(0);
	voters_run(&voters, 5 * VOTERS_LEASE);
	assert_int_equal(voters.holder, 1);
	assert_int_equal(voters.n_offices, 2);
	assert_string_equal(voters.broken, "");
}

static void office__ends_in_a_minority(void **state)
{
	(void)state;
	make(5, 2);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned j = 0; j < 5; j++)
			voters.cut[i][j] = (i == 0 || i == 2) != (j == 0 || j == 2);
	(void)time_to_take_over(0);
	assert_int_equal(voters.holder, 1);
	voters_run(&voters, 3 * VOTERS_LEASE);
	assert_int_equal(voters.processes[0].election.state != ELECTION_HELD, 1);
	assert_string_equal(voters.broken, "");
}

static void office__needs_a_majority_of_all_nodes(void **state)
{
	(void)state;
	make(4, 2);
	voters_kill(&voters, 2);
	voters_kill(&voters, 3);
	voters_run(&voters, 5 * VOTERS_LEASE);
	assert_int_equal(voters.holder, VOTERS_MOST);
	voters_start(&voters, 2);
	voters_run(&voters, 4 * VOTERS_LEASE);
	assert_int_not_equal(voters.holder, VOTERS_MOST);
	assert_string_equal(voters.broken, "");
}

// The process of a candidate ends, and the next one asks in the same epoch, which nobody has named
// to it.
static void vote__is_not_renewed_for_another_process(void **state)
{
	struct ctrl_lease lease = { .office = CTRL_OFFICE_ASKED, .epoch = 9, .stamp = 1000 };
	struct vote vote;

	(void)state;
	vote_begin(&vote, VOTERS_LEASE, 0);
	assert_true(vote_take(&vote, 1, &lease, VOTERS_LEASE));
	assert_true(vote_take(&vote, 1, &lease, VOTERS_LEASE + 1));
	vote_session_began(&vote, 2);
	assert_true(vote_take(&vote, 1, &lease, VOTERS_LEASE + 2));
	vote_session_began(&vote, 1);
	assert_false(vote_take(&vote, 1, &lease, VOTERS_LEASE + 3));
	lease.epoch = 10;
	assert_true(vote_take(&vote, 1, &lease, VOTERS_LEASE + 4));
	assert_true(vote_take(&vote, 1, &lease, VOTERS_LEASE + 5));
	// One in office has had a majority: it is the process that got the votes.
	vote_session_began(&vote, 1);
	lease.office = CTRL_OFFICE_HELD;
	assert_true(vote_take(&vote, 1, &lease, VOTERS_LEASE + 6));
}

static void candidate__counts_votes_for_its_own_requests(void **state)
{
	const uint64_t now = 10 * VOTERS_LEASE;
	const struct election_parameters parameters = { .self = 0,
							.n_nodes = 3,
							.n_ranks = 2,
							.lease = VOTERS_LEASE,
							.heartbeat = VOTERS_BEAT,
							.now = now };
	const uint64_t stamps[] = { now - 1, now + 2, UINT64_MAX - VOTERS_LEASE, 0 };
	struct ctrl_lease lease = { .voted_for = 0 };
	struct election election;
	struct vote vote;

	(void)state;
	vote_begin(&vote, VOTERS_LEASE, now - 2 * VOTERS_LEASE);
	election_make(&election, &parameters);
	assert_true(election_poll(&election, &vote, 8, now));
	assert_int_equal(election.state, ELECTION_ASKS);
	lease.voted_epoch = election.epoch;
	for (unsigned i = 0; i < 4; i++) {
		lease.voted_stamp = stamps[i];
		election_received(&election, 1, &lease, now + 1);
		assert_int_equal(election_votes(&election, now + 1), 1); // its own
	}
	lease.voted_stamp = now;
	election_received(&election, 1, &lease, now + 1);
	assert_int_equal(election_votes(&election, now + 1), 2);
}

static void expect_whole(uint64_t seed)
{
	if (voters.broken[0] != '\0')
		fail_msg("history %ju: %s", (uintmax_t)seed, voters.broken);
}

// In these a candidate comes into the epoch of an earlier process of its own. In the first ones a
// voter remembers that one; in the others, all have restarted.
static void office__is_one_in_an_epoch(void **state)
{
	static const uint64_t seeds[] = { 107, 883, 917, 1340, 1685, 2045, 2585 };

	(void)state;
	for (unsigned i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		voters_history(&voters, seeds[i]);
		expect_whole(seeds[i]);
	}
}

static void office__is_one_in_random_histories(void **state)
{
	unsigned n_offices = 0;

	(void)state;
	for (uint64_t seed = 0; seed < HISTORIES; seed++) {
		voters_history(&voters, seed);
		expect_whole(seed);
		n_offices += voters.n_offices;
	}
	assert_true(n_offices > 5 * HISTORIES); // the histories are not only faults
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(office__lasts_without_faults),
		cmocka_unit_test(office__is_taken_over_after_a_death),
		cmocka_unit_test(office__is_taken_over_by_one_of_two),
		cmocka_unit_test(office__counts_its_votes),
		cmocka_unit_test(office__is_not_resumed_after_a_stop),
		cmocka_unit_test(office__ends_in_a_minority),
		cmocka_unit_test(office__needs_a_majority_of_all_nodes),
		cmocka_unit_test(vote__is_not_renewed_for_another_process),
		cmocka_unit_test(candidate__counts_votes_for_its_own_requests),
		cmocka_unit_test(office__is_one_in_an_epoch),
		cmocka_unit_test(office__is_one_in_random_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
