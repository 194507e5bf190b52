// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "election/election.h"

#include <string.h>

#define MARGIN      16u // of a lease, by which the candidate counts it shorter than the voter
#define RANKS       20u // part of a lease that a candidate waits for each one of a lower rank
#define ASK_BEATS   6u  // heartbeats that an attempt lasts at most
#define YIELD_BEATS 2u // heartbeats for which the first candidate does not ask after it has yielded
#define COUNTS      8u // of the votes, per heartbeat
#define REQUESTS    4u // per heartbeat, of an attempt

static uint64_t rank_ns(const struct election *election)
{
	return election->parameters.lease / RANKS;
}

static uint64_t attempt_ns(const struct election *election)
{
	return ASK_BEATS * election->parameters.heartbeat;
}

// The time until a candidate asks again, longer for each rank, so that they do not ask together.
// One that has no majority is probably cut off: it leaves the others more time than it takes.
static uint64_t pause_ns(const struct election *election)
{
	const uint64_t least =
	    election->yields ? YIELD_BEATS * election->parameters.heartbeat : attempt_ns(election);

	return least * (1 + 2 * election->parameters.rank);
}

void election_make(struct election *election, const struct election_parameters *parameters)
{
	memset(election, 0, sizeof(*election));
	election->parameters = *parameters;
	election->not_before = parameters->now;
}

void election_state(const struct election *election, struct ctrl_lease *lease, uint64_t now)
{
	static const uint8_t offices[] = {
		[ELECTION_STANDBY] = CTRL_OFFICE_NONE,
		[ELECTION_ASKS] = CTRL_OFFICE_ASKED,
		[ELECTION_HELD] = CTRL_OFFICE_HELD,
	};

	lease->office = offices[election->state];
	lease->epoch = election->epoch;
	lease->given_up = election->given_up;
	lease->stamp = now;
}

// --- votes ---

// Whether the voter has granted a request of the present attempt. One of an earlier process of this
// node may be in the same epoch, and by another clock.
static bool is_for_request(const struct election *election, const struct ctrl_lease *lease,
			   uint64_t now)
{
	return election->state != ELECTION_STANDBY &&
	       lease->voted_for == election->parameters.self &&
	       lease->voted_epoch == election->epoch && lease->voted_stamp >= election->began_at &&
	       lease->voted_stamp <= now;
}

static void take_vote(struct election *election, unsigned from, const struct ctrl_lease *lease,
		      uint64_t now)
{
	const uint64_t length = election->parameters.lease;
	const uint64_t end = lease->voted_stamp + length - length / MARGIN;

	if (!is_for_request(election, lease, now) || end <= election->ends[from])
		return;
	election->ends[from] = end;
	election->is_renewed = true;
}

unsigned election_votes(const struct election *election, uint64_t now)
{
	unsigned n = 0;

	for (unsigned i = 0; i < election->parameters.n_nodes; i++)
		n += election->ends[i] >= now;
	return n;
}

static bool is_majority(const struct election *election, uint64_t until)
{
	return election_votes(election, until) > election->parameters.n_nodes / 2;
}

// The end of the leases of a majority, or up to 1 us less; `now` or earlier if there is none.
static uint64_t count(const struct election *election, uint64_t now)
{
	uint64_t low = now, high = now + election->parameters.lease;

	while (high - low > 1000) {
		const uint64_t middle = low + (high - low) / 2;

		if (is_majority(election, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void count_if_due(struct election *election, uint64_t now)
{
	const uint64_t pause = election->parameters.heartbeat / COUNTS;

	if (!election->is_renewed ||
	    (election->state == ELECTION_HELD && now < election->held_until &&
	     now - election->counted_at < pause))
		return;
	election->is_renewed = false;
	election->counted_at = now;
	election->held_until = count(election, now);
}

// --- attempts ---

static void vote_for_itself(struct election *election, struct vote *vote, uint64_t now)
{
	struct ctrl_lease own = { 0 };

	election_state(election, &own, now);
	if (vote_take(vote, election->parameters.self, &own, now)) {
		vote_state(vote, &own);
		take_vote(election, election->parameters.self, &own, now);
	}
}

void election_give_up(struct election *election, struct vote *vote, uint64_t now)
{
	const uint64_t pause = pause_ns(election);
	struct ctrl_lease own = { 0 };

	election->yields = false;
	if (election->state == ELECTION_STANDBY)
		return;
	election->state = ELECTION_STANDBY;
	election->given_up = election->epoch;
	election->held_until = 0;
	election->not_before = now + pause;
	election_state(election, &own, now);
	(void)vote_take(vote, election->parameters.self, &own, now);
}

// The least epoch of this candidate from `least` on. Epochs of different candidates differ.
static uint32_t own_epoch(const struct election *election, uint32_t least)
{
	const uint32_t n = election->parameters.n_ranks, rank = election->parameters.rank;

	return least + (rank + n - least % n) % n;
}

static void ask(struct election *election, struct vote *vote, uint32_t least, uint64_t now)
{
	uint32_t above = election->seen > vote->highest ? election->seen : vote->highest;

	above = above > election->given_up ? above : election->given_up;
	election->state = ELECTION_ASKS;
	election->epoch = own_epoch(election, above + 1 > least ? above + 1 : least);
	election->asked_at = now;
	election->is_renewed = election->yields = false;
	memset(election->ends, 0, sizeof(election->ends));
	vote_for_itself(election, vote, now);
}

static bool may_ask(const struct election *election, const struct vote *vote, uint64_t now)
{
	const uint64_t free = vote->until > vote->from ? vote->until : vote->from;

	return now >= election->not_before &&
	       now >= free + election->parameters.rank * rank_ns(election);
}

static bool has_ended(struct election *election, uint64_t now)
{
	if (election->state == ELECTION_HELD && now >= election->held_until)
		count_if_due(election, now);
	return election->state == ELECTION_HELD && now >= election->held_until;
}

void election_received(struct election *election, unsigned from, const struct ctrl_lease *lease,
		       uint64_t now)
{
	if (lease->epoch > election->seen)
		election->seen = lease->epoch;
	if (lease->voted_epoch > election->seen)
		election->seen = lease->voted_epoch;
	if (lease->office == CTRL_OFFICE_HELD
		? lease->epoch > election->epoch
		: lease->office == CTRL_OFFICE_ASKED && election->state == ELECTION_ASKS &&
		      from < election->parameters.self)
		election->yields = true;
	if (!has_ended(election, now))
		take_vote(election, from, lease, now);
}

// Whether an attempt is over, or the office.
static bool is_over(const struct election *election, uint64_t now)
{
	if (election->yields)
		return true;
	return election->state == ELECTION_HELD ? now >= election->held_until
						: now - election->began_at > attempt_ns(election);
}

// Whether a higher epoch has been asked for. Its candidate yields, but a node that has voted in it
// does not vote in a lower one any more.
static bool is_outbid(const struct election *election)
{
	return election->state == ELECTION_ASKS && !election->yields &&
	       election->seen > election->epoch;
}

bool election_poll(struct election *election, struct vote *vote, uint32_t least, uint64_t now)
{
	const enum election_state before = election->state;

	if (election->state == ELECTION_STANDBY) {
		if (may_ask(election, vote, now)) {
			election->began_at = now;
			ask(election, vote, least, now);
		}
		return election->state != before;
	}
	if (is_outbid(election) && !is_over(election, now)) {
		ask(election, vote, least, now); // the same attempt goes on
		return true;
	}
	if (!has_ended(election, now))
		vote_for_itself(election, vote, now);
	count_if_due(election, now);
	if (election->state == ELECTION_ASKS && election->held_until > now)
		election->state = ELECTION_HELD;
	if (is_over(election, now))
		election_give_up(election, vote, now);
	if (election->state == before &&
	    (election->state != ELECTION_ASKS ||
	     now - election->asked_at < election->parameters.heartbeat / REQUESTS))
		return false;
	election->asked_at = now;
	return true;
}
