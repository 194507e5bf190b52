// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "perf_tool.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NAP_NS 200000 // a wait that is longer sleeps for the rest

void perf_fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

struct perf_list perf_parse_list(const char *what, const char *text)
{
	struct perf_list list = { .n = 0 };
	const char *at = text;

	for (;;) {
		char *end;
		unsigned long value = strtoul(at, &end, 10);

		if (end == at || value > UINT32_MAX || list.n == PERF_LIST_MOST)
			perf_fail("--%s: \"%s\" is not a list of at most %u whole numbers", what,
				  text, PERF_LIST_MOST);
		list.values[list.n++] = (uint32_t)value;
		if (*end == '\0')
			return list;
		if (*end != ',')
			perf_fail("--%s: \"%s\" is not a list of whole numbers", what, text);
		at = end + 1;
	}
}

double perf_parse_number(const char *what, const char *text, double least)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= least) || value > 1e15)
		perf_fail("--%s: \"%s\" is not a number from %g on", what, text, least);
	return value;
}

void perf_wait_until(uint64_t moment)
{
	for (;;) {
		uint64_t now = perf_now_ns();
		struct timespec nap = { 0 };

		if (now >= moment)
			return;
		if (moment - now < NAP_NS)
			continue;
		nap.tv_nsec = (long)(moment - now - NAP_NS) % 1000000000;
		nanosleep(&nap, NULL);
	}
}

void perf_pin(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		perf_fail("CPU %u is not among those that this process may use", cpu);
}

void perf_print(cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);

	cJSON_Delete(object);
	if (text == NULL)
		perf_fail("out of memory");
	puts(text);
	free(text);
}
