// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "session.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account_text.h"
#include "appliance/account.h"
#include "appliance/appliance.h"
#include "appliance/run_control.h"
#include "client/runtime_directory.h"
#include "host/host.h"
#include "log.h"
#include "service.h"
#include "stop.h"
#include "telemetry/telemetry.h"

#define WATCH_MS 100 // between two checks of the appliance, at most
#define SERVE_MS 10  // between two looks whether the run is over

#define PROGRESS_SIZE 256 // of a line

static void print_notice(void *context, const char *line)
{
	(void)context;
	log_line(LOG_LEVEL_NOTICE, "%s", line);
}

// Events that all generators send together until the run ends; 0: it does not end so.
static uint64_t events_to_send(const struct config *config)
{
	uint64_t events = 0;

	for (unsigned i = 0; i < config->n_generators; i++) {
		if (config->generators[i].events == 0)
			return 0;
		events += config->generators[i].events;
	}
	return events;
}

// Writes how much is done and how long the rest takes at the mean rate, by the end that comes
// first.
static void write_share(FILE *to, const struct appliance *appliance,
			const struct session_options *options, const struct account *now)
{
	const uint64_t events = events_to_send(appliance->config);
	double share = 0;

	if (options->duration > 0)
		share = now->seconds / options->duration;
	if (options->input_packets > 0)
		share = fmax(share, (double)now->sent.packets / (double)options->input_packets);
	if (events > 0)
		share = fmax(share, (double)now->sent_events / (double)events);
	if (share > 0 && share <= 1)
		fprintf(to, "  %.0f %%, %.0f s left", 100 * share,
			now->seconds / share - now->seconds);
}

// The progress line, without its end: rates since the previous line, 1 s before.
static void write_progress(FILE *to, const struct appliance *appliance,
			   const struct session_options *options, const struct account *now,
			   const struct account *before)
{
	double seconds = now->seconds - before->seconds;
	bool builds = appliance->config->n_builders > 0;
	uint64_t events = builds ? now->built.events_complete - before->built.events_complete
				 : now->sent_events - before->sent_events;
	uint64_t bytes = builds ? now->built.bytes_built - before->built.bytes_built
				: now->sent.bytes - before->sent.bytes;

	if (seconds <= 0)
		return;
	fprintf(to, "%6.0f s", now->seconds);
	write_share(to, appliance, options, now);
	fprintf(to, "  ");
	account_print_rate(to, "", (double)events / seconds, "events/s");
	account_print_rate(to, "  ", (double)bytes * 8 / seconds, "b/s");
	if (builds)
		fprintf(to, "  %llu incomplete  %llu lost segments  %llu slots free",
			(unsigned long long)(now->built.events_incomplete +
					     now->built.events_discarded),
			(unsigned long long)account_losses(now),
			(unsigned long long)now->free_slots);
}

// The final account, for collectors of logs.
static void log_account(const struct appliance *appliance)
{
	char *text = account_summary(appliance);

	log_value(LOG_LEVEL_INFO, "ended", "account", cJSON_Parse(text));
	free(text);
}

// The summary of a run: FILE, or, where the process serves several runs, FILE with the number of
// the run before the ending of its name.
static void path_of_summary(const struct appliance *appliance, const char *file,
			    char path[PATH_MAX])
{
	const char *name = strrchr(file, '/');
	const char *ending = strrchr(name != NULL ? name : file, '.');
	int stem = ending != NULL ? (int)(ending - file) : (int)strlen(file);

	if (config_serves_several_runs(appliance->config))
		snprintf(path, PATH_MAX, "%.*s-%u%s", stem, file, appliance->run, file + stem);
	else
		snprintf(path, PATH_MAX, "%s", file);
}

static int write_summary(const struct appliance *appliance, const char *name)
{
	char path[PATH_MAX];
	char *text = account_summary(appliance);
	FILE *file;
	int result = -1;

	path_of_summary(appliance, name, path);
	if (text == NULL) {
		log_line(LOG_LEVEL_ERROR, "summary: out of memory");
		return -1;
	}
	file = fopen(path, "w");
	if (file != NULL) {
		result = fputs(text, file) < 0 || fputc('\n', file) == EOF ? -1 : 0;
		if (fclose(file) != 0)
			result = -1;
	}
	if (result != 0)
		log_line(LOG_LEVEL_ERROR, "summary %s: %s", path, strerror(errno));
	free(text);
	return result;
}

static bool time_is_up(const struct appliance *appliance, const struct session_options *options)
{
	return options->duration > 0 && appliance_seconds(appliance) >= options->duration;
}

// Shows the rates since the previous line, 1 s before, on the terminal and to the service manager.
static void show_progress(const struct appliance *appliance, const struct session_options *options,
			  const struct service *service, bool on_terminal,
			  const struct account *now, const struct account *before)
{
	char line[PROGRESS_SIZE] = "";
	FILE *to = fmemopen(line, sizeof(line), "w");

	if (to == NULL)
		return;
	write_progress(to, appliance, options, now, before);
	fclose(to);
	if (on_terminal && line[0] != '\0') {
		printf("\r\033[K%s", line);
		fflush(stdout);
	}
	service_status(service, line);
}

// Waits until the run ends by itself, the duration is over or a signal arrives.
static void watch(struct appliance *appliance, const struct session_options *options,
		  const struct service *service, struct account *now, struct account *before)
{
	const bool shows = isatty(STDOUT_FILENO) && !options->quiet && !log_is_json();
	double next = 1;

	while (stop_signal == 0 && !appliance_watch(appliance) && !time_is_up(appliance, options)) {
		for (unsigned ms = 0; ms < WATCH_MS && !appliance_is_over(appliance);
		     ms += SERVE_MS)
			run_control_serve(appliance, SERVE_MS);
		if (!(shows || service_is_managed()) || appliance_seconds(appliance) < next)
			continue;
		next += 1;
		*before = *now;
		account_take(appliance, now);
		show_progress(appliance, options, service, shows, now, before);
	}
	if (shows)
		printf("\r\033[K");
}

static void announce(const struct appliance *appliance)
{
	const struct config *config = appliance->config;

	if (log_is_json()) {
		log_line(LOG_LEVEL_INFO, "running");
		return;
	}
	printf("appliance %s, run %u: %u sources, %s", config->name, appliance->run,
	       config->sources.n_expected,
	       appliance->eal.hugepages ? "packets in hugepages" : "packets in ordinary memory");
	for (unsigned i = 0; i < config->n_builders; i++)
		printf(", %s", evring_path(appliance->rings[i]));
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++) {
		printf("\nCPU %u:", appliance->plan->lcores[i].cpu);
		for (unsigned j = 0; j < appliance->plan->lcores[i].n_roles; j++)
			printf(" %s",
			       appliance->plan->roles[appliance->plan->lcores[i].roles[j]].name);
	}
	printf("\nrunning\n");
	fflush(stdout);
}

// Says why no event was built.
static void log_nothing(const struct account *a)
{
	char causes[512] = "";
	FILE *to = fmemopen(causes, sizeof(causes), "w");

	if (to != NULL) {
		account_write_drops(to, a);
		if (a->built.events_discarded > 0)
			fprintf(to, "; %llu events were discarded",
				(unsigned long long)a->built.events_discarded);
		fclose(to);
	}
	log_line(LOG_LEVEL_ERROR, "no event was built: %llu of %llu packets were dropped%s",
		 (unsigned long long)account_losses(a), (unsigned long long)a->rx.packets, causes);
}

static void log_unsent(const struct account *a)
{
	log_line(LOG_LEVEL_ERROR,
		 "not everything was sent: %llu messages were not acknowledged, %llu had no "
		 "connection",
		 (unsigned long long)a->unacknowledged, (unsigned long long)a->unsent);
}

static int finish(struct appliance *appliance, const struct session_options *options,
		  struct account *account, bool is_last)
{
	bool drained = appliance_drain(appliance, is_last);
	bool lacks = options->is_replay ? options->input_lacks : appliance_captures_lack(appliance);
	int status = 0;

	if (!appliance->run_begun)
		return appliance->failed ? 1 : 0; // there is no account of no run
	account_take(appliance, account);
	if (log_is_json())
		log_account(appliance);
	else
		account_print(appliance, account);
	if (options->summary != NULL && write_summary(appliance, options->summary) != 0)
		status = 1;
	if (appliance->failed)
		status = 1;
	if (account->unacknowledged + account->unsent > 0) {
		log_unsent(account);
		status = 1;
	}
	if (options->must_build &&
	    account->built.events_complete + account->built.events_incomplete == 0) {
		log_nothing(account);
		status = 1;
	}
	if (options->strict && (!drained || lacks || account_has_losses(account)))
		status = 2;
	return status;
}

// Checked before the run, so that its account is not lost afterwards.
static bool is_writable(const char *path)
{
	FILE *file = fopen(path, "a");

	if (file == NULL) {
		log_line(LOG_LEVEL_ERROR, "summary %s: %s", path, strerror(errno));
		return false;
	}
	fclose(file); // nothing was written
	return true;
}

static bool has_changes(const struct host_report *report, const char *stage)
{
	for (unsigned i = 0; i < report->n_changes; i++)
		if (strcmp(report->changes[i].stage, stage) == 0)
			return true;
	return false;
}

// `evb host prepare CONFIG` can fix the failure if the configuration is a file; gen and replay have
// no file.
static void log_failure(const struct host_finding *finding, const struct host_report *report,
			const struct config *config)
{
	const struct cluster_system *cluster = &config->cluster;
	bool can_prepare = has_changes(report, finding->stage) && access(config->path, R_OK) == 0;
	bool has_nodes = can_prepare && cluster->n_nodes > 0;

	log_line(LOG_LEVEL_ERROR, "%s%s%s%s%s%s%s", finding->text,
		 finding->remedy[0] != '\0' ? ": " : "", finding->remedy,
		 can_prepare ? "; or: evb host prepare " : "", can_prepare ? config->path : "",
		 has_nodes ? " --node " : "", has_nodes ? cluster->nodes[cluster->self].name : "");
}

// Checks the host. Logs one line per warning, or one line for the first failure. Returns whether
// this host can run the plan.
static bool preflight(const struct plan *plan)
{
	struct host_report report = { 0 };
	const struct host_finding *failure = host_preflight(&host_system_here, plan, &report);

	for (unsigned i = 0; i < report.n_findings; i++) {
		const struct host_finding *finding = &report.findings[i];

		if (finding->verdict == HOST_WARN && !finding->quiet && failure == NULL)
			log_line(LOG_LEVEL_WARNING, "%s%s%s", finding->text,
				 finding->remedy[0] != '\0' ? ": " : "", finding->remedy);
	}
	if (failure != NULL)
		log_failure(failure, &report, plan->config);
	host_report_free(&report);
	return failure == NULL;
}

// The counters of the lcores have cache lines of their own: calloc() does not align them.
static struct appliance *make_appliance(void)
{
	size_t alignment = _Alignof(struct appliance);
	size_t size = (sizeof(struct appliance) + alignment - 1) & ~(alignment - 1);
	struct appliance *appliance = aligned_alloc(alignment, size);

	if (appliance != NULL)
		memset(appliance, 0, size);
	return appliance;
}

// Serves one run after the other. Returns the exit status: the first one that is not 0.
static int serve_runs(struct appliance *appliance, const struct session_options *options,
		      struct service *service, struct account accounts[2])
{
	char error[APPLIANCE_ERROR_SIZE];
	int status = 0, of_run;
	uint32_t next;

	do {
		watch(appliance, options, service, &accounts[0], &accounts[1]);
		next = stop_signal == 0 && !time_is_up(appliance, options)
			   ? appliance_next_run(appliance)
			   : 0;
		if (next == 0)
			service_stopping(service);
		if (next == 0 || appliance->run_begun) {
			of_run = finish(appliance, options, &accounts[0], next == 0);
			status = status != 0 ? status : of_run;
		}
		if (next == 0 || stop_signal != 0)
			return status;
		appliance_telemetry_stop();
		if (appliance_prepare(appliance, next, error) != 0) {
			log_line(LOG_LEVEL_ERROR, "%s", error);
			return 1;
		}
		(void)appliance_telemetry_start(appliance);
		log_line(LOG_LEVEL_NOTICE, "prepared for run %u", next);
	} while (true);
}

int session_run(const struct plan *plan, const struct session_options *options)
{
	char error[APPLIANCE_ERROR_SIZE] = "out of memory";
	struct appliance *appliance = make_appliance();
	struct account *accounts = calloc(2, sizeof(*accounts));
	struct service service = { 0 };
	int status = 1;

	log_name(plan->config);
	log_take_dpdk();
	stop_catch_signals(); // before the first line: its reader may have left
	runtime_directory_make();
	if (appliance == NULL || accounts == NULL) {
		log_line(LOG_LEVEL_ERROR, "%s", error);
		goto end;
	}
	if (options->summary != NULL && !config_serves_several_runs(plan->config) &&
	    !is_writable(options->summary))
		goto end;
	if (!preflight(plan))
		goto end;
	appliance->notice = print_notice;
	appliance->input_is_mixed = options->is_replay;
	appliance->replaceable = options->config;
	appliance->load = options->load;
	appliance->load_context = options->load_context;
	if (appliance_start(appliance, plan, error) != 0) {
		log_line(LOG_LEVEL_ERROR, "%s", error);
		appliance_stop(appliance);
		goto end;
	}
	if (appliance_telemetry_start(appliance) != 0)
		log_line(LOG_LEVEL_WARNING, "telemetry commands could not be registered; going on");
	if (run_control_start(appliance, error) != 0)
		log_line(LOG_LEVEL_WARNING, "%s; going on without it", error);
	if (!options->quiet)
		announce(appliance);
	if (service_begin(&service, appliance) != 0)
		log_line(LOG_LEVEL_WARNING,
			 "out of memory: the watchdog of the service is not fed");
	appliance->alive_context = &service;
	appliance->alive = service_alive;
	service_ready();
	status = serve_runs(appliance, options, &service, accounts);
	service_end(&service);
	run_control_stop(appliance);
	appliance_telemetry_stop();
	appliance_stop(appliance);
end:
	free(accounts);
	free(appliance);
	return status;
}
