// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The table of a run's sources, and the names of what is not placed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packet/causes.h"
#include "packet/source_table.h"

static void table__numbers_the_expected_sources(void **state)
{
	static const uint16_t ids[] = { 0, 7, 8, 0x0801, 65535 };
	static const bool expected[] = { true, true, false, true, true };
	struct source_table *table = calloc(1, sizeof(*table));
	unsigned n_unknown = 0;

	(void)state;
	assert_non_null(table);
	for (unsigned round = 0; round < 2; round++) { // and again over an old table
		source_table_make(table, ids, expected, 5);
		assert_int_equal(table->n_expected, 4);
		assert_int_equal(table->index[0], 0);
		assert_int_equal(table->index[7], 1);
		assert_int_equal(table->index[8], SOURCE_UNEXPECTED);
		assert_int_equal(table->index[0x0801], 2);
		assert_int_equal(table->index[65535], 3);
		assert_int_equal(table->ids[0], 0);
		assert_int_equal(table->ids[1], 7);
		assert_int_equal(table->ids[2], 0x0801);
		assert_int_equal(table->ids[3], 65535);
	}
	for (unsigned id = 0; id < 65536; id++)
		n_unknown += table->index[id] == SOURCE_UNKNOWN;
	assert_int_equal(n_unknown, 65536 - 5);
	free(table);
}

static void table__of_the_most_sources(void **state)
{
	static uint16_t ids[EVB_MAX_SOURCES];
	static bool expected[EVB_MAX_SOURCES];
	struct source_table *table = calloc(1, sizeof(*table));

	(void)state;
	assert_non_null(table);
	for (unsigned i = 0; i < EVB_MAX_SOURCES; i++) {
		ids[i] = (uint16_t)(16 * i + 1);
		expected[i] = true;
	}
	source_table_make(table, ids, expected, EVB_MAX_SOURCES);
	assert_int_equal(table->n_expected, EVB_MAX_SOURCES);
	assert_int_equal(table->index[16 * (EVB_MAX_SOURCES - 1) + 1], EVB_MAX_SOURCES - 1);
	free(table);
}

// These names are read by other people's programs: never renamed.
static void causes__have_names(void **state)
{
	static const char *const packets[PACKET_N_CAUSES] = {
		"malformed_frame", "ip_checksum", "udp_checksum", "ip_fragment",
		"unknown_port",    "not_for_us",  "links_full",
	};
	static const char *const segments[SEGMENT_N_CAUSES] = {
		"malformed_segment",
		"unknown_source",
		"unexpected_source",
		"not_admitted",
		"moved_source",
		"link_full",
		"outside_run",
		"no_slot",
		"late",
		"early",
		"duplicate",
		"overlapping",
		"oversized",
		"length_mismatch",
		"reorder_limit",
		"store_full",
		"no_event",
	};

	(void)state;
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		assert_string_equal(packet_cause_name(i), packets[i]);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		assert_string_equal(segment_cause_name(i), segments[i]);
	assert_string_equal(packet_cause_name(PACKET_N_CAUSES), "unknown");
	assert_string_equal(segment_cause_name(SEGMENT_N_CAUSES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table__numbers_the_expected_sources),
		cmocka_unit_test(table__of_the_most_sources),
		cmocka_unit_test(causes__have_names),
	};

	return cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
