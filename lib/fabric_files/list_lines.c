// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fabric_files/list_lines.h"

#include <stdbool.h>
#include <string.h>

// Where a text that is known to be JSON has been read to.
struct scan {
	const char *at, *end;
	unsigned line;
};

// The next character outside of strings and white space, 0 at the end; a string counts as its
// first quotation mark, and `at` is behind it.
static char next_token(struct scan *scan)
{
	char token;

	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) != NULL)
		scan->line += *scan->at++ == '\n';
	if (scan->at == scan->end)
		return '\0';
	token = *scan->at++;
	while (token == '"' && scan->at < scan->end && *scan->at != '"')
		scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 2 : 1;
	if (token == '"' && scan->at < scan->end)
		scan->at++;
	return token;
}

void json_list_lines(const char *text, size_t length, const char *list, unsigned *lines, unsigned n)
{
	struct scan scan = { text, text + length, 1 };
	const size_t name = strlen(list);
	bool is_list = false, begins = false;
	unsigned depth = 0, found = 0;
	char token;

	while (found < n && (token = next_token(&scan)) != '\0') {
		if (is_list && depth == 2 && begins && token != ']')
			lines[found++] = scan.line;
		begins = depth == 2 && token == ',';
		if (depth == 1 && token == '"')
			is_list = (size_t)(scan.at - text) > name + 1 && scan.at[-1] == '"' &&
				  memcmp(scan.at - 1 - name, list, name) == 0 &&
				  scan.at[-2 - (ptrdiff_t)name] == '"';
		if (token == '[' || token == '{')
			begins = ++depth == 2 && token == '[';
		else if (token == ']' || token == '}')
			depth--;
	}
}
