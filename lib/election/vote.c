// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "election/election.h"

void vote_begin(struct vote *vote, uint64_t lease, uint64_t now)
{
	*vote = (struct vote){ .lease = lease, .from = now + lease, .to = CTRL_NO_VOTE };
}

// A candidate in office may have lost this vote for a while, and others may have asked meanwhile.
static bool epoch_is_recent(const struct vote *vote, bool is_renewal,
			    const struct ctrl_lease *lease)
{
	if (lease->office == CTRL_OFFICE_HELD)
		return lease->epoch >= vote->held;
	return is_renewal || lease->epoch > vote->highest;
}

bool vote_take(struct vote *vote, unsigned candidate, const struct ctrl_lease *lease, uint64_t now)
{
	const bool is_renewal =
	    vote->to == candidate && vote->epoch == lease->epoch && !vote->is_of_before;

	if (vote->to == candidate && lease->given_up >= vote->epoch && vote->until > now)
		vote->until = now;
	if (lease->office == CTRL_OFFICE_HELD && lease->epoch > vote->held)
		vote->held = lease->epoch;
	if (lease->office == CTRL_OFFICE_NONE || now < vote->from ||
	    (now < vote->until && vote->to != candidate) ||
	    !epoch_is_recent(vote, is_renewal, lease))
		return false;
	vote->to = (uint16_t)candidate;
	vote->is_of_before = false;
	vote->epoch = lease->epoch;
	vote->stamp = lease->stamp;
	vote->until = now + vote->lease;
	if (lease->epoch > vote->highest)
		vote->highest = lease->epoch;
	return true;
}

void vote_session_began(struct vote *vote, unsigned candidate)
{
	vote->is_of_before |= vote->to == candidate;
}

void vote_state(const struct vote *vote, struct ctrl_lease *lease)
{
	lease->voted_for = vote->to;
	lease->voted_epoch = vote->epoch;
	lease->voted_stamp = vote->stamp;
}
