// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "stop.h"

#include <stddef.h>

volatile sig_atomic_t stop_signal;

// After the first signal, SIGINT and SIGTERM kill the process.
static void on_signal(int number)
{
	stop_signal = number;
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}

void stop_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	// These calls cannot fail: the signals exist and can be caught.
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	// At the limit of file sizes write() shall fail, and the program shall not be killed.
	(void)signal(SIGXFSZ, SIG_IGN);
	// Writing to a closed socket shall fail, too: the peer of DPDK's virtio_user may have
	// ended.
	(void)signal(SIGPIPE, SIG_IGN);
}
