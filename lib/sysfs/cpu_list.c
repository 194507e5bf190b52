// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sysfs/cpu_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "..."

bool cpu_list_parse(const char *text, cpu_set_t *set)
{
	CPU_ZERO(set);
	while (isdigit((unsigned char)*text)) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return false;
			last = strtoul(end + 1, &end, 10);
		}
		for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, set);
		text = *end == ',' ? end + 1 : end;
	}
	while (isspace((unsigned char)*text))
		text++;
	return *text == '\0';
}

void cpu_list_format(const cpu_set_t *set, char text[CPU_LIST_SIZE])
{
	size_t used = 0;

	text[0] = '\0';
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int last = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		if (used + 24 > CPU_LIST_SIZE) {
			strcpy(text + used, ELLIPSIS);
			return;
		}
		used += (size_t)snprintf(text + used, CPU_LIST_SIZE - used,
					 last > cpu ? "%s%d-%d" : "%s%d", used > 0 ? "," : "", cpu,
					 last);
		cpu = last;
	}
}
