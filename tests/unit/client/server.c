// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "server.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SERVERS_MOST 16

struct server {
	pthread_t thread;
	int socket;
	const char *greeting, *answer;
	const struct server_answer *answers;
};

static char directory[64];
static struct server servers[SERVERS_MOST];
static unsigned n_servers;

static void must(bool done, const char *what)
{
	if (done)
		return;
	perror(what);
	abort();
}

void servers_begin(void)
{
	char path[128];

	snprintf(directory, sizeof(directory), "/tmp/evb-stat-XXXXXX");
	must(mkdtemp(directory) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/dpdk", directory);
	must(mkdir(path, 0700) == 0, path);
	must(setenv("RUNTIME_DIRECTORY", directory, 1) == 0, "setenv");
	n_servers = 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

void servers_end(void)
{
	for (unsigned i = 0; i < n_servers; i++) {
		shutdown(servers[i].socket, SHUT_RDWR);
		pthread_join(servers[i].thread, NULL);
		close(servers[i].socket);
	}
	must(nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0, directory);
}

const char *servers_directory(void)
{
	return directory;
}

static const char *find_answer(const struct server_answer *answers, const char *request)
{
	while (answers->request != NULL && strcmp(answers->request, request) != 0)
		answers++;
	return answers->answer;
}

static void serve(const struct server *server, int client)
{
	char request[2048], echo[4096];
	ssize_t length;

	if (server->greeting == NULL)
		return;
	(void)!send(client, server->greeting, strlen(server->greeting), MSG_NOSIGNAL);
	while ((length = recv(client, request, sizeof(request) - 1, 0)) > 0) {
		const char *text = server->answer;

		request[length] = '\0';
		if (server->answers != NULL) {
			text = find_answer(server->answers, request);
		} else if (text == NULL) {
			snprintf(echo, sizeof(echo), "{\"%.*s\":\"%s\"}",
				 (int)strcspn(request, ","), request, request);
			text = echo;
		}
		if (text != NULL)
			(void)!send(client, text, strlen(text), MSG_NOSIGNAL);
	}
}

static void *run(void *argument)
{
	const struct server *server = argument;
	int client;

	while ((client = accept(server->socket, NULL, NULL)) >= 0) {
		serve(server, client);
		close(client);
	}
	return NULL;
}

static int listen_as(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk/evb-%s", directory, name);
	must(mkdir(address.sun_path, 0700) == 0, address.sun_path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk/evb-%s/dpdk_telemetry.v2",
		 directory, name);
	must(fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
		 listen(fd, 8) == 0,
	     address.sun_path);
	return fd;
}

static void start(struct server parameters)
{
	struct server *server = &servers[n_servers++];

	must(n_servers <= SERVERS_MOST, "servers");
	*server = parameters;
	must(pthread_create(&server->thread, NULL, run, server) == 0, "pthread_create");
}

void server_start(const char *name, const char *greeting, const char *answer)
{
	start((struct server){ .socket = listen_as(name), .greeting = greeting, .answer = answer });
}

void server_start_answers(const char *name, const char *greeting,
			  const struct server_answer *answers)
{
	start(
	    (struct server){ .socket = listen_as(name), .greeting = greeting, .answers = answers });
}

void server_leave_dead(const char *name)
{
	close(listen_as(name));
}
