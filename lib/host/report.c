// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM 32

// Makes room for one more element. Returns the array, or NULL with the old array intact.
static void *grow(void *list, unsigned n, unsigned *room, size_t size)
{
	unsigned larger = *room > 0 ? 2 * *room : FIRST_ROOM;
	void *grown;

	if (n < *room)
		return list;
	grown = realloc(list, larger * size);
	if (grown != NULL)
		*room = larger;
	return grown;
}

struct host_finding *report_add(struct host_report *report, enum host_verdict verdict,
				const char *stage, const char *format, ...)
{
	static _Thread_local struct host_finding nowhere;
	struct host_finding *findings =
	    grow(report->findings, report->n_findings, &report->findings_room, sizeof(*findings));
	struct host_finding *finding = &nowhere;
	va_list list;

	if (findings != NULL) {
		report->findings = findings;
		finding = &findings[report->n_findings++];
	} else {
		report->out_of_memory = true;
	}
	*finding = (struct host_finding){ .verdict = verdict, .stage = stage };
	va_start(list, format);
	vsnprintf(finding->text, sizeof(finding->text), format, list);
	va_end(list);
	return finding;
}

void report_remedy(struct host_finding *finding, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, list);
	va_end(list);
}

void report_change(struct host_report *report, enum host_change_kind kind, const char *stage,
		   const char *target, const char *format, ...)
{
	struct host_change *changes =
	    grow(report->changes, report->n_changes, &report->changes_room, sizeof(*changes));
	struct host_change *change;
	va_list list;

	if (changes == NULL) {
		report->out_of_memory = true;
		return;
	}
	report->changes = changes;
	change = &changes[report->n_changes++];
	*change = (struct host_change){ .kind = kind, .stage = stage };
	snprintf(change->target, sizeof(change->target), "%s", target);
	va_start(list, format);
	vsnprintf(change->value, sizeof(change->value), format, list);
	va_end(list);
}

unsigned report_count(const struct host_report *report, enum host_verdict verdict)
{
	unsigned n = 0;

	for (unsigned i = 0; i < report->n_findings; i++)
		n += report->findings[i].verdict == verdict;
	return n;
}

const char *host_verdict_name(enum host_verdict verdict)
{
	static const char *const names[] = {
		[HOST_OK] = "ok",
		[HOST_WARN] = "warn",
		[HOST_FAIL] = "fail",
	};

	return names[verdict];
}

void host_report_free(struct host_report *report)
{
	free(report->findings);
	free(report->changes);
	*report = (struct host_report){ 0 };
}
