// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Converts built MEPs to MDF records, one record per event: the record of event i has fragment i of
// every MFP as a bank, in the order of source ids.
//
// Bank: type = type of the fragment; version = version of the MFP; source id = the bank's source id
// that the source map has for the MFP's source id, or the MFP's source id without a map or entry.
//   - A fragment of type 92 (missing) and size 0 becomes no bank. MFPs that were packed from events
//     without this bank have such fragments.
//   - In an incomplete event, each source that sent nothing usable because it is missing has one
//   bank
//     of type 92 (LHCb's DaqErrorFragmentMissing), version 0, without payload.
//   - Fragments of other error types (89 to 101) become banks without payload, which report the
//     error.
// There is no bank of type 15 and version 16 among these: to LHCb's software (MDFIO::getHeader) it
// is the record's header, which it casts and writes to. Header: spare byte = the EVB_EVENT_ flags,
// a use of evb's own; run, orbit and bunch of the event's ODIN fragment (type 16, 40 bytes; of
// versions other than 7 only the run is used), else the ring's run number and 0; trigger mask all
// ones; checksum.
//
// Only one thread uses a converter.
#pragma once

#include "wire/mdf.h"
#include "wire/mep.h"

#define MDF_VERSION_ODIN 7

struct mep_to_mdf;

// An event as the ring describes it.
struct mep_to_mdf_event {
	const uint8_t *data; // the MEP
	size_t length;
	uint32_t flags; // EVB_EVENT_...
	uint32_t run_number;
};

// Bytes that mep_to_mdf_open() allocates beside the source map.
uint64_t mep_to_mdf_memory(void);

// `source_map`: path of the file that was written with the MFPs (source/source_map.h); NULL or "":
// source ids are not changed. Returns 0, or -1 with one line in error[error_size].
int mep_to_mdf_open(struct mep_to_mdf **converter, const char *source_map, char *error,
		    size_t error_size);
void mep_to_mdf_close(struct mep_to_mdf *converter);

// Reads and checks a whole MEP, and sets *total to the bytes of all its records. The caller must
// not change the MEP before its last record is written. Returns 0; -EBADMSG if it is no valid MEP;
// -ENOTSUP if MDF cannot represent it (opaque blocks, a fragment that is too large for a bank, more
// than 4 GiB of records). On failure error[error_size] has the cause.
int mep_to_mdf_begin(struct mep_to_mdf *converter, const struct mep_to_mdf_event *event,
		     uint64_t *total, char *error, size_t error_size);

// Bytes of the next record of this MEP; 0 after the last record.
size_t mep_to_mdf_next_size(const struct mep_to_mdf *converter);

// Writes the next record, which has mep_to_mdf_next_size() bytes.
void mep_to_mdf_next(struct mep_to_mdf *converter, uint8_t *record);
