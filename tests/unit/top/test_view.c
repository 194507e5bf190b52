// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whole screens, compared with files in expected/, and what keys do. EVB_WRITE_EXPECTED in the
// environment writes the files anew: look at them before they are kept.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNER 3 // rows of the diagnosis of the fixture, in 80 columns

static void read_expected(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");

	text[0] = '\0';
	if (file == NULL)
		return;
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file); // opened for reading: nothing can be lost
}

static void assert_screen(const struct view *view, const struct model *model, unsigned rows,
			  unsigned columns, bool ascii, const char *name)
{
	char *text = fixture_draw(view, model, rows, columns, ascii);
	static char expected[65536];
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.txt", EXPECTED, name);
	if (getenv("EVB_WRITE_EXPECTED") != NULL) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		assert_true(fputs(text, file) >= 0);
		assert_int_equal(fclose(file), 0);
	}
	read_expected(path, expected, sizeof(expected));
	if (strcmp(text, expected) != 0)
		fail_msg("%s:\n%s\nexpected:\n%s", name, text, expected);
	free(text);
}

static void assert_shown(const struct view *view, const struct model *model, const char *words,
			 bool shown)
{
	char *text = fixture_draw(view, model, 24, 80, true);

	if ((strstr(text, words) != NULL) != shown)
		fail_msg("\"%s\" is%s on the screen:\n%s", words, shown ? " not" : "", text);
	free(text);
}

static void keys(struct view *view, const struct model *model, const char *text)
{
	for (; *text != '\0'; text++)
		view_key(view, model, (uint32_t)*text, 24);
}

// --- screens -------------------------------------------------------------------------------------

static void overview__of_a_sound_appliance(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 5);
	assert_screen(&view, &model, 24, 80, false, "sound-80x24");
	assert_screen(&view, &model, 40, 120, false, "sound-120x40");
	assert_screen(&view, &model, 10, 40, false, "sound-40x10");
	assert_screen(&view, &model, 24, 80, true, "sound-80x24-ascii");
	model_free(&model);
}

static void overview__of_trouble(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 8);
	assert_screen(&view, &model, 24, 80, false, "trouble-80x24");
	assert_screen(&view, &model, 40, 120, false, "trouble-120x40");
	assert_screen(&view, &model, 10, 40, false, "trouble-40x10");
	// Nothing of it is told by a colour alone.
	assert_shown(&view, &model, "! 3     ", true);
	assert_shown(&view, &model, "!incomplete/s 20.0k", true);
	assert_shown(&view, &model, "! consumer group main (1 member, pid 4711, stopped 22 s ago)",
		     true);
	assert_shown(&view, &model, "kill -CONT 4711", true);
	model_free(&model);
}

static void overview__of_several_nodes(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "alpha", 1, 5);
	fixture_node(&model, "beta", 1, 8);
	model_down(fixture_node(&model, "gamma", 1, 5), SAMPLER_DIED,
		   "appliance gamma crashed or was killed: see its log", "12:34:50");
	view.node = 1;
	assert_screen(&view, &model, 24, 80, false, "nodes-80x24");
	assert_screen(&view, &model, 40, 120, false, "nodes-120x40");
	view.node = 2;
	assert_screen(&view, &model, 24, 80, false, "down-80x24");
	assert_shown(&view, &model, "! down since 12:34:50: appliance gamma crashed or was killed",
		     true);
	// An orderly end is no alarm.
	model_down(model.nodes[2], SAMPLER_ENDED, "appliance gamma has ended in order", "12:34:50");
	assert_shown(&view, &model, "\nended at 12:34:50: appliance gamma has ended in order",
		     true);
	assert_shown(&view, &model, "!gamma", false);
	model_free(&model);
}

static void overview__of_an_event_manager(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "system", 1, 8);
	assert_screen(&view, &model, 24, 80, false, "system-80x24");
	assert_screen(&view, &model, 40, 120, false, "system-120x40");
	assert_shown(&view, &model, "!scarce b.b0", true);
	assert_shown(&view, &model, "!standby none", true);
	assert_shown(&view, &model, "votes 3", true);
	assert_shown(&view, &model, "* b.b0", true);
	model_free(&model);
}

static void sections__each(void **state)
{
	struct model model = { 0 };
	struct view view;
	char name[64];

	(void)state;
	fixture_node(&model, "system", 1, 8);
	for (unsigned section = VIEW_GROUPS; section < VIEW_N_SECTIONS; section++) {
		view_make(&view);
		view.section = section;
		snprintf(name, sizeof(name), "section-%u", section);
		assert_screen(&view, &model, 16, 80, false, name);
	}
	view_make(&view);
	view.help = true;
	assert_screen(&view, &model, 24, 80, false, "help");
	model_free(&model);
}

static void screens__of_any_size(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	fixture_node(&model, "alpha", 1, 8);
	fixture_node(&model, "beta", 1, 3);
	model_node(&model, "gamma");
	for (unsigned section = 0; section < VIEW_N_SECTIONS; section++)
		for (unsigned node = 0; node < 3; node++)
			for (unsigned size = 0; size < 64; size++) {
				view_make(&view);
				view.section = section;
				view.node = node;
				free(fixture_draw(&view, &model, size, size * 3 % 65, false));
				free(fixture_draw(&view, &model, size % 7, size * 5, true));
			}
	model_free(&model);
}

static void screen__without_any_appliance(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	assert_shown(&view, &model, "no appliance is running here", true);
	keys(&view, &model, "0123456789cuohnsrS\t\n ");
	model_node(&model, "late");
	view_make(&view);
	assert_shown(&view, &model, "! not asked yet", true);
	model_free(&model);
}

// --- keys ----------------------------------------------------------------------------------------

static void keys__zoom(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 8);
	keys(&view, &model, "5");
	assert_shown(&view, &model, "sources: 12, sorted by the worst", true);
	keys(&view, &model, "h");
	assert_shown(&view, &model, "latency, p99", true);
	keys(&view, &model, "0");
	assert_int_equal(view.section, VIEW_OVERVIEW);
	keys(&view, &model, "2\x1b");
	assert_int_equal(view.section, VIEW_OVERVIEW);
	keys(&view, &model, "?");
	assert_shown(&view, &model, "hold the screen", true);
	keys(&view, &model, "?");
	assert_shown(&view, &model, "hold the screen", false);
	keys(&view, &model, "q");
	assert_true(view.quit);
	model_free(&model);
}

static unsigned row_of(const struct view *view, const struct model *model, const char *words)
{
	char *text = fixture_draw(view, model, 24, 80, true);
	const char *found = strstr(text, words);
	unsigned row = 0;

	if (found == NULL)
		fail_msg("\"%s\" is not on the screen:\n%s", words, text);
	for (const char *at = text; at < found; at++)
		row += *at == '\n';
	free(text);
	return row;
}

static void keys__sort(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 8);
	keys(&view, &model, "5");
	// Missing, then dropped, then late, then the rest.
	assert_int_equal(row_of(&view, &model, " 3     "), BANNER + 3);
	assert_int_equal(row_of(&view, &model, " 5     "), BANNER + 4);
	assert_int_equal(row_of(&view, &model, " 9     "), BANNER + 5);
	assert_int_equal(row_of(&view, &model, " 10    "), BANNER + 6);
	assert_int_equal(row_of(&view, &model, " 1     "), BANNER + 7);
	keys(&view, &model, "s"); // by name
	assert_shown(&view, &model, "sorted by source", true);
	assert_int_equal(row_of(&view, &model, " 1     "), BANNER + 3);
	assert_int_equal(row_of(&view, &model, " 12    "), BANNER + 14);
	keys(&view, &model, "r");
	assert_shown(&view, &model, "sorted by source, reversed", true);
	assert_int_equal(row_of(&view, &model, " 12    "), BANNER + 3);
	keys(&view, &model, "rsss"); // by lag
	assert_shown(&view, &model, "sorted by lag", true);
	assert_int_equal(row_of(&view, &model, " 9     "), BANNER + 3);
	keys(&view, &model, "S");
	assert_int_equal(row_of(&view, &model, " 3     "), BANNER + 3);
	// The overview keeps the worst first.
	keys(&view, &model, "sr0");
	assert_true(row_of(&view, &model, " 3     ") < row_of(&view, &model, " 5     "));
	model_free(&model);
}

static void keys__filter(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 8);
	keys(&view, &model, "5/12");
	assert_shown(&view, &model, "/12_", true);
	assert_shown(&view, &model, "sources: 1, ", true);
	assert_false(view.quit);
	keys(&view, &model, "\n");
	assert_shown(&view, &model, " 12    ", true);
	assert_shown(&view, &model, " 1     ", false);
	keys(&view, &model, "\x1b"); // away with the filter, not the section
	assert_shown(&view, &model, "sources: 12, ", true);
	keys(&view, &model, "/q7\x7f\x7f\x7f\x7fLATE\r"); // by cause
	assert_shown(&view, &model, "sources: 1, ", true);
	assert_shown(&view, &model, " 5     ", true);
	for (unsigned i = 0; i < 100; i++)
		keys(&view, &model, "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	assert_shown(&view, &model, "sources: 0, ", true);
	model_free(&model);
}

static void keys__scroll(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 8);
	view.section = VIEW_GROUPS + SAMPLE_SOURCES;
	keys(&view, &model, "s");
	for (unsigned i = 0; i < 50; i++)
		view_key(&view, &model, VIEW_KEY_DOWN, 10);
	assert_int_equal(view.scroll, 12 + 4 - 10);
	view_key(&view, &model, VIEW_KEY_UP, 10);
	assert_int_equal(view.scroll, 5);
	view_key(&view, &model, VIEW_KEY_HOME, 10);
	assert_int_equal(view.scroll, 0);
	view_key(&view, &model, VIEW_KEY_PAGE_DOWN, 10);
	assert_int_equal(view.scroll, 5);
	view_key(&view, &model, VIEW_KEY_END, 10);
	assert_int_equal(view.scroll, 6);
	view_key(&view, &model, VIEW_KEY_PAGE_UP, 10);
	assert_int_equal(view.scroll, 1);
	assert_screen(&view, &model, 10, 80, false, "scrolled-80x10");
	view_key(&view, &model, VIEW_KEY_END, 24); // all fit
	assert_int_equal(view.scroll, 0);
	model_free(&model);
}

static void keys__nodes(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "alpha", 1, 5);
	fixture_node(&model, "beta", 1, 5);
	fixture_node(&model, "gamma", 1, 5);
	keys(&view, &model, "\t");
	assert_shown(&view, &model, "evb top  beta  2/3", true);
	view_key(&view, &model, VIEW_KEY_BACK_TAB, 24);
	view_key(&view, &model, VIEW_KEY_LEFT, 24);
	assert_shown(&view, &model, "evb top  gamma  3/3", true);
	model_forget(&model, 2); // the one that is shown
	assert_shown(&view, &model, "evb top  beta", true);
	view_key(&view, &model, VIEW_KEY_RIGHT, 24);
	assert_shown(&view, &model, "evb top  alpha", true);
	keys(&view, &model, "n");
	view_key(&view, &model, VIEW_KEY_DOWN, 24);
	keys(&view, &model, "\n");
	assert_int_equal(view.section, VIEW_OVERVIEW);
	assert_shown(&view, &model, "evb top  beta", true);
	model_free(&model);
}

static void keys__pause(void **state)
{
	struct model model = { 0 };
	struct view view;

	(void)state;
	view_make(&view);
	fixture_node(&model, "demo", 1, 5);
	keys(&view, &model, "p");
	assert_true(view.paused);
	assert_shown(&view, &model, "PAUSED", true);
	keys(&view, &model, " ");
	assert_false(view.paused);
	model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overview__of_a_sound_appliance),
		cmocka_unit_test(overview__of_trouble),
		cmocka_unit_test(overview__of_several_nodes),
		cmocka_unit_test(overview__of_an_event_manager),
		cmocka_unit_test(sections__each),
		cmocka_unit_test(screens__of_any_size),
		cmocka_unit_test(screen__without_any_appliance),
		cmocka_unit_test(keys__zoom),
		cmocka_unit_test(keys__sort),
		cmocka_unit_test(keys__filter),
		cmocka_unit_test(keys__scroll),
		cmocka_unit_test(keys__nodes),
		cmocka_unit_test(keys__pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
