// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A producer whose data come in spills: it fills a producer ring with blocks of its sources evenly
// for a while, then waits for the next spill.
//
//   spiller --appliance NAME --ring NAME --sources N --packing N --fragment BYTES
//           --events N --duration S --period S --spills N
//
// Sources have the ids 1 to N; --events is of each spill. Prints one JSON object: when each spill
// began and ended (seconds of CLOCK_MONOTONIC), the blocks, and how often the ring was full.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "perf_tool.h"
#include "producer/evb_producer.h"
#include "wire/mfp.h"

#define SLICES 500u // of a spill: blocks are committed at the end of each

struct spiller {
	const char *appliance, *ring;
	unsigned n_sources, packing, fragment, n_spills;
	uint64_t events;
	uint64_t duration, period; // ns
	struct evb_producer *producer;
	uint8_t *block;
	size_t size;
	uint64_t n_blocks, n_full;
};

static void parse(int argc, char **argv, struct spiller *spiller)
{
	static const struct option options[] = {
		{ "appliance", required_argument, NULL, 'a' },
		{ "duration", required_argument, NULL, 'd' },
		{ "events", required_argument, NULL, 'e' },
		{ "fragment", required_argument, NULL, 'f' },
		{ "packing", required_argument, NULL, 'k' },
		{ "period", required_argument, NULL, 'p' },
		{ "ring", required_argument, NULL, 'r' },
		{ "sources", required_argument, NULL, 's' },
		{ "spills", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};

	for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
		switch (option) {
		case 'a':
			spiller->appliance = optarg;
			break;
		case 'd':
			spiller->duration =
			    (uint64_t)(perf_parse_number("--duration", optarg, 0) * 1e9);
			break;
		case 'e':
			spiller->events = (uint64_t)perf_parse_number("--events", optarg, 1);
			break;
		case 'f':
			spiller->fragment = (unsigned)perf_parse_number("--fragment", optarg, 0);
			break;
		case 'k':
			spiller->packing = (unsigned)perf_parse_number("--packing", optarg, 1);
			break;
		case 'p':
			spiller->period =
			    (uint64_t)(perf_parse_number("--period", optarg, 0) * 1e9);
			break;
		case 'r':
			spiller->ring = optarg;
			break;
		case 's':
			spiller->n_sources = (unsigned)perf_parse_number("--sources", optarg, 1);
			break;
		case 'n':
			spiller->n_spills = (unsigned)perf_parse_number("--spills", optarg, 1);
			break;
		default:
			perf_fail("see the comment at the head of spiller.c");
		}
	if (spiller->appliance == NULL || spiller->ring == NULL || spiller->events == 0 ||
	    spiller->n_sources == 0 || spiller->packing == 0 || spiller->n_spills == 0)
		perf_fail("an option is missing");
}

// One MFP, of which each block is a copy.
static void make_block(struct spiller *spiller)
{
	uint16_t *sizes = calloc(spiller->packing, sizeof(*sizes));
	uint8_t *types = calloc(spiller->packing, sizeof(*types));
	struct mfp_header header = {
		.n_fragments = (uint16_t)spiller->packing,
		.align_log2 = 2,
		.version = 1,
	};

	for (unsigned i = 0; sizes != NULL && i < spiller->packing; i++)
		sizes[i] = (uint16_t)spiller->fragment;
	spiller->size = sizes != NULL ? mfp_encoded_size(spiller->packing, sizes, 2) : 0;
	spiller->block = spiller->size > 0 ? calloc(1, spiller->size) : NULL;
	if (types == NULL || spiller->block == NULL ||
	    mfp_encode_header(spiller->block, spiller->size, &header, types, sizes) != WIRE_OK)
		perf_fail("no such block can be made");
	free(sizes);
	free(types);
}

static void put(struct spiller *spiller, uint64_t event, uint16_t source)
{
	void *block;
	int rc;

	while ((rc = evb_producer_reserve(spiller->producer, source, spiller->size, &block)) ==
	       -EAGAIN) {
		spiller->n_full++;
		(void)evb_producer_wait(spiller->producer, spiller->size, -1);
	}
	if (rc != 0)
		perf_fail("%s", evb_producer_error(spiller->producer));
	memcpy(block, spiller->block, spiller->size);
	mfp_patch_event_id(block, event * spiller->packing);
	memcpy((uint8_t *)block + offsetof(struct mfp_header, source_id), &source, sizeof(source));
	if (evb_producer_commit(spiller->producer, event * spiller->packing, spiller->size, 0) != 0)
		perf_fail("%s", evb_producer_error(spiller->producer));
	spiller->n_blocks++;
}

static void spill(struct spiller *spiller, unsigned number, uint64_t begin)
{
	uint64_t event = number * spiller->events, last;

	for (unsigned slice = 1; slice <= SLICES; slice++) {
		perf_wait_until(begin + spiller->duration * slice / SLICES);
		last = number * spiller->events + spiller->events * slice / SLICES;
		for (; event < last; event++)
			for (unsigned i = 0; i < spiller->n_sources; i++)
				put(spiller, event, (uint16_t)(1 + i));
	}
}

int main(int argc, char **argv)
{
	static struct spiller spiller;
	cJSON *result = cJSON_CreateObject();
	cJSON *begins = cJSON_AddArrayToObject(result, "begins");
	cJSON *ends = cJSON_AddArrayToObject(result, "ends");
	uint64_t first;

	parse(argc, argv, &spiller);
	make_block(&spiller);
	if (evb_producer_open(&spiller.producer, spiller.appliance, spiller.ring, NULL) != 0)
		perf_fail("%s", evb_producer_error(spiller.producer));
	first = perf_now_ns();
	for (unsigned i = 0; i < spiller.n_spills; i++) {
		uint64_t begin = first + i * spiller.period;

		spill(&spiller, i, begin);
		cJSON_AddItemToArray(begins, cJSON_CreateNumber((double)begin * 1e-9));
		cJSON_AddItemToArray(ends, cJSON_CreateNumber((double)perf_now_ns() * 1e-9));
	}
	if (evb_producer_finish(spiller.producer) != 0)
		perf_fail("%s", evb_producer_error(spiller.producer));
	evb_producer_close(spiller.producer);
	cJSON_AddNumberToObject(result, "blocks", (double)spiller.n_blocks);
	cJSON_AddNumberToObject(result, "full", (double)spiller.n_full);
	perf_print(result);
	free(spiller.block);
	return 0;
}
