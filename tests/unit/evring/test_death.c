// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Members and appliances that are killed, at random moments and at chosen instructions. What must
// hold: each published event is released by somebody, none is handed out after it was released, no
// slot is lost, and those who live go on.
#include "bench.h"
#include "trace.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS      64u
#define FEW_SLOTS  8u // so that a step is not most often one of a long search
#define CONSUMERS  4u
#define HELD       5u
#define KILLS      400u
#define MAX_EVENTS (1u << 22)

#define EVENTS_OF_A_LIFE 4u // published for each member that is killed at a chosen step

// What consumers note, in memory that outlives them.
enum {
	HANDED_OUT = 1,
	RELEASING = 2, // the release is about to begin: it may or may not happen
	RELEASED = 4,
};

struct notes {
	_Atomic uint32_t violations;
	_Atomic uint8_t events[MAX_EVENTS];
};

static struct notes *make_messages(void)
{
	void *memory = mmap(NULL, sizeof(struct notes), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static void note_event(struct notes *notes, const struct evb_event *event)
{
	uint8_t before = RELEASED;

	if (event->event_id < MAX_EVENTS)
		before = atomic_fetch_or(&notes->events[event->event_id], HANDED_OUT);
	if ((before & RELEASED) != 0)
		atomic_fetch_add(&notes->violations, 1);
}

static void note_whole_event(struct notes *notes, const struct evb_event *event)
{
	note_event(notes, event);
	if (!bench_event_is_right(event))
		atomic_fetch_add(&notes->violations, 1);
}

static void release(struct notes *notes, struct evb_reader *reader, const struct evb_event *event)
{
	atomic_fetch_or(&notes->events[event->event_id], RELEASING);
	if (evb_reader_release(reader, event) != 0)
		atomic_fetch_add(&notes->violations, 1);
	atomic_fetch_or(&notes->events[event->event_id], RELEASED);
}

// Keeps a few events and releases them out of order, until the run is over.
static void consume(const struct bench *bench, struct notes *notes, uint64_t seed)
{
	struct evb_reader *reader = bench_child_member(bench, "main");
	struct evb_event held[HELD];
	unsigned n_held = 0;

	while (evb_reader_next(reader, &held[n_held], -1) == 1) {
		note_whole_event(notes, &held[n_held]);
		n_held++;
		while (n_held == HELD || (n_held > 0 && bench_random(&seed) % 2 == 0)) {
			const unsigned chosen = bench_random(&seed) % n_held;

			release(notes, reader, &held[chosen]);
			held[chosen] = held[--n_held];
		}
	}
	while (n_held > 0)
		release(notes, reader, &held[--n_held]);
	evb_reader_close(reader);
	_exit(0);
}

static pid_t start_consumer(const struct bench *bench, struct notes *notes, uint64_t seed)
{
	const pid_t child = bench_fork();

	if (child == 0)
		consume(bench, notes, seed);
	return child;
}

static void expect_exit(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void kill_child(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void expect_all_released(const struct bench *bench, struct notes *notes)
{
	assert_int_equal(notes->violations, 0);
	for (uint64_t id = 0; id < bench->published; id++) {
		assert_int_not_equal(notes->events[id] & HANDED_OUT, 0);
		assert_int_not_equal(notes->events[id] & (RELEASING | RELEASED), 0);
	}
}

static void build_for(struct bench *bench, uint32_t rounds)
{
	const struct timespec pause = { .tv_nsec = 20000 };

	for (uint32_t i = 0; i < rounds; i++) {
		bench_collect(bench);
		while (bench->published < MAX_EVENTS && bench_publish(bench))
			;
		nanosleep(&pause, NULL);
	}
}

static void death__members_killed_at_random(void **state)
{
	struct bench bench;
	struct notes *notes = make_messages();
	pid_t consumers[CONSUMERS];
	uint64_t seed = 1;
	unsigned deaths = 0;

	(void)state;
	bench_open(&bench, SLOTS, "main");
	for (unsigned i = 0; i < CONSUMERS; i++)
		consumers[i] = start_consumer(&bench, notes, i);
	for (unsigned kills = 0; kills < KILLS; kills++) {
		const unsigned victim = bench_random(&seed) % CONSUMERS;

		build_for(&bench, bench_random(&seed) % 40);
		kill_child(consumers[victim]);
		consumers[victim] = start_consumer(&bench, notes, seed + kills);
		if (kills % 4 == 0)
			deaths += evring_reap(bench.ring);
	}
	evring_end(bench.ring);
	for (unsigned i = 0; i < CONSUMERS; i++)
		expect_exit(consumers[i]);
	deaths += evring_reap(bench.ring);
	assert_in_range(deaths, 1, KILLS); // those that had come to join
	bench_collect(&bench);
	expect_all_released(&bench, notes);
	assert_int_equal(bench.n_free, SLOTS);
	assert_int_equal(evring_outstanding(bench.ring), 0);
	bench_close(&bench);
	munmap(notes, sizeof(*notes));
}

// The dead one's events go to the others, without help from the appliance.
static void death__members_bury_each_other(void **state)
{
	struct bench bench;
	struct notes *notes = make_messages();
	struct evb_reader *heir;
	struct evb_event event;
	pid_t child;

	(void)state;
	bench_open(&bench, 8, "main");
	for (unsigned i = 0; i < 3; i++)
		bench_publish(&bench);
	heir = bench_member(&bench, NULL);
	child = bench_fork();
	if (child == 0) {
		struct evb_reader *reader = bench_child_member(&bench, NULL);

		for (unsigned i = 0; i < 3; i++)
			if (evb_reader_next(reader, &event, 0) != 1)
				_exit(1);
		raise(SIGSTOP);
	}
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	bench_take_none(heir);
	kill_child(child);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(evb_reader_next(heir, &event, -1), 1);
		note_whole_event(notes, &event);
		release(notes, heir, &event);
	}
	assert_int_equal(evb_reader_counters(heir).regained, 3);
	assert_int_equal(evring_reap(bench.ring), 1);
	expect_all_released(&bench, notes);
	evb_reader_close(heir);
	bench_close(&bench);
	munmap(notes, sizeof(*notes));
}

// A reader that has found nothing for a while is not told of the end before it has got these.
static void death__events_of_the_dead_come_before_the_end(void **state)
{
	struct bench bench;
	struct evb_reader *heir;
	struct evb_event event;
	pid_t child;

	(void)state;
	bench_open(&bench, 8, "main");
	bench_publish(&bench);
	heir = bench_member(&bench, NULL);
	child = bench_fork();
	if (child == 0) {
		struct evb_reader *reader = bench_child_member(&bench, NULL);

		if (evb_reader_next(reader, &event, 0) != 1)
			_exit(1);
		raise(SIGSTOP);
	}
	assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
	bench_take_none(heir); // it asks who lives now, and only after some time again
	kill_child(child);
	evring_end(bench.ring);
	bench_take(heir, 0);
	assert_int_equal(evb_reader_next(heir, &event, 0), -EPIPE);
	evb_reader_close(heir);
	bench_close(&bench);
}

static void death__configured_group_keeps_events_of_its_last_member(void **state)
{
	struct evring_group_state group;
	struct bench bench;
	struct evb_reader *reader;
	struct evb_event event;
	pid_t child;

	(void)state;
	bench_open(&bench, 8, "main");
	bench_publish(&bench);
	bench_publish(&bench);
	child = bench_fork();
	if (child == 0) {
		reader = bench_child_member(&bench, NULL);
		_exit(evb_reader_next(reader, &event, 0) == 1 ? 0 : 1);
	}
	expect_exit(child); // without closing its reader
	assert_int_equal(evring_reap(bench.ring), 1);
	assert_int_equal(evring_reap(bench.ring), 0);
	assert_true(evring_group(bench.ring, 0, &group));
	assert_true(group.persistent);
	assert_int_equal(group.members, 0);
	assert_int_equal(group.delivered, 1);
	assert_int_equal(group.regained, 1);
	assert_int_equal(group.released, 0);
	assert_int_equal(bench_collect(&bench), 0);
	reader = bench_member(&bench, NULL);
	for (uint64_t id = 0; id < 2; id++) {
		event = bench_take(reader, id);
		bench_release(reader, &event);
	}
	evb_reader_close(reader);
	assert_int_equal(bench_collect(&bench), 2);
	bench_close(&bench);
}

// The life of a traced member, between two stops. It is cut off somewhere in between.
typedef void life(const struct bench *bench, struct notes *notes);

static void read_one(struct notes *notes, struct evb_reader *reader)
{
	struct evb_event event;

	if (evb_reader_next(reader, &event, 0) == 1) {
		note_event(notes, &event);
		release(notes, reader, &event);
	}
}

// Claims and releases, and ends holding an event.
static void life_of_reading(const struct bench *bench, struct notes *notes)
{
	struct evb_reader *reader = bench_child_member(bench, "main");
	struct evb_event event;

	read_one(notes, reader); // the first time also runs the dynamic linker
	raise(SIGSTOP);
	read_one(notes, reader);
	read_one(notes, reader);
	if (evb_reader_next(reader, &event, 0) == 1)
		note_event(notes, &event);
	raise(SIGSTOP);
}

// Joins two groups, of which it makes one, and leaves them, holding an event.
static void life_of_joining(const struct bench *bench, struct notes *notes)
{
	struct evb_reader *reader, *passing;
	struct evb_event event;

	raise(SIGSTOP);
	reader = bench_child_member(bench, "main");
	read_one(notes, reader);
	passing = bench_child_member(bench, "passing");
	if (evb_reader_next(reader, &event, 0) == 1)
		note_event(notes, &event);
	evb_reader_close(reader); // gives it back
	evb_reader_close(passing);
	raise(SIGSTOP);
}

// Publishes events, lets a member do `steps` steps and kills it; then what it left must be in
// order. Returns how many steps it did.
static uint64_t kill_after(struct bench *bench, struct notes *notes, life *live, int request,
			   uint64_t steps)
{
	struct evb_reader *heir;
	struct evb_event event;
	uint64_t done;
	pid_t child;

	for (unsigned i = 0; i < EVENTS_OF_A_LIFE; i++)
		assert_true(bench_publish(bench));
	child = trace_fork();
	if (child == 0) {
		live(bench, notes);
		_exit(1);
	}
	done = trace_steps(child, request, steps);
	kill_child(child);

	(void)evring_reap(bench->ring); // whether it had joined by then depends on the steps
	heir = bench_member(bench, "main");
	while (evb_reader_next(heir, &event, 0) == 1) {
		note_whole_event(notes, &event);
		release(notes, heir, &event);
	}
	evb_reader_close(heir);
	assert_int_equal(evring_reap(bench->ring), 0);
	assert_int_equal(bench_collect(bench), EVENTS_OF_A_LIFE);
	assert_int_equal(bench->n_free, FEW_SLOTS);
	return done;
}

// Kills a member after every step of its life, or if there are many, after some at random.
static void kill_after_each_step(life *live, int request)
{
	struct evring_group_state group;
	struct bench bench;
	struct notes *notes;
	uint64_t all, stride, seed = 3;

	if (!trace_is_possible())
		skip();
	notes = make_messages();
	bench_open(&bench, FEW_SLOTS, "main");
	all = kill_after(&bench, notes, live, request, UINT64_MAX);
	assert_true(all > 20);
	stride = trace_stride(all);
	for (uint64_t steps = 0; steps < all; steps += stride)
		kill_after(&bench, notes, live, request, steps + bench_random(&seed) % stride);
	expect_all_released(&bench, notes);
	assert_true(evring_group(bench.ring, 0, &group));
	assert_int_equal(group.members, 0);
	assert_int_equal(group.lag, 0);
	assert_false(evring_group(bench.ring, 1, &group));
	bench_close(&bench);
	munmap(notes, sizeof(*notes));
}

static void death__member_killed_at_each_step_of_reading(void **state)
{
	(void)state;
	kill_after_each_step(life_of_reading, PTRACE_SINGLESTEP);
}

static void death__member_killed_at_each_step_of_joining(void **state)
{
	(void)state;
	kill_after_each_step(life_of_joining, PTRACE_SYSCALL);
}

// A whole appliance in a child. It publishes until it is killed.
static void run_appliance(struct bench *bench)
{
	const char *group = "main";
	const struct evring_parameters parameters = bench_parameters(bench, SLOTS, &group);

	if (evring_create(&bench->ring, &parameters, bench->error) != 0)
		_exit(1);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		bench->free_slots[bench->n_free++] = slot;
	raise(SIGSTOP);
	for (;;) {
		uint32_t slots[8];
		const unsigned n = evring_reclaim(bench->ring, slots, 8);

		for (unsigned i = 0; i < n; i++)
			bench->free_slots[bench->n_free++] = slots[i];
		(void)bench_publish(bench);
	}
}

static void kill_appliance(struct bench *bench, uint64_t *seed)
{
	const struct timespec moment = { .tv_nsec = bench_random(seed) % 2000000 };
	struct evb_reader *reader;
	struct evb_event event;
	uint64_t next = 0;
	pid_t child = bench_fork();
	int status, rc;

	if (child == 0)
		run_appliance(bench);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	reader = bench_member(bench, NULL);
	kill(child, SIGCONT);
	nanosleep(&moment, NULL);
	// Some of them die while we read, some with all slots full.
	for (unsigned i = bench_random(seed) % 200; i > 0; i--) {
		event = (struct evb_event){ 0 };
		assert_int_equal(evb_reader_next(reader, &event, -1), 1);
		assert_int_equal(event.event_id, next++);
		assert_true(bench_event_is_right(&event));
		bench_release(reader, &event);
	}
	kill_child(child);
	while ((rc = evb_reader_next(reader, &event, -1)) == 1) {
		assert_int_equal(event.event_id, next++);
		assert_true(bench_event_is_right(&event));
		bench_release(reader, &event);
	}
	assert_int_equal(rc, -EPIPE);
	evb_reader_close(reader);
}

static void death__appliance_killed_at_random(void **state)
{
	struct bench bench;
	uint64_t seed = 7;

	(void)state;
	bench_make_directory(&bench);
	for (unsigned i = 0; i < 30; i++)
		kill_appliance(&bench, &seed); // each finds the file of the one before
	assert_int_equal(evring_clean(BENCH_NAME, bench.directory, bench.error), 1);
	bench_remove_directory(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(death__members_killed_at_random),
		cmocka_unit_test(death__members_bury_each_other),
		cmocka_unit_test(death__events_of_the_dead_come_before_the_end),
		cmocka_unit_test(death__configured_group_keeps_events_of_its_last_member),
		cmocka_unit_test(death__member_killed_at_each_step_of_reading),
		cmocka_unit_test(death__member_killed_at_each_step_of_joining),
		cmocka_unit_test(death__appliance_killed_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
