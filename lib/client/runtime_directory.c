// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/runtime_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

// Whether another user has made a file or directory, so that it is of no use. Links count as such.
static bool is_anothers(const char *path)
{
	struct stat file;

	return lstat(path, &file) == 0 && (file.st_uid != geteuid() || !S_ISDIR(file.st_mode));
}

static const char *own(void)
{
	static char path[32];

	snprintf(path, sizeof(path), "/tmp/evb-%u", (unsigned)geteuid());
	return path;
}

const char *runtime_directory(void)
{
	const char *directory = environment("RUNTIME_DIRECTORY");

	if (directory != NULL)
		return directory;
	if (getuid() == 0)
		return "/var/run";
	directory = environment("XDG_RUNTIME_DIR");
	if (directory != NULL)
		return directory;
	return is_anothers("/tmp/dpdk") && !is_anothers(own()) ? own() : "/tmp";
}

bool runtime_directory_is_own(void)
{
	return strcmp(runtime_directory(), own()) == 0;
}

void runtime_directory_make(void)
{
	if (runtime_directory_is_own() &&
	    (mkdir(runtime_directory(), 0700) == 0 || errno == EEXIST))
		(void)setenv("XDG_RUNTIME_DIR", runtime_directory(), 1); // without memory: /tmp
}

int runtime_connect(const struct sockaddr_un *address, unsigned patience_ms)
{
	const struct timeval patience = { .tv_sec = patience_ms / 1000,
					  .tv_usec = patience_ms % 1000 * 1000 };
	int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), result;

	if (client >= 0 &&
	    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
	    connect(client, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return client;
	result = -errno;
	if (client >= 0)
		close(client);
	return result;
}
