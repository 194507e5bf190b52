// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// evb take: makes a producer ring, and takes, checks and counts what a producer commits. For trying
// a producer without a configuration.

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arguments.h"
#include "base/tick_clock.h"
#include "cmd.h"
#include "producer/evb_producer.h"
#include "producer/producer_ring.h"
#include "stop.h"
#include "wire/mfp.h"

#define NS_PER_SECOND  UINT64_C(1000000000)
#define IDLE_NS        20000
#define WATCH_NS       (NS_PER_SECOND / 10)
#define BURST          32u
#define MOST_SHOWN     10 // malformed blocks; the others are only counted
#define DEFAULT_SIZE   (UINT64_C(64) << 20)
#define DEFAULT_BLOCK  (UINT64_C(1) << 20)
#define DEFAULT_BLOCKS 4096

struct arguments {
	const char *name, *ring, *directory, *unix_group, *out;
	uint16_t sources[PRODUCER_MAX_SOURCES];
	unsigned n_sources;
	uint64_t size, max_block, blocks, packing;
	uint64_t count; // blocks to take; 0: until the producer finishes
	bool opaque;
	bool keep; // the ring stays for the next process
};

struct taking {
	const struct arguments *arguments;
	struct producer_ring *ring;
	FILE *out;
	uint64_t wrong;
	uint64_t first_ns, shown_ns, watched_ns;
	struct producer_ring_counters shown;
};

static void take_source(void *to, const char *text, const struct argp_state *state)
{
	struct arguments *arguments = to;
	const char *hyphen = strchr(text, '-');
	char first_text[32] = "";
	uint64_t first, last;

	if (hyphen != NULL && (size_t)(hyphen - text) < sizeof(first_text))
		memcpy(first_text, text, (size_t)(hyphen - text));
	first =
	    arguments_quantity(UNITS_COUNT, hyphen != NULL ? first_text : text, state, "--source");
	last =
	    hyphen != NULL ? arguments_quantity(UNITS_COUNT, hyphen + 1, state, "--source") : first;
	if (first > last || last > UINT16_MAX ||
	    last - first >= PRODUCER_MAX_SOURCES - arguments->n_sources)
		argp_error(state, "--source: %s is no source id, or there are too many", text);
	for (uint64_t id = first; id <= last; id++) {
		for (unsigned i = 0; i < arguments->n_sources; i++)
			if (arguments->sources[i] == id)
				argp_error(state, "--source: %" PRIu64 " is given twice", id);
		arguments->sources[arguments->n_sources++] = (uint16_t)id;
	}
}

static const struct arguments_option options[] = {
	{ "name", 0, "NAME", INTO(TEXT, name), "name of the appliance that evb plays (take)" },
	{ "ring", 'r', "NAME", INTO(TEXT, ring), "name of the ring (input)" },
	{ "source", 's', "ID[-LAST]", TAKE(take_source),
	  "id of a source, or ids; may be given several times (1)" },
	{ "size", 0, "SIZE", INTO(SIZE, size), "room for blocks (64MiB)" },
	{ "blocks", 0, "N", INTO(COUNT, blocks), "blocks that the ring holds (4096)" },
	{ "max-block", 0, "SIZE", INTO(SIZE, max_block), "the largest block (1MiB)" },
	{ "packing", 0, "N", INTO(COUNT, packing), "fragments in each MFP (any number)" },
	{ "opaque", 0, NULL, INTO(FLAG, opaque), "blocks are not MFPs: do not check them" },
	{ "out", 'o', "FILE", INTO(TEXT, out), "write the blocks to a file (.mfp)" },
	{ "count", 'n', "N", INTO(COUNT, count), "end after N blocks" },
	{ "keep", 0, NULL, INTO(FLAG, keep),
	  "leave the ring, with all blocks that were not taken, to the next evb" },
	{ "unix-group", 0, "GROUP", INTO(TEXT, unix_group), "group that may fill the ring" },
	{ "ring-directory", 0, "DIR", INTO(TEXT, directory),
	  "where the ring is made (default: hugepages, else /dev/shm)" },
	{ NULL, 0, NULL, TAKE(arguments_refuse), NULL },
	{ 0 },
};

static void check(const void *from, const struct argp_state *state)
{
	const struct arguments *arguments = from;

	if (arguments->blocks > PRODUCER_MAX_BLOCKS)
		argp_error(state, "--blocks is at most %u", PRODUCER_MAX_BLOCKS);
	if (arguments->max_block > UINT32_MAX)
		argp_error(state, "--max-block is less than 4GiB");
	if (arguments->packing > MFP_MAX_FRAGMENTS)
		argp_error(state, "--packing is at most %u", MFP_MAX_FRAGMENTS);
}

static const struct arguments_command command = {
	.options = options,
	.check = check,
	.help = "Makes a producer ring, and takes, checks and counts the blocks that a producer "
		"commits to it: to try a program that uses libevb-producer."
		"\vEnds when the producer has finished, or after SIGINT or SIGTERM. Exit status: 0 "
		"all blocks were as they should be, 1 refused, 2 some were not.",
};

// What is wrong with a block, or NULL. mfp_decode() reads the header of the block once; the checks
// below look at this copy.
static const char *judge(const struct arguments *arguments, const struct producer_block *block)
{
	struct mfp mfp;
	const enum wire_error error = mfp_decode(block->data, block->length, &mfp);

	if (error != WIRE_OK)
		return wire_reason(error);
	if (mfp.header.packet_size != block->length)
		return "the MFP's size is not the block's";
	if (mfp.header.source_id != block->source_id)
		return "the MFP is of another source";
	if (mfp.header.event_id != block->event_id)
		return "the MFP's event id is not the block's";
	if (arguments->packing != 0 && mfp.header.n_fragments != arguments->packing)
		return "the MFP's number of fragments is not --packing";
	return NULL;
}

// Returns false if the file cannot be written.
static bool use(struct taking *taking, const struct producer_block *block)
{
	const char *wrong = taking->arguments->opaque ? NULL : judge(taking->arguments, block);

	if (wrong != NULL && taking->wrong++ < MOST_SHOWN)
		fprintf(stderr, "evb take: source %u, event %" PRIu64 ", %u bytes: %s\n",
			block->source_id, block->event_id, block->length, wrong);
	return taking->out == NULL || fwrite(block->data, block->length, 1, taking->out) == 1;
}

static void show(struct taking *taking, uint64_t now)
{
	const struct producer_ring_counters counters = producer_ring_counters(taking->ring);
	const double seconds = (double)(now - taking->shown_ns) / NS_PER_SECOND;
	uint32_t pid;

	if (seconds < 1)
		return;
	if (!producer_ring_attached(taking->ring, &pid))
		pid = 0;
	printf("%.0f blocks/s, %.3f Gb/s, ring %.1f %% full, ",
	       (double)(counters.blocks - taking->shown.blocks) / seconds,
	       (double)(counters.bytes - taking->shown.bytes) * 8e-9 / seconds,
	       producer_ring_fill(taking->ring) / 10.0);
	if (pid != 0)
		printf("producer %u\n", pid);
	else
		printf("no producer\n");
	fflush(stdout);
	taking->shown = counters;
	taking->shown_ns = now;
}

// About 10 times per second. Returns false if the ring cannot be used any more.
static bool watch(struct taking *taking)
{
	const uint64_t now = tick_clock_monotonic_ns();

	if (now - taking->watched_ns < WATCH_NS)
		return true;
	taking->watched_ns = now;
	if (!producer_ring_watch(taking->ring)) {
		fprintf(stderr, "evb take: the ring's file was truncated\n");
		return false;
	}
	show(taking, now);
	return true;
}

static bool is_over(const struct taking *taking, uint64_t taken)
{
	if (stop_signal != 0 ||
	    (taking->arguments->count != 0 && taken >= taking->arguments->count))
		return true;
	return producer_ring_is_finished(taking->ring);
}

// Returns 0, or -1 after one line on stderr.
static int take(struct taking *taking)
{
	const struct timespec idle = { .tv_nsec = IDLE_NS };
	struct producer_block blocks[BURST];
	uint64_t taken = 0;

	while (!is_over(taking, taken)) {
		const uint64_t count = taking->arguments->count;
		const uint64_t left = count != 0 ? count - taken : BURST;
		const unsigned n =
		    producer_ring_take(taking->ring, blocks, left < BURST ? (unsigned)left : BURST);

		for (unsigned i = 0; i < n; i++) {
			if (!use(taking, &blocks[i])) {
				fprintf(stderr, "evb take: %s: %s\n", taking->arguments->out,
					strerror(errno));
				return -1;
			}
			producer_ring_release(taking->ring, blocks[i].sequence);
		}
		producer_ring_housekeep(taking->ring);
		if (taken == 0 && n > 0)
			taking->first_ns = tick_clock_monotonic_ns();
		taken += n;
		if (n == 0)
			nanosleep(&idle, NULL);
		if (!watch(taking))
			return -1;
	}
	return 0;
}

// Returns the number of producers that were refused.
static uint64_t print_account(const struct taking *taking)
{
	const struct producer_ring_counters counters = producer_ring_counters(taking->ring);
	const double seconds =
	    (double)(tick_clock_monotonic_ns() - taking->first_ns) / NS_PER_SECOND;
	uint64_t refused = 0;

	printf("took %" PRIu64 " blocks, %" PRIu64 " bytes", counters.blocks, counters.bytes);
	if (counters.blocks > 1)
		printf(" in %.3f s", seconds);
	printf(", %" PRIu64 " malformed\n", taking->wrong);
	for (enum producer_cause cause = 0; cause < PRODUCER_N_CAUSES; cause++) {
		if (counters.refused[cause] != 0)
			printf("refused %" PRIu64 " producers: %s\n", counters.refused[cause],
			       producer_cause_name(cause));
		refused += counters.refused[cause];
	}
	return refused;
}

static int open_ring(struct taking *taking)
{
	const struct arguments *arguments = taking->arguments;
	const struct producer_ring_parameters parameters = {
		.appliance = arguments->name,
		.name = arguments->ring,
		.directory = arguments->directory,
		.size = arguments->size,
		.blocks = (uint32_t)arguments->blocks,
		.max_block = (uint32_t)arguments->max_block,
		.sources = arguments->sources,
		.n_sources = arguments->n_sources,
		.packing = (uint16_t)arguments->packing,
		.unix_group = arguments->unix_group,
	};
	char error[EVRING_ERROR_SIZE];

	if (arguments->out != NULL && (taking->out = fopen(arguments->out, "we")) == NULL) {
		fprintf(stderr, "evb take: %s: %s\n", arguments->out, strerror(errno));
		return -1;
	}
	if (producer_ring_open(&taking->ring, &parameters, error) != 0) {
		fprintf(stderr, "evb take: %s\n", error);
		return -1;
	}
	printf("%s: %zu MiB", producer_ring_path(taking->ring),
	       producer_ring_memory(taking->ring).length >> 20);
	if (producer_ring_inherited(taking->ring) != 0)
		printf(", %" PRIu64 " blocks left by a process that died",
		       producer_ring_inherited(taking->ring));
	printf("\n");
	fflush(stdout);
	return 0;
}

int cmd_take(int argc, char **argv)
{
	struct arguments arguments = {
		.name = "take",
		.ring = "input",
		.size = DEFAULT_SIZE,
		.blocks = DEFAULT_BLOCKS,
		.max_block = DEFAULT_BLOCK,
	};
	struct taking taking = { .arguments = &arguments };
	int rc;

	if (arguments_parse(&command, argc, argv, &arguments) != 0)
		return 1;
	if (arguments.n_sources == 0)
		arguments.sources[arguments.n_sources++] = 1;
	stop_catch_signals();
	rc = open_ring(&taking);
	if (rc == 0) {
		taking.shown_ns = taking.first_ns = tick_clock_monotonic_ns();
		rc = take(&taking);
		if (print_account(&taking) + taking.wrong != 0 && rc == 0)
			rc = 2;
		if (arguments.keep)
			producer_ring_close(taking.ring);
		else
			producer_ring_destroy(taking.ring);
	}
	if (taking.out != NULL && fclose(taking.out) != 0) {
		fprintf(stderr, "evb take: %s: %s\n", arguments.out, strerror(errno));
		rc = -1;
	}
	return rc < 0 ? 1 : rc;
}
