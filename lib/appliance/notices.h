// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Notices: lines that an operator should see. All parts of the appliance pass them to
// appliance.notice, which prints them.
#pragma once

#include "appliance/appliance.h"
#include "record/event_file.h"

// Passes on one line, cut to 511 characters. Any thread except the lcores of rx, builder and source
// roles.
void notice(const struct appliance *appliance, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Writes one line to error[APPLIANCE_ERROR_SIZE]. Returns -1.
int appliance_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The notify function of event files; context is a struct appliance.
void notice_of_file(void *context, const struct event_file_notice *file);
