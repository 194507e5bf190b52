// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shared by the readers of the formats.
#pragma once

#include "inspect/id_ranges.h"
#include "inspect/inspect.h"

// Sets of event ids: of MFPs by source id, of MEPs, and of MDF records by run number.
#define INSPECT_MEP_IDS      65536u
#define INSPECT_MDF_IDS(run) ((UINT64_C(1) << 32) + (run))

struct inspect {
	struct inspect_options options;
	struct inspect_visitor visitor;
	struct inspect_summary summary;
	enum inspect_payload payload; // AUTO until an event has decided
	struct id_ranges ids;
	uint64_t scratch[MEP_MAX_MFPS]; // for mep_check()
	// The file being read:
	struct inspect_file file;
	const uint8_t *bytes;
	uint64_t n_visited; // events or packets, for options.limit
	bool stopped;       // by inspect_stop()
};

// Reports a problem to the visitor and counts it.
void inspect_report(struct inspect *inspect, uint64_t offset, uint64_t packet,
		    enum wire_error reason, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

// True if options.limit events or packets of this file were visited, or the visitor wants no more.
static inline bool inspect_limit_reached(const struct inspect *inspect)
{
	return inspect->stopped ||
	       (inspect->options.limit && inspect->n_visited >= inspect->options.limit);
}

// True if the options select an event with the n ids from `first` on.
bool inspect_wanted(const struct inspect *inspect, bool has_id, uint64_t first, uint64_t n);

// The visitor's functions around the parts of an event. The event counts for options.limit.
void inspect_begin_event(struct inspect *inspect, const struct inspect_event *event);
void inspect_end_event(struct inspect *inspect);

// verify: adds ids to a set (INSPECT_MEP_IDS, INSPECT_MDF_IDS() or a source id) and reports
// repeated ones.
void inspect_add_ids(struct inspect *inspect, uint64_t set, uint64_t offset, uint64_t first,
		     uint64_t n);

// verify: the fragments of an event decide whether payloads are expected to be generated.
struct inspect_vote {
	unsigned generated;
	unsigned other;
};
void inspect_vote(struct inspect_vote *vote, uint8_t type, const uint8_t *payload, uint16_t size,
		  uint16_t source_id);
void inspect_decide(struct inspect *inspect, const struct inspect_vote *vote);

void inspect_mep_file(struct inspect *inspect);
void inspect_mfp_file(struct inspect *inspect);
void inspect_mdf_file(struct inspect *inspect);
void inspect_capture_file(struct inspect *inspect);
