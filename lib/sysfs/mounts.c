// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sysfs/mounts.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs/file.h"

#define PAGE_SIZE "pagesize="

unsigned sysfs_mounts(const char *root, const char *type, const char *option,
		      struct sysfs_mount *list, unsigned room)
{
	FILE *mounts = sysfs_open(root, "/proc/mounts");
	char line[SYSFS_TEXT_SIZE];
	struct mntent entry;
	unsigned n = 0;

	if (mounts == NULL)
		return 0;
	while (n < room && getmntent_r(mounts, &entry, line, sizeof(line)) != NULL) {
		struct sysfs_mount *mount = &list[n];
		const char *page = hasmntopt(&entry, "pagesize");

		if (strcmp(entry.mnt_type, type) != 0 ||
		    (option != NULL && hasmntopt(&entry, option) == NULL) ||
		    strlen(entry.mnt_dir) >= sizeof(mount->path))
			continue;
		page = page != NULL ? page + strlen(PAGE_SIZE) : "";
		strcpy(mount->path, entry.mnt_dir);
		snprintf(mount->page_size, sizeof(mount->page_size), "%.*s",
			 (int)strcspn(page, ","), page);
		n++;
	}
	fclose(mounts); // opened for reading: nothing can be lost
	return n;
}

uint64_t sysfs_page_size(const char *text)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	switch (*end) {
	case 'K':
	case 'k':
		return number << 10;
	case 'M':
	case 'm':
		return number << 20;
	case 'G':
	case 'g':
		return number << 30;
	default:
		return number;
	}
}
