// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/parts.h"

#include <stdarg.h>
#include <stdio.h>

#include "builder/builder_role.h"
#include "source/roce_capture.h"
#include "tx/pcap_role.h"

#define DIFFERENCES_MOST 16u // sources with a line of their own

void notice(const struct appliance *appliance, const char *format, ...)
{
	char line[512];
	va_list list;

	if (appliance->notice == NULL)
		return;
	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	appliance->notice(appliance->notice_context, line);
}

static void report_difference(struct appliance *appliance,
			      const struct source_difference *difference)
{
	uint16_t id = appliance->sources.ids[difference->source];
	char text[SOURCE_DIFFERENCE_SIZE], remedy[SOURCE_DIFFERENCE_SIZE];

	if (appliance->source_reported[difference->source])
		return;
	appliance->source_reported[difference->source] = true;
	if (appliance->n_sources_reported++ > DIFFERENCES_MOST)
		return;
	source_difference_text(difference, id, text, remedy);
	if (appliance->n_sources_reported <= DIFFERENCES_MOST)
		notice(appliance, "%s: %s", text, remedy);
	else
		notice(appliance, "more sources do not send what is configured; they have no "
				  "lines of their own");
}

void report_differences(struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct source_difference *differences;
		uint32_t *seen, n;

		if (plan->roles[i].kind != CONFIG_ROLE_BUILDER)
			continue;
		seen = &appliance->differences_seen[plan->roles[i].object];
		n = assembly_differences(builder_role_assembly(appliance->roles[i]), &differences);
		while (*seen < n)
			report_difference(appliance, &differences[(*seen)++]);
	}
}

void notice_of_file(void *context, const struct event_file_notice *file)
{
	const struct appliance *appliance = context;

	switch (file->kind) {
	case EVENT_FILE_FINISHED:
		notice(appliance, "wrote %s: %llu events, %llu bytes", file->path,
		       (unsigned long long)file->events, (unsigned long long)file->bytes);
		break;
	case EVENT_FILE_RECOVERED:
		notice(appliance, "recovered %s of a killed writer: %llu bytes, %llu cut off",
		       file->path, (unsigned long long)file->bytes, (unsigned long long)file->cut);
		break;
	case EVENT_FILE_REMOVED:
		notice(appliance, "removed %s of a killed writer: it held no whole event",
		       file->path);
		break;
	case EVENT_FILE_PAUSED:
		notice(appliance, "writing %s pauses: %s; events wait in the event ring",
		       file->path, file->cause);
		break;
	case EVENT_FILE_RESUMED:
		notice(appliance, "writing %s goes on", file->path);
		break;
	case EVENT_FILE_FAILED:
		notice(appliance, "%s could not be finished: %s; %llu of its events are lost",
		       file->path, file->cause, (unsigned long long)file->events);
		break;
	}
}

// Reports what a generator's capture lacks. True if anything.
static bool report_capture(struct appliance *appliance, const struct config_generator *generator,
			   const char *problem, uint64_t cut)
{
	if (problem != NULL && problem[0] != '\0')
		notice(appliance, "generator %s: %s: what comes before was sent", generator->name,
		       problem);
	if (cut > 0)
		notice(appliance,
		       "generator %s: %s: %llu packets were not sent: the capture has only "
		       "their first bytes (snap length)",
		       generator->name, generator->file, (unsigned long long)cut);
	return (problem != NULL && problem[0] != '\0') || cut > 0;
}

bool appliance_captures_lack(struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	bool lack = false;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];
		const struct config_generator *generator;

		if (role->kind != CONFIG_ROLE_SOURCE)
			continue;
		generator = &appliance->config->generators[role->object];
		if (generator->kind == GENERATOR_PCAP)
			lack |= report_capture(
			    appliance, generator, pcap_role_problem(appliance->roles[i]),
			    counter_read(&pcap_role_counters(appliance->roles[i])->truncated));
		else if (generator->kind == GENERATOR_ROCE && appliance->sets[role->object] != NULL)
			lack |= report_capture(appliance, generator,
					       appliance->sets[role->object]->script->problem,
					       appliance->sets[role->object]->script->cut);
	}
	return lack;
}
