// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "replay_roce.h"

#include <stdio.h>

#include "builder/assembly.h"
#include "compose.h"
#include "wire/mep.h"

#define OWN_ADDRESS "10.0.0.2" // of the port in memory
#define PORT_MTU    9000       // of the port in memory

#define SPARE_SLOTS     64u // in addition to twice the number of simultaneously open events
#define MOST_SLOTS      4096u
#define RING_BYTES      (2048ull << 20) // largest size of all slots together
#define LEAST_SLOT_SIZE (64u << 10)

static uint64_t count_mfps(const struct roce_capture *capture)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < capture->n_streams; i++)
		n += capture->streams[i].mfps;
	return n;
}

void replay_roce_print(const struct roce_capture *capture, const char *path)
{
	printf("%s: %llu packets, %llu of RoCE messages, %llu repeated; %u connections, "
	       "%llu messages, %llu MFPs of %u sources, %llu events\n",
	       path, (unsigned long long)capture->packets, (unsigned long long)capture->requests,
	       (unsigned long long)capture->repeated, capture->n_streams,
	       (unsigned long long)capture->n_messages, (unsigned long long)count_mfps(capture),
	       capture->n_sources, (unsigned long long)capture->events);
}

bool replay_roce_print_lost(const struct roce_capture *capture, const char *path)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < capture->n_streams; i++)
		lost += capture->streams[i].lost_messages;
	if (lost > 0)
		fprintf(stderr,
			"evb: %s: %llu messages are left out: packets of theirs are not in it\n",
			path, (unsigned long long)lost);
	return lost > 0;
}

static void compose_port(cJSON *root, const struct replay_roce *replay)
{
	compose_text(root, "ports[0].name", "wire");
	if (replay->to == NULL) {
		compose_text(root, "ports[0].profile", "ring");
		compose_text(root, "ports[0].address", OWN_ADDRESS "/24");
		compose_number(root, "ports[0].mtu", PORT_MTU);
		return;
	}
	compose_text(root, "ports[0].profile",
		     replay->profile != NULL ? replay->profile : "af_packet");
	compose_text(root, "ports[0].device", replay->device);
	compose_text(root, "ports[0].address", replay->address);
	compose_text(root, "ports[0].gateway", replay->gateway);
	compose_quantity(root, "ports[0].mtu", replay->mtu);
}

static uint64_t choose_slot_size(uint64_t largest_event, unsigned n_sources, uint32_t packing)
{
	uint64_t size = largest_event +
			n_sources * (uint64_t)(MFP_HEADER_SIZE + MEP_DEFAULT_ALIGN) +
			assembly_smallest_slot(n_sources, packing);

	return size < LEAST_SLOT_SIZE ? LEAST_SLOT_SIZE : size;
}

static uint64_t choose_slots(uint64_t largest_open, uint64_t slot_size)
{
	uint64_t slots = 2 * largest_open + SPARE_SLOTS;

	if (slots > MOST_SLOTS)
		slots = MOST_SLOTS;
	if (slots > RING_BYTES / slot_size)
		slots = RING_BYTES / slot_size;
	return slots > 0 ? slots : 1;
}

void replay_compose_builder(cJSON *root, const struct replay_roce *replay, uint64_t largest_event,
			    uint64_t largest_open, unsigned n_sources, uint32_t packing)
{
	uint64_t slot_size = choose_slot_size(largest_event, n_sources, packing);

	compose_text(root, "builders[0].name", "b0");
	compose_number(root, "builders[0].slots", (double)choose_slots(largest_open, slot_size));
	compose_number(root, "builders[0].slot_size", (double)slot_size);
	compose_number(root, "events.deadline", (double)replay->deadline_ns);
}

void replay_compose_generator(cJSON *root, const struct replay_roce *replay, const char *kind)
{
	compose_text(root, "generators[0].name", "capture");
	compose_text(root, "generators[0].port", "wire");
	compose_text(root, "generators[0].kind", kind);
	compose_text(root, "generators[0].file", replay->capture);
	compose_number(root, "generators[0].speed", replay->speed);
}

// The table must have room for both ends of each connection, and for recently used numbers.
static unsigned choose_queue_pairs(const struct roce_capture *capture)
{
	unsigned n = 1024;

	while (n < 4 * capture->n_streams && n < 65536)
		n *= 2;
	return n;
}

cJSON *replay_roce_compose(const struct replay_roce *replay, const struct roce_capture *capture)
{
	static const uint16_t no_source = 0;
	bool has_sources = capture->n_sources > 0;
	cJSON *root;

	if (replay->to == NULL && !has_sources) {
		fprintf(stderr,
			"evb: capture %s: of its %llu messages none is an MFP: there is nothing to "
			"build (--to sends them)\n",
			replay->capture, (unsigned long long)capture->n_messages);
		return NULL;
	}
	root = compose_make("replay");
	compose_port(root, replay);
	compose_text(root, "transport.kind", "roce");
	compose_number(root, "roce.max_queue_pairs", choose_queue_pairs(capture));
	compose_ids(root, has_sources ? capture->source_ids : &no_source,
		    has_sources ? capture->n_sources : 1);
	compose_number(root, "sources.packing", capture->packing);
	if (replay->to == NULL)
		replay_compose_builder(root, replay, capture->largest_event, capture->largest_open,
				       capture->n_sources, capture->packing);
	replay_compose_generator(root, replay, "roce");
	compose_text(root, "generators[0].destination.address",
		     replay->to != NULL ? replay->to : OWN_ADDRESS);
	compose_text(root, "generators[0].destination.mac", replay->to_mac);
	return root;
}
