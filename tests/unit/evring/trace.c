// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "trace.h"
#include "bench.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define MAX_STEPS 10000u
#else
#define MAX_STEPS 30000u // of all stops together; some 25 us each
#endif

bool trace_is_possible(void)
{
	const pid_t child = bench_fork();
	int status;

	if (child == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

pid_t trace_fork(void)
{
	const pid_t child = bench_fork();
	int status;

	if (child == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL); // possible, as was seen before
		return 0;
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGSTOP);
	return child;
}

uint64_t trace_steps(pid_t child, int request, uint64_t steps)
{
	int status;

	for (uint64_t i = 0; i < steps; i++) {
		assert_int_equal(ptrace(request, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGSTOP)
			return i;
	}
	return steps;
}

uint64_t trace_stride(uint64_t all)
{
	// The stops do all / 2 steps on average.
	return 1 + all * all / (2 * MAX_STEPS);
}

void trace_to_exit(pid_t child)
{
	int status;

	do {
		assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
	} while (WIFSTOPPED(status));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
