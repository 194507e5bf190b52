// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The other end for programs of rdma-core and perftest, by evb's RoCE engines:
//
//   rdma_server rping DEVICE ADDRESS PORT      for `rping -c`
//   rdma_server perftest DEVICE ADDRESS PORT   for `ib_send_bw -R` and `ib_write_bw -R` as clients
//
// rping: the client SENDs where its buffer is (u64 address, u32 rkey, u32 size, big-endian); we
// READ it and SEND any 16 bytes; it SENDs where its other buffer is; we WRITE there what we read,
// and SEND again. The client compares.
//
// perftest: the client opens a connection for its own messages and then one for data. Whatever it
// SENDs on the first it wants in the same form from us, version, path MTU and queue pairs: it gets
// its own words back. On the second data comes, which nobody answers.
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "roce_host.h"

#define INFO_SIZE 16u
#define COPIES    16u // of messages that are sent back and not acknowledged

static sig_atomic_t stop;

// --- rping ---

struct ping {
	uint8_t *data; // what was read
	uint32_t size;
	bool has_read; // the client's other buffer is next
	uint8_t go[INFO_SIZE];
};

static void ping_connected(struct host_connection *connection)
{
	printf("connected %u\n", connection->number);
}

static void send_go(struct host_connection *connection, struct ping *ping)
{
	const struct requester_message go = { .operation = REQUESTER_SEND, .length = INFO_SIZE };

	(void)host_post(connection, &go, ping->go); // the client waits then, which the test sees
}

static void ping_received(struct host_connection *connection, const uint8_t *bytes, uint32_t size)
{
	struct ping *ping = connection->state;
	struct requester_message message = { .operation = REQUESTER_READ };

	if (ping == NULL) {
		ping = connection->state = calloc(1, sizeof(*ping));
		if (ping != NULL)
			ping->data = malloc(HOST_RECEIVE);
	}
	if (size != INFO_SIZE || ping == NULL || ping->data == NULL)
		return;
	message.address = load_be64(bytes);
	message.rkey = load_be32(bytes + 8);
	message.length = load_be32(bytes + 12);
	if (message.length > HOST_RECEIVE)
		return;
	if (ping->has_read) {
		message.operation = REQUESTER_WRITE;
		message.length = ping->size;
	}
	ping->size = message.length;
	(void)host_post(connection, &message, ping->data);
}

static void ping_done(struct host_connection *connection, const struct requester_completion *what)
{
	struct ping *ping = connection->state;

	if (ping == NULL || what->cause != QP_NO_CAUSE) {
		printf("failed: %s\n", qp_cause_name((enum qp_cause)what->cause));
		return;
	}
	if (what->operation == REQUESTER_SEND)
		return;
	ping->has_read = what->operation == REQUESTER_READ;
	send_go(connection, ping);
}

static void ping_gone(struct host_connection *connection)
{
	struct ping *ping = connection->state;

	printf("gone %u\n", connection->number);
	if (ping != NULL)
		free(ping->data);
	free(ping);
}

static const struct host_program rping = { ping_connected, ping_received, ping_done, ping_gone };

// --- perftest ---

struct echo {
	uint8_t copies[COPIES][256];
	unsigned n;
};

static void test_connected(struct host_connection *connection)
{
	printf("connected %u\n", connection->number);
}

static void test_received(struct host_connection *connection, const uint8_t *bytes, uint32_t size)
{
	const struct requester_message message = { .operation = REQUESTER_SEND, .length = size };
	struct echo *echo = connection->state;
	uint8_t *copy;

	if (connection->number > 0)
		return;
	if (echo == NULL)
		echo = connection->state = calloc(1, sizeof(*echo));
	if (echo == NULL || size > sizeof(echo->copies[0]))
		return;
	copy = echo->copies[echo->n++ % COPIES];
	memcpy(copy, bytes, size);
	(void)host_post(connection, &message, copy);
}

static void test_done(struct host_connection *connection, const struct requester_completion *what)
{
	if (what->cause != QP_NO_CAUSE)
		printf("failed %u: %s\n", connection->number,
		       qp_cause_name((enum qp_cause)what->cause));
}

static void test_gone(struct host_connection *connection)
{
	const struct qp_counters *counters =
	    connection->qp != NULL ? &connection->qp->counters : NULL;

	if (counters != NULL)
		printf("gone %u: %llu messages, %llu bytes\n", connection->number,
		       (unsigned long long)counters->messages, (unsigned long long)counters->bytes);
	free(connection->state);
}

static const struct host_program perftest = { test_connected, test_received, test_done, test_gone };

static void ask_to_stop(int number)
{
	(void)number;
	stop = 1;
}

int main(int argc, char **argv)
{
	const struct host_program *program = argc == 5 && strcmp(argv[1], "rping") == 0 ? &rping
					     : argc == 5 && strcmp(argv[1], "perftest") == 0
						 ? &perftest
						 : NULL;
	struct in_addr address;
	struct host *host;

	if (program == NULL || inet_pton(AF_INET, argv[3], &address) != 1) {
		fprintf(stderr, "usage: rdma_server rping|perftest DEVICE ADDRESS PORT\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, ask_to_stop);
	signal(SIGINT, ask_to_stop);
	host = host_open(argv[2], ntohl(address.s_addr), (uint16_t)atoi(argv[4]), program);
	if (host == NULL)
		return 1;
	printf("ready\n");
	while (!stop)
		host_poll(host);
	host_close(host);
	return 0;
}
