// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sender/sender_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/counter.h"
#include "base/error_line.h"
#include "base/tick_clock.h"
#include "readout/segment_head.h"
#include "sender/sender_reach.h"

#define DATA_SOCKETS  64u // at most; a source has one of them
#define SEND_BUFFER   (4 << 20)
#define FRAMES_MOST   256u
#define FRAME_SIZE    9216u
#define NS_PER_SECOND 1000000000u

struct sender_sockets {
	struct sender_sockets_parameters parameters;
	int control; // -1: none
	int data[DATA_SOCKETS];
	unsigned n_data;
	struct receivers receivers;
	struct mmsghdr messages[SENDER_SEGMENTS];
	struct iovec parts[SENDER_SEGMENTS][2];
	uint8_t frame[FRAME_SIZE];
	struct sender_sockets_counters counters;
};

static struct sockaddr_in address_of(uint32_t address, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(address),
	};
}

// --- data ---

static struct receiver *receiver_of(const struct sender_sockets *sockets,
				    const struct sender_segment *segment)
{
	return &sockets->receivers.list[segment->receiver];
}

static int socket_of(const struct sender_sockets *sockets, const struct sender_segment *segment)
{
	return sockets->data[segment->source % sockets->n_data];
}

// The number of the first segments that leave by one socket now.
static unsigned batch_of(struct sender_sockets *sockets, const struct sender_segment *segments,
			 unsigned n, uint64_t now)
{
	unsigned same = 0;

	if (receiver_of(sockets, segments)->reach != REACH_KNOWN)
		return receiver_of(sockets, segments)->reach != REACH_WAITS;
	while (same < n &&
	       receivers_reach(&sockets->receivers, receiver_of(sockets, &segments[same]), now) ==
		   REACH_KNOWN &&
	       socket_of(sockets, &segments[same]) == socket_of(sockets, segments))
		same++;
	return same;
}

static void fill(struct sender_sockets *sockets, const struct sender_segment *segment, unsigned i)
{
	union {
		const uint8_t *read_only;
		void *address;
	} head = { .read_only = segment->head }, payload = { .read_only = segment->payload };

	sockets->parts[i][0] = (struct iovec){ head.address, segment->head_size };
	sockets->parts[i][1] = (struct iovec){ payload.address, segment->payload_size };
	sockets->messages[i].msg_hdr = (struct msghdr){
		.msg_name = &receiver_of(sockets, segment)->address,
		.msg_namelen = sizeof(struct sockaddr_in),
		.msg_iov = sockets->parts[i],
		.msg_iovlen = segment->payload_size > 0 ? 2 : 1,
	};
}

// Sends a batch by a socket; returns how many segments are sent or given up. A datagram that the
// kernel refuses for another reason than a full buffer is lost, as one in the network.
static unsigned send_batch(struct sender_sockets *sockets, int file,
			   const struct sender_segment *segments, unsigned n)
{
	struct sender_sockets_counters *counters = &sockets->counters;
	uint64_t bytes = 0;
	int sent;

	for (unsigned i = 0; i < n; i++)
		fill(sockets, &segments[i], i);
	sent = sendmmsg(file, sockets->messages, n, MSG_DONTWAIT);
	if (sent < 0) {
		if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR ||
		    receivers_read_errors(&sockets->receivers, file) > 0)
			return 0;
		counter_add(&counters->not_sent, 1);
		return 1;
	}
	for (int i = 0; i < sent; i++)
		bytes += sockets->messages[i].msg_len;
	counter_add(&counters->datagrams, (unsigned)sent);
	counter_add(&counters->bytes, bytes);
	return (unsigned)sent;
}

// Sends the first segments that leave together. *batch: their number; returns how many are done.
static unsigned send_first(struct sender_sockets *sockets, const struct sender_segment *segments,
			   unsigned n, unsigned *batch, uint64_t now)
{
	struct receiver *receiver = receiver_of(sockets, segments);
	int file = socket_of(sockets, segments);
	unsigned sent;

	*batch = batch_of(sockets, segments, n, now);
	if (*batch == 0)
		return 0;
	if (receiver->reach != REACH_KNOWN) {
		(void)receivers_read_errors(&sockets->receivers, file);
		file = receiver_asks_by(receiver, file);
	}
	sent = send_batch(sockets, file, segments, *batch);
	for (unsigned i = 0; i < sent; i++)
		receiver_note(receiver_of(sockets, &segments[i]), now);
	return sent;
}

static unsigned send_segments(void *context, const struct sender_segment *segments, unsigned n)
{
	struct sender_sockets *sockets = context;
	const uint64_t now = tick_clock_monotonic_ns();
	unsigned done = 0, batch = 1, sent = 1;

	while (done < n && batch > 0 && sent == batch) {
		struct receiver *receiver = receiver_of(sockets, &segments[done]);

		(void)receivers_reach(&sockets->receivers, receiver, now);
		if (receiver_is_given_up(receiver)) {
			counter_add(&sockets->counters.not_sent, 1);
			done++;
			continue;
		}
		sent = send_first(sockets, &segments[done], n - done, &batch, now);
		done += sent;
	}
	return done;
}

// --- the control protocol ---

static bool send_frame(void *context, unsigned node, const uint8_t *bytes, size_t size)
{
	struct sender_sockets *sockets = context;
	const struct sender_sockets_parameters *p = &sockets->parameters;
	const struct sockaddr_in to = address_of(p->system->nodes[node].address, p->control_port);
	const ssize_t sent = sendto(sockets->control, bytes, size, MSG_DONTWAIT,
				    (const struct sockaddr *)&to, sizeof(to));

	return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

unsigned sender_sockets_receive(struct sender_sockets *sockets, struct sender_core *core)
{
	unsigned n = 0;

	for (; sockets->control >= 0 && n < FRAMES_MOST; n++) {
		struct sockaddr_in from;
		socklen_t length = sizeof(from);
		const ssize_t size = recvfrom(sockets->control, sockets->frame, FRAME_SIZE,
					      MSG_DONTWAIT, (struct sockaddr *)&from, &length);

		if (size < 0)
			break;
		// The vote of this node is counted from a time after the request has arrived.
		sender_core_receive(core, ntohl(from.sin_addr.s_addr), sockets->frame, (size_t)size,
				    tick_clock_monotonic_ns());
	}
	return n;
}

void sender_sockets_sleep(const struct sender_sockets *sockets, uint64_t ns)
{
	struct pollfd readable = { .fd = sockets->control, .events = POLLIN };
	const struct timespec time = { (time_t)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND) };

	(void)!ppoll(&readable, 1, &time, NULL);
}

// --- opening ---

static int open_socket(uint32_t address, uint16_t port, uint8_t dscp, bool data)
{
	const struct sockaddr_in own = address_of(address, port);
	const int tos = dscp << 2, buffer = SEND_BUFFER, no_fragments = IP_PMTUDISC_DO;
	const int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (file < 0)
		return -1;
	(void)setsockopt(file, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	(void)setsockopt(file, IPPROTO_IP, IP_MTU_DISCOVER, &no_fragments, sizeof(no_fragments));
	(void)setsockopt(file, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	(void)setsockopt(file, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (data)
		receivers_prepare(file);
	if (bind(file, (const struct sockaddr *)&own, sizeof(own)) == 0)
		return file;
	close(file);
	return -1;
}

static int fail(const struct sender_sockets *sockets, char *error, uint16_t port)
{
	const struct in_addr address = { .s_addr = htonl(sockets->parameters.address) };
	const int why = errno;
	char text[INET_ADDRSTRLEN];

	(void)inet_ntop(AF_INET, &address, text, sizeof(text));
	if (why == EADDRNOTAVAIL)
		return error_line(error, SENDER_SOCKETS_ERROR,
				  "%s is not an address of this machine: give it to an interface",
				  text);
	return error_line(error, SENDER_SOCKETS_ERROR, "no UDP socket at %s:%u: %s", text, port,
			  strerror(why));
}

// Another socket may have the port of a source: the kernel then chooses one.
static int open_data(struct sender_sockets *sockets, char *error)
{
	const struct sender_sockets_parameters *p = &sockets->parameters;
	const unsigned n = p->n_sources < DATA_SOCKETS ? p->n_sources : DATA_SOCKETS;

	for (; sockets->n_data < n; sockets->n_data++) {
		int *file = &sockets->data[sockets->n_data];

		*file = open_socket(p->address, (uint16_t)(SEGMENT_SOURCE_PORT + sockets->n_data),
				    p->data_dscp, true);
		if (*file < 0)
			*file = open_socket(p->address, 0, p->data_dscp, true);
		if (*file < 0)
			return fail(sockets, error, 0);
	}
	return 0;
}

static int open_all(struct sender_sockets *sockets, char *error)
{
	const struct sender_sockets_parameters *p = &sockets->parameters;

	if (!receivers_make(&sockets->receivers, p->n_receivers, &sockets->counters.not_sent))
		return error_line(error, SENDER_SOCKETS_ERROR, "out of memory");
	for (unsigned i = 0; i < p->n_receivers; i++)
		sockets->receivers.list[i].address =
		    address_of(p->receivers[i].address, p->receivers[i].udp_port);
	if (open_data(sockets, error) != 0)
		return -1;
	if (p->system == NULL)
		return 0;
	sockets->control = open_socket(p->address, p->control_port, p->control_dscp, false);
	return sockets->control >= 0 ? 0 : fail(sockets, error, p->control_port);
}

struct sender_sockets *sender_sockets_open(const struct sender_sockets_parameters *parameters,
					   char *error)
{
	struct sender_sockets *sockets = calloc(1, sizeof(*sockets));

	if (sockets == NULL) {
		(void)error_line(error, SENDER_SOCKETS_ERROR, "out of memory");
		return NULL;
	}
	sockets->parameters = *parameters;
	sockets->control = -1;
	if (open_all(sockets, error) == 0)
		return sockets;
	sender_sockets_close(sockets);
	return NULL;
}

void sender_sockets_close(struct sender_sockets *sockets)
{
	if (sockets == NULL)
		return;
	for (unsigned i = 0; i < sockets->n_data; i++)
		close(sockets->data[i]);
	if (sockets->control >= 0)
		close(sockets->control);
	receivers_free(&sockets->receivers);
	free(sockets);
}

struct sender_wire sender_sockets_wire(struct sender_sockets *sockets)
{
	return (struct sender_wire){
		.context = sockets,
		.send_frame = send_frame,
		.send = send_segments,
	};
}

const struct sender_sockets_counters *sender_sockets_counters(const struct sender_sockets *sockets)
{
	return &sockets->counters;
}
