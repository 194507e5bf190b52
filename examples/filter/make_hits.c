// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Makes events of the example's detector and writes them as the MFPs of its four sources, for a
// generator of evb (kind `mfp`).
//
//     make_hits FILE.mfp [--events N] [--packing N] [--tracks N] [--noise N] [--seed N]
//               [--truth FILE]
//
// --truth writes one line per true track: event, number of its segment, q/p.
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hits.h"
#include "random.h"

// Trajectories that events are made of. One takes about 0.3 ms to compute, so they are made once.
#define POOL           2000
#define SPECTRUM_MIN   3000.0
#define SPECTRUM_MAX   100000.0 // MeV/c; the number of particles falls with p^-3
#define HIT_RESOLUTION 0.1      // mm
#define HIT_EFFICIENCY 0.99
#define RESOLUTION     0.15   // of the estimate of the momentum
#define NOISE_X        2500.0 // mm; noise hits lie within
#define NOISE_Y        1400.0

struct trajectory {
	struct state segment;
	double q_over_p;
	struct state stations[N_STATIONS];
};

struct options {
	const char *out, *truth;
	unsigned events, packing, tracks, noise;
	uint64_t seed;
};

// The fragments of one source for one MFP.
struct packet {
	uint8_t *payloads; // one behind the other, each padded to 4 bytes
	uint16_t *sizes;
	size_t length;
};

static void fail(const char *text)
{
	fprintf(stderr, "make_hits: %s\n", text);
	exit(1);
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (memory == NULL)
		fail("out of memory");
	return memory;
}

static void make_trajectory(struct trajectory *to, uint64_t *random)
{
	const double tx = uniform_to(random, MAX_TX), ty = uniform_to(random, MAX_TY);
	const double low = 1 / (SPECTRUM_MIN * SPECTRUM_MIN);
	const double high = 1 / (SPECTRUM_MAX * SPECTRUM_MAX);
	// The inverse of the integral of p^-3.
	const double momentum = 1 / sqrt(low - uniform(random) * (low - high));
	struct state state = { tx * SEGMENT_Z, ty * SEGMENT_Z, tx, ty };
	double z = SEGMENT_Z;

	to->segment = state;
	to->q_over_p = (uniform(random) < 0.5 ? -1 : 1) / momentum;
	for (unsigned s = 0; s < N_STATIONS; s++, z = station_z[s - 1]) {
		magnet_propagate(&state, to->q_over_p, z, station_z[s]);
		to->stations[s] = state;
	}
}

// The Poisson distribution (Knuth, The Art of Computer Programming, volume 2, 3.4.1).
static unsigned poisson(double mean, uint64_t *random)
{
	const double limit = exp(-mean);
	double product = uniform(random);
	unsigned n = 0;

	for (; product > limit; n++)
		product *= uniform(random);
	return n;
}

static void add_track(struct hit_event *event, const struct trajectory *trajectory,
		      uint64_t *random)
{
	double resolution;

	do
		resolution = 1 + RESOLUTION * gaussian(random);
	while (resolution < 0.2); // more than 5 standard deviations
	event->segments[event->n_segments++] =
	    (struct segment){ trajectory->segment, trajectory->q_over_p / resolution };
	for (unsigned s = 0; s < N_STATIONS; s++) {
		const struct state *at = &trajectory->stations[s];

		if (uniform(random) < HIT_EFFICIENCY)
			hits_add(&event->stations[s], at->x + HIT_RESOLUTION * gaussian(random),
				 at->y + HIT_RESOLUTION * gaussian(random));
	}
}

static void make_event(const struct options *options, unsigned number,
		       const struct trajectory *pool, struct hit_event *event, FILE *truth,
		       uint64_t *random)
{
	unsigned n = poisson(options->tracks, random);

	memset(event, 0, sizeof(*event));
	for (n = n < MAX_SEGMENTS ? n : MAX_SEGMENTS; n > 0; n--) {
		const struct trajectory *chosen = &pool[(unsigned)(uniform(random) * POOL)];

		if (truth != NULL)
			fprintf(truth, "%u %u %.9g\n", number, event->n_segments, chosen->q_over_p);
		add_track(event, chosen, random);
	}
	for (unsigned s = 0; s < N_STATIONS; s++) {
		for (n = poisson(options->noise, random); n > 0; n--) {
			const double x = uniform_to(random, NOISE_X);

			hits_add(&event->stations[s], x, uniform_to(random, NOISE_Y));
		}
	}
}

// An MFP (LHCb Run 3; docs/formats.md of evb): 20 bytes of header, types, sizes, fragments.
static void write_mfp(FILE *file, unsigned source, uint64_t event_id, unsigned n,
		      const struct packet *packet)
{
	const unsigned id = source == 0 ? SEGMENTS_SOURCE : HITS_SOURCE + source - 1;
	const size_t types = (n + 3) / 4 * 4, sizes = (2 * (size_t)n + 3) / 4 * 4;
	const uint32_t size = (uint32_t)(20 + types + sizes + packet->length);
	const uint16_t first[2] = { 0x40CE, (uint16_t)n }, source_id = (uint16_t)id;
	const uint8_t last[2] = { 2, PAYLOAD_VERSION }; // log2 of the padding, version
	uint8_t *tables = allocate(1, types + sizes);

	memset(tables, source == 0 ? SEGMENTS_TYPE : HITS_TYPE, n);
	memcpy(tables + types, packet->sizes, 2 * (size_t)n);
	fwrite(first, 1, sizeof(first), file);
	fwrite(&size, 1, sizeof(size), file);
	fwrite(&event_id, 1, sizeof(event_id), file);
	fwrite(&source_id, 1, sizeof(source_id), file);
	fwrite(last, 1, sizeof(last), file);
	fwrite(tables, 1, types + sizes, file);
	fwrite(packet->payloads, 1, packet->length, file);
	free(tables);
}

static void add_fragment(struct packet *packet, unsigned index, const struct hit_event *event,
			 unsigned source)
{
	uint8_t *to = packet->payloads + packet->length;
	size_t size = source == 0 ? hits_write_segments(event, to)
				  : hits_write_station(event, source - 1, to);

	packet->sizes[index] = (uint16_t)size;
	packet->length += size; // a multiple of 4
}

static void make_file(const struct options *options, FILE *file, FILE *truth)
{
	struct trajectory *pool = allocate(POOL, sizeof(*pool));
	struct packet packets[N_SOURCES];
	struct hit_event *event = allocate(1, sizeof(*event));
	uint64_t random = options->seed;

	for (unsigned i = 0; i < POOL; i++)
		make_trajectory(&pool[i], &random);
	for (unsigned s = 0; s < N_SOURCES; s++) {
		packets[s].payloads = allocate(options->packing, MAX_PAYLOAD);
		packets[s].sizes = allocate(options->packing, sizeof(uint16_t));
	}
	for (unsigned first = 0; first < options->events; first += options->packing) {
		for (unsigned s = 0; s < N_SOURCES; s++)
			packets[s].length = 0;
		for (unsigned i = 0; i < options->packing; i++) {
			make_event(options, first + i, pool, event, truth, &random);
			for (unsigned s = 0; s < N_SOURCES; s++)
				add_fragment(&packets[s], i, event, s);
		}
		for (unsigned s = 0; s < N_SOURCES; s++)
			write_mfp(file, s, first, options->packing, &packets[s]);
	}
	for (unsigned s = 0; s < N_SOURCES; s++) {
		free(packets[s].payloads);
		free(packets[s].sizes);
	}
	free(event);
	free(pool);
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "events", 1, NULL, 'e' },
		{ "packing", 1, NULL, 'p' },
		{ "tracks", 1, NULL, 't' },
		{ "noise", 1, NULL, 'n' },
		{ "seed", 1, NULL, 's' },
		{ "truth", 1, NULL, 'T' },
		{ 0 },
	};
	struct options options = {
		.events = 1000, .packing = 1, .tracks = 15, .noise = 20, .seed = 1
	};

	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		const unsigned long value = optarg != NULL ? strtoul(optarg, NULL, 10) : 0;

		switch (c) {
		case 'e':
			options.events = (unsigned)value;
			break;
		case 'p':
			options.packing = (unsigned)value;
			break;
		case 't':
			options.tracks = (unsigned)value;
			break;
		case 'n':
			options.noise = (unsigned)value;
			break;
		case 's':
			options.seed = value;
			break;
		case 'T':
			options.truth = optarg;
			break;
		default:
			exit(2);
		}
	}
	options.out = optind == argc - 1 ? argv[optind] : NULL;
	if (options.out == NULL || options.packing == 0 || options.packing > 65535 ||
	    options.events % options.packing != 0 || options.tracks > 100 || options.noise > 500) {
		fprintf(stderr, "usage: make_hits FILE.mfp [--events N] [--packing N] [--tracks N] "
				"[--noise N] [--seed N] [--truth FILE]\n"
				"N of --events is a multiple of that of --packing\n");
		exit(2);
	}
	return options;
}

int main(int argc, char **argv)
{
	const struct options options = parse(argc, argv);
	FILE *file = fopen(options.out, "wb"), *truth = NULL;

	if (options.truth != NULL)
		truth = fopen(options.truth, "w");
	if (file == NULL || (options.truth != NULL && truth == NULL)) {
		perror("make_hits");
		return 1;
	}
	make_file(&options, file, truth);
	if (fclose(file) != 0 || (truth != NULL && fclose(truth) != 0)) {
		perror("make_hits");
		return 1;
	}
	printf("%s: %u events, %u per MFP\n", options.out, options.events, options.packing);
	return 0;
}
