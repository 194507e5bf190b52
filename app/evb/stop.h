// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The signals that end a command: after the first SIGINT or SIGTERM it finishes, a second one kills
// it.
#pragma once

#include <signal.h>

// 0, or the number of the received signal.
extern volatile sig_atomic_t stop_signal;

void stop_catch_signals(void);
