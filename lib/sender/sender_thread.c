// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdio.h>
#include <sys/prctl.h>

#include "base/counter.h"
#include "base/tick_clock.h"
#include "sender/sender_internal.h"

#define SLEEP_NS      100000u   // while blocks may come at any moment
#define LONG_SLEEP_NS 1000000u  // after a time without work
#define IDLE_POLLS    100u      // after which the sleeps are long
#define PUBLISH_NS    10000000u // between two states for the user
#define WATCH_NS      100000000u
#define SLACK_NS      1000 // of the sleeps

static struct evb_sender_state state_of(const struct evb_sender *sender)
{
	const struct block_store_counters *store = &sender->store->counters;
	struct sender_core_view view;

	sender_core_view(sender->core, &view);
	return (struct evb_sender_state){
		.registered = view.registered,
		.running = view.state == CTRL_RUNNING || view.state == CTRL_DRAINING,
		.occupied = view.occupied,
		.run = view.run,
		.events = view.readout.events,
		.blocks = view.readout.blocks,
		.segments = view.readout.segments,
		.bytes = view.readout.payload_bytes,
		.announced = view.announced,
		.released = view.released,
		.missing = counter_read(&store->missing),
		.unknown = counter_read(&store->unknown),
		.late = counter_read(&store->late),
		.not_sent = counter_read(&sender_sockets_counters(sender->sockets)->not_sent),
	};
}

static void publish(struct evb_sender *sender, bool over, const char *why)
{
	struct evb_sender_state state = state_of(sender);

	state.over = over;
	pthread_mutex_lock(&sender->lock);
	if (over && !sender->state.over) {
		snprintf(sender->why, sizeof(sender->why), "%s", why != NULL ? why : "");
		ring_store_end(sender->store);
	}
	sender->state = state;
	if (over)
		pthread_cond_broadcast(&sender->over);
	pthread_mutex_unlock(&sender->lock);
}

struct loop {
	uint64_t now;
	uint64_t next_publish, next_watch;
	unsigned idle; // polls without work
	bool over;
};

// The run is over: the user learns it, and nothing more is taken.
static void look_for_the_end(struct evb_sender *sender, struct loop *loop)
{
	const char *why;

	if (loop->over || !sender_core_ended(sender->core, &why))
		return;
	loop->over = true;
	publish(sender, true, why);
}

static void look_after(struct evb_sender *sender, struct loop *loop)
{
	uint32_t pid;

	block_store_housekeep(sender->store);
	look_for_the_end(sender, loop);
	if (loop->now >= loop->next_publish) {
		loop->next_publish = loop->now + PUBLISH_NS;
		publish(sender, loop->over, NULL);
	}
	if (loop->now >= loop->next_watch) {
		loop->next_watch = loop->now + WATCH_NS;
		(void)ring_store_watch(sender->store, &pid);
	}
	if (atomic_load_explicit(&sender->closing, memory_order_acquire))
		sender_core_leave(sender->core);
}

static void rest(struct evb_sender *sender, struct loop *loop, unsigned done)
{
	loop->idle = done > 0 ? 0 : loop->idle + 1;
	if (loop->idle == 0)
		return;
	sender_sockets_sleep(sender->sockets, loop->idle > IDLE_POLLS ? LONG_SLEEP_NS : SLEEP_NS);
}

void *sender_thread(void *context)
{
	struct evb_sender *sender = context;
	struct loop loop = { 0 };

	(void)prctl(PR_SET_NAME, "evb-sender");
	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
	do {
		unsigned done;

		done = sender_sockets_receive(sender->sockets, sender->core);
		loop.now = tick_clock_monotonic_ns();
		done += sender_core_poll(sender->core, loop.now);
		look_after(sender, &loop);
		rest(sender, &loop, done);
	} while (!sender_core_left(sender->core, loop.now));
	publish(sender, loop.over, NULL);
	return NULL;
}
