// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the readers of the single formats share.
#pragma once

#include "inspect/id_ranges.h"
#include "inspect/inspect.h"

#define INSPECT_MEP_IDS 65536u // index of the ids of MEPs; below: of the MFPs of each source id
#define INSPECT_N_IDS   65537u

struct inspect {
	struct inspect_options options;
	struct inspect_visitor visitor;
	struct inspect_summary summary;
	enum inspect_payload payload; // AUTO until an event has decided
	struct id_ranges *ids;        // INSPECT_N_IDS
	uint64_t *scratch;            // MEP_MAX_MFPS, for mep_check()
	// of the file being read
	struct inspect_file file;
	const uint8_t *bytes;
	uint64_t n_looked_at; // events or packets, for options.limit
};

// Tells a problem.
void inspect_tell(struct inspect *inspect, uint64_t offset, uint64_t packet, enum wire_error reason,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));

// True if as many events or packets of this file were looked at as options.limit allows.
static inline bool inspect_limit_reached(const struct inspect *inspect)
{
	return inspect->options.limit && inspect->n_looked_at >= inspect->options.limit;
}

// True if an event of n ids from `first` on is to be looked at.
bool inspect_wanted(const struct inspect *inspect, bool has_id, uint64_t first, uint64_t n);

// verify: notes ids as seen (`list`: INSPECT_MEP_IDS or a source id), tells repeated ones.
void inspect_note_ids(struct inspect *inspect, unsigned list, uint64_t offset, uint64_t first,
		      uint64_t n);

// verify: takes part in deciding whether payloads are generated.
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
