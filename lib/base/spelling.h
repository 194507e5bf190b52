// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Names that people misspell. Pure functions, for any thread.
#pragma once

#define SPELLING_MOST 32u // characters of the longest unknown name for which a similar one is found

// The closest known name so far; begin with { NULL }.
struct spelling_nearest {
	const char *name; // NULL: none is similar
	unsigned distance;
};

// Compares an unknown name with a known one, by their Levenshtein distance: the number of
// characters to insert, delete or replace. From 4 on, or where nothing of the known name is left,
// it is no misspelling.
void spelling_compare(struct spelling_nearest *nearest, const char *unknown, const char *known);
