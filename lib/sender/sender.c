// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/tick_clock.h"
#include "sender/sender_internal.h"

#define NS_PER_MS     UINT64_C(1000000)
#define NS_PER_SECOND UINT64_C(1000000000)

// --- opening and closing ---

static int fail(struct evb_sender *sender, int rc, const char *cause)
{
	if (cause != sender->text)
		snprintf(sender->text, sizeof(sender->text), "%s", cause);
	sender->error = sender->text;
	return rc;
}

// The store is the evb side of a producer ring, which the library also makes use of as its
// producer: both sides of the ring are in this process.
static int open_ring(struct evb_sender *sender)
{
	const struct producer_ring_parameters *ring = &sender->plan.ring.ring;
	const struct evb_producer_options options = { .directory = ring->directory };
	char why[EVRING_ERROR_SIZE];
	int rc;

	sender->store = ring_store_create(&sender->plan.ring, why);
	if (sender->store == NULL)
		return fail(sender, -errno, why);
	rc = evb_producer_open(&sender->producer, ring->appliance, ring->name, &options);
	if (rc != 0)
		return fail(sender, rc,
			    sender->producer != NULL ? evb_producer_error(sender->producer)
						     : "out of memory");
	return 0;
}

static int open_sockets(struct evb_sender *sender)
{
	char why[SENDER_SOCKETS_ERROR];

	errno = 0;
	sender->sockets = sender_sockets_open(&sender->plan.sockets, why);
	return sender->sockets != NULL ? 0 : fail(sender, errno == 0 ? -ENOMEM : -errno, why);
}

static int make_core(struct evb_sender *sender)
{
	struct sender_core_parameters parameters = sender->plan.core;
	const char *why;

	parameters.wire = sender_sockets_wire(sender->sockets);
	parameters.readout.store = sender->store;
	sender->core = sender_core_create(&parameters, tick_clock_monotonic_ns(), &why);
	return sender->core != NULL ? 0 : fail(sender, -ENOMEM, why);
}

static int start_thread(struct evb_sender *sender)
{
	pthread_condattr_t clock;
	int rc;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&sender->lock, NULL);
	pthread_cond_init(&sender->over, &clock);
	pthread_condattr_destroy(&clock);
	sender->has_lock = true;
	rc = pthread_create(&sender->thread, NULL, sender_thread, sender);
	sender->has_thread = rc == 0;
	return rc == 0 ? 0 : fail(sender, -rc, strerror(rc));
}

int evb_sender_open(struct evb_sender **sender, const struct evb_sender_options *options)
{
	struct evb_sender *made = calloc(1, sizeof(*made));
	int rc;

	*sender = made;
	if (made == NULL)
		return -ENOMEM;
	rc = sender_plan_make(&made->plan, options, made->text);
	if (rc != 0)
		return fail(made, rc, made->text);
	rc = open_sockets(made);
	if (rc == 0)
		rc = open_ring(made);
	if (rc == 0)
		rc = make_core(made);
	return rc == 0 ? start_thread(made) : rc;
}

void evb_sender_close(struct evb_sender *sender)
{
	if (sender == NULL)
		return;
	if (sender->has_thread) {
		atomic_store_explicit(&sender->closing, true, memory_order_release);
		pthread_join(sender->thread, NULL);
	}
	if (sender->has_lock) {
		pthread_cond_destroy(&sender->over);
		pthread_mutex_destroy(&sender->lock);
	}
	evb_producer_close(sender->producer);
	sender_core_destroy(sender->core);
	sender_sockets_close(sender->sockets);
	block_store_destroy(sender->store);
	sender_plan_free(&sender->plan);
	free(sender);
}

// --- blocks ---

// The reason why the run is over; NULL: it is not, or there is none.
static const char *reason(struct evb_sender *sender)
{
	const char *why = NULL;

	pthread_mutex_lock(&sender->lock);
	if (sender->state.over)
		why = sender->why[0] != '\0' ? sender->why : "the run is over";
	pthread_mutex_unlock(&sender->lock);
	return why;
}

static int result(struct evb_sender *sender, int rc)
{
	const char *why;

	if (rc >= 0)
		return rc;
	why = rc == -EPIPE ? reason(sender) : NULL;
	sender->error = why != NULL ? why : evb_producer_error(sender->producer);
	return rc;
}

int evb_sender_reserve(struct evb_sender *sender, uint16_t source, size_t size, void **block)
{
	return result(sender, evb_producer_reserve(sender->producer, source, size, block));
}

int evb_sender_commit(struct evb_sender *sender, uint64_t event_id, size_t length)
{
	return result(sender, evb_producer_commit(sender->producer, event_id, length, 0));
}

int evb_sender_wait(struct evb_sender *sender, size_t size, int timeout_ms)
{
	return result(sender, evb_producer_wait(sender->producer, size, timeout_ms));
}

int evb_sender_put(struct evb_sender *sender, uint16_t source, uint64_t event_id, const void *block,
		   size_t size, int timeout_ms)
{
	void *room;
	int rc = evb_sender_reserve(sender, source, size, &room);

	while (rc == -EAGAIN) {
		const int waited = evb_sender_wait(sender, size, timeout_ms);

		if (waited <= 0)
			return waited == 0 ? rc : waited;
		rc = evb_sender_reserve(sender, source, size, &room);
	}
	if (rc != 0)
		return rc;
	memcpy(room, block, size);
	rc = evb_sender_commit(sender, event_id, size);
	if (rc != 0)
		evb_producer_cancel(sender->producer);
	return rc;
}

unsigned evb_sender_level(struct evb_sender *sender)
{
	return evb_producer_level(sender->producer);
}

int evb_sender_last(struct evb_sender *sender, uint16_t source, uint64_t *event_id)
{
	return result(sender, evb_producer_last(sender->producer, source, event_id));
}

// --- the end ---

static void wait_for_the_end(struct evb_sender *sender, int timeout_ms)
{
	const uint64_t end =
	    tick_clock_monotonic_ns() + (timeout_ms > 0 ? (uint64_t)timeout_ms * NS_PER_MS : 0);
	const struct timespec time = { (time_t)(end / NS_PER_SECOND), (long)(end % NS_PER_SECOND) };
	int rc = 0;

	while (!sender->state.over && rc == 0)
		rc = timeout_ms < 0 ? pthread_cond_wait(&sender->over, &sender->lock)
				    : pthread_cond_timedwait(&sender->over, &sender->lock, &time);
}

int evb_sender_finish(struct evb_sender *sender, int timeout_ms)
{
	const int rc = evb_producer_finish(sender->producer);
	bool over, refused;

	if (rc != 0 && rc != -EPIPE)
		return result(sender, rc);
	pthread_mutex_lock(&sender->lock);
	wait_for_the_end(sender, timeout_ms);
	over = sender->state.over;
	refused = over && sender->why[0] != '\0';
	pthread_mutex_unlock(&sender->lock);
	return refused ? result(sender, -EPIPE) : over;
}

struct evb_sender_state evb_sender_state(struct evb_sender *sender)
{
	struct evb_sender_state state;

	pthread_mutex_lock(&sender->lock);
	state = sender->state;
	pthread_mutex_unlock(&sender->lock);
	return state;
}

const char *evb_sender_error(const struct evb_sender *sender)
{
	return sender->error != NULL ? sender->error : "no error";
}
