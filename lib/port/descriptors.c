// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/descriptors.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

static int append(struct descriptors *descriptors, unsigned *room, int descriptor)
{
	if (descriptors->n == *room) {
		unsigned larger = *room > 0 ? 2 * *room : 64;
		int *list = realloc(descriptors->list, larger * sizeof(*list));

		if (list == NULL)
			return -1;
		descriptors->list = list;
		*room = larger;
	}
	descriptors->list[descriptors->n++] = descriptor;
	return 0;
}

int descriptors_list(struct descriptors *descriptors)
{
	DIR *open_files = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned room = 0;
	int result = 0;

	*descriptors = (struct descriptors){ 0 };
	if (open_files == NULL)
		return -1;
	while (result == 0 && (entry = readdir(open_files)) != NULL) {
		int descriptor = atoi(entry->d_name);

		if (isdigit((unsigned char)entry->d_name[0]) && descriptor != dirfd(open_files))
			result = append(descriptors, &room, descriptor);
	}
	closedir(open_files);
	if (result != 0)
		descriptors_free(descriptors);
	return result;
}

bool descriptors_has(const struct descriptors *descriptors, int descriptor)
{
	for (unsigned i = 0; i < descriptors->n; i++)
		if (descriptors->list[i] == descriptor)
			return true;
	return false;
}

void descriptors_free(struct descriptors *descriptors)
{
	free(descriptors->list);
	*descriptors = (struct descriptors){ 0 };
}
