// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "record/exclusive_rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int exclusive_rename(int directory, const char *from, const char *to)
{
	if (!renameat2(directory, from, directory, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(directory, from, directory, to, 0))
		return -errno;
	return unlinkat(directory, from, 0) ? -errno : 0;
}
