// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "diagnosis/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Appends to a text; what does not fit is replaced by "...".
__attribute__((format(printf, 2, 0))) static void append(char text[DIAGNOSIS_TEXT_SIZE],
							 const char *format, va_list list)
{
	const size_t used = strlen(text), room = DIAGNOSIS_TEXT_SIZE - used;

	if ((size_t)vsnprintf(text + used, room, format, list) >= room)
		memcpy(text + DIAGNOSIS_TEXT_SIZE - sizeof("..."), "...", sizeof("..."));
}

struct diagnosis_finding *finding_begin(struct findings *to, const char *subject, ...)
{
	const struct rule *rule = to->rule;
	struct diagnosis_finding *finding;
	va_list list;

	if (to->diagnosis->n == DIAGNOSIS_MAX)
		return NULL;
	finding = &to->diagnosis->findings[to->diagnosis->n++];
	*finding = (struct diagnosis_finding){
		.rule = rule->name,
		.severity = rule->severity,
		.log_after_ns =
		    rule->log_after_s == NOT_LOGGED ? UINT64_MAX : rule->log_after_s * NS_PER_S,
	};
	va_start(list, subject);
	vsnprintf(finding->subject, sizeof(finding->subject), subject, list);
	va_end(list);
	return finding;
}

void finding_add(struct diagnosis_finding *finding, const char *format, ...)
{
	va_list list;

	if (finding == NULL)
		return;
	va_start(list, format);
	append(finding->sentence, format, list);
	va_end(list);
	va_start(list, format);
	append(finding->what, format, list);
	va_end(list);
}

void finding_add_passing(struct diagnosis_finding *finding, const char *format, ...)
{
	va_list list;

	if (finding == NULL)
		return;
	va_start(list, format);
	append(finding->sentence, format, list);
	va_end(list);
}

void finding_add_time(struct diagnosis_finding *finding, uint64_t ns)
{
	const double s = (double)ns / (double)NS_PER_S;

	if (s < 10)
		finding_add_passing(finding, "%.1f s", s);
	else if (s < 120)
		finding_add_passing(finding, "%.0f s", s);
	else
		finding_add_passing(finding, "%.0f min", s / 60);
}

void finding_holds_back(struct diagnosis_finding *finding, const char *role)
{
	if (finding != NULL)
		snprintf(finding->holds_back, sizeof(finding->holds_back), "%s", role);
}

void finding_remedy(struct diagnosis_finding *finding, const char *format, ...)
{
	va_list list;

	if (finding == NULL)
		return;
	va_start(list, format);
	append(finding->remedy, format, list);
	va_end(list);
}
