// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <string.h>

#include "simulation/page.h"
#include "simulation/simulation.h"

static const char place[] = "/*DATA*/";

// Nothing in the text of a script element may look like its end.
static void write_escaped(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		if (*text == '<')
			fputs("\\u003c", out);
		else
			fputc(*text, out);
	}
}

bool simulation_report(const cJSON *data, FILE *out)
{
	const char *at = strstr(simulation_page, place),
		   *end = simulation_page + simulation_page_size;
	char *text = cJSON_PrintUnformatted(data);

	if (text == NULL || at == NULL) {
		cJSON_free(text);
		return false;
	}
	fwrite(simulation_page, 1, (size_t)(at - simulation_page), out);
	write_escaped(text, out);
	at += strlen(place);
	fwrite(at, 1, (size_t)(end - at), out);
	cJSON_free(text);
	return ferror(out) == 0;
}
