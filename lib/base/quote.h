// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Makes text from outside fit for a message: bounded length, one line, printable.
#pragma once

#define QUOTE_MAXIMUM 60 // characters of the text that are shown

struct quoted {
	char text[QUOTE_MAXIMUM + 8];
};

// Returns the text in double quotes. "..." replaces a cut-off end, '?' each unprintable character.
struct quoted quote(const char *text);

// The same without the double quotes.
struct quoted quote_bare(const char *text);
