// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Stands between nodes and their bridge, in the place of a wire each: passes all frames on both
// ways, but for what it is told to do to them. Frames to the control port may be lost, doubled and
// delayed, so that others overtake them; wires may be cut. The seed gives the row of what is drawn.
//
//   injector CONTROL_PORT SEED NODE_DEVICE:BRIDGE_DEVICE...
//
// Commands are lines of the standard input; N is a wire, from 0, in the order of the arguments:
//
//   lose SHARE                 of the control frames that come from nodes
//   double SHARE               of them
//   delay SHARE MICROSECONDS   of them, each up to so long
//   lose-shared SHARE          of the control frames by multicast, on the way to each node
//   cut N from|to              nothing passes any more from the node, or to it
//   join N                     it does again
//   count
//
// Each is answered, once it holds, by a line: a JSON object with what has been done so far. At the
// end of the input it ends.
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire/ctrl.h"
#include "wire/net.h"

#define WIRES_MOST   16u
#define FRAME_MOST   65536u
#define DELAYED_MOST 1024u
#define BURST        64u // frames of one socket in a row
#define BUFFER_SIZE  (16 << 20)
#define LINE_SIZE    128
#define NS_PER_S     1000000000ll
#define EPOCH_AT     12u // in a control frame

enum side { NODE, BRIDGE };

struct wire {
	int sockets[2];   // by side
	bool cut[2];      // what comes from that side
	uint32_t epoch;   // highest that the node has named
	uint64_t control; // frames from the node
	uint64_t passed;
};

struct delayed {
	int64_t due; // ns; 0: unused
	uint64_t passed_before;
	struct wire *wire;
	size_t size;
	uint8_t *bytes;
};

struct injector {
	struct wire wires[WIRES_MOST];
	unsigned n_wires;
	uint16_t control_port;
	uint64_t random;
	double lose, lose_shared, duplicate, delay;
	int64_t delay_ns;
	struct delayed delayed[DELAYED_MOST];
	uint8_t frame[FRAME_MOST];
	// frames; `overtaken` are those of the delayed that left behind a later one
	uint64_t control, lost, doubled, late, overtaken, cut, other, unsent;
	uint64_t shared, shared_lost; // on the way to nodes
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

// 0 to 1, by xorshift64*.
static double draw(struct injector *injector)
{
	uint64_t x = injector->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	injector->random = x;
	return (double)((x * UINT64_C(0x2545F4914F6CDD1D)) >> 11) / (double)(UINT64_C(1) << 53);
}

// --- passing on ---

static void pass(struct injector *injector, struct wire *wire, enum side to, const uint8_t *bytes,
		 size_t size)
{
	if (send(wire->sockets[to], bytes, size, 0) != (ssize_t)size)
		injector->unsent++;
	wire->passed += to == BRIDGE;
}

static void put_off(struct injector *injector, struct wire *wire, size_t size)
{
	int64_t due = now_ns() + 1 + (int64_t)(draw(injector) * (double)injector->delay_ns);

	for (unsigned i = 0; i < DELAYED_MOST; i++) {
		struct delayed *delayed = &injector->delayed[i];
		uint8_t *bytes = delayed->due == 0 ? malloc(size) : NULL;

		if (bytes == NULL)
			continue;
		memcpy(bytes, injector->frame, size);
		*delayed = (struct delayed){ .due = due,
					     .passed_before = wire->passed,
					     .wire = wire,
					     .size = size,
					     .bytes = bytes };
		injector->late++;
		return;
	}
	pass(injector, wire, BRIDGE, injector->frame, size);
}

static void pass_delayed(struct injector *injector)
{
	int64_t now = now_ns();

	for (unsigned i = 0; i < DELAYED_MOST; i++) {
		struct delayed *delayed = &injector->delayed[i];

		if (delayed->due == 0 || delayed->due > now)
			continue;
		injector->overtaken += delayed->wire->passed > delayed->passed_before;
		if (delayed->wire->cut[NODE])
			injector->cut++;
		else
			pass(injector, delayed->wire, BRIDGE, delayed->bytes, delayed->size);
		free(delayed->bytes);
		delayed->due = 0;
	}
}

// How long until the next delayed frame is due: ms, -1: there is none.
static int next_due(const struct injector *injector)
{
	int64_t next = INT64_MAX;

	for (unsigned i = 0; i < DELAYED_MOST; i++)
		if (injector->delayed[i].due != 0 && injector->delayed[i].due < next)
			next = injector->delayed[i].due;
	if (next == INT64_MAX)
		return -1;
	next -= now_ns();
	return next > 0 ? (int)(next / 1000000) + 1 : 0;
}

// --- frames ---

// The control frame in an Ethernet frame, or NULL.
static const uint8_t *control_in(const struct injector *injector, size_t size)
{
	struct net_frame frame;

	if (net_parse(injector->frame, size, size, 0, &frame) != WIRE_OK ||
	    frame.kind != NET_UDP4 || frame.destination_port != injector->control_port ||
	    frame.payload_size < CTRL_OVERHEAD || frame.payload_offset + frame.payload_size > size)
		return NULL;
	return injector->frame + frame.payload_offset;
}

static void take_control(struct injector *injector, struct wire *wire, const uint8_t *control,
			 size_t size)
{
	uint32_t epoch = load_le32(control + EPOCH_AT);

	injector->control++;
	wire->control++;
	if (epoch > wire->epoch)
		wire->epoch = epoch;
	if (draw(injector) < injector->lose) {
		injector->lost++;
		return;
	}
	if (draw(injector) < injector->duplicate) {
		injector->doubled++;
		pass(injector, wire, BRIDGE, injector->frame, size);
	}
	if (draw(injector) < injector->delay)
		put_off(injector, wire, size);
	else
		pass(injector, wire, BRIDGE, injector->frame, size);
}

// Whether a frame to a node is a control frame by multicast that is to be lost.
static bool loses_shared(struct injector *injector, size_t size)
{
	if ((injector->frame[0] & 1) == 0 || control_in(injector, size) == NULL)
		return false;
	injector->shared++;
	if (draw(injector) >= injector->lose_shared)
		return false;
	injector->shared_lost++;
	return true;
}

static void take(struct injector *injector, struct wire *wire, enum side from)
{
	for (unsigned i = 0; i < BURST; i++) {
		ssize_t size = recv(wire->sockets[from], injector->frame, FRAME_MOST, MSG_DONTWAIT);
		const uint8_t *control;

		if (size < 0)
			return;
		control = from == NODE ? control_in(injector, (size_t)size) : NULL;
		injector->other += from == NODE && control == NULL;
		if (wire->cut[from])
			injector->cut++;
		else if (control != NULL)
			take_control(injector, wire, control, (size_t)size);
		else if (from == NODE || !loses_shared(injector, (size_t)size))
			pass(injector, wire, from == NODE ? BRIDGE : NODE, injector->frame,
			     (size_t)size);
	}
}

// --- commands ---

static uint64_t missed(const struct injector *injector)
{
	static uint64_t all; // the kernel forgets what it has told

	for (unsigned i = 0; i < 2 * injector->n_wires; i++) {
		struct tpacket_stats stats = { 0 };
		socklen_t size = sizeof(stats);

		if (getsockopt(injector->wires[i / 2].sockets[i % 2], SOL_PACKET, PACKET_STATISTICS,
			       &stats, &size) == 0)
			all += stats.tp_drops;
	}
	return all;
}

static void answer(const struct injector *injector)
{
	printf("{\"control\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"doubled\": %" PRIu64
	       ", \"delayed\": %" PRIu64 ", \"overtaken\": %" PRIu64 ", \"cut\": %" PRIu64
	       ", \"other\": %" PRIu64 ", \"unsent\": %" PRIu64 ", \"missed\": %" PRIu64
	       ", \"shared\": %" PRIu64 ", \"shared_lost\": %" PRIu64 ", \"epochs\": [",
	       injector->control, injector->lost, injector->doubled, injector->late,
	       injector->overtaken, injector->cut, injector->other, injector->unsent,
	       missed(injector), injector->shared, injector->shared_lost);
	for (unsigned i = 0; i < injector->n_wires; i++)
		printf("%s%" PRIu32, i > 0 ? ", " : "", injector->wires[i].epoch);
	printf("], \"frames\": [");
	for (unsigned i = 0; i < injector->n_wires; i++)
		printf("%s%" PRIu64, i > 0 ? ", " : "", injector->wires[i].control);
	printf("]}\n");
	fflush(stdout);
}

static bool obey(struct injector *injector, const char *line)
{
	char side[8];
	unsigned wire, microseconds;

	if (sscanf(line, "lose %lf", &injector->lose) == 1 ||
	    sscanf(line, "lose-shared %lf", &injector->lose_shared) == 1 ||
	    sscanf(line, "double %lf", &injector->duplicate) == 1 || strcmp(line, "count") == 0)
		return true;
	if (sscanf(line, "delay %lf %u", &injector->delay, &microseconds) == 2) {
		injector->delay_ns = microseconds * INT64_C(1000);
		return true;
	}
	if (sscanf(line, "cut %u %7s", &wire, side) == 2 && wire < injector->n_wires) {
		injector->wires[wire].cut[strcmp(side, "from") == 0 ? NODE : BRIDGE] = true;
		return true;
	}
	if (sscanf(line, "join %u", &wire) != 1 || wire >= injector->n_wires)
		return false;
	injector->wires[wire].cut[NODE] = injector->wires[wire].cut[BRIDGE] = false;
	return true;
}

// False at the end of the input. Lines come one at a time: each is answered before the next.
static bool take_command(struct injector *injector)
{
	char line[LINE_SIZE];
	ssize_t size = read(STDIN_FILENO, line, sizeof(line) - 1);

	if (size <= 0)
		return false;
	line[size] = 0;
	line[strcspn(line, "\n")] = 0;
	if (!obey(injector, line)) {
		fprintf(stderr, "no such command: %s\n", line);
		return false;
	}
	answer(injector);
	return true;
}

// --- the whole ---

static int open_socket(const char *device)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_ALL),
				       .sll_ifindex = (int)if_nametoindex(device) };
	int on = 1, size = BUFFER_SIZE;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		fprintf(stderr, "%s: %s\n", device, strerror(errno));
		exit(1);
	}
	return fd;
}

static void add_wire(struct injector *injector, char *devices)
{
	char *bridge = strchr(devices, ':');

	if (bridge == NULL || injector->n_wires == WIRES_MOST) {
		fprintf(stderr, "at most %u NODE_DEVICE:BRIDGE_DEVICE\n", WIRES_MOST);
		exit(1);
	}
	*bridge++ = 0;
	injector->wires[injector->n_wires].sockets[NODE] = open_socket(devices);
	injector->wires[injector->n_wires++].sockets[BRIDGE] = open_socket(bridge);
}

static void run(struct injector *injector)
{
	struct pollfd polls[1 + 2 * WIRES_MOST] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	const unsigned n = 1 + 2 * injector->n_wires;

	for (unsigned i = 1; i < n; i++)
		polls[i] = (struct pollfd){ .fd = injector->wires[(i - 1) / 2].sockets[(i - 1) % 2],
					    .events = POLLIN };
	for (;;) {
		if (poll(polls, n, next_due(injector)) < 0 && errno != EINTR)
			return;
		pass_delayed(injector);
		for (unsigned i = 1; i < n; i++)
			if (polls[i].revents != 0)
				take(injector, &injector->wires[(i - 1) / 2],
				     (i - 1) % 2 == NODE ? NODE : BRIDGE);
		if (polls[0].revents != 0 && !take_command(injector))
			return;
	}
}

int main(int argc, char **argv)
{
	static struct injector injector;

	if (argc < 4) {
		fprintf(stderr, "usage: %s CONTROL_PORT SEED NODE_DEVICE:BRIDGE_DEVICE...\n",
			argv[0]);
		return 1;
	}
	injector.control_port = (uint16_t)strtoul(argv[1], NULL, 10);
	injector.random = strtoull(argv[2], NULL, 10) * 2 + 1; // not 0
	for (int i = 3; i < argc; i++)
		add_wire(&injector, argv[i]);
	answer(&injector);
	run(&injector);
	return 0;
}
