// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
#include "claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "control/endpoint_internal.h"

#define MS             UINT64_C(1000000)
#define SECOND         UINT64_C(1000000000)
#define STEP           (2 * MS)
#define MOST_PROCESSES 6u // of both numbers
#define MOST_DATAGRAMS 4096u
#define MOST_BYTES     256u
#define RECORD         40000
#define CHANGES        12u // in a history
#define KEPT           64u // datagrams that a stranger sends again

struct datagram {
	uint64_t arrival;
	unsigned from; // process
	size_t size;
	uint8_t bytes[MOST_BYTES];
};

struct process {
	struct history *history;
	unsigned index;
	struct control_endpoint *endpoint; // NULL: not running
	bool hears, speaks;                // plugged in, for each direction
	uint64_t delivered;                // records since the last change
};

// All processes with node number n_first or more claim number 1, the others number 0.
struct history {
	struct random random;
	uint64_t now;
	double loss;
	unsigned n, n_zero;
	uint32_t epoch; // of the newest process that claims number 1; 0: there are no epochs
	bool keyed;
	struct process processes[MOST_PROCESSES];
	struct datagram datagrams[MOST_DATAGRAMS];
	unsigned n_datagrams;
	struct datagram kept[KEPT]; // delivered ones, the newest in the place of any
	unsigned n_kept;
};

static struct history history;
static const struct control_keys keys = { .n = 1, .keys = { { 1, 2, 3 } } };

static unsigned number_of(unsigned process)
{
	return process >= history.n_zero;
}

static bool reachable(unsigned process)
{
	const struct process *at = &history.processes[process];

	return at->endpoint && at->hears && at->speaks;
}

static bool emit(void *context, unsigned peer, const uint8_t *bytes, size_t size)
{
	const struct process *process = context;
	struct datagram *datagram = &history.datagrams[history.n_datagrams];

	(void)peer;
	if (!process->speaks || random_uniform(&history.random) < history.loss)
		return true;
	assert_true(size <= MOST_BYTES && history.n_datagrams < MOST_DATAGRAMS);
	datagram->arrival = history.now + random_next(&history.random) % (3 * MS);
	datagram->from = process->index;
	datagram->size = size;
	memcpy(datagram->bytes, bytes, size);
	history.n_datagrams++;
	return true;
}

static void deliver(void *context, unsigned peer, const struct ctrl_record *record)
{
	struct process *process = context;

	(void)peer;
	process->delivered += record->type == RECORD;
}

static void on_event(void *context, unsigned peer, enum control_event event)
{
	(void)context;
	(void)peer;
	(void)event;
}

static void start(unsigned index)
{
	struct process *process = &history.processes[index];
	struct control_parameters parameters = control_defaults();
	const uint16_t peers[] = { (uint16_t)!number_of(index) };

	*process = (struct process){ .history = &history, .index = index };
	process->hears = process->speaks = true;
	parameters.handlers =
	    (struct control_handlers){ process, deliver, on_event, emit, NULL, NULL };
	parameters.peers = peers;
	parameters.n_peers = 1;
	parameters.node = (uint16_t)number_of(index);
	parameters.heartbeat_interval = 40 * MS;
	parameters.heartbeat_timeout = 200 * MS;
	parameters.session = random_next(&history.random) | 1;
	parameters.keys = history.keyed ? &keys : NULL;
	if (history.epoch > 0 && number_of(index) == 1)
		parameters.epoch = ++history.epoch;
	parameters.now = history.now;
	process->endpoint = control_create(&parameters, NULL);
	assert_non_null(process->endpoint);
}

static void end(unsigned index)
{
	control_destroy(history.processes[index].endpoint);
	history.processes[index].endpoint = NULL;
}

static bool goes_to(const struct datagram *datagram, unsigned to)
{
	return history.processes[to].endpoint && history.processes[to].hears &&
	       number_of(to) != number_of(datagram->from);
}

static void bring_one(const struct datagram *datagram)
{
	for (unsigned to = 0; to < history.n; to++)
		if (goes_to(datagram, to))
			control_receive(history.processes[to].endpoint, datagram->bytes,
					datagram->size, history.now);
}

// With a key, a stranger sends again what it has seen.
static void replay(void)
{
	if (history.keyed && history.n_kept == KEPT && random_next(&history.random) % 4 == 0)
		bring_one(&history.kept[random_next(&history.random) % KEPT]);
}

static void keep(const struct datagram *datagram)
{
	const unsigned at = history.n_kept < KEPT ? history.n_kept++
						  : (unsigned)(random_next(&history.random) % KEPT);

	history.kept[at] = *datagram;
}

static void bring(void)
{
	for (unsigned i = 0; i < history.n_datagrams;) {
		const struct datagram datagram = history.datagrams[i];

		if (datagram.arrival > history.now) {
			i++;
			continue;
		}
		history.datagrams[i] = history.datagrams[--history.n_datagrams];
		bring_one(&datagram);
		if (history.keyed)
			keep(&datagram);
	}
	replay();
}

static void run(uint64_t duration)
{
	for (const uint64_t end_at = history.now + duration; history.now < end_at;
	     history.now += STEP) {
		bring();
		for (unsigned i = 0; i < history.n; i++)
			if (history.processes[i].endpoint)
				control_poll(history.processes[i].endpoint, history.now);
	}
}

static void change(void)
{
	const unsigned index = (unsigned)(random_next(&history.random) % history.n);
	struct process *process = &history.processes[index];

	if (!process->endpoint) {
		start(index);
	} else if (random_next(&history.random) % 3 == 0) {
		end(index);
	} else if (!reachable(index)) {
		process->hears = process->speaks = true;
	} else {
		process->hears = random_next(&history.random) % 3 == 0;
		process->speaks = !process->hears && random_next(&history.random) % 3 == 0;
	}
}

static struct peer *peer_of(unsigned process)
{
	return control_peer(history.processes[process].endpoint, !number_of(process));
}

static bool is_refused(unsigned process)
{
	struct control_state state;

	assert_true(control_state(history.processes[process].endpoint, !number_of(process),
				  history.now, &state));
	return state.occupied;
}

static bool in_step(unsigned a, unsigned b)
{
	const struct peer *peer_a = peer_of(a), *peer_b = peer_of(b);

	return !peer_a->lost && !peer_b->lost && peer_a->session == peer_b->peer_session &&
	       peer_b->session == peer_a->peer_session;
}

// The process of the other number with which `a` is in step, or history.n.
static unsigned partner(unsigned a)
{
	for (unsigned b = 0; b < history.n; b++)
		if (number_of(a) != number_of(b) && reachable(b) && in_step(a, b))
			return b;
	return history.n;
}

static unsigned n_reachable(unsigned number)
{
	unsigned n = 0;

	for (unsigned i = 0; i < history.n; i++)
		n += number_of(i) == number && reachable(i);
	return n;
}

static void send_record(unsigned from)
{
	uint8_t bytes[8] = { 0 };

	store_le16(bytes, RECORD);
	store_le16(bytes + 2, sizeof(bytes));
	assert_true(
	    control_send(history.processes[from].endpoint, !number_of(from), bytes, sizeof(bytes)));
	history.processes[from].delivered = 0;
}

// Whether records go both ways between the processes that are in step.
static bool records_arrive(void)
{
	for (unsigned i = 0; i < history.n; i++)
		if (reachable(i) && partner(i) != history.n)
			send_record(i);
	history.loss = 0;
	run(300 * MS);
	for (unsigned i = 0; i < history.n; i++)
		if (reachable(i) && partner(i) != history.n && history.processes[i].delivered != 1)
			return false;
	return true;
}

static bool all_in_step_or_refused(void)
{
	unsigned n_pairs = 0;

	for (unsigned i = 0; i < history.n; i++) {
		if (!reachable(i) || n_reachable(!number_of(i)) == 0)
			continue;
		n_pairs += partner(i) != history.n;
		if (partner(i) == history.n && !is_refused(i))
			return false;
	}
	return n_pairs > 0 || n_reachable(0) == 0 || n_reachable(1) == 0;
}

static void begin(uint64_t seed, unsigned n_zero, unsigned n_one)
{
	memset(&history, 0, offsetof(struct history, datagrams));
	history.n_datagrams = history.n_kept = 0;
	history.random = random_fork(seed, 41);
	history.now = SECOND;
	history.n = n_zero + n_one;
	history.n_zero = n_zero;
	history.loss = seed % 3 == 0 ? 0.05 : 0;
	history.epoch = seed % 2;
	history.keyed = seed / 2 % 2;
	start(0);
	start(n_zero);
}

static void end_all(struct claims_sums *sums)
{
	for (unsigned i = 0; i < history.n; i++) {
		if (history.processes[i].endpoint) {
			sums->refused += peer_of(i)->counters.second_process > 0;
			sums->restarted += peer_of(i)->counters.restarts > 0;
		}
		end(i);
	}
}

const char *claims_run(unsigned n_zero, unsigned n_one, unsigned histories,
		       struct claims_sums *sums)
{
	const char *broken = NULL;

	for (uint64_t seed = 0; seed < histories && !broken; seed++) {
		begin(seed, n_zero, n_one);
		for (unsigned i = 0; i < CHANGES; i++) {
			run(random_next(&history.random) % (450 * MS));
			change();
		}
		run(SECOND);
		if (!all_in_step_or_refused())
			broken = "in step or refused";
		else if (!records_arrive())
			broken = "records arrive";
		end_all(sums);
	}
	return broken;
}
