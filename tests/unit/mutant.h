// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of mutants share. A mutant is a room with one fault. Its patch changes one source
// file, and begins with two lines:
//
//   Fault: what the mutant does wrong
//   Caught by: name of the history or invariant that catches it
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MUTANT_TEXT 256u

// Reads the text of the line that begins with `name` and a colon; the test fails if there is none.
static inline void mutant_read(const char *patch, const char *name, char text[MUTANT_TEXT])
{
	FILE *file = fopen(patch, "r");
	size_t length = strlen(name);
	char line[MUTANT_TEXT];

	if (file == NULL)
		fail_msg("%s cannot be opened", patch);
	text[0] = '\0';
	while (text[0] == '\0' && fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, name, length) == 0 && strncmp(line + length, ": ", 2) == 0)
			snprintf(text, MUTANT_TEXT, "%s", line + length + 2);
	}
	fclose(file);
	if (text[0] == '\0')
		fail_msg("%s has no line '%s: ...'", patch, name);
}

static const char *mutant_patch; // file name

// The main() of a program of which the first argument is the patch. is_caught: its one test.
static inline int mutant_run(int argc, char **argv, void (*is_caught)(void **state))
{
	const struct CMUnitTest tests[] = {
		{ "mutant__is_caught", is_caught, NULL, NULL, NULL },
	};

	if (argc != 2)
		return 1;
	mutant_patch = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
