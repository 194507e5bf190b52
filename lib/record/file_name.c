// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/file_name.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PERMISSIONS 0644

static const char *const EXTENSIONS[] = {
	[FILE_FORMAT_MEP] = "mep",
	[FILE_FORMAT_MDF] = "mdf",
};
static const char *const STAGES[][2] = {
	[FILE_NAME_WHOLE] = { "", "" },
	[FILE_NAME_PART] = { ".", ".part" },
	[FILE_NAME_JOURNAL] = { ".", ".journal" },
};

bool file_name_prefix_ok(const char *prefix)
{
	size_t length = strlen(prefix);

	if (!length || length >= EVB_NAME_SIZE || prefix[0] == '.')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)prefix[i]) && !strchr("_.-", prefix[i]))
			return false;
	return true;
}

void file_name_format(const struct file_name *name, enum file_name_stage stage,
		      char text[FILE_NAME_SIZE])
{
	snprintf(text, FILE_NAME_SIZE, "%s%s-run%06u-%04u.%s%s", STAGES[stage][0], name->prefix,
		 name->run, name->sequence, EXTENSIONS[name->format], STAGES[stage][1]);
}

int file_name_open(int directory, const struct file_name *name, enum file_name_stage stage,
		   int flags)
{
	char text[FILE_NAME_SIZE];
	int descriptor;

	file_name_format(name, stage, text);
	descriptor = openat(directory, text, flags | O_CLOEXEC, PERMISSIONS);
	if (descriptor < 0)
		return -errno;
	return descriptor;
}

bool file_name_exists(int directory, const struct file_name *name, enum file_name_stage stage)
{
	char text[FILE_NAME_SIZE];

	file_name_format(name, stage, text);
	return !faccessat(directory, text, F_OK, AT_SYMLINK_NOFOLLOW);
}

int file_name_remove(int directory, const struct file_name *name, enum file_name_stage stage)
{
	char text[FILE_NAME_SIZE];

	file_name_format(name, stage, text);
	return unlinkat(directory, text, 0) ? -errno : 0;
}

// Finds the format and the stage for which the name is exactly this text.
static bool match(const char *text, struct file_name *name, enum file_name_stage *stage)
{
	char formatted[FILE_NAME_SIZE];

	for (int i = FILE_NAME_WHOLE; i <= FILE_NAME_JOURNAL; i++) {
		for (int j = FILE_FORMAT_MEP; j <= FILE_FORMAT_MDF; j++) {
			*stage = (enum file_name_stage)i;
			name->format = (enum file_format)j;
			file_name_format(name, *stage, formatted);
			if (!strcmp(text, formatted))
				return true;
		}
	}
	return false;
}

// Parses a name of any stage. False unless file_name_format() would write this text for the prefix.
static bool parse(const char *text, const char *prefix, struct file_name *name,
		  enum file_name_stage *stage)
{
	const char *rest = text + (text[0] == '.');
	unsigned long long run, sequence;

	*name = (struct file_name){ 0 };
	if (!file_name_prefix_ok(prefix) || strncmp(rest, prefix, strlen(prefix)) != 0 ||
	    sscanf(rest + strlen(prefix), "-run%10llu-%10llu", &run, &sequence) != 2)
		return false;
	// match() refuses what sscanf() should not have accepted: other texts of the same numbers.
	strcpy(name->prefix, prefix);
	name->run = (uint32_t)run;
	name->sequence = (uint32_t)sequence;
	return match(text, name, stage);
}

int file_name_list(int directory, const char *prefix,
		   void (*found)(void *context, const struct file_name *name,
				 enum file_name_stage stage),
		   void *context)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!listing) {
		int error = -errno;

		if (copy >= 0)
			close(copy);
		return error;
	}
	while ((entry = readdir(listing))) {
		struct file_name name;
		enum file_name_stage stage;

		if (parse(entry->d_name, prefix, &name, &stage))
			found(context, &name, stage);
	}
	closedir(listing);
	return 0;
}
