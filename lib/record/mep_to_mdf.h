// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Built MEPs to MDF records, one an event: event i has fragment i of every MFP as one bank, in the
// order of source ids.
//
// Bank: type = type of the fragment, version = version of the MFP, source id = the one that a
// source map gives back for the MFP's, or that itself if there is no map or it does not list the
// source.
//   - A fragment of type 92 (missing) and size 0 makes no bank: MFPs made of events that lack a
//     bank hold such fragments, and so do the error MFPs of incomplete events.
//   - Other error types (89 to 101) stay: a bank without payload says what went wrong.
//   - The record of an event with flags begins with a DAQ status bank (type 15, version 16, source
//     id 0; payload ours): u32 EVB_EVENT_ flags, u16 number of sources, u16 0, u16 ids of the
//     sources (as in MFPs) that sent nothing usable. They are told from the others by all their
//     fragments being of type 92 or 95 and size 0.
// Header: run, orbit, bunch from the event's ODIN fragment (type 16, 40 bytes; other versions than
// 7 give the run alone), else the ring's run number and 0; trigger mask all ones; checksum set.
//
// A converter belongs to one thread. It allocates only when a MEP has more MFPs than all before.
#pragma once

#include "wire/mdf.h"
#include "wire/mep.h"

#define MDF_VERSION_DAQ_STATUS 16
#define MDF_VERSION_ODIN       7
#define MDF_STATUS_HEADER_SIZE 8u // bytes of its payload in front of the source ids

struct mep_to_mdf;

// What the ring says of an event.
struct mep_to_mdf_event {
	const uint8_t *data; // the MEP
	size_t length;
	uint32_t flags; // EVB_EVENT_...
	uint32_t run_number;
};

// `source_map`: file written at packing (source_map.h), NULL or empty: source ids stay. Returns 0,
// or -1 with one line in error[error_size].
int mep_to_mdf_open(struct mep_to_mdf **converter, const char *source_map, char *error,
		    size_t error_size);
void mep_to_mdf_close(struct mep_to_mdf *converter);

// Reads and checks a whole MEP, and says how many bytes all its records will take. The MEP's bytes
// must stay as they are until its last record is made. Returns 0; -ENOMEM; -EBADMSG if it is no
// sound MEP; -ENOTSUP if it cannot be said in MDF (opaque blocks, a fragment of more bytes than a
// bank can hold, more than 4 GiB of records). Then error[error_size] has the cause.
int mep_to_mdf_begin(struct mep_to_mdf *converter, const struct mep_to_mdf_event *event,
		     uint64_t *total, char *error, size_t error_size);

// Bytes of the next record of this MEP; 0 behind the last.
size_t mep_to_mdf_next_size(const struct mep_to_mdf *converter);

// Writes the next record, of mep_to_mdf_next_size() bytes, and goes on to the one behind it.
void mep_to_mdf_next(struct mep_to_mdf *converter, uint8_t *record);
