// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/results_role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tick_clock.h"
#include "evring/reader_watch.h"

#define EVENTS_PER_POLL 64u // of each kind
#define FLUSH_NS        100000000u

struct results {
	struct role role;
	struct evb_reader *reader;
	struct decision_order *order;
	struct decision_stream *stream;
	struct evb_event watched; // valid while `has_watched`: there was no room in the window
	struct evb_event decided; // valid while `has_decided`: the same
	bool has_watched, has_decided;
	uint64_t flushed_ns;
	uint32_t held __rte_cache_aligned; // for other threads
};

static struct results *results_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct results, role));
}

// Writes what has its turn. Returns the number of records; sets backpressured if there is no room.
static unsigned put_out(struct results *results, uint64_t now_ns)
{
	struct decision_result list[EVENTS_PER_POLL];
	unsigned room = decision_stream_room(results->stream), n;

	results->role.backpressured |= room == 0;
	n = decision_order_take(results->order, now_ns, list, RTE_MIN(room, EVENTS_PER_POLL));
	for (unsigned i = 0; i < n; i++)
		decision_stream_add(results->stream, &list[i]);
	return n;
}

// Announces new events. Returns false if one of them has no room in the window.
static bool watch(struct results *results, uint64_t now_ns, unsigned *done)
{
	for (;;) {
		if (!results->has_watched)
			results->has_watched = evb_reader_watch(results->reader, &results->watched);
		if (!results->has_watched)
			return true;
		if (!decision_order_expect(results->order, results->watched.event_id,
					   results->watched.builder, now_ns))
			return false;
		results->has_watched = false;
		++*done;
	}
}

static struct decision_result result_of(const struct evb_event *event)
{
	const uint64_t us = event->decided_ns > event->complete_ns
				? (event->decided_ns - event->complete_ns) / 1000
				: 0;

	return (struct decision_result){
		.event_id = event->event_id,
		.lines = event->decision.lines,
		.tag = event->decision.tag,
		.decide_us = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX,
		.builder = event->builder,
		.decider = (uint8_t)event->decider,
		.flags =
		    (uint8_t)((event->decision.accept ? DECISION_ACCEPTED : 0) |
			      ((event->flags & EVB_EVENT_UNDECIDED) != 0 ? DECISION_UNDECIDED : 0)),
	};
}

// Reads a decision and releases the event. Returns 1, 0 without one, -EPIPE at the end of the run,
// and -EAGAIN if there is no room in the window.
static int read_decision(struct results *results, uint64_t now_ns)
{
	struct decision_result result;
	int rc = 1;

	if (!results->has_decided)
		rc = evb_reader_next(results->reader, &results->decided, 0);
	results->has_decided = rc == 1;
	if (rc != 1)
		return rc;
	result = result_of(&results->decided);
	if (!decision_order_decide(results->order, &result, now_ns))
		return -EAGAIN;
	results->has_decided = false;
	(void)evb_reader_release(results->reader, &results->decided); // it holds the event
	return 1;
}

// One round. Returns the work done; sets *over if the run has ended and all is read.
static unsigned work(struct results *results, bool *over)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();
	unsigned done = 0;
	int rc = 1;

	if (watch(results, now_ns, &done))
		for (unsigned i = 0; i < EVENTS_PER_POLL && rc == 1; i++) {
			rc = read_decision(results, now_ns);
			done += rc == 1;
		}
	*over = rc == -EPIPE;
	done += put_out(results, now_ns);
	if (now_ns - results->flushed_ns >= FLUSH_NS) {
		decision_stream_flush(results->stream);
		results->flushed_ns = now_ns;
	}
	if (done > 0)
		__atomic_store_n(&results->held, decision_order_held(results->order),
				 __ATOMIC_RELAXED);
	return done;
}

static unsigned results_poll(struct role *role, uint64_t now)
{
	bool over;

	(void)now;
	return work(results_of(role), &over);
}

static bool results_drain(struct role *role, uint64_t now)
{
	struct results *results = results_of(role);
	bool over;

	(void)now;
	(void)work(results, &over);
	if (!over)
		return false;
	decision_order_end(results->order);
	while (put_out(results, tick_clock_monotonic_ns()) > 0)
		;
	decision_stream_flush(results->stream);
	__atomic_store_n(&results->held, decision_order_held(results->order), __ATOMIC_RELAXED);
	return decision_order_held(results->order) == 0 &&
	       decision_stream_room(results->stream) > 0;
}

static void results_fini(struct role *role)
{
	struct results *results = results_of(role);

	decision_stream_close(results->stream);
	decision_order_destroy(results->order);
	evb_reader_close(results->reader);
	free(results);
}

static const struct role_operations results_operations = {
	.kind = "results",
	.poll = results_poll,
	.drain = results_drain,
	.fini = results_fini,
};

static int open_parts(struct results *results, const struct results_parameters *parameters,
		      char *error)
{
	results->order = decision_order_create(&parameters->order);
	if (results->order == NULL)
		return -1;
	if (evb_reader_open(&results->reader, parameters->appliance, &parameters->reader) != 0) {
		if (results->reader != NULL)
			snprintf(error, RESULTS_ERROR_SIZE, "%s",
				 evb_reader_error(results->reader));
		return -1;
	}
	return decision_stream_open(&results->stream, &parameters->stream, error);
}

struct role *results_role_create(const struct results_parameters *parameters, char *error)
{
	struct results *results = NULL;

	snprintf(error, RESULTS_ERROR_SIZE, "out of memory");
	if (posix_memalign((void **)&results, RTE_CACHE_LINE_SIZE, sizeof(*results)) != 0)
		return NULL;
	memset(results, 0, sizeof(*results));
	results->role.operations = &results_operations;
	snprintf(results->role.name, sizeof(results->role.name), "%s", parameters->name);
	if (open_parts(results, parameters, error) == 0)
		return &results->role;
	results_fini(&results->role);
	return NULL;
}

const struct decision_order_counters *results_role_order(const struct role *role)
{
	return decision_order_counters(results_of(role)->order);
}

const struct decision_stream_counters *results_role_stream(const struct role *role)
{
	return decision_stream_counters(results_of(role)->stream);
}

uint32_t results_role_held(const struct role *role)
{
	return __atomic_load_n(&results_of(role)->held, __ATOMIC_RELAXED);
}

const char *results_role_path(const struct role *role)
{
	return decision_stream_name(results_of(role)->stream);
}
