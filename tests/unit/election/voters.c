// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "voters.h"

#include <stdio.h>
#include <string.h>

#define EPOCH_NS  UINT64_C(100000000)
#define FAULTS_NS UINT64_C(12000000000)
#define CALM_NS   UINT64_C(1200000000)

static uint64_t draw_below(struct random *random, uint64_t n)
{
	return random_next(random) % n;
}

static uint64_t clock_of(const struct voters *voters, unsigned node)
{
	const struct voter_clock *clock = &voters->clocks[node];

	return clock->offset + (uint64_t)((double)voters->now * clock->rate);
}

static void begin(struct voters *voters, struct voter_process *process, unsigned node)
{
	const uint64_t now = clock_of(voters, node);
	const struct election_parameters parameters = {
		.self = node,
		.n_nodes = voters->n,
		.rank = node,
		.n_ranks = voters->n_ranks,
		.lease = VOTERS_LEASE,
		.heartbeat = VOTERS_BEAT,
		.now = now,
	};

	memset(process, 0, sizeof(*process));
	process->alive = true;
	process->process = ++voters->last_process;
	process->node = node;
	process->next_beat = now + draw_below(&voters->random, VOTERS_BEAT);
	vote_begin(&process->vote, VOTERS_LEASE, now);
	election_make(&process->election, &parameters);
}

void voters_make(struct voters *voters, uint64_t seed, unsigned n, unsigned n_ranks)
{
	memset(voters, 0, sizeof(*voters));
	voters->random = random_fork(seed, 1);
	voters->n = n;
	voters->n_ranks = n_ranks;
	voters->delay = VOTERS_STEP;
	voters->holder = VOTERS_MOST;
	for (unsigned i = 0; i < n; i++) {
		voters->clocks[i].rate =
		    1 + ((double)draw_below(&voters->random, 2001) - 1000) / 40000;
		voters->clocks[i].offset = draw_below(&voters->random, UINT64_C(1) << 40);
		begin(voters, &voters->processes[i], i);
	}
}

// --- faults ---

void voters_kill(struct voters *voters, unsigned node)
{
	voters->has_forgotten |= voters->processes[node].alive;
	voters->processes[node].alive = false;
}

void voters_start(struct voters *voters, unsigned node)
{
	if (!voters->processes[node].alive)
		begin(voters, &voters->processes[node], node);
}

void voters_stop(struct voters *voters, unsigned node, uint64_t ns)
{
	voters->processes[node].stopped_until = voters->now + ns;
}

static void breaks(struct voters *voters, const char *what, unsigned a, unsigned b)
{
	if (voters->broken[0] == '\0')
		snprintf(voters->broken, sizeof(voters->broken), "%s (%u, %u) after %ju ms", what,
			 a, b, (uintmax_t)(voters->now / VOTERS_STEP));
}

// --- messages ---

static void send(struct voters *voters, struct voter_process *process, unsigned to)
{
	struct voter_message *message = &voters->messages[voters->n_messages];

	if (voters->n_messages == VOTERS_MESSAGES || voters->cut[process->node][to] ||
	    draw_below(&voters->random, 100) < voters->loss)
		return;
	voters->n_messages++;
	*message = (struct voter_message){
		.due = voters->now + draw_below(&voters->random, voters->delay + 1),
		.from = process->node,
		.to = to,
		.process = process->process,
		.to_process = process->peers[to].process,
		.number = ++process->sent,
	};
	vote_state(&process->vote, &message->lease);
	election_state(&process->election, &message->lease, clock_of(voters, process->node));
}

// A process in office has been elected by others, if not by this voter.
static void judge_vote(struct voters *voters, struct voter_process *voter,
		       const struct voter_message *message)
{
	if (message->lease.office != CTRL_OFFICE_ASKED)
		return;
	if (message->lease.epoch == voter->voted_epoch && message->process != voter->voted_process)
		breaks(voters, "a voter elects two processes in an epoch", voter->node,
		       message->from);
	voter->voted_epoch = message->lease.epoch;
	voter->voted_process = message->process;
}

static void receive(struct voters *voters, struct voter_process *process,
		    const struct voter_message *message)
{
	struct voter_peer *peer = &process->peers[message->from];

	if (message->process < peer->process ||
	    (message->process == peer->process && message->number <= peer->number))
		return;
	if (message->process > peer->process) {
		*peer = (struct voter_peer){ .process = message->process };
		vote_session_began(&process->vote, message->from);
	}
	// A frame to another process only tells who has sent it.
	if (message->to_process != process->process)
		return;
	peer->number = message->number;
	election_received(&process->election, message->from, &message->lease,
			  clock_of(voters, process->node));
	if (vote_take(&process->vote, message->from, &message->lease,
		      clock_of(voters, process->node))) {
		judge_vote(voters, process, message);
		send(voters, process, message->from);
	}
}

static bool is_stopped(const struct voters *voters, const struct voter_process *process)
{
	return process->stopped_until > voters->now;
}

// What arrives at a process that is stopped waits.
static void deliver_all(struct voters *voters)
{
	const unsigned end = voters->n_messages;
	unsigned n = 0;

	for (unsigned i = 0; i < end; i++) {
		const struct voter_message message = voters->messages[i];
		struct voter_process *process = &voters->processes[message.to];

		if (message.due > voters->now || (process->alive && is_stopped(voters, process)))
			voters->messages[n++] = message;
		else if (process->alive)
			receive(voters, process, &message);
	}
	memmove(&voters->messages[n], &voters->messages[end],
		(voters->n_messages - end) * sizeof(*voters->messages));
	voters->n_messages -= end - n;
}

// --- processes ---

static void poll(struct voters *voters, struct voter_process *process)
{
	const uint64_t now = clock_of(voters, process->node);
	// The wall clocks of the nodes differ by up to 3 s.
	const uint64_t wall_ns = voters->now + voters->clocks[process->node].offset % 30 * EPOCH_NS;
	const uint32_t wall = 1000 + (uint32_t)(wall_ns / EPOCH_NS);
	bool beats = false;

	if (process->node < voters->n_ranks)
		beats = election_poll(&process->election, &process->vote, wall, now);
	if (!beats && now < process->next_beat)
		return;
	process->next_beat = now + VOTERS_BEAT;
	for (unsigned i = 0; i < voters->n; i++)
		if (i != process->node)
			send(voters, process, i);
}

// A process that is stopped may act until it looks at its clock again.
static bool is_in_office(const struct voters *voters, const struct voter_process *process)
{
	const uint64_t now = clock_of(voters, process->node);
	unsigned n = 0;

	for (unsigned i = 0; i < voters->n; i++)
		n += process->election.ends[i] > now;
	return process->alive && process->election.state == ELECTION_HELD &&
	       (!is_stopped(voters, process) || n > voters->n / 2 ||
		now < process->election.held_until);
}

// If all voters of an office have restarted since the one before, nobody knows the epoch of that.
// By its wall clock the same node may then come to the same epoch, but not the same process.
static void come_into_office(struct voters *voters, unsigned index)
{
	const struct voter_process *process = &voters->processes[index];
	const uint32_t epoch = process->election.epoch;

	voters->n_offices++;
	if (epoch <= voters->last_epoch && !voters->has_forgotten)
		breaks(voters, "the epoch is not higher", epoch, voters->last_epoch);
	if (epoch == voters->last_epoch &&
	    (index != voters->last_holder || process->process == voters->last_in_office))
		breaks(voters, "two offices in an epoch", epoch, index);
	voters->holder = voters->last_holder = index;
	voters->last_epoch = epoch;
	voters->last_in_office = process->process;
}

static void judge(struct voters *voters)
{
	unsigned holder = VOTERS_MOST;

	for (unsigned i = 0; i < VOTERS_MOST; i++) {
		if (!is_in_office(voters, &voters->processes[i]))
			continue;
		if (holder < VOTERS_MOST)
			breaks(voters, "two are in office", holder, i);
		holder = i;
	}
	if (holder == VOTERS_MOST)
		voters->holder = holder;
	else if (holder != voters->holder ||
		 voters->processes[holder].election.epoch != voters->last_epoch)
		come_into_office(voters, holder);
}

void voters_run(struct voters *voters, uint64_t ns)
{
	const uint64_t end = voters->now + ns;

	while (voters->now < end) {
		voters->now += VOTERS_STEP;
		for (unsigned i = 0; i < voters->n; i++)
			if (voters->processes[i].alive &&
			    !is_stopped(voters, &voters->processes[i]))
				poll(voters, &voters->processes[i]);
		deliver_all(voters);
		judge(voters);
	}
}

// --- random histories ---

static void cut_some(struct voters *voters)
{
	const unsigned side = (unsigned)draw_below(&voters->random, 1u << voters->n);
	const bool one_way = draw_below(&voters->random, 3) == 0;

	for (unsigned i = 0; i < voters->n; i++)
		for (unsigned j = 0; j < voters->n; j++)
			voters->cut[i][j] =
			    (side >> i & 1) != (side >> j & 1) && (!one_way || (side >> i & 1));
}

static void cut_pair(struct voters *voters, unsigned node)
{
	const unsigned other = (unsigned)draw_below(&voters->random, voters->n);

	voters->cut[node][other] = voters->cut[other][node] = node != other;
}

static void heal(struct voters *voters)
{
	memset(voters->cut, 0, sizeof(voters->cut));
	voters->loss = 0;
	voters->delay = 2 * VOTERS_STEP;
}

static void one_fault(struct voters *voters)
{
	struct random *random = &voters->random;
	const bool of_holder = voters->holder < VOTERS_MOST && draw_below(random, 3) > 0;
	const unsigned node = of_holder ? voters->holder : (unsigned)draw_below(random, voters->n);

	switch (voters->immortal ? 1 + draw_below(random, 6) : draw_below(random, 10)) {
	case 0:
		voters_kill(voters, node);
		break;
	case 7:
		voters_kill(voters, (unsigned)draw_below(random, voters->n));
		for (unsigned i = 0; i < voters->n; i++)
			voters_start(voters, i);
		break;
	case 8:
		cut_pair(voters, node);
		break;
	case 1:
	case 2:
		voters_start(voters, (unsigned)draw_below(random, voters->n));
		break;
	case 3:
		voters_stop(voters, node, draw_below(random, 500) * VOTERS_STEP);
		break;
	case 4:
		cut_some(voters);
		break;
	case 5:
		voters->loss = (unsigned)draw_below(random, 40);
		break;
	case 6:
		voters->delay = draw_below(random, 250) * VOTERS_STEP;
		break;
	default:
		heal(voters);
		break;
	}
}

void voters_history(struct voters *voters, uint64_t seed)
{
	const unsigned n = 3 + (unsigned)(seed % 5);

	voters_make(voters, seed, n, 2 + (unsigned)(seed / 5 % 2));
	voters->immortal = seed % 3 == 0;
	while (voters->now < FAULTS_NS && voters->broken[0] == '\0') {
		one_fault(voters);
		voters_run(voters, draw_below(&voters->random, 300) * VOTERS_STEP);
	}
	heal(voters);
	for (unsigned i = 0; i < n; i++) {
		voters->processes[i].stopped_until = 0;
		voters_start(voters, i);
	}
	voters_run(voters, CALM_NS);
	if (voters->holder == VOTERS_MOST)
		breaks(voters, "nobody is in office", n, 0);
}
