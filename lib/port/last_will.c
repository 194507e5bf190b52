// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/last_will.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET 3 // of the process that sends the frames: the only file that it has, but /dev/null

struct frame {
	uint16_t size;
	uint8_t bytes[LAST_WILL_FRAME_MOST];
};

// The frame that is in force is whole at any moment: the other one is written.
struct frames {
	atomic_uint current; // 0 or 1
	struct frame frames[2];
};

struct last_will {
	pthread_mutex_t alive; // held as long as the process lives
	unsigned n;
	struct frames frames[];
};

static void send_frames(const struct last_will *will)
{
	for (unsigned i = 0; i < will->n; i++) {
		const struct frames *frames = &will->frames[i];
		const struct frame *frame =
		    &frames->frames[atomic_load_explicit(&frames->current, memory_order_acquire)];

		if (frame->size > 0)
			(void)send(SOCKET, frame->bytes, frame->size, 0); // no one learns of errors
	}
}

// It holds nothing open that others wait for, and belongs to no terminal.
static void detach(int file)
{
	int null;

	(void)setsid();
	(void)prctl(PR_SET_NAME, "evb-last-will");
	// The socket may have any descriptor, also one of the first, so it leaves them before.
	file = fcntl(file, F_DUPFD, SOCKET + 1);
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < SOCKET; i++)
		(void)dup2(null, i);
	(void)dup2(file, SOCKET);
	(void)close_range(SOCKET + 1, ~0u, 0);
}

// It sleeps until the end, and is to run at once then, whatever polls on all CPUs. Without the
// right to that it waits for its turn.
static void hurry(void)
{
	struct sched_param own = { 0 };
	struct sched_param real_time = { .sched_priority = 1 };

	(void)sched_getparam(0, &own);
	real_time.sched_priority += own.sched_priority;
	if (real_time.sched_priority <= sched_get_priority_max(SCHED_FIFO))
		(void)sched_setscheduler(0, SCHED_FIFO, &real_time);
}

static _Noreturn void wait_and_send(struct last_will *will, int file)
{
	detach(file);
	hurry();
	if (pthread_mutex_lock(&will->alive) == EOWNERDEAD)
		send_frames(will);
	_exit(0);
}

static int open_socket(const char *interface)
{
	// Protocol 0: it receives nothing.
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	int file;

	if (address.sll_ifindex == 0)
		return -1;
	file = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (file >= 0 && bind(file, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		const int cause = errno;

		close(file);
		errno = cause;
		return -1;
	}
	return file;
}

static int make_mutex(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;
	int result = pthread_mutexattr_init(&attributes);

	if (result != 0)
		return result;
	(void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	result = pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return result != 0 ? result : pthread_mutex_lock(mutex);
}

static struct last_will *fail(char *error, const char *what, int cause)
{
	snprintf(error, LAST_WILL_ERROR_SIZE, "%s: %s", what, strerror(cause));
	return NULL;
}

// Nothing that ends the processes of a terminal, a service or a container may end the child before
// it has sent the frames: it blocks all signals from its first moment on.
static pid_t fork_blocking_signals(void)
{
	sigset_t all, before;
	pid_t child;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child != 0)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return child;
}

struct last_will *last_will_make(const char *interface, unsigned n, char *error)
{
	const size_t size = sizeof(struct last_will) + n * sizeof(struct frames);
	struct last_will *will;
	int file = open_socket(interface), cause;
	pid_t child = -1;

	if (file < 0)
		return fail(error, interface, errno);
	will = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (will == MAP_FAILED) {
		close(file);
		return fail(error, "mmap", ENOMEM);
	}
	will->n = n;
	cause = make_mutex(&will->alive);
	if (cause == 0) {
		child = fork_blocking_signals();
		cause = errno;
	}
	if (child == 0)
		wait_and_send(will, file);
	close(file);
	if (child > 0)
		return will;
	munmap(will, size);
	return fail(error, "fork", cause);
}

bool last_will_set(struct last_will *will, unsigned index, const void *frame, size_t size)
{
	struct frames *frames = &will->frames[index];
	const unsigned other = 1 - atomic_load_explicit(&frames->current, memory_order_relaxed);

	if (size > LAST_WILL_FRAME_MOST)
		return false;
	memcpy(frames->frames[other].bytes, frame, size);
	frames->frames[other].size = (uint16_t)size;
	atomic_store_explicit(&frames->current, other, memory_order_release);
	return true;
}
