// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the iterator of built events costs a consumer: ns per source and per fragment, source by
// source and event by event, over MEPs that do not fit in the caches together.
//
//   mep_cost [--cpu N] [--seconds S] [--size BYTES] [--sources N] [--fragments N]
#include <getopt.h>
#include <stdlib.h>

#include "evring/evb_mep.h"
#include "perf_tool.h"
#include "wire/mep.h"

#define FRAGMENT     100u // bytes
#define MOST_SOURCES 4096u

struct data {
	uint8_t *bytes;
	size_t mep_size; // of one; they lie one behind the other
	unsigned n_meps, n_sources, n_fragments;
};

// Reads a whole MEP. Returns the number of fragments.
typedef unsigned (*read_function)(const struct evb_mep *mep);

static unsigned source_by_source(const struct evb_mep *mep)
{
	struct evb_source source;
	struct evb_fragment fragment;
	unsigned n = 0;

	for (unsigned i = 0; i < mep->n_sources; i++) {
		if (evb_mep_source(mep, i, &source) != 0)
			perf_fail("a source is malformed");
		while (evb_source_next(&source, &fragment) == 1)
			n++;
	}
	return n;
}

static unsigned event_by_event(const struct evb_mep *mep)
{
	static struct evb_source sources[MOST_SOURCES];
	struct evb_fragment fragment;
	unsigned n = 0;

	for (unsigned i = 0; i < mep->n_sources; i++) {
		if (evb_mep_source(mep, i, &sources[i]) != 0)
			perf_fail("a source is malformed");
	}
	for (unsigned event = 0; event < mep->n_events; event++) {
		for (unsigned i = 0; i < mep->n_sources; i++)
			n += evb_source_next(&sources[i], &fragment) == 1;
	}
	return n;
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (memory == NULL)
		perf_fail("out of memory");
	return memory;
}

static void make_mep(const struct data *data, uint8_t *bytes, size_t mfp_size)
{
	uint16_t *ids = allocate(data->n_sources, sizeof(*ids));
	uint16_t *sizes = allocate(data->n_fragments, sizeof(*sizes));
	uint32_t *offsets = allocate(data->n_sources, sizeof(*offsets));
	uint8_t *types = allocate(data->n_fragments, 1);
	const size_t first = mep_header_size(data->n_sources, MEP_DEFAULT_ALIGN);

	for (unsigned i = 0; i < data->n_fragments; i++) {
		sizes[i] = FRAGMENT;
		types[i] = 4;
	}
	for (unsigned i = 0; i < data->n_sources; i++) {
		struct mfp_header header = {
			.n_fragments = (uint16_t)data->n_fragments,
			.source_id = (uint16_t)(i + 1),
			.align_log2 = 2,
		};

		ids[i] = header.source_id;
		offsets[i] = (uint32_t)((first + i * mfp_size) / 4);
		if (mfp_encode_header(bytes + first + i * mfp_size, mfp_size, &header, types,
				      sizes) != WIRE_OK)
			perf_fail("an MFP does not fit");
	}
	if (mep_encode_header(bytes, data->mep_size, data->n_sources, ids, offsets,
			      (uint32_t)(data->mep_size / 4)) != WIRE_OK)
		perf_fail("the MEP does not fit");
	free(ids);
	free(sizes);
	free(offsets);
	free(types);
}

static void make_data(struct data *data, size_t size)
{
	size_t mfp_size =
	    round_up(mfp_data_offset(data->n_fragments) + FRAGMENT * data->n_fragments, 8);

	data->mep_size = mep_header_size(data->n_sources, 8) + data->n_sources * mfp_size;
	data->n_meps = (unsigned)(size / data->mep_size) + 1;
	data->bytes = allocate(data->n_meps, data->mep_size);
	for (unsigned i = 0; i < data->n_meps; i++)
		make_mep(data, data->bytes + i * data->mep_size, mfp_size);
}

static void measure(const struct data *data, read_function read, double seconds, cJSON *result)
{
	uint64_t start = perf_now_ns(), end = start + (uint64_t)(seconds * 1e9), now;
	uint64_t fragments = 0, meps = 0;

	do {
		const size_t at = meps++ % data->n_meps * data->mep_size;
		struct evb_mep mep;

		if (evb_mep_open(&mep, data->bytes + at, data->mep_size) != 0)
			perf_fail("a MEP is malformed");
		fragments += read(&mep);
		now = perf_now_ns();
	} while (now < end);
	if (fragments != meps * data->n_sources * data->n_fragments)
		perf_fail("fragments are missing");
	cJSON_AddNumberToObject(result, "source_ns",
				(double)(now - start) / (double)(meps * data->n_sources));
	cJSON_AddNumberToObject(result, "fragment_ns", (double)(now - start) / (double)fragments);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'b' },
		{ "sources", required_argument, NULL, 'n' },
		{ "fragments", required_argument, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	struct data data = { .n_sources = 40, .n_fragments = 1000 };
	cJSON *result = cJSON_CreateObject();
	double seconds = 0.2, size = 64e6;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			perf_pin(perf_parse_list("cpu", optarg).values[0]);
		else if (option == 's')
			seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'b')
			size = perf_parse_number("size", optarg, 0);
		else if (option == 'n')
			data.n_sources = (unsigned)perf_parse_number("sources", optarg, 1);
		else if (option == 'f')
			data.n_fragments = (unsigned)perf_parse_number("fragments", optarg, 1);
		else
			return 1;
	}
	if (data.n_sources > MOST_SOURCES || data.n_fragments > MFP_MAX_FRAGMENTS)
		perf_fail("at most %u sources and %u fragments", MOST_SOURCES, MFP_MAX_FRAGMENTS);
	make_data(&data, (size_t)size);
	measure(&data, source_by_source, seconds,
		cJSON_AddObjectToObject(result, "source by source"));
	measure(&data, event_by_event, seconds, cJSON_AddObjectToObject(result, "event by event"));
	perf_print(result);
	free(data.bytes);
	return 0;
}
