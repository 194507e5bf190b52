// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/interrupt_thread.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

#include <rte_alarm.h>

struct call {
	void *argument;
	sem_t returned;
	// Is written last, and read first. The lock of EAL would do, but ThreadSanitizer does not
	// see it.
	void (*_Atomic function)(void *argument);
};

static void make_call(void *context)
{
	struct call *call = context;
	void (*function)(void *) = atomic_load_explicit(&call->function, memory_order_acquire);

	function(call->argument);
	sem_post(&call->returned);
}

void interrupt_thread_call(void (*function)(void *argument), void *argument)
{
	struct call call = { .argument = argument };

	sem_init(&call.returned, 0, 0);
	atomic_store_explicit(&call.function, function, memory_order_release);
	// EAL handles an alarm as an interrupt of its timer.
	if (rte_eal_alarm_set(1, make_call, &call) != 0)
		function(argument);
	else
		while (sem_wait(&call.returned) != 0)
			; // a signal
	sem_destroy(&call.returned);
}

static void nothing(void *argument)
{
	(void)argument;
}

void interrupt_thread_settle(void)
{
	// A changed list is read before the next wait for interrupts. The first call may still be
	// made before that, but not the second one.
	interrupt_thread_call(nothing, NULL);
	interrupt_thread_call(nothing, NULL);
}
