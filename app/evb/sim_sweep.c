// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tick_clock.h"
#include "sim_points.h"
#include "stop.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define QUIET_NS      (2 * NS_PER_SECOND) // before the first line of progress
#define SAVE_NS       NS_PER_SECOND       // between two versions of the file
#define POLL_MS       200
#define CHUNK         65536u

// A process that simulates a point.
struct worker {
	unsigned point;
	pid_t pid;
	int fd;
	char *text; // what it has written
	size_t length;
};

struct sweeping {
	const struct sim_sweep *sweep;
	struct sim_points points;
	struct worker *workers;
	unsigned n_workers;
	unsigned next;   // point
	unsigned n_run;  // points that were simulated now
	unsigned n_left; // points that are to be simulated
	bool has_failed;
	uint64_t begun_ns, shown_ns, saved_ns;
};

const char *sim_axis_read(struct sim_axis *axis, const char *text)
{
	const char *equals = strchr(text, '=');
	const char *from = equals != NULL ? equals + 1 : text;

	if (equals == NULL || equals == text)
		return "PATH=A,B,... is expected";
	axis->values = calloc(SIM_SWEEP_MAX_VALUES, sizeof(axis->values[0]));
	if (axis->values == NULL)
		return "out of memory";
	for (bool is_last = false; !is_last; axis->n_values++) {
		const size_t length = strcspn(from, ",");

		if (length == 0)
			return "a value is empty";
		if (axis->n_values == SIM_SWEEP_MAX_VALUES)
			return "more than 256 values";
		if ((size_t)(equals - text) + 1 + length >= SIM_SWEEP_VALUE_SIZE)
			return "a value is too long";
		snprintf(axis->values[axis->n_values], SIM_SWEEP_VALUE_SIZE, "%.*s%.*s",
			 (int)(equals + 1 - text), text, (int)length, from);
		is_last = from[length] == '\0';
		from += length + 1;
	}
	return NULL;
}

void sim_axis_free(struct sim_axis *axis)
{
	free(axis->values);
}

// --- workers ---

// Runs in the new process. A short result fits into the pipe, or the parent reads it meanwhile.
static void work(const struct sweeping *sweeping, unsigned point, int fd, pid_t parent)
{
	const char *values[SIM_SWEEP_MAX_AXES];
	const unsigned n_values = sim_points_values(&sweeping->points, point, values);
	cJSON *json;
	char *text;
	int status;

	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	json = sweeping->sweep->run(sweeping->sweep->context, values, n_values);
	text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
	cJSON_Delete(json);
	for (size_t done = 0, length = text != NULL ? strlen(text) : 0; done < length;) {
		const ssize_t written = write(fd, text + done, length - done);
		if (written < 0)
			_exit(1);
		done += (size_t)written;
	}
	status = text != NULL ? 0 : 1;
	cJSON_free(text);
	_exit(status);
}

static bool start_worker(struct sweeping *sweeping, unsigned point)
{
	struct worker *worker = &sweeping->workers[sweeping->n_workers];
	const pid_t parent = getpid();
	int fds[2];

	fflush(NULL);
	if (pipe2(fds, O_CLOEXEC) != 0) {
		fprintf(stderr, "evb sim: pipe: %s\n", strerror(errno));
		return false;
	}
	*worker = (struct worker){ .point = point, .fd = fds[0], .pid = fork() };
	if (worker->pid == 0) {
		close(fds[0]);
		work(sweeping, point, fds[1], parent);
	}
	close(fds[1]);
	if (worker->pid < 0) {
		fprintf(stderr, "evb sim: fork: %s\n", strerror(errno));
		close(fds[0]);
		return false;
	}
	sweeping->n_workers++;
	return true;
}

static void start_workers(struct sweeping *sweeping)
{
	while (!sweeping->has_failed && stop_signal == 0 &&
	       sweeping->n_workers < sweeping->sweep->jobs) {
		while (sweeping->next < sweeping->points.n &&
		       sweeping->points.results[sweeping->next] != NULL)
			sweeping->next++;
		if (sweeping->next == sweeping->points.n)
			return;
		if (!start_worker(sweeping, sweeping->next++))
			sweeping->has_failed = true;
	}
}

// Takes the result of a worker that has ended.
static void end_worker(struct sweeping *sweeping, unsigned i)
{
	struct worker worker = sweeping->workers[i];
	int status = 0;

	sweeping->workers[i] = sweeping->workers[--sweeping->n_workers];
	close(worker.fd);
	while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status == 0)
		sweeping->points.results[worker.point] =
		    cJSON_ParseWithLength(worker.text, worker.length);
	free(worker.text);
	if (sweeping->points.results[worker.point] != NULL) {
		sweeping->n_run++;
	} else if (stop_signal == 0 && !sweeping->has_failed) { // else it was killed
		if (WIFSIGNALED(status))
			fprintf(stderr, "evb sim: a point was ended by signal %d\n",
				WTERMSIG(status));
		sweeping->has_failed = true;
	}
}

// Returns false at the end of what the worker writes.
static bool read_worker(struct worker *worker)
{
	char *text = realloc(worker->text, worker->length + CHUNK);
	ssize_t length;

	if (text == NULL)
		return false;
	worker->text = text;
	length = read(worker->fd, text + worker->length, CHUNK);
	if (length < 0)
		return errno == EINTR;
	worker->length += (size_t)length;
	return length > 0;
}

static void read_workers(struct sweeping *sweeping, struct pollfd *polled)
{
	for (unsigned i = 0; i < sweeping->n_workers; i++)
		polled[i] = (struct pollfd){ .fd = sweeping->workers[i].fd, .events = POLLIN };
	if (poll(polled, sweeping->n_workers, POLL_MS) <= 0)
		return;
	for (unsigned i = sweeping->n_workers; i-- > 0;)
		if (polled[i].revents != 0 && !read_worker(&sweeping->workers[i]))
			end_worker(sweeping, i);
}

// --- the whole ---

static void show(struct sweeping *sweeping)
{
	const uint64_t now = tick_clock_monotonic_ns();
	const double seconds = (double)(now - sweeping->begun_ns) / NS_PER_SECOND;
	const bool is_terminal = isatty(STDERR_FILENO);

	if (now - sweeping->begun_ns < QUIET_NS || sweeping->n_run == 0 ||
	    now - sweeping->shown_ns < (is_terminal ? 1 : 10) * NS_PER_SECOND)
		return;
	sweeping->shown_ns = now;
	fprintf(stderr, "%s%u of %u points in %.0f s, %.0f s left%s",
		is_terminal ? "\r\033[K" : "evb sim: ", sweeping->n_run, sweeping->n_left, seconds,
		seconds * (sweeping->n_left - sweeping->n_run) / sweeping->n_run,
		is_terminal ? "" : "\n");
}

static void save(struct sweeping *sweeping, bool is_last)
{
	const uint64_t now = tick_clock_monotonic_ns();

	if (sweeping->sweep->file == NULL || (!is_last && now - sweeping->saved_ns < SAVE_NS))
		return;
	sweeping->saved_ns = now;
	if (!sim_points_save(&sweeping->points, sweeping->sweep->file))
		sweeping->has_failed = true;
}

static void run_all(struct sweeping *sweeping)
{
	struct pollfd *polled = calloc(sweeping->sweep->jobs, sizeof(polled[0]));

	sweeping->workers = calloc(sweeping->sweep->jobs, sizeof(sweeping->workers[0]));
	if (polled == NULL || sweeping->workers == NULL)
		sweeping->has_failed = true;
	start_workers(sweeping);
	while (sweeping->n_workers > 0 && stop_signal == 0 && !sweeping->has_failed) {
		read_workers(sweeping, polled);
		start_workers(sweeping);
		save(sweeping, false);
		show(sweeping);
	}
	for (unsigned i = 0; i < sweeping->n_workers; i++)
		kill(sweeping->workers[i].pid, SIGKILL);
	while (sweeping->n_workers > 0)
		end_worker(sweeping, sweeping->n_workers - 1);
	free(sweeping->workers);
	free(polled);
}

int sim_sweep_run(const struct sim_sweep *sweep, cJSON **points)
{
	struct sweeping sweeping = { .sweep = sweep, .begun_ns = tick_clock_monotonic_ns() };
	unsigned n_done = 0;

	*points = NULL;
	if (!sim_points_make(&sweeping.points, sweep))
		return 1;
	for (unsigned i = 0; i < sweeping.points.n; i++)
		n_done += sweeping.points.results[i] != NULL;
	sweeping.n_left = sweeping.points.n - n_done;
	if (n_done > 0)
		printf("%u of %u points are in %s already\n", n_done, sweeping.points.n,
		       sweep->file);
	run_all(&sweeping);
	if (sweeping.shown_ns != 0 && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	save(&sweeping, true);
	sim_points_print(&sweeping.points);
	*points = sim_points_list(&sweeping.points);
	n_done += sweeping.n_run;
	if (n_done < sweeping.points.n)
		fprintf(stderr, "evb sim: %u of %u points are done%s\n", n_done, sweeping.points.n,
			sweep->file != NULL ? "; the same command continues with the others" : "");
	sim_points_free(&sweeping.points);
	return n_done < sweeping.points.n || sweeping.has_failed;
}
