// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/runtime_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
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
