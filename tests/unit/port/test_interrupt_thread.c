// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include <rte_interrupts.h>

#include "port/interrupt_thread.h"
#include "testbed.h"

static sem_t entered, may_return;
static atomic_bool settled;

static void note_thread(void *is_interrupt_thread)
{
	*(bool *)is_interrupt_thread = rte_thread_is_intr();
}

static void call__runs_on_the_interrupt_thread(void **state)
{
	bool is_interrupt_thread = false;

	(void)state;
	assert_false(rte_thread_is_intr());
	for (unsigned i = 0; i < 100; i++) {
		interrupt_thread_call(note_thread, &is_interrupt_thread);
		assert_true(is_interrupt_thread);
		is_interrupt_thread = false;
	}
}

static void stay(void *argument)
{
	(void)argument;
	sem_post(&entered);
	sem_wait(&may_return);
}

static void *keep_busy(void *argument)
{
	interrupt_thread_call(stay, NULL);
	return argument;
}

static void *settle(void *argument)
{
	interrupt_thread_settle();
	atomic_store(&settled, true);
	return argument;
}

static void settle__waits_for_what_the_thread_does(void **state)
{
	pthread_t busy, settling;

	(void)state;
	assert_int_equal(sem_init(&entered, 0, 0), 0);
	assert_int_equal(sem_init(&may_return, 0, 0), 0);
	assert_int_equal(pthread_create(&busy, NULL, keep_busy, NULL), 0);
	sem_wait(&entered);
	assert_int_equal(pthread_create(&settling, NULL, settle, NULL), 0);
	assert_false(atomic_load(&settled));
	sem_post(&may_return);
	assert_int_equal(pthread_join(settling, NULL), 0);
	assert_int_equal(pthread_join(busy, NULL), 0);
	assert_true(atomic_load(&settled));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call__runs_on_the_interrupt_thread),
		cmocka_unit_test(settle__waits_for_what_the_thread_does),
	};

	return cmocka_run_group_tests_name("interrupt_thread", tests, testbed_start, testbed_stop);
}
