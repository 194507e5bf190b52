// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a file of MEPs, of MFPs or of MDF records that is read and verified (`evb dump`),
// and that a writer which was killed has left: what is visited lies inside the file, is counted,
// and comes in order; what is recovered of it has whole events only.
//
// Input: byte 0, the kind of file and the options; the others are the file.
#include "fuzz.h"

#include "inspect/inspect_internal.h"
#include "record/recovery.h"

struct visit {
	const uint8_t *bytes;
	size_t size;
	uint64_t end; // of the previous event in the file
	uint64_t n_events, n_fragments, n_sources, n_problems;
	bool open;
};

static void check_inside(const struct visit *visit, const uint8_t *at, size_t size)
{
	FUZZ_CHECK(at >= visit->bytes && at <= visit->bytes + visit->size);
	FUZZ_CHECK(size <= (size_t)(visit->bytes + visit->size - at));
}

static void take_event(void *context, const struct inspect_event *event)
{
	struct visit *visit = context;

	FUZZ_CHECK(!visit->open);
	FUZZ_CHECK(event->offset >= visit->end && event->size > 0);
	FUZZ_CHECK(event->offset <= visit->size && event->size <= visit->size - event->offset);
	visit->end = event->offset + event->size;
	visit->open = true;
	visit->n_events++;
}

static void take_source(void *context, const struct inspect_source *source)
{
	struct visit *visit = context;

	FUZZ_CHECK(visit->open && source->offset < visit->end);
	if (source->opaque)
		check_inside(visit, source->opaque, source->header.packet_size - MFP_HEADER_SIZE);
	visit->n_sources++;
}

static void take_fragment(void *context, const struct inspect_fragment *fragment)
{
	struct visit *visit = context;

	FUZZ_CHECK(visit->open);
	check_inside(visit, fragment->payload, fragment->size);
	visit->n_fragments++;
}

static void end_event(void *context)
{
	struct visit *visit = context;

	FUZZ_CHECK(visit->open);
	visit->open = false;
}

static void take_problem(void *context, const struct inspect_problem *problem)
{
	struct visit *visit = context;

	FUZZ_CHECK(problem->offset <= visit->size && problem->text[0] != '\0');
	FUZZ_CHECK(strchr(problem->text, '\n') == NULL);
	visit->n_problems++;
}

static void inspect_bytes(uint8_t what, const uint8_t *bytes, size_t size)
{
	static struct inspect inspect; // half a megabyte
	struct visit visit = { .bytes = bytes, .size = size };
	struct inspect_summary summary;

	inspect.options = (struct inspect_options){ .verify = what & 4,
						    .allow_gaps = what & 8,
						    .sources = true,
						    .fragments = true,
						    .limit = what & 16 ? 2 : 0,
						    .one_event = what & 32,
						    .event_id = 1 };
	inspect.visitor =
	    (struct inspect_visitor){ &visit,        NULL,      take_event, take_source,
				      take_fragment, end_event, NULL,       take_problem };
	inspect.summary = (struct inspect_summary){ 0 };
	inspect.payload = INSPECT_PAYLOAD_AUTO;
	inspect.ids = (struct id_ranges){ 0 };
	inspect.file = (struct inspect_file){ .path = "fuzz", .size = size };
	inspect.bytes = bytes;
	inspect.n_visited = 0;
	switch (what & 3) {
	case 0:
		inspect_mfp_file(&inspect);
		break;
	case 1:
		inspect_mdf_file(&inspect);
		break;
	default:
		inspect_mep_file(&inspect);
		break;
	}
	inspect_finish(&inspect, &summary);
	id_ranges_fini(&inspect.ids);
	FUZZ_CHECK(!visit.open && summary.problems == visit.n_problems);
	FUZZ_CHECK(visit.n_fragments == summary.fragments + summary.banks);
	FUZZ_CHECK(visit.n_events == ((what & 3) == 0   ? summary.mfps
				      : (what & 3) == 1 ? summary.records
							: summary.meps));
	FUZZ_CHECK(!(what & 16) || visit.n_events <= 2);
}

// What is recovered is read without a problem, and nothing of it is recovered again.
static void recover(const uint8_t *bytes, size_t size, enum file_format format)
{
	uint64_t whole, again;
	uint8_t *copy;

	FUZZ_CHECK(recovery_whole_prefix(bytes, size, format, &whole) == 0 && whole <= size);
	copy = fuzz_copy(bytes, whole);
	FUZZ_CHECK(recovery_whole_prefix(copy, whole, format, &again) == 0 && again == whole);
	fuzz_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes;

	if (size == 0)
		return 0;
	// MEPs and records begin at multiples of 4 in a file that is mapped.
	bytes = fuzz_copy(data + 1, size - 1);
	inspect_bytes(data[0], bytes, size - 1);
	if ((data[0] & 3) != 0)
		recover(bytes, size - 1, (data[0] & 3) == 1 ? FILE_FORMAT_MDF : FILE_FORMAT_MEP);
	fuzz_free(bytes);
	return 0;
}
