// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config *config_with(uint16_t first_id, unsigned n_ids, uint32_t packing)
{
	struct config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	config->sources.n_ids = n_ids;
	config->sources.packing = packing;
	for (unsigned i = 0; i < n_ids; i++)
		config->sources.ids[i] = (uint16_t)(first_id + i);
	config->n_generators = 1;
	snprintf(config->generators[0].name, sizeof(config->generators[0].name), "g");
	return config;
}

struct config *config_of_file(enum config_generator_kind kind, const char *path, uint32_t packing)
{
	struct config *config = config_with(0, 0, packing);
	struct config_generator *generator = &config->generators[0];

	generator->kind = kind;
	assert_true(strlen(path) < sizeof(generator->file));
	strcpy(generator->file, path);
	return config;
}

void config_done(struct config *config)
{
	free(config);
}

struct source_set *make_set(const struct config *config)
{
	struct source_set *set = NULL;
	char error[SOURCE_ERROR_SIZE] = "";
	int result = source_set_make(&set, config, &config->generators[0], NULL, error);

	assert_string_equal(error, "");
	assert_int_equal(result, 0);
	return set;
}

void expect_refused(const struct config *config, const char *part)
{
	struct source_set *set = NULL;
	char error[SOURCE_ERROR_SIZE] = "";

	assert_int_equal(source_set_make(&set, config, &config->generators[0], NULL, error), -1);
	if (!strstr(error, part))
		fail_msg("\"%s\" is not in \"%s\"", part, error);
}

void make_directory(char path[PATH_SIZE])
{
	const char *base = getenv("TMPDIR");

	snprintf(path, PATH_SIZE, "%s/evb-source-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(path));
}

void remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] != '.')
			assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
	}
	closedir(directory);
	assert_int_equal(rmdir(path), 0);
}

void path_in(char path[PATH_SIZE], const char *directory, const char *name)
{
	assert_true(snprintf(path, PATH_SIZE, "%s/%s", directory, name) < PATH_SIZE);
}

void write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

bool find_data(char path[PATH_SIZE], const char *name)
{
	const char *shared = getenv("EVB_SHARED");

	snprintf(path, PATH_SIZE, "%s/data/%s", shared ? shared : REPOSITORY "/../shared", name);
	return !access(path, R_OK);
}
