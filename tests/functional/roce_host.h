// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An RDMA host in user space for the programs of the tests: the engines of lib/roce on a raw
// socket. Peers connect by RDMA CM; a program is told of their SENDs, and posts messages. What is
// WRITTEN to it is taken and forgotten, wherever it goes.
#pragma once

#include "roce/connection.h"
#include "roce/requester.h"

#define HOST_RECEIVE 1048576u // bytes of a SEND at most

struct host;

struct host_connection {
	struct host *host;
	struct queue_pair *qp;
	unsigned number; // counts from 0; begins anew when none is left
	uint32_t id;
	uint32_t received; // bytes of the SEND under way
	uint8_t *buffer;
	void *state; // the program's
};

struct host_program {
	void (*connected)(struct host_connection *connection);
	// A whole SEND; its bytes stay until the next one's.
	void (*received)(struct host_connection *connection, const uint8_t *bytes, uint32_t size);
	// A message of ours is done, or failed.
	void (*done)(struct host_connection *connection, const struct requester_completion *what);
	void (*gone)(struct host_connection *connection);
};

// Listens to RDMA_PS_TCP port `port` at an IPv4 address (host order) that the kernel does not have,
// on a device. NULL with a line on the standard error.
struct host *host_open(const char *device, uint32_t address, uint16_t port,
		       const struct host_program *program);
void host_close(struct host *host);

// Does what there is to do; waits at most a millisecond for packets.
void host_poll(struct host *host);

// Posts a message whose payload is at, or goes to, `memory`. False if there is no room.
bool host_post(struct host_connection *connection, const struct requester_message *message,
	       uint8_t *memory);
