// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct source_set_parameters parameters_with(uint16_t ids[MOST_IDS], uint16_t first_id,
					     unsigned n_ids, uint32_t packing)
{
	assert_true(n_ids <= MOST_IDS);
	for (unsigned i = 0; i < n_ids; i++)
		ids[i] = (uint16_t)(first_id + i);
	return (struct source_set_parameters){
		.name = "g",
		.ids = ids,
		.n_ids = n_ids,
		.packing = packing,
	};
}

struct source_set_parameters parameters_of_file(enum generator_kind kind, const char *path,
						uint32_t packing)
{
	return (struct source_set_parameters){
		.name = "g",
		.kind = kind,
		.file = path,
		.packing = packing,
	};
}

struct source_set *make_set(const struct source_set_parameters *parameters)
{
	struct source_set *set = NULL;
	char error[SOURCE_ERROR_SIZE] = "";
	int result = source_set_make(&set, parameters, NULL, error);

	assert_string_equal(error, "");
	assert_int_equal(result, 0);
	return set;
}

void expect_refused(const struct source_set_parameters *parameters, const char *part)
{
	struct source_set *set = NULL;
	char error[SOURCE_ERROR_SIZE] = "";

	assert_int_equal(source_set_make(&set, parameters, NULL, error), -1);
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
