// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The signals that end a command. After the first SIGINT or SIGTERM the command finishes its work;
// a second signal kills the process.
#pragma once

#include <signal.h>

// 0, or the number of the received signal.
extern volatile sig_atomic_t stop_signal;

void stop_catch_signals(void);
