// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How many packets the ring of a kernel's packet socket hands over if nobody copies one: a bound of
// all that receive through such a ring, as DPDK's af_packet driver does.
//
//   packet_heads --device NAME [--framesz BYTES] [--blocksz BYTES] [--framecnt N] [--cpu N]
//                [--seconds S] [--warmup S]
//
// The ring's options are those of the driver. It reads the header of each entry, and gives the
// entry back. Somebody else sends; the time counts from the first packet on, after the warm-up. It
// prints "ready" when the socket is bound, and the result in the end. Source: Linux,
// Documentation/networking/packet_mmap.rst, TPACKET_V2.
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "perf_tool.h"

#define WAIT_SECONDS 20   // for the first packet
#define CHECK_POLLS  256u // between two looks at the clock

struct ring {
	struct tpacket_req size;
	uint8_t *memory;
	unsigned next; // entry
	int file;      // the socket, open until the end
};

static struct tpacket2_hdr *entry_of(const struct ring *ring)
{
	unsigned per_block = ring->size.tp_block_size / ring->size.tp_frame_size;

	return (struct tpacket2_hdr *)(void *)(ring->memory +
					       (size_t)(ring->next / per_block) *
						   ring->size.tp_block_size +
					       (size_t)(ring->next % per_block) *
						   ring->size.tp_frame_size);
}

// Takes what is there, at most CHECK_POLLS packets. Returns their number.
static unsigned receive(struct ring *ring, uint64_t *bytes)
{
	for (unsigned n = 0; n < CHECK_POLLS; n++) {
		struct tpacket2_hdr *entry = entry_of(ring);

		if ((__atomic_load_n(&entry->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
			return n;
		*bytes += entry->tp_len;
		__atomic_store_n(&entry->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		if (++ring->next == ring->size.tp_frame_nr)
			ring->next = 0;
	}
	return CHECK_POLLS;
}

static void open_ring(struct ring *ring, const char *device)
{
	const int version = TPACKET_V2, yes = 1;
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(device),
	};
	const size_t size = (size_t)ring->size.tp_block_size * ring->size.tp_block_nr;

	ring->file = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	if (address.sll_ifindex == 0)
		perf_fail("--device: no interface \"%s\"", device);
	if (ring->file < 0 ||
	    setsockopt(ring->file, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
	    setsockopt(ring->file, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) != 0 ||
	    setsockopt(ring->file, SOL_PACKET, PACKET_RX_RING, &ring->size, sizeof(ring->size)) !=
		0)
		perf_fail("a packet socket with a ring of %zu bytes: %s", size, strerror(errno));
	ring->memory =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring->file, 0);
	if (ring->memory == MAP_FAILED ||
	    bind(ring->file, (const struct sockaddr *)&address, sizeof(address)) != 0)
		perf_fail("%s: %s", device, strerror(errno));
}

// Receives until that moment. Returns the number of packets.
static uint64_t receive_until(struct ring *ring, uint64_t end, uint64_t *bytes)
{
	uint64_t packets = 0;

	for (unsigned polls = 0; polls % CHECK_POLLS != 0 || perf_now_ns() < end; polls++)
		packets += receive(ring, bytes);
	return packets;
}

static void measure(struct ring *ring, double seconds, double warmup)
{
	const uint64_t patience = perf_now_ns() + WAIT_SECONDS * 1000000000ull;
	cJSON *result = cJSON_CreateObject();
	uint64_t bytes = 0, start, packets;
	double measured;

	while (receive(ring, &bytes) == 0)
		if (perf_now_ns() > patience)
			perf_fail("no packet came in %d s", WAIT_SECONDS);
	(void)receive_until(ring, perf_now_ns() + (uint64_t)(warmup * 1e9), &bytes);
	bytes = 0;
	start = perf_now_ns();
	packets = receive_until(ring, start + (uint64_t)(seconds * 1e9), &bytes);
	measured = (double)(perf_now_ns() - start) * 1e-9;
	cJSON_AddNumberToObject(result, "packets_per_second", (double)packets / measured);
	cJSON_AddNumberToObject(result, "bytes_per_second", (double)bytes / measured);
	perf_print(result);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "blocksz", required_argument, NULL, 'b' },
		{ "cpu", required_argument, NULL, 'c' },
		{ "device", required_argument, NULL, 'd' },
		{ "framecnt", required_argument, NULL, 'n' },
		{ "framesz", required_argument, NULL, 'f' },
		{ "seconds", required_argument, NULL, 's' },
		{ "warmup", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	struct ring ring = {
		.size = { .tp_block_size = 65536, .tp_frame_size = 2048, .tp_frame_nr = 32768 }
	};
	double seconds = 0.3, warmup = 0.05;
	const char *device = "";
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'b')
			ring.size.tp_block_size =
			    (unsigned)perf_parse_number("blocksz", optarg, 4096);
		else if (option == 'c')
			perf_pin((uint32_t)perf_parse_number("cpu", optarg, 0));
		else if (option == 'd')
			device = optarg;
		else if (option == 'n')
			ring.size.tp_frame_nr = (unsigned)perf_parse_number("framecnt", optarg, 1);
		else if (option == 'f')
			ring.size.tp_frame_size =
			    (unsigned)perf_parse_number("framesz", optarg, 128);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'w')
			warmup = perf_parse_number("warmup", optarg, 0);
		else
			perf_fail("usage: packet_heads --device NAME [OPTION...]");
	}
	if (ring.size.tp_frame_size > ring.size.tp_block_size)
		perf_fail("--framesz: a block of %u bytes has no room for one",
			  ring.size.tp_block_size);
	ring.size.tp_block_nr =
	    ring.size.tp_frame_nr / (ring.size.tp_block_size / ring.size.tp_frame_size);
	open_ring(&ring, device);
	puts("ready");
	fflush(stdout);
	measure(&ring, seconds, warmup);
	return 0;
}
