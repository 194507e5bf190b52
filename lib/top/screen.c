// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#define NCURSES_WIDECHAR 1
#include "top/screen.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "top/view.h"

static SCREEN *terminal;
static attr_t attributes[GRID_N_STYLES];
static short pairs[GRID_N_STYLES];

// Without colours, only the attributes distinguish styles.
static void choose_styles(bool colours)
{
	static const struct {
		attr_t attribute;
		short colour; // -1: the terminal's
	} styles[GRID_N_STYLES] = {
		[GRID_PLAIN] = { A_NORMAL, -1 },
		[GRID_DIM] = { A_DIM, -1 },
		[GRID_BOLD] = { A_BOLD, -1 },
		[GRID_TITLE] = { A_REVERSE, -1 },
		[GRID_GOOD] = { A_NORMAL, COLOR_GREEN },
		[GRID_WARN] = { A_NORMAL, COLOR_YELLOW },
		[GRID_BAD] = { A_BOLD, COLOR_RED },
		[GRID_CHOSEN] = { A_REVERSE, -1 },
		[GRID_PLOT] = { A_NORMAL, COLOR_CYAN },
		[GRID_HEAD] = { A_UNDERLINE, -1 },
		[GRID_SORTED] = { A_UNDERLINE | A_BOLD, -1 },
	};

	colours = colours && has_colors() && start_color() == OK && use_default_colors() == OK;
	for (unsigned style = 0; style < GRID_N_STYLES; style++) {
		attributes[style] = styles[style].attribute;
		pairs[style] = 0;
		if (!colours || styles[style].colour < 0)
			continue;
		pairs[style] = (short)(style + 1);
		(void)init_pair(pairs[style], styles[style].colour,
				-1); // without the pair: no colour
	}
	if (!colours)
		attributes[GRID_BAD] = A_REVERSE;
}

int screen_open(struct screen *screen, FILE *in, FILE *out, bool ascii, bool colours, char *error)
{
	if (!isatty(fileno(in)) || !isatty(fileno(out))) {
		snprintf(error, SCREEN_ERROR_SIZE,
			 "needs a terminal; for scripts there is evb stat");
		return -1;
	}
	(void)setlocale(LC_ALL, ""); // if it fails, the code set is ASCII
	terminal = newterm(NULL, out, in);
	if (terminal == NULL) {
		snprintf(error, SCREEN_ERROR_SIZE,
			 "this terminal is not known: set TERM, for example to xterm or vt100");
		return -1;
	}
	(void)set_term(terminal); // there was no terminal before
	screen->unicode = !ascii && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	choose_styles(colours);
	// These cannot fail on a terminal that was just opened.
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	(void)set_escdelay(50);
	screen->rows = (unsigned)LINES;
	screen->columns = (unsigned)COLS;
	return 0;
}

void screen_close(void)
{
	if (terminal == NULL)
		return;
	(void)endwin();
	delscreen(terminal);
	terminal = NULL;
}

void screen_show(const struct grid *grid)
{
	for (unsigned row = 0; row < grid->rows; row++)
		for (unsigned column = 0; column < grid->columns; column++) {
			const struct grid_cell *cell = &grid->cells[row * grid->columns + column];
			wchar_t text[2] = { (wchar_t)cell->code, 0 };
			cchar_t shown;

			if (setcchar(&shown, text, attributes[cell->style], pairs[cell->style],
				     NULL) == OK)
				// In the last cell it fails to advance, which does not matter.
				(void)mvadd_wch((int)row, (int)column, &shown);
		}
	(void)refresh(); // it fails only if the terminal is gone
}

static uint32_t translate(wint_t key)
{
	static const struct {
		wint_t curses;
		uint32_t key;
	} keys[] = {
		{ KEY_UP, VIEW_KEY_UP },
		{ KEY_DOWN, VIEW_KEY_DOWN },
		{ KEY_LEFT, VIEW_KEY_LEFT },
		{ KEY_RIGHT, VIEW_KEY_RIGHT },
		{ KEY_PPAGE, VIEW_KEY_PAGE_UP },
		{ KEY_NPAGE, VIEW_KEY_PAGE_DOWN },
		{ KEY_HOME, VIEW_KEY_HOME },
		{ KEY_END, VIEW_KEY_END },
		{ KEY_BACKSPACE, VIEW_KEY_BACKSPACE },
		{ KEY_BTAB, VIEW_KEY_BACK_TAB },
		{ KEY_ENTER, '\n' },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return SCREEN_NO_KEY; // also for KEY_RESIZE
}

uint32_t screen_key(struct screen *screen, unsigned wait_ms)
{
	uint32_t result = SCREEN_NO_KEY;
	wint_t key;
	int kind;

	wtimeout(stdscr, (int)wait_ms);
	kind = get_wch(&key);
	if (kind == KEY_CODE_YES)
		result = translate(key);
	else if (kind == OK)
		result = (uint32_t)key;
	screen->rows = (unsigned)LINES;
	screen->columns = (unsigned)COLS;
	return result;
}
