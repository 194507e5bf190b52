// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "last_input.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

struct last_input last_input;

static const char *file_prefix, *file_seed;
static uint64_t n_before; // inputs, when the timer was last seen

// Of the sanitizers' runtime, where there is one.
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

void last_input_report(void)
{
	fprintf(stderr, "inputs: %llu\n", (unsigned long long)last_input.n);
}

// It is called in signal handlers; the process is about to end, and the target does not print.
static void write_last(void)
{
	char path[PATH_MAX];
	int file;

	last_input_report();
	snprintf(path, sizeof(path), "%smutation-%s-%llu", file_prefix, file_seed,
		 (unsigned long long)last_input.n);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0 ||
	    write(file, last_input.bytes, last_input.size) != (ssize_t)last_input.size) {
		perror(path);
		_exit(EXIT_FAILURE);
	}
	close(file);
	fprintf(stderr, "Test unit written to %s\n", path);
}

static void on_abort(int number)
{
	(void)number;
	write_last();
	_exit(EXIT_FAILURE);
}

static void on_timer(int number)
{
	(void)number;
	if (last_input.n != n_before) {
		n_before = last_input.n;
		return;
	}
	fprintf(stderr, "the input takes more than %d s\n", HANG_SECONDS);
	abort();
}

void last_input_watch(const char *prefix, const char *seed)
{
	const struct itimerval timer = { { HANG_SECONDS, 0 }, { HANG_SECONDS, 0 } };

	file_prefix = prefix;
	file_seed = seed;
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(write_last);
	else
		signal(SIGSEGV, on_abort);
	signal(SIGABRT, on_abort);
	signal(SIGVTALRM, on_timer);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
}
