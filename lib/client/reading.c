// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/reading.h"

#include <math.h>
#include <stdlib.h>

struct reading *reading_make(cJSON *snapshot, double time_ms, pid_t pid)
{
	struct reading *reading = malloc(sizeof(*reading));

	if (reading == NULL)
		cJSON_Delete(snapshot);
	else
		*reading = (struct reading){ time_ms, pid, snapshot, 1 };
	return reading;
}

struct reading *reading_ref(struct reading *reading)
{
	atomic_fetch_add_explicit(&reading->references, 1, memory_order_relaxed);
	return reading;
}

void reading_unref(struct reading *reading)
{
	if (reading == NULL ||
	    atomic_fetch_sub_explicit(&reading->references, 1, memory_order_acq_rel) != 1)
		return;
	cJSON_Delete(reading->snapshot);
	free(reading);
}

double reading_number(const struct reading *reading, const char *key)
{
	const cJSON *summary = cJSON_GetObjectItemCaseSensitive(reading->snapshot, "summary");
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(summary, key);

	return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

bool reading_follows(const struct reading *now, const struct reading *before)
{
	// A number that the appliance does not report cannot distinguish two runs.
	return before != NULL && now->pid == before->pid && now->time_ms > before->time_ms &&
	       !islessgreater(reading_number(now, "run_number"),
			      reading_number(before, "run_number")) &&
	       !isless(reading_number(now, "uptime_seconds"),
		       reading_number(before, "uptime_seconds"));
}
