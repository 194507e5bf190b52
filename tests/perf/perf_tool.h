// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the benchmark's native tools share: numbers and lists in arguments, the EAL on given CPUs,
// one JSON object as the result. A tool that cannot do its work says why on the standard error and
// exits with 1.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <cjson/cJSON.h>

#define PERF_LIST_MOST 32u

struct perf_list {
	uint32_t values[PERF_LIST_MOST];
	unsigned n;
};

// Ends the program with a line.
void perf_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

// "1452,4048" or "0,1"; ends the program if it is not such a list, of at most PERF_LIST_MOST.
struct perf_list perf_parse_list(const char *what, const char *text);
// A number of at least `least`; ends the program if it is none.
double perf_parse_number(const char *what, const char *text, double least);

// CLOCK_MONOTONIC.
static inline uint64_t perf_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Returns at that moment of perf_now_ns(). Sleeps, but for the last 0.2 ms.
void perf_wait_until(uint64_t moment);

// For each turn of a loop that waits for another CPU.
static inline void perf_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

// Keeps the calling thread on one CPU.
void perf_pin(uint32_t cpu);

// Starts the EAL with one worker lcore a CPU (lcore 1 + i on cpus[i]), with hugepages if there are
// enough for `memory` bytes. The main lcore shares the first CPU: it must sleep, not spin, while
// workers run. Returns whether packets lie in hugepages.
bool perf_start_eal(const struct perf_list *cpus, uint64_t memory);
// Waits for all workers, asleep.
void perf_wait_workers(void);

// Prints the object as one line and frees it.
void perf_print(cJSON *object);
