// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The terminal, by ncurses. One at a time; one thread.
#pragma once

#include <stdio.h>

#include "top/grid.h"

#define SCREEN_ERROR_SIZE 128
#define SCREEN_NO_KEY     UINT32_MAX

struct screen {
	unsigned rows, columns;
	bool unicode; // characters beyond ASCII are shown
};

// Takes over the terminal of the two files. colours: use them if the terminal has any. Returns 0,
// or -1 with one line in error[SCREEN_ERROR_SIZE].
int screen_open(struct screen *screen, FILE *in, FILE *out, bool ascii, bool colours, char *error);

// Restores the terminal.
void screen_close(void);

// Shows a grid of the screen's size.
void screen_show(const struct grid *grid);

// Waits for a key: a character, or one of enum view_key; SCREEN_NO_KEY after wait_ms without a key.
// Updates the screen's size.
uint32_t screen_key(struct screen *screen, unsigned wait_ms);
