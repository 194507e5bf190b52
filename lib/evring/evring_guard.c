// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

// An entry of a list that only grows, so that the handler can walk it at any time. Entries without
// memory are used again.
struct evring_guard {
	struct evring_guard *next;
	_Atomic uintptr_t memory; // 0: none
	_Atomic size_t size;
	_Atomic bool hit;
};

static _Atomic(struct evring_guard *) guards;
static _Atomic bool started;
static struct sigaction before;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct evring_guard *find(uintptr_t address)
{
	for (struct evring_guard *guard = atomic_load(&guards); guard != NULL; guard = guard->next)
		if (address - atomic_load(&guard->memory) < atomic_load(&guard->size))
			return guard;
	return NULL;
}

// Called for the instruction that failed, which is repeated after the return. mmap() is a system
// call without locks of the C library. MAP_FIXED exchanges the memory in one step, so that other
// threads see either the file or zeros.
static void on_bus_error(int number, siginfo_t *info, void *context)
{
	struct evring_guard *guard = find((uintptr_t)info->si_addr);
	void *zeros = MAP_FAILED;

	if (guard != NULL)
		zeros = mmap((void *)atomic_load(&guard->memory), atomic_load(&guard->size),
			     PROT_READ | PROT_WRITE,
			     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (zeros != MAP_FAILED)
		atomic_store(&guard->hit, true);
	else if ((before.sa_flags & SA_SIGINFO) != 0)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	else
		(void)signal(number, SIG_DFL); // the repeated instruction ends the process
}

void evring_guard_start(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	struct sigaction now;

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, NULL, &now) != 0 || now.sa_sigaction == on_bus_error)
		return;
	before = now;
	atomic_store(&started, sigaction(SIGBUS, &action, NULL) == 0);
}

struct evring_guard *evring_guard_add(void *memory, size_t size)
{
	struct evring_guard *guard;

	if (!atomic_load(&started))
		return NULL;
	pthread_mutex_lock(&lock);
	guard = atomic_load(&guards);
	while (guard != NULL && atomic_load(&guard->memory) != 0)
		guard = guard->next;
	if (guard == NULL) {
		guard = calloc(1, sizeof(*guard));
		if (guard != NULL) {
			guard->next = atomic_load(&guards);
			atomic_store(&guards, guard);
		}
	}
	if (guard != NULL) {
		atomic_store(&guard->hit, false);
		atomic_store(&guard->memory, (uintptr_t)memory);
		atomic_store(&guard->size, size);
	}
	pthread_mutex_unlock(&lock);
	return guard;
}

void evring_guard_remove(struct evring_guard *guard)
{
	if (guard == NULL)
		return;
	atomic_store(&guard->size, 0);
	atomic_store(&guard->memory, 0);
}

bool evring_guard_hit(const struct evring_guard *guard)
{
	return guard != NULL && atomic_load(&guard->hit);
}
