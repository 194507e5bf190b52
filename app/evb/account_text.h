// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The account of a run as text for people, on standard output. Control thread.
#pragma once

#include <stdio.h>

#include "appliance/account.h"
#include "appliance/appliance.h"

// Prints the account. Packets and segments have a line each, of which each adds up; that of the
// packets is left out where none was dropped and all that arrives is evb's own traffic.
void account_print(const struct appliance *appliance, const struct account *account);

// Writes ", CAUSE N" for each cause of dropped packets and segments that occurred.
void account_write_drops(FILE *to, const struct account *account);

// Prints the prefix, then a rate in three digits with its unit: "184 kevents/s".
void account_print_rate(FILE *to, const char *prefix, double value, const char *unit);
