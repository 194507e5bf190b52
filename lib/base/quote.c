// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/quote.h"

#include <stdio.h>
#include <string.h>

struct quoted quote_bare(const char *text)
{
	struct quoted quoted;
	size_t length = strnlen(text, QUOTE_MAXIMUM + 1);
	size_t shown = length > QUOTE_MAXIMUM ? QUOTE_MAXIMUM : length;

	for (size_t i = 0; i < shown; i++)
		quoted.text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	strcpy(quoted.text + shown, length > shown ? "..." : "");
	return quoted;
}

struct quoted quote(const char *text)
{
	struct quoted quoted;

	snprintf(quoted.text, sizeof(quoted.text), "\"%.*s\"", QUOTE_MAXIMUM + 3,
		 quote_bare(text).text);
	return quoted;
}
