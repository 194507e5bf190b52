// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/control_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/error_line.h"

#define BACKLOG     8
#define ACCEPT_MOST 4 // clients that one call of control_socket_serve() accepts
#define MODE        0660
#define BUSY_MS     1 // between two calls of the handler's finish()
#define NOBODY      CONTROL_SOCKET_CLIENTS

struct control_socket {
	struct control_socket_handler handler;
	int listener;
	int clients[CONTROL_SOCKET_CLIENTS]; // sockets, -1: none
	unsigned asking;  // if `busy`: client of the current request; NOBODY: it has left
	bool busy;        // a request has begun and not finished
	struct stat made; // identifies the socket's file, so that no other file is unlinked
	char path[CONTROL_SOCKET_PATH_SIZE];
	char request[CONTROL_SOCKET_REQUEST_SIZE];
};

#define fail(error, ...) error_line(error, CONTROL_SOCKET_ERROR_SIZE, __VA_ARGS__)

// --- responses ---

cJSON *control_response_done(void)
{
	cJSON *response = cJSON_CreateObject();

	if (cJSON_AddTrueToObject(response, "ok") == NULL) {
		cJSON_Delete(response);
		return NULL;
	}
	return response;
}

cJSON *control_response_error(const char *format, ...)
{
	cJSON *response = cJSON_CreateObject();
	char text[CONTROL_SOCKET_ERROR_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (cJSON_AddFalseToObject(response, "ok") == NULL ||
	    cJSON_AddStringToObject(response, "error", text) == NULL) {
		cJSON_Delete(response);
		return NULL;
	}
	return response;
}

cJSON *control_response_not_manager(cJSON *response)
{
	if (cJSON_AddTrueToObject(response, "not_manager") != NULL)
		return response;
	cJSON_Delete(response);
	return NULL;
}

// Sends a response and frees it. False if the client does not accept it at once.
static bool send_response(int client, cJSON *response)
{
	char *text = response != NULL ? cJSON_PrintUnformatted(response) : NULL;
	bool sent = text != NULL && strlen(text) <= CONTROL_SOCKET_RESPONSE_SIZE &&
		    send(client, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;

	cJSON_free(text);
	cJSON_Delete(response);
	return sent;
}

// --- clients ---

static void hang_up(struct control_socket *control, unsigned client)
{
	close(control->clients[client]);
	control->clients[client] = -1;
	if (control->asking == client)
		control->asking = NOBODY;
}

static void respond_to(struct control_socket *control, unsigned client, cJSON *response)
{
	if (!send_response(control->clients[client], response))
		hang_up(control, client);
}

static bool is_welcome(int client)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

// Accepts or refuses one client. False if no client waits.
static bool accept_client(struct control_socket *control)
{
	int client = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	unsigned i = 0;

	if (client < 0)
		return false;
	if (!is_welcome(client)) {
		(void)send_response(
		    client, control_response_error("only root and the user as whom the appliance "
						   "runs may ask"));
		close(client);
		return true;
	}
	while (i < CONTROL_SOCKET_CLIENTS && control->clients[i] >= 0)
		i++;
	if (i == CONTROL_SOCKET_CLIENTS) {
		(void)send_response(client, control_response_error("it has %d clients already",
								   CONTROL_SOCKET_CLIENTS));
		close(client);
		return true;
	}
	control->clients[i] = client;
	return true;
}

static void take_request(struct control_socket *control, unsigned client, size_t length)
{
	cJSON *request = cJSON_ParseWithLength(control->request, length);
	bool later = false;
	cJSON *response;

	if (cJSON_IsObject(request))
		response = control->handler.begin(control->handler.context, request, &later);
	else
		response = control_response_error("a request is a JSON object");
	cJSON_Delete(request);
	if (later) {
		control->busy = true;
		control->asking = client;
	} else {
		respond_to(control, client, response);
	}
}

static void read_client(struct control_socket *control, unsigned client)
{
	ssize_t length = recv(control->clients[client], control->request, sizeof(control->request),
			      MSG_DONTWAIT | MSG_TRUNC);

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length <= 0)
		hang_up(control, client);
	else if ((size_t)length > sizeof(control->request))
		respond_to(control, client,
			   control_response_error("a request has at most %u bytes",
						  CONTROL_SOCKET_REQUEST_SIZE));
	else
		take_request(control, client, (size_t)length);
}

// Sends the response to the current request if the handler has finished it. Other requests wait.
static void finish_request(struct control_socket *control)
{
	cJSON *response = control->handler.finish(control->handler.context);

	if (response == NULL)
		return;
	control->busy = false;
	if (control->asking != NOBODY)
		respond_to(control, control->asking, response);
	else
		cJSON_Delete(response);
	control->asking = NOBODY;
}

static void wait_ms(unsigned ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	(void)nanosleep(&pause, NULL); // a signal ends the wait early
}

void control_socket_serve(struct control_socket *control, unsigned ms)
{
	struct pollfd ready[CONTROL_SOCKET_CLIENTS + 1];

	if (control == NULL) {
		wait_ms(ms);
		return;
	}
	if (control->busy) {
		wait_ms(ms < BUSY_MS ? ms : BUSY_MS);
		finish_request(control);
		return;
	}
	for (unsigned i = 0; i < CONTROL_SOCKET_CLIENTS; i++)
		ready[i] = (struct pollfd){ .fd = control->clients[i], .events = POLLIN };
	ready[CONTROL_SOCKET_CLIENTS] =
	    (struct pollfd){ .fd = control->listener, .events = POLLIN };
	if (poll(ready, CONTROL_SOCKET_CLIENTS + 1, (int)ms) <= 0)
		return;
	for (unsigned i = 0; i < CONTROL_SOCKET_CLIENTS && !control->busy; i++)
		if (ready[i].fd >= 0 && ready[i].revents != 0)
			read_client(control, i);
	if (ready[CONTROL_SOCKET_CLIENTS].revents == 0)
		return;
	for (unsigned i = 0; i < ACCEPT_MOST; i++)
		if (!accept_client(control)) {
			if (i == 0)
				wait_ms(ms); // no descriptor may be free: do not poll in a loop
			break;
		}
}

// --- opening and closing ---

// Makes the folder. It must belong to root or this user, so that nobody else can replace the file.
static int make_folder(const char *path, char *error)
{
	char folder[CONTROL_SOCKET_PATH_SIZE];
	char *end;
	struct stat found;

	strcpy(folder, path);
	end = strrchr(folder, '/');
	if (end == NULL || end == folder)
		return 0;
	*end = '\0';
	if (mkdir(folder, geteuid() == 0 ? 0755 : 0700) != 0 && errno != EEXIST)
		return fail(error, "folder %s: %s", folder, strerror(errno));
	if (lstat(folder, &found) != 0)
		return fail(error, "folder %s: %s", folder, strerror(errno));
	if (!S_ISDIR(found.st_mode))
		return fail(error, "%s is no folder", folder);
	if (found.st_uid != 0 && found.st_uid != geteuid())
		return fail(error, "folder %s belongs to another user: set XDG_RUNTIME_DIR",
			    folder);
	return 0;
}

// Whether a process listens at the address. Removes the file that a killed process left.
static bool is_in_use(const struct sockaddr_un *address)
{
	int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool dead;

	if (probe < 0)
		return true;
	dead = connect(probe, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
	       errno == ECONNREFUSED;
	close(probe);
	if (dead)
		(void)unlink(address->sun_path); // if this fails, bind() reports it
	return !dead;
}

static int listen_at(struct control_socket *control, char *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct sockaddr *to = (const struct sockaddr *)&address;

	strcpy(address.sun_path, control->path);
	control->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->listener < 0)
		return fail(error, "%s", strerror(errno));
	if (bind(control->listener, to, sizeof(address)) != 0) {
		if (errno != EADDRINUSE)
			return fail(error, "%s: %s", control->path, strerror(errno));
		if (is_in_use(&address) || bind(control->listener, to, sizeof(address)) != 0)
			return fail(error, "%s is in use by another process", control->path);
	}
	// No client can connect before listen(), so the file's mode is set in time.
	if (stat(control->path, &control->made) != 0 || chmod(control->path, MODE) != 0 ||
	    listen(control->listener, BACKLOG) != 0)
		return fail(error, "%s: %s", control->path, strerror(errno));
	return 0;
}

struct control_socket *control_socket_open(const char *path,
					   const struct control_socket_handler *handler,
					   char *error)
{
	struct control_socket *control = calloc(1, sizeof(*control));

	if (control == NULL) {
		(void)fail(error, "out of memory");
		return NULL;
	}
	control->handler = *handler;
	control->listener = -1;
	control->asking = NOBODY;
	for (unsigned i = 0; i < CONTROL_SOCKET_CLIENTS; i++)
		control->clients[i] = -1;
	snprintf(control->path, sizeof(control->path), "%s", path);
	if (make_folder(control->path, error) != 0 || listen_at(control, error) != 0) {
		control_socket_close(control);
		return NULL;
	}
	return control;
}

void control_socket_close(struct control_socket *control)
{
	struct stat found;

	if (control == NULL)
		return;
	for (unsigned i = 0; i < CONTROL_SOCKET_CLIENTS; i++)
		if (control->clients[i] >= 0)
			close(control->clients[i]);
	if (control->listener >= 0)
		close(control->listener);
	if (control->made.st_ino != 0 && lstat(control->path, &found) == 0 &&
	    found.st_ino == control->made.st_ino && found.st_dev == control->made.st_dev)
		(void)unlink(control->path);
	free(control);
}
