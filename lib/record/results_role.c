// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/results_role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tick_clock.h"
#include "evring/reader_watch.h"
#include "record/origin.h"
#include "record/result_of.h"
#include "wire/ctrl.h"

#define EVENTS_PER_POLL 64u // of each kind
#define FLUSH_NS        100000000u

struct results {
	struct role role;
	struct evb_reader *reader; // NULL: the node has no builders
	struct decision_order *order;
	struct decision_stream *stream;
	struct decision_inbox *inbox; // NULL: results of this node alone
	struct decision_input *input; // NULL: the decisions are those of this system
	bool granted;
	bool origins;
	bool begun; // the first event is known, or will not be
	uint16_t first_builder;
	uint32_t window, packing;
	uint64_t timeout_ns;
	struct evb_event watched; // valid while `has_watched`: there was no room in the window
	struct evb_event decided; // valid while `has_decided`: the same
	bool has_watched, has_decided;
	uint64_t own_end; // index behind the newest event of this node that is decided
	uint64_t flushed_ns, leaving_ns;
	uint32_t held __rte_cache_aligned; // for other threads
	bool reads;                        // the same
};

static struct results *results_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct results, role));
}

// Tells the other nodes, or the other evb, which results are written.
static void tell_written(struct results *results)
{
	const uint64_t next = decision_order_next(results->order);

	if (decision_stream_pending(results->stream) > 0)
		return;
	if (results->inbox != NULL)
		atomic_store_explicit(&results->inbox->written, next, memory_order_release);
	if (results->input != NULL)
		decision_input_release(results->input, next);
}

// Writes what has its turn. Returns the number of records; sets backpressured if there is no room.
static unsigned put_out(struct results *results, uint64_t now_ns)
{
	struct decision_result list[EVENTS_PER_POLL];
	unsigned room = decision_stream_room(results->stream), n;

	results->role.backpressured |= room == 0;
	tell_written(results);
	n = decision_order_take(results->order, now_ns, list, RTE_MIN(room, EVENTS_PER_POLL));
	for (unsigned i = 0; i < n; i++)
		decision_stream_add(results->stream, &list[i]);
	return n;
}

// Announces new events. Returns false if one of them has no room in the window.
static bool watch(struct results *results, uint64_t now_ns, unsigned *done)
{
	// Where the manager tells the events, watching would make decided events wait for others
	// that have no room. Events that are announced have the ids of this system.
	if (results->reader == NULL || results->granted || results->origins ||
	    results->input != NULL)
		return true;
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

// Passes on the event that was read. Returns false if there is no room in the window.
static bool pass_on(struct results *results, uint64_t now_ns)
{
	struct decision_result result = result_of(&results->decided, results->first_builder);

	if (results->input != NULL)
		return decision_order_expect(results->order, result.event_id, result.builder,
					     now_ns);
	if (results->origins && !origin_of(&results->decided, &result.event_id))
		decision_order_refuse(results->order);
	else if (!decision_order_decide(results->order, &result, now_ns))
		return false;
	else if (results->own_end <= result.event_id / results->packing)
		results->own_end = result.event_id / results->packing + 1;
	return true;
}

// Reads an event, in most cases for its decision, and releases it. Returns 1, 0 without one, -EPIPE
// at the end of the run, and -EAGAIN if there is no room in the window.
static int read_event(struct results *results, uint64_t now_ns)
{
	int rc = 1;

	if (results->reader == NULL)
		return -EPIPE;
	if (!results->has_decided)
		rc = evb_reader_next(results->reader, &results->decided, 0);
	results->has_decided = rc == 1;
	if (rc != 1)
		return rc;
	if (!pass_on(results, now_ns))
		return -EAGAIN;
	results->has_decided = false;
	(void)evb_reader_release(results->reader, &results->decided); // it holds the event
	return 1;
}

// --- a system of nodes ---

// The results begin where the event manager says.
static bool begin(struct results *results)
{
	struct decision_stream_tail tail;
	uint64_t first;

	if (!results->granted)
		return true;
	if (!atomic_load_explicit(&results->inbox->confirmed, memory_order_acquire))
		return false;
	first = results->inbox->first;
	decision_order_begin(results->order, first);
	if (decision_stream_tail(results->stream, &tail) &&
	    first > tail.event_id / results->packing)
		decision_stream_resume(results->stream, tail.records);
	return true;
}

// Takes what the manager tells about events. Returns their number.
static unsigned take_events(struct results *results, uint64_t now_ns)
{
	uint64_t event;
	uint16_t builder;
	unsigned n = 0;

	for (; n < EVENTS_PER_POLL && decision_inbox_next(results->inbox, &event, &builder); n++) {
		if (builder != CTRL_UNPUBLISHED && event >= decision_order_next(results->order))
			(void)decision_order_expect(results->order, event * results->packing,
						    builder, now_ns);
		decision_order_settle(results->order, event + 1);
	}
	return n;
}

// Takes decisions of other nodes. Returns their number.
static unsigned take_arrivals(struct results *results, uint64_t now_ns)
{
	const struct decision_arrival *arrival;
	unsigned n = 0;

	while (n < EVENTS_PER_POLL && (arrival = decision_inbox_front(results->inbox)) != NULL &&
	       decision_order_decide(results->order, &arrival->result, now_ns)) {
		decision_inbox_pop(results->inbox);
		n++;
	}
	return n;
}

static unsigned take_from_nodes(struct results *results, uint64_t now_ns)
{
	unsigned done = 0;

	if (results->inbox == NULL)
		return 0;
	if (results->granted)
		done = take_events(results, now_ns);
	return done + take_arrivals(results, now_ns);
}

// Nodes wait for the results of earlier events to be written, the longer the smaller the window.
static bool flush_is_due(const struct results *results, uint64_t now_ns)
{
	return now_ns - results->flushed_ns >= FLUSH_NS ||
	       (results->inbox != NULL &&
		decision_stream_pending(results->stream) >= results->window / 8);
}

// --- the role ---

static void flush(struct results *results, uint64_t now_ns)
{
	decision_stream_flush(results->stream);
	results->flushed_ns = now_ns;
	tell_written(results);
}

// One round. Returns the work done; sets *over if the run has ended and all is read.
static unsigned work(struct results *results, bool *over)
{
	const uint64_t now_ns = tick_clock_monotonic_ns();
	unsigned done = 0;
	int rc = 1;

	*over = false;
	if (!results->begun && !(results->begun = begin(results)))
		return 0;
	done += take_from_nodes(results, now_ns);
	if (results->input != NULL) {
		done +=
		    decision_input_take(results->input, results->order, now_ns, EVENTS_PER_POLL);
		__atomic_store_n(&results->reads, decision_input_is_open(results->input),
				 __ATOMIC_RELAXED);
	}
	if (watch(results, now_ns, &done))
		for (unsigned i = 0; i < EVENTS_PER_POLL && rc == 1; i++) {
			rc = read_event(results, now_ns);
			done += rc == 1;
		}
	*over = rc == -EPIPE;
	done += put_out(results, now_ns);
	if (flush_is_due(results, now_ns))
		flush(results, now_ns);
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

// Whether nothing more can arrive from other nodes.
static bool nodes_have_ended(const struct results *results)
{
	const struct decision_inbox *inbox = results->inbox;

	return inbox == NULL || (atomic_load_explicit(&inbox->complete, memory_order_acquire) &&
				 decision_inbox_front(inbox) == NULL &&
				 (!results->granted ||
				  atomic_load_explicit(&inbox->seen, memory_order_relaxed) >=
				      atomic_load_explicit(&inbox->known, memory_order_acquire)));
}

// Whether further decisions of another evb may come in time for events that wait.
static bool others_may_decide(const struct results *results)
{
	return results->input != NULL && !decision_input_has_ended(results->input) &&
	       decision_order_held(results->order) > 0;
}

// Whether this node leaves a run that goes on, and its own decisions are written or have had
// their time. The next process of the node writes the rest.
static bool has_left(struct results *results)
{
	const struct decision_inbox *inbox = results->inbox;
	const uint64_t now_ns = tick_clock_monotonic_ns();

	if (inbox == NULL || atomic_load_explicit(&inbox->run_is_over, memory_order_acquire))
		return false;
	if (results->leaving_ns == 0)
		results->leaving_ns = now_ns;
	return decision_order_next(results->order) >= results->own_end ||
	       now_ns - results->leaving_ns > 2 * results->timeout_ns;
}

static bool end(struct results *results)
{
	flush(results, tick_clock_monotonic_ns());
	__atomic_store_n(&results->held, decision_order_held(results->order), __ATOMIC_RELAXED);
	if (decision_stream_room(results->stream) == 0 ||
	    (results->inbox != NULL && decision_stream_pending(results->stream) > 0))
		return false;
	if (results->inbox != NULL)
		atomic_store_explicit(&results->inbox->is_over, true, memory_order_release);
	return true;
}

static bool results_drain(struct role *role, uint64_t now)
{
	struct results *results = results_of(role);
	bool over;

	(void)now;
	if (work(results, &over) > 0 || (results->begun && !over))
		return false;
	if (has_left(results))
		return end(results);
	if (!nodes_have_ended(results) || others_may_decide(results))
		return false;
	decision_order_end(results->order);
	while (put_out(results, tick_clock_monotonic_ns()) > 0)
		;
	return end(results) && decision_order_held(results->order) == 0;
}

static void results_fini(struct role *role)
{
	struct results *results = results_of(role);

	decision_stream_close(results->stream);
	decision_order_destroy(results->order);
	decision_input_destroy(results->input);
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
	struct decision_stream_tail tail;

	results->order = decision_order_create(&parameters->order);
	if (parameters->input.ring != NULL)
		results->input = decision_input_create(&parameters->input);
	if (results->order == NULL || (parameters->input.ring != NULL && results->input == NULL))
		return -1;
	if (parameters->appliance != NULL &&
	    evb_reader_open(&results->reader, parameters->appliance, &parameters->reader) != 0) {
		if (results->reader != NULL)
			snprintf(error, RESULTS_ERROR_SIZE, "%s",
				 evb_reader_error(results->reader));
		return -1;
	}
	if (results->reader != NULL)
		evb_reader_end_with_run(results->reader);
	if (decision_stream_open(&results->stream, &parameters->stream, error) != 0)
		return -1;
	if (results->inbox != NULL && decision_stream_tail(results->stream, &tail))
		results->inbox->tail = tail.event_id / results->packing + 1;
	return 0;
}

struct role *results_role_create(const struct results_parameters *parameters, char *error)
{
	struct results *results = NULL;

	snprintf(error, RESULTS_ERROR_SIZE, "out of memory");
	if (posix_memalign((void **)&results, RTE_CACHE_LINE_SIZE, sizeof(*results)) != 0)
		return NULL;
	memset(results, 0, sizeof(*results));
	results->role.operations = &results_operations;
	results->inbox = parameters->inbox;
	results->origins = parameters->origins;
	results->granted = parameters->inbox != NULL && parameters->granted;
	results->first_builder = parameters->first_builder;
	results->window = parameters->order.window;
	results->packing = parameters->order.packing;
	results->timeout_ns = parameters->order.timeout_ns;
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

const struct evring *results_role_ring(const struct role *role)
{
	return decision_stream_ring(results_of(role)->stream);
}

bool results_role_reads(const struct role *role)
{
	return __atomic_load_n(&results_of(role)->reads, __ATOMIC_RELAXED);
}

uint64_t results_role_finish(struct role *role)
{
	return decision_stream_finish(results_of(role)->stream);
}

const char *results_role_path(const struct role *role)
{
	return decision_stream_name(results_of(role)->stream);
}
