// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "stop.h"

#include <stddef.h>

volatile sig_atomic_t stop_signal;

// The one that came and the other: whichever comes next kills.
static void on_signal(int number)
{
	stop_signal = number;
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}

void stop_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	// None of these can fail: the signals exist and may be caught.
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	// A limit on file sizes is to be an error of write(), not the end of the program.
	(void)signal(SIGXFSZ, SIG_IGN);
	// So is a peer that left: DPDK's virtio_user writes to the socket of one that may be gone.
	(void)signal(SIGPIPE, SIG_IGN);
}
