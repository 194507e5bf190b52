// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Makes room for one more element; the room is a power of two. Returns the array, or NULL with the
// old array intact.
static void *grow(void *list, unsigned n, size_t size)
{
	return (n & (n - 1)) == 0 ? realloc(list, (n > 0 ? 2 * n : 1) * size) : list;
}

struct host_finding *report_add(struct host_report *report, enum host_verdict verdict,
				const char *format, ...)
{
	static _Thread_local struct host_finding nowhere;
	struct host_finding *finding = &nowhere;
	struct host_finding *findings =
	    grow(report->findings, report->n_findings, sizeof(*finding));
	char text[HOST_TEXT_SIZE + HOST_REMEDY_SIZE], *remedy = text;
	va_list list;

	if (findings != NULL) {
		report->findings = findings;
		finding = &findings[report->n_findings++];
	}
	report->out_of_memory |= findings == NULL;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	*finding = (struct host_finding){ .verdict = verdict, .stage = report->stage };
	snprintf(finding->text, sizeof(finding->text), "%s", strsep(&remedy, REMEDY));
	snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy != NULL ? remedy : "");
	return finding;
}

void report_change(struct host_report *report, enum host_change_kind kind, const char *target,
		   const char *format, ...)
{
	struct host_change *changes = grow(report->changes, report->n_changes, sizeof(*changes));
	struct host_change *change;
	va_list list;

	if (changes == NULL) {
		report->out_of_memory = true;
		return;
	}
	report->changes = changes;
	change = &changes[report->n_changes++];
	*change = (struct host_change){ .kind = kind, .stage = report->stage };
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
