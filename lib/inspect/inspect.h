// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads files of built events (.mep, .mdf), of MFPs (.mfp) and captures (pcap, pcapng), tells a
// visitor what is in them, and judges whether it is sound. What a file is, its content says; its
// name only if the content says nothing.
//
// Where a file is damaged, a problem is told with its offset and reason, and reading goes on at the
// next place that looks sound. No content makes it crash. (A file that is cut short by somebody
// else while it is read may, as it is mapped into memory.)
//
// An inspection belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ejfat.h"
#include "wire/mdf.h"
#include "wire/mep.h"
#include "wire/net.h"

#define INSPECT_ERROR_SIZE 512

enum inspect_kind {
	INSPECT_UNKNOWN,
	INSPECT_MEP,
	INSPECT_MFP,
	INSPECT_MDF,
	INSPECT_CAPTURE,
};

// "mep", "mfp", "mdf", "capture"; "unknown".
const char *inspect_kind_name(enum inspect_kind kind);

// Whether fragments are expected to be generated ones (source/pattern.h).
enum inspect_payload {
	INSPECT_PAYLOAD_AUTO, // as most fragments of the first event that has any say
	INSPECT_PAYLOAD_GENERATED,
	INSPECT_PAYLOAD_ANY, // not looked at
};

struct inspect_options {
	bool verify;     // check payloads, checksums and event ids, not only the structure
	bool allow_gaps; // verify: event ids that are nowhere are no problem
	bool sources;    // visit the MFPs of MEPs
	bool fragments;  // visit fragments and banks
	uint64_t limit;  // events or packets that are looked at in each file; 0: all
	bool one_event;  // only what belongs to event_id
	uint64_t event_id;
	enum inspect_payload payload;
};

struct inspect_file {
	const char *path;
	enum inspect_kind kind;
	uint64_t size; // bytes
};

// A MEP, an MFP that stands by itself, or an MDF record.
struct inspect_event {
	enum inspect_kind kind;
	uint64_t index;        // in the file, from 0
	uint64_t offset;       // bytes from the file's start
	uint64_t size;         // bytes
	bool has_event_id;     // MDF: from its ODIN bank
	uint64_t event_id;     // of the first fragment
	uint32_t n_events;     // fragments in each MFP, 0 if opaque; MDF: 1
	uint32_t n_sources;    // MFPs; MDF: banks
	uint32_t n_missing;    // MFPs in which no fragment is usable
	uint32_t status;       // MDF: EVB_EVENT_ flags of its DAQ status bank, 0 without one
	struct mfp_header mfp; // MFP only
	struct mdf_header mdf; // MDF only
};

// An MFP of a MEP.
struct inspect_source {
	struct mfp_header header;
	uint64_t offset;       // bytes from the file's start
	bool missing;          // no fragment is usable
	const uint8_t *opaque; // payload of an opaque block, of packet_size - MFP_HEADER_SIZE bytes
};

// A fragment of an MFP, or a bank.
struct inspect_fragment {
	bool has_event_id;
	uint64_t event_id;
	uint16_t source_id;
	uint8_t type;
	uint8_t version;
	uint16_t size; // bytes
	const uint8_t *payload;
};

struct inspect_packet {
	uint64_t number;  // from 1, as in other programs that show captures
	uint64_t time_ns; // since 1970
	uint32_t captured;
	uint32_t length;
	const uint8_t *bytes;   // captured
	enum wire_error reason; // of the frame; `frame` is valid if WIRE_OK
	struct net_frame frame;
	bool is_segment;
	bool has_lb;
	struct ejfat_lb lb;           // if has_lb
	struct ejfat_segment segment; // if is_segment
};

struct inspect_problem {
	const char *path;
	uint64_t offset;        // bytes from the file's start
	uint64_t packet;        // captures: its number; else 0
	enum wire_error reason; // WIRE_OK if the format is not what is wrong
	const char *text;       // one line
};

// Functions that are NULL are not called. What the pointers lead to lives until the function
// returns. An event's sources and fragments come between event() and event_end().
struct inspect_visitor {
	void *context;
	void (*file)(void *context, const struct inspect_file *file);
	void (*event)(void *context, const struct inspect_event *event);
	void (*source)(void *context, const struct inspect_source *source);
	void (*fragment)(void *context, const struct inspect_fragment *fragment);
	void (*event_end)(void *context);
	void (*packet)(void *context, const struct inspect_packet *packet);
	void (*problem)(void *context, const struct inspect_problem *problem);
};

struct inspect_summary {
	uint64_t files;  // read
	uint64_t unread; // files that could not be read
	uint64_t bytes;  // of the files
	uint64_t meps;
	uint64_t mfps;
	uint64_t records; // of MDF
	uint64_t fragments;
	uint64_t banks;
	uint64_t packets;
	uint64_t segments;
	uint64_t missing_mfps;       // MFPs in which no fragment is usable
	uint64_t generated;          // fragments and banks whose payload was checked as generated
	uint64_t repeated_event_ids; // verify
	uint64_t missing_event_ids;  // verify: between the first and the last
	uint64_t problems;
};

struct inspect;

// Returns NULL if memory ran out. Options and visitor are copied.
struct inspect *inspect_open(const struct inspect_options *options,
			     const struct inspect_visitor *visitor);

// Reads one file. Returns 0 if it could be read, sound or not; else -1 with one line in
// error[INSPECT_ERROR_SIZE].
int inspect_read(struct inspect *inspect, const char *path, char *error);

// Judges what can be judged only when all files are read (event ids that are nowhere).
void inspect_finish(struct inspect *inspect, struct inspect_summary *summary);

void inspect_close(struct inspect *inspect);
