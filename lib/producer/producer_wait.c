// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Waiting for room: in the caller's thread, or in one that signals an eventfd.
#include "producer_internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/tick_clock.h"
#include "evring/evring_view.h"

#define LONGEST_SLEEP_NS UINT64_C(100000000) // between two questions whether evb lives
#define NS_PER_SECOND    UINT64_C(1000000000)
#define NS_PER_MS        UINT64_C(1000000)

struct producer_waiter {
	pthread_t thread;
	int event_fd;
	pthread_mutex_t lock; // for the members below
	pthread_cond_t changed;
	bool armed, stop;
	struct producer_room room;
	uint64_t bytes;
};

// Sleeps until evb wakes the producer, which it does after each release while somebody waits. Does
// not sleep if something was released since the room was refreshed.
static void sleep_for_room(const struct producer_view *view, uint32_t session,
			   const struct producer_room *room, uint64_t most_ns)
{
	struct producer_header *header = view->header;
	const struct timespec most = { .tv_sec = (time_t)(most_ns / NS_PER_SECOND),
				       .tv_nsec = (long)(most_ns % NS_PER_SECOND) };
	const uint32_t wakes = atomic_load_explicit(&header->wakes, memory_order_acquire);

	atomic_fetch_add_explicit(&header->waiting, 1, memory_order_relaxed);
	// Pairs with the fence in producer_ring_housekeep(): either evb sees that the producer
	// waits, or this function sees the release.
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&header->released, memory_order_relaxed) == room->released &&
	    producer_verdict(view, session) == 0)
		(void)syscall(SYS_futex, &header->wakes, FUTEX_WAIT, wakes, &most, NULL, 0);
	atomic_fetch_sub_explicit(&header->waiting, 1, memory_order_relaxed);
}

static bool has_room(const struct producer_view *view, struct producer_room *room, uint64_t bytes)
{
	uint64_t offset;

	return producer_find_room(view, room, bytes, &offset);
}

// Returns 1 with room, 0 without, or a negative errno.
static int look(struct evb_producer *producer, uint64_t bytes)
{
	struct producer_room *room = &producer->room;
	const int rc = producer_may_work(producer);

	if (rc != 0)
		return rc;
	if (!producer_refresh(&producer->view, room))
		return producer_fail(producer, -EPROTO, "memory of the ring was overwritten");
	if (has_room(&producer->view, room, bytes))
		return 1;
	if (room->released == producer->head)
		return producer_fail(producer, -EDEADLK,
				     "only blocks that the caller has reserved fill the ring");
	return producer_ask(producer);
}

int evb_producer_wait(struct evb_producer *producer, size_t size, int timeout_ms)
{
	const uint64_t bytes = producer_room_of(size);
	uint64_t begin = 0, now, left = LONGEST_SLEEP_NS;
	int rc;

	if (size == 0 || size > producer->view.max_block)
		return producer_fail(producer, -EMSGSIZE,
				     "the block has no bytes, or more than the ring's max_block");
	for (;;) {
		rc = look(producer, bytes);
		if (rc != 0)
			return rc;
		now = tick_clock_monotonic_ns();
		if (begin == 0)
			begin = now;
		if (timeout_ms >= 0) {
			const uint64_t end = begin + (uint64_t)timeout_ms * NS_PER_MS;

			if (now >= end)
				return 0;
			left = end - now;
		}
		counter_add(&producer->counters.waits, 1);
		sleep_for_room(&producer->view, producer->session, &producer->room,
			       left < LONGEST_SLEEP_NS ? left : LONGEST_SLEEP_NS);
	}
}

// --- the thread behind the eventfd ---------------------------------------------------------------

// Whether evb_producer_reserve() would not return -EAGAIN now.
static bool is_over(const struct evb_producer *producer, struct producer_room *room, uint64_t bytes)
{
	const struct producer_view *view = &producer->view;

	return producer_verdict(view, producer->session) != 0 || !producer_refresh(view, room) ||
	       has_room(view, room, bytes) || !evring_file_is(view->file, producer->path);
}

static void *wait_for_room(void *argument)
{
	struct evb_producer *producer = argument;
	struct producer_waiter *waiter = producer->waiter;

	pthread_mutex_lock(&waiter->lock);
	while (!waiter->stop) {
		struct producer_room room;

		if (!waiter->armed) {
			pthread_cond_wait(&waiter->changed, &waiter->lock);
			continue;
		}
		if (is_over(producer, &waiter->room, waiter->bytes)) {
			waiter->armed = false;
			// The counter cannot overflow: it was reset when it was armed.
			(void)eventfd_write(waiter->event_fd, 1);
			continue;
		}
		room = waiter->room;
		pthread_mutex_unlock(&waiter->lock);
		sleep_for_room(&producer->view, producer->session, &room, LONGEST_SLEEP_NS);
		pthread_mutex_lock(&waiter->lock);
	}
	pthread_mutex_unlock(&waiter->lock);
	return NULL;
}

// The thread takes no signals: they are for the program's own threads.
static int start_thread(struct evb_producer *producer)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&producer->waiter->thread, NULL, wait_for_room, producer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

static int start_waiter(struct evb_producer *producer)
{
	struct producer_waiter *waiter = calloc(1, sizeof(*waiter));
	int rc;

	if (waiter == NULL)
		return producer_fail(producer, -ENOMEM, "out of memory");
	waiter->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (waiter->event_fd < 0) {
		rc = -errno;
		free(waiter);
		return producer_fail(producer, rc, "there is no eventfd to be had");
	}
	pthread_mutex_init(&waiter->lock, NULL);
	pthread_cond_init(&waiter->changed, NULL);
	producer->waiter = waiter;
	rc = start_thread(producer);
	if (rc == 0)
		return 0;
	close(waiter->event_fd);
	free(waiter);
	producer->waiter = NULL;
	return producer_fail(producer, rc, "the thread that waits does not start");
}

int evb_producer_event_fd(struct evb_producer *producer, size_t size)
{
	struct producer_waiter *waiter;
	eventfd_t before;
	int rc;

	if (size == 0 || size > producer->view.max_block)
		return producer_fail(producer, -EMSGSIZE,
				     "the block has no bytes, or more than the ring's max_block");
	rc = producer->waiter == NULL ? start_waiter(producer) : 0;
	if (rc != 0)
		return rc;
	waiter = producer->waiter;
	pthread_mutex_lock(&waiter->lock);
	(void)eventfd_read(waiter->event_fd, &before); // it may not be readable
	waiter->room = producer->room;
	waiter->bytes = producer_room_of(size);
	waiter->armed = true;
	pthread_cond_signal(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
	return waiter->event_fd;
}

void producer_waiter_stop(struct evb_producer *producer)
{
	struct producer_waiter *waiter = producer->waiter;

	if (waiter == NULL)
		return;
	pthread_mutex_lock(&waiter->lock);
	waiter->stop = true;
	pthread_cond_signal(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
	(void)syscall(SYS_futex, &producer->view.header->wakes, FUTEX_WAKE, 1, NULL, NULL, 0);
	pthread_join(waiter->thread, NULL);
	pthread_cond_destroy(&waiter->changed);
	pthread_mutex_destroy(&waiter->lock);
	close(waiter->event_fd);
	free(waiter);
	producer->waiter = NULL;
}
