// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A readout node as anybody would write it with librdmacm and libibverbs: connects to evb, one
// connection a file, and sends each file's MFPs, one a message, in the order of the file. When evb
// disconnects or does not respond any more, it connects again and goes on with the first message
// that was not acknowledged: evb drops what it has already. It shares no code with evb: the tests
// run it on kernel rxe.
//
//   verbs_mfp send|send_imm|write|write_imm ADDRESS PORT FILE...
//
// Where to WRITE evb says in the private data of its reply: 64-bit address, rkey, size, big-endian.
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH         16 // messages posted and not completed
#define ACK_TIMEOUT   16 // 268 ms: rdma_cm's own guess is seconds
#define RESOLVE_MS    5000
#define MFP_HEADER    20
#define LENGTH_IN_MFP 4 // u32, little-endian
#define RETRIES       6 // 1.9 s in all. 7 is for ever on Linux: a restart of evb would not be noticed
#define FOR_EVER      7
#define ATTEMPTS      300 // to connect
#define PAUSE_US      200000

struct operation {
	const char *name;
	enum ibv_wr_opcode opcode;
};

static const struct operation operations[] = {
	{ "send", IBV_WR_SEND },
	{ "send_imm", IBV_WR_SEND_WITH_IMM },
	{ "write", IBV_WR_RDMA_WRITE },
	{ "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM },
};

// One connection and its file.
struct stream {
	struct rdma_cm_id *id;
	struct ibv_mr *memory;
	struct ibv_cq *queue;
	uint8_t *bytes;
	size_t size, next; // offset of the next MFP
	size_t oldest;     // offset of the first that is not acknowledged
	unsigned outstanding, messages;
	unsigned connections;
	uint64_t address; // where evb takes WRITEs
	uint32_t rkey;
	uint32_t room;
};

static int fail(const char *what)
{
	fprintf(stderr, "verbs_mfp: %s: %s\n", what, strerror(errno));
	return -1;
}

static int map_file(struct stream *stream, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (file < 0 || fstat(file, &status) != 0)
		return fail(path);
	stream->size = (size_t)status.st_size;
	stream->bytes = mmap(NULL, stream->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	close(file);
	return stream->bytes != MAP_FAILED ? 0 : fail(path);
}

// Without a message: evb may be about to start.
static int resolve(struct stream *stream, const struct rdma_addrinfo *to)
{
	uint8_t timeout = ACK_TIMEOUT;

	if (rdma_create_id(NULL, &stream->id, NULL, RDMA_PS_TCP) != 0)
		return -1;
	return rdma_set_option(stream->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			       sizeof(timeout)) != 0 ||
		       rdma_resolve_addr(stream->id, NULL, to->ai_dst_addr, RESOLVE_MS) != 0 ||
		       rdma_resolve_route(stream->id, RESOLVE_MS) != 0
		   ? -1
		   : 0;
}

static void take_offer(struct stream *stream)
{
	const struct rdma_conn_param *told = &stream->id->event->param.conn;
	const uint8_t *data = told->private_data;

	if (data == NULL || told->private_data_len < 16)
		return;
	memcpy(&stream->address, data, 8);
	memcpy(&stream->rkey, data + 8, 4);
	memcpy(&stream->room, data + 12, 4);
	stream->address = be64toh(stream->address);
	stream->rkey = be32toh(stream->rkey);
	stream->room = be32toh(stream->room);
}

static int request_connection(struct stream *stream)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct rdma_conn_param parameters = { .retry_count = RETRIES, .rnr_retry_count = FOR_EVER };

	stream->queue = ibv_create_cq(stream->id->verbs, DEPTH, NULL, NULL, 0);
	if (stream->queue == NULL)
		return -1;
	attributes.send_cq = stream->queue;
	attributes.recv_cq = stream->queue;
	if (rdma_create_qp(stream->id, NULL, &attributes) != 0)
		return -1;
	stream->memory = ibv_reg_mr(stream->id->pd, stream->bytes, stream->size, 0);
	if (stream->memory == NULL || rdma_connect(stream->id, &parameters) != 0)
		return -1;
	take_offer(stream);
	return 0;
}

static void leave(struct stream *stream)
{
	if (stream->id == NULL)
		return;
	if (stream->memory != NULL)
		ibv_dereg_mr(stream->memory);
	if (stream->id->qp != NULL)
		rdma_destroy_qp(stream->id);
	if (stream->queue != NULL)
		ibv_destroy_cq(stream->queue);
	rdma_destroy_id(stream->id);
	stream->id = NULL;
	stream->memory = NULL;
	stream->queue = NULL;
}

// Connects, again if need be: what was not acknowledged is sent again.
static int connect_to(struct stream *stream, const struct rdma_addrinfo *to)
{
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		leave(stream);
		if (resolve(stream, to) == 0 && request_connection(stream) == 0) {
			printf("connected: address %llx, rkey %x, room %u\n",
			       (unsigned long long)stream->address, stream->rkey, stream->room);
			fflush(stdout);
			stream->next = stream->oldest;
			stream->outstanding = 0;
			stream->connections++;
			return 0;
		}
		usleep(PAUSE_US);
	}
	return fail("rdma_connect");
}

// Whether evb has ended the connection.
static bool is_disconnected(const struct stream *stream)
{
	struct pollfd waits = { .fd = stream->id->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	bool ended;

	if (poll(&waits, 1, 0) <= 0 || rdma_get_cm_event(stream->id->channel, &event) != 0)
		return false;
	ended = event->event == RDMA_CM_EVENT_DISCONNECTED;
	rdma_ack_cm_event(event);
	return ended;
}

// The length of the MFP at an offset; 0 if there is none.
static uint32_t mfp_length(const struct stream *stream, size_t at)
{
	uint32_t length;

	if (stream->size - at < MFP_HEADER)
		return 0;
	memcpy(&length, stream->bytes + at + LENGTH_IN_MFP, sizeof(length));
	length = le32toh(length);
	return length <= stream->size - at ? length : 0;
}

static int post(struct stream *stream, enum ibv_wr_opcode opcode)
{
	uint32_t length = mfp_length(stream, stream->next);
	struct ibv_sge piece = {
		.addr = (uintptr_t)stream->bytes + stream->next,
		.length = length,
		.lkey = stream->memory->lkey,
	};
	struct ibv_send_wr request = {
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(stream->messages + stream->outstanding),
		.wr.rdma = { .remote_addr = stream->address, .rkey = stream->rkey },
	};
	struct ibv_send_wr *bad;

	if (length == 0) {
		fprintf(stderr, "verbs_mfp: no MFP at byte %zu of a file\n", stream->next);
		return -1;
	}
	errno = ibv_post_send(stream->id->qp, &request, &bad);
	if (errno != 0)
		return fail("ibv_post_send");
	stream->next += length;
	stream->outstanding++;
	return 0;
}

// Takes what is completed, in the order posted. False if the connection has failed.
static bool reap(struct stream *stream)
{
	struct ibv_wc done[DEPTH];
	int n = ibv_poll_cq(stream->queue, DEPTH, done);

	for (int i = 0; i < n; i++) {
		if (done[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "verbs_mfp: a message failed: %s\n",
				ibv_wc_status_str(done[i].status));
			return false;
		}
		stream->oldest += mfp_length(stream, stream->oldest);
		stream->outstanding--;
		stream->messages++;
	}
	return n >= 0;
}

static bool is_done(const struct stream *stream)
{
	return stream->next == stream->size && stream->outstanding == 0;
}

// All streams in turn, one message each.
static int send_all(struct stream *streams, unsigned n, enum ibv_wr_opcode opcode,
		    const struct rdma_addrinfo *to)
{
	unsigned done;

	do {
		done = 0;
		for (unsigned i = 0; i < n; i++) {
			struct stream *stream = &streams[i];

			if (stream->next < stream->size && stream->outstanding < DEPTH &&
			    post(stream, opcode) != 0)
				return -1;
			if ((!reap(stream) || is_disconnected(stream)) && !is_done(stream) &&
			    connect_to(stream, to) != 0)
				return -1;
			done += is_done(stream);
		}
	} while (done < n);
	return 0;
}

static const struct operation *find_operation(const char *name)
{
	for (unsigned i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (strcmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct operation *operation = argc > 4 ? find_operation(argv[1]) : NULL;
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_qp_type = IBV_QPT_RC };
	unsigned n, messages = 0, connections = 0;
	struct rdma_addrinfo *to;
	struct stream *streams;

	if (operation == NULL) {
		fprintf(stderr,
			"usage: verbs_mfp send|send_imm|write|write_imm ADDRESS PORT FILE...\n");
		return 2;
	}
	n = (unsigned)argc - 4;
	streams = calloc(n, sizeof(*streams));
	if (streams == NULL || rdma_getaddrinfo(argv[2], argv[3], &hints, &to) != 0)
		return 1;
	for (unsigned i = 0; i < n; i++)
		if (map_file(&streams[i], argv[4 + i]) != 0 || connect_to(&streams[i], to) != 0)
			return 1;
	if (send_all(streams, n, operation->opcode, to) != 0)
		return 1;
	for (unsigned i = 0; i < n; i++) {
		messages += streams[i].messages;
		connections += streams[i].connections;
		rdma_disconnect(streams[i].id);
	}
	printf("sent: %u messages over %u connections\n", messages, connections);
	rdma_freeaddrinfo(to);
	free(streams);
	return 0;
}
