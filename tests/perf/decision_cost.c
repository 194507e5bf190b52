// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Decisions of consumers per second, in the order of events.
//
//   decision_cost [--cpus N[,N...]] [--members N] [--seconds S]
//
//   order  the ordering logic alone: announcements and decisions of 24 members with random
//          processing times, of which one in a thousand never comes
//   one    through an event ring on one CPU: publish, decide and release, read the decision, put it
//          in order, reclaim the slot, in turn. --members: readers of the deciding group, 24
//   many   one member, a thread, on each further CPU; the first CPU does the rest. Only if several
//          CPUs are given
//
// The rates of order and one are per second of CPU time of their thread; those of many are per
// second of the clock. Each run checks that the events leave in order, and each once.
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "evring/evb_reader.h"
#include "evring/evring.h"
#include "evring/reader_watch.h"
#include "perf_tool.h"
#include "record/decision_order.h"

#define MEMBERS      24u
#define MOST_MEMBERS 48u
#define SLOTS        4096u
#define BURST        64u
#define WINDOW       (1u << 16)
#define RING_WINDOW  (1u << 20) // a thread of the ring may sleep for a long time
#define RING_TIMEOUT 1000000000u
#define EVENTS       200000u // of one round of the ordering logic
#define TIMEOUT_NS   20000000u
#define STEP_NS      1000u // between two events of that round
#define NEVER        UINT64_MAX

static double seconds = 0.3;
static unsigned n_members = MEMBERS;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct decision_order *make_order(uint32_t window, uint64_t timeout_ns)
{
	const struct decision_order_parameters parameters = {
		.window = window,
		.packing = 1,
		.timeout_ns = timeout_ns,
		.accept_timed_out = true,
	};
	struct decision_order *order = decision_order_create(&parameters);

	if (order == NULL)
		perf_fail("out of memory");
	return order;
}

// --- the ordering logic alone --------------------------------------------------------------------

struct moment {
	uint64_t when;
	uint32_t event;
	bool decides;
};

static int compare(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->when != y->when ? (x->when < y->when ? -1 : 1)
				  : (int)x->decides - (int)y->decides;
}

static struct moment *draw(void)
{
	struct moment *moments = calloc(2 * (size_t)EVENTS, sizeof(*moments));
	struct random random = { 1 };
	uint64_t free_at[MEMBERS] = { 0 };

	if (moments == NULL)
		perf_fail("out of memory");
	for (uint32_t i = 0; i < EVENTS; i++) {
		const uint64_t announced = (uint64_t)i * STEP_NS;
		uint64_t *member = &free_at[i % MEMBERS];

		*member = (*member < announced ? announced : *member) +
			  random_next(&random) % (2 * STEP_NS * MEMBERS * 9 / 10);
		moments[2 * i] = (struct moment){ announced, i, false };
		moments[2 * i + 1] =
		    (struct moment){ random_next(&random) % 1000 == 0 ? NEVER : *member, i, true };
	}
	qsort(moments, 2 * (size_t)EVENTS, sizeof(*moments), compare);
	return moments;
}

// Takes what has its turn. Returns the number; ends the program if it is not in order.
static unsigned take(struct decision_order *order, uint64_t now, uint64_t *next)
{
	struct decision_result results[BURST];
	unsigned n, all = 0;

	while ((n = decision_order_take(order, now, results, BURST)) > 0) {
		for (unsigned i = 0; i < n; i++)
			if (results[i].event_id != (*next)++)
				perf_fail("event %llu is out of order",
					  (unsigned long long)results[i].event_id);
		all += n;
	}
	return all;
}

// Plays the moments once. Returns the events that left in order.
static uint64_t play(const struct moment *moments, uint64_t *timed_out)
{
	struct decision_order *order = make_order(WINDOW, TIMEOUT_NS);
	uint64_t next = 0, last = 0, done = 0;

	for (size_t i = 0; i < 2 * (size_t)EVENTS && moments[i].when != NEVER; i++) {
		const struct decision_result result = { .event_id = moments[i].event,
							.flags = DECISION_ACCEPTED };
		const uint64_t now = last = moments[i].when;

		while (!(moments[i].decides
			     ? decision_order_decide(order, &result, now)
			     : decision_order_expect(order, result.event_id, 0, now)))
			done += take(order, now, &next);
		if (i % BURST == 0)
			done += take(order, now, &next);
	}
	done += take(order, last + TIMEOUT_NS, &next);
	*timed_out = decision_order_counters(order)->timed_out;
	decision_order_destroy(order);
	return done;
}

static cJSON *run_order(void)
{
	struct moment *moments = draw();
	cJSON *result = cJSON_CreateObject();
	uint64_t begin, spent, done = 0, timed_out;

	(void)play(moments, &timed_out);
	begin = cpu_ns();
	do {
		done += play(moments, &timed_out);
		spent = cpu_ns() - begin;
	} while (spent < (uint64_t)(seconds * 1e9));
	cJSON_AddNumberToObject(result, "decisions_per_second", (double)done * 1e9 / (double)spent);
	cJSON_AddNumberToObject(result, "timed_out", (double)timed_out);
	free(moments);
	return result;
}

// --- through a ring ------------------------------------------------------------------------------

struct bench {
	char name[32];
	struct evring *ring;
	struct evb_reader *members[MOST_MEMBERS];
	struct evb_reader *results;
	struct decision_order *order;
	uint32_t free_slots[SLOTS];
	unsigned n_free;
	uint64_t published, next;
	_Atomic bool stop;
};

static struct evb_reader *join(const struct bench *bench, const char *group)
{
	const struct evb_reader_options options = { .group = group };
	struct evb_reader *reader;

	if (evb_reader_open(&reader, bench->name, &options) != 0)
		perf_fail("%s", reader != NULL ? evb_reader_error(reader) : "out of memory");
	return reader;
}

static void open_ring(struct bench *bench)
{
	static const char *const groups[] = { "filter", "results" };
	static const struct evring_group_rules rules[] = {
		{ .decides = true }, { .after = "filter", .rejected_too = true }
	};
	const struct evring_parameters parameters = {
		.name = bench->name,
		.memory = EVRING_SHM,
		.n_builders = 1,
		.slots = SLOTS,
		.slot_size = EVRING_SLOT_ALIGNMENT,
		.groups = groups,
		.n_groups = 2,
		.rules = rules,
	};
	char error[EVRING_ERROR_SIZE];

	snprintf(bench->name, sizeof(bench->name), "decide-%d", getpid());
	if (evring_create(&bench->ring, &parameters, error) != 0)
		perf_fail("%s", error);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		bench->free_slots[bench->n_free++] = slot;
	bench->order = make_order(RING_WINDOW, RING_TIMEOUT);
	bench->results = join(bench, "results");
}

static void close_ring(struct bench *bench)
{
	evb_reader_close(bench->results);
	decision_order_destroy(bench->order);
	evring_destroy(bench->ring);
}

static void publish(struct bench *bench)
{
	bench->n_free += evring_reclaim(bench->ring, bench->free_slots + bench->n_free, BURST);
	for (unsigned i = 0; i < BURST && bench->n_free > BURST; i++) {
		const struct evring_event event = { .event_id = bench->published++, .length = 64 };
		const uint32_t slot = bench->free_slots[--bench->n_free];

		evring_begin(bench->ring, slot);
		evring_publish(bench->ring, slot, &event);
	}
}

// At most `most` events. Returns false if there was none.
static bool decide(struct evb_reader *member, unsigned most)
{
	struct evb_event event;
	unsigned n = 0;

	for (; n < most && evb_reader_next(member, &event, 0) == 1; n++) {
		const struct evb_decision decision = { .accept = event.event_id % 10 == 0,
						       .lines = event.event_id };

		if (evb_reader_decide(member, &event, &decision) != 0 ||
		    evb_reader_release(member, &event) != 0)
			perf_fail("%s", evb_reader_error(member));
	}
	return n > 0;
}

// Returns the decisions that left in order.
static unsigned read_results(struct bench *bench)
{
	const uint64_t now = perf_now_ns();
	struct evb_event event;
	unsigned done = 0;

	while (evb_reader_watch(bench->results, &event))
		while (!decision_order_expect(bench->order, event.event_id, 0, now))
			done += take(bench->order, now, &bench->next);
	for (unsigned i = 0; i < BURST && evb_reader_next(bench->results, &event, 0) == 1; i++) {
		const struct decision_result result = {
			.event_id = event.event_id,
			.lines = event.decision.lines,
			.flags = event.decision.accept ? DECISION_ACCEPTED : 0,
		};

		if (!decision_order_decide(bench->order, &result, now) ||
		    evb_reader_release(bench->results, &event) != 0)
			perf_fail("%s", evb_reader_error(bench->results));
	}
	return done + take(bench->order, now, &bench->next);
}

struct member {
	struct bench *bench;
	pthread_t thread;
	uint32_t cpu;
};

static void *run_member(void *argument)
{
	const struct member *self = argument;
	struct evb_reader *member = join(self->bench, "filter");

	perf_pin(self->cpu);
	while (!atomic_load(&self->bench->stop))
		if (!decide(member, BURST))
			sched_yield();
	evb_reader_close(member);
	return NULL;
}

static cJSON *rates(const struct bench *bench, uint64_t done, uint64_t spent)
{
	const struct decision_order_counters *counters = decision_order_counters(bench->order);
	cJSON *result = cJSON_CreateObject();

	cJSON_AddNumberToObject(result, "decisions_per_second", (double)done * 1e9 / (double)spent);
	cJSON_AddNumberToObject(result, "timed_out", (double)counters->timed_out);
	return result;
}

static cJSON *run_one(void)
{
	struct bench bench = { 0 };
	uint64_t begin = 0, spent, done = 0;
	cJSON *result;

	open_ring(&bench);
	for (unsigned i = 0; i < n_members; i++)
		bench.members[i] = join(&bench, "filter");
	// Nothing leaves before the timeout of the first event.
	while (bench.next == 0 || cpu_ns() - begin < (uint64_t)(seconds * 1e9)) {
		if (bench.next == 0)
			begin = cpu_ns();
		publish(&bench);
		(void)decide(bench.members[bench.published / BURST % n_members], BURST);
		done += read_results(&bench);
	}
	spent = cpu_ns() - begin;
	result = rates(&bench, done, spent);
	for (unsigned i = 0; i < n_members; i++)
		evb_reader_close(bench.members[i]);
	close_ring(&bench);
	return result;
}

static cJSON *run_many(const struct perf_list *cpus)
{
	struct member members[PERF_LIST_MOST] = { 0 };
	struct bench bench = { 0 };
	uint64_t begin = 0, now = 0, done = 0;
	cJSON *result;

	open_ring(&bench);
	for (unsigned i = 1; i < cpus->n; i++) {
		members[i].bench = &bench;
		members[i].cpu = cpus->values[i];
		if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0)
			perf_fail("a thread cannot be made");
	}
	while (bench.next == 0 || now - begin < (uint64_t)(seconds * 1e9)) {
		now = perf_now_ns();
		if (bench.next == 0)
			begin = now;
		publish(&bench);
		done += read_results(&bench);
	}
	atomic_store(&bench.stop, true);
	for (unsigned i = 1; i < cpus->n; i++)
		pthread_join(members[i].thread, NULL);
	result = rates(&bench, done, now - begin);
	close_ring(&bench);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "cpus", required_argument, NULL, 'c' },
						 { "members", required_argument, NULL, 'm' },
						 { "seconds", required_argument, NULL, 's' },
						 { 0 } };
	struct perf_list cpus = { .n = 0 };
	cJSON *result = cJSON_CreateObject();
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			cpus = perf_parse_list("cpus", optarg);
		else if (option == 'm')
			n_members = (unsigned)perf_parse_number("members", optarg, 1);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else
			return 1;
	}
	if (n_members > MOST_MEMBERS)
		perf_fail("--members: at most %u", MOST_MEMBERS);
	if (cpus.n > 0)
		perf_pin(cpus.values[0]);
	cJSON_AddItemToObject(result, "order", run_order());
	cJSON_AddItemToObject(result, "one", run_one());
	if (cpus.n > 1)
		cJSON_AddItemToObject(result, "many", run_many(&cpus));
	perf_print(result);
	return 0;
}
