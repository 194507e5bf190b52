// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What evb tells the service manager that started it, by the protocol of sd_notify(3): that it
// runs, what it does, that it ends, and, where the manager has a watchdog, that all lcores make
// progress. Without a service manager, nothing is sent. Control thread.
#pragma once

#include "appliance/appliance.h"

struct service {
	const struct appliance *appliance;
	struct lcore_health *health; // NULL: there is no watchdog
	uint64_t watchdog_ns;        // between two signs of life, at most
	uint64_t last_alive;         // when the last one was sent, ns of CLOCK_MONOTONIC
	uint64_t next_look;          // likewise
	bool stopping;
	bool stuck_reported;
};

// Whether a service manager listens.
bool service_is_managed(void);

// Reads what the manager asks for. The appliance has been started. Returns 0, or -1 if memory ran
// out.
int service_begin(struct service *service, const struct appliance *appliance);

void service_end(struct service *service);

// The appliance runs.
void service_ready(void);

// Sends one line about what the appliance does, as `systemctl status` shows it. That an lcore makes
// no progress is not overwritten.
void service_status(const struct service *service, const char *line);

// The process has begun to end. From here on service_alive() also asks for more time: each step of
// a drain has its own limit, and their sum follows from the configuration.
void service_stopping(struct service *service);

// To be called about ten times per second, also during a drain; as appliance.alive it is. Sends a
// sign of life four times per period of the watchdog, unless an lcore that runs has made no
// progress since the last one. After half a period without progress one line of the log names this
// lcore.
void service_alive(void *service);
