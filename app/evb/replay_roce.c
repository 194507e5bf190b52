// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "replay_roce.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "builder/assembly.h"
#include "compose.h"
#include "replay_slots.h"
#include "wire/mep.h"

#define OWN_ADDRESS "10.0.0.2" // of the port in memory
#define PORT_MTU    9000       // of the same

static uint64_t count_mfps(const struct roce_capture *capture)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < capture->n_streams; i++)
		n += capture->streams[i].mfps;
	return n;
}

void replay_roce_print(const struct roce_capture *capture, const char *path)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < capture->n_streams; i++)
		lost += capture->streams[i].lost_messages;
	printf("%s: %llu packets, %llu of RoCE messages, %llu repeated; %u connections, "
	       "%llu messages, %llu MFPs of %u sources, %llu events\n",
	       path, (unsigned long long)capture->packets, (unsigned long long)capture->requests,
	       (unsigned long long)capture->repeated, capture->n_streams,
	       (unsigned long long)capture->n_messages, (unsigned long long)count_mfps(capture),
	       capture->n_sources, (unsigned long long)capture->events);
	if (lost > 0)
		printf("%s: %llu messages are left out: packets of theirs are not in it\n", path,
		       (unsigned long long)lost);
}

static cJSON *compose_port(cJSON *root, const struct replay_roce *replay)
{
	cJSON *port = compose_element(root, "ports");

	cJSON_AddStringToObject(port, "name", "wire");
	if (replay->to == NULL) {
		cJSON_AddStringToObject(port, "profile", "ring");
		cJSON_AddStringToObject(port, "address", OWN_ADDRESS "/24");
		cJSON_AddNumberToObject(port, "mtu", PORT_MTU);
		return port;
	}
	cJSON_AddStringToObject(port, "profile",
				replay->profile != NULL ? replay->profile : "af_packet");
	cJSON_AddStringToObject(port, "device", replay->device);
	cJSON_AddStringToObject(port, "address", replay->address);
	if (replay->mtu != NULL)
		cJSON_AddItemToObject(port, "mtu", compose_number(replay->mtu));
	return port;
}

static void compose_builders(cJSON *root, const struct roce_capture *capture,
			     const struct replay_roce *replay)
{
	uint64_t slot_size =
	    replay_slot_size(capture->largest_event, capture->n_sources, capture->packing);
	cJSON *part = compose_element(root, "builders");

	cJSON_AddStringToObject(part, "name", "b0");
	cJSON_AddNumberToObject(part, "slots",
				(double)replay_slots(capture->largest_open, slot_size));
	cJSON_AddNumberToObject(part, "slot_size", (double)slot_size);
	part = cJSON_AddObjectToObject(root, "events");
	cJSON_AddStringToObject(part, "deadline", replay->deadline);
}

// A table with room for both ends of each connection, and the numbers that were used lately.
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
	cJSON *root, *part;
	char name[EVB_NAME_SIZE];

	if (replay->to == NULL && !has_sources) {
		fprintf(stderr,
			"evb: capture %s: of its %llu messages none is an MFP: there is nothing to "
			"build (--to sends them)\n",
			replay->capture, (unsigned long long)capture->n_messages);
		return NULL;
	}
	root = cJSON_CreateObject();
	snprintf(name, sizeof(name), "replay-%d", (int)getpid());
	cJSON_AddStringToObject(root, "name", name);
	compose_port(root, replay);
	part = cJSON_AddObjectToObject(root, "transport");
	cJSON_AddStringToObject(part, "kind", "roce");
	part = cJSON_AddObjectToObject(root, "roce");
	cJSON_AddNumberToObject(part, "max_queue_pairs", choose_queue_pairs(capture));
	part = cJSON_AddObjectToObject(root, "sources");
	cJSON_AddItemToObject(part, "ids",
			      has_sources ? compose_ids(capture->source_ids, capture->n_sources)
					  : compose_ids(&no_source, 1));
	cJSON_AddNumberToObject(part, "packing", capture->packing);
	if (replay->to == NULL)
		compose_builders(root, capture, replay);
	part = compose_element(root, "generators");
	cJSON_AddStringToObject(part, "name", "capture");
	cJSON_AddStringToObject(part, "port", "wire");
	cJSON_AddStringToObject(part, "kind", "roce");
	cJSON_AddStringToObject(part, "file", replay->capture);
	cJSON_AddNumberToObject(part, "speed", replay->speed);
	part = cJSON_AddObjectToObject(part, "destination");
	cJSON_AddStringToObject(part, "address", replay->to != NULL ? replay->to : OWN_ADDRESS);
	if (replay->to_mac != NULL)
		cJSON_AddStringToObject(part, "mac", replay->to_mac);
	return root;
}
