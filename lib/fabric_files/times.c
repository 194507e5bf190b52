// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fabric_files/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "base/units.h"
#include "config/reader.h"

#define LONGEST_NS  UINT64_C(3600000000000) // 1 h
#define MOST_WEIGHT 1e15
#define LINE_SIZE   128u

_Static_assert(FABRIC_TIMES_ERROR == CONFIG_ERROR_SIZE, "");

// Reads a line without its comment. sum: of the weights.
static int read_line(struct sim_times *times, const char *line, double *sum, char *error)
{
	char time[LINE_SIZE], weight[LINE_SIZE], rest[2], *end, cause[UNITS_ERROR_SIZE];
	const int n = sscanf(line, "%127s %127s %1s", time, weight, rest);
	uint64_t ns;
	double value;

	if (n <= 0)
		return 0;
	if (n != 2)
		return error_line(error, UNITS_ERROR_SIZE, "expected a time and a weight, as in %s",
				  "\"120us 35\"");
	if (units_parse(UNITS_TIME, time, &ns, cause) != 0)
		return error_line(error, UNITS_ERROR_SIZE, "%s", cause);
	if (ns > LONGEST_NS)
		return error_line(error, UNITS_ERROR_SIZE, "a time is at most 1h");
	value = strtod(weight, &end);
	if (*end != '\0' || !(value >= 0 && value <= MOST_WEIGHT))
		return error_line(error, UNITS_ERROR_SIZE, "%s is no weight: expected 0 to 1e15",
				  quote(weight).text);
	*sum += value;
	if (!sim_times_add(times, ns, value))
		return error_line(error, UNITS_ERROR_SIZE, "out of memory");
	return 0;
}

int fabric_times_parse(struct sim_times *times, const char *text, size_t length, const char *name,
		       char *error)
{
	const char *end = text + length;
	unsigned number = 0;
	double sum = 0;

	*times = (struct sim_times){ 0 };
	while (text < end) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		const size_t size = (size_t)((next != NULL ? next : end) - text);
		char line[LINE_SIZE] = "", cause[UNITS_ERROR_SIZE];

		number++;
		snprintf(line, sizeof(line), "%.*s",
			 (int)(size < sizeof(line) ? size : sizeof(line)), text);
		line[strcspn(line, "#")] = '\0';
		if (strlen(line) + 1 == sizeof(line))
			return error_line(error, FABRIC_TIMES_ERROR, "%.200s:%u: is too long", name,
					  number);
		if (read_line(times, line, &sum, cause) != 0)
			return error_line(error, FABRIC_TIMES_ERROR, "%.200s:%u: %s", name, number,
					  cause);
		text += size + 1;
	}
	if (!(sum > 0))
		return error_line(error, FABRIC_TIMES_ERROR,
				  "%.200s: has no time with a weight above 0", name);
	sim_times_finish(times);
	return 0;
}
