// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Each metric that a column or a rule names is one of the telemetry tables.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "telemetry/group.h"
#include "top/table.h"

// The latency itself, or one of its quantiles.
static bool is_of_latency(const struct metric *metric, const char *name)
{
	const size_t length = strlen(metric->name);

	if (metric->kind != METRIC_LATENCY || strncmp(metric->name, name, length) != 0)
		return false;
	for (unsigned i = 0; metric_quantiles[i].suffix != NULL; i++)
		if (name[length] == '_' &&
		    strcmp(name + length + 1, metric_quantiles[i].suffix) == 0)
			return true;
	return false;
}

static bool has_metric(const struct metric *table, const char *name)
{
	for (; table != NULL && table->name != NULL; table++)
		if (strcmp(table->name, name) == 0 || is_of_latency(table, name))
			return true;
	return false;
}

static bool group_has(const struct telemetry_group *group, const char *name)
{
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES; i++)
		if (has_metric(group->tables[i], name))
			return true;
	return has_metric(group->nested_table, name);
}

static void check(enum sample_group group, const struct table_measure *measure)
{
	static const struct telemetry_group *const groups[SAMPLE_N_GROUPS][2] = {
		[SAMPLE_LCORES] = { &telemetry_lcore },
		[SAMPLE_LINKS] = { &telemetry_link },
		[SAMPLE_BUILDERS] = { &telemetry_builder },
		[SAMPLE_CONSUMERS] = { &telemetry_builder },
		[SAMPLE_SOURCES] = { &telemetry_source },
		[SAMPLE_PORTS] = { &telemetry_port, &telemetry_pfc },
		[SAMPLE_GENERATORS] = { &telemetry_generator },
		[SAMPLE_WRITERS] = { &telemetry_writer },
		[SAMPLE_DECISIONS] = { &telemetry_decision },
		[SAMPLE_SCHEDULER] = { &telemetry_sched },
		[SAMPLE_CREDITS] = { &telemetry_credits },
		[SAMPLE_READOUTS] = { &telemetry_readout },
		[SAMPLE_ROCE] = { &telemetry_roce },
		[SAMPLE_STEPS] = { &telemetry_step },
	};
	const char *names[2 * TABLE_MAX_METRICS];

	memcpy(names, measure->metrics, sizeof(measure->metrics));
	memcpy(names + TABLE_MAX_METRICS, measure->of, sizeof(measure->of));
	for (unsigned i = 0; i < 2 * TABLE_MAX_METRICS; i++)
		if (names[i] != NULL && strcmp(names[i], SAMPLE_DROPS) != 0 &&
		    !group_has(groups[group][0], names[i]) &&
		    (groups[group][1] == NULL || !group_has(groups[group][1], names[i])))
			fail_msg("group %u: no metric %s", group, names[i]);
}

static void metrics__have_the_names_of_telemetry(void **state)
{
	(void)state;
	for (unsigned group = 0; group < SAMPLE_N_GROUPS; group++) {
		const struct table *table = &tables[group];

		assert_true(table->n_columns <= TABLE_MAX_COLUMNS);
		for (unsigned i = 0; i < table->n_columns; i++) {
			check((enum sample_group)group, &table->columns[i].measure);
			check((enum sample_group)group, &table->columns[i].second);
		}
		for (unsigned i = 0; i < TABLE_MAX_RULES; i++)
			check((enum sample_group)group, &table->rules[i].measure);
		for (unsigned i = 0; i < TABLE_MAX_BADNESS; i++)
			check((enum sample_group)group, &table->badness[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics__have_the_names_of_telemetry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
