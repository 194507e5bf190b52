// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/runtime_directory.h"

#include <stdlib.h>
#include <unistd.h>

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *runtime_directory(void)
{
	const char *directory = environment("RUNTIME_DIRECTORY");

	if (directory != NULL)
		return directory;
	if (getuid() == 0)
		return "/var/run";
	directory = environment("XDG_RUNTIME_DIR");
	return directory != NULL ? directory : "/tmp";
}
