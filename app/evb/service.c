// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "base/tick_clock.h"
#include "log.h"
#include "pipeline/lcore_health.h"

#define LOOK_NS    100000000u
#define MORE_TIME  "EXTEND_TIMEOUT_USEC=10000000" // from each message on
#define NS_PER_US  1000u
#define SECOND_NS  1000000000u
#define ROLES_TEXT 256

bool service_is_managed(void)
{
	return getenv("NOTIFY_SOCKET") != NULL;
}

int service_begin(struct service *service, const struct appliance *appliance)
{
	uint64_t us = 0;

	*service =
	    (struct service){ .appliance = appliance, .last_alive = tick_clock_monotonic_ns() };
	if (sd_watchdog_enabled(0, &us) <= 0 || us == 0)
		return 0;
	service->watchdog_ns = us * NS_PER_US;
	service->health = calloc(1, sizeof(*service->health));
	return service->health != NULL ? 0 : -1;
}

void service_end(struct service *service)
{
	free(service->health);
	service->health = NULL;
}

// A manager that has gone does not concern the appliance: failures to send are ignored, also below.
void service_ready(void)
{
	(void)sd_notify(0, "READY=1\nSTATUS=running");
}

void service_status(const struct service *service, const char *line)
{
	if (!service->stuck_reported)
		(void)sd_notifyf(0, "STATUS=%s", line);
}

void service_stopping(struct service *service)
{
	service->stopping = true;
	(void)sd_notify(0, "STOPPING=1\nSTATUS=draining\n" MORE_TIME);
}

static void report_stuck(struct service *service, const struct lcore *lcore)
{
	const struct plan *plan = service->appliance->plan;
	const struct plan_lcore *of = &plan->lcores[lcore - service->appliance->lcores];
	char roles[ROLES_TEXT] = "";

	for (unsigned i = 0; i < of->n_roles; i++)
		snprintf(roles + strlen(roles), sizeof(roles) - strlen(roles), " %s",
			 plan->roles[of->roles[i]].name);
	log_line(LOG_LEVEL_WARNING,
		 "CPU %u (%s) has made no progress for %.1f s: one of its roles does not return; "
		 "the watchdog of the service ends this process after %.1f s",
		 lcore->cpu, roles + (roles[0] == ' '),
		 (double)service->watchdog_ns / 2 / SECOND_NS,
		 (double)service->watchdog_ns / SECOND_NS);
	(void)sd_notifyf(0, "STATUS=CPU %u (%s) makes no progress", lcore->cpu,
			 roles + (roles[0] == ' '));
	service->stuck_reported = true;
}

static void feed_watchdog(struct service *service, uint64_t now)
{
	const struct lcore *stuck;

	if (now - service->last_alive < service->watchdog_ns / 4)
		return;
	stuck = lcore_find_stuck(service->health, service->appliance->lcores,
				 service->appliance->plan->n_lcores);
	if (stuck == NULL) {
		(void)sd_notify(0, "WATCHDOG=1");
		service->last_alive = now;
		service->stuck_reported = false;
	} else if (!service->stuck_reported &&
		   now - service->last_alive > service->watchdog_ns / 2) {
		report_stuck(service, stuck);
	}
}

void service_alive(void *context)
{
	struct service *service = context;
	const uint64_t now = tick_clock_monotonic_ns();

	if (now < service->next_look)
		return;
	service->next_look = now + LOOK_NS;
	if (service->stopping)
		(void)sd_notify(0, MORE_TIME);
	if (service->health != NULL)
		feed_watchdog(service, now);
}
