// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

static void assert_screen(const struct grid *grid, const char *expected)
{
	char *text = fixture_text(grid);

	assert_string_equal(text, expected);
	free(text);
}

static void grid_text__is_cut(void **state)
{
	struct grid grid;

	(void)state;
	assert_true(grid_make(&grid, 3, 8, true));
	assert_int_equal(grid_text(&grid, 0, 2, 20, GRID_PLAIN, "abcdefghij"), 12);
	assert_int_equal(grid_text(&grid, 1, 0, 3, GRID_PLAIN, "abcdef"), 3);
	grid_right(&grid, 1, 4, 4, GRID_PLAIN, "xy");
	(void)grid_text(&grid, 2, 0, 8, GRID_PLAIN, "a\tb\x1b[m\xc3\xa4");
	(void)grid_text(&grid, 7, 0, 8, GRID_PLAIN, "nowhere");
	assert_screen(&grid, "  abcdef\nabc   xy\na?b?[m??\n");
	grid_free(&grid);
}

static void grid_bar__of_two_shares(void **state)
{
	static const double none = (double)NAN;
	struct grid grid;

	(void)state;
	assert_true(grid_make(&grid, 7, 8, true));
	grid_bar(&grid, 0, 0, 8, 0.5, 0.25, GRID_GOOD);
	grid_bar(&grid, 1, 0, 8, 0, 0, GRID_GOOD);
	grid_bar(&grid, 2, 0, 8, 1, 0, GRID_GOOD);
	grid_bar(&grid, 3, 0, 8, 0.01, 0.01, GRID_GOOD); // what is there is seen
	grid_bar(&grid, 4, 0, 8, 7, 7, GRID_GOOD);
	grid_bar(&grid, 5, 0, 8, none, none, GRID_GOOD);
	grid_bar(&grid, 6, 4, 8, 1, 0, GRID_GOOD);
	assert_screen(&grid, "####!!..\n........\n########\n#!......\n########\n........\n"
			     "    ####\n");
	grid_free(&grid);
}

static void grid_sparkline__shows_the_latest(void **state)
{
	static const double values[] = { 1, 8, 0, 1, 4, 8, (double)NAN, 0.01 };
	struct grid grid;

	(void)state;
	assert_true(grid_make(&grid, 4, 6, true));
	grid_chart(&grid, 0, 0, 1, 6, values, 8, 8, GRID_PLOT);
	grid_chart(&grid, 1, 0, 1, 6, values, 2, 8, GRID_PLOT);
	grid_chart(&grid, 2, 0, 1, 6, values, 8, 0, GRID_PLOT);
	assert_screen(&grid, " .=# .\n    .#\n ... .\n\n");
	grid_free(&grid);
	assert_true(grid_make(&grid, 1, 6, false));
	grid_chart(&grid, 0, 0, 1, 6, values, 8, 8, GRID_PLOT);
	assert_screen(&grid, " ▁▄█ ▁\n");
	grid_free(&grid);
}

static void grid_chart__stands_on_its_lowest_row(void **state)
{
	static const double values[] = { 16, 12, 8, 4, 0 };
	struct grid grid;

	(void)state;
	assert_true(grid_make(&grid, 3, 6, true));
	grid_chart(&grid, 1, 0, 2, 5, values, 5, 16, GRID_PLOT);
	assert_screen(&grid, "\n#=\n###=\n");
	grid_free(&grid);
}

static void grid_rule__has_a_title(void **state)
{
	struct grid grid;

	(void)state;
	assert_true(grid_make(&grid, 3, 12, true));
	grid_rule(&grid, 0, 0, 12, "title");
	grid_rule(&grid, 1, 0, 12, "a title too long");
	grid_rule(&grid, 2, 0, 4, "no");
	assert_screen(&grid, "- title ----\n- a title  -\n----\n");
	grid_free(&grid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grid_text__is_cut),
		cmocka_unit_test(grid_bar__of_two_shares),
		cmocka_unit_test(grid_sparkline__shows_the_latest),
		cmocka_unit_test(grid_chart__stands_on_its_lowest_row),
		cmocka_unit_test(grid_rule__has_a_title),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
