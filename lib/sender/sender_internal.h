// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state of a sender: sender.c is the side of its user, sender_thread.c that of its thread.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "producer/evb_producer.h"
#include "sender/sender_plan.h"

struct evb_sender {
	struct sender_plan plan;
	struct block_store *store;
	struct sender_sockets *sockets;
	struct sender_core *core;
	struct evb_producer *producer; // the user's side of the store's ring

	pthread_t thread;
	bool has_thread, has_lock;
	atomic_bool closing;

	// Under the lock
	pthread_mutex_t lock;
	pthread_cond_t over; // state.over has become true
	struct evb_sender_state state;
	char why[CONFIG_ERROR_SIZE]; // the reason of a refusal; empty: none

	const char *error; // the user's last
	char text[SENDER_ERROR_SIZE];
};

// The thread of the sender, until the sender is closed.
void *sender_thread(void *context);
