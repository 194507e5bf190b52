// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Fuzz target of the configuration. The input is the file's text, then, each behind a null
// character, the text of the source map and the overrides.
#include "fuzz.h"

#include "base/text_file.h"
#include "config/config.h"

#define MAX_PARTS 8 // text, source map, and up to six overrides

static const char *map_text;

// Takes the place of the library's: no file that the input names is opened.
char *text_file_read(const char *path, size_t *length, char *error)
{
	char *text = strdup(map_text);

	(void)path;
	*length = strlen(map_text);
	if (text == NULL)
		snprintf(error, TEXT_FILE_ERROR, "out of memory");
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *parts[MAX_PARTS] = { "", "" };
	unsigned n_parts = 0;
	char *input = fuzz_allocate(size + 1, 1);

	if (size > 0)
		memcpy(input, data, size);
	for (size_t i = 0; i <= size && n_parts < MAX_PARTS; i += strlen(input + i) + 1)
		parts[n_parts++] = input + i;
	map_text = parts[1];

	char error[CONFIG_ERROR_SIZE] = "";
	struct config *config;
	int result = config_parse(&config, parts[0], strlen(parts[0]), "fuzz", NULL, &parts[2],
				  n_parts > 2 ? n_parts - 2 : 0, error);
	// An error is one printable line; without one there is a configuration.
	if ((result == 0) != (config != NULL) || (result == 0) != (error[0] == '\0') ||
	    strchr(error, '\n'))
		abort();
	config_free(config);
	fuzz_free(input);
	return 0;
}
