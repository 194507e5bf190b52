// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Input as it may stand in a message: of bounded length, on one line, printable.
#pragma once

#define QUOTE_MAXIMUM 60 // characters that are shown of the input

struct quoted {
	char text[QUOTE_MAXIMUM + 8];
};

// The text in double quotes; what is cut off is shown by "...", what cannot be printed by '?'.
struct quoted quote(const char *text);

// The same without the double quotes.
struct quoted quote_bare(const char *text);
