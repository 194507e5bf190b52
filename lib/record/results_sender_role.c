// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/results_sender_role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "record/origin.h"
#include "record/result_of.h"

#define EVENTS_PER_POLL 64u

struct sender {
	struct role role;
	struct evb_reader *reader;
	struct decision_outbox *outbox;
	uint16_t first_builder;
	bool origins;
	struct evb_event decided; // valid while `has_decided`: it has to wait
	bool has_decided;
	struct results_sender_counters counters __rte_cache_aligned;
};

static struct sender *sender_of(const struct role *role)
{
	return RTE_PTR_SUB(role, offsetof(struct sender, role));
}

// Returns 1, 0 without a decision, -EPIPE at the end of the run, and -EAGAIN if one has to wait.
static int pass_on(struct sender *sender)
{
	struct decision_result result;
	int rc = 1;

	if (!sender->has_decided)
		rc = evb_reader_next(sender->reader, &sender->decided, 0);
	sender->has_decided = rc == 1;
	if (rc != 1)
		return rc;
	result = result_of(&sender->decided, sender->first_builder);
	if ((sender->origins && !origin_of(&sender->decided, &result.event_id)) ||
	    !decision_outbox_is_valid(sender->outbox, result.event_id))
		counter_add(&sender->counters.invalid, 1);
	else if (decision_outbox_put(sender->outbox, &result))
		counter_add(&sender->counters.passed_on, 1);
	else
		return -EAGAIN;
	sender->has_decided = false;
	(void)evb_reader_release(sender->reader, &sender->decided); // it holds the event
	return 1;
}

static unsigned work(struct sender *sender, bool *over)
{
	unsigned done = 0;
	int rc = 1;

	while (done < EVENTS_PER_POLL && (rc = pass_on(sender)) == 1)
		done++;
	sender->role.backpressured |= rc == -EAGAIN;
	*over = rc == -EPIPE;
	return done;
}

static unsigned sender_poll(struct role *role, uint64_t now)
{
	bool over;

	(void)now;
	return work(sender_of(role), &over);
}

// Waits until the results node has written all decisions, unless it ends without them. Then those
// that it did not take are read, so that their slots are free, and counted.
static bool sender_drain(struct role *role, uint64_t now)
{
	struct sender *sender = sender_of(role);
	struct decision_outbox *outbox = sender->outbox;
	const bool is_over = atomic_load_explicit(&outbox->over, memory_order_acquire);
	bool over;

	(void)now;
	(void)work(sender, &over);
	if (is_over && sender->has_decided) {
		counter_add(&sender->counters.lost, 1);
		sender->has_decided = false;
		(void)evb_reader_release(sender->reader, &sender->decided);
	}
	if (!over)
		return false;
	atomic_store_explicit(&outbox->ended, true, memory_order_release);
	if (decision_outbox_waiting(outbox) == 0)
		return true;
	if (is_over)
		counter_add(&sender->counters.lost, decision_outbox_waiting(outbox));
	return is_over;
}

static void sender_fini(struct role *role)
{
	struct sender *sender = sender_of(role);

	evb_reader_close(sender->reader);
	free(sender);
}

static const struct role_operations sender_operations = {
	.kind = "results",
	.poll = sender_poll,
	.drain = sender_drain,
	.fini = sender_fini,
};

struct role *results_sender_role_create(const struct results_sender_parameters *parameters,
					char *error)
{
	struct sender *sender = NULL;

	snprintf(error, RESULTS_SENDER_ERROR_SIZE, "out of memory");
	if (posix_memalign((void **)&sender, RTE_CACHE_LINE_SIZE, sizeof(*sender)) != 0)
		return NULL;
	memset(sender, 0, sizeof(*sender));
	sender->role.operations = &sender_operations;
	sender->outbox = parameters->outbox;
	sender->first_builder = parameters->first_builder;
	sender->origins = parameters->origins;
	snprintf(sender->role.name, sizeof(sender->role.name), "%s", parameters->name);
	if (evb_reader_open(&sender->reader, parameters->appliance, &parameters->reader) == 0) {
		evb_reader_end_with_run(sender->reader);
		return &sender->role;
	}
	if (sender->reader != NULL)
		snprintf(error, RESULTS_SENDER_ERROR_SIZE, "%s", evb_reader_error(sender->reader));
	sender_fini(&sender->role);
	return NULL;
}

const struct results_sender_counters *results_sender_role_counters(const struct role *role)
{
	return &sender_of(role)->counters;
}

uint64_t results_sender_role_waiting(const struct role *role)
{
	return decision_outbox_waiting(sender_of(role)->outbox);
}
