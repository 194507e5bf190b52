// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "client/stat_client.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/error_line.h"
#include "client/runtime_directory.h"

#define PREFIX        "evb-" // DPDK's folder of an appliance is PREFIX NAME
#define PATIENCE_MS   5000u
#define LOOK_MS       100u // for a busy listener
#define GREETING_SIZE 1024
#define REPLY_LEAST   16384u // bytes: DPDK's buffer has at least this size
#define REPLY_MOST    (64u << 20)
#define NAMED_MOST    8 // appliances that an error message lists

struct stat_client {
	int socket;
	unsigned patience_ms;
	pid_t pid;
	size_t reply_size;
	char name[STAT_CLIENT_NAME_SIZE];
};

#define fail(error, ...) error_line(error, STAT_CLIENT_ERROR_SIZE, __VA_ARGS__)

// Returns a connected socket, or a negative errno.
static int connect_to(const char *name, unsigned patience_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(address.sun_path, sizeof(address.sun_path),
			      "%s/dpdk/" PREFIX "%s/dpdk_telemetry.v2", runtime_directory(), name);

	if (length < 0 || (size_t)length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	return runtime_connect(&address, patience_ms);
}

static int is_ours(const struct dirent *entry)
{
	return strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0;
}

// Whether a process listens to the socket: a run that was killed leaves a socket without a
// listener.
static int runs(const char *name)
{
	int socket_fd = connect_to(name, PATIENCE_MS);

	if (socket_fd < 0)
		return socket_fd == -EAGAIN; // the queue of a busy listener is full
	close(socket_fd);
	return 1;
}

unsigned stat_client_running(char (*names)[STAT_CLIENT_NAME_SIZE], unsigned most)
{
	struct dirent **entries = NULL;
	char path[4096];
	unsigned n = 0;
	int found;

	snprintf(path, sizeof(path), "%s/dpdk", runtime_directory());
	found = scandir(path, &entries, is_ours, alphasort);
	for (int i = 0; i < found; i++) {
		const char *name = entries[i]->d_name + strlen(PREFIX);

		if (strlen(name) < STAT_CLIENT_NAME_SIZE && runs(name)) {
			if (n < most)
				strcpy(names[n], name);
			n++;
		}
		free(entries[i]);
	}
	free(entries);
	return n;
}

// The name of the only appliance that runs.
static int find_only(char name[STAT_CLIENT_NAME_SIZE], char *error)
{
	char names[NAMED_MOST][STAT_CLIENT_NAME_SIZE], text[STAT_CLIENT_ERROR_SIZE / 2] = "";
	unsigned n = stat_client_running(names, NAMED_MOST);
	size_t used = 0;

	if (n == 0)
		return fail(error, "no appliance is running (none answers under %.200s/dpdk)",
			    runtime_directory());
	if (n == 1) {
		strcpy(name, names[0]);
		return 0;
	}
	for (unsigned i = 0; i < n && i < NAMED_MOST && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", names[i]);
	return fail(error, "%u appliances are running, which one is meant:%s%s?", n, text,
		    n > NAMED_MOST || used >= sizeof(text) ? " ..." : "");
}

// Receives a message and appends a 0. Returns its length without the 0, or -1 with an error.
static ssize_t receive(const struct stat_client *client, char *buffer, size_t size, char *error)
{
	ssize_t length = recv(client->socket, buffer, size - 1, MSG_TRUNC);

	if (length < 0 && errno == EAGAIN)
		return fail(error, "appliance %s did not answer in %g s", client->name,
			    client->patience_ms / 1e3);
	if (length < 0)
		return fail(error, "appliance %s: %s", client->name, strerror(errno));
	if (length == 0)
		return fail(error, "appliance %s hung up: it ended, or has 10 clients already",
			    client->name);
	if ((size_t)length >= size)
		return fail(error, "appliance %s: an answer of %zd bytes is too long", client->name,
			    length);
	buffer[length] = '\0';
	return length;
}

// {"version": "DPDK 22.11.11", "pid": 16581, "max_output_len": 16384}
static int read_greeting(struct stat_client *client, char *error)
{
	char greeting[GREETING_SIZE];
	const cJSON *pid, *length;
	cJSON *root;

	if (receive(client, greeting, sizeof(greeting), error) < 0)
		return -1;
	root = cJSON_Parse(greeting);
	pid = cJSON_GetObjectItemCaseSensitive(root, "pid");
	length = cJSON_GetObjectItemCaseSensitive(root, "max_output_len");
	if (!cJSON_IsNumber(pid) || !cJSON_IsNumber(length)) {
		cJSON_Delete(root);
		return fail(error, "appliance %s: no greeting of DPDK's telemetry", client->name);
	}
	client->pid = (pid_t)pid->valueint;
	client->reply_size = REPLY_LEAST;
	if (length->valuedouble > REPLY_LEAST && length->valuedouble <= REPLY_MOST)
		client->reply_size = (size_t)length->valuedouble;
	cJSON_Delete(root);
	return 0;
}

static int open_client(struct stat_client *client, const char *name, char *error)
{
	if (name == NULL) {
		if (find_only(client->name, error) != 0)
			return -1;
	} else if (strlen(name) >= sizeof(client->name)) {
		return fail(error, "no appliance has a name as long as %.64s...", name);
	} else {
		strcpy(client->name, name);
	}
	client->socket = connect_to(client->name, client->patience_ms);
	if (client->socket == -ENOENT)
		return fail(error, "no appliance %s is running (none answers under %.200s/dpdk)",
			    client->name, runtime_directory());
	if (client->socket == -ECONNREFUSED)
		return fail(error, "appliance %s crashed or was killed: see its log", client->name);
	if (client->socket < 0)
		return fail(error, "appliance %s under %.200s/dpdk: %s", client->name,
			    runtime_directory(), strerror(-client->socket));
	return read_greeting(client, error);
}

struct stat_client *stat_client_open(const char *name, char *error)
{
	return stat_client_open_for(name, PATIENCE_MS, error);
}

struct stat_client *stat_client_open_for(const char *name, unsigned patience_ms, char *error)
{
	struct stat_client *client = calloc(1, sizeof(*client));

	if (client == NULL) {
		(void)fail(error, "no memory");
		return NULL;
	}
	client->socket = -1;
	client->patience_ms = patience_ms;
	if (open_client(client, name, error) != 0) {
		stat_client_close(client);
		return NULL;
	}
	return client;
}

void stat_client_close(struct stat_client *client)
{
	if (client == NULL)
		return;
	if (client->socket >= 0)
		close(client->socket);
	free(client);
}

enum stat_client_absence stat_client_why(const char *name)
{
	const int socket_fd = connect_to(name, LOOK_MS);

	if (socket_fd == -ECONNREFUSED)
		return STAT_CLIENT_DIED;
	if (socket_fd == -ENOENT)
		return STAT_CLIENT_NOBODY;
	if (socket_fd >= 0)
		close(socket_fd);
	return STAT_CLIENT_THERE;
}

const char *stat_client_name(const struct stat_client *client)
{
	return client->name;
}

pid_t stat_client_pid(const struct stat_client *client)
{
	return client->pid;
}

char *stat_client_request(struct stat_client *client, const char *request, char *error)
{
	size_t length = strlen(request);
	char *reply;

	if (request[0] != '/' || length >= STAT_CLIENT_REQUEST_SIZE) {
		(void)fail(error, "a command begins with / and has at most %d characters",
			   STAT_CLIENT_REQUEST_SIZE - 1);
		return NULL;
	}
	if (send(client->socket, request, length, MSG_NOSIGNAL) < 0) {
		(void)fail(error, "appliance %s: %s", client->name, strerror(errno));
		return NULL;
	}
	reply = malloc(client->reply_size + 1);
	if (reply == NULL) {
		(void)fail(error, "no memory");
		return NULL;
	}
	if (receive(client, reply, client->reply_size + 1, error) < 0) {
		free(reply);
		return NULL;
	}
	return reply;
}
