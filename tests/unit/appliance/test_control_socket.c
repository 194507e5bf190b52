// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control socket and its client, without an appliance: the handler answers what it was asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "appliance/control_socket.h"
#include "client/control_client.h"

#define NOBODY_ID 65534

// A socket in a folder of its own, served by a thread.
struct bench {
	char directory[64];
	char path[CONTROL_SOCKET_PATH_SIZE];
	struct control_socket *control;
	pthread_t server;
	atomic_bool stop;
	unsigned asked, looked;
	bool is_slow; // answers come later, at the third look
};

static cJSON *begin(void *context, const cJSON *request, bool *later)
{
	struct bench *bench = context;
	cJSON *response;

	bench->asked++;
	if (bench->is_slow) {
		*later = true;
		return NULL;
	}
	if (cJSON_GetObjectItemCaseSensitive(request, "refuse") != NULL)
		return control_response_error("refused %d", 7);
	response = control_response_done();
	cJSON_AddItemToObject(response, "request", cJSON_Duplicate(request, true));
	return response;
}

static cJSON *finish(void *context)
{
	struct bench *bench = context;

	return ++bench->looked % 3 == 0 ? control_response_done() : NULL;
}

static void *serve(void *context)
{
	struct bench *bench = context;

	while (!atomic_load(&bench->stop))
		control_socket_serve(bench->control, 5);
	return NULL;
}

static void open_bench(struct bench *bench)
{
	const struct control_socket_handler handler = {
		.context = bench,
		.begin = begin,
		.finish = finish,
	};
	char error[CONTROL_SOCKET_ERROR_SIZE] = "";

	memset(bench, 0, sizeof(*bench));
	strcpy(bench->directory, "/tmp/evb-test-XXXXXX");
	assert_non_null(mkdtemp(bench->directory));
	assert_int_equal(chmod(bench->directory, 0755), 0);
	assert_int_equal(setenv("RUNTIME_DIRECTORY", bench->directory, 1), 0);
	assert_int_equal(control_socket_path("x", bench->path, error), 0);
	bench->control = control_socket_open(bench->path, &handler, error);
	if (bench->control == NULL)
		fail_msg("%s", error);
	assert_int_equal(pthread_create(&bench->server, NULL, serve, bench), 0);
}

static void close_bench(struct bench *bench)
{
	char folder[128];

	atomic_store(&bench->stop, true);
	assert_int_equal(pthread_join(bench->server, NULL), 0);
	control_socket_close(bench->control);
	snprintf(folder, sizeof(folder), "%s/evb", bench->directory);
	assert_int_equal(rmdir(folder), 0); // nothing is left in it
	assert_int_equal(rmdir(bench->directory), 0);
}

static cJSON *ask(const struct bench *bench, const char *text, char *error)
{
	cJSON *request = cJSON_Parse(text);
	cJSON *response = control_client_request(bench->path, request, NULL, error);

	cJSON_Delete(request);
	return response;
}

static int connect_client(const struct bench *bench)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_true(client >= 0);
	strcpy(address.sun_path, bench->path);
	assert_int_equal(connect(client, (const struct sockaddr *)&address, sizeof(address)), 0);
	return client;
}

// Sends bytes as one message and expects this answer.
static void assert_answer(int client, const void *bytes, size_t size, const char *expected)
{
	char response[1024];
	ssize_t length;

	assert_int_equal(send(client, bytes, size, 0), size);
	length = recv(client, response, sizeof(response) - 1, 0);
	assert_true(length > 0);
	response[length] = '\0';
	assert_string_equal(response, expected);
}

static void request__is_answered(void **state)
{
	char error[CONTROL_SOCKET_ERROR_SIZE];
	struct bench bench;
	struct stat found;
	char *text;

	(void)state;
	open_bench(&bench);
	assert_int_equal(stat(bench.path, &found), 0);
	assert_int_equal(found.st_mode & 07777, 0660);
	for (unsigned i = 0; i < 3 * CONTROL_SOCKET_CLIENTS; i++) { // clients that leave are gone
		cJSON *response = ask(&bench, "{\"a\": [1, 2]}", error);

		assert_non_null(response);
		text = cJSON_PrintUnformatted(response);
		assert_string_equal(text, "{\"ok\":true,\"request\":{\"a\":[1,2]}}");
		free(text);
		cJSON_Delete(response);
	}
	assert_null(ask(&bench, "{\"refuse\": 1}", error));
	assert_string_equal(error, "refused 7");
	close_bench(&bench);
}

static void request__may_be_answered_later(void **state)
{
	char error[CONTROL_SOCKET_ERROR_SIZE];
	struct bench bench;
	cJSON *response;
	int gone;

	(void)state;
	open_bench(&bench);
	bench.is_slow = true;
	response = ask(&bench, "{}", error);
	assert_non_null(response);
	cJSON_Delete(response);
	assert_int_equal(bench.looked, 3);
	// A client that does not wait for its answer is none of the next one's business.
	gone = connect_client(&bench);
	assert_int_equal(send(gone, "{}", 2, 0), 2);
	close(gone);
	response = ask(&bench, "{}", error);
	assert_non_null(response);
	cJSON_Delete(response);
	assert_int_equal(bench.asked, 3);
	close_bench(&bench);
}

static void request__that_is_none_is_refused(void **state)
{
	static const char *const wrong[] = { " ", "x", "[]", "1", "\"status\"", "{]", "{\"a\": " };
	static const char not_an_object[] =
	    "{\"ok\":false,\"error\":\"a request is a JSON object\"}";
	static char large[CONTROL_SOCKET_REQUEST_SIZE + 1];
	struct bench bench;
	int client;

	(void)state;
	open_bench(&bench);
	client = connect_client(&bench);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_answer(client, wrong[i], strlen(wrong[i]), not_an_object);
	assert_answer(client, "\0\0\0", 3, not_an_object);
	memset(large, '[', sizeof(large));
	assert_answer(client, large, sizeof(large) - 1, not_an_object);
	assert_answer(client, large, sizeof(large),
		      "{\"ok\":false,\"error\":\"a request has at most 4096 bytes\"}");
	assert_int_equal(bench.asked, 0);
	// After all that it is still served.
	assert_answer(client, "{}", 2, "{\"ok\":true,\"request\":{}}");
	close(client);
	close_bench(&bench);
}

static void clients__are_bounded(void **state)
{
	int clients[CONTROL_SOCKET_CLIENTS];
	char error[CONTROL_SOCKET_ERROR_SIZE];
	struct bench bench;
	cJSON *response;

	(void)state;
	open_bench(&bench);
	for (unsigned i = 0; i < CONTROL_SOCKET_CLIENTS; i++) {
		clients[i] = connect_client(&bench);
		assert_answer(clients[i], "{}", 2, "{\"ok\":true,\"request\":{}}");
	}
	assert_null(ask(&bench, "{}", error));
	for (unsigned i = 0; i < CONTROL_SOCKET_CLIENTS; i++) {
		assert_answer(clients[i], "{}", 2, "{\"ok\":true,\"request\":{}}");
		close(clients[i]);
	}
	// Their places are free once the server has seen them go.
	for (unsigned i = 0; i < 1000; i++) {
		response = ask(&bench, "{}", error);
		if (response != NULL)
			break;
		usleep(1000);
	}
	assert_non_null(response);
	cJSON_Delete(response);
	close_bench(&bench);
}

// A client that asks and asks, and takes no answers, is hung up on; others do not notice.
static void client__that_takes_no_answers_is_hung_up_on(void **state)
{
	char request[2048], error[CONTROL_SOCKET_ERROR_SIZE];
	struct bench bench;
	cJSON *response;
	int client;

	(void)state;
	memset(request, ' ', sizeof(request));
	memcpy(request, "{\"a\":\"", 6);
	memset(request + 6, 'x', 1500);
	memcpy(request + 1506, "\"}", 2);
	open_bench(&bench);
	client = connect_client(&bench);
	while (send(client, request, sizeof(request), MSG_NOSIGNAL) >= 0)
		;
	assert_true(errno == EPIPE || errno == ECONNRESET);
	response = ask(&bench, "{}", error);
	assert_non_null(response);
	cJSON_Delete(response);
	close(client);
	close_bench(&bench);
}

// In a child process: becomes somebody else and asks. The exit status tells.
static void ask_as_nobody(const struct bench *bench)
{
	char response[256] = "";
	int client;

	if (setgroups(0, NULL) != 0 || setgid(NOBODY_ID) != 0 || setuid(NOBODY_ID) != 0)
		_exit(2);
	client = connect_client(bench);
	if (recv(client, response, sizeof(response) - 1, 0) <= 0)
		_exit(3);
	_exit(strstr(response, "only root and the user") != NULL ? 0 : 4);
}

static void other_users__are_refused(void **state)
{
	struct bench bench;
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip(); // needs root to become another user
	open_bench(&bench);
	assert_int_equal(chmod(bench.path, 0666), 0); // whatever the mode says
	child = fork();
	if (child == 0)
		ask_as_nobody(&bench);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(bench.asked, 0);
	close_bench(&bench);
}

static void socket__of_a_killed_run_is_replaced(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct control_socket_handler handler = { 0 };
	char error[CONTROL_SOCKET_ERROR_SIZE] = "", expected[2 * CONTROL_SOCKET_PATH_SIZE];
	struct control_socket *control;
	struct bench bench;
	char folder[128];
	int dead;

	(void)state;
	open_bench(&bench);
	// One that is listened to is not.
	assert_null(control_socket_open(bench.path, &handler, error));
	snprintf(expected, sizeof(expected), "%s is in use by another process", bench.path);
	assert_string_equal(error, expected);
	assert_int_equal(access(bench.path, F_OK), 0);
	close_bench(&bench);

	strcpy(bench.directory, "/tmp/evb-test-XXXXXX");
	assert_non_null(mkdtemp(bench.directory));
	snprintf(folder, sizeof(folder), "%s/evb", bench.directory);
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/evb/x.ctl", bench.directory);
	dead = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(dead, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(dead);
	control = control_socket_open(address.sun_path, &handler, error);
	assert_non_null(control);
	// It takes away only what it has made.
	assert_int_equal(unlink(address.sun_path), 0);
	assert_int_equal(mkdir(address.sun_path, 0700), 0);
	control_socket_close(control);
	assert_int_equal(rmdir(address.sun_path), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(rmdir(bench.directory), 0);
}

static void client__says_what_is_wrong(void **state)
{
	char error[CONTROL_SOCKET_ERROR_SIZE];
	cJSON *request = cJSON_CreateObject();

	(void)state;
	assert_null(control_client_request("/tmp/evb-test-none.ctl", request, NULL, error));
	assert_string_equal(error, "nobody listens at /tmp/evb-test-none.ctl: the appliance is "
				   "not running");
	assert_null(control_client_request("/tmp", request, NULL, error));
	assert_non_null(strstr(error, "/tmp"));
	cJSON_Delete(request);
}

static void path__is_in_the_runtime_directory(void **state)
{
	char path[CONTROL_SOCKET_PATH_SIZE], error[CONTROL_SOCKET_ERROR_SIZE];
	char directory[CONTROL_SOCKET_PATH_SIZE];

	(void)state;
	assert_int_equal(setenv("RUNTIME_DIRECTORY", "/run/somewhere", 1), 0);
	assert_int_equal(control_socket_path("sys-a", path, error), 0);
	assert_string_equal(path, "/run/somewhere/evb/sys-a.ctl");
	memset(directory, 'd', sizeof(directory) - 1);
	directory[0] = '/';
	directory[sizeof(directory) - 1] = '\0';
	assert_int_equal(setenv("RUNTIME_DIRECTORY", directory, 1), 0);
	assert_int_equal(control_socket_path("sys-a", path, error), -1);
	assert_non_null(strstr(error, "too long for the path of a socket"));
	assert_int_equal(unsetenv("RUNTIME_DIRECTORY"), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/run/user/1", 1), 0);
	assert_int_equal(control_socket_path("x", path, error), 0);
	assert_string_equal(path, getuid() == 0 ? "/var/run/evb/x.ctl" : "/run/user/1/evb/x.ctl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request__is_answered),
		cmocka_unit_test(request__may_be_answered_later),
		cmocka_unit_test(request__that_is_none_is_refused),
		cmocka_unit_test(clients__are_bounded),
		cmocka_unit_test(client__that_takes_no_answers_is_hung_up_on),
		cmocka_unit_test(other_users__are_refused),
		cmocka_unit_test(socket__of_a_killed_run_is_replaced),
		cmocka_unit_test(client__says_what_is_wrong),
		cmocka_unit_test(path__is_in_the_runtime_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
